//! A progress bar on standard error, for long work on a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::RefCell;
use std::sync::Once;
use std::time::Duration;

/// The time before a bar appears.
const PATIENCE: Duration = Duration::from_secs(1);

pub(crate) struct Progress {
    bar: ProgressBar,
    shown: Once,
}

impl Progress {
    /// Creates a bar for a number of runs. Nothing is drawn unless standard error is a terminal.
    pub(crate) fn new(runs: u64) -> Progress {
        Progress::of(runs, "runs")
    }

    /// Creates a bar for a number of items.
    pub(crate) fn of(number: u64, what: &str) -> Progress {
        // Without a number there is no end.
        let style = match number {
            u64::MAX => format!("{{human_pos}} {what}, {{per_sec}}, {{elapsed}}{{msg}}"),
            _ => format!("{{bar:40}} {{human_pos}}/{{human_len}} {what}, {{per_sec}}, {{eta}} left{{msg}}"),
        };
        let style = ProgressStyle::with_template(&style).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(Some(number), ProgressDrawTarget::hidden()).with_style(style);
        Progress { bar, shown: Once::new() }
    }

    /// Displays the results so far; the text is formatted only if it is displayed.
    pub(crate) fn note(&self, text: &dyn Fn() -> String) {
        if self.shown.is_completed() {
            self.bar.set_message(format!("; {}", text()));
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
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
        self.finish();
    }
}

/// The progress of a minimization or an explanation.
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
