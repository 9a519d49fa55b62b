//! What mirrors std: what each part does, and that it would be seen if it did not.

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
