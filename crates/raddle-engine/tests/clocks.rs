//! Vector clocks against a happens-before relation computed by brute force.

use raddle_engine::{Clocks, Config, Engine, Reply, Resource, Rng, RunSummary, Timeouts, conflicts};
use raddle_model::{Event, Kind, Name, ThreadId};
use raddle_testkit::Act::{Bare, Join, JoinFor, On, R, Spawn, W, Wait, WaitFor};
use raddle_testkit::{
    Act, Follow, Script, Walk, affordable, affordable_searches, every_schedule, is_thorough, locked, mixed,
    once_under, spawning, straight,
};
use std::collections::{BTreeMap, BTreeSet};

/// Number of threads that open the barriers of these programs.
const NEEDED: usize = 2;

/// A reflexive relation between events, as one row of earlier events per event.
struct Before {
    /// The events that each event is ordered after, and the event itself.
    at: Vec<BTreeSet<usize>>,
    /// The same, without what the event itself learns from objects and from a thread that it joins.
    known: Vec<BTreeSet<usize>>,
}

fn meet(a: &Event, b: &Event) -> bool {
    let ends = a.operation.kind == Kind::Exit || b.operation.kind == Kind::Exit;
    ends || a
        .operation
        .objects()
        .any(|(x, writes)| b.operation.objects().any(|(y, also)| x == y && (writes || also)))
}

fn is_memory(event: &Event) -> bool {
    matches!(event.operation.kind, Kind::Read | Kind::Write | Kind::ReadModifyWrite)
}

/// Computes the order of events, edge by edge; `plain` if memory accesses order events.
fn before(run: &RunSummary<'_>, replies: &[(ThreadId, Reply)], plain: bool) -> Before {
    let events = &run.trace.events;
    // Waits for a signal: condition variable, waiter.
    let mut queues: BTreeMap<u32, Vec<ThreadId>> = BTreeMap::new();
    let mut woken_by: BTreeMap<ThreadId, Vec<usize>> = BTreeMap::new();
    // Number of events, from the first on, that a thread knows because the virtual clock moved.
    let mut passed: BTreeMap<ThreadId, usize> = BTreeMap::new();
    let mut round: Vec<usize> = Vec::new();
    let mut last: BTreeMap<ThreadId, usize> = BTreeMap::new();
    let mut children = run.trace.parents.iter().filter(|parent| parent.is_none()).count() as u32;
    let mut acquired: BTreeMap<ThreadId, usize> = BTreeMap::new();
    let mut result = Before { at: Vec::new(), known: Vec::new() };
    for (index, event) in events.iter().enumerate() {
        let thread = event.thread;
        let mut known: BTreeSet<usize> = BTreeSet::new();
        let past = last.insert(thread, index).into_iter().chain(woken_by.remove(&thread).unwrap_or_default());
        for earlier in past {
            known.extend(&result.at[earlier]);
        }
        known.extend(0..passed.get(&thread).copied().unwrap_or(0));
        // When the clock has moved, whatever a thread does after its next step is ordered after everything
        // before. The next step itself was announced before the clock moved.
        let tick = run.ticks().iter().filter(|tick| plain && **tick as usize <= index).max();
        let tick = tick.map_or(0, |&tick| tick as usize);
        passed.insert(thread, tick);
        let mut at = known.clone();
        for (earlier, other) in events[..index].iter().enumerate() {
            let ends = event.operation.kind == Kind::Exit && !plain;
            if meet(event, other) && !ends && (plain || (!is_memory(event) && !is_memory(other))) {
                at.extend(&result.at[earlier]);
            }
        }
        let reply = {
            // A wait is two events and one reply, which the second one gets.
            let nth = acquired.entry(thread).or_default();
            let reply = replies.iter().filter(|reply| reply.0 == thread).nth(*nth).map(|reply| reply.1);
            *nth += usize::from(event.operation.kind != Kind::ConditionWait);
            reply
        };
        if event.operation.kind == Kind::Join && reply == Some(Reply::Acquired) {
            let object = run.object_name(event.operation.object().expect("a join names a thread"));
            let of = |&target: &ThreadId| run.thread_name(target).child(u64::MAX) == object;
            let target = (0..run.thread_count() as u32).map(ThreadId).find(of).expect("it exists");
            if let Some(&end) = last.get(&target) {
                at.extend(&result.at[end]);
            }
        }
        at.insert(index);
        result.known.push(known);
        result.at.push(at);
        let object = event.operation.object().map(|object| object.0);
        match (event.operation.kind, object) {
            (Kind::Spawn, _) => {
                woken_by.entry(ThreadId(children)).or_default().push(index);
                children += 1;
            }
            (Kind::ConditionWait, Some(condition)) => queues.entry(condition).or_default().push(thread),
            (Kind::Signal, Some(condition)) => {
                let queue = queues.entry(condition).or_default();
                let pick = run.trace.picks.iter().find(|pick| pick.step as usize == index);
                if !queue.is_empty() {
                    let woken = queue.remove(pick.map_or(0, |pick| pick.value as usize));
                    woken_by.entry(woken).or_default().push(index);
                    passed.insert(woken, tick);
                }
            }
            (Kind::Broadcast, Some(condition)) => {
                for woken in queues.remove(&condition).unwrap_or_default() {
                    woken_by.entry(woken).or_default().push(index);
                    passed.insert(woken, tick);
                }
            }
            (Kind::Barrier, _) => {
                round.push(index);
                if round.len() == NEEDED {
                    for &arrival in &round {
                        woken_by.entry(events[arrival].thread).or_default().extend(&round);
                        passed.insert(events[arrival].thread, tick);
                    }
                    round.clear();
                }
            }
            _ => {}
        }
    }
    result
}

