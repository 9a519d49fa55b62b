//! Two runs have equal fingerprints if and only if they are equivalent, over every schedule of many small
//! programs.
//!
//! Equivalence is computed here from first principles: each thread did the same things with the same outcome,
//! and every two events that touch a common object, which one of them writes, came in the same order.

use raddle_engine::{Config, Engine, Reply, Resource, Rng, RunSummary, Timeouts};
use raddle_model::{Event, Kind, Name, ThreadId};
use raddle_testkit::Act::{Bare, JoinFor, On, R, Spawn, W, Wait, WaitFor, With};
use raddle_testkit::{
    Act, Script, affordable_searches, every_schedule, is_thorough, locked, spawning, straight,
};
use std::collections::{BTreeMap, BTreeSet};

/// An event: its thread and the number of earlier events of that thread.
type Label = (Name, usize);

/// The operations of a thread with their locations, and the replies.
type Doings = (Vec<(Kind, u32)>, Vec<String>);

#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Class {
    /// The operations of each thread, and the replies.
    threads: BTreeMap<Name, Doings>,
    /// The ordered pairs of dependent events of different threads.
    order: BTreeSet<(Label, Label)>,
    /// The waiter that each signal chose.
    signals: BTreeMap<Label, u32>,
}

fn touches(run: &RunSummary<'_>, event: &Event) -> Vec<(Name, bool)> {
    event.operation.objects().map(|(object, writes)| (run.object_name(object), writes)).collect()
}

fn class(run: &RunSummary<'_>, replies: &[(ThreadId, Reply)]) -> Class {
    let mut threads: BTreeMap<Name, Doings> = BTreeMap::new();
    let mut labels: Vec<Label> = Vec::new();
    for event in &run.trace.events {
        let entry = threads.entry(run.thread_name(event.thread)).or_default();
        labels.push((run.thread_name(event.thread), entry.0.len()));
        entry.0.push((event.operation.kind, event.operation.location.0));
    }
    for &(thread, reply) in replies {
        // The number of a new thread is not an outcome: it differs between equivalent runs.
        let text = if let Reply::Spawned(_) = reply { "spawned".to_owned() } else { format!("{reply:?}") };
        threads.entry(run.thread_name(thread)).or_default().1.push(text);
    }
    let mut order = BTreeSet::new();
    let touched: Vec<Vec<(Name, bool)>> = run.trace.events.iter().map(|event| touches(run, event)).collect();
    for (later, event) in run.trace.events.iter().enumerate() {
        for (earlier, other) in run.trace.events[..later].iter().enumerate() {
            let meet = touched[later].iter().any(|&(object, writes)| {
                touched[earlier].iter().any(|&(same, also)| same == object && (writes || also))
            });
            if meet && other.thread != event.thread {
                order.insert((labels[earlier], labels[later]));
            }
        }
    }
    let picks = run.trace.picks.iter().map(|pick| (pick.step as usize, pick.value));
    let signals = picks.filter(|&(step, _)| run.trace.events[step].operation.kind == Kind::Signal);
    Class { threads, order, signals: signals.map(|(step, value)| (labels[step], value)).collect() }
}

/// Runs every schedule and asserts that classes and fingerprints correspond one to one. Returns the numbers
/// of schedules and classes.
fn assert_one_to_one(config: Config, program: &mut Script) -> (usize, usize) {
    let mut print_of: BTreeMap<Class, u64> = BTreeMap::new();
    let mut prints: BTreeSet<u64> = BTreeSet::new();
    let text = format!("{program:?}");
    let look = |program: &Script, engine: &Engine| {
        let run = engine.summary();
        let class = class(&run, &program.replies);
        match print_of.get(&class) {
            Some(&print) => {
                assert_eq!(print, run.fingerprint, "one class, two fingerprints: {text} {class:#?}");
            }
            None => {
                assert!(prints.insert(run.fingerprint), "two classes, one fingerprint: {text} {class:#?}");
                print_of.insert(class, run.fingerprint);
            }
        }
    };
    let runs = every_schedule(config, program, look);
    (runs, prints.len())
}

fn anytime() -> Config {
    let mut config = Config::default();
    config.timeouts = Timeouts::Anytime;
    config
}

#[test]
fn straight_line_programs() {
    let (mut runs, mut classes) = (0, 0);
    for seed in 0..affordable_searches(300) {
        let mut rng = Rng::for_run(seed, 1);
        let mut program = if seed % 2 == 0 { straight(&mut rng, 3, 3) } else { straight(&mut rng, 2, 5) };
        let (more_runs, more_classes) = assert_one_to_one(Config::default(), &mut program);
        runs += more_runs;
        classes += more_classes;
    }
    assert!(!is_thorough() || runs > 2 * classes && classes > 1_000, "{runs} runs, {classes} classes");
}

#[test]
fn programs_with_locks() {
    let (mut runs, mut classes) = (0, 0);
    for seed in 0..affordable_searches(150) {
        let (more_runs, more_classes) =
            assert_one_to_one(Config::default(), &mut locked(&mut Rng::for_run(seed, 2), 3));
        runs += more_runs;
        classes += more_classes;
    }
    assert!(!is_thorough() || runs > 2 * classes && classes > 1_000, "{runs} runs, {classes} classes");
}

#[test]
fn threads_spawned_in_any_order() {
    let (mut runs, mut classes) = (0, 0);
    for seed in 0..affordable_searches(60) {
        let (more_runs, more_classes) =
            assert_one_to_one(Config::default(), &mut spawning(&mut Rng::for_run(seed, 3)));
        runs += more_runs;
        classes += more_classes;
    }
    assert!(!is_thorough() || runs > 2 * classes && classes > 300, "{runs} runs, {classes} classes");
}

