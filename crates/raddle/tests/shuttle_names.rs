//! Shuttle's API besides std's names, under Shuttle's names.

use raddle::shuttle;
use shuttle::current::{
    ChildLabelFn, TaskId, TaskName, get_label_for_task, get_name_for_task, me, set_label_for_task,
};
use shuttle::future::batch_semaphore::{BatchSemaphore, Fairness};
use shuttle::lazy_static::initialize;
use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::{
    DfsScheduler, PctScheduler, RandomScheduler, ReplayScheduler, Schedule, Scheduler, Task,
    UncontrolledNondeterminismCheckScheduler, UrwRandomScheduler,
};
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Arc, Mutex, RwLock};
use shuttle::{Config, FailurePersistence, MaxSteps, PortfolioRunner, Runner, thread};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize as Plain;

static MADE: Plain = Plain::new(0);

shuttle::lazy_static! {
    /// Counts its initializations.
    static ref COUNT: usize = MADE.fetch_add(1, Ordering::SeqCst);
    pub(crate) static ref TEXT: String = "text".repeat(2);
}

#[test]
fn a_lazy_static_is_made_once_in_each_run() {
    shuttle::check_random(
        || {
            let before = MADE.load(Ordering::SeqCst);
            let thread = thread::spawn(|| *COUNT);
            initialize(&COUNT);
            let made = thread.join().unwrap();
            assert_eq!(*COUNT, made);
            assert!(made <= before);
            assert_eq!(*TEXT, "texttext");
        },
        10,
    );
    assert_eq!(MADE.load(Ordering::SeqCst), 10);
}

fn lost_update() {
    let counter = Arc::new(AtomicUsize::new(0));
    let other = Arc::clone(&counter);
    let add = |counter: &AtomicUsize| {
        let before = counter.load(Ordering::SeqCst);
        counter.store(before + 1, Ordering::SeqCst);
    };
    let thread = thread::spawn(move || add(&other));
    add(&counter);
    thread.join().unwrap();
    assert_eq!(counter.load(Ordering::SeqCst), 2, "an update was lost");
}

/// Returns the panic message of a failing check.
fn text(check: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(check)).expect_err("it fails");
    let short = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    short.unwrap_or_else(|| *payload.downcast::<String>().expect("a panic has a text"))
}

/// Counts the calls of a test.
fn counted(
    test: impl Fn() + Send + Sync + 'static,
) -> (std::sync::Arc<Plain>, impl Fn() + Send + Sync + 'static) {
    let calls = std::sync::Arc::new(Plain::new(0));
    let counter = std::sync::Arc::clone(&calls);
    (calls, move || {
        counter.fetch_add(1, Ordering::SeqCst);
        test();
    })
}

fn two_threads() {
    let thread = thread::spawn(thread::yield_now);
    thread::yield_now();
    thread.join().unwrap();
}

/// Returns the number of runs that a runner reports, and the number it executed.
fn runs_of(runner: Runner<impl Scheduler + 'static>) -> (usize, usize) {
    let (calls, test) = counted(two_threads);
    (runner.run(test), calls.load(Ordering::SeqCst))
}

#[test]
fn runners_run_as_often_as_their_scheduler_says() {
    let config = Config::new;
    assert_eq!(runs_of(Runner::new(RandomScheduler::new(7), config())), (7, 7));
    assert_eq!(runs_of(Runner::new(UrwRandomScheduler::new_from_seed(3, 8), config())), (8, 8));
    assert_eq!(runs_of(Runner::new(PctScheduler::new(2, 9), config())), (9, 9));
    assert_eq!(runs_of(Runner::new(DfsScheduler::new(Some(1), false), config())), (1, 1));
    // After the spawn the yield of one thread may come before, between or after the start and the yield of the other.
    assert_eq!(runs_of(Runner::new(DfsScheduler::new(None, false), config())), (3, 3));
}

/// A scheduler that forwards to another one, and counts the steps.
struct Counting<S>(S, std::sync::Arc<Plain>);

impl<S: Scheduler> Scheduler for Counting<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.0.new_execution()
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        self.1.fetch_add(1, Ordering::SeqCst);
        assert!(runnable.is_sorted_by_key(|task| task.id()));
        self.0.next_task(runnable, current, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}

