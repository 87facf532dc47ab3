//! The counts of a trace, as text for people (80 columns) and as JSON for programs.

use std::fmt::{self, Write};

use paceline_analysis::stats::{StatsReport, ThreadStats};
use paceline_trace::{Kind, Symbols, ThreadId, show_name};
use serde::Serialize;
use serde_json::{Map, Value};

/// The text lists this many threads, the busiest ones; JSON has them all.
const MOST_THREADS: usize = 20;
const NAME_WIDTH: usize = 20;
const BAR_WIDTH: u64 = 36;

/// The report as text.
pub fn text(report: &StatsReport, symbols: &Symbols) -> String {
    let mut out = String::new();
    // A string takes everything.
    let _ = write_text(&mut out, report, symbols);
    out
}

fn write_text(out: &mut String, report: &StatsReport, symbols: &Symbols) -> fmt::Result {
    summary(out, report)?;
    kinds(out, report)?;
    threads(out, report, symbols)?;
    lengths(out, &report.transactions.lengths)
}

fn summary(out: &mut String, report: &StatsReport) -> fmt::Result {
    let (variables, locks) = (&report.variables, &report.locks);
    let transactions = &report.transactions;
    let share = |part| percent(part, report.events);
    line(out, "Events", report.events, "")?;
    line(out, "Threads", report.threads.len() as u64, "")?;
    line(out, "Variables", variables.used(), "")?;
    line(out, "  shared", variables.shared, "several threads, written")?;
    line(out, "  read-only", variables.read_only, "several threads, never written")?;
    line(out, "  thread-local", variables.thread_local, "one thread")?;
    line(out, "Locks", locks.used, "")?;
    line(out, "  contended", locks.contended, "several threads")?;
    line(out, "Transactions", transactions.blocks, "outermost blocks")?;
    line(out, "  open at the end", transactions.open_at_end, "")?;
    line(out, "  at once", transactions.running_at_once, "at most")?;
    line(out, "  nested blocks", transactions.nested, "")?;
    line(out, "  nesting", transactions.deepest, "at most")?;
    line(out, "  events inside", transactions.events_inside, &share(transactions.events_inside))?;
    line(out, "  events outside", transactions.unary, &share(transactions.unary))
}

fn line(out: &mut String, name: &str, number: u64, remark: &str) -> fmt::Result {
    let text = format!("{name:<18}{:>19}   {remark}", thousands(number));
    writeln!(out, "{}", text.trim_end())
}

fn kinds(out: &mut String, report: &StatsReport) -> fmt::Result {
    let mut kinds: Vec<(Kind, u64)> = Kind::ALL.iter().map(|&k| (k, report.kind(k))).collect();
    kinds.retain(|&(_, count)| count > 0);
    kinds.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    if !kinds.is_empty() {
        writeln!(out, "\nBy kind")?;
    }
    for (kind, count) in kinds {
        let (name, share) = (kind.name(), percent(count, report.events));
        writeln!(out, "  {name:<16}{:>19}   {share}", thousands(count))?;
    }
    Ok(())
}

fn threads(out: &mut String, report: &StatsReport, symbols: &Symbols) -> fmt::Result {
    let mut busiest: Vec<&ThreadStats> = report.threads.iter().collect();
    busiest.sort_by_key(|t| std::cmp::Reverse(t.events));
    if busiest.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nBy thread                         events            reads           writes")?;
    for thread in busiest.iter().take(MOST_THREADS) {
        let count =
            |kinds: &[Kind]| thousands(kinds.iter().map(|&k| thread.kinds[k as usize]).sum());
        let name = shorten(&thread_name(thread.thread, symbols));
        let reads = count(&[Kind::Read, Kind::AtomicRead]);
        let writes = count(&[Kind::Write, Kind::AtomicWrite, Kind::AtomicUpdate]);
        let events = thousands(thread.events);
        writeln!(out, "  {name:<NAME_WIDTH$}{events:>18}{reads:>17}{writes:>17}")?;
    }
    match busiest.len().saturating_sub(MOST_THREADS) {
        0 => Ok(()),
        more => writeln!(out, "  and {} more", thousands(more as u64)),
    }
}

