//! A trace as a picture: JSON trace events, which ui.perfetto.dev and chrome://tracing open.
//!
//! - Time is the number of the event, one microsecond each: a trace has no other clock.
//! - Each thread has a track with its blocks as slices, and below it one with the locks that it
//!   holds. Locks need not nest: when one is given up before those taken after it, their slices
//!   are cut in two at that point.
//! - The events of findings are slices of their own, with what is known of them; arrows join
//!   those that are in conflict. Other accesses are left out: they are most of the trace and
//!   would hide the rest. Forks, joins, yields and the like are instants.
//!
//! A prediction has a process of its own below the observed one (`predicted`): "as it can happen".
//!
//! Written as the trace is read: nothing is kept but what is open, and the events of predictions.

mod predicted;

use std::collections::BTreeMap;
use std::io::{self, Write};

use paceline_trace::format::std::show_op;
use paceline_trace::{Batch, Event, EventNo, LockId, Op, Symbols, ThreadId, ops};
use serde::Serialize;

use crate::graph::caption;
use crate::model::{self, Finding, Note, Report};
use crate::table::thread_name;
use crate::{compose, scope};
use predicted::Kept;

/// The process of the observed order; those of predictions come after it.
const OBSERVED: u32 = 1;
/// What an event opens begins with it, and what it closes ends before the next one; its own slice
/// lies strictly in between. Perfetto takes of two slices that begin at the same time any one for
/// the outer one.
const EVENT_BEGINS: f64 = 0.05;
const EVENT_LENGTH: f64 = 0.85;
const AFTER: f64 = 0.95;

/// Writes the picture of one trace.
pub struct Writer<W: Write> {
    out: W,
    pid: u32,
    marks: BTreeMap<EventNo, Mark>,
    /// How many arrows there are, in all processes: their ids differ.
    arrows: u64,
    threads: Vec<Option<Thread>>,
    /// When the last event took place.
    last: EventNo,
    predictions: Kept,
}

/// What is shown of an event of a finding.
#[derive(Default)]
struct Mark {
    /// Titles and ids.
    findings: Vec<String>,
    /// The arrows that start here, and those that end here.
    starts: Vec<u64>,
    ends: Vec<u64>,
    /// In a new order: it comes after an event that was observed after it.
    is_moved: bool,
}

/// What is open in a thread.
#[derive(Clone, Default)]
struct Thread {
    /// The labels of its blocks.
    blocks: Vec<String>,
    held: Vec<(LockId, String)>,
}

/// What a reader should know about the picture.
#[derive(Serialize)]
struct About<'a> {
    trace: &'a str,
    analysed: String,
    findings: usize,
    notes: Vec<String>,
}

/// A trace event of the format.
#[derive(Serialize)]
struct Shown<'a> {
    ph: &'static str,
    pid: u32,
    tid: u64,
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Args<'a>>,
}

#[derive(Default, Serialize)]
struct Args<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sort_index: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<EventNo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    site: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved: Option<bool>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    findings: &'a [String],
}

/// What is to be shown on a track; which process it is in is added when it is written.
fn shown<'a>(ph: &'static str, tid: u64, ts: f64, name: Option<&'a str>) -> Shown<'a> {
    let pid = OBSERVED;
    Shown { ph, pid, tid, ts, name, cat: None, dur: None, id: None, bp: None, s: None, args: None }
}

/// The track for the blocks of a thread; that of its locks comes next.
fn blocks_of(thread: ThreadId) -> u64 {
    2 * u64::from(thread.0) + 1
}

fn locks_of(thread: ThreadId) -> u64 {
    blocks_of(thread) + 1
}

/// The conflicts of a finding: those of its cycle, or else from each event to the next.
fn conflicts(finding: &Finding) -> Vec<(&model::Event, &model::Event)> {
    if finding.cycle.is_empty() {
        return finding.threads.windows(2).map(|pair| (&pair[0], &pair[1])).collect();
    }
    finding.cycle.iter().map(|t| (&t.edge.from, &t.edge.to)).collect()
}

/// The marks of these findings, shown in the order in which they take place. `arrows` is counted on.
fn marks<'a>(
    findings: impl IntoIterator<Item = &'a Finding>,
    arrows: &mut u64,
) -> BTreeMap<EventNo, Mark> {
    let mut marks: BTreeMap<EventNo, Mark> = BTreeMap::new();
    for finding in findings {
        mark_events(finding, &mut marks);
        for (from, to) in conflicts(finding) {
            *arrows += 1;
            marks.entry(from.event).or_default().starts.push(*arrows);
            marks.entry(to.event).or_default().ends.push(*arrows);
        }
    }
    marks
}