#[test]
fn a_scheduler_of_ones_own_is_asked_at_every_step() {
    let count = |scheduler: &mut dyn FnMut(std::sync::Arc<Plain>) -> (usize, usize)| {
        let steps = std::sync::Arc::new(Plain::new(0));
        (scheduler(std::sync::Arc::clone(&steps)), steps.load(Ordering::SeqCst))
    };
    let dfs = |steps| runs_of(Runner::new(Counting(DfsScheduler::new(None, false), steps), Config::new()));
    // The start of the main thread, its spawn, its yield and its wait, and the start and the yield of the other one.
    assert_eq!(count(&mut { dfs }), ((3, 3), 3 * 6));
    let pct = |steps| runs_of(Runner::new(Counting(PctScheduler::new(2, 9), steps), Config::new()));
    assert_eq!(count(&mut { pct }), ((9, 9), 9 * 6));
    let urw = |steps| runs_of(Runner::new(Counting(UrwRandomScheduler::new(9), steps), Config::new()));
    assert_eq!(count(&mut { urw }), ((9, 9), 9 * 6));
}

#[test]
fn every_scheduler_finds_a_lost_update_inside_of_another_one() {
    fn finds(scheduler: impl Scheduler + 'static) {
        let scheduler = Counting(scheduler, std::sync::Arc::default());
        let found = text(move || _ = Runner::new(scheduler, Config::new()).run(lost_update));
        assert!(found.contains("an update was lost"), "{found}");
    }
    finds(RandomScheduler::new(100));
    finds(UrwRandomScheduler::new(100));
    finds(PctScheduler::new(2, 100));
    finds(DfsScheduler::new(None, false));
}

#[test]
fn the_seed_of_a_scheduler_decides() {
    let order = |seed| {
        let orders = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let kept = std::sync::Arc::clone(&orders);
        let scheduler = RandomScheduler::new_from_seed(seed, 20);
        Runner::new(scheduler, Config::new()).run(move || {
            let other = std::sync::Arc::clone(&kept);
            let thread = thread::spawn(move || {
                thread::yield_now();
                other.lock().unwrap().push(1);
            });
            thread::yield_now();
            kept.lock().unwrap().push(0);
            thread.join().unwrap();
        });
        std::sync::Arc::into_inner(orders).unwrap().into_inner().unwrap()
    };
    assert_eq!(order(5), order(5));
    assert_ne!(order(5), order(6));
}

#[test]
fn a_portfolio_stops_at_the_first_failure_or_goes_on() {
    let portfolio = |stop| {
        let (calls, test) = counted(two_threads);
        let mut portfolio = PortfolioRunner::new(stop, Config::new());
        portfolio.add(RandomScheduler::new(50));
        portfolio.add(PctScheduler::new(3, 60));
        portfolio.run(test);
        calls.load(Ordering::SeqCst)
    };
    assert_eq!((portfolio(true), portfolio(false)), (110, 110));
    for stop in [true, false] {
        let found = text(move || {
            let mut portfolio = PortfolioRunner::new(stop, Config::new());
            portfolio.add(RandomScheduler::new(100));
            portfolio.add(PctScheduler::new(3, 100));
            portfolio.run(lost_update);
        });
        assert!(found.contains("an update was lost"), "{found}");
    }
}

#[test]
fn the_limits_of_a_run_are_kept() {
    let yields = |max_steps, runs| {
        let calls = std::sync::Arc::new(Plain::new(0));
        let counter = std::sync::Arc::clone(&calls);
        let mut config = Config::new();
        config.max_steps = max_steps;
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            Runner::new(RandomScheduler::new(runs), config).run(move || {
                for _ in 0..100 {
                    counter.fetch_add(1, Ordering::SeqCst);
                    thread::yield_now();
                }
            })
        }));
        (outcome.is_ok(), calls.load(Ordering::SeqCst))
    };
    assert_eq!(yields(MaxSteps::None, 3), (true, 300));
    assert_eq!(yields(MaxSteps::ContinueAfter(50), 3), (true, 150));
    assert_eq!(yields(MaxSteps::FailAfter(50), 3), (false, 50));
}

#[test]
fn the_step_count_can_be_restarted() {
    let run = |reset: bool| {
        let mut config = Config::new();
        config.max_steps = MaxSteps::FailAfter(10);
        Runner::new(RandomScheduler::new(2), config).run(move || {
            for _ in 0..30 {
                thread::yield_now();
                if reset {
                    shuttle::current::reset_step_count();
                }
            }
        });
    };
    run(true);
    let found = text(|| run(false));
    assert!(found.contains("exceeded max_steps bound 10"), "{found}");
}

