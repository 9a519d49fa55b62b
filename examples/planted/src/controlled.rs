//! Tests without a bug, which must pass under control.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Condvar, LazyLock, Mutex, Once};
use std::thread;
use std::time::{Duration, Instant};

/// A minute of virtual time takes no real time.
#[test]
fn time_is_virtual() {
    let begun = Instant::now();
    thread::sleep(Duration::from_secs(60));
    assert!(begun.elapsed() >= Duration::from_secs(60));
    let (lock, bell) = (Mutex::new(()), Condvar::new());
    let guard = lock.lock().unwrap();
    let (_guard, result) = bell.wait_timeout(guard, Duration::from_secs(60)).unwrap();
    assert!(result.timed_out());
    let (_sender, receiver) = mpsc::channel::<()>();
    assert_eq!(receiver.recv_timeout(Duration::from_secs(60)), Err(RecvTimeoutError::Timeout));
    thread::park_timeout(Duration::from_secs(60));
    assert!(begun.elapsed() >= Duration::from_secs(240));
}

#[test]
fn messages_arrive_in_order() {
    let (sender, receiver) = mpsc::sync_channel(1);
    let producer = thread::spawn(move || (0..5).for_each(|number| sender.send(number).unwrap()));
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    producer.join().unwrap();
}

#[test]
fn what_happens_once_happens_once() {
    static LAZY: LazyLock<Mutex<u32>> = LazyLock::new(|| Mutex::new(1));
    static ONCE: Once = Once::new();
    let touch = || {
        ONCE.call_once(|| *LAZY.lock().unwrap() += 1);
        *LAZY.lock().unwrap()
    };
    thread::scope(|scope| {
        let threads = [scope.spawn(touch), scope.spawn(touch)];
        assert!(threads.into_iter().all(|thread| thread.join().unwrap() == 2));
    });
}

/// A panic ends its thread, poisons the lock, and is the result of `join`.
#[test]
fn panics_are_those_of_rust() {
    let lock = Mutex::new(0);
    thread::scope(|scope| {
        let broken = scope.spawn(|| {
            let _guard = lock.lock().unwrap();
            panic!("on purpose");
        });
        let payload = broken.join().unwrap_err();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"on purpose"));
    });
    assert!(lock.is_poisoned());
}

#[test]
fn rayon_has_its_own_threads() {
    use rayon::prelude::*;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    assert_eq!(pool.install(|| (0..8_u32).into_par_iter().map(|number| number * number).sum::<u32>()), 140);
}

#[test]
fn tokio_waits_on_virtual_time() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let begun = tokio::time::Instant::now();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let task = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(30)).await;
            sender.send(()).unwrap();
        });
        let early = tokio::time::timeout(Duration::from_secs(10), std::future::pending::<()>()).await;
        assert!(early.is_err());
        receiver.await.unwrap();
        task.await.unwrap();
        assert!(begun.elapsed() >= Duration::from_secs(30));
    });
}
