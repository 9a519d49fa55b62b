//! The runs of a check, and its result.

#[path = "common/recorded.rs"]
mod recorded;

use raddle::sync::atomic::{AtomicUsize, Ordering};
use raddle::sync::{Arc, Mutex};
use raddle::{Config, Failed, Failure, FailureFile, ReplayError, check_with, thread, try_replay};
use raddle_model::TraceFile;
use raddle_report::run_text::{Terminal, steps};
use recorded::trace;
use std::path::PathBuf;
use std::time::Duration;

fn failures(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("check").join(name)
}

fn config(strategy: &str) -> Config {
    Config::new().with_strategy(strategy).with_failures(failures("all"))
}

fn path(failed: &Failed) -> PathBuf {
    match &failed.file {
        FailureFile::At(path) => path.clone(),
        other => panic!("{other:?}"),
    }
}

/// Two threads add to a balance under a lock that they release in between.
fn lost_update() {
    let balance = Arc::new(Mutex::new(0));
    let other = balance.clone();
    let deposit = thread::spawn(move || {
        let before = *other.lock().unwrap();
        *other.lock().unwrap() = before + 1;
    });
    let before = *balance.lock().unwrap();
    *balance.lock().unwrap() = before + 1;
    deposit.join().unwrap();
    assert_eq!(*balance.lock().unwrap(), 2, "a deposit was lost");
}

/// The line of the assertion of [`lost_update`].
const LOST: u32 = line!() - 4;

fn lock_order() {
    let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
    let other = Arc::clone(&locks);
    let child = thread::spawn(move || {
        let _b = other.1.lock().unwrap();
        let _a = other.0.lock().unwrap();
    });
    let a = locks.0.lock().unwrap();
    let b = locks.1.lock().unwrap();
    drop((a, b));
    child.join().unwrap();
}

/// The line at which the main thread of [`lock_order`] takes its first lock; the child's first is three
/// above.
const FIRST_LOCK: u32 = line!() - 8;

fn correct() {
    let balance = Arc::new(Mutex::new(0));
    let other = balance.clone();
    let deposit = thread::spawn(move || *other.lock().unwrap() += 1);
    *balance.lock().unwrap() += 1;
    deposit.join().unwrap();
    assert_eq!(*balance.lock().unwrap(), 2);
}

/// Needs five orderings of probability one half each, so random runs rarely fail.
fn rarely_wrong() {
    let wins = Arc::new(AtomicUsize::new(0));
    for _ in 0..5 {
        let (flag, other) = (Arc::new(AtomicUsize::new(0)), wins.clone());
        let child = thread::spawn({
            let flag = flag.clone();
            move || {
                flag.fetch_add(1, Ordering::SeqCst);
            }
        });
        if flag.load(Ordering::SeqCst) == 1 {
            other.fetch_add(1, Ordering::SeqCst);
        }
        child.join().unwrap();
    }
    assert!(wins.load(Ordering::SeqCst) < 5, "all five");
}

#[test]
fn a_failure_says_what_where_and_how_to_run_it_again() {
    let failed = check_with(&config("portfolio"), lost_update).unwrap_err();
    let text = failed.to_string();
    let expected = format!("{}:{LOST}:5", file!());
    for part in [
        "`a_failure_says_what_where_and_how_to_run_it_again` fails under this schedule:",
        &format!(
            "assertion `left == right` failed: a deposit was lost: left: 1, right: 2 at {expected}, thread"
        ),
        "\nWhy: ",
        " lock balance ",
        " that do not matter are hidden (`raddle report FILE --full` shows them).",
        "seed 1",
        "replay: RADDLE_REPLAY=/",
        " cargo test a_failure_says_what_where_and_how_to_run_it_again -- --exact",
    ] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
    let Failure::Assertion { thread, location, .. } = &failed.failure else { panic!("{text}") };
    assert_eq!((&thread[..], location), ("main", &expected));
    let written = TraceFile::from_json(&std::fs::read_to_string(path(&failed)).unwrap()).unwrap();
    assert!(written.signature.is_some(), "the file is signed");
    assert_eq!(TraceFile { signature: None, ..written.clone() }, trace(&failed));
    assert_eq!((written.front_end.name(), written.seed), ("rust", 1));
    let steps = steps(&written, Terminal::of_width(120));
    for part in [
        concat!("  lock balance at ", file!()),
        concat!("  unlock balance, locked at ", file!()),
        &format!("  join thread 1 at {}:{}:13", file!(), LOST - 1),
    ] {
        assert!(steps.contains(part), "the file has all steps:\n{steps}");
    }
}

