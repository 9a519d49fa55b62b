//! Small tests of published lock-free crates. All of them hold on every schedule and under weak memory.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

/// Counts its drops, and has a value that only its maker writes.
struct Counted(usize, Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        assert_eq!(self.0, 7, "it is dropped before it is made");
        self.1.fetch_add(1, Relaxed);
    }
}

#[test]
fn epoch_keeps_what_a_pinned_thread_reads() {
    use crossbeam_epoch::{Atomic, Owned, pin};
    use std::sync::atomic::Ordering::{AcqRel, Acquire};
    let shared = Arc::new(Atomic::new(vec![1, 1]));
    let other = Arc::clone(&shared);
    let writer = thread::spawn(move || {
        let guard = pin();
        let old = other.swap(Owned::new(vec![2, 2]), AcqRel, &guard);
        // SAFETY: it is not reachable any more.
        unsafe { guard.defer_destroy(old) };
        guard.flush();
    });
    let guard = pin();
    // SAFETY: it is never null, and destroyed only when no thread is pinned.
    let seen = unsafe { shared.load(Acquire, &guard).deref() };
    assert_eq!(seen[0], seen[1]);
    drop(guard);
    writer.join().unwrap();
    // SAFETY: there is no other thread.
    drop(unsafe { Arc::into_inner(shared).unwrap().into_owned() });
}

#[test]
fn deque_gives_each_task_once() {
    use crossbeam_deque::{Steal, Worker};
    let worker = Worker::new_lifo();
    let stealer = worker.stealer();
    let thief = thread::spawn(move || {
        let mut stolen = 0;
        for _ in 0..2 {
            if let Steal::Success(task) = stealer.steal() {
                stolen += task;
            }
        }
        stolen
    });
    worker.push(1);
    worker.push(10);
    let mut sum = worker.pop().unwrap_or(0);
    worker.push(100);
    while let Some(task) = worker.pop() {
        sum += task;
    }
    assert_eq!(sum + thief.join().unwrap(), 111);
}

#[test]
fn injector_gives_each_task_once() {
    use crossbeam_deque::{Injector, Steal};
    let injector = Arc::new(Injector::new());
    let other = Arc::clone(&injector);
    let pusher = thread::spawn(move || {
        other.push(Box::new(1));
        other.push(Box::new(10));
    });
    let mut sum = 0;
    let mut take = || match injector.steal() {
        Steal::Success(task) => sum += *task,
        Steal::Empty | Steal::Retry => {}
    };
    take();
    pusher.join().unwrap();
    take();
    take();
    while let Steal::Success(task) = injector.steal() {
        sum += *task;
    }
    assert_eq!(sum, 11);
}

#[test]
fn arc_swap_gives_a_whole_value() {
    use arc_swap::ArcSwap;
    let drops = Arc::new(AtomicUsize::new(0));
    let shared = Arc::new(ArcSwap::from_pointee(Counted(7, Arc::clone(&drops))));
    let (other, counts) = (Arc::clone(&shared), Arc::clone(&drops));
    let writer = thread::spawn(move || other.store(Arc::new(Counted(7, counts))));
    assert_eq!(shared.load().0, 7);
    assert_eq!(shared.load_full().0, 7);
    writer.join().unwrap();
    drop(shared);
    assert_eq!(drops.load(Relaxed), 2);
}

#[test]
fn seqlock_reads_no_mixture() {
    use seqlock::SeqLock;
    let shared = Arc::new(SeqLock::new((1_u32, 1_u32)));
    let other = Arc::clone(&shared);
    let writer = thread::spawn(move || *other.lock_write() = (2, 2));
    let (first, second) = shared.read();
    assert_eq!(first, second);
    writer.join().unwrap();
    assert_eq!(shared.read(), (2, 2));
}

#[test]
fn atomic_waker_loses_no_wake() {
    use atomic_waker::AtomicWaker;
    use std::sync::atomic::AtomicBool;
    use std::task::{Wake, Waker};
    struct Flag(AtomicBool);
    impl Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Relaxed);
        }
    }
    let shared = Arc::new((AtomicWaker::new(), AtomicBool::new(false)));
    let other = Arc::clone(&shared);
    let waking = thread::spawn(move || {
        other.1.store(true, Relaxed);
        other.0.wake();
    });
    let flag = Arc::new(Flag(AtomicBool::new(false)));
    shared.0.register(&Waker::from(Arc::clone(&flag)));
    let is_done = shared.1.load(Relaxed);
    waking.join().unwrap();
    assert!(is_done || flag.0.load(Relaxed), "neither the value nor the wake was seen");
}

#[test]
fn thingbuf_passes_values_in_order() {
    use thingbuf::ThingBuf;
    let buffer = Arc::new(ThingBuf::<usize>::new(2));
    let other = Arc::clone(&buffer);
    let pusher = thread::spawn(move || {
        other.push(1).unwrap();
        other.push(2).unwrap();
    });
    let mut seen = Vec::new();
    seen.extend(buffer.pop());
    seen.extend(buffer.pop());
    pusher.join().unwrap();
    while let Some(value) = buffer.pop() {
        seen.push(value);
    }
    assert_eq!(seen, [1, 2]);
}

#[test]
fn concurrent_queue_passes_each_value_once() {
    use concurrent_queue::ConcurrentQueue;
    let queue = Arc::new(ConcurrentQueue::bounded(2));
    let other = Arc::clone(&queue);
    let pusher = thread::spawn(move || other.push(Box::new(1)).unwrap());
    queue.push(Box::new(10)).unwrap();
    let mut sum = queue.pop().map_or(0, |value| *value);
    pusher.join().unwrap();
    while let Ok(value) = queue.pop() {
        sum += *value;
    }
    assert_eq!(sum, 11);
}

#[test]
fn rtrb_passes_values_in_order() {
    let (mut producer, mut consumer) = rtrb::RingBuffer::new(1);
    let pusher = thread::spawn(move || {
        producer.push(Box::new(1)).unwrap();
        producer.push(Box::new(2)).is_ok()
    });
    let mut seen = Vec::new();
    seen.extend(consumer.pop().ok().map(|value| *value));
    let both = pusher.join().unwrap();
    while let Ok(value) = consumer.pop() {
        seen.push(*value);
    }
    assert_eq!(seen, if both { vec![1, 2] } else { vec![1] });
}

#[test]
fn spin_locks_exclude() {
    let shared = Arc::new((spin::Mutex::new(0), spin::RwLock::new(0), spin::Once::new()));
    let add = |shared: &(spin::Mutex<u32>, spin::RwLock<u32>, spin::Once<Box<u32>>)| {
        *shared.0.lock() += 1;
        *shared.1.write() += 1;
        assert_eq!(**shared.2.call_once(|| Box::new(5)), 5);
    };
    let other = Arc::clone(&shared);
    let adding = thread::spawn(move || add(&other));
    add(&shared);
    adding.join().unwrap();
    assert_eq!((*shared.0.lock(), *shared.1.read()), (2, 2));
}
