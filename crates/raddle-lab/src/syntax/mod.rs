//! A small text language for abstract concurrent programs.
//!
//! [`compile`] turns a text into a [`Program`] of flat code, which an interpreter runs one event at
//! a time. `lexer` and `parser` make the tree (`ast`), `scope` resolves names, `compile*` make the
//! code (`program`, `event`, `expression`).
//!
//! ```text
//! # comment
//! param n = 3                        # the caller may override it
//! shared x = 0, a[n] = 0              # integers of 64 bits
//! mutex m, fork[n]                   # also: recursive mutex r, checked mutex c
//! rwlock l
//! condition cv
//! semaphore s = 0
//! barrier b = 2
//! once o
//! thread A { local t; t = x; x = t + 1 }
//! thread B * n { lock fork[self]; a[self]++; unlock fork[self] }
//! ```
//!
//! With a `main { }` only that thread runs at the start and `spawn`s the others; without it every
//! `thread` does. A statement ends with its line or at `;`.
//!
//! | statement | meaning |
//! |---|---|
//! | `local t = 0, u` | locals of the thread |
//! | `x = e`, `x += e`, `x -= e`, `x++`, `x--`, `v = x++` | assignment; the last also yields the old value |
//! | `assert e`, `step`, `yield`, `sleep e`, `v = choose e` | a check; an event on nothing; a value from 0 to e - 1 |
//! | `if e { } else if e { } else { }`, `while e { }`, `repeat e as i { }` | control flow; `as i` may be left out |
//! | `lock m`, `lock m for e`, `v = lock m for e`, `v = trylock m`, `unlock m` | mutexes |
//! | `rdlock l`, `wrlock l`, `rwunlock l` | readers-writer locks |
//! | `wait s`, `v = wait s for e`, `signal s` | semaphores |
//! | `wait cv m`, `v = wait cv m for e`, `signal cv`, `broadcast cv` | conditions |
//! | `barrier b`, `v = barrier b`, `once o { }`, `destroy m` | the other objects |
//! | `spawn T`, `spawn T(e)`, `h = spawn T`, `join h`, `join T` | threads |
//! | `v = x.load(o)`, `x.store(e, o)`, `v = x.swap(e, o)`, `v = x.fetch_add(e, o)` | atomic accesses in order `o`: `relaxed`, `acquire`, `release`, `acq_rel`, `seq_cst` |
//! | `v = x.compare_exchange(e, e, o, o)`, `fence(o)` | the value expected, the new one, the orders of success and failure; yields the value read |
//! | `return`, `exit` | ends the thread; ends the program |
//!
//! **Events.** A statement is atomic. It is one event if it touches a shared variable or is any of
//! the keyword statements except `assert`, `return` and control flow over locals; those, and
//! assignments among locals, run together with the event before them (at the start of the thread,
//! with its creation). The condition of `if` or `while` is an event of its own if it reads a shared
//! variable. A statement touches at most two shared variables, and array indices depend on locals only.
//!
//! **Memory.** Without an order, an access reads the value written last. One with an order does too, unless the engine
//! explores weak memory. An access without an order then still reads and writes the newest value, and its writes
//! are known to every thread.

mod ast;
mod atomic;
mod compile;
mod compile_flow;
mod compile_thread;
mod error;
mod event;
mod expression;
mod lexer;
mod parse_statement;
mod parser;
mod program;
mod scope;
#[cfg(test)]
mod tests;

pub use ast::{BinaryOperator, ObjectKind, Position, UnaryOperator};
pub use atomic::{AtomicAction, AtomicChange};
pub use compile::compile;
pub use error::SyntaxError;
pub use event::{Accesses, Action, Event, Flow, MemoryAction, Mode, ObjectRef, Place};
pub use expression::{Element, Expr, Fault};
pub use program::{
    Instruction, LOCAL_STEP_LIMIT, Object, Operation, Pause, Program, Source, Start, THREAD_LIMIT, Thread,
};