#[test]
fn a_deadlock_says_who_holds_what_and_where_it_was_taken() {
    let failed = check_with(&config("pos"), lock_order).unwrap_err();
    // Long lines are wrapped.
    let text = failed.to_string().replace("\n    ", " ");
    for part in [
        "deadlock: 2 threads wait and none can go on".to_owned(),
        "  main --locks.1--> thread 1 --locks.0--> main\n".to_owned(),
        format!("for mutex locks.0, which main took at {}:{FIRST_LOCK}:", file!()),
        format!("for mutex locks.1, which thread 1 took at {}:{}:", file!(), FIRST_LOCK - 3),
    ] {
        assert!(text.contains(&part), "`{part}` is not in:\n{text}");
    }
}

#[test]
fn a_panic_that_the_test_caught_is_reported_too() {
    let failed = check_with(&config("pos"), || {
        let child = thread::spawn(|| panic!("the cause"));
        child.join().unwrap();
    })
    .unwrap_err();
    let messages: Vec<&str> = failed.panics.iter().map(|panic| &panic.message[..]).collect();
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert_eq!(messages[0], "the cause");
    assert!(failed.to_string().contains("also in this run, thread 1 panicked at "), "{failed}");
}

#[test]
fn found_failures_replay_100_times() {
    for (test, strategy) in [
        (lost_update as fn(), "portfolio"),
        (lost_update, "pct:depth=2"),
        (lost_update, "dpor"),
        (lock_order, "pos"),
        (rarely_wrong, "random-walk"),
    ] {
        let failed = check_with(&config(strategy), test).unwrap_err();
        for _ in 0..100 {
            let again = match try_replay(test, path(&failed)) {
                Err(ReplayError::Failed(again)) => again,
                other => panic!("{strategy}: {other:?}"),
            };
            assert_eq!((&again.failure, trace(&again)), (&failed.failure, trace(&failed)));
            assert_eq!(again.panics, failed.panics);
        }
    }
}

#[test]
fn the_first_failure_is_the_same_for_any_number_of_jobs() {
    for strategy in ["portfolio", "random-walk", "pos+pct:depth=3", "upo"] {
        for seed in 1..6 {
            let config = config(strategy).with_seed(seed);
            let one = check_with(&config, rarely_wrong).unwrap_err();
            for jobs in [2, 3] {
                let many = check_with(&config.clone().with_jobs(jobs), rarely_wrong).unwrap_err();
                // This is a later check of the test, with its own file.
                let unnamed = |failed: &Failed| TraceFile {
                    program: String::new(),
                    id: String::new(),
                    ..trace(failed)
                };
                assert_eq!(unnamed(&many), unnamed(&one), "{strategy}, seed {seed}, {jobs} jobs");
                assert_eq!((many.number, &many.panics), (one.number, &one.panics));
            }
        }
    }
}

#[test]
fn a_check_that_passes_says_the_same_for_any_number_of_jobs() {
    let one = check_with(&config("portfolio").with_runs(300), correct).unwrap();
    assert_eq!(one.runs, 300);
    assert_eq!(one.threads, 2);
    assert!(one.partial_orders >= 2 && one.steps >= 7, "{one:?}");
    assert!(one.estimate.is_some_and(|estimate| estimate >= 2.0), "{one:?}");
    for jobs in [2, 3] {
        let many = config("portfolio").with_runs(300).with_jobs(jobs);
        assert_eq!(check_with(&many, correct).unwrap(), one, "{jobs} jobs");
    }
    // Half of these runs are PCT's, and those up to the longest do not count.
    let two = check_with(&config("pos+pct:depth=3").with_runs(300), correct).unwrap();
    let alone = check_with(&config("pct:depth=3").with_runs(150), correct).unwrap();
    let missed = (1.0 - 1.0 / (2.0 * (alone.steps as f64).powi(2))).powi(149);
    assert!((missed - 1e-9..1.0).contains(&two.missed(3)), "{} is below {missed}", two.missed(3));
}