fn mark_events(finding: &Finding, marks: &mut BTreeMap<EventNo, Mark>) {
    let said = format!("{}: {}", finding.title, caption(finding));
    for event in &finding.threads {
        marks.entry(event.event).or_default().findings.push(said.clone());
    }
}

impl<W: Write> Writer<W> {
    /// Starts the picture of the trace that this is the report of.
    pub fn new(out: W, report: &Report) -> io::Result<Writer<W>> {
        let mut arrows = 0;
        let (predicted, observed): (Vec<_>, Vec<_>) =
            report.findings.iter().partition(|finding| finding.reordering.is_some());
        let mut marks = marks(observed, &mut arrows);
        // In the observed order there is no conflict to join by arrows.
        predicted.into_iter().for_each(|finding| mark_events(finding, &mut marks));
        let predictions = Kept::of(report);
        let (pid, threads, last) = (OBSERVED, Vec::new(), 0);
        let mut writer = Writer { out, pid, marks, arrows, threads, last, predictions };
        writer.out.write_all(b"{\"displayTimeUnit\":\"ns\",\"otherData\":")?;
        let about = About {
            trace: &report.input.path,
            analysed: scope::line(report),
            findings: report.findings.len(),
            notes: report.notes.iter().map(Note::to_string).collect(),
        };
        serde_json::to_writer(&mut writer.out, &about)?;
        writer.out.write_all(b",\"traceEvents\":[\n")?;
        let args = Some(Args { name: Some(&report.input.path), ..Args::default() });
        let process = Shown { args, ..shown("M", 0, 0.0, Some("process_name")) };
        serde_json::to_writer(&mut writer.out, &process)?;
        Ok(writer)
    }

    /// Takes the next events; `symbols` knows their names.
    pub fn events(&mut self, batch: &Batch, symbols: &Symbols) -> io::Result<()> {
        for (number, event) in (batch.first..).zip(&batch.events) {
            self.predictions.keep(number, event, &self.threads);
            self.event(number, number, event, symbols)?;
        }
        Ok(())
    }

