//! Futures: tasks, wake-ups, waiting, cancelling, panics.

use crate::common::recorded::trace;
use crate::common::{failure, outcomes};
use raddle::future::{JoinError, JoinHandle, block_on, spawn, spawn_local, yield_now};
use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use raddle::sync::{Arc, Mutex, mpsc};
use raddle::{Config, check_with, thread, try_replay};
use raddle_model::{BlockReason, Failure};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

const SC: Ordering = Ordering::SeqCst;

/// A flag that a future waits for, correctly or with a wake-up that can be lost.
#[derive(Default)]
struct Event {
    set: AtomicBool,
    waiter: Mutex<Option<Waker>>,
}

impl Event {
    fn set(&self) {
        self.set.store(true, SC);
        let waiter = self.waiter.lock().unwrap().take();
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }

    /// Stores the waker and checks again.
    async fn wait(&self) {
        poll_fn(|context| {
            *self.waiter.lock().unwrap() = Some(context.waker().clone());
            if self.set.load(SC) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Checks, and stores the waker too late.
    async fn wait_badly(&self) {
        poll_fn(|context| {
            if self.set.load(SC) {
                return Poll::Ready(());
            }
            *self.waiter.lock().unwrap() = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// Awaits both, whichever is ready first.
async fn both<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut first, mut second) = (None, None);
    poll_fn(|context| {
        let mut advance = |context: &mut Context<'_>| {
            if first.is_none()
                && let Poll::Ready(value) = a.as_mut().poll(context)
            {
                first = Some(value);
            }
            if second.is_none()
                && let Poll::Ready(value) = b.as_mut().poll(context)
            {
                second = Some(value);
            }
        };
        advance(context);
        match (first.take(), second.take()) {
            (Some(a), Some(b)) => Poll::Ready((a, b)),
            (a, b) => {
                (first, second) = (a, b);
                Poll::Pending
            }
        }
    })
    .await
}

/// Counts its drops.
struct Token(Arc<AtomicUsize>);

impl Drop for Token {
    fn drop(&mut self) {
        self.0.fetch_add(1, SC);
    }
}

async fn increment(counter: Arc<AtomicUsize>) {
    let before = counter.load(SC);
    yield_now().await;
    counter.store(before + 1, SC);
}

#[test]
fn tasks_interleave_where_they_await() {
    let seen = outcomes(|| {
        let counter = Arc::new(AtomicUsize::new(0));
        block_on(async {
            let tasks = [spawn(increment(Arc::clone(&counter))), spawn(increment(Arc::clone(&counter)))];
            for task in tasks {
                task.await.unwrap();
            }
        });
        counter.load(SC)
    });
    assert_eq!(seen, BTreeSet::from([1, 2]));
}

#[test]
fn an_update_lost_across_an_await_replays_exactly() {
    let test = || {
        let counter = Arc::new(AtomicUsize::new(0));
        let tasks = [spawn(increment(Arc::clone(&counter))), spawn(increment(Arc::clone(&counter)))];
        block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert_eq!(counter.load(SC), 2, "an update was lost");
    };
    let directory = std::env::temp_dir().join(format!("raddle-futures-{}", std::process::id()));
    let failed = check_with(&Config::new().with_failures(&directory), test).unwrap_err();
    let raddle::FailureFile::At(file) = &failed.file else { panic!("{failed}") };
    let again = try_replay(test, file).unwrap_err();
    std::fs::remove_dir_all(directory).unwrap();
    let raddle::ReplayError::Failed(again) = again else { panic!("{again}") };
    assert_eq!(trace(&again), trace(&failed));
}

fn waits_for_an_event(wait: impl AsyncFn(&Event) + Copy + Send + Sync + 'static) {
    let event = Arc::new(Event::default());
    let other = Arc::clone(&event);
    let setter = thread::spawn(move || other.set());
    block_on(wait(&event));
    setter.join().unwrap();
}

#[test]
fn a_plain_thread_wakes_a_future() {
    outcomes(|| waits_for_an_event(Event::wait));
}

#[test]
fn a_lost_wake_up_is_a_deadlock() {
    let failure = failure(|| waits_for_an_event(Event::wait_badly));
    let Failure::Deadlock { blocked, .. } = failure else { panic!("{failure:?}") };
    assert_eq!((blocked.len(), blocked[0].reason), (1, BlockReason::Park));
}

#[test]
fn a_task_that_is_never_woken_deadlocks_its_waiter() {
    let failure = failure(|| {
        let task = spawn(pending::<()>());
        _ = block_on(task);
    });
    let Failure::Deadlock { blocked, .. } = failure else { panic!("{failure:?}") };
    assert_eq!(blocked.len(), 2, "the task and the thread that waits for it");
}

#[test]
fn tasks_wake_one_another() {
    outcomes(|| {
        let events = Arc::new((Event::default(), Event::default()));
        let other = Arc::clone(&events);
        let task = spawn(async move {
            other.0.wait().await;
            other.1.set();
            7
        });
        events.0.set();
        block_on(events.1.wait());
        assert_eq!(block_on(task).unwrap(), 7);
    });
}

#[test]
fn one_future_waits_for_two_tasks() {
    outcomes(|| {
        let (first, second) = (spawn(async { 1 }), spawn(async { 2 }));
        let (first, second) = block_on(both(first, second));
        assert_eq!((first.unwrap(), second.unwrap()), (1, 2));
    });
}

#[test]
fn block_on_works_in_threads_and_inside_of_itself() {
    outcomes(|| {
        let inner = spawn(async { 1 });
        let thread = thread::spawn(|| block_on(async { block_on(async { inner.await.unwrap() }) + 1 }));
        let outer = block_on(async {
            yield_now().await;
            2
        });
        assert_eq!((thread.join().unwrap(), outer), (2, 2));
    });
}

#[test]
fn a_token_of_a_thread_is_not_a_wake_up() {
    outcomes(|| {
        thread::current().unpark();
        waits_for_an_event(Event::wait);
        thread::park();
    });
}

#[test]
fn an_abort_drops_the_future_and_what_it_owns() {
    let seen = outcomes(|| {
        let (dropped, polled) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (token, counter) = (Token(Arc::clone(&dropped)), Arc::clone(&polled));
        let task = spawn(async move {
            let token = token;
            counter.fetch_add(1, SC);
            pending::<()>().await;
            drop(token);
        });
        assert!(!task.is_finished());
        let handle = task.abort_handle();
        handle.abort();
        let early = dropped.load(SC);
        assert!(matches!(block_on(task), Err(JoinError::Cancelled)));
        assert!(handle.is_finished());
        assert_eq!(dropped.load(SC), 1);
        handle.abort();
        (polled.load(SC), early)
    });
    // Polled not at all or once; the task is dropped before or after the first read of the counter.
    assert_eq!(seen, BTreeSet::from([(0, 0), (0, 1), (1, 0), (1, 1)]));
}

#[test]
fn an_abort_meets_a_task_that_yields_at_any_of_its_awaits_or_after_them() {
    let seen = outcomes(|| {
        let steps = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&steps);
        let task = spawn(async move {
            for _ in 0..2 {
                counter.fetch_add(1, SC);
                yield_now().await;
            }
        });
        task.abort();
        let outcome = block_on(task);
        (steps.load(SC), outcome.is_ok())
    });
    assert_eq!(seen, BTreeSet::from([(0, false), (1, false), (2, false), (2, true)]));
}

#[test]
fn the_end_of_a_task_is_seen_or_not() {
    let seen = outcomes(|| {
        let task = spawn(async {});
        let finished = task.is_finished();
        block_on(task).unwrap();
        finished
    });
    assert_eq!(seen, BTreeSet::from([false, true]));
}

#[test]
fn a_panic_is_an_error_for_the_waiter() {
    outcomes(|| {
        let dropped = Arc::new(AtomicUsize::new(0));
        let token = Token(Arc::clone(&dropped));
        let error = block_on(spawn(async move {
            let _token = token;
            yield_now().await;
            panic!("in a task");
        }))
        .unwrap_err();
        assert_eq!(dropped.load(SC), 1);
        assert!(error.is_panic() && !error.is_cancelled());
        assert_eq!(error.to_string(), "the task panicked: in a task");
        assert_eq!(error.into_panic().downcast_ref::<&str>(), Some(&"in a task"));
        let task = spawn(pending::<()>());
        task.abort();
        let error = block_on(task).unwrap_err();
        assert!(error.is_cancelled() && !error.is_panic() && error.try_into_panic().is_err());
    });
}

#[test]
fn a_panic_of_a_detached_task_fails_the_run() {
    // Even if another task waits forever.
    let failure = failure(|| {
        drop(spawn(pending::<()>()));
        drop(spawn(async { panic!("unseen") }));
    });
    let Failure::Assertion { message, .. } = failure else { panic!("{failure:?}") };
    assert_eq!(message, "unseen");
}

#[test]
fn a_task_alone_runs_on_and_does_not_keep_the_run_going() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let ends = std::sync::Arc::clone(&seen);
    outcomes(move || {
        let (send, receive) = mpsc::channel();
        let ends = std::sync::Arc::clone(&ends);
        drop(spawn(async move {
            for value in &receive {
                ends.lock().unwrap().insert(value);
            }
            pending::<()>().await;
        }));
        send.send(1).unwrap();
    });
    assert_eq!(*seen.lock().unwrap(), BTreeSet::from([1]));
    // The same holds for tasks that sleep or spin.
    let run = |test: fn()| check_with(&Config::new().with_runs(50).with_step_limit(2_000), test).unwrap();
    run(|| {
        drop(spawn(async {
            loop {
                thread::sleep(raddle::time::Duration::from_secs(1));
            }
        }));
    });
    run(|| {
        let never = Arc::new(AtomicBool::new(false));
        for _ in 0..2 {
            let never = Arc::clone(&never);
            drop(spawn(async move {
                while !never.load(SC) {
                    yield_now().await;
                }
            }));
        }
    });
}

#[test]
fn a_task_that_yields_until_something_happens_lets_it_happen() {
    let passed = check_with(&Config::new().with_step_limit(5_000), || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let task = spawn(async move {
            while !other.load(SC) {
                yield_now().await;
            }
        });
        flag.store(true, SC);
        block_on(task).unwrap();
    });
    passed.unwrap();
}

#[test]
fn a_local_task_may_keep_what_is_not_send() {
    outcomes(|| {
        let shared = Rc::new(Cell::new(1));
        let other = Rc::clone(&shared);
        let task = spawn_local(async move {
            other.set(other.get() + 1);
            other
        });
        assert_eq!(block_on(task).unwrap().get(), 2);
        assert_eq!(shared.get(), 2);
    });
}

#[test]
fn wakers_are_harmless_when_their_run_is_over() {
    static KEPT: std::sync::Mutex<Vec<(Waker, JoinHandle<()>)>> = std::sync::Mutex::new(Vec::new());
    outcomes(|| {
        for (waker, mut task) in std::mem::take(&mut *KEPT.lock().unwrap()) {
            waker.wake_by_ref();
            let outcome = Pin::new(&mut task).poll(&mut Context::from_waker(&waker));
            assert!(matches!(outcome, Poll::Ready(Err(JoinError::Cancelled))), "it was dropped with its run");
            task.abort();
        }
        let waker = block_on(poll_fn(|context| Poll::Ready(context.waker().clone())));
        let task = spawn(pending::<()>());
        KEPT.lock().unwrap().push((waker, task));
    });
    for (waker, task) in std::mem::take(&mut *KEPT.lock().unwrap()) {
        waker.wake();
        task.abort();
        assert!(task.is_finished());
    }
}

#[test]
fn what_waits_at_the_end_is_dropped() {
    let dropped = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    struct Counts(std::sync::Arc<std::sync::atomic::AtomicUsize>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, SC);
        }
    }
    let counter = std::sync::Arc::clone(&dropped);
    let config = Config::new().with_runs(3).with_strategy("random-walk");
    check_with(&config, move || {
        let counts = Counts(std::sync::Arc::clone(&counter));
        drop(spawn(async move {
            let _counts = counts;
            pending::<()>().await;
        }));
    })
    .unwrap();
    assert_eq!(dropped.load(SC), 3);
}