/// Asserts that clocks and brute force agree on every pair of events. Returns the number of ordered pairs of
/// different threads.
fn assert_agree(run: &RunSummary<'_>, replies: &[(ThreadId, Reply)], plain: bool) -> usize {
    let clocks = if plain { Clocks::partial_order(run) } else { Clocks::synchronisation(run) };
    let brute = before(run, replies, plain);
    let events = &run.trace.events;
    let mut ordered = 0;
    for later in 0..events.len() {
        let mut nth: BTreeMap<ThreadId, u32> = BTreeMap::new();
        for (earlier, event) in events.iter().enumerate() {
            let nth = nth.entry(event.thread).or_default();
            *nth += 1;
            let (at, known) = (brute.at[later].contains(&earlier), brute.known[later].contains(&earlier));
            let place =
                || format!("{earlier} {later} of {:#?}", events.iter().map(short).collect::<Vec<_>>());
            assert_eq!(clocks.ordered(event.thread, *nth, later), at, "ordered: {}", place());
            assert_eq!(clocks.known_before(event.thread, *nth, later), known, "known: {}", place());
            ordered += usize::from(at && event.thread != events[later].thread);
        }
        let total: u32 = clocks.of(later).iter().sum();
        assert_eq!(total as usize, brute.at[later].len());
    }
    ordered
}

fn short(event: &Event) -> (u32, Kind, Option<u32>) {
    (event.thread.0, event.operation.kind, event.operation.object().map(|object| object.0))
}

#[test]
fn the_partial_order_of_random_runs() {
    let mut ordered = 0;
    let mut kinds: BTreeMap<Kind, usize> = BTreeMap::new();
    for seed in 0..affordable(600) {
        let mut program = match seed % 4 {
            0 => straight(&mut Rng::for_run(seed, 4), 3, 5),
            1 => locked(&mut Rng::for_run(seed, 4), 4),
            2 => spawning(&mut Rng::for_run(seed, 4)),
            _ => mixed(&mut Rng::for_run(seed, 4)),
        };
        let engine = once_under(Config::default(), &mut program, &mut Walk::default(), seed);
        let run = engine.summary();
        ordered += assert_agree(&run, &program.replies, true);
        ordered += assert_agree(&run, &program.replies, false);
        for event in &run.trace.events {
            *kinds.entry(event.operation.kind).or_default() += 1;
        }
    }
    if !is_thorough() {
        return;
    }
    assert!(ordered > 5_000, "{ordered}");
    for kind in
        [Kind::Spawn, Kind::Join, Kind::ConditionReacquire, Kind::Barrier, Kind::Signal, Kind::OnceEnd]
    {
        assert!(kinds.get(&kind).is_some_and(|&count| count > 20), "too few of {kind:?}: {kinds:?}");
    }
}

fn run_and_agree(config: Config, mut program: Script, order: &[u32]) -> (Script, Engine) {
    let engine = once_under(config, &mut program, &mut Follow::new(order), 0);
    for plain in [true, false] {
        assert_agree(&engine.summary(), &program.replies, plain);
    }
    (program, engine)
}

