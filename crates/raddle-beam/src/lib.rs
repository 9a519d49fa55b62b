//! The engine and the strategies as native functions of the Erlang module `raddle_nif`.
//!
//! [`session`] knows actors and answers, [`places`] numbers places in the code, [`record`] makes failure files; none of them knows
//! Erlang terms. [`handle`] is a session as the BEAM holds it, [`desk`] reads the orders of the command line, [`rounds`] says which
//! strategy is next, [`search`] makes failing runs smaller. [`natives`] are the functions that the BEAM calls: each takes a lock, asks the session, and turns the answer into
//! a term. A panic in there becomes the end of the run, never an exception that the program under test could catch.

pub mod desk;
pub mod handle;
pub mod natives;
pub mod places;
pub mod record;
pub mod rounds;
pub mod search;
pub mod session;

rustler::init!("raddle_nif");
