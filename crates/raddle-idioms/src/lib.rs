//! iRoots: those that a run exposes ([`observe`]), and those that other runs of the program may expose
//! ([`predict`]).
//!
//! Paper: Yu and Narayanasamy, "Maple: A Coverage-Driven Testing Tool for Multithreaded Programs", OOPSLA
//! 2012, sections 2 and 3. The idioms are in [`raddle_model::Idiom`].
//!
//! `A => B`, an immediate dependency, holds between accesses of different threads to one object, at least one
//! of which writes, if
//!
//! * `B` reads, and `A` is the latest write before it; or
//! * `B` writes, there were reads since the latest write, and `A` is the latest of these in its thread; or
//! * `B` writes, there were no reads since the latest write, and `A` is that write.
//!
//! For a lock, `A` releases it and `B` is the next to take it; locks taken for reading count as reads. In
//! addition, two threads that wait for each other's lock are an instance of idiom 5, whose accesses are the
//! four attempts to take one.
//!
//! The two accesses of one thread in idioms 2 to 6 are at most a *window* of its steps apart, and in idioms 2
//! and 3 the first thread does not touch the object in between. Accesses are identified by their code
//! location and action; the object does not matter.

mod access;
mod compound;
mod history;
mod meets;
mod observe;
mod predict;

pub use access::site;
pub use meets::meets;
pub use observe::observe;
pub use predict::predict;

/// The default distance between the two accesses of a thread in an idiom, in steps of that thread.
pub const WINDOW: u32 = 1_000;
