//! The output of the compiler: a flat program that an interpreter runs without looking at names.
//!
//! To run it, keep `shared = program.initial_values()`, and per thread its `locals` (as many as
//! [`Thread::locals`], zero except slot 0 = the argument) and `pc = 0`. Before a thread is first announced
//! and after each of its events, call [`Thread::run_local`]; it stops at the next event, whose
//! [`Event::accesses`] are the announcement, or at the thread's end. To run a memory event call
//! [`MemoryAction::run`](super::MemoryAction::run); the interpreter handles synchronisation. After an event
//! `pc` goes up by one, unless the event jumps.

use super::ast::{ObjectKind, Position};
use super::event::Event;
use super::expression::{Expr, Fault};
use raddle_model::MemoryOrder;

/// Largest number of local instructions between two events; more is treated as an endless loop.
pub const LOCAL_STEP_LIMIT: u32 = 1_000_000;

/// Largest number of threads of a run; strategies support at most 2^20.
pub const THREAD_LIMIT: usize = 1_000_000;

/// A compiled program.
#[derive(Debug, Clone)]
pub struct Program {
    /// The shared objects. Invariant: variables come first, so a variable's object number is also its
    /// index in the slice of shared values.
    pub objects: Vec<Object>,
    /// Number of variables among the objects.
    pub variables: u32,
    /// The thread blocks in the order of the text.
    pub threads: Vec<Thread>,
    /// The threads that run from the start, in order.
    pub initial_threads: Vec<Start>,
    /// True if no thread jumps: each runs its instructions in order, once, unless the run ends early.
    pub is_straight_line: bool,
    /// The parameters with the values used.
    pub params: Vec<(String, i64)>,
    /// The sources of instructions; see [`Instruction::source`].
    pub sources: Vec<Source>,
}

/// A shared object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its name; `a[2]` for an array element.
    pub name: String,
    /// Its kind.
    pub kind: ObjectKind,
    /// Initial value, permits of a semaphore, parties of a barrier; else 0.
    pub initial: i64,
}

/// A thread that runs from the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Index into [`Program::threads`].
    pub thread: usize,
    /// Its name: that of the block, with a number from 1 for a copy.
    pub name: String,
    /// The initial value of local 0: a copy's index from 0, else 0.
    pub argument: i64,
}

/// The code of a thread block.
#[derive(Debug, Clone)]
pub struct Thread {
    /// The block's name.
    pub name: String,
    /// The parameter's name, if `spawn` requires an argument. It goes to local 0.
    pub parameter: Option<String>,
    /// Number of locals. Local 0 is the argument or copy index and always exists.
    pub locals: u16,
    /// Names of the locals, for reports; unnamed ones are empty.
    pub local_names: Vec<String>,
    /// The code. A thread ends when it runs past it.
    pub code: Vec<Instruction>,
}

/// The source of an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The start of the statement.
    pub position: Position,
    /// Its text; only the head, if it has a block.
    pub text: String,
    /// Thread and number, such as `A2` for the second event statement of thread A (`T1.2` if the thread's
    /// name ends in a digit). Empty for a statement that is not an event.
    pub label: String,
}

/// One instruction.
#[derive(Debug, Clone)]
pub struct Instruction {
    /// The operation.
    pub operation: Operation,
    /// Index into [`Program::sources`].
    pub source: u32,
}

/// The operation of an instruction. Only `Event` takes part in scheduling.
#[derive(Debug, Clone)]
pub enum Operation {
    /// Computes a local from locals.
    Local {
        /// The local that is set.
        target: u16,
        /// Its new value.
        value: Expr,
    },
    /// An assertion over locals.
    Check(Expr),
    /// Continues elsewhere in the thread.
    Jump(u32),
    /// Continues elsewhere if a condition over locals is zero.
    JumpUnless {
        /// The condition.
        condition: Expr,
        /// The instruction to jump to.
        to: u32,
    },
    /// Ends the thread.
    Return,
    /// A scheduling point.
    Event(Box<Event>),
}

/// The point at which [`Thread::run_local`] stopped.
#[derive(Debug, Clone, Copy)]
pub enum Pause<'a> {
    /// Before this event.
    Event(&'a Event),
    /// The thread is over.
    Ended,
}

impl Program {
    /// Returns true if an atomic access or a fence has an order weaker than `seq_cst`.
    pub fn has_weak_orders(&self) -> bool {
        let is_weak = |order: MemoryOrder| order != MemoryOrder::SequentiallyConsistent;
        let mut code = self.threads.iter().flat_map(|thread| &thread.code);
        code.any(|instruction| match &instruction.operation {
            Operation::Event(event) => event.action.orders().into_iter().flatten().any(is_weak),
            _ => false,
        })
    }

    /// Returns the initial values of the shared variables.
    pub fn initial_values(&self) -> Vec<i64> {
        self.objects[..self.variables as usize].iter().map(|object| object.initial).collect()
    }

    /// Returns the source of an instruction.
    pub fn source(&self, instruction: &Instruction) -> &Source {
        &self.sources[instruction.source as usize]
    }

    /// Returns the block named `name`.
    pub fn thread(&self, name: &str) -> Option<&Thread> {
        self.threads.iter().find(|thread| thread.name == name)
    }
}

impl Thread {
    /// Runs local computation from `pc` up to the next event or the end of the thread.
    ///
    /// On a fault `pc` stays at the instruction that failed.
    #[inline]
    pub fn run_local(&self, pc: &mut u32, locals: &mut [i64]) -> Result<Pause<'_>, Fault> {
        let mut steps = 0;
        while let Some(instruction) = self.code.get(*pc as usize) {
            match &instruction.operation {
                Operation::Event(event) => return Ok(Pause::Event(event)),
                Operation::Local { target, value } => {
                    locals[usize::from(*target)] = value.eval(locals, &[])?;
                    *pc += 1;
                }
                Operation::Check(condition) => {
                    if condition.eval(locals, &[])? == 0 {
                        return Err(Fault::Assertion);
                    }
                    *pc += 1;
                }
                Operation::Jump(to) => *pc = *to,
                Operation::JumpUnless { condition, to } => {
                    *pc = if condition.eval(locals, &[])? == 0 { *to } else { *pc + 1 };
                }
                Operation::Return => *pc = self.code.len() as u32,
            }
            steps += 1;
            if steps == LOCAL_STEP_LIMIT {
                return Err(Fault::EndlessLocalLoop);
            }
        }
        Ok(Pause::Ended)
    }
}