#[test]
fn a_failing_schedule_is_replayed_from_a_file() {
    let directory = std::env::temp_dir().join(format!("raddle-shuttle-names-{}", std::process::id()));
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::File(Some(directory.clone()));
    let found = text(|| _ = Runner::new(RandomScheduler::new(100), config).run(lost_update));
    assert!(found.contains("an update was lost"), "{found}");
    let file = std::fs::read_dir(&directory).unwrap().next().unwrap().unwrap().path();
    let (calls, test) = counted(lost_update);
    let found = text(|| shuttle::replay_from_file(test, &file));
    std::fs::remove_dir_all(directory).unwrap();
    assert!(found.contains("an update was lost"), "{found}");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[test]
fn a_schedule_is_followed_step_by_step() {
    // Both threads load before one of them stores.
    let order = |steps: &[usize]| Schedule::new_from_task_ids(0, steps.iter().copied());
    let replay =
        |schedule| Runner::new(ReplayScheduler::new_from_schedule(schedule), Config::new()).run(lost_update);
    let found = text(|| _ = replay(order(&[0, 0, 1, 1, 0, 1, 0, 0, 0])));
    assert!(found.contains("an update was lost"), "{found}");
    assert_eq!(replay(order(&[0, 0, 1, 1, 1, 0, 0, 0, 0])), 1);
    let found = text(|| _ = replay(order(&[0, 0, 1])));
    assert!(found.contains("ended early"), "{found}");
    let found = text(|| _ = replay(order(&[0, 0, 2])));
    assert!(found.contains("not runnable"), "{found}");
    let mut scheduler = ReplayScheduler::new_from_schedule(order(&[0, 0]));
    scheduler.set_allow_incomplete();
    assert_eq!(Runner::new(scheduler, Config::new()).run(lost_update), 1);
}

#[test]
fn a_test_that_depends_on_more_than_the_schedule_is_noticed() {
    shuttle::check_uncontrolled_nondeterminism(two_threads, 20);
    let calls = Plain::new(0);
    let found = text(|| {
        shuttle::check_uncontrolled_nondeterminism(
            move || {
                if calls.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) {
                    thread::yield_now();
                }
                thread::spawn(|| {}).join().unwrap();
            },
            20,
        );
    });
    assert!(found.starts_with("possible nondeterminism"), "{found}");
    let found = text(|| shuttle::check_uncontrolled_nondeterminism(lost_update, 100));
    assert!(found.contains("an update was lost"), "{found}");
    let scheduler = UncontrolledNondeterminismCheckScheduler::new(DfsScheduler::new(None, false));
    assert_eq!(Runner::new(scheduler, Config::new()).run(two_threads), 6);
}

#[test]
fn a_panic_of_a_thread_fails_the_run_with_what_it_panicked_with() {
    let payload = catch_unwind(|| {
        shuttle::check_random(|| _ = thread::spawn(|| std::panic::panic_any(7_u32)).join(), 1);
    });
    assert_eq!(payload.unwrap_err().downcast_ref::<u32>(), Some(&7));
    let found = text(|| {
        shuttle::check_random(
            || {
                shuttle::future::block_on(async {
                    _ = shuttle::future::spawn(async { panic!("of a task") }).await
                })
            },
            1,
        );
    });
    assert_eq!(found, "of a task");
}

#[test]
fn deadlocks_are_reported() {
    let found = text(|| shuttle::check_dfs(|| thread::park(), None));
    assert!(found.starts_with("deadlock!"), "{found}");
    let twice = || {
        let lock = Mutex::new(());
        let _first = lock.lock().unwrap();
        drop(lock.lock());
    };
    assert!(text(move || shuttle::check_dfs(twice, None)).contains("a Mutex it already holds"));
    let twice = || {
        let lock = RwLock::new(());
        let _first = lock.read().unwrap();
        drop(lock.read());
    };
    assert!(text(move || shuttle::check_dfs(twice, None)).contains("a RwLock it already holds"));
}