#[test]
fn no_schedule_is_left_once_a_systematic_strategy_is_through() {
    let alone = check_with(&config("dpor"), correct).unwrap();
    assert!(alone.exhausted && alone.runs < 20, "{alone:?}");
    let with_pos = check_with(&config("pos+dpor"), correct).unwrap();
    assert!(with_pos.exhausted && with_pos.runs < 60, "{with_pos:?}");
    let bounded = check_with(&config("pos+preemption:bound=0").with_runs(100), correct).unwrap();
    assert!(!bounded.exhausted && bounded.runs > 50, "{bounded:?}");
}

#[test]
fn no_run_but_the_first_starts_after_the_time_budget() {
    let config = config("pos").with_runs(u64::MAX).with_time_budget(Duration::from_millis(30));
    let passed = check_with(&config, correct).unwrap();
    assert!(passed.runs > 0 && !passed.exhausted, "{passed:?}");
    let one = check_with(&config.with_time_budget(Duration::ZERO), correct).unwrap();
    assert_eq!(one.runs, 1);
}

#[test]
fn threads_left_behind_run_to_their_end_or_are_a_failure() {
    let ended = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let count = std::sync::Arc::clone(&ended);
    let leak = move || {
        let count = std::sync::Arc::clone(&count);
        thread::spawn(move || {
            thread::yield_now();
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        });
    };
    let passed = check_with(&config("pos").with_runs(50), leak.clone()).unwrap();
    assert_eq!((passed.runs, ended.load(std::sync::atomic::Ordering::Relaxed)), (50, 50));
    let strict = config("pos").with_fail_on_leaked_threads(true);
    let failed = check_with(&strict, leak.clone()).unwrap_err();
    assert!(failed.to_string().contains("left behind: thread 1"), "{failed}");
    assert!(matches!(try_replay(leak, path(&failed)), Err(ReplayError::Failed(_))));
    check_with(&strict, correct).unwrap();
}

#[test]
fn the_step_limit_is_one_of_the_settings_that_a_replay_repeats() {
    let spin = || {
        let flag = AtomicUsize::new(0);
        while flag.load(Ordering::SeqCst) == 0 {}
    };
    let failed = check_with(&config("pos").with_step_limit(50).with_patience(3), spin).unwrap_err();
    let Failure::StepLimit { limit: 50, .. } = failed.failure else { panic!("{failed}") };
    let Err(ReplayError::Failed(again)) = try_replay(spin, path(&failed)) else {
        panic!("it does not repeat")
    };
    assert_eq!(trace(&again), trace(&failed));
}

#[test]
fn a_run_that_makes_progress_up_to_the_step_limit_is_inconclusive() {
    let long = || {
        let number = AtomicUsize::new(0);
        while number.fetch_add(1, Ordering::SeqCst) < 100 {}
    };
    let short = config("pos").with_runs(5).with_step_limit(50);
    let passed = check_with(&short, long).unwrap();
    assert_eq!((passed.runs, passed.inconclusive, passed.exhausted), (5, 5, false));
    let shown = passed.shows().unwrap_or_default();
    assert!(!shown.contains("missed with probability"), "no bound holds for runs that were cut: {shown}");
    let failed = check_with(&short.with_step_limit_fails(true), long).unwrap_err();
    assert!(matches!(failed.failure, Failure::StepLimit { limit: 50, .. }), "{failed}");
    assert!(matches!(try_replay(long, path(&failed)), Err(ReplayError::Failed(_))));
}

#[test]
fn a_file_that_cannot_be_written_hides_no_failure() {
    let blocked = failures("a-file");
    std::fs::create_dir_all(blocked.parent().unwrap()).unwrap();
    std::fs::write(&blocked, "").unwrap();
    let failed = check_with(&config("pos").with_failures(&blocked), lost_update).unwrap_err();
    assert!(matches!(failed.file, FailureFile::Unwritable(_)));
    assert!(failed.to_string().contains("could not be recorded: "), "{failed}");
    let failed = check_with(&config("pos").without_failure_files(), lost_update).unwrap_err();
    assert_eq!((&failed.file, failed.replay_command()), (&FailureFile::Unwanted, None));
}

#[test]
#[should_panic(expected = "unknown strategy `psos`")]
fn a_bad_strategy_is_named() {
    let _ = check_with(&config("psos"), correct);
}

