//! The error graph of a finding as data: where every box and arrow goes, so that the files that
//! draw it have nothing to decide.
//!
//! The conventions are Velodrome's: a box for each transaction, arrows labelled with the two
//! operations in conflict, the arrow that closed the cycle dashed, the blamed transaction outlined.
//! Two columns make the loop: the first goes down, the second comes up again. Whatever the number of
//! transactions, no arrow then crosses a box and the picture stays as wide as two of them.
//!
//! A finding without a cycle (a race, a warning) has a box for each event instead.

use crate::compose;
use crate::model::{Event, Explanation, Finding, Site, Transaction};
use crate::table::{shorten, thread_name};

/// A point; `y` grows downwards.
#[derive(Clone, Copy, PartialEq, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

/// A transaction.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// The thread.
    pub thread: String,
    /// The block's label, or the operation of a single event.
    pub name: String,
    /// The site, and which events.
    pub place: String,
    /// The finding blames it.
    pub blamed: bool,
    /// Its middle.
    pub middle: Point,
}

/// A conflict.
#[derive(Clone, PartialEq, Debug)]
pub struct Arrow {
    /// Index of the box it leaves.
    pub from: usize,
    /// Index of the box it enters.
    pub to: usize,
    /// The two operations.
    pub label: String,
    /// The one that closed the cycle.
    pub closing: bool,
    /// Where it begins, its corners, and where its head is.
    pub line: Vec<Point>,
    /// Where its label is.
    pub label_at: Point,
    /// How the label lies about that point.
    pub anchor: Anchor,
}

/// How a text lies about its point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// The whole picture.
#[derive(Clone, PartialEq, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Graph {
    pub nodes: Vec<Node>,
    pub arrows: Vec<Arrow>,
    /// Arrows have heads; otherwise nothing orders the two events.
    pub directed: bool,
    pub width: f64,
    pub height: f64,
    pub box_width: f64,
}

/// Three lines of text.
pub const BOX_HEIGHT: f64 = 68.0;
/// Of a letter, in the labels of arrows.
const LETTER: f64 = 6.7;
/// Of a letter, in boxes.
const BOX_LETTER: f64 = 7.4;
const MARGIN: f64 = 14.0;
const ROW_GAP: f64 = 54.0;
/// Between the two arrows of a cycle of two.
const SPREAD: f64 = 15.0;
const LONGEST_NAME: usize = 34;
const LONGEST_OPERATION: usize = 26;
/// A picture of more would be of no use.
const MOST_EVENTS: usize = 8;

/// The picture of a finding.
pub fn graph(finding: &Finding) -> Graph {
    let (nodes, labels) = if finding.cycle.is_empty() {
        let events = || finding.threads.iter().take(MOST_EVENTS);
        (events().map(of_event).collect(), conflict(finding))
    } else {
        let blamed = finding.blame.is_some();
        let each = finding.cycle.iter().enumerate();
        let nodes = each.map(|(i, t)| of_transaction(t, blamed && i == 0)).collect();
        (nodes, finding.cycle.iter().map(edge_label).collect())
    };
    lay_out(nodes, labels, is_directed(finding))
}

/// What a picture is of, under its title.
pub fn caption(finding: &Finding) -> String {
    let Finding { rule, severity, count, id, .. } = finding;
    let times = if *count == 1 { "once".to_owned() } else { format!("{count} times") };
    let blame = finding.blame.as_ref().and_then(|b| b.label.text());
    let blame = blame.map_or_else(String::new, |label| format!(", {label}"));
    format!("{rule} {severity}{blame}, seen {times}, id {id}")
}

/// Whether the conflict itself is an order, and not the lack of one.
fn is_directed(finding: &Finding) -> bool {
    finding.explanation != Explanation::Unordered
}

/// Without a cycle, two events are the two in conflict.
fn conflict(finding: &Finding) -> Vec<String> {
    let label = if is_directed(finding) { "conflict" } else { "no order" };
    if finding.threads.len() == 2 { vec![label.to_owned()] } else { Vec::new() }
}

fn clean(text: &str, longest: usize) -> String {
    shorten(&compose::name(text.as_bytes()), longest)
}

fn thread(name: &str) -> String {
    clean(&thread_name(name), LONGEST_NAME)
}

/// The site, if it says more than the name, and the events.
fn site_and_events(site: &Site, name: &str, events: &str) -> String {
    let text = site.to_string();
    if !site.is_known() || text == name {
        return events.to_owned();
    }
    let room = LONGEST_NAME.saturating_sub(events.chars().count() + 3);
    format!("{} · {events}", clean(&text, room.max(8)))
}

