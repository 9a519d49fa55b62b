//! Erlang programs: `raddle beam run`, and restarting the program of a failing run.
//!
//! The application in `erlang/raddle` does the work inside an Erlang VM. It receives requests through a
//! socket, in the protocol of the native runtime.

mod application;
mod run;
mod server;
mod sources;
mod subject;

pub(crate) use run::run;
pub(crate) use server::moved;
pub(crate) use sources::folders;
pub(crate) use subject::Beam;