#[test]
fn a_test_can_ask_who_runs_and_how_far() {
    assert_eq!(shuttle::current::try_get_current_task(), None);
    shuttle::check_random(
        || {
            assert_eq!(usize::from(me()), 0);
            assert_eq!(shuttle::current::context_switches(), 1);
            thread::yield_now();
            assert_eq!(shuttle::current::context_switches(), 2);
            let other = thread::spawn(shuttle::current::try_get_current_task).join().unwrap();
            assert_eq!(other.map(usize::from), Some(1));
        },
        5,
    );
}

#[test]
fn labels_are_inherited() {
    #[derive(Clone, Debug, PartialEq)]
    struct Number(u32);
    shuttle::check_random(
        || {
            assert_eq!(set_label_for_task(me(), Number(1)), None);
            let name = ChildLabelFn(Arc::new(|task, labels| {
                labels.insert(TaskName::from(format!("child {task}")));
            }));
            set_label_for_task(me(), name);
            let child = thread::spawn(|| {
                assert_eq!(get_name_for_task(me()), Some(TaskName::from("child 1")));
                assert_eq!(format!("{:?}", me()), "child 1(1)");
                set_label_for_task(me(), Number(2))
            });
            assert_eq!(child.join().unwrap(), Some(Number(1)));
            assert_eq!(get_label_for_task(me()), Some(Number(1)));
        },
        5,
    );
}

#[test]
fn clocks_show_happens_before() {
    shuttle::check_dfs(
        || {
            let lock = Arc::new(Mutex::new(false));
            let other = Arc::clone(&lock);
            let thread = thread::spawn(move || {
                assert_eq!(shuttle::current::clock().get(1), 0);
                *other.lock().unwrap() = true;
            });
            let seen = *lock.lock().unwrap();
            assert_eq!(shuttle::current::clock().get(1) > 0, seen);
            thread.join().unwrap();
            assert!(shuttle::current::clock().get(1) > 0);
        },
        None,
    );
}

#[test]
fn random_numbers_are_part_of_the_schedule() {
    let numbers = |seed| {
        let numbers = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let kept = std::sync::Arc::clone(&numbers);
        let test =
            move || kept.lock().unwrap().push((thread_rng().r#gen::<u64>(), thread_rng().gen_range(0..10)));
        shuttle::check_random_with_seed(test, seed, 20);
        std::sync::Arc::into_inner(numbers).unwrap().into_inner().unwrap()
    };
    assert_eq!(numbers(1), numbers(1));
    assert_ne!(numbers(1), numbers(2));
    let found = text(|| shuttle::check_dfs(|| _ = thread_rng().r#gen::<u8>(), None));
    assert!(found.contains("requested random data"), "{found}");
    let scheduler = DfsScheduler::new(None, true);
    assert_eq!(Runner::new(scheduler, Config::new()).run(|| _ = thread_rng().r#gen::<u64>()), 1);
}

#[test]
fn semaphores_have_signatures_that_last() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let kept = std::sync::Arc::clone(&seen);
    shuttle::check_random(
        move || {
            let make = || BatchSemaphore::new(1, Fairness::Unfair);
            for semaphore in [make(), make()] {
                kept.lock().unwrap().insert(semaphore.signature().signature_hash());
            }
        },
        5,
    );
    assert_eq!(seen.lock().unwrap().len(), 2);
}

#[test]
fn tasks_are_dropped_when_all_threads_have_ended() {
    let (calls, test) = counted(|| ());
    let test = std::sync::Arc::new(test);
    let runs = Runner::new(DfsScheduler::new(None, false), Config::new()).run(move || {
        let test = std::sync::Arc::clone(&test);
        drop(shuttle::future::spawn(async move { test() }));
    });
    assert_eq!((runs, calls.load(Ordering::SeqCst)), (2, 1));
}

#[test]
fn what_is_left_at_the_end_of_a_run_may_use_locks() {
    #[derive(Clone, Debug)]
    struct Locks(Arc<Mutex<u32>>, Arc<RwLock<u32>>);
    impl Drop for Locks {
        fn drop(&mut self) {
            *self.0.try_lock().unwrap() += 1;
            *self.1.try_write().unwrap() += 1;
            assert!(*self.1.try_read().unwrap() > 0);
        }
    }
    shuttle::check_random(
        || {
            let locks = Locks(Arc::default(), Arc::default());
            set_label_for_task(me(), locks.clone());
            drop(shuttle::future::spawn_local(async move {
                let _locks = locks;
                std::future::pending::<()>().await;
            }));
            thread::yield_now();
        },
        10,
    );
}