fn of_event(event: &Event) -> Node {
    Node {
        thread: thread(&event.thread),
        name: clean(&event.operation(), LONGEST_NAME),
        place: site_and_events(&event.site, "", &format!("event {}", event.event)),
        blamed: false,
        middle: Point { x: 0.0, y: 0.0 },
    }
}

fn of_transaction(transaction: &Transaction, blamed: bool) -> Node {
    let operation = || transaction.edge.from.operation();
    let name = transaction.label.text().map_or_else(operation, str::to_owned);
    let events = if transaction.first_event == transaction.last_event {
        format!("event {}", transaction.first_event)
    } else {
        format!("events {}–{}", transaction.first_event, transaction.last_event)
    };
    Node {
        thread: thread(&transaction.thread),
        place: site_and_events(&transaction.site, &name, &events),
        name: clean(&name, LONGEST_NAME),
        blamed,
        middle: Point { x: 0.0, y: 0.0 },
    }
}

fn edge_label(transaction: &Transaction) -> String {
    let edge = &transaction.edge;
    let short = |event: &Event| clean(&event.operation(), LONGEST_OPERATION);
    format!("{} → {}", short(&edge.from), short(&edge.to))
}

fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> f64 {
    texts.map(|t| t.chars().count()).max().unwrap_or(0) as f64
}

fn lay_out(mut nodes: Vec<Node>, labels: Vec<String>, directed: bool) -> Graph {
    let texts = nodes.iter().flat_map(|n| [n.thread.as_str(), &n.name, &n.place]);
    let box_width = (widest(texts) * BOX_LETTER + 36.0).max(140.0);
    let label_width = widest(labels.iter().map(String::as_str)) * LETTER;
    // A label beside an upright arrow starts at the middle of a box and must not meet one that
    // comes from the other side.
    let both = if nodes.len() > 3 { 2.0 * label_width + 40.0 - box_width } else { 0.0 };
    let gap = both.max(label_width + 44.0);
    arrange(&mut nodes, box_width, gap);
    let right = nodes.iter().map(|n| n.middle.x).fold(0.0, f64::max);
    let bottom = nodes.iter().map(|n| n.middle.y).fold(0.0, f64::max);
    let loops = if nodes.len() == 1 && !labels.is_empty() { label_width + 60.0 } else { 0.0 };
    let arrows = arrows(&nodes, labels, box_width);
    Graph {
        nodes,
        arrows,
        directed,
        width: right + box_width / 2.0 + MARGIN + loops,
        height: bottom + BOX_HEIGHT / 2.0 + MARGIN,
        box_width,
    }
}

/// Down the first column and up the second. If that is the shorter one, its top is left free, and
/// the last arrow turns a corner there.
fn arrange(nodes: &mut [Node], box_width: f64, gap: f64) {
    let down = nodes.len().div_ceil(2);
    let up = nodes.len() - down;
    let row = |i: f64| MARGIN + BOX_HEIGHT / 2.0 + i * (BOX_HEIGHT + ROW_GAP);
    let first = MARGIN + box_width / 2.0;
    let lower = down - up;
    for (i, node) in nodes.iter_mut().enumerate() {
        node.middle = if i < down {
            Point { x: first, y: row(i as f64) }
        } else {
            let from_top = down + up - 1 - i + lower;
            Point { x: first + box_width + gap, y: row(from_top as f64) }
        };
    }
}

fn arrows(nodes: &[Node], labels: Vec<String>, box_width: f64) -> Vec<Arrow> {
    let last = labels.len().saturating_sub(1);
    let of_cycle = labels.len() == nodes.len();
    let each = labels.into_iter().enumerate();
    each.map(|(i, label)| {
        let (from, to) = (i, (i + 1) % nodes.len());
        let route = route(nodes, from, to, box_width, of_cycle && nodes.len() == 2);
        let closing = of_cycle && i == last;
        let Route { line, label_at, anchor } = route;
        Arrow { from, to, label, closing, line, label_at, anchor }
    })
    .collect()
}

struct Route {
    line: Vec<Point>,
    label_at: Point,
    anchor: Anchor,
}

