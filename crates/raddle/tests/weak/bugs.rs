//! Bugs that only weak memory has: found by the default strategies, and absent from the correct versions.

use raddle::cell::UnsafeCell;
use raddle::sync::Arc;
use raddle::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use raddle::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, fence};
use raddle::{Config, Memory, check_with, hint, thread};

/// Checks that the default finds a failure, by itself and if all runs are under weak memory, and none under sequential
/// consistency, where the failure is not a data race, and that it finds none in the correct version in 10,000 runs.
#[track_caller]
pub(crate) fn found(only_weak: bool, wrong: fn(), right: fn()) {
    let weak = Config::new().with_memory(Memory::Weak).without_failure_files().with_minimize(false);
    let weak = weak.with_explain(false);
    assert!(check_with(&weak, wrong).is_err(), "the bug is not found");
    let auto = weak.clone().with_memory(Memory::Auto);
    assert!(check_with(&auto, wrong).is_err(), "the bug is not found by default");
    let sc = weak.clone().with_memory(Memory::Sc);
    assert!(!only_weak || check_with(&sc, wrong).is_ok(), "sequential consistency has the bug too");
    if let Err(failed) = check_with(&weak.with_runs(10_000), right) {
        panic!("the correct version fails: {failed}");
    }
}

/// Runs two threads that share a value.
pub(crate) fn both<T: Send + Sync + 'static>(shared: T, one: fn(&T), two: fn(&T)) -> Arc<T> {
    let shared = Arc::new(shared);
    let other = Arc::clone(&shared);
    let thread = thread::spawn(move || one(&other));
    two(&shared);
    thread.join().unwrap();
    shared
}

fn pass_message(publish: Ordering, wait: Ordering) {
    let shared = Arc::new((AtomicU32::new(0), AtomicBool::new(false)));
    let other = Arc::clone(&shared);
    let writer = thread::spawn(move || {
        other.0.store(7, Relaxed);
        other.1.store(true, publish);
    });
    if shared.1.load(wait) {
        assert_eq!(shared.0.load(Relaxed), 7);
    }
    writer.join().unwrap();
}

#[test]
fn message_passing_without_release() {
    found(true, || pass_message(Relaxed, Acquire), || pass_message(Release, Acquire));
}

#[test]
fn message_passing_without_acquire() {
    found(true, || pass_message(Release, Relaxed), || pass_message(Release, Acquire));
}

/// Two flags; a thread that sees the other's unset enters.
fn dekker(order: [Ordering; 2]) {
    let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
    let inside = Arc::new(AtomicU32::new(0));
    let enter = move |me: usize, flags: &[AtomicBool; 2], inside: &AtomicU32| {
        flags[me].store(true, order[0]);
        if !flags[1 - me].load(order[1]) {
            assert_eq!(inside.fetch_add(1, SeqCst), 0, "both are inside");
        }
    };
    let (others, other_inside) = (Arc::clone(&flags), Arc::clone(&inside));
    let thread = thread::spawn(move || enter(0, &others, &other_inside));
    enter(1, &flags, &inside);
    thread.join().unwrap();
}

#[test]
fn dekker_without_sequential_consistency() {
    found(true, || dekker([Release, Acquire]), || dekker([SeqCst, SeqCst]));
}

/// Peterson's lock with a critical section each.
fn peterson(store: Ordering, load: Ordering) {
    struct Peterson {
        wants: [AtomicBool; 2],
        turn: AtomicUsize,
        inside: AtomicU32,
    }
    let lock = Arc::new(Peterson {
        wants: [AtomicBool::new(false), AtomicBool::new(false)],
        turn: AtomicUsize::new(0),
        inside: AtomicU32::new(0),
    });
    let run = move |me: usize, lock: &Peterson| {
        lock.wants[me].store(true, store);
        lock.turn.store(1 - me, store);
        while lock.wants[1 - me].load(load) && lock.turn.load(load) == 1 - me {
            hint::spin_loop();
        }
        assert_eq!(lock.inside.fetch_add(1, SeqCst), 0, "both are inside");
        lock.inside.fetch_sub(1, SeqCst);
        lock.wants[me].store(false, store);
    };
    let other = Arc::clone(&lock);
    let thread = thread::spawn(move || run(0, &other));
    run(1, &lock);
    thread.join().unwrap();
}

