//! The rules against starvation by spinning.

use raddle_engine::{Config, Engine, MutexKind, Program, Reply, Resource};
use raddle_model::{
    Access, Failure, Holding, Kind, LocationId, Name, ObjectId, Operation, ThreadId, Verdict,
};
use raddle_testkit::{Priorities, Walk, affordable, is_thorough, once_under};

/// One line of a thread of these programs.
#[derive(Clone, Copy, Debug)]
enum Line {
    /// Reads the flag until it is set, yielding between two reads or not.
    Await(u32, Between),
    /// Tries to get the lock until it has it.
    TryUntil(u32),
    /// Writes this many times to memory that no other thread reads.
    Work(u32),
    /// Sets the flag.
    Set(u32),
    /// Reads this many different objects.
    Scan(u32),
    /// Sleeps.
    Sleep(u64),
    /// Waits for the lock.
    Lock(u32),
    /// Makes this many steps that touch nothing.
    Local(u32),
    /// Compares and exchanges until the flag is set.
    ExchangeUntil(u32),
    /// Takes the lock, reads the flag and releases the lock, until the flag is set.
    AwaitLocked(u32),
    /// Takes the lock, does this twice and releases the lock, until the flag is set.
    Locked(Kind, u32),
    /// Takes and releases the lock this many times.
    LockAndUnlock(u32),
    /// Writes to memory that no other thread reads until the flag is set.
    WriteUntil(u32),
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Between {
    Nothing,
    Yield,
    Sleep,
}

const FLAGS: u32 = 4;
const LOCK: u32 = FLAGS;
const IDLE: u32 = FLAGS + 1;
const FIRST_SCANNED: u32 = FLAGS + 2;
const SCANNED: u32 = if is_thorough() { 3_000 } else { 60 };

/// Many steps, each on another object or on none.
const MANY: u32 = SCANNED / 3;

/// The step limit, which threads that spin forever reach.
const LIMIT: u64 = if is_thorough() { 20_000 } else { 800 };

#[derive(Clone, Default)]
struct Loops {
    threads: Vec<Vec<Line>>,
    set: Vec<bool>,
    /// The current line of each thread, and the position in it.
    at: Vec<(usize, u32)>,
}

fn loops(threads: &[&[Line]]) -> Loops {
    Loops { threads: threads.iter().map(|lines| lines.to_vec()).collect(), ..Loops::default() }
}

impl Loops {
    /// Advances, given the reply to the last operation; returns the next operation.
    fn next(&mut self, thread: usize, reply: Reply) -> Option<Operation> {
        loop {
            let (line, count) = self.at[thread];
            let what = *self.threads[thread].get(line)?;
            let location = LocationId((line as u32) << 16);
            let new = |kind| Operation::new(kind, location);
            let read = |object| new(Kind::Read).on(ObjectId(object), Access::Read);
            let write = |kind, object| new(kind).on(ObjectId(object), Access::Write);
            self.at[thread].1 += 1;
            let next = match what {
                Line::Await(flag, between) => {
                    let read_last = if between == Between::Nothing { count > 0 } else { count % 2 == 1 };
                    match between {
                        _ if read_last && self.set[flag as usize] => None,
                        Between::Yield if read_last => Some(new(Kind::Yield)),
                        Between::Sleep if read_last => Some(new(Kind::Sleep).with_argument(1)),
                        _ => Some(read(flag)),
                    }
                }
                Line::TryUntil(lock) => {
                    let done = count > 0 && reply == Reply::Acquired;
                    (!done).then(|| write(Kind::TryLock, lock))
                }
                Line::Work(steps) => (count < steps).then(|| write(Kind::Write, IDLE)),
                Line::Set(flag) => {
                    self.set[flag as usize] |= count == 1;
                    (count == 0).then(|| write(Kind::Write, flag))
                }
                Line::Scan(objects) => (count < objects).then(|| read(FIRST_SCANNED + count)),
                Line::Sleep(span) => (count == 0).then(|| new(Kind::Sleep).with_argument(span)),
                Line::Lock(lock) => (count == 0).then(|| write(Kind::Lock, lock)),
                Line::Local(steps) => (count < steps).then(|| new(Kind::Local)),
                Line::AwaitLocked(flag) => match count % 3 {
                    0 if count > 0 && self.set[flag as usize] => None,
                    0 => Some(write(Kind::Lock, LOCK)),
                    1 => Some(read(flag)),
                    _ => Some(write(Kind::Unlock, LOCK)),
                },
                Line::Locked(kind, flag) => match count % 4 {
                    0 if self.set[flag as usize] => None,
                    0 => Some(write(Kind::Lock, LOCK)),
                    3 => Some(write(Kind::Unlock, LOCK)),
                    _ if kind == Kind::Write => Some(write(kind, IDLE)),
                    _ => Some(read(flag)),
                },
                Line::LockAndUnlock(times) => {
                    let kind = if count % 2 == 0 { Kind::Lock } else { Kind::Unlock };
                    (count < 2 * times).then(|| write(kind, LOCK))
                }
                Line::WriteUntil(flag) => (!self.set[flag as usize]).then(|| write(Kind::Write, IDLE)),
                Line::ExchangeUntil(flag) => {
                    let done = count > 0 && self.set[flag as usize];
                    (!done).then(|| write(Kind::ReadModifyWrite, flag))
                }
            };
            if next.is_some() {
                return next;
            }
            self.at[thread] = (line + 1, 0);
        }
    }
}

impl Program for Loops {
    fn start(&mut self, engine: &mut Engine) {
        for object in 0..FIRST_SCANNED + SCANNED {
            let lock = Resource::mutex(MutexKind::Normal);
            let resource = if object == LOCK { lock } else { Resource::Memory };
            engine.add_object(Name(u64::from(object)), resource);
        }
        self.set = vec![false; FLAGS as usize];
        self.at = vec![(0, 0); self.threads.len()];
        for _ in 0..self.threads.len() {
            engine.add_thread();
        }
    }

