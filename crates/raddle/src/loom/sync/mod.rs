//! Loom's `sync`.

mod arc;
mod notify;

pub use crate::sync::{
    Barrier, BarrierWaitResult, Condvar, LockResult, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard,
    RwLockWriteGuard, TryLockError, TryLockResult, WaitTimeoutResult, atomic, mpsc,
};
pub use arc::Arc;
pub use notify::Notify;
