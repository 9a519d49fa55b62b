//! `mpsc`: order, capacity, disconnection, and std's contract.

use crate::common::{failure, outcomes};
use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicUsize, Ordering};
use raddle::sync::mpsc::{
    Receiver, RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError, channel, sync_channel,
};
use raddle::thread;
use raddle_model::{BlockReason, Failure};
use std::collections::BTreeSet;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

#[test]
fn every_value_arrives_once_and_those_of_one_sender_in_order() {
    let seen = outcomes(|| {
        let (sender, receiver) = channel();
        let other = sender.clone();
        let threads = [(sender, [1, 2]), (other, [3, 4])].map(|(sender, values)| {
            thread::spawn(move || values.into_iter().for_each(|value| sender.send(value).unwrap()))
        });
        let received: Vec<i32> = receiver.iter().collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        received
    });
    assert_eq!(seen.len(), 6, "all merges of two sequences of two: {seen:?}");
    for received in seen {
        let at = |value| received.iter().position(|&other| other == value).unwrap();
        assert!(received.len() == 4 && at(1) < at(2) && at(3) < at(4), "{received:?}");
    }
}

#[test]
fn a_bounded_channel_never_holds_more_than_its_capacity() {
    let seen = outcomes(|| {
        let (sender, receiver) = sync_channel(2);
        let sent = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&sent);
        let thread = thread::spawn(move || {
            for value in 0..4 {
                sender.send(value).unwrap();
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        let ahead = sent.load(Ordering::SeqCst);
        assert_eq!(receiver.recv(), Ok(0));
        assert!(sent.load(Ordering::SeqCst) <= 3);
        assert_eq!(receiver.into_iter().collect::<Vec<_>>(), [1, 2, 3]);
        thread.join().unwrap();
        ahead
    });
    assert_eq!(seen, BTreeSet::from([0, 1, 2]));
}

#[test]
fn a_rendezvous_lasts_until_the_value_was_taken() {
    let seen = outcomes(|| {
        let (sender, receiver) = sync_channel(0);
        let sent = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&sent);
        let thread = thread::spawn(move || {
            for value in 0..2 {
                sender.send(value).unwrap();
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        assert_eq!(sent.load(Ordering::SeqCst), 0, "nothing was taken");
        assert_eq!(receiver.recv(), Ok(0));
        let after_one = sent.load(Ordering::SeqCst);
        assert_eq!(receiver.recv(), Ok(1));
        thread.join().unwrap();
        after_one
    });
    assert_eq!(seen, BTreeSet::from([0, 1]));
}

#[test]
fn attempts_at_a_rendezvous_need_somebody_who_waits() {
    let seen = outcomes(|| {
        let (sender, receiver) = sync_channel(0);
        let thread = thread::spawn(move || receiver.recv_timeout(LONG));
        let sent = sender.try_send(1);
        let received = thread.join().unwrap();
        match (sent, received) {
            (Ok(()), Ok(1)) => "handed over",
            (Err(TrySendError::Full(1)), Err(RecvTimeoutError::Timeout)) => "too early",
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(seen, BTreeSet::from(["handed over", "too early"]));
    let seen = outcomes(|| {
        let (sender, receiver) = sync_channel(0);
        let thread = thread::spawn(move || sender.send(1));
        let first = receiver.try_recv();
        drop(receiver);
        match (first, thread.join().unwrap()) {
            (Ok(1), Ok(())) => "handed over",
            (Err(TryRecvError::Empty), Err(SendError(1))) => "given back",
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(seen, BTreeSet::from(["given back", "handed over"]));
}

#[test]
fn a_channel_without_senders_is_emptied_and_then_closed() {
    let seen = outcomes(|| {
        let (sender, receiver) = channel();
        let other = sender.clone();
        let thread = thread::spawn(move || {
            other.send(1).unwrap();
            drop(other);
        });
        drop(sender);
        let first = receiver.try_recv();
        let rest: Vec<i32> = receiver.iter().collect();
        assert_eq!((receiver.recv(), receiver.try_recv()), (Err(RecvError), Err(TryRecvError::Disconnected)));
        assert_eq!(receiver.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
        thread.join().unwrap();
        assert_eq!(first.is_ok(), rest.is_empty());
        assert!(matches!(first, Ok(1) | Err(TryRecvError::Empty)), "{first:?}");
        first.is_ok()
    });
    assert_eq!(seen, BTreeSet::from([false, true]));
}

#[test]
fn when_a_sender_goes_is_seen_in_any_order_with_what_others_do() {
    // The channel is closed by whichever sender goes last, and each may do something after it went.
    let seen = outcomes(|| {
        let (sender, receiver) = channel::<()>();
        let done = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let threads = [(0, sender.clone()), (1, sender)].map(|(index, sender)| {
            let done = Arc::clone(&done);
            thread::spawn(move || {
                drop(sender);
                done[index].fetch_add(1, Ordering::SeqCst);
            })
        });
        let before = [0, 1].map(|index: usize| done[index].load(Ordering::SeqCst));
        let open = receiver.try_recv() == Err(TryRecvError::Empty);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        (before, open)
    });
    assert!(seen.contains(&([1, 0], true)) && seen.contains(&([0, 1], true)), "{seen:?}");
    assert!(seen.contains(&([0, 0], false)) && !seen.contains(&([1, 1], true)), "{seen:?}");
}

#[test]
fn a_channel_without_a_receiver_drops_what_is_in_it_and_gives_back_what_is_sent() {
    let seen = outcomes(|| {
        let (sender, receiver) = sync_channel(1);
        let value = Arc::new(());
        let sent = Arc::clone(&value);
        let thread = thread::spawn(move || {
            let first = sender.send(Arc::clone(&sent)).is_ok();
            // There is no room, so this waits until the receiver is dropped.
            let back = sender.send(sent).unwrap_err().0;
            assert!(matches!(sender.try_send(back), Err(TrySendError::Disconnected(_))));
            first
        });
        drop(receiver);
        let first = thread.join().unwrap();
        assert_eq!(Arc::strong_count(&value), 1, "nothing is kept");
        first
    });
    assert_eq!(seen, BTreeSet::from([false, true]));
}

#[test]
fn time_passes_for_a_receiver_only_if_nothing_else_happens() {
    outcomes(|| {
        let (sender, receiver) = channel();
        let thread = thread::spawn(move || {
            sender.send(1).unwrap();
            sender
        });
        assert_eq!(receiver.recv_timeout(Duration::from_nanos(1)), Ok(1));
        assert_eq!(receiver.recv_timeout(LONG), Err(RecvTimeoutError::Timeout));
        drop(thread.join().unwrap());
        assert_eq!(receiver.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
    });
}

#[test]
fn the_rest_of_the_api_of_channels() {
    outcomes(|| {
        let (sender, receiver) = sync_channel(2);
        assert_eq!((sender.try_send(1), sender.clone().try_send(2)), (Ok(()), Ok(())));
        assert_eq!(sender.try_send(3), Err(TrySendError::Full(3)));
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [1, 2]);
        sender.send(4).unwrap();
        drop(sender);
        let mut all = Vec::new();
        for value in &receiver {
            all.push(value);
        }
        assert_eq!(all, [4]);
        assert_eq!(format!("{receiver:?} {:?}", channel::<()>().0), "Receiver { .. } Sender { .. }");
    });
}

#[test]
fn a_receiver_whose_sender_never_goes_is_a_deadlock() {
    let wait = |receiver: Receiver<()>| receiver.recv().unwrap_err();
    let on_empty = failure(move || {
        let (_sender, receiver) = channel();
        wait(receiver);
    });
    let on_full = failure(|| {
        let (sender, _receiver) = sync_channel(1);
        sender.send(1).unwrap();
        sender.send(2).unwrap();
    });
    let unmet = failure(|| {
        let (sender, _receiver) = sync_channel(0);
        sender.send(1).unwrap();
    });
    for failure in [on_empty, on_full, unmet] {
        let Failure::Deadlock { blocked, .. } = failure else { panic!("{failure:?}") };
        assert_eq!(blocked[0].reason, BlockReason::Channel);
    }
}

#[test]
fn the_sides_of_a_channel_cross_threads_as_in_std() {
    fn send<T: Send>() {}
    fn sync<T: Sync>() {}
    send::<Receiver<std::cell::Cell<u8>>>();
    send::<raddle::sync::mpsc::Sender<std::cell::Cell<u8>>>();
    sync::<raddle::sync::mpsc::Sender<std::cell::Cell<u8>>>();
    sync::<raddle::sync::mpsc::SyncSender<std::cell::Cell<u8>>>();
}
