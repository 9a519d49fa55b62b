//! Straight-line programs over atomics and one mutex, run on the engine.

use raddle_engine::{Config, Engine, MutexKind, Program, Reply, Resource};
use raddle_model::{Access, Kind, LocationId, MemoryModel, MemoryOrder, Name, ObjectId, Operation, ThreadId};
use raddle_testkit::every_schedule;
use std::collections::BTreeSet;

/// One step of a thread. Atomics are numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    Load(u32, MemoryOrder),
    Store(u32, u128, MemoryOrder),
    Add(u32, u128, MemoryOrder),
    Exchange(u32, [u128; 2], [MemoryOrder; 2]),
    Fence(MemoryOrder),
    /// A plain read, of the newest value.
    Read(u32),
    /// A plain write.
    Write(u32, u128),
    Lock,
    Unlock,
    /// Loads until the value is not 0.
    Await(u32, MemoryOrder),
    /// Writes the memory of an atomic while no other thread uses it.
    Assign(u32, u128),
}

/// The number of atomics of a program; the mutex comes after them.
pub(crate) const ATOMICS: u32 = 3;

#[derive(Clone, Debug)]
pub(crate) struct Atomics {
    threads: Vec<Vec<Act>>,
    at: Vec<usize>,
    announced: Vec<bool>,
    pub(crate) memory: Vec<u128>,
    /// The values that each thread has read.
    pub(crate) read: Vec<Vec<u128>>,
}

impl Atomics {
    pub(crate) fn new(threads: &[&[Act]]) -> Atomics {
        let threads: Vec<Vec<Act>> = threads.iter().map(|thread| thread.to_vec()).collect();
        Atomics { threads, at: Vec::new(), announced: Vec::new(), memory: Vec::new(), read: Vec::new() }
    }

    /// Completes the step that was announced.
    fn complete(&mut self, engine: &mut Engine, thread: usize) {
        let weak = engine.is_weak();
        let mut at = self.at[thread] + 1;
        match self.threads[thread][self.at[thread]] {
            Act::Load(atomic, _) | Act::Await(atomic, _) => {
                let value = if weak { engine.read_value() } else { self.memory[atomic as usize] };
                self.read[thread].push(value);
                let awaits = matches!(self.threads[thread][self.at[thread]], Act::Await(..));
                at -= usize::from(awaits && value == 0);
            }
            Act::Store(atomic, value, _) => self.write(engine, atomic, value),
            Act::Add(atomic, amount, _) => {
                let before = if weak { engine.read_value() } else { self.memory[atomic as usize] };
                self.read[thread].push(before);
                self.write(engine, atomic, before + amount);
            }
            Act::Exchange(atomic, [expected, new], _) => {
                let before = if weak { engine.read_value() } else { self.memory[atomic as usize] };
                self.read[thread].push(before);
                if before == expected {
                    self.write(engine, atomic, new);
                } else {
                    engine.note_failed_exchange(ThreadId(thread as u32));
                }
            }
            Act::Read(variable) => self.read[thread].push(self.memory[variable as usize]),
            Act::Assign(atomic, value) | Act::Write(atomic, value) => self.memory[atomic as usize] = value,
            Act::Fence(_) | Act::Lock | Act::Unlock => {}
        }
        self.at[thread] = at;
    }

    fn write(&mut self, engine: &mut Engine, atomic: u32, value: u128) {
        self.memory[atomic as usize] = if engine.is_weak() { engine.note_written(value) } else { value };
    }

    fn announce(&mut self, engine: &mut Engine, thread: ThreadId) {
        let at = self.at[thread.index()];
        let location = LocationId(thread.0 * 100 + at as u32);
        let step = |kind, atomic: u32, access| Operation::new(kind, location).on(ObjectId(atomic), access);
        let (operation, expected) = match self.threads[thread.index()][at] {
            Act::Load(atomic, order) | Act::Await(atomic, order) => {
                (step(Kind::Read, atomic, Access::Read).ordered(order), None)
            }
            Act::Store(atomic, _, order) => (step(Kind::Write, atomic, Access::Write).ordered(order), None),
            Act::Add(atomic, _, order) => {
                (step(Kind::ReadModifyWrite, atomic, Access::Write).ordered(order), None)
            }
            Act::Exchange(atomic, [expected, _], [success, failure]) => {
                let exchange = step(Kind::ReadModifyWrite, atomic, Access::Write);
                (exchange.exchanging(success, failure), Some(expected))
            }
            Act::Read(variable) => {
                (step(Kind::Read, variable, Access::Read).ordered(MemoryOrder::Plain), None)
            }
            Act::Write(variable, _) => {
                (step(Kind::Write, variable, Access::Write).ordered(MemoryOrder::Plain), None)
            }
            Act::Fence(order) => (Operation::new(Kind::Fence, location).ordered(order), None),
            Act::Lock => (step(Kind::Lock, ATOMICS, Access::Write), None),
            Act::Unlock => (step(Kind::Unlock, ATOMICS, Access::Write), None),
            Act::Assign(..) => (Operation::new(Kind::Local, location), None),
        };
        let operation = match operation.kind {
            Kind::Fence if engine.is_weak() => engine.prepare_fence(operation),
            _ if operation.memory_order() == Some(MemoryOrder::Plain) => operation,
            kind if engine.is_weak() && kind.accesses_memory() => {
                let held = operation.object().map_or(0, |object| self.memory[object.index()]);
                engine.prepare_access(thread, operation, held, expected)
            }
            _ => operation,
        };
        engine.announce(thread, operation);
    }
}

impl Program for Atomics {
    fn start(&mut self, engine: &mut Engine) {
        let count = self.threads.len();
        self.memory = vec![0; ATOMICS as usize];
        (self.at, self.announced, self.read) = (vec![0; count], vec![false; count], vec![Vec::new(); count]);
        for atomic in 0..ATOMICS {
            engine.add_object(Name(u64::from(atomic)), Resource::Memory);
        }
        engine.add_object(Name(100), Resource::mutex(MutexKind::Normal));
        self.threads.iter().for_each(|_| {
            engine.add_thread();
        });
    }

    fn resume(&mut self, engine: &mut Engine, thread: ThreadId, _reply: Reply) {
        if self.announced[thread.index()] {
            self.complete(engine, thread.index());
        }
        self.announced[thread.index()] = true;
        if self.at[thread.index()] < self.threads[thread.index()].len() {
            self.announce(engine, thread);
        } else {
            engine.finish(thread);
        }
    }
}

pub(crate) fn config(memory: MemoryModel) -> Config {
    let mut config = Config::default();
    config.memory = memory;
    config
}

/// Returns what the threads have read at the end of all runs, one after the other, and the number of runs.
pub(crate) fn outcomes(memory: MemoryModel, threads: &[&[Act]]) -> (BTreeSet<Vec<u128>>, usize) {
    let mut found = BTreeSet::new();
    let runs = every_schedule(config(memory), &mut Atomics::new(threads), |program, _| {
        found.insert(program.read.concat());
    });
    (found, runs)
}

/// Tells whether a run under weak memory may read these values.
pub(crate) fn allows(threads: &[&[Act]], values: &[u128]) -> bool {
    outcomes(MemoryModel::Weak, threads).0.contains(values)
}
