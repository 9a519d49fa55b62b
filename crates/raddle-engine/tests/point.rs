//! The points that a strategy sees, against a second implementation of the semantics.
//!
//! The second one knows the programs of [`mixed`] only: it steps through the script along the executed
//! events.

use raddle_engine::{Choice, Config, Engine, Plan, Point, Rng, Strategy, Timeouts};
use raddle_model::{Kind, ObjectId, Operation, ThreadId};
use raddle_testkit::{Act, Script, Walk, affordable, is_thorough, mixed, mixed_of, once_under};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

#[derive(Clone, PartialEq, Debug)]
enum Phase {
    /// About to execute the next line of the script.
    Next,
    /// Waits for a signal.
    Waiting,
    /// Was signalled and wants the mutex back.
    Woken,
    /// Has arrived at the barrier.
    Arrived,
}

#[derive(Clone, Debug)]
struct Runner {
    script: usize,
    at: usize,
    phase: Phase,
    /// The end of its sleep, if it is about to sleep; true if it has been woken.
    deadline: u64,
    awake: bool,
}

#[derive(Clone, Default, Debug)]
struct Reference {
    acts: Vec<Vec<Act>>,
    anytime: bool,
    runners: Vec<Runner>,
    mutex: Option<usize>,
    queue: VecDeque<usize>,
    units: u64,
    arrived: Vec<usize>,
    writer: Option<usize>,
    readers: Vec<usize>,
    once: Option<usize>,
    once_over: bool,
    now: u64,
}

impl Reference {
    fn new(script: &Script, anytime: bool) -> Reference {
        let mut reference =
            Reference { acts: script.acts().to_vec(), anytime, units: 1, ..Reference::default() };
        (0..script.initial()).for_each(|number| reference.add(number));
        reference
    }

    fn add(&mut self, script: usize) {
        self.runners.push(Runner { script, at: 0, phase: Phase::Next, deadline: 0, awake: false });
        self.begin(self.runners.len() - 1);
    }

    fn act(&self, thread: usize) -> Option<Act> {
        let runner = &self.runners[thread];
        self.acts[runner.script].get(runner.at).copied()
    }

    /// Records the end of the sleep that `thread` is about to begin, if any.
    fn begin(&mut self, thread: usize) {
        if let Some(Act::Bare(Kind::Sleep, span)) = self.act(thread) {
            self.runners[thread].deadline = self.now + span;
            self.runners[thread].awake = self.anytime;
        }
    }

    fn advance(&mut self, thread: usize) {
        self.runners[thread].at += 1;
        self.runners[thread].phase = Phase::Next;
        self.begin(thread);
    }

    fn ended(&self, script: usize) -> bool {
        let of = |runner: &&Runner| runner.script == script;
        self.runners.iter().find(of).is_some_and(|runner| runner.at == self.acts[script].len())
    }

    /// Returns true if `thread` has announced an operation.
    fn pending(&self, thread: usize) -> bool {
        self.act(thread).is_some() && self.runners[thread].phase != Phase::Arrived
    }

    fn can_run(&self, thread: usize) -> bool {
        let runner = &self.runners[thread];
        match (&runner.phase, self.act(thread)) {
            (_, None) | (Phase::Waiting | Phase::Arrived, _) => false,
            (Phase::Woken, _) => self.mutex.is_none(),
            (Phase::Next, Some(act)) => match act {
                Act::On(Kind::Lock, _) => self.mutex.is_none(),
                Act::On(Kind::SemaphoreWait, _) => self.units > 0,
                Act::On(Kind::ReadLock, _) => self.writer.is_none(),
                Act::On(Kind::WriteLock, _) => self.writer.is_none() && self.readers.is_empty(),
                Act::Once(_) => self.once.is_none(),
                Act::Join(target) => self.ended(target as usize),
                Act::Bare(Kind::Sleep, _) => runner.awake,
                _ => true,
            },
        }
    }

