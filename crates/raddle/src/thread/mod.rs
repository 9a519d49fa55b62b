//! `std::thread` under control.

mod builder;
mod handle;
mod local;
mod scoped;

pub use crate::runtime::Scope;
pub use builder::{Builder, spawn};
pub use handle::{JoinHandle, Thread, ThreadId};
pub use local::{AccessError, LocalKey};
pub use scoped::{ScopedJoinHandle, scope};

use crate::runtime::{self, Runtime};
use crate::time::{Duration, nanoseconds};
use raddle_engine::Reply;
use raddle_model::{Access, Kind, Operation};
use std::num::NonZero;
use std::panic::Location;

/// The result of a thread: its return value or its panic payload.
pub type Result<T> = std::thread::Result<T>;

/// Returns the current thread, as in std.
#[track_caller]
pub fn current() -> Thread {
    runtime::with(|runtime| Thread::of(runtime, runtime.current()))
}

/// Lets other threads run, as in std.
#[track_caller]
pub fn yield_now() {
    let location = Location::caller();
    runtime::step(|runtime| Operation::new(Kind::Yield, runtime.location(location)));
}

/// Sleeps on the virtual clock, which takes no real time; a duration of zero lets others run.
#[track_caller]
pub fn sleep(span: Duration) {
    if span.is_zero() {
        return yield_now();
    }
    let location = Location::caller();
    runtime::step(|runtime| {
        Operation::new(Kind::Sleep, runtime.location(location)).with_argument(nanoseconds(span))
    });
}

/// Sleeps, as in std.
#[deprecated(note = "use sleep")]
#[track_caller]
pub fn sleep_ms(milliseconds: u32) {
    sleep(Duration::from_millis(u64::from(milliseconds)));
}

/// Waits until the token of this thread is set and takes it. Like std's, it may return spuriously: the
/// strategy chooses, and it happens at most once to a thread of a run.
#[track_caller]
pub fn park() {
    park_until(Operation::UNTIMED, Location::caller());
}

/// Waits until the token of this thread is set and takes it, or until the time is over on the virtual clock.
/// It may return spuriously, as [`park`] does.
#[track_caller]
pub fn park_timeout(span: Duration) {
    park_until(nanoseconds(span), Location::caller());
}

/// Like [`park_timeout`], with milliseconds, as in std.
#[deprecated(note = "use park_timeout")]
#[track_caller]
pub fn park_timeout_ms(milliseconds: u32) {
    park_timeout(Duration::from_millis(u64::from(milliseconds)));
}

#[track_caller]
fn park_until(span: u64, location: &'static Location<'static>) {
    if runtime::with(|runtime| runtime.may_wake()) {
        let reply = runtime::step(|runtime| Operation::new(Kind::ParkBegin, runtime.location(location)));
        if reply == Reply::Number(1) {
            return runtime::with(Runtime::note_wake);
        }
    }
    runtime::step(|runtime| {
        let token = runtime.token(runtime.current());
        let location = runtime.location(location);
        Operation::new(Kind::Park, location).on(token, Access::Write).with_argument(span)
    });
}

/// Returns always two, so that a test behaves the same on every machine.
pub fn available_parallelism() -> std::io::Result<NonZero<usize>> {
    Ok(NonZero::<usize>::MIN.saturating_add(1))
}

/// Returns true if the current thread is unwinding after a panic, as in std.
pub fn panicking() -> bool {
    crate::runtime::panicking()
}
