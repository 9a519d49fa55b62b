//! Failures caused by Raddle itself: lost reports and aborts.

use raddle::sync::Arc;
use raddle::sync::atomic::AtomicUsize;
use raddle::sync::atomic::Ordering::Relaxed;
use raddle::{Config, Failure, check_with, rand, thread};
use std::panic::catch_unwind;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

fn config(strategy: &str) -> Config {
    Config::new().with_strategy(strategy).with_runs(20_000).without_failure_files()
}

#[test]
fn a_random_value_before_a_panic_is_reported() {
    for strategy in ["random-walk", "pct:depth=2", "pos", "dfs", "dpor"] {
        let found = check_with(&config(strategy), || {
            let number = rand::random_range(10);
            assert_ne!(number, 7, "seven");
        });
        let failed = found.expect_err("one of ten runs fails");
        assert!(matches!(&failed.failure, Failure::Assertion { message, .. } if message.contains("seven")));
        assert!(failed.to_string().contains("seven"));
    }
}

#[test]
fn a_random_value_before_a_panic_is_reported_by_shuttles_functions() {
    use raddle::shuttle::rand::{Rng, thread_rng};
    let caught = catch_unwind(|| {
        raddle::shuttle::check_random(
            || {
                let number: u64 = thread_rng().r#gen();
                assert_ne!(number % 10, 7, "seven");
            },
            1_000,
        );
    });
    let payload = caught.expect_err("one of ten runs fails");
    let text = payload.downcast_ref::<String>().expect("a text");
    assert!(text.contains("seven"), "{text}");
}

/// Records on drop whether its work was done.
struct Checked(Arc<AtomicUsize>, &'static AtomicBool);

impl Drop for Checked {
    fn drop(&mut self) {
        if self.0.load(Relaxed) != 1 {
            self.1.store(true, SeqCst);
        }
    }
}

/// Each thread writes one more than its predecessor's value; the main thread looks for the last zero. The
/// strategy prunes runs here.
fn last_zero(early: &'static AtomicBool) {
    let numbers = Arc::new([const { AtomicUsize::new(0) }; 4]);
    let threads: Vec<_> = (1..4)
        .map(|index| {
            let numbers = Arc::clone(&numbers);
            thread::spawn(move || {
                let done = Arc::new(AtomicUsize::new(0));
                let _checked = Checked(Arc::clone(&done), early);
                let before = numbers[index - 1].load(Relaxed);
                numbers[index].store(before + 1, Relaxed);
                done.store(1, Relaxed);
            })
        })
        .collect();
    _ = (0..4).rev().find(|&index| numbers[index].load(Relaxed) == 0);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn no_destructor_runs_early_where_runs_are_cut_off() {
    static EARLY: AtomicBool = AtomicBool::new(false);
    let passed = check_with(&config("dpor"), || last_zero(&EARLY));
    let passed = passed.unwrap_or_else(|failed| panic!("{failed}"));
    assert!(passed.exhausted);
    assert!(passed.cut_off > 0, "some runs are cut off");
    assert!(!EARLY.load(SeqCst), "no thread is unwound");
}