    fn enabled(&mut self) -> BTreeSet<ThreadId> {
        let now = |this: &Reference| (0..this.runners.len()).filter(|&t| this.can_run(t)).collect::<Vec<_>>();
        let mut enabled = now(self);
        if enabled.is_empty() {
            let asleep = |this: &Reference, t: usize| {
                matches!(this.act(t), Some(Act::Bare(Kind::Sleep, _))) && !this.runners[t].awake
            };
            let sleepers: Vec<usize> = (0..self.runners.len()).filter(|&t| asleep(self, t)).collect();
            self.now = sleepers.iter().map(|&t| self.runners[t].deadline).min().unwrap_or(self.now);
            for thread in sleepers {
                self.runners[thread].awake = self.runners[thread].deadline <= self.now;
            }
            enabled = now(self);
        }
        enabled.into_iter().map(|thread| ThreadId(thread as u32)).collect()
    }

    /// Executes the next operation of `thread`, with the answer `pick` if one was requested.
    fn execute(&mut self, thread: usize, pick: Option<u32>) {
        if self.runners[thread].phase == Phase::Woken {
            self.mutex = Some(thread);
            return self.advance(thread);
        }
        match self.act(thread).expect("a thread that ran had something to do") {
            Act::On(Kind::Lock, _) => self.mutex = Some(thread),
            Act::On(Kind::Unlock, _) => self.mutex = None,
            Act::Wait(..) => {
                self.mutex = None;
                self.queue.push_back(thread);
                self.runners[thread].phase = Phase::Waiting;
                return;
            }
            Act::On(Kind::Signal, _) => {
                if let Some(woken) = self.queue.remove(pick.unwrap_or(0) as usize) {
                    self.runners[woken].phase = Phase::Woken;
                }
            }
            Act::On(Kind::Broadcast, _) => {
                for woken in std::mem::take(&mut self.queue) {
                    self.runners[woken].phase = Phase::Woken;
                }
            }
            Act::On(Kind::SemaphoreWait, _) => self.units -= 1,
            Act::On(Kind::SemaphoreTryWait, _) => self.units = self.units.saturating_sub(1),
            Act::On(Kind::SemaphorePost, _) => self.units += 1,
            Act::With(Kind::Barrier, ..) => {
                self.runners[thread].phase = Phase::Arrived;
                self.arrived.push(thread);
                if self.arrived.len() == 2 {
                    std::mem::take(&mut self.arrived).into_iter().for_each(|there| self.advance(there));
                }
                return;
            }
            Act::On(Kind::ReadLock, _) => self.readers.push(thread),
            Act::On(Kind::WriteLock, _) => self.writer = Some(thread),
            Act::On(Kind::ReadWriteUnlock, _) if self.writer == Some(thread) => self.writer = None,
            Act::On(Kind::ReadWriteUnlock, _) => self.readers.retain(|&reader| reader != thread),
            Act::Once(_) if self.once_over => self.runners[thread].at += 2,
            Act::Once(_) => self.once = Some(thread),
            Act::On(Kind::OnceEnd, _) => (self.once, self.once_over) = (None, true),
            Act::Spawn(number) => self.add(number as usize),
            Act::Bare(Kind::Sleep, _) => self.now = self.now.max(self.runners[thread].deadline),
            _ => {}
        }
        self.advance(thread);
    }
}

/// The view of a thread at a point: its operation, if it has one, and true if it was enabled.
type Seen = (Option<Operation>, bool);

/// A random walk that checks every point.
#[derive(Clone)]
struct Watch {
    inner: Walk,
    reference: Reference,
    before: BTreeMap<ThreadId, Seen>,
    pick: Option<u32>,
    points: usize,
}

