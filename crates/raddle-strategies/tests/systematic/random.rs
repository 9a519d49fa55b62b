//! Random small programs that use every kind of object, to compare strategies on.

use crate::common::{distinct_fingerprints, exhaust, verdicts};
use raddle_engine::{Engine, MutexKind, Resource, Rng, Strategy, explore};
use raddle_model::Kind;
use raddle_strategies::{
    dfs::Dfs,
    dpor::Dpor,
    upo::{Repeats, Upo},
};
use raddle_testkit::{Act, Script, affordable, is_thorough};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The objects of every random program, by number.
const MEMORY: u32 = 0;
const MUTEX: u32 = 2;
const CHECKING: u32 = 4;
const READ_WRITE: u32 = 5;
const SEMAPHORE: u32 = 6;
const CONDITION: u32 = 7;
const BARRIER: u32 = 8;

/// Returns a few operations that belong together. Some can deadlock or be misuse, depending on the schedule.
fn piece(kind: u64, rng: &mut Rng) -> Vec<Act> {
    let memory = MEMORY + rng.below(2) as u32;
    let mutex = MUTEX + rng.below(2) as u32;
    let access = if rng.below(2) == 0 { Act::W(memory) } else { Act::R(memory) };
    let on = Act::On;
    match kind {
        0..=4 => vec![access],
        5 => vec![on(Kind::Lock, mutex), on(Kind::Unlock, mutex)],
        6 => vec![on(Kind::Lock, mutex), access, on(Kind::Unlock, mutex)],
        7 => vec![
            on(Kind::Lock, MUTEX),
            on(Kind::Lock, MUTEX + 1),
            on(Kind::Unlock, MUTEX),
            on(Kind::Unlock, MUTEX + 1),
        ],
        8 => vec![
            on(Kind::Lock, MUTEX + 1),
            on(Kind::Lock, MUTEX),
            on(Kind::Unlock, MUTEX + 1),
            on(Kind::Unlock, MUTEX),
        ],
        9 => vec![on(Kind::Lock, mutex)],
        10 => vec![on(Kind::TryLock, CHECKING), on(Kind::Unlock, CHECKING)],
        11 => vec![on(Kind::Lock, CHECKING), access, on(Kind::Unlock, CHECKING)],
        12 => vec![on(Kind::ReadLock, READ_WRITE), access, on(Kind::ReadWriteUnlock, READ_WRITE)],
        13 => vec![on(Kind::WriteLock, READ_WRITE), on(Kind::ReadWriteUnlock, READ_WRITE)],
        14 => vec![on(Kind::SemaphoreWait, SEMAPHORE)],
        15 => vec![on(Kind::SemaphorePost, SEMAPHORE)],
        16 => vec![on(Kind::SemaphoreTryWait, SEMAPHORE)],
        17 => vec![on(Kind::Lock, MUTEX), Act::Wait(CONDITION, MUTEX), on(Kind::Unlock, MUTEX)],
        18 => vec![on(Kind::Signal, CONDITION)],
        19 => vec![on(Kind::Lock, MUTEX), on(Kind::Signal, CONDITION), on(Kind::Unlock, MUTEX)],
        20 => vec![on(Kind::Broadcast, CONDITION)],
        _ => match rng.below(6) {
            0 => vec![Act::Bare(Kind::Exit, 0)],
            1 => vec![on(Kind::Unlock, mutex)],
            2 => vec![on(Kind::Unlock, CHECKING)],
            _ => vec![Act::Bare(Kind::Choose, 2)],
        },
    }
}

/// Generates a program of two threads of up to five steps or three of up to three, perhaps started by a first
/// thread.
pub(crate) fn program(seed: u64) -> Script {
    let mut rng = Rng::for_run(seed, 0);
    let count = 2 + rng.below(2);
    let most = if count == 2 { 5 } else { 3 };
    // Few kinds of pieces, so that the threads meet.
    let palette: Vec<u64> = (0..3).map(|_| rng.below(22)).collect();
    let mut threads: Vec<Vec<Act>> = Vec::new();
    for _ in 0..count {
        let mut acts = Vec::new();
        while acts.len() < 2 {
            let kind = palette[rng.below(3) as usize];
            let next = piece(kind, &mut rng);
            let fits = acts.len() + next.len() <= most;
            acts.extend(if fits { next } else { piece(0, &mut rng) });
        }
        threads.push(acts);
    }
    // A barrier takes as many threads as use it, or one more, so that no thread passes. `at_barrier` generates
    // other programs.
    let (mut users, serial) = (0, rng.below(2));
    for acts in &mut threads {
        if rng.below(5) == 0 {
            acts.insert(rng.below(acts.len() as u64 + 1) as usize, Act::With(Kind::Barrier, BARRIER, serial));
            users += 1;
        }
    }
    let needed = users + u32::from(rng.below(8) == 0);
    let mut script = Script::new()
        .object(Resource::Memory)
        .object(Resource::Memory)
        .mutex()
        .mutex()
        .object(Resource::mutex(MutexKind::ErrorChecking))
        .object(Resource::read_write_lock())
        .object(Resource::semaphore(rng.below(2)))
        .object(Resource::condition())
        .object(Resource::barrier(needed));
    if rng.below(3) > 0 {
        for acts in &threads {
            script = script.thread(acts);
        }
        return script;
    }
    // Otherwise the first thread starts the others, and may wait for them.
    let mut first: Vec<Act> = (1..threads.len() as u32).map(Act::Spawn).collect();
    let place = rng.below(first.len() as u64 + 1) as usize;
    let own = threads[0].clone();
    first.splice(place..place, own);
    first.extend((1..threads.len() as u32).filter(|_| rng.below(2) == 0).map(Act::Join));
    script = script.thread(&first);
    for acts in &threads[1..] {
        script = script.spawned(acts);
    }
    script
}