    /// Shows what was predicted, closes what is open and completes the file.
    pub fn finish(mut self, symbols: &Symbols) -> io::Result<W> {
        self.close_all()?;
        self.draw_predictions(symbols)?;
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Ends what is open in all threads.
    fn close_all(&mut self) -> io::Result<()> {
        let end = self.last as f64 + 1.0;
        for (thread, open) in (0..).map(ThreadId).zip(std::mem::take(&mut self.threads)) {
            let open = open.unwrap_or_default();
            for _ in &open.blocks {
                self.put(shown("E", blocks_of(thread), end, None))?;
            }
            for _ in &open.held {
                self.put(shown("E", locks_of(thread), end, None))?;
            }
        }
        Ok(())
    }

    fn put(&mut self, event: Shown) -> io::Result<()> {
        self.out.write_all(b",\n")?;
        let event = Shown { pid: self.pid, ..event };
        Ok(serde_json::to_writer(&mut self.out, &event)?)
    }

    /// Shows the event of this number; `at` is when it takes place, in the order that is shown.
    fn event(
        &mut self,
        at: EventNo,
        number: EventNo,
        event: &Event,
        symbols: &Symbols,
    ) -> io::Result<()> {
        self.last = at;
        self.meet(event.thread, symbols)?;
        self.open(at as f64, event, symbols)?;
        if let Some(mark) = self.marks.remove(&number) {
            self.mark(at as f64 + EVENT_BEGINS, number, event, &mark, symbols)?;
        }
        self.close(at as f64 + AFTER, event, symbols)
    }

    /// Names the tracks of a thread that has not been seen before.
    fn meet(&mut self, thread: ThreadId, symbols: &Symbols) -> io::Result<()> {
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, || None);
        }
        if self.threads[thread.index()].is_some() {
            return Ok(());
        }
        self.threads[thread.index()] = Some(Thread::default());
        let name = thread_name(&compose::thread(thread, symbols));
        self.name_track(blocks_of(thread), &name)?;
        self.name_track(locks_of(thread), &format!("{name}: locks"))
    }

    fn name_track(&mut self, track: u64, name: &str) -> io::Result<()> {
        let named = Args { name: Some(name), ..Args::default() };
        let args = Some(named);
        self.put(Shown { args, ..shown("M", track, 0.0, Some("thread_name")) })?;
        let args = Some(Args { sort_index: Some(track), ..Args::default() });
        self.put(Shown { args, ..shown("M", track, 0.0, Some("thread_sort_index")) })
    }

    fn thread(&mut self, thread: ThreadId) -> &mut Thread {
        self.threads[thread.index()].get_or_insert_default()
    }

    /// Shows what the event begins.
    fn open(&mut self, at: f64, event: &Event, symbols: &Symbols) -> io::Result<()> {
        let thread = event.thread;
        match event.op {
            Op::Begin(label) => {
                let label = compose::label(label, event.site, symbols);
                let label = label.text().unwrap_or_default();
                let site = Some(compose::site(event.site, symbols).to_string());
                let args = Some(Args { site, ..Args::default() });
                self.thread(thread).blocks.push(label.to_owned());
                self.put(Shown { args, ..shown("B", blocks_of(thread), at, Some(label)) })
            }
            Op::Acquire(lock) => self.hold(at, thread, lock, lock_name(lock, symbols)),
            Op::AcquireShared(lock) => {
                self.hold(at, thread, lock, format!("{} (shared)", lock_name(lock, symbols)))
            }
            Op::PostWait(lock) => {
                self.give_up(at, thread, lock)?;
                self.hold(at, thread, lock, lock_name(lock, symbols))
            }
            ops!(Thread | Semaphore | Barrier) | Op::Yield | Op::Notify(_) => {
                self.instant(at, event, symbols)
            }
            ops!(Access) | Op::End(_) | Op::Release(_) | Op::ReleaseShared(_) | Op::PreWait(_) => {
                Ok(())
            }
        }
    }

    /// Shows what the event ends.
    fn close(&mut self, at: f64, event: &Event, symbols: &Symbols) -> io::Result<()> {
        let thread = event.thread;
        match event.op {
            Op::End(_) => {
                self.thread(thread).blocks.pop();
                self.put(shown("E", blocks_of(thread), at, None))
            }
            Op::Release(lock) | Op::ReleaseShared(lock) => self.give_up(at, thread, lock),
            Op::PreWait(lock) => {
                self.give_up(at, thread, lock)?;
                self.hold(at, thread, lock, format!("waiting: {}", lock_name(lock, symbols)))
            }
            ops!(Access | Thread | Semaphore | Barrier)
            | Op::Yield
            | Op::Begin(_)
            | Op::Acquire(_)
            | Op::AcquireShared(_)
            | Op::PostWait(_)
            | Op::Notify(_) => Ok(()),
        }
    }

    fn hold(&mut self, at: f64, thread: ThreadId, lock: LockId, name: String) -> io::Result<()> {
        self.put(shown("B", locks_of(thread), at, Some(&name)))?;
        self.thread(thread).held.push((lock, name));
        Ok(())
    }

    /// Ends the slice of a lock; those above it end too, and go on after it.
    fn give_up(&mut self, at: f64, thread: ThreadId, lock: LockId) -> io::Result<()> {
        let held = &mut self.thread(thread).held;
        let Some(from) = held.iter().rposition(|(other, _)| *other == lock) else { return Ok(()) };
        let mut ended = held.split_off(from);
        for _ in &ended {
            self.put(shown("E", locks_of(thread), at, None))?;
        }
        ended.remove(0);
        ended.into_iter().try_for_each(|(lock, name)| self.hold(at, thread, lock, name))
    }

    fn instant(&mut self, at: f64, event: &Event, symbols: &Symbols) -> io::Result<()> {
        let name = operation(event, symbols);
        let instant = shown("i", blocks_of(event.thread), at, Some(&name));
        self.put(Shown { s: Some("t"), ..instant })
    }

    /// Shows an event of a finding, and the arrows from it and to it.
    fn mark(
        &mut self,
        at: f64,
        number: EventNo,
        event: &Event,
        mark: &Mark,
        symbols: &Symbols,
    ) -> io::Result<()> {
        let track = blocks_of(event.thread);
        let name = operation(event, symbols);
        let args = Args {
            event: Some(number),
            site: Some(compose::site(event.site, symbols).to_string()),
            moved: mark.is_moved.then_some(true),
            findings: &mark.findings,
            ..Args::default()
        };
        let slice = shown("X", track, at, Some(&name));
        self.put(Shown { dur: Some(EVENT_LENGTH), args: Some(args), ..slice })?;
        let arrow = |ph, id| Shown {
            cat: Some("conflict"),
            id: Some(id),
            bp: Some("e"),
            // Inside the slice that was just written, so that it is the one that is joined.
            ..shown(ph, track, at + EVENT_LENGTH / 2.0, Some("conflict"))
        };
        mark.ends.iter().try_for_each(|&id| self.put(arrow("f", id)))?;
        mark.starts.iter().try_for_each(|&id| self.put(arrow("s", id)))
    }
}

