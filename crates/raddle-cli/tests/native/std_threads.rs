//! Threads of std with everything that waits, and a deadlock if requested.

use std::sync::{Arc, Barrier, Condvar, Mutex, Once, RwLock, mpsc};
use std::thread;

static ONCE: Once = Once::new();

fn main() {
    if std::env::args().any(|word| word == "deadlock") {
        return deadlock();
    }
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let (barrier, total) = (Arc::new(Barrier::new(3)), Arc::new(RwLock::new(0)));
    let (sender, receiver) = mpsc::channel();
    let begin = |number: i32| {
        let (pair, barrier, total, sender) = (pair.clone(), barrier.clone(), total.clone(), sender.clone());
        thread::spawn(move || {
            ONCE.call_once(|| println!("once"));
            *pair.0.lock().unwrap() += 1;
            pair.1.notify_all();
            sender.send(number).unwrap();
            barrier.wait();
            *total.write().unwrap() += 1;
            thread::sleep(std::time::Duration::from_secs(5));
        })
    };
    let threads: Vec<_> = (0..3).map(begin).collect();
    drop(sender);
    let mut count = pair.0.lock().unwrap();
    while *count < 3 {
        count = pair.1.wait(count).unwrap();
    }
    let mut received: Vec<i32> = receiver.iter().collect();
    received.sort_unstable();
    assert_eq!(received, [0, 1, 2]);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*total.read().unwrap(), 3);
}

fn deadlock() {
    let (a, b) = (Mutex::new(()), Mutex::new(()));
    thread::scope(|scope| {
        scope.spawn(|| {
            let _a = a.lock();
            thread::yield_now();
            let _b = b.lock();
        });
        scope.spawn(|| {
            let _b = b.lock();
            thread::yield_now();
            let _a = a.lock();
        });
    });
}
