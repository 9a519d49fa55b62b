//! For tests only: scripted programs, simple strategies, every schedule of a small program, checks of
//! probabilistic bounds, and the C programs of `tests/c`.

mod bound;
mod c_programs;
mod generate;
mod schedules;
mod script;
mod simple;
mod sources;

pub use bound::{
    affordable, affordable_rounds, affordable_searches, assert_hit_rate, assert_never, hits, is_thorough,
};
pub use c_programs::{CLanguage, CProgram, KINDS, Points, c_programs};
pub use generate::{locked, mixed, mixed_of, spawning, straight};
pub use schedules::{every_schedule, once_under};
pub use script::{Act, Script};
pub use simple::{Follow, Priorities, Walk};
pub use sources::sources;