    fn resume(&mut self, engine: &mut Engine, thread: ThreadId, reply: Reply) {
        let (line, count) = self.at[thread.index()];
        if let Some(&Line::ExchangeUntil(flag)) = self.threads[thread.index()].get(line)
            && count > 0
            && !self.set[flag as usize]
        {
            engine.note_no_write(thread);
        }
        match self.next(thread.index(), reply) {
            Some(operation) => engine.announce(thread, operation),
            None => engine.finish(thread),
        }
    }
}

fn config(patience: u32) -> Config {
    let mut config = Config::default();
    config.step_limit = LIMIT;
    config.patience = patience;
    config
}

/// Runs under fixed priorities; returns the verdict, the steps and the rests.
fn under(config: Config, threads: &[&[Line]], order: &[u32]) -> (Verdict, usize, u64) {
    let engine = once_under(config, &mut loops(threads), &mut Priorities::new(order), 0);
    let run = engine.summary();
    (run.verdict.clone(), run.trace.events.len(), run.rests)
}

const WORKER: [Line; 2] = [Line::Work(2), Line::Set(0)];

#[test]
fn a_spinner_with_priority_lets_others_work() {
    for between in [Between::Nothing, Between::Yield] {
        for patience in [1, 2, 7, 64] {
            let (verdict, steps, rests) =
                under(config(patience), &[&[Line::Await(0, between)], &WORKER], &[0, 1]);
            assert_eq!(verdict, Verdict::Passed, "{between:?} {patience}");
            assert_eq!(rests, 3, "it rests once for each step of the worker");
            assert!(steps > patience as usize, "and not before its patience is over");
        }
    }
}

#[test]
fn a_run_without_a_spinner_has_no_rests() {
    let (_, _, rests) = under(config(64), &[&[Line::Await(0, Between::Yield)], &WORKER], &[1, 0]);
    assert_eq!(rests, 0);
    let writes = [Line::Work(MANY)];
    let steps = 2 * MANY as usize;
    assert_eq!(under(config(1), &[&writes, &writes], &[0, 1]), (Verdict::Passed, steps, 0));
}

#[test]
fn a_thread_that_tries_a_lock_is_a_spinner() {
    let holder = [Line::Lock(LOCK), Line::Work(5), Line::Set(0)];
    let (verdict, _, rests) = under(config(8), &[&holder, &[Line::TryUntil(LOCK)]], &[0, 1]);
    assert_eq!((verdict, rests), (stuck(&[1]), 0), "no thread unlocks, and there is no other to rest for");
    let holder = [Line::Lock(LOCK), Line::Await(0, Between::Nothing)];
    let other = [Line::Await(1, Between::Nothing), Line::TryUntil(LOCK), Line::Work(1)];
    let setter = [Line::Work(3), Line::Set(1), Line::Work(3), Line::Set(0)];
    let (verdict, _, rests) = under(config(8), &[&holder, &other, &setter], &[0, 1, 2]);
    assert_eq!(verdict, stuck(&[1]), "the lock stays locked");
    assert!(rests > 0);
}

#[test]
fn a_thread_that_polls_under_a_lock_is_a_spinner_eventually() {
    let poller = [Line::AwaitLocked(0)];
    let (verdict, steps, rests) = under(config(4), &[&poller, &WORKER], &[0, 1]);
    assert_eq!((verdict, rests), (Verdict::Passed, 3), "once for each step of the worker");
    assert!(steps > 3 * 4 * 16, "and not before its greater patience is over");
    let (verdict, _, rests) = under(config(0), &[&poller, &WORKER], &[0, 1]);
    assert_eq!((verdict, rests), (Verdict::Inconclusive { limit: LIMIT }, 0), "the rule is turned off");
}

#[test]
fn a_thread_that_polls_under_a_lock_lets_others_take_it_wherever_its_loop_begins() {
    // The steps before it determine at which operation of the loop the return is detected, and which one the
    // limit falls on.
    for before in 0..affordable(9) as u32 {
        let worker = [Line::LockAndUnlock(3), Line::Set(0)];
        for patience in [4, 64] {
            let poller = [Line::Local(before), Line::Locked(Kind::Read, 0)];
            let (verdict, ..) = under(config(patience), &[&poller, &worker], &[0, 1]);
            assert_eq!(verdict, Verdict::Passed, "{before} steps before, patience {patience}");
        }
        // One that also writes, so that only the rule for starving threads applies.
        let writer = [Line::Local(before), Line::Locked(Kind::Write, 0)];
        let (verdict, ..) = under(config(64), &[&writer, &worker], &[0, 1]);
        assert_eq!(verdict, Verdict::Passed, "{before} steps before a circle that writes");
    }
}

#[test]
fn a_thread_that_polls_under_a_lock_rests_without_the_lock() {
    for before in 0..affordable(9) as u32 {
        let poller = [Line::Local(before), Line::Locked(Kind::Read, 0)];
        let mut program = loops(&[&poller, &WORKER]);
        let engine = once_under(config(4), &mut program, &mut Priorities::new(&[0, 1]), 0);
        let run = engine.summary();
        let mut locked = false;
        for event in &run.trace.events {
            match (event.thread.0, event.operation.kind.info().holding) {
                (0, Holding::Takes(_)) => locked = true,
                (0, Holding::GivesBack) => locked = false,
                (thread, _) => {
                    assert!(thread == 0 || !locked, "{before} steps before: it rests with the lock")
                }
            }
        }
        assert!(run.rests > 0);
    }
}

#[test]
fn a_thread_that_takes_a_lock_often_rests_seldom() {
    // Its work under the lock is invisible.
    let patience = if is_thorough() { 64 } else { 4 };
    let long = 16 * patience;
    for (times, rests) in [(long - 1, 0), (long + 2, 1), (long + patience + 2, 2)] {
        let worker = [Line::LockAndUnlock(times)];
        let run = under(config(patience), &[&worker, &[Line::Work(50)]], &[0, 1]);
        assert_eq!(run, (Verdict::Passed, 2 * times as usize + 50, rests));
    }
}

fn stuck(threads: &[u32]) -> Verdict {
    let spinning = threads.iter().map(|&thread| ThreadId(thread)).collect();
    Verdict::Failed { failure: Failure::StepLimit { limit: LIMIT, spinning } }
}

#[test]
fn a_thread_that_scans_different_objects_never_rests() {
    let scanner = [Line::Scan(SCANNED)];
    assert_eq!(
        under(config(2), &[&scanner, &[Line::Work(1)]], &[0, 1]),
        (Verdict::Passed, SCANNED as usize + 1, 0)
    );
}

#[test]
fn a_thread_that_has_stopped_spinning_no_longer_rests() {
    for after in [Line::Scan(MANY), Line::Local(MANY)] {
        let spinner = [Line::Await(0, Between::Yield), after];
        let worker = [Line::Work(2), Line::Set(0), Line::Work(50)];
        let (verdict, _, rests) = under(config(4), &[&spinner, &worker], &[0, 1]);
        assert_eq!(verdict, Verdict::Passed);
        assert!(rests <= 4, "{rests} rests: three for the flag, none for {after:?}");
    }
}

#[test]
fn without_patience_a_spinner_reaches_the_limit_and_is_reported() {
    let mut strict = config(0);
    strict.step_limit_fails = true;
    for between in [Between::Nothing, Between::Yield] {
        let (verdict, steps, rests) = under(strict, &[&[Line::Await(0, between)], &WORKER], &[0, 1]);
        assert_eq!((verdict, steps, rests), (stuck(&[0]), LIMIT as usize, 0));
        let (verdict, ..) = under(strict, &[&WORKER, &[Line::Await(0, between)]], &[1, 0]);
        assert_eq!(verdict, stuck(&[1]));
    }
}

#[test]
fn only_threads_that_still_spin_are_reported() {
    // Thread 0 spun and ended, thread 1 spun and waits for the lock, thread 2 holds it and spins forever.
    let ended = [Line::Await(1, Between::Nothing)];
    let waits = [Line::Await(1, Between::Nothing), Line::Lock(LOCK)];
    let spins = [Line::Lock(LOCK), Line::Work(20), Line::Set(1), Line::Await(0, Between::Yield)];
    for patience in [0, 16] {
        let mut program = loops(&[&ended, &waits, &spins]);
        let engine = once_under(config(patience), &mut program, &mut Walk::default(), 3);
        assert_eq!(*engine.summary().verdict, stuck(&[2]), "patience {patience}");
    }
}

#[test]
fn a_thread_that_writes_while_it_waits_starves_no_other() {
    // The one that it waits for needs more steps than the limit has parts.
    let (patience, work) = if is_thorough() { (64, 60) } else { (4, 20) };
    let worker = [Line::Work(work), Line::Set(0)];
    for order in [[0, 1, 2], [1, 0, 2]] {
        let waits = [Line::WriteUntil(0)];
        let (verdict, steps, rests) = under(config(patience), &[&waits, &waits, &worker], &order);
        assert_eq!(verdict, Verdict::Passed);
        assert!(steps > LIMIT as usize / 4 && rests > 10, "{steps} steps, {rests} rests");
        let (verdict, _, rests) = under(config(0), &[&waits, &waits, &worker], &order);
        assert!(matches!(verdict, Verdict::Inconclusive { .. }) && rests == 0, "{verdict:?}");
    }
    // A thread that just works, for less than that, is left alone.
    let (verdict, _, rests) = under(config(patience), &[&[Line::Work(LIMIT as u32 / 5)], &worker], &[0, 1]);
    assert_eq!((verdict, rests), (Verdict::Passed, 0));
}

#[test]
fn no_time_passes_before_a_spinner_has_seen_the_last_write() {
    // Thread 1 sets what thread 0 spins for and sleeps; when it wakes, thread 0 has continued.
    let spins = [Line::Await(0, Between::Yield), Line::Set(1)];
    let wakes = [Line::Work(40), Line::Set(0), Line::Sleep(1_000), Line::Scan(1)];
    let mut rested = 0;
    for seed in 0..affordable(100) {
        let engine = once_under(config(4), &mut loops(&[&spins, &wakes]), &mut Walk::default(), seed);
        let run = engine.summary();
        let step = |thread, object| {
            let of = |event: &raddle_model::Event| {
                event.thread == ThreadId(thread) && event.operation.object() == Some(ObjectId(object))
            };
            run.trace.events.iter().position(of).expect("it is executed")
        };
        assert!(step(0, 1) < step(1, FIRST_SCANNED), "seed {seed}");
        rested += run.rests;
    }
    assert!(!is_thorough() || rested > 100, "{rested} rests");
}

fn permutations(of: &[u32]) -> Vec<Vec<u32>> {
    let [first, rest @ ..] = of else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for shorter in permutations(rest) {
        for place in 0..=shorter.len() {
            let mut longer = shorter.clone();
            longer.insert(place, *first);
            all.push(longer);
        }
    }
    all
}

#[test]
fn spinners_and_a_worker_end_under_any_priorities() {
    for between in [Between::Nothing, Between::Yield, Between::Sleep] {
        for other in [Between::Nothing, Between::Yield, Between::Sleep] {
            for &patience in if is_thorough() { &[1, 3, 64][..] } else { &[3] } {
                let threads: [&[Line]; 3] = [&[Line::Await(0, between)], &[Line::Await(0, other)], &WORKER];
                for order in permutations(&[0, 1, 2]) {
                    let (verdict, ..) = under(config(patience), &threads, &order);
                    assert_eq!(verdict, Verdict::Passed, "{between:?} {other:?} {patience} {order:?}");
                }
            }
        }
    }
}

#[test]
fn a_chain_of_spinners_ends_under_any_priorities() {
    let wait_and_set =
        |flag, then| [Line::Await(flag, Between::Nothing), Line::Scan(5), Line::Work(1), Line::Set(then)];
    let (second, third) = (wait_and_set(0, 1), wait_and_set(1, 2));
    let threads: [&[Line]; 4] = [&WORKER, &second, &third, &[Line::Await(2, Between::Yield)]];
    for order in permutations(&[0, 1, 2, 3]) {
        let (verdict, ..) = under(config(5), &threads, &order);
        assert_eq!(verdict, Verdict::Passed, "{order:?}");
    }
}

#[test]
fn a_spinner_does_not_stop_the_clock() {
    for between in [Between::Nothing, Between::Yield] {
        let sleeper = [Line::Sleep(100), Line::Work(1), Line::Sleep(100), Line::Set(0)];
        let spinner = [Line::Await(0, between)];
        for order in permutations(&[0, 1, 2]) {
            let threads: [&[Line]; 3] = [&spinner, &sleeper, &spinner];
            let mut program = loops(&threads);
            let engine = once_under(config(8), &mut program, &mut Priorities::new(&order), 0);
            assert_eq!(*engine.summary().verdict, Verdict::Passed, "{between:?} {order:?}");
            assert_eq!(engine.now(), 200);
            assert!(engine.summary().rests > 0);
        }
    }
}

#[test]
fn a_single_spinner_reaches_the_limit() {
    let (verdict, _, rests) = under(config(8), &[&[Line::Await(0, Between::Yield)]], &[0]);
    assert_eq!((verdict, rests), (stuck(&[0]), 0), "there is no other thread to rest for");
    let both: [&[Line]; 2] = [&[Line::Await(0, Between::Yield)], &[Line::Await(1, Between::Nothing)]];
    let (verdict, ..) = under(config(8), &both, &[0, 1]);
    assert_eq!(verdict, stuck(&[0, 1]));
}

#[test]
fn a_rest_ends_when_every_enabled_thread_has_taken_a_step() {
    // The spinner rests at the first step after its patience; it is not offered until both others have taken
    // a step.
    let threads: [&[Line]; 3] = [&[Line::Await(0, Between::Nothing)], &[Line::Work(10)], &WORKER];
    let mut program = loops(&threads);
    let engine = once_under(config(4), &mut program, &mut Priorities::new(&[0, 1, 2]), 0);
    let run = engine.summary();
    assert_eq!(*run.verdict, Verdict::Passed);
    let order: Vec<u32> = run.trace.events.iter().map(|event| event.thread.0).collect();
    let spun = order.iter().take_while(|&&thread| thread == 0).count();
    assert_eq!(spun, 5, "four returns to the first read");
    // Thread 1 goes first and does all its work, then thread 2 makes one step, then the spinner is back.
    let mut expected = vec![0; 5];
    expected.extend([1; 10]);
    expected.extend([2, 0, 2, 0, 2, 0]);
    assert_eq!(order, expected);
    assert_eq!(run.rests, 3);
}

#[test]
fn an_exchange_that_wrote_nothing_is_idle() {
    for patience in [1, 2, 7, 64] {
        let (verdict, steps, rests) = under(config(patience), &[&[Line::ExchangeUntil(0)], &WORKER], &[0, 1]);
        assert_eq!(verdict, Verdict::Passed, "{patience}");
        assert!(rests > 0 && steps < 4 * patience as usize + 20, "{patience}: {steps} steps");
    }
    // With the rule turned off the worker never runs.
    let (verdict, ..) = under(config(0), &[&[Line::ExchangeUntil(0)], &WORKER], &[0, 1]);
    assert_eq!(verdict, Verdict::Inconclusive { limit: LIMIT });
}

#[test]
fn the_step_limit_is_a_failure_only_if_every_runnable_thread_spins() {
    let spinner = [Line::Await(0, Between::Yield)];
    let long = [Line::Work(LIMIT as u32)];
    let short = [Line::Work(5)];
    let (both, alone, working) =
        ([&spinner[..], &spinner[..]], [&spinner[..], &short[..]], [&spinner[..], &long[..]]);
    for order in [[0, 1], [1, 0]] {
        assert_eq!(under(config(8), &both, &order).0, stuck(&[0, 1]), "no thread sets the flag");
        assert_eq!(under(config(8), &alone, &order).0, stuck(&[0]), "all other threads have ended");
        let (verdict, ..) = under(config(8), &working, &order);
        assert_eq!(verdict, Verdict::Inconclusive { limit: LIMIT }, "the other thread makes progress");
        let mut strict = config(8);
        strict.step_limit_fails = true;
        let (verdict, ..) = under(strict, &working, &order);
        assert!(matches!(verdict.failure(), Some(Failure::StepLimit { .. })), "{verdict:?}");
    }
    assert_eq!(under(config(8), &[&long, &long], &[0, 1]).0, Verdict::Inconclusive { limit: LIMIT });
}
