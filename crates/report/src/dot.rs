//! The error graph for Graphviz.

use std::fmt::Write as _;

use crate::compose;
use crate::graph::{Arrow, Graph, Node, caption, graph};
use crate::model::Finding;

/// The graph of a finding, as a `digraph`.
pub fn dot(finding: &Finding) -> String {
    let Graph { nodes, arrows, directed, .. } = graph(finding);
    let mut out = String::from("digraph finding {\n");
    let (title, caption) = (escape(&finding.title), escape(&caption(finding)));
    let _ = writeln!(out, "  label=\"{title}\\n{caption}\"");
    out.push_str("  labelloc=t\n  node [shape=box, style=rounded]\n");
    for (i, node) in nodes.iter().enumerate() {
        write_node(&mut out, i, node);
    }
    for arrow in &arrows {
        write_arrow(&mut out, arrow, directed);
    }
    out.push_str("}\n");
    out
}

fn write_node(out: &mut String, i: usize, node: &Node) {
    let Node { thread, name, place, .. } = node;
    let label = format!("{}\\n{}\\n{}", escape(thread), escape(name), escape(place));
    let blamed = if node.blamed { ", penwidth=3, color=\"#c0362c\"" } else { "" };
    let _ = writeln!(out, "  t{i} [label=\"{label}\"{blamed}]");
}

fn write_arrow(out: &mut String, arrow: &Arrow, directed: bool) {
    let label = escape(&arrow.label);
    let closing = if arrow.closing { ", style=dashed" } else { "" };
    let headless = if directed { "" } else { ", dir=none" };
    let _ =
        writeln!(out, "  t{} -> t{} [label=\"{label}\"{closing}{headless}]", arrow.from, arrow.to);
}

/// Graphviz knows `\n` and `\N` in quoted texts, and HTML's entities.
fn escape(text: &str) -> String {
    compose::name(text.as_bytes()).replace('&', "&amp;").replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{cycle_of, race};

    #[test]
    fn a_cycle_of_two() {
        insta::assert_snapshot!(dot(&cycle_of(2)), @r##"
        digraph finding {
          label="Bank.step0 is not atomic\natomicity violation, Bank.step0, seen once, id 0000000000000002"
          labelloc=t
          node [shape=box, style=rounded]
          t0 [label="T0\nBank.step0\nBank.java:7 · events 1–29", penwidth=3, color="#c0362c"]
          t1 [label="T1\nBank.step1\nBank.java:7 · events 11–19"]
          t0 -> t1 [label="w(x0) → r(x0)"]
          t1 -> t0 [label="w(x1) → r(x1)", style=dashed]
        }
        "##);
    }

    #[test]
    fn a_race_has_no_direction() {
        assert!(dot(&race()).contains("[label=\"no order\", dir=none]"));
    }

    #[test]
    fn names_stay_inside_their_quotes() {
        assert_eq!(escape("a\"b\\N&lt;\n"), "a\\\"b\\\\N&amp;lt;\\\\n");
    }
}