#[test]
#[should_panic(expected = "a deposit was lost")]
fn check_random_finds_as_shuttle_does() {
    raddle::shuttle::check_random_with_seed(lost_update, 7, 0);
    raddle::shuttle::check_random(correct, 100);
    raddle::shuttle::check_random(lost_update, 1_000);
}

#[test]
#[should_panic(expected = "deadlock: 2 threads wait")]
fn check_pct_finds_as_shuttle_does() {
    raddle::shuttle::check_pct(correct, 100, 2);
    raddle::shuttle::check_pct(lock_order, 1_000, 2);
}

#[test]
#[should_panic(expected = "a deposit was lost")]
fn check_dfs_finds_as_shuttle_does() {
    raddle::shuttle::check_dfs(correct, None);
    raddle::shuttle::check_dfs(lost_update, Some(1_000));
}

/// Two threads lose an update, among unrelated steps.
fn lost_among_others() {
    let balance = Arc::new(Mutex::new(0));
    let work = |balance: Arc<Mutex<i32>>| {
        move || {
            let own = AtomicUsize::new(0);
            (0..10).for_each(|_| _ = own.fetch_add(1, Ordering::SeqCst));
            let before = *balance.lock().unwrap();
            own.fetch_add(1, Ordering::SeqCst);
            *balance.lock().unwrap() = before + 1;
            (0..10).for_each(|_| _ = own.fetch_add(1, Ordering::SeqCst));
        }
    };
    let threads = [thread::spawn(work(balance.clone())), thread::spawn(work(balance.clone()))];
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(*balance.lock().unwrap(), 2, "a deposit was lost");
}

#[test]
fn a_failure_is_shown_with_few_switches() {
    let config = config("random-walk");
    let found = check_with(&config.clone().with_minimize(false), lost_among_others).unwrap_err();
    let shown = check_with(&config, lost_among_others).unwrap_err();
    assert_eq!((trace(&found).minimized, found.run), (None, shown.run));
    // To the first, to the second, back to the first, and to main, which may have to wait once more.
    assert!(trace(&found).switches() > 10 && trace(&shown).switches() <= 5, "{shown}");
    assert_eq!(trace(&shown).minimized.unwrap().switches_before, trace(&found).switches());
    assert_eq!(shown.panics, found.panics, "the panics are those of the run that is shown");
    assert!(shown.to_string().contains("\nMade smaller by "), "{shown}");
    let Err(ReplayError::Failed(again)) = try_replay(lost_among_others, path(&shown)) else { panic!() };
    assert_eq!(trace(&again), trace(&shown));
}

/// Reports show the values that atomics read and wrote, in the minimized run and in its replay.
#[test]
fn reports_show_values_of_atomics() {
    use raddle::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr};
    use std::ptr::{dangling_mut, null_mut};
    let test = || {
        let pointer = AtomicPtr::<u8>::new(null_mut());
        let shared = Arc::new((AtomicI32::new(-7), AtomicBool::new(false), AtomicUsize::new(3), pointer));
        let other = Arc::clone(&shared);
        let child = thread::spawn(move || {
            other.0.fetch_add(10, Ordering::SeqCst);
            _ = other.2.compare_exchange(9, 1, Ordering::SeqCst, Ordering::SeqCst);
            other.1.store(true, Ordering::SeqCst);
            // A pointer has no value in the report, and the value of the previous step stays.
            _ = other.3.compare_exchange(dangling_mut(), null_mut(), Ordering::SeqCst, Ordering::SeqCst);
        });
        child.join().unwrap();
        assert!(!shared.1.load(Ordering::SeqCst), "it is set");
    };
    let failed = check_with(&config("pos"), test).unwrap_err();
    let (text, report) =
        (failed.to_string(), ["update shared.0 -7 -> 3  ", "update shared.2 = 3, unchanged  "]);
    for report in report.into_iter().chain(["write shared.1 = true  ", "read shared.1 = true  "]) {
        assert!(text.contains(report), "{report}: {text}");
    }
    let recorded = TraceFile::from_json(&std::fs::read_to_string(path(&failed)).unwrap()).unwrap();
    assert_eq!(recorded.values, trace(&failed).values);
    let Err(ReplayError::Failed(again)) = try_replay(test, path(&failed)) else { panic!("it fails again") };
    assert_eq!(trace(&again).values, trace(&failed).values);
}
