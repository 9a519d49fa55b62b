//! Random programs with all kinds of operations.

use raddle_engine::{Engine, Program, Reply, Resource, Rng};
use raddle_model::{Kind, LocationId, MemoryOrder, Operation, ThreadId};
use raddle_testkit::{Act, Script};

/// Number of threads that open a barrier.
pub(crate) const BARRIER: usize = 2;
pub(crate) const BOUNDED: u32 = 10;
const UNBOUNDED: u32 = 11;

/// The kinds of operations in the programs.
pub(crate) const KINDS: [Kind; 32] = [
    Kind::Read,
    Kind::Write,
    Kind::ReadModifyWrite,
    Kind::Lock,
    Kind::TryLock,
    Kind::Unlock,
    Kind::ReadLock,
    Kind::WriteLock,
    Kind::TryReadLock,
    Kind::TryWriteLock,
    Kind::ReadWriteUnlock,
    Kind::ConditionWait,
    Kind::ConditionReacquire,
    Kind::Signal,
    Kind::Broadcast,
    Kind::SemaphoreWait,
    Kind::SemaphoreTryWait,
    Kind::SemaphorePost,
    Kind::Barrier,
    Kind::OnceBegin,
    Kind::OnceEnd,
    Kind::OnceTry,
    Kind::Spawn,
    Kind::Join,
    Kind::Fence,
    Kind::Send,
    Kind::TrySend,
    Kind::Receive,
    Kind::TryReceive,
    Kind::Close,
    Kind::Park,
    Kind::Unpark,
];

/// Creates three threads and a child over memory (plain 0 and 1, atomic 2 and 3; all of it both if `mixed`)
/// and an object of each kind. They may deadlock, and end in misuse.
pub(crate) fn random(rng: &mut Rng, mixed: bool) -> Script {
    let mut script = Script::new();
    for _ in 0..4 {
        script = script.object(Resource::Memory);
    }
    script = script
        .mutex()
        .object(Resource::condition())
        .object(Resource::semaphore(0))
        .object(Resource::barrier(BARRIER as u32))
        .object(Resource::read_write_lock())
        .object(Resource::once())
        .object(Resource::channel(1, 3))
        .object(Resource::channel(u64::MAX, 3))
        .object(Resource::token());
    for number in 0..3 {
        let mut acts = Vec::new();
        let spawns = if number == 0 { Some(rng.below(2)) } else { None };
        for at in 0..4 {
            if spawns == Some(at) {
                acts.push(Act::Spawn(3));
            }
            acts.extend(fragment(rng, mixed));
        }
        if number == 0 {
            acts.push(if rng.below(2) == 0 { Act::Join(3) } else { Act::JoinFor(3, 0) });
            acts.push(plain(rng));
        }
        script = script.thread(&acts);
    }
    let child: Vec<Act> = (0..2).flat_map(|_| fragment(rng, mixed)).collect();
    script.spawned(&child)
}

fn order(rng: &mut Rng, among: &[MemoryOrder]) -> u64 {
    among[rng.below(among.len() as u64) as usize] as u64
}

/// Returns a plain access, or none: with too many of them, runs end before anything was synchronised.
fn plain(rng: &mut Rng) -> Act {
    let kind = match rng.below(12) {
        0 | 1 => Kind::Read,
        2 => Kind::Write,
        3 => Kind::ReadModifyWrite,
        _ => return Act::Step,
    };
    Act::With(kind, rng.below(2) as u32, MemoryOrder::Plain as u64)
}

fn atomic(rng: &mut Rng, mixed: bool) -> Act {
    use MemoryOrder::{Acquire, AcquireRelease, Relaxed, Release, SequentiallyConsistent as Total};
    let object = if mixed { rng.below(4) } else { 2 + rng.below(2) } as u32;
    match rng.below(8) {
        0..=2 => Act::With(Kind::Read, object, order(rng, &[Relaxed, Acquire, Acquire, Total])),
        3 | 4 => Act::With(Kind::Write, object, order(rng, &[Relaxed, Release, Release, Total])),
        5 => {
            let any = [Relaxed, Acquire, Release, AcquireRelease, Total];
            Act::With(Kind::ReadModifyWrite, object, order(rng, &any))
        }
        6 => {
            let any = [Relaxed, Acquire, Release, AcquireRelease, Total];
            let (success, failure) =
                (any[rng.below(5) as usize], [Relaxed, Acquire, Total][rng.below(3) as usize]);
            let exchange = Operation::new(Kind::ReadModifyWrite, LocationId(0)).exchanging(success, failure);
            Act::With(Kind::ReadModifyWrite, object, exchange.argument)
        }
        _ => Act::Bare(Kind::Fence, order(rng, &[Acquire, Release, AcquireRelease, Total])),
    }
}