#[test]
fn peterson_without_sequential_consistency() {
    found(true, || peterson(Release, Acquire), || peterson(SeqCst, SeqCst));
}

/// A reader that checks a sequence number before and after it reads two words.
fn seqlock(begin: bool, end: bool) {
    let lock = Arc::new((AtomicU32::new(0), [AtomicU32::new(0), AtomicU32::new(0)]));
    let shared = Arc::clone(&lock);
    let writer = thread::spawn(move || {
        shared.0.store(1, Relaxed);
        if begin {
            fence(Release);
        }
        shared.1.iter().for_each(|word| word.store(5, Relaxed));
        shared.0.store(2, Release);
    });
    let before = lock.0.load(Acquire);
    if before.is_multiple_of(2) {
        let words = [lock.1[0].load(Relaxed), lock.1[1].load(Relaxed)];
        if end {
            fence(Acquire);
        }
        if lock.0.load(Relaxed) == before {
            assert_eq!(words[0], words[1], "torn");
        }
    }
    writer.join().unwrap();
}

#[test]
fn seqlock_without_its_fences() {
    found(true, || seqlock(false, true), || seqlock(true, true));
    found(true, || seqlock(true, false), || seqlock(true, true));
}

/// A counter under a ticket lock.
fn ticket_lock(unlock: Ordering) {
    let lock = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0), unlock);
    let run = |(next, serving, counter, unlock): &(AtomicU32, AtomicU32, AtomicU32, Ordering)| {
        let ticket = next.fetch_add(1, Relaxed);
        while serving.load(Acquire) != ticket {
            hint::spin_loop();
        }
        counter.store(counter.load(Relaxed) + 1, Relaxed);
        serving.store(ticket + 1, *unlock);
    };
    let shared = both(lock, run, run);
    assert_eq!(shared.2.load(Relaxed), 2);
}

#[test]
fn ticket_lock_with_relaxed_unlock() {
    found(true, || ticket_lock(Relaxed), || ticket_lock(Release));
}

/// A ring for one producer and one consumer.
fn ring(publish: Ordering) {
    let ring = ([AtomicU32::new(0), AtomicU32::new(0)], AtomicUsize::new(0), publish);
    both(
        ring,
        |(slots, head, publish)| {
            for (index, slot) in slots.iter().enumerate() {
                slot.store(10 + index as u32, Relaxed);
                head.store(index + 1, *publish);
            }
        },
        |(slots, head, _)| {
            let count = head.load(Acquire);
            for (index, slot) in slots.iter().take(count).enumerate() {
                assert_eq!(slot.load(Relaxed), 10 + index as u32);
            }
        },
    );
}

#[test]
fn ring_with_relaxed_index() {
    found(true, || ring(Relaxed), || ring(Release));
}

/// A stack of two nodes, by index; 0 is none.
fn treiber(push: Ordering) {
    let stack = ([AtomicU32::new(0), AtomicU32::new(0)], AtomicUsize::new(0), push);
    both(
        stack,
        |(values, top, push)| {
            values[0].store(3, Relaxed);
            while top.compare_exchange_weak(0, 1, *push, Relaxed).is_err() {}
        },
        |(values, top, _)| {
            let found = top.load(Acquire);
            if found != 0 && top.compare_exchange(found, 0, AcqRel, Relaxed).is_ok() {
                assert_eq!(values[found - 1].load(Relaxed), 3);
            }
        },
    );
}

