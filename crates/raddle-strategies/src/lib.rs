//! One file per scheduling algorithm.

pub mod basic_pos;
mod catalogue;
mod spec;
pub mod conflict_analysis;
pub mod oos;
pub mod pct;
pub mod pos;
mod profile;
pub mod random_walk;
pub mod rapos;
mod roster;
pub mod rpro;
pub mod stride;
pub mod surw;
mod tournament;
pub mod upo;
mod upo_path;
pub mod urw;

pub use spec::{SpecError, build};
pub use catalogue::{CATALOGUE, Entry, Family, Parameter};
