//! A bar on standard error, for work that takes long and a person who waits for it.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::RefCell;
use std::sync::Once;
use std::time::Duration;

/// Work that is over before this does not get a bar.
const PATIENCE: Duration = Duration::from_secs(1);

pub(crate) struct Progress {
    bar: ProgressBar,
    shown: Once,
}

impl Progress {
    /// Progress through so many runs. Nothing is drawn unless standard error is a terminal.
    pub(crate) fn new(runs: u64) -> Progress {
        Progress::of(runs, "runs")
    }

    /// Progress through so many of something.
    pub(crate) fn of(number: u64, what: &str) -> Progress {
        // Without a number there is no end to be seen.
        let style = match number {
            u64::MAX => format!("{{human_pos}} {what}, {{per_sec}}, {{elapsed}}{{msg}}"),
            _ => format!("{{bar:40}} {{human_pos}}/{{human_len}} {what}, {{per_sec}}, {{eta}} left{{msg}}"),
        };
        let style = ProgressStyle::with_template(&style).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(Some(number), ProgressDrawTarget::hidden()).with_style(style);
        Progress { bar, shown: Once::new() }
    }

    /// Says what was found so far; only asked for if anybody sees it.
    pub(crate) fn note(&self, text: &dyn Fn() -> String) {
        if self.shown.is_completed() {
            self.bar.set_message(format!("; {}", text()));
        }
    }

    pub(crate) fn add(&self, runs: u64) {
        self.bar.inc(runs);
        if self.bar.elapsed() > PATIENCE {
            self.shown.call_once(|| self.bar.set_draw_target(ProgressDrawTarget::stderr()));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A person who waits for a reduction or an explanation.
#[derive(Default)]
pub(crate) struct Waiting(RefCell<Option<Progress>>);

impl raddle_search::Progress for Waiting {
    fn begin(&self, runs: u64) {
        self.0.replace(Some(Progress::new(runs)));
    }

    fn ran(&self, note: &dyn Fn() -> String) {
        if let Some(progress) = &*self.0.borrow() {
            progress.add(1);
            progress.note(note);
        }
    }
}
