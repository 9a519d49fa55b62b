//! The engine and the strategies as native functions of the Erlang module `raddle_nif`.
//!
//! [`session`] knows actors and answers, [`locations`] numbers source locations, [`record`] writes failure
//! files; none of them knows Erlang terms. [`handle`] is a session as held by the BEAM, [`requests`] reads
//! the requests of the command line, [`connection`] ends the VM with it, [`rounds`] selects the next strategy,
//! [`search`] minimizes failing runs.
//! [`natives`] are the functions that the BEAM calls: each takes a lock, asks the session, and converts the
//! answer to a term. A panic in them ends the run, and never becomes an exception that the program under test
//! could catch.

pub mod connection;
pub mod handle;
pub mod locations;
pub mod natives;
mod printed;
pub mod record;
pub mod requests;
pub mod rounds;
pub mod search;
pub mod session;

rustler::init!("raddle_nif");