#[test]
fn synchronisation_does_not_order_plain_accesses() {
    let (_, engine) = run_and_agree(Config::default(), Script::straight(1, &["W0", "W0"]), &[0, 1]);
    let run = engine.summary();
    assert!(Clocks::partial_order(&run).ordered(ThreadId(0), 1, 1));
    assert!(!Clocks::synchronisation(&run).ordered(ThreadId(0), 1, 1));
    let section = [On(Kind::Lock, 1), W(0), On(Kind::Unlock, 1)];
    let program = Script::straight(1, &[]).mutex().thread(&section).thread(&section);
    let (_, engine) = run_and_agree(Config::default(), program, &[0, 0, 0, 1, 1, 1]);
    assert!(Clocks::synchronisation(&engine.summary()).ordered(ThreadId(0), 2, 4), "a mutex does");
}

#[test]
fn a_destroyed_barrier_keeps_its_order() {
    let mut program = Script::new()
        .object(Resource::Memory)
        .object(Resource::barrier(2))
        .thread(&[W(0), On(Kind::Barrier, 1)])
        .thread(&[On(Kind::Barrier, 1), W(0), On(Kind::Destroy, 1)]);
    every_schedule(Config::default(), &mut program, |program, engine| {
        let run = engine.summary();
        assert_agree(&run, &program.replies, true);
        assert_agree(&run, &program.replies, false);
        let access = run.trace.events.iter().position(|event| short(event) == (1, Kind::Write, Some(0)));
        let access = access.expect("thread 1 writes");
        assert!(Clocks::synchronisation(&run).ordered(ThreadId(0), 1, access));
    });
}

#[test]
fn a_join_that_timed_out_orders_nothing() {
    let mut config = Config::default();
    config.timeouts = Timeouts::Anytime;
    let program = || {
        Script::new().object(Resource::Memory).thread(&[Spawn(1), JoinFor(1, 5), W(0)]).spawned(&[W(0), R(0)])
    };
    let (program_late, engine) = run_and_agree(config, program(), &[0, 1, 0, 0, 1]);
    assert_eq!(program_late.replies_of(0)[1], Reply::TimedOut);
    assert!(!Clocks::synchronisation(&engine.summary()).ordered(ThreadId(1), 1, 3), "this is a data race");
    let (_, engine) = run_and_agree(config, program(), &[0, 1, 1, 0, 0]);
    assert!(Clocks::synchronisation(&engine.summary()).ordered(ThreadId(1), 1, 4));
}

#[test]
fn a_signal_precedes_only_the_waiter_it_woke() {
    // Thread 0 times out and has not taken the mutex back when the signal wakes thread 1.
    let mut program = Script::new()
        .mutex()
        .object(Resource::condition())
        .thread(&[On(Kind::Lock, 0), WaitFor(1, 0, 10), On(Kind::Unlock, 0)])
        .thread(&[On(Kind::Lock, 0), Wait(1, 0), On(Kind::Unlock, 0)])
        .thread(&[Bare(Kind::Sleep, 10), Act::Step, On(Kind::Signal, 1)]);
    let mut late = 0;
    every_schedule(Config::default(), &mut program, |_, engine| {
        let run = engine.summary();
        let clocks = Clocks::synchronisation(&run);
        let back = |thread| {
            run.trace.events.iter().position(|e| short(e) == (thread, Kind::ConditionReacquire, Some(0)))
        };
        let (timed, untimed) = (back(0).expect("it ends"), back(1).expect("it ends"));
        assert!(clocks.known_before(ThreadId(2), 3, untimed), "it was woken");
        assert!(!clocks.known_before(ThreadId(2), 3, timed), "it was not woken");
        late += usize::from(timed > untimed);
    });
    assert!(late > 0);
}

#[test]
fn an_exit_comes_after_everything() {
    let program = Script::straight(2, &["W0 W0", "W1"]).thread(&[Act::Step, Bare(Kind::Exit, 0)]);
    let (_, engine) = run_and_agree(Config::default(), program, &[0, 1, 2, 2]);
    assert_eq!(Clocks::partial_order(&engine.summary()).of(3), [1, 1, 2]);
    assert_eq!(Clocks::synchronisation(&engine.summary()).of(3), [0, 0, 2]);
}

/// An event: the name of its thread and the number of earlier events of that thread.
type Label = (Name, usize);

/// Two events, in their order.
type Pair = (Label, Label);

