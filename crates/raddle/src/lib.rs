//! Runs a Rust test under schedules that Raddle chooses.
//!
//! Write the test with [`sync`] and [`thread`] instead of `std::sync` and `std::thread`, and wrap it in
//! [`check`]:
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
//! The attribute [`macro@test`] does the wrapping:
//!
//! ```
//! #[raddle::test(runs = 500)]
//! fn counts() {
//!     // ..
//! }
//! ```
//!
//! [`linearizable()`] needs no assertions: it calls the operations of a structure in drawn scenarios, and
//! asks whether an order of the calls explains their results.
//!
//! # Statics
//!
//! Runs follow each other in one process, so a static outlives them. [`sync::OnceLock`], [`sync::LazyLock`],
//! [`sync::Once`] and [`thread_local!`] are reset before every run, and atomics begin it with their initial
//! value; so do atomics that the test has captured. (An [`AtomicPtr`](sync::atomic::AtomicPtr) does only if
//! it was initially null, because an earlier run may have freed its target.) The value of a [`sync::Mutex`]
//! or [`sync::RwLock`] cannot be created again and **is kept from run to run**: wrap it in a `LazyLock` to
//! get a new one in each run. Otherwise the outcome of a run depends on the previous ones and cannot be
//! replayed.
//!
//! A static is used by one OS thread at a time. If the jobs of a check, or two checks that run in parallel,
//! use the same one, the check that notices restarts, alone and with one job, when no other check runs. Its
//! result is that of a check with one job; only the values of kept locks may show the effects of abandoned
//! runs.
//!
//! # Behavior that std leaves open
//!
//! By default, a check explores behavior that the documentation of std allows, and its report states which of
//! it a failing run assumes:
//!
//! * [`thread::park`] returns without `unpark`, at most once in each thread of a run.
//! * [`sync::RwLock::read`] of a thread that already reads waits behind a writer, which is a deadlock.
//! * A thread begins late: its start is a step, so others may run before its first statement.
//! * [`thread::sleep`] and time limits end while other threads could run, in some of the runs; see
//!   [`Timeouts`].
//! * A detached [task](future) is dropped when all threads have ended, even before its first poll.
//!
//! Not explored: spurious wake-ups of a `Condvar`, more than one of a `park` in a thread, and first-time
//! readers that wait behind a writer.
//!
//! # Types of std in a check
//!
//! Raddle controls only its own types. A run that waits in a lock, channel or barrier of std would wait
//! forever; after 5 seconds without a step the process reports the call and its line and exits with status 2.
//! (`RADDLE_WATCHDOG` sets the seconds; 0 disables it. A long computation is reported and continues.) Atomics
//! of std are invisible: no other thread runs between two accesses to it, and it orders nothing.
//! `raddle::sync::Arc` and `Weak` are those of std, so that `Arc<dyn Trait>` works; their counts are not
//! operations. Bugs that depend on which thread drops or upgrades first are found only if the start of a
//! thread decides; `dpor` regards two starts as independent, so its "no schedule is left" does not cover them.
//! A cell that is accessed with a method that takes `&self` through `Arc::get_mut` or `make_mut` may be reported as a
//! race. The counts of
//! `raddle::loom::sync::Arc` are operations. Clippy finds such types in code that a check
//! runs, with this in `clippy.toml`:
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
//! A library can use [`sync`], [`thread`], [`time`], [`hint`], [`cell`] and [`thread_local!`] in its own
//! code. Without the feature `check`, which is on by default, they *are* the modules of std
//! ([`cell::UnsafeCell`] is std's with two additional methods), and this crate has no dependencies:
//!
//! ```toml
//! [dependencies]
//! raddle = { version = "0.1", default-features = false }
//!
//! [dev-dependencies]
//! raddle = "0.1"
//! ```
//!
//! Cargo enables features of dev-dependencies only when it builds tests, examples or benchmarks (resolver 2
//! and later, the default since edition 2021). So `cargo build` and dependents of the library get std's
//! types, and `cargo test` gets the controlled ones. These work only inside a check: a test that uses the
//! library outside a check panics with a message. Everything else ([`check`], [`rand`], ..) has no
//! counterpart in std and exists only with the feature; it belongs in tests. Only dev-dependencies should
//! enable the feature, because Cargo then enables it for all. `examples/passthrough` in the repository is a
//! library, its test, and a program that uses it.
//!
//!
//! # Names
//!
//! Names of std that are not mirrored: `Atomic*::from_ptr` (an atomic here is more than its value),
//! `Builder::spawn_unchecked` (its contract cannot be checked), `SystemTime` (a test that depends on the date
//! cannot be replayed), and the long-deprecated `ONCE_INIT` and `ATOMIC_*_INIT`.
//!
//! The root has Raddle's own names, with std's signatures where std has them. Shuttle's are in [`shuttle`]
//! and Loom's in [`loom`], so tests written for these need only a different import.

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
pub mod linearizable;
#[cfg(feature = "check")]
pub mod loom;
#[cfg(feature = "check")]
pub mod rand;
#[cfg(feature = "check")]
#[doc(hidden)]
pub mod returned;
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
mod value;

#[cfg(feature = "check")]
pub use check::{
    Config, Failed, Failure, FailureFile, Memory, PORTFOLIO, Panic, Passed, ReplayError, Timeouts, check,
    check_named, check_with, replay, try_replay, try_replay_tolerantly,
};
#[cfg(feature = "check")]
pub use linearizable::linearizable;
#[cfg(feature = "check")]
pub use raddle_macros::test;

#[cfg(not(feature = "check"))]
#[path = "plain_cell.rs"]
pub mod cell;
#[cfg(not(feature = "check"))]
pub use std::{hint, sync, thread, thread_local, time};

/// Compiles and runs the Rust code of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/loom-shuttle.md")]
mod guide {}

/// Compiles and runs the Rust code of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/linearizability.md")]
mod guide_to_linearizability {}
