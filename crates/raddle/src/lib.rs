//! Runs a Rust test under schedules of Raddle's choice.
//!
//! Write the test with [`sync`] and [`thread`] in the place of `std::sync` and `std::thread`, and wrap it in [`check`]:
//!
//! ```should_panic
//! use raddle::sync::{Arc, Mutex};
//! use raddle::thread;
//!
//! raddle::check(|| {
//!     let balance = Arc::new(Mutex::new(0));
//!     let other = balance.clone();
//!     let deposit = thread::spawn(move || {
//!         let before = *other.lock().unwrap();
//!         *other.lock().unwrap() = before + 1;
//!     });
//!     let before = *balance.lock().unwrap();
//!     *balance.lock().unwrap() = before + 1;
//!     deposit.join().unwrap();
//!     assert_eq!(*balance.lock().unwrap(), 2);
//! });
//! ```
//!
//! With [`macro@test`] the wrapping is done by an attribute:
//!
//! ```
//! #[raddle::test(runs = 500)]
//! fn counts() {
//!     // ..
//! }
//! ```
//!
//! # Statics
//!
//! Runs follow each other in one process, so a static outlives them. [`sync::OnceLock`], [`sync::LazyLock`], [`sync::Once`] and
//! [`thread_local!`] begin every run anew, and atomics begin it with their first value; so do atomics that the test has
//! captured. (An [`AtomicPtr`](sync::atomic::AtomicPtr) does only if it was null at first, for an earlier run may have freed
//! what it pointed to.) The value of a [`sync::Mutex`] or [`sync::RwLock`] cannot be made again and **is kept from run to run**:
//! wrap it in a `LazyLock` to have a new one in each, or the outcome of a run depends on those before it and cannot be
//! replayed.
//!
//! A static is used by one OS thread at a time. If the jobs of a check, or two checks that run beside each other, turn out to
//! use the same one, then the check that notices begins again, alone and with one job, when no other check runs. What it
//! finds is what it would have found with one job; only the values of kept locks may show the runs that were given up.
//!
//! # What std leaves open
//!
//! A check with its defaults makes use of what the documentation of std allows, and its report says what a failing run assumes:
//!
//! * [`thread::park`] returns without `unpark`, at most once in each thread of a run.
//! * [`sync::RwLock::read`] of a thread that reads already waits behind a writer, which is a deadlock.
//! * A thread begins late: its start is a step, so others may go on before its first statement.
//! * [`thread::sleep`] and time limits end while other threads could run, in some of the runs; see [`Timeouts`].
//! * A [task](future) that nobody waits for is given up when all threads have ended, be it before its first poll.
//!
//! Not explored: spurious wake-ups of a `Condvar`, more than one of a `park` in a thread, and readers that wait behind a writer without reading
//! already.
//!
//! # Types of std in a check
//!
//! Raddle controls its own types only. A run that waits in a lock, channel or barrier of std would wait for ever; after 5 seconds without a step
//! the process ends with status 2, the call and its line. (`RADDLE_WATCHDOG` sets the seconds, 0 turns that off. A long computation is
//! told of, and goes on.) An atomic of std is not seen at all: no other thread runs between two accesses to it, and it orders nothing.
//! `raddle::sync::Arc` and `Weak` are those of std, so that `Arc<dyn Trait>` works; their counts are no operations. Bugs that depend on who drops or
//! upgrades first are found only where the start of a thread decides, and a cell that is reached by `Arc::get_mut` or `try_unwrap` may be
//! reported as a race. `raddle::loom::sync::Arc` counts under control. Clippy finds such types
//! in code that a check runs, with this in `clippy.toml`:
//!
//! ```toml
//! disallowed-types = [
//!     { path = "std::sync::Mutex", replacement = "raddle::sync::Mutex" },
//!     { path = "std::sync::RwLock", replacement = "raddle::sync::RwLock" },
//!     { path = "std::sync::Condvar", replacement = "raddle::sync::Condvar" },
//!     { path = "std::sync::Barrier", replacement = "raddle::sync::Barrier" },
//!     { path = "std::sync::mpsc::Receiver", replacement = "raddle::sync::mpsc::Receiver" },
//!     { path = "std::sync::mpsc::Sender", replacement = "raddle::sync::mpsc::Sender" },
//!     { path = "std::sync::atomic::AtomicBool", replacement = "raddle::sync::atomic::AtomicBool" },
//!     { path = "std::sync::atomic::AtomicU64", replacement = "raddle::sync::atomic::AtomicU64" },
//!     { path = "std::sync::atomic::AtomicUsize", replacement = "raddle::sync::atomic::AtomicUsize" },
//! ]
//! disallowed-methods = [
//!     { path = "std::thread::spawn", replacement = "raddle::thread::spawn" },
//!     { path = "std::thread::sleep", replacement = "raddle::thread::sleep" },
//! ]
//! ```
//!
//! # In the code under test
//!
//! A library can use [`sync`], [`thread`], [`time`], [`hint`], [`cell`] and [`thread_local!`] in its own code. Without the feature `check`,
//! which is on by default, they *are* the modules of std ([`cell::UnsafeCell`] is std's with two methods more), and this crate has no dependencies:
//!
//! ```toml
//! [dependencies]
//! raddle = { version = "0.1", default-features = false }
//!
//! [dev-dependencies]
//! raddle = "0.1"
//! ```
//!
//! Cargo turns features of dev-dependencies on only where tests, examples or benchmarks are built (resolver 2 and later, the
//! default since edition 2021), so `cargo build`, and whoever depends on the library, gets std's types, and `cargo test` gets
//! those under control. There they work only inside a check: a test that uses the library outside of one panics and says so.
//! Everything else ([`check`], [`rand`], ..) has no counterpart in std and exists only with the feature; it belongs into tests.
//! Nobody but dev-dependencies should turn the feature on, for Cargo then turns it on for all. `examples/passthrough` in the
//! repository is a library, its test, and a program that uses it.
//!
//!
//! # Names
//!
//! Names of std that are not mirrored: `Atomic*::from_ptr` (an atomic here is more than its value), `Builder::spawn_unchecked`
//! (it would need a promise that nobody can check), `SystemTime` (a test that depends on the date cannot be replayed), and what
//! is deprecated since long, `ONCE_INIT` and `ATOMIC_*_INIT`.
//!
//! The root has Raddle's own names, in the shape of std where std has them. Shuttle's are in [`shuttle`] and Loom's in
//! [`loom`], so tests written for these need another import only.

#[cfg(feature = "check")]
pub mod cell;
#[cfg(feature = "check")]
mod check;
#[cfg(feature = "check")]
pub mod future;
#[cfg(feature = "check")]
pub mod hint;
#[cfg(feature = "check")]
pub mod lazy_static;
#[cfg(feature = "check")]
pub mod loom;
#[cfg(feature = "check")]
pub mod rand;
#[cfg(feature = "check")]
mod runtime;
#[cfg(feature = "check")]
pub mod shuttle;
#[cfg(feature = "check")]
pub mod sync;
#[cfg(feature = "check")]
pub mod thread;
#[cfg(feature = "check")]
pub mod time;

#[cfg(feature = "check")]
pub use check::{
    Config, Failed, Failure, FailureFile, PORTFOLIO, Panic, Passed, ReplayError, Timeouts, check,
    check_named, check_with, replay, try_replay, try_replay_tolerantly,
};
#[cfg(feature = "check")]
pub use raddle_macros::test;

#[cfg(not(feature = "check"))]
#[path = "plain_cell.rs"]
pub mod cell;
#[cfg(not(feature = "check"))]
pub use std::{hint, sync, thread, thread_local, time};
