//! What Loom offers, under the names that Loom gives it.

use raddle::loom;

use loom::cell::UnsafeCell;
use loom::future::{AtomicWaker, block_on};
use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::thread;
use std::future::poll_fn;
use std::panic::catch_unwind;
use std::task::Poll;

/// Runs it as a model, and counts the runs.
fn runs(builder: &Builder, test: impl Fn() + Send + Sync + 'static) -> usize {
    let runs = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counter = std::sync::Arc::clone(&runs);
    builder.check(move || {
        counter.fetch_add(1, Ordering::SeqCst);
        test();
    });
    runs.load(Ordering::SeqCst)
}

fn two_adders() {
    let counter = Arc::new(AtomicUsize::new(0));
    let other = Arc::clone(&counter);
    let add = |counter: &AtomicUsize| (0..4).for_each(|_| _ = counter.fetch_add(1, Ordering::SeqCst));
    let thread = thread::spawn(move || add(&other));
    add(&counter);
    thread.join().unwrap();
    let mut counter = Arc::into_inner(counter).unwrap();
    assert_eq!(counter.with_mut(|value| std::mem::replace(value, 0)), 8);
    assert_eq!(counter.into_inner(), 0);
}

#[test]
fn a_model_runs_every_partial_order_once() {
    assert_eq!(runs(&Builder::new(), two_adders), 70);
}

#[test]
fn the_limits_of_a_builder_are_kept() {
    let mut builder = Builder::new();
    builder.max_permutations = Some(7);
    assert_eq!(runs(&builder, two_adders), 7);
    let mut builder = Builder::default();
    builder.preemption_bound = Some(0);
    let without = runs(&builder, two_adders);
    builder.preemption_bound = Some(1);
    let with_one = runs(&builder, two_adders);
    assert!(0 < without && without < with_one && with_one < 70, "{without} {with_one}");
    builder.max_branches = 5;
    let text = catch_unwind(move || builder.check(two_adders)).unwrap_err().downcast::<String>().unwrap();
    assert!(text.contains("5 steps"), "{text}");
}

/// Writes a cell, publishes it in this order, and reads it.
fn publish(order: Ordering) {
    struct Slot(UnsafeCell<u32>, AtomicBool);
    // SAFETY: the flag is meant to keep the two accesses apart, and the model looks whether it does.
    #[expect(unsafe_code, reason = "a cell that threads share")]
    unsafe impl Sync for Slot {}

    let slot = Arc::new(Slot(UnsafeCell::new(0), AtomicBool::new(false)));
    let writer = Arc::clone(&slot);
    let thread = thread::spawn(move || {
        writer.0.with_mut(|_| ());
        writer.1.store(true, order);
    });
    if slot.1.load(Ordering::Acquire) {
        slot.0.with(|_| ());
    }
    thread.join().unwrap();
}

#[test]
fn a_model_fails_with_a_data_race() {
    loom::model(|| publish(Ordering::Release));
    let race = catch_unwind(|| loom::model(|| publish(Ordering::Relaxed))).unwrap_err();
    let text = race.downcast::<String>().unwrap();
    assert!(text.contains("data race"), "{text}");
}

/// A task that waits for a flag; `before` tells whether it registers its waker before it looks.
fn wait_for_flag(before: bool) {
    let shared = Arc::new((AtomicWaker::new(), AtomicBool::new(false)));
    let other = Arc::clone(&shared);
    let thread = thread::spawn(move || {
        other.1.store(true, Ordering::SeqCst);
        other.0.wake();
    });
    block_on(poll_fn(|context| {
        if before {
            shared.0.register_by_ref(context.waker());
        }
        if shared.1.load(Ordering::SeqCst) {
            return Poll::Ready(());
        }
        if !before {
            shared.0.register(context.waker().clone());
        }
        Poll::Pending
    }));
    thread.join().unwrap();
}

#[test]
fn a_waker_that_is_registered_too_late_is_lost() {
    loom::model(|| wait_for_flag(true));
    let lost = catch_unwind(|| loom::model(|| wait_for_flag(false))).unwrap_err();
    let text = lost.downcast::<String>().unwrap();
    assert!(text.contains("deadlock"), "{text}");
}

loom::lazy_static! {
    static ref TWICE: String = "text".repeat(2);
}

loom::thread_local! {
    static OWN: std::cell::Cell<u32> = std::cell::Cell::new(1);
}

#[test]
fn statics_are_those_of_a_run() {
    loom::model(|| {
        let thread = thread::spawn(|| OWN.with(|own| own.replace(2)));
        assert_eq!(OWN.with(|own| own.replace(3)), 1);
        assert_eq!(thread.join().unwrap(), 1);
        assert_eq!(*TWICE, "texttext");
    });
}

#[test]
fn a_thread_that_spins_waits_for_the_others() {
    let outcome = Builder::new().outcome(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || {
            thread::yield_now();
            other.store(true, Ordering::Release);
        });
        while !flag.load(Ordering::Acquire) {
            thread::yield_now();
        }
        thread.join().unwrap();
    });
    let passed = outcome.unwrap_or_else(|failed| panic!("{failed}"));
    assert!(passed.exhausted && passed.runs < 10, "{passed}");
}
