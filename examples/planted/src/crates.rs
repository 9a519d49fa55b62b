//! Bugs with parking_lot, crossbeam and tokio.

use crate::FIXED;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A consumer that was woken takes for granted that there is something left.
#[test]
fn woken_once_checked_once() {
    let (queue, bell) = (parking_lot::Mutex::new(VecDeque::new()), parking_lot::Condvar::new());
    let consume = || {
        let mut queue = queue.lock();
        if FIXED {
            while queue.is_empty() {
                bell.wait(&mut queue);
            }
        } else if queue.is_empty() {
            bell.wait(&mut queue); // bug: woken_once_checked_once
        }
        let item: u32 = queue.pop_front().expect("there is an item");
        item
    };
    thread::scope(|scope| {
        scope.spawn(consume);
        scope.spawn(consume);
        for item in 0..2 {
            queue.lock().push_back(item);
            bell.notify_all(); // bug: woken_once_checked_once
        }
    });
}

/// Two consumers see that there is a message; one of them waits for ever for another one.
#[test]
fn looked_then_received() {
    let (sender, receiver) = crossbeam_channel::unbounded();
    sender.send(1).unwrap();
    let consume = || {
        if FIXED {
            receiver.try_recv().ok()
        } else if !receiver.is_empty() {
            receiver.recv().ok() // bug: looked_then_received
        } else {
            None
        }
    };
    thread::scope(|scope| {
        let other = scope.spawn(consume);
        let mine = consume();
        assert!(mine.is_some() != other.join().unwrap().is_some());
    });
    drop(sender);
}

/// No message, then the flag that says there will be none: one may have come in between.
#[test]
fn empty_then_done() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let received = runtime.block_on(async {
        let (sender, mut receiver) = tokio::sync::mpsc::channel(4);
        let is_done = Arc::new(AtomicBool::new(false));
        let consumer = tokio::spawn({
            let is_done = Arc::clone(&is_done);
            async move {
                let mut received = 0;
                loop {
                    let was_done = is_done.load(Ordering::SeqCst);
                    match receiver.try_recv() { // bug: empty_then_done
                        Ok(number) => received += number,
                        Err(_) if FIXED && was_done => break received,
                        Err(_) if !FIXED && is_done.load(Ordering::SeqCst) => break received, // bug: empty_then_done
                        Err(_) => tokio::task::yield_now().await,
                    }
                }
            }
        });
        sender.send(5).await.unwrap();
        is_done.store(true, Ordering::SeqCst);
        consumer.await.unwrap()
    });
    assert_eq!(received, 5);
}
