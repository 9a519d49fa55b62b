//! An interpreter of generated programs, from the written semantics of the lab's language
//! (`raddle_lab::syntax`).
//!
//! A statement on a shared object is one event; statements on locals run together with the event before them,
//! or with the start of their thread. `wait c m` is two events: release and queue, then take the mutex back
//! once woken.

use crate::program::{Condition, LOCALS, Place, Program, Statement, Value};

/// One instruction.
#[derive(Clone, Debug)]
enum Instruction {
    /// A scheduling point.
    Event(Action),
    /// A check of a local.
    Assert(Condition),
    /// Jumps there if the condition on a local does not hold.
    Unless(Condition, usize),
    /// Jumps there.
    Jump(usize),
}

/// The action of an event.
#[derive(Clone, Debug)]
enum Action {
    Set(usize, Value),
    Read(usize, usize),
    Add(usize, i64),
    Fetch(usize, usize),
    Assert(Condition),
    Branch(Condition, usize),
    Lock(usize),
    TryLock(usize, usize),
    Unlock(usize),
    ReadLock(usize),
    WriteLock(usize),
    RwUnlock(usize),
    Down(usize),
    Up(usize),
    Wait(usize, usize),
    Signal(usize),
    Broadcast(usize),
    Barrier(usize),
    OnceBegin(usize, usize),
    OnceEnd(usize),
    Spawn(usize),
    Join(usize),
    Step,
    Choose(usize, i64),
    Exit,
}

/// The state of a thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Status {
    /// It has not been spawned.
    Unborn,
    /// It is about to execute the event at this instruction.
    At(usize),
    /// It waits for the others at a barrier, and continues at this instruction.
    Arrived(usize),
    /// It waits for a signal, then needs this mutex, and continues at this instruction.
    Queued(usize, usize),
    /// It was woken and needs this mutex.
    Woken(usize, usize),
    /// It has ended.
    Ended,
}

/// The end of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum End {
    /// Without a failure.
    Passed,
    /// An assertion did not hold.
    Assertion,
    /// Threads are left, and none of them can continue.
    Deadlock,
    /// An object was misused.
    Misuse,
}

impl End {
    /// Returns the name of the failure in `raddle`.
    pub fn failure(self) -> Option<&'static str> {
        match self {
            End::Passed => None,
            End::Assertion => Some("assertion"),
            End::Deadlock => Some("deadlock"),
            End::Misuse => Some("misuse"),
        }
    }
}

/// The state of a program between two events.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct State {
    threads: Vec<Status>,
    locals: Vec<[i64; LOCALS]>,
    variables: Vec<i64>,
    mutexes: Vec<Option<usize>>,
    /// The writer, and the readers in ascending order.
    rwlocks: Vec<(Option<usize>, Vec<usize>)>,
    /// The waiting threads, in the order of arrival.
    conditions: Vec<Vec<usize>>,
    semaphores: Vec<i64>,
    /// The threads that have arrived, in ascending order.
    barriers: Vec<Vec<usize>>,
    /// True if it is over, and the thread that runs it.
    onces: Vec<(bool, Option<usize>)>,
    /// Set once the run is over.
    pub end: Option<End>,
}

/// The objects that an event touches, each with true if it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Footprint {
    /// The kind of object, its index, and true if it is written.
    pub touches: Vec<((char, usize), bool)>,
    /// True if it ends the program.
    pub exits: bool,
    /// The thread that it creates.
    pub spawns: Option<usize>,
}

impl Footprint {
    /// Returns true if two events of different threads may not be swapped.
    pub fn depends_on(&self, other: &Footprint) -> bool {
        self.exits || other.exits || self.meets(other)
    }

    /// Returns true if two events touch a common object, and one of them writes it.
    pub fn meets(&self, other: &Footprint) -> bool {
        let meets = |(object, writes): &((char, usize), bool)| {
            other.touches.iter().any(|(o, w)| o == object && (*w || *writes))
        };
        self.touches.iter().any(meets)
    }
}

/// A program as flat code.
#[derive(Debug)]
pub struct Machine {
    code: Vec<Vec<Instruction>>,
    program: Program,
}

impl Machine {
    /// Compiles a program.
    pub fn new(program: &Program) -> Machine {
        let compiled = |block: &Vec<Statement>| {
            let mut code = Vec::new();
            compile(block, &mut code);
            // A `return` continues behind the last instruction.
            let end = code.len();
            for instruction in &mut code {
                if let Instruction::Jump(to) = instruction
                    && *to == usize::MAX
                {
                    *to = end;
                }
            }
            code
        };
        Machine { code: program.blocks.iter().map(compiled).collect(), program: program.clone() }
    }

