//! Passes over a trace: the first, which all properties share, and those that explain.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use paceline_analysis::Analysis;
use paceline_analysis::explain::contested::Contested;
use paceline_trace::Batch;
use paceline_trace::pipeline::Reading;

use crate::TraceError;
use crate::trace_input::{OpenTrace, TraceInput};

/// A trace that a property may read again, as often as it needs to.
pub struct Passes<'a> {
    trace: &'a TraceInput,
    /// How many events the first pass read; none before it.
    events: Option<u64>,
}

impl<'a> Passes<'a> {
    /// Before the first pass.
    pub(crate) fn before(trace: &'a TraceInput) -> Passes<'a> {
        Passes { trace, events: None }
    }

    /// After a first pass that read this many events.
    pub(crate) fn after(trace: &'a TraceInput, events: u64) -> Passes<'a> {
        Passes { trace, events: Some(events) }
    }

    /// Gives the events of the trace to all of these, and finishes them. After the first pass these
    /// are the events that it has read, even if there are more by now.
    pub fn read(&self, analyses: &mut [&mut dyn Analysis]) -> Result<(), TraceError> {
        if self.events.is_none() && !self.trace.can_be_read_again() {
            let message = "it can be read only once, but this needs a pass before the first";
            return Err(TraceError::damaged(Default::default(), message));
        }
        let events = self.events.unwrap_or(u64::MAX);
        let mut open = self.trace.open()?;
        let mut done = Vec::new();
        let (reading, outcome) = self.trace.read(&mut open, |batch| {
            let over = batch.first.saturating_add(batch.events.len() as u64) > events;
            let fed = feed(analyses, &mut done, batch);
            if over { ControlFlow::Break(()) } else { fed }
        });
        outcome?;
        if self.events.is_some() && !reading.stopped && reading.events < events {
            let message =
                format!("the file has changed: it had {events} events when it was read first");
            return Err(TraceError::damaged(Default::default(), message));
        }
        analyses.iter_mut().for_each(|a| a.finish());
        Ok(())
    }

    /// The variables that can be in conflicts, where the first pass has found that out.
    pub(crate) fn contested(&self) -> Option<Arc<Contested>> {
        self.trace.contested()
    }
}

/// Gives a batch to every analysis that wants more; breaks when none does.
fn feed(
    analyses: &mut [&mut dyn Analysis],
    done: &mut Vec<bool>,
    batch: &Batch,
) -> ControlFlow<()> {
    done.resize(analyses.len(), false);
    for (analysis, done) in analyses.iter_mut().zip(done.iter_mut()) {
        *done = *done || analysis.events(batch).is_break();
    }
    if done.iter().all(|&d| d) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// From this many analyses on, half of them get a thread of their own.
const WORTH_A_THREAD: usize = 4;

/// The first pass, over a trace that is open. Half of many analyses get a thread of their own,
/// unless one of them may stop the reading: where it stops must not depend on which is faster.
pub(crate) fn first(
    trace: &TraceInput,
    open: &mut OpenTrace,
    mut analyses: Vec<&mut dyn Analysis>,
    may_stop: bool,
) -> (Reading, Result<(), TraceError>) {
    let mut done = Vec::new();
    if may_stop || analyses.len() < WORTH_A_THREAD {
        return trace.read(open, |batch| feed(&mut analyses, &mut done, batch));
    }
    let half = analyses.len() / 2;
    let (others, ours) = analyses.split_at_mut(half);
    std::thread::scope(|scope| {
        let (batches, received) = sync_channel::<Batch>(4);
        scope.spawn(move || {
            let mut done = Vec::new();
            for batch in received {
                let _ = feed(others, &mut done, &batch);
            }
        });
        trace.read(open, |batch| {
            // The other end goes on until this one is dropped.
            let _ = batches.send(batch.clone());
            let _ = feed(ours, &mut done, batch);
            ControlFlow::Continue(())
        })
    })
}

#[cfg(test)]
mod tests {
    use paceline_analysis::explain::blame::Blame;

    use super::*;
    use crate::trace_input::ReadOptions;

    #[test]
    fn a_file_that_is_shorter_in_the_second_pass_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "1|begin|1\n1|r(x)|2\n").unwrap();
        let trace = TraceInput::new(file.path(), ReadOptions::default());
        let pass_over = |events| Passes::after(&trace, events).read(&mut [&mut Blame::default()]);
        assert!(pass_over(2).is_ok());
        assert!(pass_over(3).unwrap_err().to_string().contains("it had 3 events"));
        assert!(Passes::before(&trace).read(&mut [&mut Blame::default()]).is_ok());
    }

    #[test]
    fn what_can_be_read_only_once_is_not_read_before_the_first_pass() {
        let trace = TraceInput::new("-", ReadOptions::default());
        let error = Passes::before(&trace).read(&mut [&mut Blame::default()]).unwrap_err();
        assert!(error.to_string().contains("only once"), "{error}");
    }
}