#[test]
fn treiber_stack_with_relaxed_push() {
    found(true, || treiber(Relaxed), || treiber(Release));
}

/// A reference count of two; the thread that drops the last reference destroys the value.
fn reference_count(drop: Ordering, last: Option<Ordering>) {
    struct Counted(AtomicU32, UnsafeCell<u32>, Ordering, Option<Ordering>);
    // SAFETY: only one thread runs at a time; accesses to the cell that nothing orders fail the check.
    #[expect(unsafe_code, reason = "as in an implementation of Arc")]
    unsafe impl Sync for Counted {}
    let release = |counted: &Counted| {
        counted.1.with(|_| ());
        if counted.0.fetch_sub(1, counted.2) == 1 {
            counted.3.into_iter().for_each(fence);
            counted.1.with_mut(|_| ());
        }
    };
    both(Counted(AtomicU32::new(2), UnsafeCell::new(0), drop, last), release, release);
}

#[test]
fn reference_count_without_acquire() {
    found(false, || reference_count(Release, None), || reference_count(Release, Some(Acquire)));
}

/// A hazard pointer: the reader announces it and looks again, the writer unlinks and looks at the announcement.
fn hazard(with_fences: bool) {
    let shared = (AtomicUsize::new(1), AtomicUsize::new(0), AtomicBool::new(false), with_fences);
    both(
        shared,
        |(pointer, hazard, freed, with_fences)| {
            let found = pointer.load(Acquire);
            hazard.store(found, Relaxed);
            if *with_fences {
                fence(SeqCst);
            }
            if found != 0 && pointer.load(Acquire) == found {
                assert!(!freed.load(SeqCst), "use after free");
                hazard.store(0, Release);
            }
        },
        |(pointer, hazard, freed, with_fences)| {
            pointer.store(0, Release);
            if *with_fences {
                fence(SeqCst);
            }
            if hazard.load(Acquire) == 0 {
                freed.store(true, SeqCst);
            }
        },
    );
}

#[test]
fn hazard_pointer_without_fence() {
    // The correct version may free after the reader has finished; see the release store of the hazard.
    let weak = Config::new().with_memory(Memory::Weak).without_failure_files();
    assert!(check_with(&weak, || hazard(false)).is_err());
    assert!(check_with(&weak.with_runs(10_000), || hazard(true)).is_ok());
}

/// Double-checked initialisation.
fn initialise(publish: Ordering, check: Ordering) {
    let shared = (AtomicBool::new(false), AtomicU32::new(0), raddle::sync::Mutex::new(()), publish, check);
    let run = |(ready, value, lock, publish, check): &(
        AtomicBool,
        AtomicU32,
        raddle::sync::Mutex<()>,
        Ordering,
        Ordering,
    )| {
        if !ready.load(*check) {
            let _guard = lock.lock().unwrap();
            if !ready.load(Relaxed) {
                value.store(9, Relaxed);
                ready.store(true, *publish);
            }
        }
        assert_eq!(value.load(Relaxed), 9);
    };
    both(shared, run, run);
}

#[test]
fn double_checked_initialisation_with_relaxed_flag() {
    found(true, || initialise(Relaxed, Relaxed), || initialise(Release, Acquire));
}

