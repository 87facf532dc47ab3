//! What can be decided about a trace: one file per property, and [`ALL`], the one registry of them.
//! The command line, its completions, the outputs and the documentation read it.
//!
//! A property is two small traits. [`Property`] is what is known before anything is read: its name,
//! its rules, and how to start. [`Decision`] is one decision under way. [`crate::Check`] calls them
//! in this order:
//!
//! 1. [`Property::start`], once for each trace.
//! 2. Every analysis that [`Decision::analyses`] names gets the whole trace, in one pass that all
//!    properties share.
//! 3. [`Decision::explain`] may read the trace again, if there is something to explain.
//! 4. [`Decision::conclude`] gives the verdict and the findings, in the order of the registry.
//!
//! Another crate can add a property of its own: implement the two traits and give it to
//! [`Check::property`](crate::Check::property). `examples/toy-property` does that.

mod atomicity;
mod cooperability;
mod determinism;
mod found;
mod predicting;
mod race;
mod reduction;

use std::collections::HashSet;

use paceline_analysis::Analysis;
use paceline_analysis::explain::BlockRef;
use paceline_report::model::{self, Note, Verdict};
use paceline_report::rules::RuleInfo;
use paceline_trace::{Symbols, VarId};

pub use atomicity::Atomicity;
pub use cooperability::Cooperability;
pub use determinism::Determinism;
pub use race::Race;
pub use reduction::Reduction;

use crate::TraceError;
use crate::check::Options;
use crate::passes::Passes;

/// The properties that Paceline knows, in the order in which their findings are reported. What is
/// certain comes first: warnings may be confirmed by it.
pub static ALL: &[&dyn Property] = &[&Atomicity, &Race, &Cooperability, &Determinism, &Reduction];

/// The property with this name.
pub fn named(name: &str) -> Option<&'static dyn Property> {
    ALL.iter().copied().find(|property| property.info().name == name)
}

/// What is known about a property before anything is read.
#[derive(Clone, Copy, Debug)]
pub struct PropertyInfo {
    /// The name on the command line and in reports: lower case, one word.
    pub name: &'static str,
    /// What it means, in a few words.
    pub summary: &'static str,
    /// The rules that its findings break.
    pub rules: &'static [RuleInfo],
    /// Whether a trace without blocks says nothing about it.
    pub needs_blocks: bool,
    /// Which accesses a recorder may leave out without making a difference.
    pub redundant: RedundantAccesses,
}

/// Which accesses a recorder may leave out because its block has recorded an equivalent one before.
/// Properties that are decided together get what the most demanding of them needs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum RedundantAccesses {
    /// None.
    #[default]
    Keep,
    /// Those with nothing in between that orders threads, and no conflicting access of another
    /// thread: enough for races.
    Epoch,
    /// Those with no conflicting access of another thread in between: enough for atomicity.
    Block,
}

/// Something that can be decided about a trace.
pub trait Property: Send + Sync {
    /// What is known about it before anything is read. Names are unique among properties, and so
    /// are those of rules.
    fn info(&self) -> &'static PropertyInfo;

    /// Starts to decide it for one trace. The trace may be read already here, in a pass before
    /// the one that all properties share; that is an error if it can be read only once.
    fn start(&self, options: &Options, trace: &Passes<'_>)
    -> Result<Box<dyn Decision>, TraceError>;
}

/// A decision about one trace, under way.
pub trait Decision: Send {
    /// The analyses that get the events of the trace. Asked for several times: always the same
    /// ones, in the same order. They may run in different threads.
    fn analyses(&mut self) -> Vec<&mut dyn Analysis>;

    /// The trace has been read: explains what was found, with as many further passes as that takes.
    /// A decision that found nothing reads nothing.
    fn explain(&mut self, trace: &Passes<'_>) -> Result<(), TraceError> {
        let _ = trace;
        Ok(())
    }

    /// The result. `symbols` has the names of everything in the trace; `evidence` is what the
    /// properties before this one in the registry have established, and takes what this one adds.
    fn conclude(&mut self, symbols: &Symbols, evidence: &mut Evidence) -> Conclusion;
}

/// What certain findings of one trace have established, for other properties to rest on.
#[derive(Default, Debug)]
pub struct Evidence {
    /// Blocks that are not atomic.
    pub refuted: Vec<BlockRef>,
    /// Variables with races.
    pub racy: HashSet<VarId>,
}

/// The result of a decision.
pub struct Conclusion {
    /// Whether the property holds, and what else is known. Its rules and its standing follow from
    /// [`PropertyInfo`] and need not be set.
    pub verdict: Verdict,
    /// What was found; the bugs, with names.
    pub findings: Vec<model::Finding>,
    /// How many findings were not explained because there are so many.
    pub unexplained: usize,
    /// What a reader of the report should know besides.
    pub notes: Vec<Note>,
}

impl Conclusion {
    /// A verdict with its findings, all of them explained.
    pub fn new(verdict: Verdict, findings: Vec<model::Finding>) -> Conclusion {
        Conclusion { verdict, findings, unexplained: 0, notes: Vec::new() }
    }
}

impl<P: Property + ?Sized> Property for &P {
    fn info(&self) -> &'static PropertyInfo {
        (**self).info()
    }

    fn start(
        &self,
        options: &Options,
        trace: &Passes<'_>,
    ) -> Result<Box<dyn Decision>, TraceError> {
        (**self).start(options, trace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_analysis::finding::RuleId;

    #[test]
    fn names_are_unique_and_found() {
        let names: HashSet<&str> = ALL.iter().map(|property| property.info().name).collect();
        assert_eq!(names.len(), ALL.len());
        let rules = ALL.iter().flat_map(|property| property.info().rules);
        let rules: HashSet<&RuleId> = rules.map(|rule| &rule.id).collect();
        assert_eq!(rules.len(), RuleId::BUILT_IN.len());
        assert!(names.iter().all(|name| named(name).is_some_and(|p| p.info().name == *name)));
        assert!(named("no such property").is_none());
    }
}