impl Strategy for Watch {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.inner.begin(rng)
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        let last = point.last().map(|event| event.thread);
        if let Some(thread) = last {
            self.reference.execute(thread.index(), self.pick.take());
        }
        self.points += 1;
        let threads = (0..point.thread_count() as u32).map(ThreadId);
        assert_eq!(point.thread_count(), self.reference.runners.len());
        let expected = self.reference.enabled();
        let enabled: BTreeSet<ThreadId> = point.enabled().iter().copied().collect();
        assert_eq!(enabled, expected, "step {}: {:?}", point.step, self.reference);
        assert_eq!(enabled.len(), point.enabled().len(), "each enabled thread is named once");
        let mut now: BTreeMap<ThreadId, Seen> = BTreeMap::new();
        for thread in threads.clone() {
            assert_eq!(point.is_enabled(thread), expected.contains(&thread));
            let pending = self.reference.pending(thread.index());
            now.insert(thread, (pending.then(|| *point.operation(thread)), point.is_enabled(thread)));
        }
        let changed: BTreeSet<ThreadId> = point.changed().collect();
        for thread in threads.clone() {
            let same = self.before.get(&thread) == now.get(&thread) && last != Some(thread);
            // A thread that leaves a barrier and ends is listed as well, though it could not run before
            // either.
            let ended = self.reference.act(thread.index()).is_none();
            let named = changed.contains(&thread);
            assert!(named != same || (named && ended), "step {}: {thread:?} {named}", point.step);
        }
        for object in (0..point.object_count() as u32).map(ObjectId) {
            let listed: Vec<ThreadId> = point.pending_on(object).collect();
            let touching = threads.clone().filter(|thread| {
                now[thread].0.is_some_and(|operation| operation.objects().any(|(other, _)| other == object))
            });
            let touching: BTreeSet<ThreadId> = touching.collect();
            assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), touching, "step {}", point.step);
            assert_eq!(listed.len(), touching.len(), "each is listed once");
            for writers in [false, true] {
                let except = point.enabled()[point.step as usize % point.enabled().len()];
                let mut rivals = BTreeSet::new();
                point.for_rivals(except, object, writers, |thread| assert!(rivals.insert(thread)));
                let writes = |thread: &ThreadId| {
                    let operation = now[thread].0.expect("it is about to touch something");
                    operation.objects().any(|touch| touch == (object, true))
                };
                let wanted = touching.iter().filter(|&thread| {
                    *thread != except && expected.contains(thread) && (!writers || writes(thread))
                });
                assert_eq!(rivals, wanted.copied().collect(), "step {}", point.step);
            }
        }
        self.before = now;
        self.inner.choose(point)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        let value = self.inner.pick(arity);
        self.pick = Some(value);
        value
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

/// Runs `program` under a strategy that checks every point; returns the number of points.
fn watched(program: &mut Script, seed: u64, mut look: impl FnMut(&Engine)) -> usize {
    let anytime = seed.is_multiple_of(3);
    let mut config = Config::default();
    config.patience = 0;
    config.timeouts = if anytime { Timeouts::Anytime } else { Timeouts::WhenIdle };
    let reference = Reference::new(program, anytime);
    let mut watch =
        Watch { inner: Walk::default(), reference, before: BTreeMap::new(), pick: None, points: 0 };
    look(&once_under(config, program, &mut watch, seed));
    watch.points
}

#[test]
fn every_point_agrees_with_the_reference() {
    let mut points = 0;
    let mut kinds: BTreeMap<Kind, usize> = BTreeMap::new();
    for seed in 0..affordable(2_000) {
        let mut program = mixed(&mut Rng::for_run(seed, 7));
        points += watched(&mut program, seed, |engine| {
            for event in &engine.summary().trace.events {
                *kinds.entry(event.operation.kind).or_default() += 1;
            }
        });
    }
    if !is_thorough() {
        return;
    }
    assert!(points > 20_000, "{points}");
    let rare =
        [Kind::ConditionReacquire, Kind::Barrier, Kind::Join, Kind::WriteLock, Kind::OnceEnd, Kind::Sleep];
    assert!(rare.iter().all(|kind| kinds.get(kind).is_some_and(|&count| count > 100)), "{kinds:?}");
}

#[test]
#[cfg_attr(miri, ignore = "looks at each of 64 threads and more at each of their steps")]
fn every_point_agrees_with_more_threads_than_bits() {
    // The child of the first thread is the 64th, 65th or a later one.
    let mut points = 0;
    for seed in 0..affordable(60) {
        let threads = 63 + seed as u32 % 4;
        points += watched(&mut mixed_of(&mut Rng::for_run(seed, 9), threads), seed, |_| ());
    }
    assert!(!is_thorough() || points > 5_000, "{points}");
}
