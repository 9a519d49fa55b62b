//! Rust tests that use the types of the crate `raddle`: the test binary repeats their failing runs.

mod process;
mod subject;

pub use subject::RustTest;
