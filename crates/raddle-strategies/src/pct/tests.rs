//! The guarantee, and the steps that count towards it.

use super::*;
use raddle_engine::Resource;
use raddle_testkit::{Act, Script, affordable, assert_hit_rate, assert_never, hits, is_thorough};

fn threads(program: &mut Script, pct: &mut Pct, seed: u64) -> Vec<u32> {
    program.run(pct, seed).0.iter().map(|event| event.thread.0).collect()
}

/// Returns true if, after exactly `own` steps of `victim`, another thread runs all its steps before `victim`
/// continues.
fn preempted_at(schedule: &[u32], victim: u32, own: usize) -> bool {
    let positions: Vec<usize> = (0..schedule.len()).filter(|&i| schedule[i] == victim).collect();
    let rival = 3 - victim;
    let last_of_rival = schedule.iter().rposition(|&thread| thread == rival).unwrap();
    let first_of_rival = schedule.iter().position(|&thread| thread == rival).unwrap();
    positions[own - 1] < first_of_rival && last_of_rival < positions[own]
}

fn fork_of_two() -> Script {
    // n = 3, k = 22: main takes ten steps and two spawns, then two children of five.
    let mut main = vec![Act::Step; 10];
    main.extend([Act::Spawn(1), Act::Spawn(2)]);
    Script::new().thread(&main).spawned(&[Act::Step; 5]).spawned(&[Act::Step; 5])
}

#[test]
fn meets_the_bound_at_depth_2() {
    let mut program = fork_of_two();
    let mut pct = Pct::new(PctConfig { steps: Some(22), ..PctConfig::fixed(2) });
    for (victim, own) in [(1, 1), (1, 4), (2, 1), (2, 4)] {
        assert_hit_rate(40_000, bound(3, 22, 2), |seed| {
            preempted_at(&threads(&mut program, &mut pct, seed), victim, own)
        });
    }
}

#[test]
fn depth_1_never_preempts() {
    let mut program = fork_of_two();
    let mut pct = Pct::new(PctConfig { steps: Some(22), ..PctConfig::fixed(1) });
    assert_never(5_000, |seed| {
        let schedule = threads(&mut program, &mut pct, seed);
        preempted_at(&schedule, 1, 2) || preempted_at(&schedule, 2, 2)
    });
    for victim in [1, 2] {
        assert_hit_rate(5_000, bound(3, 22, 1), |seed| {
            let schedule = threads(&mut program, &mut pct, seed);
            *schedule.last().unwrap() == victim
        });
    }
}

/// Threads 0 and 1 are each stopped after their first step, thread 2 runs, then they continue in either
/// order: a bug of depth 3. If the one stopped later has to continue first, the later change point must rank
/// above the earlier one.
#[test]
fn meets_the_bound_at_depth_3() {
    let mut program = Script::straight(3, &["W0 W0", "W1 W1", "W2 W2"]);
    let mut pct = Pct::new(PctConfig { steps: Some(6), ..PctConfig::fixed(3) });
    for (stopped, wanted) in [([0, 1], [0, 1]), ([0, 1], [1, 0]), ([1, 0], [0, 1]), ([1, 0], [1, 0])] {
        // Half of the bound for each of the two ways to begin.
        assert_hit_rate(40_000, bound(3, 6, 3) / 2.0, |seed| {
            let schedule = threads(&mut program, &mut pct, seed);
            schedule[..2] == stopped && schedule[2..4] == [2, 2] && schedule[4..] == wanted
        });
    }
}

/// The order B A A B of two threads of two steps needs thread 1 first, stopped at step 1, and nothing else.
#[test]
fn a_script_replaces_the_draws() {
    let mut program = Script::straight(2, &["W0 W0", "W1 W1"]);
    let mut pct = Pct::new(PctConfig { steps: Some(4), ..PctConfig::fixed(2) });
    for (ranks, change_at, expected) in [
        ([0, 1], 1, [1, 0, 0, 1]),
        ([1, 0], 1, [0, 1, 1, 0]),
        ([1, 0], 2, [0, 0, 1, 1]),
        ([0, 1], 4, [1, 1, 0, 0]),
    ] {
        pct.script(&ranks, &[change_at]);
        assert_eq!(threads(&mut program, &mut pct, 5), expected, "{ranks:?} {change_at}");
    }
}