fn labels(run: &RunSummary<'_>) -> Vec<Label> {
    let mut counts: BTreeMap<Name, usize> = BTreeMap::new();
    let names = run.trace.events.iter().map(|event| run.thread_name(event.thread));
    let count = |name| {
        let count = counts.entry(name).or_default();
        *count += 1;
        (name, *count)
    };
    names.map(count).collect()
}

/// Compares the conflicts of every run with the pairs of dependent events that occur in both orders in some
/// schedules. Returns the number of conflicts found, and the number of pairs that can be reversed although
/// they are not conflicts.
fn compare_conflicts(program: &mut Script) -> (usize, usize) {
    let mut orders: BTreeSet<Pair> = BTreeSet::new();
    let mut runs: Vec<(Vec<Pair>, BTreeSet<Pair>)> = Vec::new();
    every_schedule(Config::default(), program, |program, engine| {
        let run = engine.summary();
        let labels = labels(&run);
        let events = &run.trace.events;
        let pairs = (0..events.len()).flat_map(|later| (0..later).map(move |earlier| (earlier, later)));
        let dependent =
            pairs.filter(|&(a, b)| events[a].thread != events[b].thread && meet(&events[a], &events[b]));
        let dependent: Vec<(usize, usize)> = dependent.collect();
        let name = |&(a, b): &(usize, usize)| (labels[a], labels[b]);
        orders.extend(dependent.iter().map(name));
        let mut found = Vec::new();
        conflicts(&run, |a, b| found.push((a, b)));
        let once: BTreeSet<(usize, usize)> = found.iter().copied().collect();
        assert_eq!(once.len(), found.len(), "each conflict is found once");
        let brute = before(&run, &program.replies, false);
        let expected = dependent.iter().filter(|&&(a, b)| !brute.known[b].contains(&a)).copied();
        assert_eq!(once, expected.collect(), "{:?}", events.iter().map(short).collect::<Vec<_>>());
        runs.push((dependent.iter().map(name).collect(), once.iter().map(name).collect()));
    });
    let (mut conflicts, mut others) = (0, 0);
    for (dependent, found) in runs {
        for (a, b) in dependent {
            let reversible = orders.contains(&(b, a));
            assert!(
                reversible || !found.contains(&(a, b)) || !is_thorough(),
                "{a:?} {b:?} of {program:?} never come in the other order"
            );
            conflicts += usize::from(found.contains(&(a, b)));
            others += usize::from(reversible && !found.contains(&(a, b)));
        }
    }
    (conflicts, others)
}

#[test]
fn conflicts_are_the_dependent_pairs_that_can_be_reversed() {
    let mut found = 0;
    for seed in 0..affordable_searches(60) {
        for mut program in [straight(&mut Rng::for_run(seed, 5), 3, 2), spawning(&mut Rng::for_run(seed, 5))]
        {
            let (conflicts, missed) = compare_conflicts(&mut program);
            assert_eq!(missed, 0, "{program:?}");
            found += conflicts;
        }
    }
    assert!(!is_thorough() || found > 1_000);
}

#[test]
fn conflicts_of_programs_with_locks_can_be_reversed() {
    // Whole critical sections can be reversed as well, so some pairs inside them are not conflicts of their
    // own.
    let threads = if is_thorough() { 3 } else { 2 };
    let program = |seed| locked(&mut Rng::for_run(seed, 6), threads);
    let found: usize = (0..affordable_searches(40)).map(|seed| compare_conflicts(&mut program(seed)).0).sum();
    assert!(!is_thorough() || found > 1_000);
}

#[test]
fn a_join_does_not_conflict_with_what_it_waited_for() {
    let mut program =
        Script::new().object(Resource::Memory).thread(&[Spawn(1), Join(1), W(0)]).spawned(&[W(0)]);
    assert_eq!(compare_conflicts(&mut program), (0, 0));
}

#[test]
fn a_conflict_over_two_objects_is_found_once() {
    // The second wait releases the mutex and touches the condition variable; so does the end of the first.
    let wait = [On(Kind::Lock, 0), WaitFor(1, 0, 5), On(Kind::Unlock, 0)];
    let mut program = Script::new().mutex().object(Resource::condition()).thread(&wait).thread(&wait);
    every_schedule(Config::default(), &mut program, |_, engine| {
        let mut found = Vec::new();
        conflicts(&engine.summary(), |a, b| found.push((a, b)));
        let once: BTreeSet<(usize, usize)> = found.iter().copied().collect();
        assert!(!found.is_empty());
        assert_eq!(once.len(), found.len(), "{found:?}");
    });
}
