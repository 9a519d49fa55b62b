//! More protocols whose right version needs one order or fence, and a wrong version without it.

use crate::bugs::{both, found};
use raddle::cell::UnsafeCell;
use raddle::sync::Arc;
use raddle::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use raddle::{hint, thread};

fn atomics<const N: usize>() -> [AtomicUsize; N] {
    std::array::from_fn(|_| AtomicUsize::new(0))
}

/// A cell that its users may share.
struct Shared(UnsafeCell<usize>);

#[expect(unsafe_code, reason = "the point of the protocols is to share the cell")]
// SAFETY: each access is an operation, and a race ends the run before it.
unsafe impl Sync for Shared {}

/// Lamport's bakery for two, whose numbers are a store and a load each.
fn bakery(order: [Ordering; 2]) {
    let shared = Arc::new((atomics::<2>(), atomics::<2>(), AtomicUsize::new(0)));
    let enter =
        move |me: usize, (choosing, number, inside): &([AtomicUsize; 2], [AtomicUsize; 2], AtomicUsize)| {
            let other = 1 - me;
            choosing[me].store(1, order[0]);
            let mine = number[other].load(order[1]) + 1;
            number[me].store(mine, order[0]);
            choosing[me].store(0, order[0]);
            while choosing[other].load(order[1]) == 1 {
                hint::spin_loop();
            }
            loop {
                let theirs = number[other].load(order[1]);
                if theirs == 0 || (mine, me) < (theirs, other) {
                    break;
                }
                hint::spin_loop();
            }
            assert_eq!(inside.fetch_add(1, SeqCst), 0, "both are inside");
            inside.fetch_sub(1, SeqCst);
            number[me].store(0, order[0]);
        };
    let other = Arc::clone(&shared);
    let child = thread::spawn(move || enter(0, &other));
    enter(1, &shared);
    child.join().unwrap();
}

#[test]
fn bakery_without_sequential_consistency() {
    found(true, || bakery([Release, Acquire]), || bakery([SeqCst, SeqCst]));
}

/// A sleeper announces itself and looks for work once more; a worker adds work and looks for sleepers.
fn sleeper(with_fences: bool) {
    let shared = Arc::new(atomics::<2>());
    let look = move |mine: usize, shared: &[AtomicUsize; 2]| {
        shared[mine].store(1, Relaxed);
        if with_fences {
            fence(SeqCst);
        }
        shared[1 - mine].load(Relaxed)
    };
    let other = Arc::clone(&shared);
    let sleeper = thread::spawn(move || look(0, &other));
    let sees_sleeper = look(1, &shared);
    assert!(sleeper.join().unwrap() + sees_sleeper > 0, "the sleeper is never woken");
}

#[test]
fn sleeper_without_fences() {
    found(true, || sleeper(false), || sleeper(true));
}

/// A thread that loses the race to initialize uses the winner's value.
fn once_box(failure: Ordering) {
    let cells = Arc::new(atomics::<2>());
    let pointer = Arc::new(AtomicUsize::new(0));
    let run = move |me: usize, cells: &[AtomicUsize; 2], pointer: &AtomicUsize| {
        cells[me].store(7, Relaxed);
        let seen = match pointer.compare_exchange(0, me + 1, Release, failure) {
            Ok(_) => me,
            Err(winner) => winner - 1,
        };
        assert_eq!(cells[seen].load(Relaxed), 7, "the value is not there");
    };
    let (others, other) = (Arc::clone(&cells), Arc::clone(&pointer));
    let child = thread::spawn(move || run(0, &others, &other));
    run(1, &cells, &pointer);
    child.join().unwrap();
}

#[test]
fn once_box_with_relaxed_failure() {
    found(true, || once_box(Relaxed), || once_box(Acquire));
}

/// The flag is taken by a third thread with a relaxed update, which continues the release sequence; a store does not.
fn passed_on(by_store: bool) {
    let shared = Arc::new(atomics::<2>());
    let [first, second] = [Arc::clone(&shared), Arc::clone(&shared)];
    let writer = thread::spawn(move || {
        first[0].store(1, Relaxed);
        first[1].store(1, Release);
    });
    let passer = thread::spawn(move || {
        if by_store {
            if second[1].load(Relaxed) == 1 {
                second[1].store(2, Relaxed);
            }
        } else {
            _ = second[1].compare_exchange(1, 2, Relaxed, Relaxed);
        }
    });
    if shared[1].load(Acquire) == 2 {
        assert_eq!(shared[0].load(Relaxed), 1, "the release sequence is broken");
    }
    writer.join().unwrap();
    passer.join().unwrap();
}

#[test]
fn a_store_ends_a_release_sequence() {
    found(true, || passed_on(true), || passed_on(false));
}

/// A later relaxed store of the same thread ends the sequence too, since C++20.
fn overwritten(order: Ordering) {
    both(
        (atomics::<2>(), order),
        |(shared, order)| {
            shared[0].store(1, Relaxed);
            shared[1].store(1, Release);
            shared[1].store(2, *order);
        },
        |(shared, _)| assert!(shared[1].load(Acquire) != 2 || shared[0].load(Relaxed) == 1),
    );
}

#[test]
fn a_relaxed_store_of_the_same_thread_ends_a_release_sequence() {
    found(true, || overwritten(Relaxed), || overwritten(Release));
}

/// A lock by exchange that protects a cell: the wrong version has a data race, also under sequential consistency.
fn spin_lock(unlock: Ordering) {
    both((AtomicBool::new(false), Shared(UnsafeCell::new(0)), unlock), add_locked, add_locked);
}

fn add_locked((lock, cell, unlock): &(AtomicBool, Shared, Ordering)) {
    while lock.swap(true, Acquire) {
        hint::spin_loop();
    }
    #[expect(unsafe_code, reason = "a cell behind a lock")]
    cell.0.with_mut(|value| {
        // SAFETY: the lock excludes the other thread; a race ends the run before this.
        unsafe { *value += 1 }
    });
    lock.store(false, *unlock);
}

#[test]
fn spin_lock_with_relaxed_unlock() {
    found(false, || spin_lock(Relaxed), || spin_lock(Release));
}

/// A barrier whose last thread turns the sense.
fn barrier(arrive: Ordering) {
    both((atomics::<4>(), arrive), |shared| meet(shared, 0), |shared| meet(shared, 1));
}

fn meet((shared, arrive): &([AtomicUsize; 4], Ordering), me: usize) {
    let [count, sense, ..] = shared;
    shared[2 + me].store(1, Relaxed);
    if count.fetch_add(1, *arrive) == 1 {
        sense.store(1, Release);
    } else {
        while sense.load(Acquire) == 0 {
            hint::spin_loop();
        }
    }
    assert_eq!(shared[3 - me].load(Relaxed), 1, "the other has not arrived");
}

#[test]
fn barrier_with_relaxed_arrival() {
    found(true, || barrier(Relaxed), || barrier(AcqRel));
}

/// A queue of two nodes: the link to the second is read after the tail.
fn queue(link: Ordering) {
    both(
        (atomics::<3>(), link),
        |([value, next, _], link)| {
            value.store(5, Relaxed);
            next.store(1, *link);
        },
        |([value, next, head], _)| {
            let seen = next.load(Acquire);
            if seen != 0 && head.compare_exchange(0, seen, Relaxed, Relaxed).is_ok() {
                assert_eq!(value.load(Relaxed), 5, "the node is empty");
            }
        },
    );
}

#[test]
fn queue_with_relaxed_link() {
    found(true, || queue(Relaxed), || queue(Release));
}
