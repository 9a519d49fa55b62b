//! Threads, as in std. A panic of a thread fails the run at once, before it is joined.

use crate::runtime;
use std::panic::Location;
use std::time::Duration;

pub use crate::thread::{
    AccessError, Builder, JoinHandle, LocalKey, Result, Scope, ScopedJoinHandle, Thread, ThreadId,
    available_parallelism, current, panicking, park, park_timeout, scope, spawn, yield_now,
};

/// Takes a step, and no time: others may run meanwhile, or not.
#[track_caller]
pub fn sleep(_duration: Duration) {
    runtime::pause(Location::caller());
}
