//! Rust tests that use the types of the crate `raddle`: their failing runs, made again by the test binary.

mod process;
mod subject;

pub(crate) use subject::RustTest;
