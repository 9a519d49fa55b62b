//! Random programs.

use crate::graph::Graph;
use crate::machine::Machine;
use crate::program::{Condition, LOCALS, Objects, Place, Program, Statement, Value};
use std::ops::RangeInclusive;

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Returns the stream of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns a number below `count`.
    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    /// Returns true once in `times` times on average.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// The size of the wanted programs.
#[derive(Clone, Debug)]
pub struct Size {
    /// The largest number of nodes of their graphs.
    pub nodes: usize,
    /// The largest number of schedules.
    pub schedules: u128,
    /// The number of partial orders.
    pub orders: RangeInclusive<usize>,
}

/// Returns the program with this number, and all its runs: the first one of its stream that has the wanted
/// size.
pub fn generated(seed: u64, number: u64, size: &Size) -> (Program, Graph) {
    let mut random = Random::new(seed << 32 ^ number.wrapping_mul(0x1234_5678_9abc_def1));
    loop {
        let program = program(&mut random);
        let Ok(graph) = Graph::new(&Machine::new(&program), size.nodes) else { continue };
        if size.orders.contains(&graph.ends().count()) && graph.schedules() <= size.schedules {
            return (program, graph);
        }
    }
}

/// Returns a random program. It may be of any size.
pub fn program(random: &mut Random) -> Program {
    let has_main = random.once_in(2);
    let threads = 2 + random.below(if has_main { 3 } else { 2 });
    let mut program = Program {
        has_main,
        blocks: Vec::new(),
        objects: Objects {
            variables: 1 + random.below(2),
            mutexes: 2,
            rwlocks: 1,
            conditions: 1,
            semaphores: vec![random.below(2) as i64],
            barriers: Vec::new(),
            onces: 1,
        },
    };
    // Few kinds of statements in one program, so that threads meet.
    let mut kinds: Vec<usize> = (0..1 + random.below(3)).map(|_| random.below(KINDS)).collect();
    if random.once_in(4) {
        // Numbers drawn beside steps that may end the run.
        kinds.extend([DRAWS, 3 + random.below(4)]);
    }
    for _ in 0..threads {
        let mut block = Vec::new();
        for _ in 0..1 + random.below(2) {
            let kind = kinds[random.below(kinds.len())];
            fragment(random, &program.objects, kind, &mut block);
        }
        program.blocks.push(block);
    }
    if random.once_in(6) {
        add_barrier(random, &mut program);
    }
    if has_main {
        add_spawns(random, &mut program);
    }
    program
}

/// Number of kinds of fragments.
const KINDS: usize = 14;
/// The kind of fragment that draws a number.
const DRAWS: usize = 12;

