//! Reading on one core, analysing on another. Batches go round between the two, so that nothing
//! is allocated once they have reached their size.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::error::Error;
use crate::source::{Batch, Source};

/// How many batches are under way at once.
const IN_FLIGHT: usize = 4;

/// Reads `source` to its end on a thread of its own, and gives every batch to `each` on this one
/// until it breaks. Events before an error are given to `each` first.
pub fn for_each_batch<S: Source>(
    source: &mut S,
    mut each: impl FnMut(&mut Batch) -> ControlFlow<()>,
) -> Result<(), Error> {
    std::thread::scope(|scope| {
        let (full_sender, full) = sync_channel(IN_FLIGHT);
        let (empty, empty_receiver) = sync_channel(IN_FLIGHT);
        for _ in 0..IN_FLIGHT {
            // The channel has room for all of them, and its other end is alive.
            let _ = empty.send(Batch::default());
        }
        scope.spawn(move || produce(source, &empty_receiver, &full_sender));
        for (mut batch, outcome) in full {
            if each(&mut batch).is_break() {
                return Ok(());
            }
            outcome?;
            // The reader is gone when it has reached the end: then nobody needs the batch.
            let _ = empty.send(batch);
        }
        Ok(())
    })
}

fn produce<S: Source>(
    source: &mut S,
    empty: &Receiver<Batch>,
    full: &SyncSender<(Batch, Result<(), Error>)>,
) {
    while let Ok(mut batch) = empty.recv() {
        let outcome = source.read(&mut batch);
        let last = outcome.is_err() || batch.events.is_empty();
        if full.send((batch, outcome)).is_err() || last {
            return;
        }
    }
}
