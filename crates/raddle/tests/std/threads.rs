//! Threads: starting, joining, scopes, panics, names, parking and sleeping.

use crate::common::recorded::trace;
use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use raddle::sync::{Arc, Mutex};
use raddle::thread::{self, Builder};
use raddle::time::{Duration, Instant};
use raddle::{Config, Failed, Failure, Passed, check_with};
use raddle_model::{BlockReason, Failure as Found};

const SC: Ordering = Ordering::SeqCst;

fn config(strategy: &str, runs: u64) -> Config {
    let mut config = Config::default();
    config.strategy = strategy.to_owned();
    config.runs = runs;
    config
}

/// Checks that `test` passes under every schedule, by both exhaustive strategies.
fn all(test: impl Fn() + Send + Sync + 'static) -> Passed {
    let test = std::sync::Arc::new(test);
    let again = std::sync::Arc::clone(&test);
    let dfs = check_with(&config("dfs", 100_000), move || again()).unwrap();
    let dpor = check_with(&config("dpor", 100_000), move || test()).unwrap();
    assert!(dfs.exhausted && dpor.exhausted);
    assert_eq!(dfs.partial_orders, dpor.partial_orders);
    dpor
}

fn fails(strategy: &str, test: impl Fn() + Send + Sync + 'static) -> Box<Failed> {
    check_with(&config(strategy, 10_000), test).unwrap_err()
}

fn message(failed: &Failed) -> &str {
    let Failure::Assertion { message, .. } = &failed.failure else { panic!("{failed}") };
    message
}

#[test]
fn a_thread_has_a_name_and_a_number() {
    all(|| {
        let main = thread::current();
        assert_eq!(main.name(), Some("main"));
        let id = main.id();
        let named =
            Builder::new().name("worker".to_owned()).stack_size(1 << 20).spawn(thread::current).unwrap();
        assert_eq!(named.thread().name(), Some("worker"));
        let named_id = named.thread().id();
        let seen = named.join().unwrap();
        assert_eq!((seen.name(), seen.id()), (Some("worker"), named_id));
        let unnamed = thread::spawn(|| thread::current().name().map(str::to_owned));
        assert!(unnamed.thread().id() != named_id && unnamed.thread().id() != id);
        assert_eq!(unnamed.join().unwrap(), None);
        assert_eq!(thread::current().id(), id);
        assert_eq!(thread::available_parallelism().unwrap().get(), 2);
    });
    let failed = fails("dfs", || _ = Builder::new().name("a\0b".to_owned()).spawn(|| ()));
    assert_eq!(message(&failed), "thread name may not contain interior null bytes");
}

#[test]
fn a_panic_that_is_joined_is_an_error_with_its_payload() {
    all(|| {
        let text = thread::spawn(|| panic!("number {}", std::hint::black_box(7))).join().unwrap_err();
        assert_eq!(*text.downcast::<String>().unwrap(), "number 7");
        let value = thread::spawn(|| std::panic::panic_any(42_u8)).join().unwrap_err();
        assert_eq!(*value.downcast::<u8>().unwrap(), 42);
    });
}

#[test]
fn a_panic_of_an_unjoined_thread_fails_the_run() {
    let failed = fails("dfs", || drop(thread::spawn(|| panic!("unseen"))));
    assert_eq!(message(&failed), "unseen");
    // Even if it comes after the end of the first thread, and if only some schedules have it.
    let failed = fails("pos", || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        thread::spawn(move || assert!(!other.load(SC), "too late"));
        flag.store(true, SC);
    });
    assert_eq!(message(&failed), "too late");
}

#[test]
fn a_thread_that_is_not_joined_runs_to_its_end() {
    let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counter = std::sync::Arc::clone(&count);
    let passed = all(move || {
        let counter = std::sync::Arc::clone(&counter);
        thread::spawn(move || {
            thread::yield_now();
            counter.fetch_add(1, SC);
        });
    });
    assert!(count.load(SC) as u64 > passed.runs, "in the runs of both strategies");
}

#[test]
fn whether_a_thread_has_finished_can_be_asked() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new([false; 2]));
    let notes = std::sync::Arc::clone(&seen);
    let passed = check_with(&config("random-walk", 1_000), move || {
        let child = thread::spawn(thread::yield_now);
        notes.lock().unwrap()[usize::from(child.is_finished())] = true;
        while !child.is_finished() {}
        child.join().unwrap();
    });
    passed.unwrap();
    assert_eq!(*seen.lock().unwrap(), [true, true]);
}

