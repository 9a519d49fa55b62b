//! `std::hint` under control.

pub use std::hint::*;

/// Lets others run: a loop that waits for another thread says so here.
#[track_caller]
pub fn spin_loop() {
    crate::thread::yield_now();
}
