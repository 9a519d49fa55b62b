//! Under weak memory a run keeps few messages, and no access allocates once the tables have grown.

use raddle_engine::{Config, Engine, Program, Reply, Resource, Rng, run};
use raddle_model::MemoryOrder::{Acquire, AcquireRelease, Relaxed, Release, SequentiallyConsistent};
use raddle_model::{Access, Kind, LocationId, MemoryModel, MemoryOrder, Name, ObjectId, Operation, ThreadId};
use raddle_strategies::build;

const ATOMICS: usize = 4;

/// Two threads that load, store and add in turn.
struct Accesses {
    /// The number of accesses of each thread.
    count: usize,
    orders: [MemoryOrder; 3],
    memory: [u128; ATOMICS],
    /// Per thread: the number of accesses that were announced.
    at: [usize; 2],
}

impl Accesses {
    fn new(count: usize, orders: [MemoryOrder; 3]) -> Accesses {
        Accesses { count, orders, memory: [0; ATOMICS], at: [0; 2] }
    }

    /// Completes the access that `thread` announced last.
    fn complete(&mut self, engine: &mut Engine, thread: ThreadId) {
        let step = self.at[thread.index()] - 1;
        let held = &mut self.memory[(step + thread.index()) % ATOMICS];
        let written = match step % 3 {
            0 => return,
            1 => step as u128,
            _ if engine.is_weak() => engine.read_value() + 1,
            _ => *held + 1,
        };
        *held = if engine.is_weak() { engine.note_written(written) } else { written };
    }
}

impl Program for Accesses {
    fn start(&mut self, engine: &mut Engine) {
        (self.memory, self.at) = ([0; ATOMICS], [0; 2]);
        for atomic in 0..ATOMICS {
            engine.add_object(Name(atomic as u64), Resource::Memory);
        }
        self.at.iter().for_each(|_| _ = engine.add_thread());
    }

    fn resume(&mut self, engine: &mut Engine, thread: ThreadId, _reply: Reply) {
        let step = self.at[thread.index()];
        if step > 0 {
            self.complete(engine, thread);
        }
        if step == self.count {
            return engine.finish(thread);
        }
        self.at[thread.index()] += 1;
        let atomic = (step + thread.index()) % ATOMICS;
        let (kind, access) = [
            (Kind::Read, Access::Read),
            (Kind::Write, Access::Write),
            (Kind::ReadModifyWrite, Access::Write),
        ][step % 3];
        let operation = Operation::new(kind, LocationId(step as u32 % 3)).on(ObjectId(atomic as u32), access);
        let operation = operation.ordered(self.orders[step % 3]);
        let operation = if engine.is_weak() {
            engine.prepare_access(thread, operation, self.memory[atomic], None)
        } else {
            operation
        };
        engine.announce(thread, operation);
    }
}

fn engine(memory: MemoryModel) -> Engine {
    let mut config = Config::default();
    (config.memory, config.step_limit) = (memory, u64::MAX);
    Engine::new(config)
}

const RELAXED: [MemoryOrder; 3] = [Relaxed; 3];
const SYNCHRONIZING: [MemoryOrder; 3] = [Acquire, Release, AcquireRelease];

#[test]
#[cfg_attr(miri, ignore = "nothing is allocated only after hundreds of long runs")]
fn an_access_does_not_allocate() {
    for orders in [RELAXED, SYNCHRONIZING, [SequentiallyConsistent; 3]] {
        let (mut engine, mut strategy) = (engine(MemoryModel::Weak), build("random-walk").unwrap());
        let mut program = Accesses::new(300, orders);
        let mut one_run = |number: u64| {
            strategy.begin(Rng::for_run(1, number));
            allocation_counter::measure(|| run(&mut engine, &mut program, &mut *strategy)).count_total
        };
        // The tables grow in the first runs, to the largest size that any of these needs.
        (0..300).for_each(|number| _ = one_run(number));
        let counted: u64 = (0..300).map(one_run).sum();
        assert_eq!(counted, 0, "{orders:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "a million accesses take long")]
fn a_million_accesses_keep_few_messages() {
    for orders in [RELAXED, SYNCHRONIZING] {
        let most = |memory| {
            let (mut engine, mut strategy) = (engine(memory), build("random-walk").unwrap());
            let mut program = Accesses::new(500_000, orders);
            // Of two runs one at least reads old values.
            let one_run = |number| {
                strategy.begin(Rng::for_run(1, number));
                run(&mut engine, &mut program, &mut *strategy);
            };
            allocation_counter::measure(|| (0..4).for_each(one_run)).bytes_max
        };
        let (sc, weak) = (most(MemoryModel::Sc), most(MemoryModel::Weak));
        // The choices are part of the trace, 12 bytes each. All messages would be 60 MiB.
        assert!(weak < sc + (16 << 20), "{orders:?}: {weak} bytes, and {sc} under sc");
    }
}