#[test]
fn one_object_replays_every_seed() {
    let mut program = fork_of_two();
    let mut pct = Pct::new(PctConfig { steps: Some(22), ..PctConfig::fixed(3) });
    let first: Vec<_> = (0..affordable(50)).map(|seed| threads(&mut program, &mut pct, seed)).collect();
    let again: Vec<_> = (0..affordable(50)).map(|seed| threads(&mut program, &mut pct, seed)).collect();
    assert_eq!(first, again);
}

#[test]
fn steps_are_learnt_and_sequential_ones_need_not_count() {
    let mut program = fork_of_two();
    let mut all = Pct::new(PctConfig::fixed(2));
    let mut choices = Pct::new(PctConfig { count: Count::Choices, ..PctConfig::fixed(2) });
    for seed in 0..affordable(20) {
        threads(&mut program, &mut all, seed);
        threads(&mut program, &mut choices, seed);
    }
    assert_eq!((all.longest, all.threads), (22, 3));
    assert!(choices.longest < 12, "{} steps had a choice", choices.longest);
}

#[test]
fn confidence_gives_the_largest_depth_that_meets_it() {
    let mut pct = Pct::new(PctConfig {
        depth: Depth::Confident { confidence: 0.95, runs: 10_000 },
        ..PctConfig::fixed(1)
    });
    (pct.threads, pct.longest) = (3, 30);
    // 1 / (3 * 30^2) = 1/2700 is enough for 10,000 runs, 1 / (3 * 30^3) is not.
    assert_eq!(pct.depth(), 3);
    pct.longest = 100_000;
    assert_eq!(pct.depth(), 1);
}

#[test]
fn exit_can_come_last() {
    let main = [Act::Spawn(1), Act::Bare(Kind::Exit, 0)];
    let mut program = Script::new().thread(&main).spawned(&[Act::Step; 3]);
    let mut pct = Pct::new(PctConfig { exit_last: true, ..PctConfig::fixed(1) });
    assert_never(200, |seed| program.run(&mut pct, seed).0.len() != 5);
    let mut pct = Pct::new(PctConfig::fixed(1));
    assert_hit_rate(2_000, 0.5, |seed| program.run(&mut pct, seed).0.len() == 2);
}

/// The change point of a lost update lies between two plain accesses, which race.
#[test]
fn synchronisation_includes_racing_and_atomic_accesses() {
    let lost = |program: &mut Script, at: At| {
        let mut pct = Pct::new(PctConfig { at, ..PctConfig::fixed(2) });
        hits(2_000, |seed| {
            let order = threads(program, &mut pct, seed);
            order[0] != order[1]
        })
    };
    let mut racing = Script::straight(1, &["R0 W0", "R0 W0"]);
    // k = 4 and n = 2: at least 1/8.
    let found = lost(&mut racing, At::Synchronisation);
    assert!(!is_thorough() || found as f64 > 2_000.0 / 8.0 - 3.0 * 15.0, "{found}");
    // Accesses under a lock are local: only the locks count.
    let section = [Act::On(Kind::Lock, 0), Act::R(1), Act::W(1), Act::On(Kind::Unlock, 0)];
    let mut locked = Script::new().mutex().object(Resource::Memory).thread(&section).thread(&section);
    let mut pct = Pct::new(PctConfig { at: At::Synchronisation, ..PctConfig::fixed(2) });
    (0..affordable(20)).for_each(|seed| drop(threads(&mut locked, &mut pct, seed)));
    assert_eq!((pct.longest, pct.racing.len()), (4, 0));
    // Read-modify-write operations count even without a race, and so do atomic accesses.
    let update = [Act::On(Kind::ReadModifyWrite, 0), Act::With(Kind::Read, 0, MemoryOrder::Relaxed as u64)];
    let plain = [Act::With(Kind::Write, 1, MemoryOrder::Plain as u64)];
    let mut alone = Script::new().object(Resource::Memory).object(Resource::Memory);
    alone = alone.thread(&update).thread(&plain);
    let mut pct = Pct::new(PctConfig { at: At::Synchronisation, ..PctConfig::fixed(2) });
    threads(&mut alone, &mut pct, 0);
    assert_eq!((pct.longest, pct.racing.len()), (2, 0));
}

