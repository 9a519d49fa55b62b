//! One file per scheduling algorithm.

pub mod random_walk;
