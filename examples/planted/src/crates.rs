//! Bugs with parking_lot, crossbeam and tokio.

use crate::FIXED;
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;

/// A woken consumer assumes that an item is left.
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

/// Two consumers see that there is a message; one of them waits forever for another one.
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

/// A task reads the value of a channel, awaits, and sends the value plus one.
#[test]
fn awaited_in_between() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let sum = runtime.block_on(async {
        let (sender, receiver) = tokio::sync::watch::channel(0);
        let sender = Arc::new(sender);
        let add = |sender: Arc<tokio::sync::watch::Sender<u32>>| async move {
            if FIXED {
                sender.send_modify(|sum| *sum += 1);
            } else {
                let seen = *sender.borrow(); // bug: awaited_in_between
                tokio::task::yield_now().await;
                sender.send_replace(seen + 1); // bug: awaited_in_between
            }
        };
        let other = tokio::spawn(add(Arc::clone(&sender)));
        add(sender).await;
        other.await.unwrap();
        *receiver.borrow()
    });
    assert_eq!(sum, 2);
}