fn fragment(random: &mut Random, objects: &Objects, kind: usize, block: &mut Vec<Statement>) {
    let variables = objects.variables;
    let (x, t) = (random.below(variables), random.below(LOCALS));
    match kind {
        0 | 1 => memory(random, variables, block),
        2 => {
            // An update that others can interleave with.
            block.extend([Statement::Read(t, x), Statement::Set(x, Value::Sum(t, 1))]);
        }
        3 => {
            block.push(Statement::Read(t, x));
            let condition = Condition { place: Place::Local(t), equal: random.once_in(2), value: 0 };
            block.push(Statement::Assert(condition));
        }
        4 => block.push(Statement::Assert(shared(random, x))),
        5 => {
            let (mut then, mut otherwise) = (Vec::new(), Vec::new());
            match random.below(4) {
                0 => then.push(Statement::Return),
                1 if random.once_in(2) => then.push(Statement::Exit),
                _ => memory(random, variables, &mut then),
            }
            if random.once_in(3) {
                memory(random, variables, &mut otherwise);
            }
            block.push(Statement::If(shared(random, x), then, otherwise));
        }
        6 => {
            let m = random.below(objects.mutexes);
            if !random.once_in(12) {
                block.push(Statement::Lock(m));
            }
            memory(random, variables, block);
            if random.once_in(4) {
                let other = (m + 1) % objects.mutexes;
                block.extend([Statement::Lock(other), Statement::Unlock(other)]);
            }
            if !random.once_in(12) {
                block.push(Statement::Unlock(m));
            }
        }
        7 => {
            let m = random.below(objects.mutexes);
            block.push(Statement::TryLock(t, m));
            let mut then = Vec::new();
            memory(random, variables, &mut then);
            then.push(Statement::Unlock(m));
            let got = Condition { place: Place::Local(t), equal: true, value: 1 };
            block.push(Statement::If(got, then, Vec::new()));
        }
        8 => match random.once_in(2) {
            true => block.extend([Statement::ReadLock(0), Statement::Read(t, x), Statement::RwUnlock(0)]),
            false => block.extend([
                Statement::WriteLock(0),
                Statement::Set(x, Value::Number(2)),
                Statement::RwUnlock(0),
            ]),
        },
        9 => match random.below(3) {
            0 => block.push(Statement::Down(0)),
            1 => block.push(Statement::Up(0)),
            _ => block.extend([Statement::Up(0), Statement::Down(0)]),
        },
        10 => match random.below(4) {
            0 => block.extend([Statement::Lock(0), Statement::Wait(0, 0), Statement::Unlock(0)]),
            1 => {
                let unset = Condition { place: Place::Shared(x), equal: true, value: 0 };
                let wait = Statement::If(unset, vec![Statement::Wait(0, 0)], Vec::new());
                block.extend([Statement::Lock(0), wait, Statement::Unlock(0)]);
            }
            2 => block.push(Statement::Signal(0)),
            _ => block.push(Statement::Broadcast(0)),
        },
        11 => {
            let mut body = Vec::new();
            memory(random, variables, &mut body);
            block.push(Statement::Once(0, body));
        }
        DRAWS => {
            block.push(Statement::Choose(t, 2 + random.below(2) as i64));
            let drawn = Condition { place: Place::Local(t), equal: random.once_in(2), value: 1 };
            match random.below(4) {
                // Ends the run in the step that draws the number, or in the one after it.
                0 => block.push(Statement::Assert(drawn)),
                1 => {
                    let then = if random.once_in(2) { Statement::Exit } else { Statement::Unlock(0) };
                    block.push(Statement::If(drawn, vec![then], Vec::new()));
                }
                _ => block.push(Statement::Set(x, Value::Sum(t, 0))),
            }
        }
        _ => match random.once_in(4) {
            true => block.push(Statement::Exit),
            false => block.push(Statement::Step),
        },
    }
}

fn memory(random: &mut Random, variables: usize, block: &mut Vec<Statement>) {
    let (x, t) = (random.below(variables), random.below(LOCALS));
    block.push(match random.below(6) {
        0 | 1 => Statement::Set(x, Value::Number(1 + random.below(2) as i64)),
        2 => Statement::Read(t, x),
        3 => Statement::Add(x, 1),
        4 => Statement::Fetch(t, x),
        _ => Statement::Set(x, Value::Shared(random.below(variables))),
    });
}

fn shared(random: &mut Random, x: usize) -> Condition {
    Condition { place: Place::Shared(x), equal: random.once_in(2), value: random.below(3) as i64 }
}

/// Lets some threads meet at a barrier that takes as many, or one more.
fn add_barrier(random: &mut Random, program: &mut Program) {
    let users = 2 + random.below(program.blocks.len() - 1);
    program.objects.barriers.push(users as i64 + i64::from(random.once_in(5)));
    for block in program.blocks.iter_mut().rev().take(users) {
        let place = random.below(block.len() + 1);
        block.insert(place, Statement::Barrier(0));
    }
}

/// Lets `main`, or a thread created earlier, create each of the other threads, and `main` wait for some of
/// them.
fn add_spawns(random: &mut Random, program: &mut Program) {
    let mut place = 0;
    for child in 1..program.blocks.len() {
        if child > 1 && random.once_in(4) {
            let parent = 1 + random.below(child - 1);
            let place = random.below(program.blocks[parent].len() + 1);
            program.blocks[parent].insert(place, Statement::Spawn(child));
            continue;
        }
        let main = &mut program.blocks[0];
        place += random.below(main.len() - place + 1);
        main.insert(place, Statement::Spawn(child));
        place += 1;
        if random.once_in(2) {
            let after = place + random.below(main.len() - place + 1);
            main.insert(after, Statement::Join(child));
        }
    }
}