fn fragment(rng: &mut Rng, mixed: bool) -> Vec<Act> {
    use Act::{Once, Wait, WaitFor, With};
    let any = |kind: Kind, object: u32| With(kind, object, u64::MAX);
    let channel = if rng.below(2) == 0 { BOUNDED } else { UNBOUNDED };
    let timed = if rng.below(2) == 0 { 0 } else { u64::MAX };
    match rng.below(32) {
        0..=2 => vec![any(Kind::Lock, 4), plain(rng), any(Kind::Unlock, 4)],
        3 => vec![any(Kind::Lock, 4), Wait(5, 4), plain(rng), any(Kind::Unlock, 4)],
        4 => vec![any(Kind::Lock, 4), WaitFor(5, 4, 0), any(Kind::Unlock, 4), plain(rng)],
        5 => vec![plain(rng), any(Kind::Signal, 5)],
        6 => vec![any(Kind::Lock, 4), any(Kind::Broadcast, 5), any(Kind::Unlock, 4)],
        7 => vec![With(Kind::SemaphoreWait, 6, timed), plain(rng)],
        8 => vec![any(Kind::SemaphoreTryWait, 6)],
        9 => vec![plain(rng), any(Kind::SemaphorePost, 6)],
        10 => vec![With(Kind::Barrier, 7, 0), plain(rng)],
        11 => vec![any(Kind::ReadLock, 8), plain(rng), any(Kind::ReadWriteUnlock, 8)],
        12 => vec![any(Kind::WriteLock, 8), plain(rng), any(Kind::ReadWriteUnlock, 8)],
        13 => vec![Once(9), plain(rng), With(Kind::OnceEnd, 9, rng.below(2))],
        14 => vec![any(Kind::OnceTry, 9), plain(rng)],
        15 => vec![plain(rng), any(Kind::Send, channel)],
        16 => vec![any(Kind::TrySend, channel)],
        17 => vec![With(Kind::Receive, channel, timed), plain(rng)],
        18 => vec![any(Kind::TryReceive, channel)],
        19 => vec![With(Kind::Close, channel, u64::from(rng.below(4) == 0))],
        20 => vec![With(Kind::Park, 12, timed), plain(rng)],
        21 => vec![plain(rng), any(Kind::Unpark, 12)],
        22 => vec![Act::R(rng.below(4) as u32), Act::W(4)],
        // A thread that does not get it ends in misuse, which is an end like any other.
        23 => vec![any(Kind::TryLock, 4), any(Kind::Unlock, 4)],
        24 => vec![any(Kind::TryWriteLock, 8), any(Kind::ReadWriteUnlock, 8)],
        25 => vec![any(Kind::TryReadLock, 8), any(Kind::ReadWriteUnlock, 8)],
        // These may keep the lock forever.
        26 => vec![any(Kind::TryLock, 4), plain(rng)],
        27 => vec![With(Kind::Lock, 4, 0), plain(rng)],
        28 => vec![any([Kind::TryReadLock, Kind::TryWriteLock][rng.below(2) as usize], 8), plain(rng)],
        _ => vec![atomic(rng, mixed), atomic(rng, mixed)],
    }
}

/// A script in which some exchanges fail.
pub(crate) struct Exchanging {
    pub(crate) script: Script,
    rng: Rng,
    begun: Vec<bool>,
    /// For each reply of the script, true if the operation was an exchange and failed.
    pub(crate) failed: Vec<bool>,
}

impl Exchanging {
    pub(crate) fn new(script: Script, seed: u64) -> Exchanging {
        Exchanging { script, rng: Rng::for_run(seed, 3), begun: Vec::new(), failed: Vec::new() }
    }
}

impl Program for Exchanging {
    fn start(&mut self, engine: &mut Engine) {
        self.script.start(engine);
    }

    fn resume(&mut self, engine: &mut Engine, thread: ThreadId, reply: Reply) {
        self.begun.resize(self.begun.len().max(thread.index() + 1), false);
        if std::mem::replace(&mut self.begun[thread.index()], true) {
            let failed = self.rng.below(2) == 0;
            self.failed.push(failed);
            if failed {
                engine.note_failed_exchange(thread);
            }
        }
        self.script.resume(engine, thread, reply);
    }
}
