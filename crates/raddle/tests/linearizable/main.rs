//! Checks of structures without assertions.

mod counters;
mod progress;
