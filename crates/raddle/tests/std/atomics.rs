//! Atomics: the effect of each method, and that it is one operation.

use raddle::sync::Arc;
use raddle::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI32, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering, fence,
};
use raddle::{Config, Failure, Passed, check_with, hint, thread};
use std::collections::BTreeSet;
use std::sync::Mutex;

const SC: Ordering = Ordering::SeqCst;

fn config(strategy: &str, runs: u64) -> Config {
    let mut config = Config::default();
    config.strategy = strategy.to_owned();
    config.runs = runs;
    config
}

fn all(test: impl Fn() + Send + Sync + 'static) -> Passed {
    let passed = check_with(&config("dpor", 100_000), test).unwrap();
    assert!(passed.exhausted);
    passed
}

/// Returns the results of `outcome` over all schedules.
fn outcomes<T: Ord + Send + 'static>(outcome: impl Fn() -> T + Send + Sync + 'static) -> BTreeSet<T> {
    let seen = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
    let notes = std::sync::Arc::clone(&seen);
    all(move || {
        let outcome = outcome();
        notes.lock().unwrap().insert(outcome);
    });
    std::mem::take(&mut *seen.lock().unwrap())
}

/// Calls the same methods on ours and on std's, and compares all results.
macro_rules! same_as_std {
    ($($name:ident: $int:ty),*) => { $({
        let ours = raddle::sync::atomic::$name::new(5);
        let std = std::sync::atomic::$name::new(5);
        macro_rules! both {
            ($method:ident($arguments:tt)) => { both!(@ $method $arguments) };
            (@ $method:ident ($argument:expr)) => {
                for value in [$argument, <$int>::MAX, <$int>::MIN, 1] {
                    assert_eq!(ours.$method(value, SC), std.$method(value, SC), stringify!($name $method));
                    assert_eq!(ours.load(SC), std.load(SC), stringify!($name $method));
                }
            };
        }
        both!(swap((9)));
        both!(fetch_add((100)));
        both!(fetch_sub((101)));
        both!(fetch_and((0x5e)));
        both!(fetch_nand((0x1b)));
        both!(fetch_or((0x21)));
        both!(fetch_xor((0x77)));
        both!(fetch_max((3)));
        both!(fetch_min((7)));
        ours.store(40, SC);
        std.store(40, SC);
        for (current, new) in [(40, 41), (40, 42), (41, 43)] {
            assert_eq!(ours.compare_exchange(current, new, SC, SC), std.compare_exchange(current, new, SC, SC));
            assert_eq!(
                ours.compare_exchange_weak(new, current, SC, SC),
                std.compare_exchange(new, current, SC, SC)
            );
        }
        let up = |value: $int| (value < 43).then_some(value + 1);
        for _ in 0..5 {
            assert_eq!(ours.fetch_update(SC, SC, up), std.fetch_update(SC, SC, up));
        }
        assert_eq!(format!("{ours:?}"), format!("{std:?}"));
        assert_eq!(ours.into_inner(), std.into_inner());
        let mut default = raddle::sync::atomic::$name::default();
        *default.get_mut() += 2;
        assert_eq!(default.load(SC), 2);
        assert_eq!(raddle::sync::atomic::$name::from(3).into_inner(), 3);
    })* };
}

#[test]
fn integers_do_what_stds_do() {
    all(|| {
        same_as_std!(
            AtomicI8: i8, AtomicI16: i16, AtomicI32: i32, AtomicI64: i64, AtomicIsize: isize,
            AtomicU8: u8, AtomicU16: u16, AtomicU32: u32, AtomicU64: u64, AtomicUsize: usize
        );
    });
}

#[test]
fn booleans_do_what_stds_do() {
    all(|| {
        for (first, value) in [(false, false), (false, true), (true, false), (true, true)] {
            let ours = AtomicBool::new(first);
            let std = std::sync::atomic::AtomicBool::new(first);
            assert_eq!(ours.fetch_and(value, SC), std.fetch_and(value, SC));
            assert_eq!(ours.fetch_nand(value, SC), std.fetch_nand(value, SC));
            assert_eq!(ours.fetch_or(value, SC), std.fetch_or(value, SC));
            assert_eq!(ours.fetch_nand(value, SC), std.fetch_nand(value, SC));
            assert_eq!(ours.fetch_xor(value, SC), std.fetch_xor(value, SC));
            assert_eq!(ours.fetch_not(SC), std.fetch_xor(true, SC));
            assert_eq!(ours.swap(value, SC), std.swap(value, SC));
            assert_eq!(ours.into_inner(), std.into_inner());
        }
        assert!(!AtomicBool::default().load(SC));
    });
}