/// The deque of Chase and Lev (Le, Pop, Cohen, Zappa Nardelli, PPoPP 2013) with two items: its owner takes one, a thief steals
/// twice.
fn chase_lev(with_fence: bool) {
    #[derive(Default)]
    struct Deque {
        top: AtomicUsize,
        bottom: AtomicUsize,
        items: [AtomicUsize; 2],
        taken: [AtomicBool; 2],
        with_fence: bool,
    }
    fn push(deque: &Deque, item: usize) {
        let bottom = deque.bottom.load(Relaxed);
        deque.items[bottom % 2].store(item, Relaxed);
        fence(Release);
        deque.bottom.store(bottom + 1, Relaxed);
    }
    fn take(deque: &Deque) -> Option<usize> {
        let bottom = deque.bottom.load(Relaxed) - 1;
        deque.bottom.store(bottom, Relaxed);
        if deque.with_fence {
            fence(SeqCst);
        }
        let top = deque.top.load(Relaxed);
        let item = deque.items[bottom % 2].load(Relaxed);
        if top < bottom {
            return Some(item);
        }
        let is_won = top == bottom && deque.top.compare_exchange(top, top + 1, SeqCst, Relaxed).is_ok();
        deque.bottom.store(bottom + 1, Relaxed);
        is_won.then_some(item)
    }
    fn steal(deque: &Deque) -> Option<usize> {
        let top = deque.top.load(Acquire);
        fence(SeqCst);
        if top >= deque.bottom.load(Acquire) {
            return None;
        }
        let item = deque.items[top % 2].load(Relaxed);
        deque.top.compare_exchange(top, top + 1, SeqCst, Relaxed).is_ok().then_some(item)
    }
    fn use_item(deque: &Deque, item: Option<usize>) {
        item.into_iter().for_each(|item| assert!(!deque.taken[item].swap(true, SeqCst), "taken twice"));
    }
    both(
        Deque { with_fence, ..Deque::default() },
        |deque| {
            push(deque, 0);
            push(deque, 1);
            use_item(deque, take(deque));
        },
        |deque| (0..2).for_each(|_| use_item(deque, steal(deque))),
    );
}

#[test]
fn chase_lev_deque_without_fence() {
    found(true, || chase_lev(false), || chase_lev(true));
}

/// Epoch-based reclamation: a reader pins the epoch, the writer unlinks a node and frees it two epochs later.
fn epoch(with_fence: bool) {
    struct Epoch {
        is_linked: AtomicBool,
        is_freed: AtomicBool,
        global: AtomicUsize,
        /// Twice the epoch and 1 while the reader is pinned, else 0.
        local: AtomicUsize,
        with_fence: bool,
    }
    fn advances(epoch: &Epoch) -> bool {
        let now = epoch.global.load(Relaxed);
        fence(SeqCst);
        let local = epoch.local.load(Relaxed);
        if local != 0 && local / 2 != now {
            return false;
        }
        fence(Acquire);
        epoch.global.store(now + 1, Release);
        true
    }
    let shared = Epoch {
        is_linked: AtomicBool::new(true),
        is_freed: AtomicBool::new(false),
        global: AtomicUsize::new(0),
        local: AtomicUsize::new(0),
        with_fence,
    };
    both(
        shared,
        |epoch| {
            epoch.local.store(2 * epoch.global.load(Relaxed) + 1, Relaxed);
            if epoch.with_fence {
                fence(SeqCst);
            }
            if epoch.is_linked.load(Acquire) {
                assert!(!epoch.is_freed.load(SeqCst), "use after free");
            }
            epoch.local.store(0, Release);
        },
        |epoch| {
            epoch.is_linked.store(false, Release);
            if advances(epoch) && advances(epoch) {
                epoch.is_freed.store(true, SeqCst);
            }
        },
    );
}

#[test]
fn epoch_pin_without_fence() {
    found(true, || epoch(false), || epoch(true));
}

/// A counter under the queue lock of Mellor-Crummey and Scott. Waiters are numbers; 0 is none.
fn mcs_lock(unlock: Ordering) {
    #[derive(Default)]
    struct Lock {
        tail: AtomicUsize,
        next: [AtomicUsize; 3],
        waits: [AtomicBool; 3],
        counter: AtomicU32,
    }
    let count = move |me: usize, lock: &Lock| {
        lock.waits[me].store(true, Relaxed);
        let before = lock.tail.swap(me, AcqRel);
        if before != 0 {
            lock.next[before].store(me, Release);
            while lock.waits[me].load(Acquire) {
                hint::spin_loop();
            }
        }
        lock.counter.store(lock.counter.load(Relaxed) + 1, Relaxed);
        let mut next = lock.next[me].load(Acquire);
        if next == 0 {
            if lock.tail.compare_exchange(me, 0, unlock, Relaxed).is_ok() {
                return;
            }
            while next == 0 {
                hint::spin_loop();
                next = lock.next[me].load(Acquire);
            }
        }
        lock.waits[next].store(false, unlock);
    };
    let lock = Arc::new(Lock::default());
    let other = Arc::clone(&lock);
    let thread = thread::spawn(move || count(1, &other));
    count(2, &lock);
    thread.join().unwrap();
    assert_eq!(lock.counter.load(Relaxed), 2);
}