    /// Returns the threads that exist at the start, in the order of their creation.
    pub fn initial(&self) -> Vec<usize> {
        if self.program.has_main { vec![0] } else { (0..self.code.len()).collect() }
    }

    /// Returns the largest number of threads of a run.
    pub fn thread_count(&self) -> usize {
        self.code.len()
    }

    /// Returns the state before the first event.
    pub fn start(&self) -> State {
        let objects = &self.program.objects;
        let mut state = State {
            threads: vec![Status::Unborn; self.code.len()],
            locals: vec![[0; LOCALS]; self.code.len()],
            variables: vec![0; objects.variables],
            mutexes: vec![None; objects.mutexes],
            rwlocks: vec![(None, Vec::new()); objects.rwlocks],
            conditions: vec![Vec::new(); objects.conditions],
            semaphores: objects.semaphores.clone(),
            barriers: vec![Vec::new(); objects.barriers.len()],
            onces: vec![(false, None); objects.onces],
            end: None,
        };
        for thread in self.initial() {
            self.advance(&mut state, thread, 0);
        }
        self.settle(&mut state);
        state
    }

    /// Returns the next event of a thread, enabled or not; `None` if it has none.
    pub fn pending(&self, state: &State, thread: usize) -> Option<Footprint> {
        let mut footprint = Footprint { touches: Vec::new(), exits: false, spawns: None };
        let touches = &mut footprint.touches;
        let pc = match state.threads[thread] {
            Status::At(pc) => pc,
            Status::Queued(mutex, _) | Status::Woken(mutex, _) => {
                touches.push((('m', mutex), true));
                return Some(footprint);
            }
            Status::Unborn | Status::Arrived(_) | Status::Ended => return None,
        };
        match *self.action(thread, pc) {
            Action::Set(x, Value::Shared(y)) if x != y => {
                touches.extend([(('x', x), true), (('x', y), false)]);
            }
            Action::Set(x, _) | Action::Add(x, _) | Action::Fetch(_, x) => touches.push((('x', x), true)),
            Action::Read(_, x) => touches.push((('x', x), false)),
            Action::Assert(condition) | Action::Branch(condition, _) => {
                if let Place::Shared(x) = condition.place {
                    touches.push((('x', x), false));
                }
            }
            Action::Lock(m) | Action::TryLock(_, m) | Action::Unlock(m) => touches.push((('m', m), true)),
            Action::ReadLock(l) => touches.push((('l', l), false)),
            Action::WriteLock(l) | Action::RwUnlock(l) => touches.push((('l', l), true)),
            Action::Down(s) | Action::Up(s) => touches.push((('s', s), true)),
            Action::Wait(c, m) => touches.extend([(('c', c), true), (('m', m), true)]),
            Action::Signal(c) | Action::Broadcast(c) => touches.push((('c', c), true)),
            Action::Barrier(b) => touches.push((('b', b), false)),
            Action::OnceBegin(o, _) | Action::OnceEnd(o) => touches.push((('o', o), true)),
            Action::Spawn(block) => footprint.spawns = Some(block),
            Action::Join(block) => touches.push((('T', block), false)),
            Action::Step | Action::Choose(..) => (),
            Action::Exit => footprint.exits = true,
        }
        Some(footprint)
    }

    /// Returns the number of ways in which a thread can continue: 0 if it is not enabled, more than 1 if a
    /// number is drawn.
    pub fn arity(&self, state: &State, thread: usize) -> usize {
        if state.end.is_some() {
            return 0;
        }
        let pc = match state.threads[thread] {
            Status::At(pc) => pc,
            Status::Woken(mutex, _) => return usize::from(state.mutexes[mutex].is_none()),
            _ => return 0,
        };
        match *self.action(thread, pc) {
            Action::Lock(m) => usize::from(state.mutexes[m].is_none()),
            Action::ReadLock(l) => usize::from(state.rwlocks[l].0.is_none()),
            Action::WriteLock(l) => {
                usize::from(state.rwlocks[l].0.is_none() && state.rwlocks[l].1.is_empty())
            }
            Action::Down(s) => usize::from(state.semaphores[s] > 0),
            Action::OnceBegin(o, _) => usize::from(state.onces[o].1.is_none()),
            Action::Join(block) => usize::from(state.threads[block] == Status::Ended),
            Action::Signal(c) => state.conditions[c].len().max(1),
            Action::Choose(_, count) => count as usize,
            _ => 1,
        }
    }