#[test]
fn random_programs_agree_with_depth_first_search() {
    let mut verdicts_seen = BTreeSet::new();
    let (mut all, mut reduced, mut cut_off) = (0, 0, 0);
    for seed in 0..affordable(800) {
        let mut program = program(seed);
        let (full, full_totals) = exhaust(&mut program, &mut Dfs::new());
        let (seen, totals) = exhaust(&mut program, &mut Dpor::new());
        let wanted: BTreeSet<u64> = full.iter().map(|run| run.fingerprint).collect();
        assert_eq!(distinct_fingerprints(&seen), wanted, "program {seed}: {program:?}");
        assert_eq!(verdicts(&seen), verdicts(&full), "program {seed}: {program:?}");
        verdicts_seen.extend(verdicts(&full));
        all += full_totals.complete;
        reduced += totals.complete;
        cut_off += totals.cut_off;
    }
    if !is_thorough() {
        return;
    }
    assert_eq!(verdicts_seen, BTreeSet::from(["passed", "deadlock", "misuse"]));
    assert!(reduced * 10 < all, "{reduced} partial orders among {all} schedules leave nothing to reduce");
    assert!(cut_off * 50 < reduced, "{cut_off} runs cut off for {reduced} partial orders are too many");
}

#[test]
fn programs_that_sleep_agree_with_depth_first_search() {
    for seed in 0..affordable(400) {
        let mut rng = Rng::for_run(seed, 0);
        let mut script = Script::new().object(Resource::Memory).object(Resource::Memory).mutex();
        for _ in 0..2 + rng.below(2) {
            let mut acts = Vec::new();
            for _ in 0..2 + rng.below(2) {
                match rng.below(6) {
                    0 | 1 => acts.push(Act::W(rng.below(2) as u32)),
                    2 => acts.push(Act::R(rng.below(2) as u32)),
                    3 => acts.extend([Act::On(Kind::Lock, 2), Act::On(Kind::Unlock, 2)]),
                    _ => acts.push(Act::Bare(Kind::Sleep, 10 * rng.below(3))),
                }
            }
            script = script.thread(&acts);
        }
        let (full, _) = exhaust(&mut script, &mut Dfs::new());
        let (seen, _) = exhaust(&mut script, &mut Dpor::new());
        let wanted: BTreeSet<u64> = full.iter().map(|run| run.fingerprint).collect();
        assert_eq!(distinct_fingerprints(&seen), wanted, "program {seed}: {script:?}");
    }
}

/// Two to four threads that use a barrier of two once or twice, and write; some of them ask for the serial thread.
fn at_barrier(rng: &mut Rng) -> Script {
    let mut script = Script::new().object(Resource::Memory).object(Resource::barrier(2));
    for _ in 0..2 + rng.below(3) {
        let mut acts = Vec::new();
        for _ in 0..1 + rng.below(2) {
            let arrive = Act::With(Kind::Barrier, 1, rng.below(2));
            acts.push(if rng.below(3) == 0 { Act::W(0) } else { arrive });
        }
        script = script.thread(&acts);
    }
    // A destroyed barrier was contested too.
    if rng.below(4) == 0 { script.thread(&[Act::On(Kind::Destroy, 1)]) } else { script }
}

#[test]
fn contested_barriers_agree_with_depth_first_search() {
    let (mut all, mut reduced) = (0, 0);
    for seed in 0..affordable(150) {
        let mut script = at_barrier(&mut Rng::for_run(seed, 3));
        let (full, totals) = exhaust(&mut script, &mut Dfs::new());
        let (seen, reduced_totals) = exhaust(&mut script, &mut Dpor::new());
        let wanted: BTreeSet<u64> = full.iter().map(|run| run.fingerprint).collect();
        let complete = seen.iter().filter(|run| run.verdict != "cut off");
        let found: BTreeSet<u64> = complete.map(|run| run.fingerprint).collect();
        assert_eq!(found, wanted, "program {seed}: {script:?}");
        assert_eq!(verdicts(&seen), verdicts(&full), "program {seed}: {script:?}");
        // Two users of a barrier of two commute.
        if script.acts().len() == 2 {
            (all, reduced) = (all + totals.complete, reduced + reduced_totals.complete);
        }
        let mut upo = Upo::new(1_000_000, Repeats::Avoided);
        let mut engine = Engine::new(Default::default());
        let mut sampled = BTreeSet::new();
        explore(&mut engine, &mut script, &mut upo, (1, 0, affordable(2_000)), |_, run| {
            sampled.insert(run.fingerprint);
            ControlFlow::Continue(())
        });
        if let (Some(space), true) = (upo.space(), is_thorough()) {
            assert_eq!(space, wanted.len() as f64, "program {seed}: {script:?}");
            assert_eq!(sampled, wanted, "program {seed}: {script:?}");
        }
    }
    assert!(!is_thorough() || reduced * 2 < all, "{reduced} of {all} schedules");
}
