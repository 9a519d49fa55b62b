//! `std::hint` under control.

pub use std::hint::*;

/// Lets other threads run: declares a loop that waits for another thread.
#[track_caller]
pub fn spin_loop() {
    crate::thread::yield_now();
}
