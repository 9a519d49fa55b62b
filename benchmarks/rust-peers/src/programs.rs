//! The programs: `programs!(module, peer)` writes them for one peer. Only the imports differ.

macro_rules! programs {
    ($name:ident, $peer:ident) => {
        #[allow(dead_code, reason = "Loom has too few threads for some")]
        pub mod $name {
            use $peer::sync::atomic::{AtomicUsize, Ordering};
            use $peer::sync::{Arc, Mutex};
            use $peer::thread;

            pub fn two_threads_one_lock() {
                let lock = Arc::new(Mutex::new(0));
                let other = lock.clone();
                let child = thread::spawn(move || *other.lock().unwrap() += 1);
                *lock.lock().unwrap() += 1;
                child.join().unwrap();
            }

            fn adds(threads: usize) {
                let counter = Arc::new(AtomicUsize::new(0));
                let children: Vec<_> = (0..threads)
                    .map(|_| {
                        let counter = counter.clone();
                        thread::spawn(move || {
                            for _ in 0..10_000 {
                                counter.fetch_add(1, Ordering::SeqCst);
                            }
                        })
                    })
                    .collect();
                for child in children {
                    child.join().unwrap();
                }
            }

            pub fn adds_2() {
                adds(2);
            }

            pub fn adds_64() {
                adds(64);
            }

            pub fn locks_8() {
                let lock = Arc::new(Mutex::new(0));
                let children: Vec<_> = (0..8)
                    .map(|_| {
                        let lock = lock.clone();
                        thread::spawn(move || {
                            for _ in 0..1_000 {
                                *lock.lock().unwrap() += 1;
                            }
                        })
                    })
                    .collect();
                for child in children {
                    child.join().unwrap();
                }
            }

            pub fn lost_update() {
                let value = Arc::new(AtomicUsize::new(0));
                let other = value.clone();
                let child = thread::spawn(move || {
                    let before = other.load(Ordering::SeqCst);
                    other.store(before + 1, Ordering::SeqCst);
                });
                let before = value.load(Ordering::SeqCst);
                value.store(before + 1, Ordering::SeqCst);
                child.join().unwrap();
                assert_eq!(value.load(Ordering::SeqCst), 2);
            }

            pub fn reorder_10() {
                let data = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
                for _ in 0..9 {
                    let data = data.clone();
                    thread::spawn(move || {
                        data.0.store(1, Ordering::SeqCst);
                        data.1.store(2, Ordering::SeqCst);
                    });
                }
                let checker = thread::spawn(move || {
                    let (a, b) = (data.0.load(Ordering::SeqCst), data.1.load(Ordering::SeqCst));
                    assert!((a == 0 && b == 0) || (a == 1 && b == 2));
                });
                checker.join().unwrap();
            }

            pub fn twostage_20() {
                let stages = Arc::new((Mutex::new(0), Mutex::new(0)));
                for _ in 0..19 {
                    let stages = stages.clone();
                    thread::spawn(move || {
                        *stages.0.lock().unwrap() = 1;
                        *stages.1.lock().unwrap() = 2;
                    });
                }
                let reader = thread::spawn(move || {
                    let first = *stages.0.lock().unwrap();
                    if first == 0 {
                        return;
                    }
                    let second = *stages.1.lock().unwrap();
                    assert_eq!(second, first + 1);
                });
                reader.join().unwrap();
            }

            /// After the lab's `shuttle_depth3`, with a flag for its semaphore: the thread stopped later has
            /// to continue before the one stopped earlier.
            pub fn depth_3() {
                let data = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0)));
                let (a, b, c) = (data.clone(), data.clone(), data);
                let first = thread::spawn(move || {
                    a.0.store(1, Ordering::SeqCst);
                    for _ in 0..10 {
                        a.0.load(Ordering::SeqCst);
                    }
                    assert_ne!(a.2.load(Ordering::SeqCst), 2);
                });
                let second = thread::spawn(move || {
                    if b.0.load(Ordering::SeqCst) == 0 {
                        return;
                    }
                    b.1.store(1, Ordering::SeqCst);
                    let seen = b.1.load(Ordering::SeqCst);
                    b.2.store(seen, Ordering::SeqCst);
                });
                let third = thread::spawn(move || {
                    let seen = c.1.load(Ordering::SeqCst);
                    c.1.store(seen * 2, Ordering::SeqCst);
                });
                for child in [first, second, third] {
                    child.join().unwrap();
                }
            }
        }
    };
}