#[test]
fn known_counts() {
    // Store buffering: six interleavings, but only three possible orders of conflicting accesses.
    assert_eq!(assert_one_to_one(Config::default(), &mut Script::straight(2, &["W0 R1", "W1 R0"])), (6, 3));
    assert_eq!(assert_one_to_one(Config::default(), &mut Script::straight(3, &["W0 W0", "W1 W1"])), (6, 1));
    assert_eq!(assert_one_to_one(Config::default(), &mut Script::straight(1, &["R0", "R0", "W0"])), (6, 4));
    assert_eq!(assert_one_to_one(Config::default(), &mut Script::straight(1, &["W0", "W0", "W0"])), (6, 6));
}

#[test]
fn choices_are_part_of_a_run() {
    let choose = Bare(Kind::Choose, 3);
    let mut program = Script::new().object(Resource::Memory).thread(&[choose, W(0)]).thread(&[choose, R(0)]);
    assert_eq!(assert_one_to_one(Config::default(), &mut program), (6 * 9, 2 * 9));
}

#[test]
fn condition_variables() {
    let (lock, unlock, signal) = (On(Kind::Lock, 0), On(Kind::Unlock, 0), On(Kind::Signal, 1));
    let waits = [WaitFor(1, 0, 10), Wait(1, 0)];
    for wait in waits.into_iter().take(affordable_searches(2) as usize) {
        for config in [Config::default(), anytime()] {
            let mut program = Script::new()
                .mutex()
                .object(Resource::condition())
                .thread(&[lock, wait, unlock])
                .thread(&[lock, Wait(1, 0), unlock])
                .thread(&[signal, signal]);
            let (runs, classes) = assert_one_to_one(config, &mut program);
            assert!(runs > classes && classes > 10, "{runs} runs, {classes} classes");
        }
    }
}

#[test]
fn the_second_object_of_an_operation_counts() {
    // Each waiter has a mutex of its own, so only the condition variable, touched second, orders the ends of the waits.
    let waiter = |mutex| [On(Kind::Lock, mutex), WaitFor(2, mutex, 10)];
    let mut program =
        Script::new().mutex().mutex().object(Resource::condition()).thread(&waiter(0)).thread(&waiter(1));
    let (_, classes) = assert_one_to_one(Config::default(), &mut program);
    assert_eq!(classes, 4, "either may begin to wait first, and either may end first");
}

#[test]
fn semaphores_read_write_locks_and_once() {
    let mut program = Script::new()
        .object(Resource::semaphore(1))
        .object(Resource::read_write_lock())
        .object(Resource::once())
        .thread(&[On(Kind::SemaphoreWait, 0), On(Kind::ReadLock, 1), On(Kind::ReadWriteUnlock, 1)])
        .thread(&[On(Kind::ReadLock, 1), On(Kind::SemaphoreTryWait, 0), On(Kind::ReadWriteUnlock, 1)])
        .thread(&[Act::Once(2), On(Kind::SemaphorePost, 0), On(Kind::OnceEnd, 2)]);
    let (runs, classes) = assert_one_to_one(Config::default(), &mut program);
    assert!(!is_thorough() || runs > classes && classes > 10, "{runs} runs, {classes} classes");
}

#[test]
fn the_order_of_arrival_at_a_barrier_is_not_in_the_fingerprint() {
    for serial in [0, 1] {
        let arrive = With(Kind::Barrier, 0, serial);
        let mut program = Script::new()
            .object(Resource::barrier(2))
            .object(Resource::Memory)
            .thread(&[arrive, W(1)])
            .thread(&[arrive, W(1)]);
        let orders_of_writes = 2;
        let (runs, classes) = assert_one_to_one(Config::default(), &mut program);
        let serials = 1 + serial as usize;
        assert_eq!((runs, classes), (2 * serials * orders_of_writes, serials * orders_of_writes));
    }
}

#[test]
fn the_serial_thread_of_a_barrier_is_identified_by_name() {
    let arrive = With(Kind::Barrier, 0, 1);
    let mut program = Script::new()
        .object(Resource::barrier(2))
        .thread(&[Spawn(2)])
        .thread(&[Spawn(3)])
        .spawned(&[arrive])
        .spawned(&[arrive, Act::Step]);
    assert_eq!(assert_one_to_one(Config::default(), &mut program).1, 2);
}

#[test]
fn timed_waits() {
    let unlock = On(Kind::Unlock, 0);
    let mut program = Script::new()
        .mutex()
        .object(Resource::semaphore(0))
        .thread(&[With(Kind::Lock, 0, 5), With(Kind::SemaphoreWait, 1, 5)])
        .thread(&[On(Kind::Lock, 0), Bare(Kind::Sleep, 5), unlock, On(Kind::SemaphorePost, 1)]);
    for config in [Config::default(), anytime()] {
        let (runs, classes) = assert_one_to_one(config, &mut program);
        assert!(runs > classes && classes > 2, "{runs} runs, {classes} classes");
    }
}

#[test]
fn a_join_that_timed_out_differs_from_one_that_succeeded() {
    let mut program = Script::new().thread(&[Spawn(1), JoinFor(1, 5)]).spawned(&[Act::Step, Act::Step]);
    assert_eq!(assert_one_to_one(anytime(), &mut program), (3, 2));
}

#[test]
fn an_exit_differs_from_its_absence() {
    let mut program = Script::straight(2, &["W0 W0"]).thread(&[W(1), Bare(Kind::Exit, 0)]);
    let (runs, classes) = assert_one_to_one(Config::default(), &mut program);
    // The exit comes after none, one or both writes of the other thread.
    assert_eq!((runs, classes), (6, 3));
}