#[test]
fn mcs_lock_with_relaxed_unlock() {
    found(true, || mcs_lock(Relaxed), || mcs_lock(Release));
}

/// Two words under a lock for readers and writers: the number of readers, or `usize::MAX` for a writer.
fn rwlock(unlock: Ordering) {
    let lock = (AtomicUsize::new(0), [AtomicU32::new(0), AtomicU32::new(0)], unlock);
    both(
        lock,
        |(state, words, unlock)| {
            while state.compare_exchange(0, usize::MAX, Acquire, Relaxed).is_err() {
                hint::spin_loop();
            }
            words.iter().for_each(|word| word.store(5, Relaxed));
            state.store(0, *unlock);
        },
        |(state, words, _)| {
            let enter = |readers: usize| (readers != usize::MAX).then(|| readers + 1);
            while state.fetch_update(Acquire, Relaxed, enter).is_err() {
                hint::spin_loop();
            }
            assert_eq!(words[0].load(Relaxed), words[1].load(Relaxed), "torn");
            state.fetch_sub(1, Release);
        },
    );
}

#[test]
fn rwlock_with_relaxed_unlock() {
    found(true, || rwlock(Relaxed), || rwlock(Release));
}

/// Loom weakens accesses in `SeqCst` (tokio-rs/loom, issue 180), so that it fails these programs.
#[test]
fn loom_models_of_sequentially_consistent_programs_pass() {
    use raddle::loom::sync::Arc;
    use raddle::loom::sync::atomic::AtomicU32;
    use raddle::loom::{model, thread};
    // Store buffering.
    model(|| {
        let shared = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let other = Arc::clone(&shared);
        let enter = |shared: &[AtomicU32; 2], me: usize| {
            shared[me].store(1, SeqCst);
            shared[1 - me].load(SeqCst)
        };
        let thread = thread::spawn(move || enter(&other, 1));
        let mine = enter(&shared, 0);
        assert!(mine + thread.join().unwrap() > 0, "both have read 0");
    });
    // Independent reads of independent writes.
    model(|| {
        let shared = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let with = |shared: &Arc<[AtomicU32; 2]>| Arc::clone(shared);
        let (one, two, reader) = (with(&shared), with(&shared), with(&shared));
        let writers =
            [thread::spawn(move || one[0].store(1, SeqCst)), thread::spawn(move || two[1].store(1, SeqCst))];
        let reader = thread::spawn(move || (reader[0].load(SeqCst), reader[1].load(SeqCst)));
        let mine = (shared[1].load(SeqCst), shared[0].load(SeqCst));
        let other = reader.join().unwrap();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert!((mine, other) != ((1, 0), (1, 0)), "the readers disagree on the order of the writes");
    });
    // The same accesses relaxed, with fences.
    model(|| {
        let shared = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let other = Arc::clone(&shared);
        let enter = |shared: &[AtomicU32; 2], me: usize| {
            shared[me].store(1, Relaxed);
            raddle::loom::sync::atomic::fence(SeqCst);
            shared[1 - me].load(Relaxed)
        };
        let thread = thread::spawn(move || enter(&other, 1));
        let mine = enter(&shared, 0);
        assert!(mine + thread.join().unwrap() > 0, "both have read 0");
    });
}
