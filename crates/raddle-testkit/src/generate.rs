//! Small random programs.

use crate::{Act, Script};
use raddle_engine::{Resource, Rng};
use raddle_model::Kind;

fn access(rng: &mut Rng, objects: u32) -> Act {
    let object = rng.below(u64::from(objects)) as u32;
    match rng.below(5) {
        0 | 1 => Act::R(object),
        2 => Act::On(Kind::ReadModifyWrite, object),
        _ => Act::W(object),
    }
}

/// Generates `threads` threads of one to `length` reads and writes of two memory objects.
pub fn straight(rng: &mut Rng, threads: u32, length: u64) -> Script {
    let mut script = Script::new().object(Resource::Memory).object(Resource::Memory);
    for _ in 0..threads {
        let acts: Vec<Act> = (0..=rng.below(length)).map(|_| access(rng, 2)).collect();
        script = script.thread(&acts);
    }
    script
}

/// Generates `threads` threads, each with one access outside and one or two inside a critical section, over
/// two mutexes.
pub fn locked(rng: &mut Rng, threads: u32) -> Script {
    let mut script = Script::new().object(Resource::Memory).object(Resource::Memory).mutex().mutex();
    for _ in 0..threads {
        let mutex = 2 + rng.below(2) as u32;
        let mut acts = vec![Act::On(Kind::Lock, mutex), access(rng, 2), Act::On(Kind::Unlock, mutex)];
        let extra = access(rng, 2);
        match rng.below(4) {
            0 => acts.insert(0, extra),
            1 => acts.push(extra),
            2 => acts.insert(1, extra),
            _ => {}
        }
        script = script.thread(&acts);
    }
    script
}

/// Generates two threads that start at once and spawn a child each, in an order that depends on the schedule;
/// one joins its child.
pub fn spawning(rng: &mut Rng) -> Script {
    let mut script = Script::new().object(Resource::Memory).object(Resource::Memory);
    for number in 0..2 {
        let mut acts = vec![Act::Spawn(2 + number), access(rng, 2)];
        if rng.below(2) == 0 {
            acts.insert(0, access(rng, 2));
        }
        if number == 0 {
            acts.insert(acts.len() - rng.below(2) as usize, Act::Join(2));
        }
        script = script.thread(&acts);
    }
    for _ in 0..2 {
        let acts: Vec<Act> = (0..=rng.below(2)).map(|_| access(rng, 2)).collect();
        script = script.spawned(&acts);
    }
    script
}

/// Generates three threads and a child over memory (0, 1), a mutex (2), a condition variable (3), a semaphore
/// (4), a barrier for two (5), a read-write lock (6) and a one-time initialisation (7). Each thread does a
/// few random things that are correct on their own; together they may deadlock.
pub fn mixed(rng: &mut Rng) -> Script {
    mixed_of(rng, 3)
}

/// Does [`mixed`] with `threads` threads and a child.
pub fn mixed_of(rng: &mut Rng, threads: u32) -> Script {
    let mut script = Script::new()
        .object(Resource::Memory)
        .object(Resource::Memory)
        .mutex()
        .object(Resource::condition())
        .object(Resource::semaphore(1))
        .object(Resource::barrier(2))
        .object(Resource::read_write_lock())
        .object(Resource::once());
    for number in 0..threads {
        let mut acts = if number == 0 { vec![Act::Spawn(threads)] } else { Vec::new() };
        for _ in 0..3 {
            acts.extend_from_slice(&fragment(rng));
        }
        if number == 0 {
            acts.push(Act::Join(threads));
        }
        script = script.thread(&acts);
    }
    let child = [access(rng, 2), Act::On(Kind::Broadcast, 3), access(rng, 2)];
    script.spawned(&child)
}

fn fragment(rng: &mut Rng) -> Vec<Act> {
    use Act::{Bare, On, Wait, With};
    match rng.below(15) {
        0 => vec![On(Kind::Lock, 2), access(rng, 2), On(Kind::Unlock, 2)],
        1 => vec![On(Kind::Lock, 2), Wait(3, 2), access(rng, 2), On(Kind::Unlock, 2)],
        2 => vec![On(Kind::Signal, 3)],
        3 => vec![On(Kind::Lock, 2), On(Kind::Signal, 3), On(Kind::Unlock, 2)],
        4 => vec![On(Kind::SemaphoreWait, 4), access(rng, 2)],
        5 => vec![On(Kind::SemaphorePost, 4)],
        6 => vec![With(Kind::Barrier, 5, rng.below(2))],
        7 => vec![On(Kind::ReadLock, 6), access(rng, 2), On(Kind::ReadWriteUnlock, 6)],
        8 => vec![On(Kind::WriteLock, 6), access(rng, 2), On(Kind::ReadWriteUnlock, 6)],
        9 => vec![Bare(Kind::Choose, 1 + rng.below(3))],
        10 => vec![Bare(Kind::Sleep, rng.below(20))],
        11 => vec![On(Kind::SemaphoreTryWait, 4)],
        12 => vec![Act::Once(7), access(rng, 2), On(Kind::OnceEnd, 7)],
        13 => vec![Bare(Kind::Yield, 0), Act::Step],
        _ => vec![access(rng, 2)],
    }
}