    /// Executes the next event of an enabled thread. `pick` is the number drawn, if there is a choice.
    pub fn step(&self, state: &State, thread: usize, pick: usize) -> State {
        let mut next = state.clone();
        let after = match next.threads[thread] {
            Status::Woken(mutex, pc) => {
                next.mutexes[mutex] = Some(thread);
                Some(pc)
            }
            Status::At(pc) => self.execute(&mut next, thread, pc, pick),
            status => unreachable!("a thread that is {status:?} is not enabled"),
        };
        if let Some(pc) = after
            && next.end.is_none()
        {
            self.advance(&mut next, thread, pc);
        }
        self.settle(&mut next);
        next
    }

    fn action(&self, thread: usize, pc: usize) -> &Action {
        match &self.code[thread][pc] {
            Instruction::Event(action) => action,
            other => unreachable!("{other:?} is not an event"),
        }
    }

    /// Returns the instruction at which the thread continues, unless it waits.
    fn execute(&self, state: &mut State, thread: usize, pc: usize, pick: usize) -> Option<usize> {
        let mut after = pc + 1;
        match *self.action(thread, pc) {
            Action::Set(x, value) => {
                state.variables[x] = match value {
                    Value::Number(number) => number,
                    Value::Sum(t, number) => state.locals[thread][t] + number,
                    Value::Shared(y) => state.variables[y],
                }
            }
            Action::Read(t, x) => state.locals[thread][t] = state.variables[x],
            Action::Add(x, amount) => state.variables[x] += amount,
            Action::Fetch(t, x) => {
                state.locals[thread][t] = state.variables[x];
                state.variables[x] += 1;
            }
            Action::Assert(condition) => {
                if !holds(state, thread, condition) {
                    state.end = Some(End::Assertion);
                }
            }
            Action::Branch(condition, otherwise) => {
                if !holds(state, thread, condition) {
                    after = otherwise;
                }
            }
            Action::Lock(m) => state.mutexes[m] = Some(thread),
            Action::TryLock(t, m) => {
                state.locals[thread][t] = i64::from(state.mutexes[m].is_none());
                state.mutexes[m].get_or_insert(thread);
            }
            Action::Unlock(m) => match state.mutexes[m] {
                Some(owner) if owner == thread => state.mutexes[m] = None,
                _ => state.end = Some(End::Misuse),
            },
            Action::ReadLock(l) => {
                state.rwlocks[l].1.push(thread);
                state.rwlocks[l].1.sort_unstable();
            }
            Action::WriteLock(l) => state.rwlocks[l].0 = Some(thread),
            Action::RwUnlock(l) => {
                let (writer, readers) = &mut state.rwlocks[l];
                if *writer == Some(thread) {
                    *writer = None;
                } else if let Some(index) = readers.iter().position(|&reader| reader == thread) {
                    readers.remove(index);
                } else {
                    state.end = Some(End::Misuse);
                }
            }
            Action::Down(s) => state.semaphores[s] -= 1,
            Action::Up(s) => state.semaphores[s] += 1,
            Action::Wait(c, m) => {
                if state.mutexes[m] == Some(thread) {
                    state.mutexes[m] = None;
                    state.conditions[c].push(thread);
                    state.threads[thread] = Status::Queued(m, after);
                } else {
                    state.end = Some(End::Misuse);
                }
                return None;
            }
            Action::Signal(c) => {
                if !state.conditions[c].is_empty() {
                    let woken = state.conditions[c].remove(pick);
                    wake(state, woken);
                }
            }
            Action::Broadcast(c) => {
                for woken in std::mem::take(&mut state.conditions[c]) {
                    wake(state, woken);
                }
            }
            Action::Barrier(b) => {
                state.threads[thread] = Status::Arrived(after);
                state.barriers[b].push(thread);
                state.barriers[b].sort_unstable();
                if state.barriers[b].len() as i64 == self.program.objects.barriers[b] {
                    for arrived in std::mem::take(&mut state.barriers[b]) {
                        let Status::Arrived(pc) = state.threads[arrived] else {
                            unreachable!("a thread at a barrier has arrived")
                        };
                        self.advance(state, arrived, pc);
                    }
                }
                return None;
            }
            Action::OnceBegin(o, done) => match state.onces[o].0 {
                true => after = done,
                false => state.onces[o].1 = Some(thread),
            },
            Action::OnceEnd(o) => state.onces[o] = (true, None),
            Action::Spawn(block) => self.advance(state, block, 0),
            Action::Join(_) | Action::Step => (),
            Action::Choose(t, _) => state.locals[thread][t] = pick as i64,
            Action::Exit => {
                state.end = Some(End::Passed);
                return None;
            }
        }
        Some(after)
    }

