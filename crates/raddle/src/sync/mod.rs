//! `std::sync` under control.

pub mod atomic;
mod barrier;
mod condvar;
mod function;
mod lazy_lock;
pub mod mpsc;
mod mutex;
mod once;
mod once_lock;
mod per_run;
mod poison;
mod rwlock;

pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use lazy_lock::LazyLock;
pub use mutex::{Mutex, MutexGuard};
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak};
