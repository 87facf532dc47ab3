//! The error graph as a picture, drawn without Graphviz. It follows the reader's dark or light
//! setting, and stands alone as a file or inside a page.

use std::fmt::Write as _;

use crate::compose;
use crate::graph::{Anchor, Arrow, BOX_HEIGHT, Graph, Node, Point, caption, graph};
use crate::model::Finding;

const STYLE: &str = include_str!("svg.css");
/// From one line of a box to the next.
const LINE: f64 = 17.0;

/// The graph of a finding, as a file of its own.
pub fn svg(finding: &Finding) -> String {
    draw(finding, STYLE)
}

/// The same for a page that has the styles already.
pub fn bare(finding: &Finding) -> String {
    draw(finding, "")
}

fn draw(finding: &Finding, style: &str) -> String {
    let graph = graph(finding);
    let mut out = String::new();
    let (title, caption) = (escape(&finding.title), escape(&caption(finding)));
    let (width, height) = (graph.width, graph.height);
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graph\" role=\"img\" aria-label=\"{title}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\"><title>{title}</title><desc>{caption}</desc>",
    );
    if !style.is_empty() {
        let _ = write!(out, "<style>{style}</style>");
    }
    graph.arrows.iter().for_each(|arrow| write_arrow(&mut out, arrow, graph.directed));
    graph.nodes.iter().for_each(|node| write_node(&mut out, &graph, node));
    out.push_str("</svg>\n");
    out
}

fn write_node(out: &mut String, graph: &Graph, node: &Node) {
    let Point { x, y } = node.middle;
    let (left, top) = (x - graph.box_width / 2.0, y - BOX_HEIGHT / 2.0);
    let class = if node.blamed { "node blamed" } else { "node" };
    let _ = write!(
        out,
        "<g class=\"{class}\"><rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{BOX_HEIGHT}\" rx=\"9\"/>",
        graph.box_width
    );
    let lines = [("thread", &node.thread), ("name", &node.name), ("place", &node.place)];
    for (i, (class, text)) in lines.into_iter().enumerate() {
        let y = y + (i as f64 - 1.0) * LINE + 4.5;
        let text = escape(text);
        let _ = write!(out, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>");
    }
    out.push_str("</g>");
}

fn write_arrow(out: &mut String, arrow: &Arrow, directed: bool) {
    let class = if arrow.closing { "arrow closing" } else { "arrow" };
    let line: Vec<String> = arrow.line.iter().map(|p| format!("{:.1} {:.1}", p.x, p.y)).collect();
    let _ = write!(out, "<g class=\"{class}\"><path d=\"M{}\"/>", line.join("L"));
    if let [.., before, tip] = arrow.line[..]
        && directed
    {
        let _ = write!(out, "<polygon points=\"{}\"/>", head(before, tip));
    }
    let anchor = match arrow.anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let (at, label) = (arrow.label_at, escape(&arrow.label));
    let _ = write!(
        out,
        "<text text-anchor=\"{anchor}\" x=\"{:.1}\" y=\"{:.1}\">{label}</text></g>",
        at.x, at.y
    );
}

/// The three corners of an arrow's head.
fn head(from: Point, tip: Point) -> String {
    let length = (tip.x - from.x).hypot(tip.y - from.y).max(1.0);
    let (dx, dy) = ((tip.x - from.x) / length, (tip.y - from.y) / length);
    let back = Point { x: tip.x - 9.0 * dx, y: tip.y - 9.0 * dy };
    let (sx, sy) = (-4.5 * dy, 4.5 * dx);
    format!(
        "{:.1},{:.1} {:.1},{:.1} {:.1},{:.1}",
        tip.x,
        tip.y,
        back.x + sx,
        back.y + sy,
        back.x - sx,
        back.y - sy
    )
}

/// What XML may hold: no control character, none that turns the text around, no character that is
/// none.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in compose::name(text.as_bytes()).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{cycle_of, race};

    fn count(text: &str, part: &str) -> usize {
        text.matches(part).count()
    }

    #[test]
    fn a_box_and_an_arrow_for_each_transaction() {
        let drawn = svg(&cycle_of(4));
        assert_eq!(count(&drawn, "<rect "), 4);
        assert_eq!(count(&drawn, "<polygon "), 4);
        assert_eq!(count(&drawn, "class=\"arrow closing\""), 1);
        assert_eq!(count(&drawn, "class=\"node blamed\""), 1);
        assert!(drawn.contains(STYLE));
        assert!(!bare(&cycle_of(4)).contains("<style>"));
    }

    #[test]
    fn a_race_has_no_direction() {
        assert_eq!(count(&svg(&race()), "<polygon "), 0);
    }

    #[test]
    fn names_stay_texts() {
        assert_eq!(
            escape("<a b='c'>&\u{1b}\u{ffff}"),
            "&lt;a b=&#39;c&#39;&gt;&amp;\\u{1b}\u{fffd}"
        );
    }
}