#[test]
fn pointers_are_exchanged() {
    all(|| {
        let (mut a, mut b) = (1, 2);
        let (a, b) = (&raw mut a, &raw mut b);
        let pointer = AtomicPtr::new(a);
        assert_eq!(pointer.compare_exchange(b, a, SC, SC), Err(a));
        assert_eq!(pointer.compare_exchange(a, b, SC, SC), Ok(a));
        assert_eq!(pointer.swap(a, SC), b);
        assert_eq!(pointer.load(SC), a);
        assert!(AtomicPtr::<u8>::default().load(SC).is_null());
    });
}

#[test]
fn each_method_is_one_operation() {
    // Two threads that do `n` operations each on one atomic have `(2n)! / (n!)^2` partial orders.
    let orders = |act: fn(&AtomicU64)| {
        all(move || {
            let shared = Arc::new(AtomicU64::new(0));
            let other = Arc::clone(&shared);
            let child = thread::spawn(move || act(&other));
            act(&shared);
            child.join().unwrap();
        })
        .partial_orders
    };
    let one: [fn(&AtomicU64); 8] = [
        |atomic| atomic.store(1, SC),
        |atomic| _ = atomic.swap(1, SC),
        |atomic| _ = atomic.fetch_add(1, SC),
        |atomic| _ = atomic.fetch_max(1, SC),
        |atomic| _ = atomic.compare_exchange(0, 1, SC, SC),
        |atomic| _ = atomic.compare_exchange_weak(5, 1, SC, SC),
        |atomic| {
            fence(SC);
            atomic.store(1, SC);
        },
        |atomic| _ = atomic.fetch_nand(1, SC),
    ];
    for act in one {
        assert_eq!(orders(act), 2);
    }
    assert_eq!(orders(|atomic| _ = atomic.load(SC)), 1, "reads may be swapped");
    assert_eq!(orders(|atomic| atomic.store(atomic.swap(1, SC), SC)), 6);
}

#[test]
fn a_read_and_a_write_of_two_threads_lose_an_update_and_an_update_does_not() {
    let two = |act: fn(&AtomicUsize)| {
        outcomes(move || {
            let shared = Arc::new(AtomicUsize::new(0));
            let other = Arc::clone(&shared);
            let child = thread::spawn(move || act(&other));
            act(&shared);
            child.join().unwrap();
            shared.load(SC)
        })
    };
    assert_eq!(two(|a| a.store(a.load(SC) + 1, SC)), BTreeSet::from([1, 2]));
    assert_eq!(two(|a| _ = a.fetch_update(SC, SC, |v| Some(v + 1))), BTreeSet::from([2]));
    assert_eq!(two(|a| _ = a.update(SC, SC, |v| v + 1)), BTreeSet::from([2]));
}

#[test]
fn store_buffering_is_sequentially_consistent() {
    let seen = outcomes(|| {
        let (x, y) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (x2, y2) = (Arc::clone(&x), Arc::clone(&y));
        let child = thread::spawn(move || {
            x2.store(true, Ordering::Relaxed);
            y2.load(Ordering::Relaxed)
        });
        y.store(true, Ordering::Relaxed);
        let mine = x.load(Ordering::Relaxed);
        (mine, child.join().unwrap())
    });
    assert_eq!(seen, BTreeSet::from([(false, true), (true, false), (true, true)]));
}

