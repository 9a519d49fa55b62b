//! Spins for a thread that may not have begun: no other thread has touched the flag then.

use std::sync::atomic::{AtomicBool, Ordering};

static READY: AtomicBool = AtomicBool::new(false);

fn main() {
    let setter = std::thread::spawn(|| READY.store(true, Ordering::Release));
    while !READY.load(Ordering::Acquire) {}
    setter.join().unwrap();
}
