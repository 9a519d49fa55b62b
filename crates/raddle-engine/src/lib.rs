//! The loop that every front end shares: semantics of objects, enabled threads, recording and replay.
//!
//! A front end stops and resumes threads; a strategy chooses the next thread; the [`Engine`] stands between
//! them and knows neither. The protocol of one run:
//!
//! 1. [`Engine::begin`], then [`Engine::add_object`] and [`Engine::add_thread`] for what exists at the start.
//! 2. [`Engine::next`] until it returns [`Next::Done`]. On [`Next::Resume`] the front end lets that thread
//!    run up to its next operation and calls [`Engine::announce`], or [`Engine::finish`] if there is none.
//! 3. [`Engine::summary`] returns the result.
//!
//! [`run`] does all of this for a [`Program`], [`explore`] for many runs of it. Steps do not allocate once
//! the tables have grown to the size of the program, except for the first use of a condition variable,
//! barrier or read-write lock in a run, and channel sends while data races are tracked.

mod actors;
mod announce;
mod background;
mod beginning;
mod census;
mod clocks;
mod config;
mod cut_off;
mod deadlock;
mod engine;
mod explore;
mod follow;
mod location_names;
mod objects;
mod pairs;
mod pending;
mod races;
mod replay;
mod resemble;
mod rng;
mod semantics;
mod spin;
mod state;
mod step;
mod strategy;
mod threads;
mod time;
mod transactions;
mod wrapped;

pub use beginning::Beginning;
pub use census::Census;
pub use clocks::{Clocks, Known, conflicts, walk_synchronisation};
pub use config::{Config, Timeouts};
pub use cut_off::CutOffAt;
pub use engine::{Engine, Next, Reply};
pub use explore::{Program, Totals, explore, run};
pub use follow::Follow;
pub use objects::{MutexKind, Resource};
pub use pairs::Pairs;
pub use pending::ThreadSet;
pub use races::{OldRead, Races};
pub use replay::{Divergence, Replay};
pub use resemble::Resemble;
pub use rng::Rng;
pub use step::RanOn;
pub use strategy::{Choice, Needs, Plan, Point, RunSummary, SmallPoint, Strategy};
pub use transactions::LONGEST_TRANSACTION;
pub use wrapped::{Wrapped, Wrapper};
