//! The programs in Rust. Memory accesses are relaxed, which adds no operation. The end of the process is a
//! step in C; here and in the lab a yield replaces it, so that runs have the same length.

use raddle::sync::atomic::{AtomicI32, Ordering::Relaxed};
use raddle::sync::{Arc, Mutex};
use raddle::thread;

pub(crate) fn lost_update() {
    let x = Arc::new(AtomicI32::new(0));
    let start = || {
        let x = Arc::clone(&x);
        thread::spawn(move || {
            let t = x.load(Relaxed);
            x.store(t + 1, Relaxed);
        })
    };
    let (a, b) = (start(), start());
    a.join().expect("it does not panic");
    b.join().expect("it does not panic");
    assert_eq!(x.load(Relaxed), 2);
    thread::yield_now();
}

pub(crate) fn abba() {
    let (m1, m2) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    let start = |first: &Arc<Mutex<()>>, second: &Arc<Mutex<()>>| {
        let (first, second) = (Arc::clone(first), Arc::clone(second));
        thread::spawn(move || {
            let outer = first.lock();
            drop(second.lock());
            drop(outer);
        })
    };
    let (forth, back) = (start(&m1, &m2), start(&m2, &m1));
    forth.join().expect("it does not panic");
    back.join().expect("it does not panic");
    thread::yield_now();
}

pub(crate) fn reorder_3() {
    let memory = Arc::new((AtomicI32::new(0), AtomicI32::new(0)));
    let set = || {
        let memory = Arc::clone(&memory);
        thread::spawn(move || {
            memory.0.store(1, Relaxed);
            memory.1.store(-1, Relaxed);
        })
    };
    let (first, second) = (set(), set());
    let seen = Arc::clone(&memory);
    let checker = thread::spawn(move || {
        let (u, v) = (seen.0.load(Relaxed), seen.1.load(Relaxed));
        assert!((u, v) == (0, 0) || (u, v) == (1, -1));
    });
    first.join().expect("it does not panic");
    second.join().expect("it does not panic");
    checker.join().expect("it has failed the run if it has panicked");
    thread::yield_now();
}
