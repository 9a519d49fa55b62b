//! Loom's API, under Loom's names.

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

/// Runs `test` as a model, and returns the number of runs.
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
    let mut counter = Arc::try_unwrap(counter).unwrap();
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

/// Writes a cell, publishes it with this memory order, and reads it.
fn publish(order: Ordering) {
    struct Slot(UnsafeCell<u32>, AtomicBool);
    // SAFETY: the flag is meant to order the two accesses, and the model checks whether it does.
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

/// A task that waits for a flag; `before` registers its waker before it reads the flag.
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

#[test]
fn the_count_of_an_arc_is_part_of_the_model() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let kept = std::sync::Arc::clone(&seen);
    loom::model(move || {
        let value = Arc::new(());
        let other = Arc::clone(&value);
        let thread = thread::spawn(move || drop(other));
        kept.lock().unwrap().insert(Arc::strong_count(&value));
        thread.join().unwrap();
        assert_eq!(Arc::strong_count(&value), 1);
    });
    assert_eq!(*seen.lock().unwrap(), [1, 2].into());
}

#[test]
fn the_last_owner_comes_after_the_others() {
    struct Slot(UnsafeCell<u32>);
    impl Drop for Slot {
        fn drop(&mut self) {
            self.0.with_mut(|_| ());
        }
    }
    loom::model(|| {
        let slot = Arc::new(Slot(UnsafeCell::new(0)));
        let other = Arc::clone(&slot);
        thread::spawn(move || other.0.with(|_| ()));
        slot.0.with(|_| ());
    });
}

/// Returns the panic message of a failing model.
fn failure(test: impl Fn() + Send + Sync + 'static + std::panic::UnwindSafe) -> String {
    *catch_unwind(|| loom::model(test)).unwrap_err().downcast::<String>().unwrap()
}

#[test]
fn leaks_fail() {
    loom::model(|| drop((Arc::new(1), loom::alloc::Track::new(1))));
    let text = failure(|| std::mem::forget(Arc::new(1)));
    assert!(text.contains("an Arc leaked"), "{text}");
    let text = failure(|| std::mem::forget(loom::alloc::Track::new(1)));
    assert!(text.contains("a tracked value leaked"), "{text}");
    let text = failure(|| _ = Arc::into_raw(Arc::new(1)));
    assert!(text.contains("an Arc leaked"), "{text}");
    loom::model(|| {
        let pointer = Arc::into_raw(Arc::new(7));
        // SAFETY: the pointer comes from `into_raw` on the line before.
        #[expect(unsafe_code, reason = "the function is unsafe in Loom")]
        let owner = unsafe { Arc::from_raw(pointer) };
        assert_eq!(*owner, 7);
    });
}

#[test]
fn a_cell_is_not_written_while_it_is_read() {
    loom::model(|| {
        let cell = UnsafeCell::new(1);
        let (first, second) = (cell.get(), cell.get());
        first.with(|_| second.with(|_| ()));
        drop((first, second));
        cell.get_mut().with(|_| ());
    });
    let text = failure(|| {
        let cell = UnsafeCell::new(1);
        let _read = cell.get();
        drop(cell.get_mut());
    });
    assert!(text.contains("while it is being read"), "{text}");
}

#[test]
fn functions_of_threads_need_not_be_send() {
    loom::model(|| {
        let value = std::rc::Rc::new(7);
        let thread = thread::spawn(move || value);
        assert_eq!(*thread.join().unwrap(), 7);
    });
}

#[test]
fn a_notification_is_waited_for() {
    loom::model(|| {
        let notify = Arc::new(loom::sync::Notify::new());
        let flag = Arc::new(AtomicBool::new(false));
        let (notifier, set) = (Arc::clone(&notify), Arc::clone(&flag));
        thread::spawn(move || {
            set.store(true, Ordering::Relaxed);
            notifier.notify();
        });
        notify.wait();
        assert!(flag.load(Ordering::Relaxed));
    });
}

#[test]
#[expect(unsafe_code, reason = "the function is unsafe in Loom")]
fn an_unsynchronized_load_races_with_a_store() {
    let test = |join: bool| {
        move || {
            let value = Arc::new(AtomicUsize::new(0));
            let other = Arc::clone(&value);
            let thread = thread::spawn(move || other.store(1, Ordering::SeqCst));
            if join {
                thread.join().unwrap();
            }
            // SAFETY: the function has no requirements; the model checks for the race.
            _ = unsafe { value.unsync_load() };
        }
    };
    loom::model(test(true));
    let text = failure(test(false));
    assert!(text.contains("data race"), "{text}");
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
    assert!(passed.exhausted && passed.runs < 20, "{passed}");
}
