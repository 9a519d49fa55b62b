//! A number that is changed under a contended lock, and passed on by `Once` and by unparking.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once};

struct Cell(UnsafeCell<u64>);

// SAFETY: only the thread that runs the `Once` changes it, and others read it after that.
unsafe impl Sync for Cell {}

static CELL: Cell = Cell(UnsafeCell::new(0));
static ONCE: Once = Once::new();
static NUMBER: Mutex<u64> = Mutex::new(0);
static READY: AtomicBool = AtomicBool::new(false);

fn work() -> u64 {
    // SAFETY: no other thread accesses it before this is over.
    ONCE.call_once(|| unsafe { *CELL.0.get() = 7 });
    for _ in 0..3 {
        *NUMBER.lock().unwrap() += 1;
    }
    // SAFETY: it no longer changes.
    unsafe { *CELL.0.get() }
}

fn main() {
    let waiter = std::thread::spawn(|| {
        while !READY.load(Ordering::Acquire) {
            std::thread::park();
        }
        work()
    });
    let workers = [std::thread::spawn(work), std::thread::spawn(work)];
    READY.store(true, Ordering::Release);
    waiter.thread().unpark();
    for thread in workers.into_iter().chain([waiter]) {
        assert_eq!(thread.join().unwrap(), 7);
    }
    assert_eq!(*NUMBER.lock().unwrap(), 9);
}