fn operation(event: &Event, symbols: &Symbols) -> String {
    compose::name(show_op(event, symbols).as_bytes())
}

fn lock_name(lock: LockId, symbols: &Symbols) -> String {
    compose::name(symbols.locks.name(lock.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use paceline_trace::Trace;
    use paceline_trace::generate::{Generator, Shape};
    use serde_json::Value;

    fn picture(trace: &Trace, findings: &[Finding]) -> String {
        picture_of(trace, &samples::report_of(findings.to_vec()))
    }

    fn picture_of(trace: &Trace, report: &Report) -> String {
        let mut writer = Writer::new(Vec::new(), report).unwrap();
        writer.events(&trace.batch(), &trace.symbols).unwrap();
        String::from_utf8(writer.finish(&trace.symbols).unwrap()).unwrap()
    }

    fn events(picture: &str) -> Vec<Value> {
        let value: Value = serde_json::from_str(picture).unwrap();
        value["traceEvents"].as_array().unwrap().clone()
    }

    #[test]
    fn blocks_locks_and_conflicts_are_shown() {
        let trace = samples::trace(samples::LINE);
        let report = samples::report(&trace);
        insta::assert_snapshot!(picture(&trace, &report.findings));
    }

    #[test]
    fn locks_that_do_not_nest_are_cut() {
        let trace = Trace::parse("1:acq(a) 1:acq(b) 1:rel(a) 1:r(x) 1:rel(b)").unwrap();
        let steps: Vec<String> = events(&picture(&trace, &[]))
            .iter()
            .filter(|e| e["ph"] != "M")
            .map(|e| format!("{} {} {}", e["ph"], e["name"], e["ts"]).replace('"', ""))
            .collect();
        let expected =
            ["B a 1.0", "B b 2.0", "E null 3.95", "E null 3.95", "B b 3.95", "E null 5.95"];
        assert_eq!(steps, expected);
    }

    /// What a viewer needs: on each track slices nest, time does not go back, all are closed. A
    /// slice of an event touches no border of the slices around it: where two begin at the same
    /// time, Perfetto takes any one for the outer one, and counts the end of the other as lost.
    fn assert_nested(picture: &str) -> usize {
        let mut tracks: BTreeMap<(u64, u64), (Vec<f64>, f64)> = BTreeMap::new();
        let is_slice = |e: &&Value| e["ph"] != "M" && e["ph"] != "s" && e["ph"] != "f";
        for event in events(picture).iter().filter(is_slice) {
            let track = ["pid", "tid"].map(|key| event[key].as_u64().unwrap());
            let (open, last) = tracks.entry(track.into()).or_default();
            let at = event["ts"].as_f64().unwrap();
            assert!(at >= *last, "{event}");
            match event["ph"].as_str().unwrap() {
                "B" => open.push(at),
                "E" => assert!(open.pop().unwrap() < at, "{event}"),
                "X" => {
                    assert!(at > *last && open.last().is_none_or(|&b| at > b), "{event}");
                    *last = at + event["dur"].as_f64().unwrap();
                    continue;
                }
                "i" => {}
                other => panic!("{other}"),
            }
            *last = at;
        }
        assert!(tracks.values().all(|(open, _)| open.is_empty()));
        tracks.len()
    }

    #[test]
    fn slices_nest_on_every_track() {
        let shape =
            Shape { events: 3_000, threads: 5, nesting: 3, waits: true, ..Shape::default() };
        let mut generator =
            Generator::new(Shape { barriers: true, shared_locks: true, ..shape }).unwrap();
        let trace = Trace::collect(&mut generator).unwrap();
        // Every event is one of a finding.
        let numbered = (1..).zip(&trace.events);
        let threads = numbered.map(|(n, e)| compose::event(n, e, &trace.symbols)).collect();
        let all = Finding { threads, ..samples::race() };
        assert!(assert_nested(&picture(&trace, &[])) > 5);
        assert!(assert_nested(&picture(&trace, &[all])) > 5);
    }

    /// The same trace twice: as observed, and below it as it can happen, with the other thread's
    /// section in the middle of the block.
    #[test]
    fn a_prediction_is_shown_as_it_can_happen() {
        let line = "3:begin(o) 2:acq(l) 2:w(x) 2:rel(l) 1:begin(m) 1:acq(l) 1:w(x) 1:rel(l) \
                    1:acq(l) 1:w(x) 1:rel(l) 1:end(m) 3:end(o)";
        let trace = Trace::parse(line).unwrap();
        let numbers = [5, 7, 3, 10];
        let shown = |n: u64| compose::event(n, &trace.events[n as usize - 1], &trace.symbols);
        let how = model::Reordering {
            goal: vec![(7, 3), (3, 10)],
            reversed: vec![(2, 6)],
            diverging: Vec::new(),
        };
        let finding = Finding {
            rule: model::RuleId::PREDICTED,
            explanation: model::Explanation::Events,
            threads: numbers.map(shown).to_vec(),
            cycle: Vec::new(),
            reordering: Some(how.clone()),
            ..samples::race()
        };
        let block = model::Block {
            label: model::Label::named("m"),
            thread: "1".to_owned(),
            begin_event: 5,
        };
        let witness = vec![5, 6, 7, 8, 2, 3, 4, 9, 10];
        let order = model::Witness { after: 1, witness, how };
        let predicted = Some(vec![model::PredictedBlock { block, order }]);
        let facts = model::Facts::Atomicity(model::Atomicity { predicted, ..Default::default() });
        let mut report = samples::report_of(vec![finding]);
        report.verdicts.insert("atomicity", crate::verdicts::verdict(facts, false));
        let picture = picture_of(&trace, &report);
        assert_nested(&picture);
        let events = events(&picture);
        let slices = |pid: u64| {
            let of = events.iter().filter(move |e| e["pid"] == pid && e["ph"] == "X");
            of.map(|e| (e["args"]["event"].as_u64().unwrap(), e["args"]["moved"] == true))
                .collect::<Vec<_>>()
        };
        assert_eq!(slices(1), [(3, false), (5, false), (7, false), (10, false)]);
        assert_eq!(slices(2), [(5, false), (7, false), (3, true), (10, false)]);
        let arrows = |pid: u64| events.iter().filter(|e| e["pid"] == pid && e["ph"] == "s").count();
        assert_eq!((arrows(1), arrows(2)), (0, 3));
        // What was open before the new order is open in it, and every section is there.
        let opened = |name: &str| {
            let of = events.iter().filter(|e| e["pid"] == 2 && e["ph"] == "B" && e["name"] == name);
            of.map(|e| e["ts"].as_f64().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(
            (opened("o"), opened("m"), opened("l")),
            (vec![1.0], vec![2.0], vec![3.0, 6.0, 9.0])
        );
        let name = events.iter().find(|e| e["pid"] == 2 && e["name"] == "process_name").unwrap();
        let name = name["args"]["name"].as_str().unwrap();
        assert!(name.starts_with("as it can happen: "), "{name}");
    }

    /// An arrow starts and ends inside of the slice of its event.
    #[test]
    fn arrows_join_the_events_in_conflict() {
        let trace = samples::trace(samples::LINE);
        let report = samples::report(&trace);
        let events = events(&picture(&trace, &report.findings));
        let mut joined: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for arrow in events.iter().filter(|e| e["ph"] == "s" || e["ph"] == "f") {
            let at = arrow["ts"].as_f64().unwrap();
            let slice = events.iter().find(|e| {
                let ts = e["ts"].as_f64().unwrap();
                e["ph"] == "X" && e["tid"] == arrow["tid"] && ts < at && at < ts + EVENT_LENGTH
            });
            let event = slice.unwrap()["args"]["event"].as_u64().unwrap();
            joined.entry(arrow["id"].as_u64().unwrap()).or_default().push(event);
        }
        let cycle = report.findings[0].cycle.iter().map(|t| &t.edge);
        let mut expected: Vec<Vec<u64>> = cycle.map(|e| vec![e.from.event, e.to.event]).collect();
        expected.push(report.findings[1].threads.iter().map(|e| e.event).collect());
        assert_eq!(joined.into_values().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_empty_trace_is_a_picture_too() {
        assert_eq!(events(&picture(&Trace::default(), &[])).len(), 1);
    }
}
