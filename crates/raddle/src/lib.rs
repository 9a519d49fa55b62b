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
//! Not here yet: the detection of data races on plain memory, and a feature that turns these types into std's where no
//! test runs.

mod check;
pub mod future;
pub mod hint;
pub mod rand;
mod runtime;
pub mod sync;
pub mod thread;
pub mod time;

pub use check::{
    Config, Failed, FailureFile, PORTFOLIO, Panic, Passed, ReplayError, check, check_dfs, check_named,
    check_pct, check_random, check_random_with_seed, check_with, replay, try_replay,
};
pub use raddle_engine::Timeouts;
pub use raddle_macros::test;
pub use raddle_model::{Failure, ThreadId, TraceFile};
