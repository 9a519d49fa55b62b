//! The mirrors of std: their behavior, and tests that fail without it.

#[path = "../common/mod.rs"]
mod common;

mod atomics;
mod batch_semaphore;
mod condvar_barrier;
mod freedoms;
mod futures;
mod locals;
mod mpsc;
mod mutex;
mod once;
mod random;
mod threads;