/// A thread that has done everything need not have finished, and one that does nothing need not have either.
#[test]
fn both_answers_to_the_question_whether_a_thread_has_finished_are_explored() {
    for strategy in ["dpor", "dfs", "pos"] {
        for wanted in [false, true] {
            let failed = check_with(&config(strategy, 1_000), move || {
                let done = Arc::new(AtomicBool::new(false));
                let sets = Arc::clone(&done);
                let child = thread::spawn(move || sets.store(true, SC));
                let idle = thread::spawn(|| ());
                let answers = (done.load(SC), child.is_finished(), idle.is_finished());
                assert_ne!(answers, (true, wanted, wanted));
            });
            let failed = failed.unwrap_err();
            assert!(failed.to_string().contains("(true, "), "{strategy}, {wanted}: {failed}");
        }
    }
    let orders = |strategy| {
        let passed = check_with(&config(strategy, 10_000), || {
            let child = thread::spawn(|| ());
            child.is_finished();
        });
        let passed = passed.unwrap();
        assert!(passed.exhausted, "{strategy}");
        passed.partial_orders
    };
    assert_eq!(orders("dpor"), orders("dfs"));
}

#[test]
fn a_scope_lends_and_returns() {
    let passed = all(|| {
        let text = String::from("lent");
        let mut numbers = [1, 2];
        let total = AtomicUsize::new(0);
        let (a, b) = numbers.split_at_mut(1);
        let length = thread::scope(|scope| {
            let first = scope.spawn(|| {
                a[0] += total.fetch_add(text.len(), SC);
                &text[..2]
            });
            scope.spawn(|| b[0] += total.fetch_add(text.len(), SC));
            first.join().unwrap().len()
        });
        assert_eq!((length, total.into_inner()), (2, 8));
        assert!(numbers == [1, 6] || numbers == [5, 2], "{numbers:?}");
    });
    assert_eq!(passed.runs, 2);
}

#[test]
fn a_scope_waits_for_threads_that_its_threads_started() {
    all(|| {
        let count = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                Builder::new()
                    .name("inner".to_owned())
                    .spawn_scoped(scope, || count.fetch_add(1, SC))
                    .unwrap();
            });
        });
        assert_eq!(count.into_inner(), 1);
    });
}

#[test]
fn a_scope_panics_if_an_unjoined_thread_did() {
    all(|| {
        let finished = AtomicBool::new(false);
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            thread::scope(|scope| {
                scope.spawn(|| panic!("inside"));
                scope.spawn(|| finished.store(true, SC));
            })
        }));
        assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "a scoped thread panicked");
        assert!(finished.into_inner(), "it waits for the others first");
        // The scope ignores threads that were joined.
        let seen = thread::scope(|scope| scope.spawn(|| panic!("seen")).join().is_err());
        assert!(seen);
        // A panic of the scope itself is passed on unchanged.
        let caught = std::panic::catch_unwind(|| {
            thread::scope(|scope| {
                scope.spawn(|| panic!("inside"));
                std::panic::panic_any(5_u8);
            })
        });
        assert_eq!(*caught.unwrap_err().downcast::<u8>().unwrap(), 5);
    });
}

#[test]
fn a_scope_that_never_ends_is_taken_down_with_its_threads_first() {
    /// Accesses its borrow when dropped.
    struct Look<'a>(&'a std::sync::Mutex<Vec<&'static str>>, &'static str);
    impl Drop for Look<'_> {
        fn drop(&mut self) {
            self.0.lock().unwrap().push(self.1);
        }
    }
    let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let notes = std::sync::Arc::clone(&order);
    for strategy in ["dfs", "pct:depth=2", "random-walk"] {
        order.lock().unwrap().clear();
        let notes = std::sync::Arc::clone(&notes);
        let failed = fails(strategy, move || {
            notes.lock().unwrap().clear();
            let lock = Mutex::new(());
            let _owner = Look(&notes, "owner");
            let _guard = lock.lock().unwrap();
            thread::scope(|scope| {
                scope.spawn(|| {
                    let _look = Look(&notes, "thread");
                    thread::scope(|scope| {
                        scope.spawn(|| {
                            let _look = Look(&notes, "inner");
                            drop(lock.lock());
                        });
                    });
                });
            });
        });
        assert!(matches!(failed.failure, Failure::Deadlock { .. }), "{failed}");
        assert_eq!(*order.lock().unwrap(), ["inner", "thread", "owner"], "{strategy}");
    }
}