#[test]
fn orders_that_std_refuses_are_refused() {
    type Case = (fn(&AtomicI32), &'static str);
    let refused: [Case; 5] = [
        (|a| _ = a.load([Ordering::Release][0]), "a release load"),
        (|a| a.store(1, [Ordering::Acquire][0]), "an acquire store"),
        (|a| a.store(1, [Ordering::AcqRel][0]), "an acquire-release store"),
        (|a| _ = a.compare_exchange(0, 1, SC, [Ordering::Release][0]), "a release failure ordering"),
        (|_| fence([Ordering::Relaxed][0]), "a relaxed fence"),
    ];
    for (act, what) in refused {
        let failed = check_with(&config("dfs", 1), move || act(&AtomicI32::new(0))).unwrap_err();
        let Failure::Assertion { message, .. } = &failed.failure else { panic!("{failed}") };
        assert!(message.ends_with(what), "{message}");
    }
}

/// A spin lock, and an update under it; `acquire` tries once.
fn spin_lock(acquire: fn(&AtomicBool) -> bool) -> impl Fn() + Send + Sync + 'static {
    move || {
        let shared = Arc::new((AtomicBool::new(false), AtomicU8::new(0)));
        let work = move |shared: &(AtomicBool, AtomicU8)| {
            while !acquire(&shared.0) {}
            shared.1.store(shared.1.load(SC) + 1, SC);
            shared.0.store(false, SC);
        };
        let children: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || work(&shared))
            })
            .collect();
        work(&shared);
        children.into_iter().for_each(|child| child.join().unwrap());
        assert_eq!(shared.1.load(SC), 3);
    }
}

#[test]
fn a_spinning_thread_that_is_preferred_lets_the_holder_go_on() {
    let ways: [fn(&AtomicBool) -> bool; 4] = [
        |lock| lock.compare_exchange(false, true, SC, SC).is_ok(),
        |lock| lock.compare_exchange_weak(false, true, SC, SC).is_ok(),
        |lock| !lock.swap(true, SC),
        |lock| {
            hint::spin_loop();
            !lock.fetch_or(true, SC)
        },
    ];
    for way in ways {
        for strategy in ["pct:depth=3", "pct:depth=2", "dfs", "random-walk", "pos"] {
            let passed = check_with(&config(strategy, 100), spin_lock(way));
            assert_eq!(passed.unwrap().runs, 100, "{strategy}");
        }
    }
}

#[test]
fn a_lock_that_does_not_exclude_is_found() {
    let broken = spin_lock(|lock| {
        let free = !lock.load(SC);
        if free {
            lock.store(true, SC);
        }
        free
    });
    let failed = check_with(&config("pos", 1_000), broken).unwrap_err();
    assert!(matches!(failed.failure, Failure::Assertion { .. }), "{failed}");
}

#[test]
fn a_static_atomic_is_a_new_object_in_each_run() {
    static SHARED: AtomicI8 = AtomicI8::new(0);
    let passed = all(|| {
        let child = thread::spawn(|| SHARED.store(1, SC));
        SHARED.store(2, SC);
        child.join().unwrap();
    });
    assert_eq!(passed.runs, 2);
}

#[test]
fn pointers_move_and_are_tagged() {
    check_with(&Config::default(), || {
        let mut values = [0_u32; 4];
        let first = values.as_mut_ptr();
        let pointer = AtomicPtr::new(first);
        assert_eq!(pointer.fetch_ptr_add(2, SC), first);
        assert_eq!(pointer.fetch_ptr_sub(1, SC), first.wrapping_add(2));
        assert_eq!(pointer.fetch_byte_add(8, SC), first.wrapping_add(1));
        assert_eq!(pointer.fetch_byte_sub(12, SC), first.wrapping_add(3));
        assert_eq!(pointer.fetch_or(3, SC), first);
        assert_eq!(pointer.fetch_and(!1, SC), first.wrapping_byte_add(3));
        assert_eq!(pointer.fetch_xor(2, SC), first.wrapping_byte_add(2));
        assert_eq!(pointer.load(SC), first);
    })
    .unwrap();
}

#[test]
fn the_pointer_to_the_value_is_where_it_is() {
    check_with(&Config::default(), || {
        let mut number = AtomicU64::new(7);
        let (inside, address) = (number.as_ptr(), std::ptr::from_mut(number.get_mut()));
        assert_eq!(inside, address);
        let flag = AtomicBool::new(true);
        assert!(!flag.as_ptr().is_null());
    })
    .unwrap();
}
