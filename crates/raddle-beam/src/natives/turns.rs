//! Whose turn it is: the lanes of a search, and the number of the next run.

use super::atoms;
use crate::rounds::Turns;
use rustler::{Encoder, Env, Error, NifResult, ResourceArc, Term};

/// Returns the strategies of a specification: several if it is a list or `portfolio`. `open` reports errors
/// in them.
#[rustler::nif]
fn lanes<'a>(env: Env<'a>, spec: &str) -> Term<'a> {
    match Turns::of(spec) {
        Ok(turns) => turns.specs().encode(env),
        Err(_) => spec.split('+').collect::<Vec<_>>().encode(env),
    }
}

/// Creates the turns for the strategies of a specification.
#[rustler::nif]
fn open_turns(spec: &str) -> NifResult<ResourceArc<Turns>> {
    Turns::of(spec).map(ResourceArc::new).map_err(|_| Error::BadArg)
}

/// Returns the next turn, as the index of the strategy and the number of the run among its runs; none if no
/// strategy has a schedule left.
#[rustler::nif]
fn next_turn<'a>(env: Env<'a>, turns: ResourceArc<Turns>) -> Term<'a> {
    match turns.next() {
        Some(turn) => (turn.lane, turn.run).encode(env),
        None => atoms::exhausted().encode(env),
    }
}

/// Records the outcome of the latest turn: its partial order, or nothing if the strategy has no schedule
/// left.
#[rustler::nif]
fn note_turn<'a>(env: Env<'a>, turns: ResourceArc<Turns>, lane: usize, fingerprint: Option<u64>) -> Term<'a> {
    turns.note(lane, fingerprint);
    atoms::ok().encode(env)
}
