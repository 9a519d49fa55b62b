//! Decides which data races and which old values are reported.
//!
//! The count of std's `Arc` is not under control. The last owner drops the value, and what other owners did
//! before they were dropped happens before that. So a race whose second access occurs while the last owner
//! drops the value is not reported: the two accesses may be ordered by the count. For the same reason a run in which an
//! access there reads an old value may be impossible. Stack traces are too slow for every such access, so a run that
//! fails is repeated with them, and does not count as a failure if it has such an access.

use super::run::wait_for_turn;
use super::waits::{Frame, frames as frames_of};
use super::{Runtime, with};
use std::backtrace::Backtrace;

/// Decides whether to report the race that an access of the current thread has just completed. Returns if
/// not.
#[cold]
pub(crate) fn judge_race() {
    if is_dropped_by_arc(&Backtrace::force_capture().to_string()) {
        return with(|runtime| runtime.engine.forgive_race());
    }
    let other = with(Runtime::stop);
    wait_for_turn(other);
}

/// Takes note of an old value that the current thread has just read. After a panic the run fails whatever it read.
#[cold]
pub(crate) fn judge_old_read() {
    if !super::panicking() && is_dropped_by_arc(&Backtrace::force_capture().to_string()) {
        with(|runtime| runtime.has_impossible_read = true);
    }
}

/// Returns true if the innermost std `Arc` that drops its value, on the stack `frames`, has a count that is
/// not under control.
fn is_dropped_by_arc(frames: &str) -> bool {
    let frames = frames_of(frames);
    // Without full debug information, an inlined function has no path, only its file.
    let is_of_arc = |frame: &Frame| {
        frame.function.contains("sync::Arc")
            || frame.location.as_ref().is_some_and(|location| location.contains("alloc/src/sync.rs"))
    };
    let mut functions = frames.iter();
    let is_drop = |frame: &&Frame| frame.function.contains("drop_slow") && is_of_arc(frame);
    // Only compiler-generated drop glue may be between the two.
    functions.find(is_drop).is_some()
        && !functions.take(5).any(|frame| frame.function.contains("drop_last_owner"))
}
