//! Failures that were Raddle's own: lost reports and aborts.

use raddle::sync::Arc;
use raddle::sync::atomic::AtomicUsize;
use raddle::sync::atomic::Ordering::Relaxed;
use raddle::{Config, Failure, check_with, rand, thread};
use std::panic::catch_unwind;

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

/// Checks when it is dropped that its work was done.
struct Checked<'a>(&'a AtomicUsize);

impl Drop for Checked<'_> {
    fn drop(&mut self) {
        assert_eq!(self.0.load(Relaxed), 2, "the work is done");
    }
}

#[test]
fn a_run_that_is_cut_off_runs_no_destructor_early() {
    let passed = check_with(&config("dpor"), || {
        let shared = Arc::new([const { AtomicUsize::new(0) }; 3]);
        let threads: Vec<_> = (0..3)
            .map(|index| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let done = AtomicUsize::new(0);
                    let _checked = Checked(&done);
                    done.store(1, Relaxed);
                    shared[index].store(1, Relaxed);
                    _ = shared[(index + 1) % 3].load(Relaxed);
                    done.store(2, Relaxed);
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    let passed = passed.unwrap_or_else(|failed| panic!("{failed}"));
    assert!(passed.exhausted);
}
