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

mod check;
pub mod hint;
pub mod rand;
mod runtime;
pub mod sync;
pub mod thread;
pub mod time;

pub use check::{Config, Failed, Passed, check, check_with};
