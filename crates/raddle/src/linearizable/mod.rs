//! Checks a concurrent structure without assertions: name its operations, and each run must have results that some order of the
//! calls explains.
//!
//! ```should_panic
//! use raddle::sync::atomic::{AtomicU32, Ordering};
//!
//! struct Counter(AtomicU32);
//!
//! impl Counter {
//!     fn increment(&self) -> u32 {
//!         let value = self.0.load(Ordering::SeqCst);
//!         self.0.store(value + 1, Ordering::SeqCst);
//!         value + 1
//!     }
//! }
//!
//! raddle::linearizable(|| Counter(AtomicU32::new(0)))
//!     .operation("increment", |counter| counter.increment())
//!     .operation("get", |counter| counter.0.load(Ordering::SeqCst))
//!     .check();
//! ```
//!
//! A *scenario* is a list of calls for each of some threads, between calls of the main thread before and after them. Scenarios
//! are drawn from the seed, small ones first, and each is run under many schedules. If a small number of runs executes all
//! schedules of a scenario, it is *verified*. The results of a run are compared with those of one thread that executes the calls
//! one after the other: of a sequential [model](Linearizability::model), or of the structure itself.
//!
//! A failing scenario is reduced to a smallest one: without any of its calls it passes.

mod arguments;
mod builder;
mod operation;
mod outcome;
mod reference;
mod run;
mod scenario;
mod search;
mod text;

pub use arguments::{Arguments, Integer};
pub use builder::{Linearizability, linearizable};
pub use outcome::{Refuted, Summary};
pub use reference::{Itself, Model};
