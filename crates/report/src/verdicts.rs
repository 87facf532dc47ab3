//! What is said of the verdicts on the properties that come with Paceline. This is the only file
//! that knows what each of them means to a reader; outputs show what a [`Verdict`] carries, and the
//! [`Section`]s below.

use std::collections::HashMap;

use serde::Serialize;

use crate::model::{
    Atomicity, Cell, CellValue, Cooperability, Facts, Label, Nodes, PredictionSearch, Shrunk,
    Verdict, Violating, YieldInBlock,
};
use crate::rules::{self, RuleInfo};
use crate::scope::count;
use crate::stats::thousands;
use crate::table::thread_name;

/// The rules of a property that comes with Paceline.
pub fn rules_of(facts: &Facts) -> Vec<RuleInfo> {
    match facts {
        Facts::Atomicity(_) => vec![rules::ATOMICITY],
        Facts::Cooperability(_) => vec![rules::COOPERABILITY],
        Facts::Determinism(_) => vec![rules::CONFLICT_FREEDOM, rules::EXTERNAL_SERIALIZABILITY],
        Facts::Race(_) => vec![rules::RACE],
        Facts::Reduction(_) => vec![rules::REDUCTION, rules::LOCKSET],
        Facts::Other(_) => Vec::new(),
    }
}

/// The verdict on a property that comes with Paceline, before it is [settled](Verdict::settle).
pub fn verdict(facts: Facts, holds: bool) -> Verdict {
    let (summary, cells) = (summary(&facts, holds), cells(&facts));
    Verdict { facts, cells, ..Verdict::new(holds, summary) }
}

/// Whether the verdict says nothing where there is no block.
pub fn needs_blocks(facts: &Facts) -> bool {
    match facts {
        Facts::Atomicity(_) | Facts::Determinism(_) | Facts::Reduction(_) => true,
        Facts::Cooperability(_) | Facts::Race(_) | Facts::Other(_) => false,
    }
}

fn summary(facts: &Facts, holds: bool) -> String {
    match facts {
        Facts::Atomicity(_) if holds => "atomic".to_owned(),
        Facts::Atomicity(it) if it.first_event.is_none() => {
            format!("not atomic in another order ({})", predicted(it.predicted.as_deref(), "block"))
        }
        Facts::Atomicity(it) => {
            let at = it.first_event.map_or_else(String::new, |e| format!(" (event {e})"));
            format!("not atomic{at}")
        }
        Facts::Cooperability(_) if holds => "cooperable".to_owned(),
        Facts::Cooperability(it) if it.first_event.is_none() => {
            let yields = predicted(it.predicted.as_deref(), "yield");
            format!("not cooperable in another order ({yields} missing)")
        }
        Facts::Cooperability(it) => {
            format!("not cooperable ({} missing)", count(it.yields.len() as u64, "yield"))
        }
        Facts::Determinism(_) if holds => "deterministic".to_owned(),
        Facts::Determinism(_) => "not deterministic".to_owned(),
        Facts::Race(_) if holds => "race-free".to_owned(),
        Facts::Race(it) if it.variables.is_empty() => {
            format!("races in another order ({})", predicted(it.predicted.as_deref(), "pair"))
        }
        Facts::Race(it) => format!("races on {}", count(it.variables.len() as u64, "variable")),
        Facts::Reduction(_) if holds => "reducible".to_owned(),
        Facts::Reduction(it) => {
            format!("{} ({} confirmed)", count(it.warnings, "warning"), it.confirmed)
        }
        Facts::Other(_) => if holds { "holds" } else { "does not hold" }.to_owned(),
    }
}

fn predicted<T>(all: Option<&[T]>, what: &str) -> String {
    count(all.map_or(0, <[T]>::len) as u64, what)
}

fn cells(facts: &Facts) -> Vec<Cell> {
    let number = |name, number: u64| (name, CellValue::Number(number));
    let first = |event: Option<u64>| event.map(|event| number("first event", event));
    let cells: Vec<(&str, CellValue)> = match facts {
        Facts::Atomicity(it) => {
            let refuted = number("refuted blocks", it.refuted.len() as u64);
            let predicted = it.predicted.as_ref();
            let predicted = predicted.map(|all| number("predicted blocks", all.len() as u64));
            first(it.first_event).into_iter().chain([refuted]).chain(predicted).collect()
        }
        Facts::Cooperability(it) => {
            let missing = number("missing yields", it.yields.len() as u64);
            first(it.first_event).into_iter().chain([missing]).collect()
        }
        Facts::Determinism(it) => vec![
            ("conflict-free", CellValue::Truth(it.conflict_free)),
            ("externally serializable", CellValue::Truth(it.externally_serializable)),
        ],
        Facts::Race(it) => vec![number("racy variables", it.variables.len() as u64)],
        Facts::Reduction(it) => {
            vec![number("warnings", it.warnings), number("confirmed", it.confirmed)]
        }
        Facts::Other(_) => Vec::new(),
    };
    cells.into_iter().map(|(name, value)| Cell { name: name.to_owned(), value }).collect()
}

/// A list that belongs to a verdict, beside the findings.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Section {
    /// Its rows, from top to bottom.
    pub rows: Vec<Row>,
}

/// A row of a [`Section`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Row {
    /// What the rows below are.
    Heading(String),
    /// Something that happened at an event.
    At {
        /// The event.
        event: u64,
        /// What.
        text: String,
    },
    /// What is left out here.
    More(String),
    /// Anything else.
    Line(String),
}

