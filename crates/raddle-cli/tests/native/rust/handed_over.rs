//! A number that is changed under a lock that many want, and handed over by `Once` and by unparking.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once};

struct Cell(UnsafeCell<u64>);

// SAFETY: it is changed by whoever runs the `Once`, and read by others after that.
unsafe impl Sync for Cell {}

static CELL: Cell = Cell(UnsafeCell::new(0));
static ONCE: Once = Once::new();
static NUMBER: Mutex<u64> = Mutex::new(0);
static READY: AtomicBool = AtomicBool::new(false);

fn work() -> u64 {
    // SAFETY: nobody else looks at it before this is over.
    ONCE.call_once(|| unsafe { *CELL.0.get() = 7 });
    for _ in 0..3 {
        *NUMBER.lock().unwrap() += 1;
    }
    // SAFETY: it is not changed any more.
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