fn lengths(out: &mut String, lengths: &[u64]) -> fmt::Result {
    let Some(&most) = lengths.iter().max() else { return Ok(()) };
    writeln!(out, "\nEvents in a transaction")?;
    let first = lengths.iter().position(|&n| n > 0).unwrap_or(0);
    for (i, &count) in lengths.iter().enumerate().skip(first) {
        let (range, bar) = (show_range(i), bar(count, most));
        let text = format!("  {range:<18}{:>17}   {bar}", thousands(count));
        writeln!(out, "{}", text.trim_end())?;
    }
    Ok(())
}

/// The smallest and the largest length that is counted at this place of the histogram.
fn length_range(bucket: usize) -> (u64, u64) {
    let from = 1u64 << bucket;
    (from, from - 1 + from)
}

/// The same for people: powers of two where the digits would only take room.
fn show_range(bucket: usize) -> String {
    match length_range(bucket) {
        (from, to) if from == to => from.to_string(),
        (from, to) if to < 1 << 20 => format!("{from}-{to}"),
        _ => format!("from 2^{bucket}"),
    }
}

/// A bar for `count`, full for `most`; whatever there is can be seen.
fn bar(count: u64, most: u64) -> String {
    let width = (u128::from(count) * u128::from(BAR_WIDTH)).div_ceil(u128::from(most.max(1)));
    "█".repeat(width as usize)
}

/// `1234567` as `1,234,567`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { String::new() } else { format!("{:5.1}%", part as f64 * 100.0 / whole as f64) }
}

fn thread_name(thread: ThreadId, symbols: &Symbols) -> String {
    show_name(symbols.threads.name(thread.0)).into_owned()
}

/// Makes a name fit its column: control characters shown as such, the end cut off.
fn shorten(name: &str) -> String {
    let shown: String = name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if shown.chars().count() < NAME_WIDTH {
        return shown;
    }
    let start: String = shown.chars().take(NAME_WIDTH - 2).collect();
    start + "…"
}

/// The report as JSON, one object; names that are not UTF-8 are shown as well as possible.
pub fn json(report: &StatsReport, symbols: &Symbols) -> impl Serialize + use<> {
    Json::new(report, symbols)
}

#[derive(Serialize)]
struct Json {
    events: u64,
    kinds: Map<String, Value>,
    threads: Vec<JsonThread>,
    variables: JsonVariables,
    locks: JsonLocks,
    transactions: JsonTransactions,
}

#[derive(Serialize)]
struct JsonThread {
    name: String,
    events: u64,
    kinds: Map<String, Value>,
}

#[derive(Serialize)]
struct JsonVariables {
    used: u64,
    shared: u64,
    read_only: u64,
    thread_local: u64,
}

#[derive(Serialize)]
struct JsonLocks {
    used: u64,
    contended: u64,
}

#[derive(Serialize)]
struct JsonTransactions {
    blocks: u64,
    open_at_end: u64,
    nested_blocks: u64,
    max_nesting: u64,
    max_at_once: u64,
    events_inside: u64,
    unary: u64,
    lengths: Vec<JsonLength>,
}

#[derive(Serialize)]
struct JsonLength {
    from: u64,
    to: u64,
    count: u64,
}

impl Json {
    fn new(report: &StatsReport, symbols: &Symbols) -> Json {
        let transactions = &report.transactions;
        Json {
            events: report.events,
            kinds: json_kinds(|kind| report.kind(kind)),
            threads: report.threads.iter().map(|t| JsonThread::new(t, symbols)).collect(),
            variables: JsonVariables {
                used: report.variables.used(),
                shared: report.variables.shared,
                read_only: report.variables.read_only,
                thread_local: report.variables.thread_local,
            },
            locks: JsonLocks { used: report.locks.used, contended: report.locks.contended },
            transactions: JsonTransactions {
                blocks: transactions.blocks,
                open_at_end: transactions.open_at_end,
                nested_blocks: transactions.nested,
                max_nesting: transactions.deepest,
                max_at_once: transactions.running_at_once,
                events_inside: transactions.events_inside,
                unary: transactions.unary,
                lengths: json_lengths(&transactions.lengths),
            },
        }
    }
}

