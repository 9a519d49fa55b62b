//! The settings, the texts, recording and replay.

use raddle::sync::Arc;
use raddle::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use raddle::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU128, Ordering, fence};
use raddle::{Config, FailureFile, Memory, ReplayError, check_with, thread, try_replay};
use std::path::PathBuf;

fn weak() -> Config {
    Config::new().with_memory(Memory::Weak)
}

/// Message passing without release.
fn message() {
    let shared = Arc::new((AtomicU32::new(0), AtomicBool::new(false)));
    let other = Arc::clone(&shared);
    let writer = thread::spawn(move || {
        other.0.store(7, Relaxed);
        other.1.store(true, Relaxed);
    });
    if shared.1.load(Acquire) {
        assert_eq!(shared.0.load(Relaxed), 7);
    }
    writer.join().unwrap();
}

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("weak").join(name);
    _ = std::fs::remove_dir_all(&folder);
    folder
}

#[test]
fn a_failure_is_recorded_with_its_model_and_repeated_exactly() {
    let failed = check_with(&weak().with_failures(folder("message")), message).unwrap_err();
    let text = failed.to_string();
    assert!(text.contains("an old value (newest is 7, written by"), "{text}");
    assert!(text.contains("This run assumes weak memory"), "{text}");
    // The load acquires already, so that the store alone is too weak.
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains("reports.rs:19:17 is Relaxed. With Release this run passes"), "{text}");
    let files: Vec<_> = std::fs::read_dir(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("weak/message"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    let json = std::fs::read_to_string(&files[0]).unwrap();
    assert!(json.contains("\"memory\":") && json.contains("\"weak\""), "{json}");
    let again = match try_replay(message, &files[0]).unwrap_err() {
        ReplayError::Failed(again) => again.to_string(),
        other => panic!("{other}"),
    };
    assert!(again.contains("an old value (newest is 7, written by"), "{again}");
}

#[test]
fn by_default_programs_with_weak_orders_have_runs_under_weak_memory() {
    assert_eq!(Config::default().memory, Memory::Auto);
    let config = Config::new().with_failures(folder("default"));
    let failed = check_with(&config, message).unwrap_err();
    assert!(failed.strategy.starts_with("weak-memory:"), "{}", failed.strategy);
    let text = failed.to_string();
    assert!(text.contains("This run assumes weak memory"), "{text}");
    let FailureFile::At(file) = failed.file.clone() else { panic!("it is recorded") };
    assert!(std::fs::read_to_string(&file).unwrap().contains("\"weak\""));
    assert!(matches!(try_replay(message, &file), Err(ReplayError::Failed(_))));
    let right = |order: Ordering| {
        move || {
            let shared = Arc::new(AtomicU32::new(0));
            let other = Arc::clone(&shared);
            let writer = thread::spawn(move || other.store(7, order));
            shared.load(SeqCst);
            writer.join().unwrap();
        }
    };
    let passed = check_with(&Config::new(), right(Relaxed)).unwrap();
    // A quarter: half of half of the turns.
    assert!((150..350).contains(&passed.weak_runs), "{}", passed.weak_runs);
    assert!(
        passed.memory == Memory::Auto && passed.to_string().contains("runs under weak memory"),
        "{passed}"
    );
    let passed = check_with(&Config::new(), right(SeqCst)).unwrap();
    assert_eq!((passed.weak_runs, passed.memory, passed.has_weak_orders), (0, Memory::Sc, false));
    // Only the default portfolio mixes.
    let passed = check_with(&Config::new().with_strategy("pos"), right(Relaxed)).unwrap();
    assert_eq!((passed.weak_runs, passed.memory, passed.has_weak_orders), (0, Memory::Sc, true));
}

#[test]
#[rustfmt::skip]
fn accesses_after_the_old_value_do_not_hide_the_order() {
    let failed = check_with(&weak().without_failure_files(), || {
        let shared = Arc::new((AtomicU32::new(0), AtomicBool::new(false), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let writer = thread::spawn(move || {
            other.0.store(7, Relaxed);
            other.1.store(true, Relaxed);
        });
        if shared.1.load(Acquire) {
            let seen = shared.0.load(Relaxed);
            let u = &shared.2;
            // More locations than are tried.
            _ = u.load(Relaxed); _ = u.load(Relaxed); _ = u.load(Relaxed); _ = u.load(Relaxed); _ = u.load(Relaxed);
            _ = u.load(Relaxed); _ = u.load(Relaxed); _ = u.load(Relaxed); _ = u.load(Relaxed); _ = u.load(Relaxed);
            _ = u.load(Relaxed); _ = u.load(Relaxed); _ = u.load(Relaxed); _ = u.load(Relaxed); _ = u.load(Relaxed);
            _ = u.load(Relaxed); _ = u.load(Relaxed); _ = u.load(Relaxed); _ = u.load(Relaxed); _ = u.load(Relaxed);
            _ = u.load(Relaxed); _ = u.load(Relaxed); _ = u.load(Relaxed); _ = u.load(Relaxed); _ = u.load(Relaxed);
            _ = u.load(Relaxed); _ = u.load(Relaxed); _ = u.load(Relaxed); _ = u.load(Relaxed); _ = u.load(Relaxed);
            assert_eq!(seen, 7);
        }
        writer.join().unwrap();
    });
    let text = failed.unwrap_err().to_string();
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains("is Relaxed. With Release this run passes"), "{text}");
}

#[test]
fn sequential_consistency_names_what_it_leaves_out() {
    let passed = check_with(&Config::new().with_memory(Memory::Sc), message).unwrap();
    assert!(passed.has_weak_orders && passed.memory == Memory::Sc);
    let ordered = || {
        let shared = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&shared);
        let writer = thread::spawn(move || other.store(7, SeqCst));
        shared.load(SeqCst);
        fence(SeqCst);
        writer.join().unwrap();
    };
    let passed = check_with(&weak(), ordered).unwrap();
    assert!(!passed.has_weak_orders && passed.memory == Memory::Weak);
    assert!(passed.to_string().contains("under weak memory"), "{passed}");
}

#[test]
fn pointers_and_wide_integers_have_old_values_too() {
    static FIRST: u32 = 1;
    let old = |config: &Config| {
        check_with(config, || {
            let first = std::ptr::from_ref(&FIRST).cast_mut();
            let shared =
                Arc::new((AtomicPtr::new(first), AtomicU128::new(u128::MAX), AtomicBool::new(false)));
            let other = Arc::clone(&shared);
            let writer = thread::spawn(move || {
                other.0.store(std::ptr::null_mut(), Relaxed);
                other.1.store(1 << 100, Relaxed);
                other.2.store(true, Relaxed);
            });
            if shared.2.load(Relaxed) {
                let is_old = shared.0.load(Relaxed) == first && shared.1.load(Relaxed) == u128::MAX;
                assert!(!is_old, "both are old");
            }
            writer.join().unwrap();
        })
    };
    let config = weak().without_failure_files();
    assert!(old(&config).is_err());
    assert!(old(&config.with_memory(Memory::Sc)).is_ok());
}

#[test]
fn a_value_written_by_its_owner_is_the_only_one() {
    let config = weak().with_strategy("dpor").with_runs(10_000).without_failure_files();
    let passed = check_with(&config, || {
        let mut atomic = AtomicU32::new(1);
        atomic.store(2, Relaxed);
        *atomic.get_mut() = 3;
        let shared = Arc::new(atomic);
        let other = Arc::clone(&shared);
        let reader = thread::spawn(move || assert_eq!(other.load(Relaxed), 3));
        assert_eq!(shared.load(Relaxed), 3);
        reader.join().unwrap();
    });
    assert!(passed.unwrap().exhausted);
}

#[test]
fn too_many_writes_are_not_called_exhausted() {
    let config = weak().with_strategy("dpor").with_runs(100_000).without_failure_files();
    let writes = |count: u32| {
        move || {
            let shared = Arc::new(AtomicU32::new(0));
            let other = Arc::clone(&shared);
            let reader = thread::spawn(move || other.load(Relaxed));
            (1..=count).for_each(|value| shared.store(value, Relaxed));
            reader.join().unwrap();
        }
    };
    assert!(check_with(&config, writes(10)).unwrap().exhausted);
    assert!(!check_with(&config, writes(100)).unwrap().exhausted);
}

/// A value whose destructor reads what other owners wrote; only the count of `Arc` orders the two.
struct Owned {
    written: AtomicU32,
    seen: AtomicU32,
}

impl Drop for Owned {
    fn drop(&mut self) {
        let written = self.written.load(Relaxed);
        assert!(written == 1 || thread::panicking(), "the destructor reads an old value");
    }
}

#[test]
fn the_count_of_an_arc_orders_what_its_destructor_reads() {
    let owned = |is_wrong: bool| {
        move || {
            let owned = Arc::new(Owned { written: AtomicU32::new(0), seen: AtomicU32::new(0) });
            let other = Arc::clone(&owned);
            // Not joined: the last of the two owners drops the value.
            thread::spawn(move || {
                other.written.store(1, Relaxed);
                other.seen.store(1, Relaxed);
                drop(other);
            });
            if owned.seen.load(Relaxed) == 1 && is_wrong {
                assert_eq!(owned.written.load(Relaxed), 1, "the owner reads an old value");
            }
        }
    };
    for strategy in ["random-walk", "pos", "pctwm", "dpor"] {
        let config = weak().with_strategy(strategy).with_runs(2_000).without_failure_files();
        check_with(&config, owned(false)).unwrap_or_else(|failed| panic!("{strategy}: {failed}"));
        let failed = check_with(&config, owned(true)).expect_err(strategy);
        assert!(failed.to_string().contains("the owner reads an old value"), "{strategy}: {failed}");
    }
}
