//! Thread-local variables.

use raddle::sync::atomic::{AtomicUsize, Ordering};
use raddle::sync::{Arc, Mutex};
use raddle::{Config, Failure, check_with, thread};
use std::cell::{Cell, RefCell};

fn config(strategy: &str, runs: u64) -> Config {
    let mut config = Config::default();
    config.strategy = strategy.to_owned();
    config.runs = runs;
    config
}

fn all(test: impl Fn() + Send + Sync + 'static) {
    assert!(check_with(&config("dpor", 10_000), test).unwrap().exhausted);
}

raddle::thread_local! {
    static NUMBER: Cell<u32> = const { Cell::new(7) };
    /// Private to this file.
    pub(crate) static TEXT: RefCell<String> = RefCell::new(String::from("first"));
}

#[test]
fn each_thread_and_each_run_has_its_own() {
    all(|| {
        let shared = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&shared);
        assert_eq!(NUMBER.get(), 7);
        NUMBER.set(8);
        let child = thread::spawn(move || {
            assert_eq!(NUMBER.replace(9), 7);
            other.fetch_add(1, Ordering::SeqCst);
            assert_eq!(NUMBER.get(), 9);
        });
        shared.fetch_add(1, Ordering::SeqCst);
        assert_eq!(NUMBER.take(), 8);
        child.join().unwrap();
        assert_eq!(NUMBER.get(), 0);
    });
}

#[test]
fn the_methods_for_cells_are_there() {
    all(|| {
        TEXT.with_borrow(|text| assert_eq!(text, "first"));
        TEXT.with_borrow_mut(|text| text.push('!'));
        assert_eq!(TEXT.replace("other".to_owned()), "first!");
        assert_eq!(TEXT.take(), "other");
        TEXT.set("last".to_owned());
        assert_eq!(TEXT.with(|text| text.borrow().len()), 4);
        assert_eq!(TEXT.try_with(|text| text.borrow().len()), Ok(4));
    });
}

#[test]
fn setting_does_not_need_a_first_value() {
    raddle::thread_local!(static NEVER: Cell<u32> = panic!("set up"));
    all(|| {
        NEVER.set(3);
        assert_eq!(NEVER.get(), 3);
    });
}

/// Records its drop, under the lock that it shares.
struct Last(Arc<Mutex<Vec<&'static str>>>, &'static str);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(self.1);
        assert!(OLDER.try_with(|_| ()).is_err() || self.1 == "younger");
    }
}

raddle::thread_local! {
    static OLDER: RefCell<Option<Last>> = RefCell::new(None);
    static YOUNGER: RefCell<Option<Last>> = RefCell::new(None);
}

#[test]
fn values_are_dropped_at_the_end_of_the_thread_and_under_control() {
    let orders = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let notes = std::sync::Arc::clone(&orders);
    all(move || {
        let log = Arc::new(Mutex::new(Vec::new()));
        let other = Arc::clone(&log);
        let child = thread::spawn(move || {
            OLDER.set(Some(Last(Arc::clone(&other), "older")));
            YOUNGER.set(Some(Last(other, "younger")));
        });
        log.lock().unwrap().push("main");
        child.join().unwrap();
        let log = log.lock().unwrap();
        assert_eq!(log.len(), 3, "a join comes after the drops");
        notes.lock().unwrap().insert(log.clone());
    });
    let orders = orders.lock().unwrap();
    assert_eq!(orders.len(), 3, "drops are interleaved with other threads: {orders:?}");
    assert!(
        orders
            .iter()
            .all(|log| log.iter().position(|n| *n == "younger") < log.iter().position(|n| *n == "older"))
    );
}

#[test]
fn values_are_dropped_when_the_run_fails() {
    struct Owned(std::sync::Arc<()>, AtomicUsize);
    impl Drop for Owned {
        fn drop(&mut self) {
            // Works only during the run.
            self.1.fetch_add(std::sync::Arc::strong_count(&self.0), Ordering::SeqCst);
        }
    }
    raddle::thread_local!(static OWNED: RefCell<Option<Owned>> = RefCell::new(None));
    let alive = std::sync::Arc::new(());
    let owned = std::sync::Arc::clone(&alive);
    let failed = check_with(&config("dfs", 10), move || {
        let mine = Owned(std::sync::Arc::clone(&owned), AtomicUsize::new(0));
        let other = Owned(std::sync::Arc::clone(&owned), AtomicUsize::new(0));
        OWNED.set(Some(mine));
        thread::spawn(move || {
            OWNED.set(Some(other));
            thread::park();
        });
        thread::park();
    });
    let failed = failed.unwrap_err();
    assert!(matches!(failed.failure, Failure::Deadlock { .. }), "{failed}");
    assert_eq!(std::sync::Arc::strong_count(&alive), 1);
}

#[test]
fn a_panic_while_a_value_is_dropped_fails_the_run() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    raddle::thread_local!(static BOMB: Bomb = Bomb);
    let failed = check_with(&config("dfs", 10), || {
        thread::spawn(|| BOMB.with(|_| ())).join().unwrap();
    });
    let failed = failed.unwrap_err();
    assert!(
        matches!(&failed.failure, Failure::Assertion { message, .. } if message == "dropped"),
        "{failed}"
    );
}