/// What a verdict lists beside its findings; of long lists, `most` rows.
pub fn sections(verdict: &Verdict, most: usize) -> Vec<Section> {
    let sections = match &verdict.facts {
        Facts::Atomicity(atomicity) => sections_of_atomicity(atomicity),
        Facts::Cooperability(Cooperability { yields_in_blocks, prediction, .. }) => {
            let yields = yields_in_blocks_section(yields_in_blocks, most);
            [yields].into_iter().chain(prediction.as_ref().map(prediction_section)).collect()
        }
        Facts::Race(race) => race.prediction.iter().map(prediction_section).collect(),
        Facts::Determinism(_) | Facts::Reduction(_) | Facts::Other(_) => Vec::new(),
    };
    sections.into_iter().filter(|section| !section.rows.is_empty()).collect()
}

fn sections_of_atomicity(atomicity: &Atomicity) -> Vec<Section> {
    let Atomicity { violating, nodes, shrunk, prediction, .. } = atomicity;
    let violating = violating.as_deref().map(violating_section);
    let nodes = nodes.as_ref().map(nodes_section);
    let shrunk = shrunk.as_ref().map(shrunk_section);
    let prediction = prediction.as_ref().map(prediction_section);
    [violating, nodes, shrunk, prediction].into_iter().flatten().collect()
}

/// Every transaction on some cycle, those of one component together.
fn violating_section(transactions: &[Violating]) -> Section {
    let mut begins = HashMap::new();
    for transaction in transactions {
        begins.entry(transaction.component).or_insert(transaction.first_event);
    }
    let mut transactions: Vec<&Violating> = transactions.iter().collect();
    transactions.sort_by_key(|t| begins[&t.component]);
    let mut rows = Vec::new();
    let mut component = None;
    for transaction in transactions {
        if component != Some(transaction.component) {
            component = Some(transaction.component);
            rows.push(Row::Heading("these cannot be put into any serial order:".to_owned()));
        }
        let what = transaction.label.in_sentence();
        let thread = thread_name(&transaction.thread);
        let text = format!("{} in {thread}", what.as_deref().unwrap_or("one event"));
        rows.push(Row::At { event: transaction.first_event, text });
    }
    Section { rows }
}

/// Yields inside blocks that are declared atomic.
fn yields_in_blocks_section(yields: &[YieldInBlock], most: usize) -> Section {
    if yields.is_empty() {
        return Section::default();
    }
    let heading = "yields inside blocks that are declared atomic:".to_owned();
    let row = |y: &YieldInBlock| {
        let at = if y.site.is_known() { format!(" at {}", y.site) } else { String::new() };
        let times = if y.count < 2 { String::new() } else { format!(" ({} times)", y.count) };
        let block = Label::in_sentence(&y.label);
        let block = block.as_deref().unwrap_or("a block");
        Row::At { event: y.event, text: format!("{}{at} in {block}{times}", y.kind) }
    };
    let more = yields.len().saturating_sub(most);
    let more = (more > 0).then(|| Row::More(format!("and {more} more places")));
    let rows = yields.iter().take(most).map(row);
    Section { rows: [Row::Heading(heading)].into_iter().chain(rows).chain(more).collect() }
}

/// How a search for predictions went. What was left open is always said.
fn prediction_section(search: &PredictionSearch) -> Section {
    let PredictionSearch { tried, certified, impossible, other_value, undecided, .. } = search;
    let tried = thousands(*tried);
    let mut rows = vec![Row::Line(format!(
        "other orders: {tried} candidates tried, {certified} certified, {impossible} impossible, \
         {other_value} only by other values, {undecided} undecided",
    ))];
    if search.alike + search.not_tried > 0 {
        let (alike, left) = (thousands(search.alike), thousands(search.not_tried));
        rows.push(Row::Line(format!(
            "not tried: {alike} from the same sites as others, {left} for lack of time \
             (--predict-budget)"
        )));
    }
    Section { rows }
}

/// What Velodrome's graph cost.
fn nodes_section(nodes: &Nodes) -> Section {
    let line = |how: &str, allocated: u64, alive: u64| {
        let (allocated, alive) = (thousands(allocated), thousands(alive));
        Row::Line(format!("nodes {how}: {allocated} allocated, at most {alive} alive"))
    };
    let (allocated, alive) = (nodes.allocated_without_merge, nodes.max_alive_without_merge);
    let with = line("with merging", nodes.allocated, nodes.max_alive);
    Section { rows: vec![with, line("without merging", allocated, alive)] }
}

/// The list of Velodrome's Table 2.
fn shrunk_section(shrunk: &Shrunk) -> Section {
    let is_not = ("method is not atomic", "methods are not atomic");
    let may_not = ("method may not be atomic", "methods may not be atomic");
    let lists = [(&shrunk.not_atomic, is_not), (&shrunk.suspects, may_not)];
    let mut rows = Vec::new();
    for (methods, (one, many)) in lists.into_iter().filter(|(methods, _)| !methods.is_empty()) {
        let what = if methods.len() == 1 { one } else { many };
        rows.push(Row::Line(format!("{} {what}:", methods.len())));
        rows.extend(methods.iter().map(|method| Row::Line(format!("  {method}"))));
    }
    if rows.is_empty() {
        rows.push(Row::Line("no method was refuted".to_owned()));
    }
    Section { rows }
}
