//! A counter that loses updates, under raddle.

use raddle::sync::atomic::{AtomicU32, Ordering};

#[derive(Default)]
struct Counter(AtomicU32);

impl Counter {
    fn increment(&self) -> u32 {
        let value = self.0.load(Ordering::SeqCst);
        self.0.store(value + 1, Ordering::SeqCst);
        value + 1
    }
}

// From here on it is the test.
#[test]
fn counter() {
    raddle::linearizable(Counter::default)
        .operation("increment", Counter::increment)
        .operation("get", |counter| counter.0.load(Ordering::SeqCst))
        .check();
}
