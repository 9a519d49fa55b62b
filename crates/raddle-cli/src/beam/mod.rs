//! Erlang programs: `raddle beam run`, and the program of a failing run started again.
//!
//! The work is done by the application in `erlang/raddle` inside an Erlang VM. It gets its orders through a socket, in the same
//! words as the native runtime.

mod application;
mod run;
mod server;
mod sources;
mod subject;

pub(crate) use run::run;
pub(crate) use server::moved;
pub(crate) use sources::folders;
pub(crate) use subject::Beam;
