//! Everything in std that waits, without a bug.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Barrier, Condvar, LazyLock, Mutex, OnceLock, RwLock};
use std::thread;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(600);

fn times_are_virtual() {
    let begun = Instant::now();
    thread::sleep(LONG);
    let (lock, bell) = (Mutex::new(()), Condvar::new());
    let guard = lock.lock().unwrap();
    assert!(bell.wait_timeout(guard, LONG).unwrap().1.timed_out());
    let (_sender, receiver) = mpsc::channel::<()>();
    assert_eq!(receiver.recv_timeout(LONG), Err(RecvTimeoutError::Timeout));
    thread::park_timeout(LONG);
    assert!(begun.elapsed() >= 4 * LONG);
}

fn a_panic_poisons_and_is_handed_on() {
    let lock = Mutex::new(0);
    thread::scope(|scope| {
        let broken = scope.spawn(|| {
            let _guard = lock.lock().unwrap();
            panic!("on purpose");
        });
        assert_eq!(broken.join().unwrap_err().downcast_ref::<&str>(), Some(&"on purpose"));
    });
    assert!(lock.is_poisoned());
}

fn main() {
    static LAZY: LazyLock<RwLock<u32>> = LazyLock::new(|| RwLock::new(0));
    static ONCE: OnceLock<u32> = OnceLock::new();
    times_are_virtual();
    a_panic_poisons_and_is_handed_on();
    let barrier = Barrier::new(3);
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::scope(|scope| {
        for number in 1..=2 {
            let (sender, barrier) = (sender.clone(), &barrier);
            scope.spawn(move || {
                ONCE.get_or_init(|| 5);
                *LAZY.write().unwrap() += number;
                barrier.wait();
                sender.send(*LAZY.read().unwrap()).unwrap();
            });
        }
        drop(sender);
        barrier.wait();
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [3, 3]);
    });
    assert_eq!(ONCE.get(), Some(&5));
}