fn route(nodes: &[Node], from: usize, to: usize, box_width: f64, apart: bool) -> Route {
    let (a, b) = (nodes[from].middle, nodes[to].middle);
    let half = Point { x: box_width / 2.0, y: BOX_HEIGHT / 2.0 };
    if from == to {
        return to_itself(a.x + half.x, a.y);
    }
    if a.x == b.x {
        return upright(a, b, half);
    }
    let side = if b.x > a.x { 1.0 } else { -1.0 };
    // Two arrows between the same two boxes keep apart.
    let shift = if apart { -SPREAD * side } else { 0.0 };
    let start = if a.y == b.y {
        Point { x: a.x + side * half.x, y: a.y + shift }
    } else {
        Point { x: a.x, y: a.y - half.y }
    };
    let corner = Point { x: start.x, y: b.y + shift };
    let end = Point { x: b.x - side * half.x, y: b.y + shift };
    let gap = f64::midpoint(a.x + side * half.x, end.x);
    let beside = if shift > 0.0 { 18.0 } else { -8.0 };
    let mut line = vec![start, corner, end];
    line.dedup();
    Route { line, label_at: Point { x: gap, y: end.y + beside }, anchor: Anchor::Middle }
}

fn to_itself(side: f64, y: f64) -> Route {
    let at = |dx: f64, dy: f64| Point { x: side + dx, y: y + dy };
    let line = vec![at(0.0, -SPREAD), at(36.0, -SPREAD), at(36.0, SPREAD), at(0.0, SPREAD)];
    Route { line, label_at: at(44.0, 4.0), anchor: Anchor::Start }
}

/// Between neighbours of a column; the label is on the inner side.
fn upright(a: Point, b: Point, half: Point) -> Route {
    let down = if b.y > a.y { 1.0 } else { -1.0 };
    let start = Point { x: a.x, y: a.y + down * half.y };
    let end = Point { x: b.x, y: b.y - down * half.y };
    let y = f64::midpoint(start.y, end.y) + 4.0;
    let anchor = if down > 0.0 { Anchor::Start } else { Anchor::End };
    Route { line: vec![start, end], label_at: Point { x: a.x + down * 9.0, y }, anchor }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{cycle_of, race};

    /// Whether two boxes have a point in common.
    fn overlap(graph: &Graph, a: &Node, b: &Node) -> bool {
        (a.middle.x - b.middle.x).abs() < graph.box_width
            && (a.middle.y - b.middle.y).abs() < BOX_HEIGHT
    }

    #[test]
    fn boxes_keep_apart_and_inside() {
        for n in 1..30 {
            let graph = graph(&cycle_of(n));
            assert_eq!((graph.nodes.len(), graph.arrows.len()), (n, n));
            for (i, a) in graph.nodes.iter().enumerate() {
                assert!(graph.nodes[..i].iter().all(|b| !overlap(&graph, a, b)), "{n}: {a:?}");
                assert!(a.middle.x + graph.box_width / 2.0 < graph.width);
                assert!(a.middle.y + BOX_HEIGHT / 2.0 < graph.height);
            }
        }
    }

    #[test]
    fn arrows_go_round_and_the_last_one_closes() {
        let graph = graph(&cycle_of(5));
        let ends: Vec<_> = graph.arrows.iter().map(|a| (a.from, a.to, a.closing)).collect();
        assert_eq!(
            ends,
            [(0, 1, false), (1, 2, false), (2, 3, false), (3, 4, false), (4, 0, true)]
        );
        assert_eq!(graph.arrows[0].label, "w(x0) → r(x0)");
    }

    #[test]
    fn only_the_first_transaction_is_blamed_and_only_if_there_is_blame() {
        let mut finding = cycle_of(3);
        let blamed = |f: &Finding| graph(f).nodes.iter().map(|n| n.blamed).collect::<Vec<_>>();
        assert_eq!(blamed(&finding), [true, false, false]);
        finding.blame = None;
        assert_eq!(blamed(&finding), [false; 3]);
    }

    #[test]
    fn a_race_is_two_events_without_order() {
        let graph = graph(&race());
        assert_eq!(graph.nodes.len(), 2);
        assert_eq!(graph.arrows.len(), 1);
        assert!(!graph.arrows[0].closing && !graph.directed);
        assert_eq!(graph.arrows[0].label, "no order");
        assert_eq!(graph.nodes[1].name, "w(x)");
    }

    #[test]
    fn two_events_of_another_rule_are_ordered() {
        let graph = graph(&Finding { explanation: Explanation::Events, ..race() });
        assert!(graph.directed);
        assert_eq!(graph.arrows[0].label, "conflict");
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        let mut finding = race();
        finding.threads.clear();
        assert!(graph(&finding).nodes.is_empty());
    }
}