/// Two phases of two threads each, which main starts and joins one after the other.
fn two_phases() -> Script {
    let main = [Act::Spawn(1), Act::Spawn(2), Act::Join(1), Act::Join(2), Act::Spawn(3), Act::Spawn(4)];
    let script = Script::new().object(Resource::Memory).thread(&main);
    (0..4).fold(script, |script, _| script.spawned(&[Act::R(0), Act::W(0)]))
}

#[test]
fn steps_are_counted_per_phase() {
    let mut program = two_phases();
    let mut whole = Pct::new(PctConfig::fixed(2));
    let mut phases = Pct::new(PctConfig { phases: Phases::Joins, ..PctConfig::fixed(2) });
    let lost_late = |order: &[u32]| {
        let late: Vec<u32> = order.iter().copied().filter(|&thread| thread > 2).collect();
        late[0] != late[1]
    };
    for seed in 0..affordable(50) {
        threads(&mut program, &mut whole, seed);
        threads(&mut program, &mut phases, seed);
    }
    assert!(whole.longest == 14 && (!is_thorough() || phases.longest < 12), "{}", phases.longest);
    // In the second phase as often as the longest phase allows, which the whole run does not.
    let k = phases.longest;
    assert_hit_rate(20_000, bound(3, k, 2), |seed| lost_late(&threads(&mut program, &mut phases, seed)));
}

/// Two threads wait, and the signal has to wake the one with the lower number: half of the bound.
#[test]
fn a_signal_is_outside_the_bound() {
    let wait = [Act::On(Kind::Lock, 0), Act::Wait(1, 0), Act::On(Kind::Unlock, 0)];
    let mut program = Script::new().mutex().object(Resource::condition());
    program = program.thread(&wait).thread(&wait).thread(&[Act::On(Kind::Signal, 1)]);
    let mut pct = Pct::new(PctConfig { steps: Some(7), ..PctConfig::fixed(1) });
    let woken = |events: &[raddle_model::Event]| {
        let waits = events.iter().take_while(|event| event.thread.0 < 2);
        let both = waits.filter(|event| event.operation.kind == Kind::ConditionWait).count() == 2;
        let back = events.iter().find(|event| event.operation.kind == Kind::ConditionReacquire);
        both && back.is_some_and(|event| event.thread.0 == 0)
    };
    // Thread 2 last: a third of the runs. Then one of two: neither more nor less.
    let found = hits(12_000, |seed| woken(&program.run(&mut pct, seed).0));
    assert!(!is_thorough() || found.abs_diff(2_000) < 4 * 41, "{found}");
}

/// With one change point in a run of `k` steps, each step is the change point equally often, including the
/// last one.
#[test]
fn change_points_lie_on_every_step() {
    let mut pct = Pct::new(PctConfig { steps: Some(5), ..PctConfig::fixed(2) });
    let mut on = [0_u64; 7];
    for seed in 0..affordable(10_000) {
        let _ = pct.begin(Rng::for_run(seed, 0));
        on[pct.change_at[0] as usize] += 1;
    }
    assert_eq!((on[0], on[6]), (0, 0));
    assert!(!is_thorough() || on[1..6].iter().all(|&count| count.abs_diff(2_000) < 4 * 40), "{on:?}");
}

#[test]
fn the_longest_run_counts_not_the_latest() {
    let mut pct = Pct::new(PctConfig::fixed(2));
    let mut long = Script::straight(1, &["W0 W0 W0", "W0 W0", "W0"]);
    let mut short = Script::straight(1, &["W0"]);
    threads(&mut long, &mut pct, 0);
    threads(&mut short, &mut pct, 0);
    assert_eq!((pct.longest, pct.threads), (6, 3));
}
