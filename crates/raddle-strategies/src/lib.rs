//! One file per scheduling algorithm.

pub mod delay_bounding;
pub mod dfs;
pub mod dpor;
mod frontier;
pub mod period;
pub mod preemption_bounding;
pub mod random_walk;
