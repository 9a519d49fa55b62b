//! The tree of a generated program, and its text in the lab's language.

use std::fmt::{self, Write};

/// A program. With `main`, block 0 is `main`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// True if block 0 is `main` and spawns the others; otherwise all blocks start at once.
    pub has_main: bool,
    /// The threads.
    pub blocks: Vec<Vec<Statement>>,
    /// The number of objects of each kind.
    pub objects: Objects,
}

/// The objects of a program; `x0`, `x1`, `m0` and so on in its text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Objects {
    /// Shared variables, 0 at the start.
    pub variables: usize,
    /// Normal mutexes.
    pub mutexes: usize,
    /// Read-write locks.
    pub rwlocks: usize,
    /// Condition variables.
    pub conditions: usize,
    /// Semaphores, by their value at the start.
    pub semaphores: Vec<i64>,
    /// Barriers, by the number of threads that they take.
    pub barriers: Vec<i64>,
    /// One-time initialisations.
    pub onces: usize,
}

/// The locals of a thread: `t0`, `t1`, `t2`, 0 at the start.
pub const LOCALS: usize = 3;

/// The left side of a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A shared variable.
    Shared(usize),
    /// A local.
    Local(usize),
}

/// `place == value` or `place != value`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Condition {
    /// The left side.
    pub place: Place,
    /// True if the two have to be equal.
    pub equal: bool,
    /// The right side.
    pub value: i64,
}

/// The right side of an assignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// A number.
    Number(i64),
    /// A local and a number.
    Sum(usize, i64),
    /// A shared variable.
    Shared(usize),
}

/// A statement. Numbers are indices of locals, objects and blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Statement {
    /// `x = e`.
    Set(usize, Value),
    /// `t = x`.
    Read(usize, usize),
    /// `x += 1`.
    Add(usize, i64),
    /// `t = x++`.
    Fetch(usize, usize),
    /// `assert e`.
    Assert(Condition),
    /// `if e { } else { }`.
    If(Condition, Vec<Statement>, Vec<Statement>),
    /// `lock m`.
    Lock(usize),
    /// `t = trylock m`.
    TryLock(usize, usize),
    /// `unlock m`.
    Unlock(usize),
    /// `rdlock l`.
    ReadLock(usize),
    /// `wrlock l`.
    WriteLock(usize),
    /// `rwunlock l`.
    RwUnlock(usize),
    /// `wait s`.
    Down(usize),
    /// `signal s`.
    Up(usize),
    /// `wait c m`.
    Wait(usize, usize),
    /// `signal c`.
    Signal(usize),
    /// `broadcast c`.
    Broadcast(usize),
    /// `barrier b`.
    Barrier(usize),
    /// `once o { }`.
    Once(usize, Vec<Statement>),
    /// `spawn T`.
    Spawn(usize),
    /// `join T`.
    Join(usize),
    /// `step`.
    Step,
    /// `t = choose n`.
    Choose(usize, i64),
    /// `return`.
    Return,
    /// `exit`.
    Exit,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Shared(x) => write!(f, "x{x}")?,
            Place::Local(t) => write!(f, "t{t}")?,
        }
        write!(f, " {} {}", if self.equal { "==" } else { "!=" }, self.value)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Objects { variables, mutexes, rwlocks, conditions, semaphores, barriers, onces } = &self.objects;
        (0..*variables).try_for_each(|x| writeln!(f, "shared x{x} = 0"))?;
        (0..*mutexes).try_for_each(|m| writeln!(f, "mutex m{m}"))?;
        (0..*rwlocks).try_for_each(|l| writeln!(f, "rwlock l{l}"))?;
        (0..*conditions).try_for_each(|c| writeln!(f, "condition c{c}"))?;
        semaphores.iter().enumerate().try_for_each(|(s, value)| writeln!(f, "semaphore s{s} = {value}"))?;
        barriers.iter().enumerate().try_for_each(|(b, parties)| writeln!(f, "barrier b{b} = {parties}"))?;
        (0..*onces).try_for_each(|o| writeln!(f, "once o{o}"))?;
        for (index, block) in self.blocks.iter().enumerate() {
            match index {
                0 if self.has_main => writeln!(f, "main {{")?,
                _ => writeln!(f, "thread T{index} {{")?,
            }
            writeln!(f, "  local t0, t1, t2")?;
            f.write_str(&text(block, 1))?;
            writeln!(f, "}}")?;
        }
        Ok(())
    }
}

fn text(block: &[Statement], depth: usize) -> String {
    let mut out = String::new();
    let indent = "  ".repeat(depth);
    for statement in block {
        let line = match statement {
            Statement::Set(x, Value::Number(value)) => format!("x{x} = {value}"),
            Statement::Set(x, Value::Sum(t, value)) => format!("x{x} = t{t} + {value}"),
            Statement::Set(x, Value::Shared(y)) => format!("x{x} = x{y}"),
            Statement::Read(t, x) => format!("t{t} = x{x}"),
            Statement::Add(x, value) => format!("x{x} += {value}"),
            Statement::Fetch(t, x) => format!("t{t} = x{x}++"),
            Statement::Assert(condition) => format!("assert {condition}"),
            Statement::If(condition, then, otherwise) => {
                let (then, otherwise) = (text(then, depth + 1), text(otherwise, depth + 1));
                match otherwise.is_empty() {
                    true => format!("if {condition} {{\n{then}{indent}}}"),
                    false => {
                        format!("if {condition} {{\n{then}{indent}}} else {{\n{otherwise}{indent}}}")
                    }
                }
            }
            Statement::Lock(m) => format!("lock m{m}"),
            Statement::TryLock(t, m) => format!("t{t} = trylock m{m}"),
            Statement::Unlock(m) => format!("unlock m{m}"),
            Statement::ReadLock(l) => format!("rdlock l{l}"),
            Statement::WriteLock(l) => format!("wrlock l{l}"),
            Statement::RwUnlock(l) => format!("rwunlock l{l}"),
            Statement::Down(s) => format!("wait s{s}"),
            Statement::Up(s) => format!("signal s{s}"),
            Statement::Wait(c, m) => format!("wait c{c} m{m}"),
            Statement::Signal(c) => format!("signal c{c}"),
            Statement::Broadcast(c) => format!("broadcast c{c}"),
            Statement::Barrier(b) => format!("barrier b{b}"),
            Statement::Once(o, body) => format!("once o{o} {{\n{}{indent}}}", text(body, depth + 1)),
            Statement::Spawn(block) => format!("spawn T{block}"),
            Statement::Join(block) => format!("join T{block}"),
            Statement::Step => "step".to_owned(),
            Statement::Choose(t, count) => format!("t{t} = choose {count}"),
            Statement::Return => "return".to_owned(),
            Statement::Exit => "exit".to_owned(),
        };
        let _ = writeln!(out, "{indent}{line}");
    }
    out
}
