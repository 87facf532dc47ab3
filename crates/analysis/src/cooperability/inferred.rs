//! Where yields are missing: events of the trace, locations in the source, and the union over
//! several traces of one program (Figure 8 of the paper).

use hashbrown::HashMap;
use paceline_trace::{EventNo, Op, Site, Symbols, ThreadId};

/// A yield that is missing just before an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InferredYield {
    /// The event that would close a cycle.
    pub event: EventNo,
    /// Its thread.
    pub thread: ThreadId,
    /// What it does.
    pub op: Op,
    /// Its source location.
    pub site: Site,
    /// The first event of the transaction that the yield ends.
    pub begin: EventNo,
}

/// A source location where yields are missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct YieldSite {
    /// The first yield that is missing there.
    pub first: InferredYield,
    /// How many are missing there.
    pub count: u64,
}

/// All yields that are missing in a trace.
#[derive(Default, Debug)]
pub struct Inferred {
    positions: Vec<EventNo>,
    sites: Vec<YieldSite>,
    by_site: HashMap<Site, usize>,
}

impl Inferred {
    pub(super) fn add(&mut self, missing: InferredYield) {
        self.positions.push(missing.event);
        let next = self.sites.len();
        let index = *self.by_site.entry(missing.site).or_insert(next);
        if index == next {
            self.sites.push(YieldSite { first: missing, count: 0 });
        }
        self.sites[index].count += 1;
    }

    /// Whether no yield is missing.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// The events before which a yield is missing, in order.
    pub fn positions(&self) -> &[EventNo] {
        &self.positions
    }

    /// The source locations, in the order of their first events.
    pub fn sites(&self) -> &[YieldSite] {
        &self.sites
    }

    /// The locations as text, so that they can be compared with those of another trace. Sites with
    /// equal text are one location.
    pub fn named(&self, symbols: &Symbols) -> Vec<NamedSite> {
        let mut named: Vec<NamedSite> = Vec::new();
        let mut by_location = HashMap::new();
        for site in &self.sites {
            let location = symbols.show_site(site.first.site);
            let index = *by_location.entry(location.clone()).or_insert(named.len());
            if index == named.len() {
                named.push(NamedSite { location, count: 0 });
            }
            named[index].count += site.count;
        }
        named
    }
}

/// A location where yields are missing, as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedSite {
    /// The location as it is shown.
    pub location: String,
    /// How many are missing there.
    pub count: u64,
}

/// A location where yields are missing in some of several traces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MergedSite {
    /// The location as it is shown.
    pub location: String,
    /// How many are missing there, in all traces.
    pub count: u64,
    /// The index of the first trace that needs a yield there.
    pub first_trace: usize,
    /// How many traces need a yield there.
    pub traces: usize,
}

/// The missing yields of several traces of one program.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Merged {
    /// The locations, in the order in which the traces contributed them.
    pub sites: Vec<MergedSite>,
    /// For each trace, how many new locations it contributed.
    pub added: Vec<usize>,
}

/// Merges the missing yields of several traces.
pub fn merge(traces: &[Vec<NamedSite>]) -> Merged {
    let mut merged = Merged::default();
    let mut by_location: HashMap<&str, usize> = HashMap::new();
    for (trace, sites) in traces.iter().enumerate() {
        let known = merged.sites.len();
        for NamedSite { location, count } in sites {
            let next = merged.sites.len();
            let index = *by_location.entry(location).or_insert(next);
            if index == next {
                let location = location.clone();
                merged.sites.push(MergedSite { location, count: 0, first_trace: trace, traces: 0 });
            }
            merged.sites[index].count += count;
            merged.sites[index].traces += 1;
        }
        merged.added.push(merged.sites.len() - known);
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sites(locations: &[(&str, u64)]) -> Vec<NamedSite> {
        locations
            .iter()
            .map(|&(location, count)| NamedSite { location: location.to_owned(), count })
            .collect()
    }

    #[test]
    fn merging_counts_what_each_trace_added() {
        let traces = [
            sites(&[("A.java:1", 3), ("B.java:2", 1)]),
            sites(&[("B.java:2", 4)]),
            sites(&[("C.java:3", 1), ("A.java:1", 1)]),
        ];
        let merged = merge(&traces);
        assert_eq!(merged.added, [2, 0, 1]);
        let rows: Vec<_> = merged
            .sites
            .iter()
            .map(|s| (s.location.as_str(), s.count, s.first_trace, s.traces))
            .collect();
        assert_eq!(rows, [("A.java:1", 4, 0, 2), ("B.java:2", 5, 0, 2), ("C.java:3", 1, 2, 1)]);
    }
}
