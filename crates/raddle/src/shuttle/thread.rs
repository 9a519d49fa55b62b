//! Threads, as in std. A panic of a thread fails the run at once, before anybody joins it.

pub use crate::thread::{
    AccessError, Builder, JoinHandle, LocalKey, Result, Scope, ScopedJoinHandle, Thread, ThreadId,
    available_parallelism, current, panicking, park, park_timeout, scope, sleep, spawn, yield_now,
};
