//! Which data races are reported.
//!
//! The count of std's `Arc` is not under control. The last owner drops the value, and what other owners did before they were dropped
//! happens before that. So a race whose second access is made while the last owner drops the value is not reported: that the two accesses
//! are unordered is not known.

use super::run::wait_for_turn;
use super::waits::{Frame, frames as frames_of};
use super::{Runtime, with};
use std::backtrace::Backtrace;

/// Decides about the race that an access of the current thread has just completed. Returns if it is not reported.
#[cold]
pub(crate) fn judge_race() {
    if is_dropped_by_arc(&Backtrace::force_capture().to_string()) {
        return with(|runtime| runtime.engine.forgive_race());
    }
    let other = with(Runtime::stop);
    wait_for_turn(other);
}

/// Returns whether the innermost `Arc` of std that drops its value, on a stack shown as `frames`, has a count that is not under
/// control.
fn is_dropped_by_arc(frames: &str) -> bool {
    let frames = frames_of(frames);
    // Where debug information has only lines, an inlined function is known without its path, and by its file.
    let is_of_arc = |frame: &Frame| {
        frame.function.contains("sync::Arc")
            || frame.place.as_ref().is_some_and(|place| place.contains("alloc/src/sync.rs"))
    };
    let mut functions = frames.iter();
    let is_drop = |frame: &&Frame| frame.function.contains("drop_slow") && is_of_arc(frame);
    // Between the two are at most functions that are made for each type to drop its fields.
    functions.find(is_drop).is_some()
        && !functions.take(5).any(|frame| frame.function.contains("drop_last_owner"))
}
