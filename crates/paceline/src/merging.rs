//! One bug is one finding, however many variables it was seen on: elements of an array, fields of
//! many objects. Findings with the same id are put together, and the variables are listed.

use std::collections::{HashMap, HashSet};

use paceline_report::model::Finding;

/// Findings that have been put together.
struct Group {
    first: Finding,
    variables: Vec<String>,
    known: HashSet<String>,
    /// How many remarks the first finding has of its own.
    own_remarks: usize,
}

/// Different remarks beyond that number say nothing new.
const MOST_REMARKS: usize = 3;

/// Puts findings with the same id together, in the order of the first of each.
pub fn merge_alike(findings: Vec<Finding>) -> Vec<Finding> {
    let mut indices: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for finding in findings {
        match indices.get(&finding.id) {
            Some(&index) => groups[index].add(&finding),
            None => {
                indices.insert(finding.id.clone(), groups.len());
                groups.push(Group::new(finding));
            }
        }
    }
    groups.into_iter().map(Group::finish).collect()
}

/// What a finding without a cycle is about.
fn variable(finding: &Finding) -> Option<&String> {
    let last = finding.threads.last().filter(|_| finding.cycle.is_empty());
    last.and_then(|event| event.target.as_ref()).map(|target| &target.name)
}

impl Group {
    fn new(first: Finding) -> Group {
        let variables: Vec<String> = variable(&first).cloned().into_iter().collect();
        let known = variables.iter().cloned().collect();
        Group { own_remarks: first.remarks.len(), first, variables, known }
    }

    fn add(&mut self, other: &Finding) {
        self.first.count += other.count;
        if let Some(variable) = variable(other).filter(|v| !self.known.contains(*v)) {
            self.known.insert(variable.clone());
            self.variables.push(variable.clone());
        }
        let remarks = &mut self.first.remarks;
        for remark in &other.remarks {
            if remarks.len() < MOST_REMARKS && !remarks.contains(remark) {
                remarks.push(remark.clone());
            }
        }
    }

    fn finish(self) -> Finding {
        let mut finding = self.first;
        match self.variables.len() {
            0 | 1 => {
                finding.remarks.truncate(self.own_remarks);
                return finding;
            }
            2 => finding.title += " (and 1 more variable)",
            n => finding.title += &format!(" (and {} more variables)", n - 1),
        }
        finding.variables = self.variables;
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_report::model::{
        Event, Explanation, Remark, RuleId, Severity, Site, Target, TargetKind,
    };
    use paceline_trace::Kind;

    fn finding(id: &str, variable: &str, remark: Option<&str>) -> Finding {
        let event = Event {
            event: 1,
            thread: "1".to_owned(),
            kind: Kind::Write,
            target: Some(Target { kind: TargetKind::Variable, name: variable.to_owned() }),
            site: Site::Number(7),
            stack: Vec::new(),
        };
        Finding {
            id: id.to_owned(),
            rule: RuleId::LOCKSET,
            severity: Severity::Warning,
            title: format!("about {variable}"),
            blame: None,
            explanation: Explanation::Events,
            cycle: Vec::new(),
            threads: vec![event],
            refuted: Vec::new(),
            not_refuted: Vec::new(),
            variables: Vec::new(),
            count: 1,
            remarks: remark
                .map(|text| Remark::Other { text: text.to_owned() })
                .into_iter()
                .collect(),
            reordering: None,
            code: None,
        }
    }

    #[test]
    fn the_same_bug_on_several_variables_is_one_finding_that_lists_them() {
        let merged = merge_alike(vec![
            finding("a", "x", Some("one")),
            finding("b", "x", None),
            finding("a", "y", Some("two")),
            finding("a", "y", Some("one")),
            finding("a", "z", Some("one")),
        ]);
        let [a, b] = &merged[..] else { panic!("{merged:?}") };
        assert_eq!((a.title.as_str(), a.count), ("about x (and 2 more variables)", 4));
        assert_eq!(a.variables, ["x", "y", "z"]);
        assert_eq!(a.remark().as_deref(), Some("one; elsewhere: two"));
        assert_eq!(*b, finding("b", "x", None));
    }
}
