//! Programs under control, as processes that execute runs on request.
//!
//! A [`server::Server`] is such a process: a pthreads program with the native runtime inside ([`native`]), an Erlang
//! VM ([`beam`]) or the binary of a Rust test ([`rust`]). [`server::Remote`] makes it a worker of a search. A
//! [`Subject`] is the program of a failure file, restarted to replay, minimize and explain its run; [`open()`] starts
//! the right one, and [`Keep`] records a new failure. The crate contains the native runtime and the Erlang
//! application as files, which `build.rs` builds.

pub mod beam;
mod lab;
pub mod native;
mod open;
mod patience;
pub mod rust;
pub mod server;
mod subject;
mod temporary;

pub use open::{Divergence, divergence, does_not_repeat, open, open_repeating, source_folders};
pub use subject::{
    Keep, Kept, Namer, Output, Repeated, Sources, Subject, explain, minimize, reason, record_path, write,
};
pub use temporary::Temporary;
