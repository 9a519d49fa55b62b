//! The cells themselves.

use crate::plain::{Cells, Plain};
use crate::{assert_ordered, assert_races, config};
use raddle::cell::{Cell, UnsafeCell};
use raddle::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};
use raddle::sync::{Arc, Mutex};
use raddle::{check_with, thread};

fn concurrently(a: fn(&Cells), b: fn(&Cells)) {
    let cells = Arc::new(Cells::default());
    let other = cells.clone();
    let child = thread::spawn(move || a(&other));
    b(&cells);
    child.join().unwrap();
}

#[test]
fn every_method_of_a_cell_is_an_access() {
    let read: fn(&Cells) = |cells| {
        let _ = cells.0.get();
    };
    assert_ordered(move || concurrently(read, read));
    let writes: [fn(&Cells); 5] = [
        |cells| cells.0.set(1),
        |cells| {
            let _ = cells.0.replace(1);
        },
        |cells| {
            let _ = cells.0.take();
        },
        |cells| cells.0.update(|value| value + 1),
        |cells| cells.1.swap(&cells.0),
    ];
    for write in writes {
        assert_races(move || concurrently(write, read));
        assert_races(move || concurrently(write, write));
    }
    let other: fn(&Cells) = |cells| cells.1.set(1);
    assert_ordered(move || concurrently(read, other));
}

#[test]
fn a_cell_holds_what_std_would() {
    check_with(&config("pos").with_runs(1), || {
        let (a, mut b) = (Cell::new(1), Cell::from(2));
        a.swap(&b);
        a.swap(&a);
        assert_eq!((a.get(), b.replace(5), b.take(), b.get()), (2, 1, 5, 0));
        a.update(|value| value * 10);
        *b.get_mut() = 20;
        assert_eq!((a.clone(), format!("{b:?}")), (b, "Cell { value: 20 }".to_owned()));
        assert_eq!(a.into_inner(), 20);
        let mut cell = UnsafeCell::new(1);
        *cell.get_mut() += 1;
        assert_eq!(cell.get().cast_const(), cell.with(|value| value));
        assert_eq!(cell.get(), cell.with_mut(|value| value));
        assert_eq!(cell.into_inner(), 2);
        let unsized_cell: &UnsafeCell<[u8]> = &UnsafeCell::new([1, 2, 3]);
        assert_eq!(unsized_cell.with(|bytes| bytes.len()), 3);
    })
    .unwrap();
}

#[test]
fn an_access_lasts_as_long_as_its_closure() {
    let publish = |inside: bool| {
        let shared = Arc::new((Plain::default(), AtomicBool::new(false)));
        let other = shared.clone();
        let child = thread::spawn(move || {
            let publish = || other.1.store(true, Release);
            other.0.set_during(|| {
                if inside {
                    publish();
                }
            });
            publish();
        });
        if shared.1.load(Acquire) {
            shared.0.get();
        }
        child.join().unwrap();
    };
    assert_ordered(move || publish(false));
    assert_races(move || publish(true));
}

#[test]
fn what_is_done_through_a_pointer_is_not_seen() {
    assert_ordered(|| {
        let data = Arc::new(Plain::default());
        let other = data.clone();
        let child = thread::spawn(move || other.set_unseen(1));
        data.get();
        child.join().unwrap();
    });
}

#[test]
fn accesses_need_not_come_close_to_each_other() {
    // The first run of a strategy that never preempts: the whole child runs before or after the rest of main.
    let far = || {
        let shared = Arc::new((Plain::default(), Mutex::new(0)));
        let other = shared.clone();
        let child = thread::spawn(move || {
            other.0.set(1);
            (0..50).for_each(|_| drop(Mutex::new(0).lock()));
        });
        (0..50).for_each(|_| drop(Mutex::new(0).lock()));
        shared.0.set(2);
        child.join().unwrap();
    };
    for strategy in ["dfs", "pct:depth=1", "pos"] {
        let failed = check_with(&config(strategy).with_runs(1), far).expect_err(strategy);
        assert_eq!(failed.failure.kind(), "data-race");
    }
}

#[test]
fn cells_are_scheduling_points() {
    // Four writes in two threads that differ only in their order: 4! / (2! 2!) partial orders.
    let passed = check_with(&config("dpor").with_runs(1_000).with_races(false), || {
        let cells = Arc::new(Cells::default());
        let other = cells.clone();
        let child = thread::spawn(move || (0..2).for_each(|value| other.0.set(value)));
        (0..2).for_each(|value| cells.0.set(value));
        child.join().unwrap();
    })
    .unwrap();
    assert!(passed.exhausted);
    assert_eq!((passed.runs, passed.partial_orders), (6, 6));
}
