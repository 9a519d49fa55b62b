//! A counter that loses updates, under the crate lincheck.

use lincheck::{ConcurrentSpec, Lincheck, SequentialSpec};
use loom::sync::atomic::{AtomicU32, Ordering};
use proptest::prelude::*;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Increment,
    Get,
}

impl Arbitrary for Op {
    type Parameters = ();
    type Strategy = BoxedStrategy<Self>;

    fn arbitrary_with((): ()) -> BoxedStrategy<Op> {
        prop_oneof![Just(Op::Increment), Just(Op::Get)].boxed()
    }
}

#[derive(Default)]
struct Model(u32);

impl SequentialSpec for Model {
    type Op = Op;
    type Ret = u32;

    fn exec(&mut self, op: Op) -> u32 {
        self.0 += u32::from(matches!(op, Op::Increment));
        self.0
    }
}

impl ConcurrentSpec for Counter {
    type Seq = Model;

    fn exec(&self, op: Op) -> u32 {
        match op {
            Op::Increment => self.increment(),
            Op::Get => self.0.load(Ordering::SeqCst),
        }
    }
}

#[test]
fn counter() {
    Lincheck { num_threads: 2, num_ops: 5 }.verify_or_panic::<Counter>();
}