#[test]
fn a_task_that_never_began_is_dropped_before_what_it_borrowed() {
    // The first thread fails before or after the scoped one has begun, depending on the schedule.
    let failed = fails("dfs", || {
        let text = String::from("lent");
        thread::spawn(|| ());
        thread::scope(|scope| {
            scope.spawn(|| assert_eq!(text.len(), 4));
            thread::sleep(Duration::MAX);
            thread::park();
        });
    });
    let trace = trace(&failed);
    let Some(Found::Deadlock { blocked, .. }) = trace.verdict.failure() else { panic!("{failed}") };
    assert_eq!(blocked[0].reason, BlockReason::Park);
}

#[test]
fn a_token_that_comes_first_is_kept_and_a_second_one_is_lost() {
    all(|| {
        thread::current().unpark();
        thread::park();
    });
    let failed = fails("dfs", || {
        thread::current().unpark();
        thread::current().unpark();
        thread::park();
        thread::park();
    });
    let trace = trace(&failed);
    let Some(Found::Deadlock { blocked, .. }) = trace.verdict.failure() else { panic!("{failed}") };
    assert_eq!(blocked[0].reason, BlockReason::Park);
}

#[test]
fn a_parked_thread_goes_on_when_it_is_unparked_and_not_before() {
    all(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let child = thread::spawn(move || {
            thread::park();
            if !other.load(SC) {
                thread::park();
                assert!(other.load(SC), "only the token lets it continue, except once");
            }
        });
        flag.store(true, SC);
        child.thread().unpark();
        child.join().unwrap();
    });
}

#[test]
fn a_park_with_a_time_limit_ends_with_it() {
    all(|| {
        let start = Instant::now();
        thread::park_timeout(Duration::from_secs(3));
        let first = start.elapsed();
        assert!(first == Duration::from_secs(3) || first.is_zero(), "{first:?}");
        thread::current().unpark();
        thread::park_timeout(Duration::from_secs(3));
        assert_eq!(start.elapsed(), first, "the token was there");
    });
}

#[test]
fn a_thread_of_an_earlier_run_is_left_alone() {
    static OLD: std::sync::Mutex<Option<thread::Thread>> = std::sync::Mutex::new(None);
    *OLD.lock().unwrap() = None;
    check_with(&config("dfs", 10), || *OLD.lock().unwrap() = Some(thread::current())).unwrap();
    let failed = fails("dfs", || {
        let old = OLD.lock().unwrap().take().expect("the first run fails");
        old.unpark();
        thread::park();
    });
    assert!(matches!(failed.failure, Failure::Deadlock { .. }), "{failed}");
}

#[test]
fn sleepers_wake_in_the_order_of_their_times() {
    all(|| {
        let start = Instant::now();
        let order = Arc::new(Mutex::new(Vec::new()));
        let sleepers: Vec<_> = [3_u64, 1, 2]
            .into_iter()
            .map(|seconds| {
                let order = Arc::clone(&order);
                thread::spawn(move || {
                    thread::sleep(Duration::from_secs(seconds));
                    order.lock().unwrap().push(seconds);
                })
            })
            .collect();
        sleepers.into_iter().for_each(|sleeper| sleeper.join().unwrap());
        assert_eq!(*order.lock().unwrap(), [1, 2, 3]);
        thread::sleep(Duration::ZERO);
        let end = Instant::now();
        assert_eq!(end - start, Duration::from_secs(3));
        assert_eq!(start.checked_duration_since(end), None);
        assert_eq!((start.duration_since(end), start + Duration::from_secs(3)), (Duration::ZERO, end));
    });
}

#[test]
fn a_scope_does_not_wait_again_for_a_thread_that_was_joined() {
    let schedules = |test: fn()| {
        let passed = check_with(&config("dfs", 10_000), move || {
            thread::spawn(thread::yield_now);
            test();
        });
        passed.unwrap().runs
    };
    let plain = schedules(|| thread::spawn(thread::yield_now).join().unwrap());
    assert_eq!(schedules(|| thread::scope(|scope| scope.spawn(thread::yield_now).join().unwrap())), plain);
}