impl JsonThread {
    fn new(stats: &ThreadStats, symbols: &Symbols) -> JsonThread {
        JsonThread {
            name: thread_name(stats.thread, symbols),
            events: stats.events,
            kinds: json_kinds(|kind| stats.kinds[kind as usize]),
        }
    }
}

/// The kinds that occur, by name.
fn json_kinds(count: impl Fn(Kind) -> u64) -> Map<String, Value> {
    let counts = Kind::ALL.iter().map(|&kind| (kind.name().to_owned(), count(kind)));
    counts.filter(|&(_, n)| n > 0).map(|(name, n)| (name, Value::from(n))).collect()
}

fn json_lengths(lengths: &[u64]) -> Vec<JsonLength> {
    let entry = |(i, &count): (usize, &u64)| {
        let (from, to) = length_range(i);
        JsonLength { from, to, count }
    };
    lengths.iter().enumerate().filter(|(_, n)| **n > 0).map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_analysis::Analysis;
    use paceline_analysis::stats::Stats;
    use paceline_trace::Trace;
    use paceline_trace::generate::{Generator, Shape};

    fn stats(trace: &Trace) -> StatsReport {
        let mut stats = Stats::default();
        assert!(stats.events(&trace.batch()).is_continue());
        stats.finish();
        stats.report()
    }

    fn generated() -> Trace {
        let shape =
            Shape { events: 20_000, threads: 4, nesting: 2, waits: true, ..Shape::default() };
        Trace::collect(&mut Generator::new(shape).unwrap()).unwrap()
    }

    #[test]
    fn text_of_a_generated_trace() {
        let trace = generated();
        insta::assert_snapshot!(text(&stats(&trace), &trace.symbols));
    }

    #[test]
    fn text_of_an_empty_trace() {
        let trace = Trace::default();
        insta::assert_snapshot!(text(&stats(&trace), &trace.symbols));
    }

    #[test]
    fn json_of_a_small_trace() {
        let trace = Trace::parse("1:begin(m) 1:r(x) 2:w(x) 1:acq(l) 1:end(m) 1:ar(y)").unwrap();
        let report = stats(&trace);
        let object = json(&report, &trace.symbols);
        insta::assert_snapshot!(serde_json::to_string_pretty(&object).unwrap());
    }

    #[test]
    fn the_largest_numbers_and_longest_names_fit_eighty_columns() {
        let trace = Trace::parse(&format!("{}:r(x)", "thread".repeat(20))).unwrap();
        let mut report = stats(&trace);
        // A week at fifty million events a second.
        let huge = 30_000_000_000_000;
        report.events = huge;
        report.threads[0].kinds = [huge / 4; Kind::ALL.len()];
        report.threads[0].events = huge;
        report.transactions.lengths = vec![huge / 2; 64];
        let text = text(&report, &trace.symbols);
        let widest = text.lines().map(|l| l.chars().count()).max();
        assert!(widest <= Some(80), "{widest:?}\n{text}");
    }

    #[test]
    fn many_threads_are_cut_in_text_but_not_in_json() {
        let words: Vec<String> = (0..25).map(|i| format!("t{i}:r(x)")).collect();
        let trace = Trace::parse(&words.join(" ")).unwrap();
        let report = stats(&trace);
        assert!(text(&report, &trace.symbols).contains("  and 5 more\n"));
        let value = serde_json::to_value(json(&report, &trace.symbols)).unwrap();
        assert_eq!(value["threads"].as_array().unwrap().len(), 25);
    }

    #[test]
    fn numbers_are_grouped_and_bars_never_vanish() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(bar(1, 1_000_000), "█");
        assert_eq!(bar(0, 5), "");
        assert_eq!(length_range(63), (1 << 63, u64::MAX));
    }
}
