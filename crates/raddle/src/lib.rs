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
//! Names of std that are not mirrored: `Atomic*::from_ptr` (an atomic here is more than its value), `Builder::spawn_unchecked`
//! (it would need a promise that nobody can check), `SystemTime` (a test that depends on the date cannot be replayed), and what
//! is deprecated since long, `ONCE_INIT` and `ATOMIC_*_INIT`.
//!
//! Tests for Shuttle need another import. Not here: `Runner` and the schedulers (a strategy is named in [`Config`], whose fields
//! have other names: `step_limit` for `max_steps`, `time_budget` for `max_time`, `failures` for `failure_persistence`; stacks have
//! one size), annotations and resource signatures (reports carry what they tell), and `raw_load` of atomics (an access that nobody
//! controls).
//!
//! Not here yet: Shuttle's `check_uncontrolled_nondeterminism`, `future::batch_semaphore` and `current`, and a feature that turns these types into std's where no
//! test runs.

pub mod cell;
mod check;
pub mod future;
pub mod hint;
pub mod lazy_static;
pub mod rand;
mod runtime;
pub mod sync;
pub mod thread;
pub mod time;

pub use check::{
    Config, Failed, FailureFile, PORTFOLIO, Panic, Passed, ReplayError, check, check_dfs, check_named,
    check_pct, check_random, check_random_with_seed, check_urw, check_with, replay, replay_from_file,
    try_replay,
};
pub use raddle_engine::Timeouts;
pub use raddle_macros::test;
pub use raddle_model::{Failure, ThreadId, TraceFile};