    /// Runs a thread up to its next event.
    fn advance(&self, state: &mut State, thread: usize, mut pc: usize) {
        loop {
            match self.code[thread].get(pc) {
                None => {
                    state.threads[thread] = Status::Ended;
                    return;
                }
                Some(Instruction::Event(_)) => {
                    state.threads[thread] = Status::At(pc);
                    return;
                }
                Some(Instruction::Assert(condition)) => {
                    if !holds(state, thread, *condition) {
                        state.end = Some(End::Assertion);
                        return;
                    }
                    pc += 1;
                }
                Some(Instruction::Unless(condition, to)) => {
                    pc = if holds(state, thread, *condition) { pc + 1 } else { *to };
                }
                Some(Instruction::Jump(to)) => pc = *to,
            }
        }
    }

    /// Ends the run if no thread can continue.
    fn settle(&self, state: &mut State) {
        if state.end.is_none() && (0..self.code.len()).all(|thread| self.arity(state, thread) == 0) {
            let over = |status: &Status| matches!(status, Status::Unborn | Status::Ended);
            state.end = Some(if state.threads.iter().all(over) { End::Passed } else { End::Deadlock });
        }
    }
}

fn wake(state: &mut State, thread: usize) {
    let Status::Queued(mutex, pc) = state.threads[thread] else {
        unreachable!("a waiter of a condition variable is queued")
    };
    state.threads[thread] = Status::Woken(mutex, pc);
}

fn holds(state: &State, thread: usize, condition: Condition) -> bool {
    let left = match condition.place {
        Place::Shared(x) => state.variables[x],
        Place::Local(t) => state.locals[thread][t],
    };
    (left == condition.value) == condition.equal
}

fn compile(block: &[Statement], code: &mut Vec<Instruction>) {
    for statement in block {
        let action = match *statement {
            Statement::Set(x, value) => Action::Set(x, value),
            Statement::Read(t, x) => Action::Read(t, x),
            Statement::Add(x, amount) => Action::Add(x, amount),
            Statement::Fetch(t, x) => Action::Fetch(t, x),
            Statement::Assert(condition) => match condition.place {
                Place::Shared(_) => Action::Assert(condition),
                Place::Local(_) => {
                    code.push(Instruction::Assert(condition));
                    continue;
                }
            },
            Statement::If(condition, ref then, ref otherwise) => {
                let at = code.len();
                code.push(Instruction::Jump(0));
                compile(then, code);
                let skip = code.len();
                code.push(Instruction::Jump(0));
                let second = code.len();
                compile(otherwise, code);
                code[skip] = Instruction::Jump(code.len());
                code[at] = match condition.place {
                    Place::Shared(_) => Instruction::Event(Action::Branch(condition, second)),
                    Place::Local(_) => Instruction::Unless(condition, second),
                };
                continue;
            }
            Statement::Lock(m) => Action::Lock(m),
            Statement::TryLock(t, m) => Action::TryLock(t, m),
            Statement::Unlock(m) => Action::Unlock(m),
            Statement::ReadLock(l) => Action::ReadLock(l),
            Statement::WriteLock(l) => Action::WriteLock(l),
            Statement::RwUnlock(l) => Action::RwUnlock(l),
            Statement::Down(s) => Action::Down(s),
            Statement::Up(s) => Action::Up(s),
            Statement::Wait(c, m) => Action::Wait(c, m),
            Statement::Signal(c) => Action::Signal(c),
            Statement::Broadcast(c) => Action::Broadcast(c),
            Statement::Barrier(b) => Action::Barrier(b),
            Statement::Once(o, ref body) => {
                let at = code.len();
                code.push(Instruction::Jump(0));
                compile(body, code);
                code.push(Instruction::Event(Action::OnceEnd(o)));
                code[at] = Instruction::Event(Action::OnceBegin(o, code.len()));
                continue;
            }
            Statement::Spawn(block) => Action::Spawn(block),
            Statement::Join(block) => Action::Join(block),
            Statement::Step => Action::Step,
            Statement::Choose(t, count) => Action::Choose(t, count),
            Statement::Return => {
                code.push(Instruction::Jump(usize::MAX));
                continue;
            }
            Statement::Exit => Action::Exit,
        };
        code.push(Instruction::Event(action));
    }
}
