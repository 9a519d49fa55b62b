//! One file per scheduling algorithm.

pub mod basic_pos;
pub mod pct;
pub mod pos;
pub mod random_walk;
pub mod rapos;
mod roster;
pub mod rpro;
pub mod stride;
mod tournament;
pub mod urw;
