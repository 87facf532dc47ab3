//! A progress bar on terminals: bytes, events a second, time left. Nothing when piped.

use std::cell::Cell;
use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use paceline::progress::{Listener, Progress};

/// How often the bar is drawn at most. Work that is done before that shows none.
const REDRAW: Duration = Duration::from_millis(150);

/// A longer name loses its beginning, so that a line has room for the bar.
const LONGEST_NAME: usize = 20;

/// Shows each pass over a trace as a bar.
pub fn bars() -> Listener {
    let bar: Mutex<Option<Bar>> = Mutex::new(None);
    Arc::new(move |progress| {
        let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
        match progress {
            Progress::Started { what, bytes } => *bar = Some(Bar::new(what, bytes, false)),
            Progress::Advanced { bytes, events } => {
                bar.iter().for_each(|bar| bar.update(bytes, events));
            }
            Progress::Finished => bar.take().iter().for_each(Bar::finish),
        }
    })
}

/// A bar, or none.
pub struct Bar {
    bar: Option<ProgressBar>,
    started: Instant,
    drawn: Cell<Instant>,
}

impl Bar {
    /// A bar for `size` bytes of work; without a size, it only counts.
    pub fn new(what: &str, size: Option<u64>, quiet: bool) -> Bar {
        let template = match size {
            Some(_) => {
                "{prefix:.dim} {wide_bar} {percent}% {bytes}/{total_bytes}, {msg}, {eta} left"
            }
            None => "{prefix:.dim} {spinner} {bytes}, {msg}",
        };
        Bar::with(template, what, size, quiet)
    }

    /// A bar for a number of events to be made.
    pub fn counting(events: u64, quiet: bool) -> Bar {
        let template =
            "{prefix:.dim} {wide_bar} {percent}% {human_pos}/{human_len}, {msg}, {eta} left";
        Bar::with(template, "events", Some(events), quiet)
    }

    fn with(template: &str, what: &str, size: Option<u64>, quiet: bool) -> Bar {
        let is_wanted = !quiet && std::io::stderr().is_terminal();
        let bar = is_wanted.then(|| {
            let bar = ProgressBar::with_draw_target(size, ProgressDrawTarget::hidden());
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.set_prefix(end_of(what));
            bar
        });
        let now = Instant::now();
        Bar { bar, started: now, drawn: Cell::new(now) }
    }

    /// Shows how far the work is.
    pub fn update(&self, bytes: u64, events: u64) {
        let Some(bar) = &self.bar else { return };
        if self.drawn.get().elapsed() < REDRAW {
            return;
        }
        self.drawn.set(Instant::now());
        let rate = events as f64 / self.started.elapsed().as_secs_f64();
        bar.set_message(format!("{:.1} M events/s", rate / 1e6));
        bar.set_position(bytes);
        if bar.is_hidden() {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A name that is not too long.
fn end_of(name: &str) -> String {
    match name.chars().count().saturating_sub(LONGEST_NAME) {
        0 => name.to_owned(),
        more => format!("…{}", name.chars().skip(more + 1).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_lose_their_beginning() {
        assert_eq!(end_of("a.std"), "a.std");
        assert_eq!(end_of("some/where/else/trace.std"), "…here/else/trace.std");
    }
}
