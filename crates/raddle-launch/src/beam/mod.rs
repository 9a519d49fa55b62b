//! Erlang programs: functions that a VM runs, and restarting the function of a recorded run.
//!
//! The application in `erlang/raddle` does the work inside an Erlang VM. It receives requests through a
//! socket, in the protocol of the native runtime.

mod application;
mod server;
mod sources;
mod subject;

pub use server::{Program, Vm, moved, setup, whole};
pub use sources::folders;
pub use subject::{Beam, output};
