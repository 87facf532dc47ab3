//! A progress bar on terminals: bytes, events a second, time left. Nothing when piped.

use std::cell::Cell;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressBar, ProgressStyle};

/// How often the bar is drawn at most.
const REDRAW: Duration = Duration::from_millis(100);

/// A bar, or none.
pub struct Bar {
    bar: ProgressBar,
    started: Instant,
    drawn: Cell<Instant>,
}

impl Bar {
    /// A bar for `size` bytes of work; without a size, it only counts.
    pub fn new(what: &str, size: Option<u64>, quiet: bool) -> Bar {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::no_length() };
        let template = match size {
            Some(_) => "{prefix:.dim} {bar:24} {percent}% {bytes}/{total_bytes} {msg}, {eta} left",
            None => "{prefix:.dim} {spinner} {bytes} {msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        if let Some(size) = size {
            bar.set_length(size);
        }
        bar.set_prefix(what.to_owned());
        let now = Instant::now();
        Bar { bar, started: now, drawn: Cell::new(now) }
    }

    /// A bar for a number of events to be made.
    pub fn counting(events: u64, quiet: bool) -> Bar {
        let bar = Bar::new("events", Some(events), quiet);
        let template = "{prefix:.dim} {bar:24} {percent}% {human_pos} {msg}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.bar.set_style(style);
        }
        bar
    }

    /// Shows how far the work is.
    pub fn update(&self, bytes: u64, events: u64) {
        if self.bar.is_hidden() || self.drawn.get().elapsed() < REDRAW {
            return;
        }
        self.drawn.set(Instant::now());
        let rate = events as f64 / self.started.elapsed().as_secs_f64();
        self.bar.set_message(format!("{} events/s", HumanCount(rate as u64)));
        self.bar.set_position(bytes);
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
