//! Bounded memory, recording, replay, and what the front end says about the memory.

use crate::program::{Act, Atomics, config};
use Act::{Assign, Await, Load, Lock, Store, Unlock};
use raddle_engine::{Choice, Engine, Plan, Point, Replay, Rng, Strategy, run};
use raddle_model::MemoryModel;
use raddle_model::MemoryOrder::{Acquire, Relaxed, Release, SequentiallyConsistent as SeqCst};
use raddle_testkit::{Follow, once_under};

const X: u32 = 0;

/// Runs thread 0 as far as it can go, then thread 1, and takes the oldest message always.
#[derive(Clone, Debug)]
struct Oldest;

impl Strategy for Oldest {
    fn begin(&mut self, _rng: Rng) -> Plan {
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        Choice::Run(*point.enabled().iter().min().expect("a point has an enabled thread"))
    }

    fn pick(&mut self, arity: u32) -> u32 {
        arity - 1
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

fn stores(count: u128) -> Vec<Act> {
    (1..=count).map(|value| Store(X, value, Relaxed)).collect()
}

#[test]
fn old_messages_are_dropped_and_the_run_tells_if_one_was_missed() {
    let mut program = Atomics::new(&[&stores(20), &[Load(X, Relaxed)]]);
    let engine = once_under(config(MemoryModel::Weak), &mut program, &mut Oldest, 0);
    assert_eq!((&*program.read[1], engine.summary().forgot_writes), (&[0][..], false));
    // A store also goes before others here, as far back as it can, so the newest is the first.
    let mut last = Follow::new(&[]);
    let mut many = Atomics::new(&[&stores(500), &[Load(X, Relaxed)]]);
    let engine = once_under(config(MemoryModel::Weak), &mut many, &mut last, 0);
    assert_eq!((&*many.read[1], engine.summary().forgot_writes), (&[500][..], true));
    // A thread that cannot read the old values anyway misses nothing.
    let mut writer = vec![Lock];
    writer.extend(stores(500));
    writer.push(Unlock);
    let mut locked = Atomics::new(&[&writer, &[Lock, Load(X, Relaxed), Unlock]]);
    let engine = once_under(config(MemoryModel::Weak), &mut locked, &mut Oldest, 0);
    assert_eq!((&*locked.read[1], engine.summary().forgot_writes), (&[500][..], false));
}

#[test]
fn a_spin_loop_reads_the_newest_value_in_the_end() {
    let mut program = Atomics::new(&[&[Store(X, 1, Release)], &[Await(X, Acquire)]]);
    let engine = once_under(config(MemoryModel::Weak), &mut program, &mut Oldest, 0);
    assert!(engine.summary().verdict.failure().is_none());
    assert_eq!(program.read[1].len(), 64 + 1, "as many old values as the patience allows");
}

#[test]
fn a_run_is_repeated_with_its_old_values() {
    let threads: [&[Act]; 2] = [&stores(3), &[Load(X, Relaxed), Load(X, Relaxed), Load(X, Acquire)]];
    let mut program = Atomics::new(&threads);
    let mut strategy = Follow::new(&[0, 0, 0]).picking(&[3, 1, 0]);
    let mut engine = once_under(config(MemoryModel::Weak), &mut program, &mut strategy, 0);
    assert_eq!(program.read[1], [0, 2, 3]);
    let trace = engine.summary().trace.clone();
    let arities: Vec<(u32, u32)> = trace.picks.iter().map(|pick| (pick.arity, pick.value)).collect();
    assert_eq!(arities, [(4, 3), (4, 1), (2, 0)]);
    let fingerprint = engine.summary().fingerprint;
    let mut replay = Replay::new(&trace);
    run(&mut engine, &mut program, &mut replay);
    assert_eq!((program.read[1].clone(), replay.divergence()), (vec![0, 2, 3], None));
    assert_eq!((engine.summary().trace, engine.summary().fingerprint), (&trace, fingerprint));
}

#[test]
fn an_old_value_is_told_with_the_newest() {
    let mut program = Atomics::new(&[&stores(2), &[Load(X, Relaxed)]]);
    let mut strategy = Follow::new(&[0, 0]).picking(&[1]);
    let engine = once_under(config(MemoryModel::Weak), &mut program, &mut strategy, 0);
    let old = engine.old_read().expect("it read 1, and 2 was there");
    assert_eq!((old.newest, old.written.map(|(thread, step)| (thread.0, step))), (2, Some((0, 1))));
    assert_eq!(program.read[1], [1]);
}

#[test]
fn a_value_that_was_put_there_otherwise_is_the_only_one() {
    let threads: [&[Act]; 2] = [&[Store(X, 1, Relaxed)], &[Assign(X, 7), Load(X, Relaxed)]];
    let mut program = Atomics::new(&threads);
    let engine = once_under(config(MemoryModel::Weak), &mut program, &mut Oldest, 0);
    assert_eq!((&*program.read[1], engine.summary().trace.picks.len()), (&[7][..], 0));
}

#[test]
fn the_order_of_sequentially_consistent_operations_is_an_object_of_weak_memory_only() {
    for (memory, objects) in [(MemoryModel::Sc, 4), (MemoryModel::Weak, 5)] {
        let mut program = Atomics::new(&[&[Store(X, 1, SeqCst), Act::Fence(SeqCst)]]);
        let engine: Engine = once_under(config(memory), &mut program, &mut Oldest, 0);
        assert_eq!(engine.summary().object_count(), objects);
        let events = &engine.summary().trace.events;
        let order = engine.sequential_order();
        assert_eq!(order.is_some(), memory == MemoryModel::Weak);
        let touches = |index: usize| events[index].operation.objects().last();
        assert!(
            order.is_none_or(|order| touches(0) == Some((order, false)) && touches(1) == Some((order, true)))
        );
    }
}
