//! The functions by which the VM itself searches for a smaller failing run.

use super::atoms;
use crate::handle::Shared;
use crate::record::Names;
use crate::search::{Next, Search};
use raddle_explain::Wanted;
use rustler::{Encoder, Env, ResourceArc, Term};

/// Starts a search for a smaller run than that in the text of a failure file, and for the order that makes it
/// fail.
#[rustler::nif(schedule = "DirtyCpu")]
fn open_search<'a>(env: Env<'a>, text: &str) -> Term<'a> {
    match Search::begin(text) {
        Ok(search) => (atoms::ok(), ResourceArc::new(search)).encode(env),
        Err(error) => (atoms::error(), error.to_string()).encode(env),
    }
}

/// Returns the first request of a search: a run, as `{Session, Trace}` (see [`super::read_request`]), or the
/// end, as `over`, or `{over, Text, Explained}` if there is a smallest run, where `Explained` is `nil` or a
/// sentence. It waits for a thread that has a microsecond of work; switching to a dirty scheduler would cost
/// more.
#[rustler::nif]
fn first_candidate<'a>(env: Env<'a>, search: ResourceArc<Search>) -> Term<'a> {
    candidate(env, &search)
}

/// Returns the next request, after the requested run was executed; its trace is returned if there are names
/// for it.
#[rustler::nif]
fn next_candidate<'a>(
    env: Env<'a>,
    search: ResourceArc<Search>,
    shared: Shared,
    names: Option<Names>,
) -> Term<'a> {
    search.record_run(&shared, names);
    candidate(env, &search)
}

fn candidate<'a>(env: Env<'a>, search: &Search) -> Term<'a> {
    match search.next() {
        Next::Run(shared, Wanted::Failing) => (shared, atoms::failing()).encode(env),
        Next::Run(shared, Wanted::Any) => (shared, atoms::any()).encode(env),
        Next::Over(Some(found)) => {
            (atoms::over(), raddle_search::signed(&found.file), found.explained).encode(env)
        }
        Next::Over(None) => atoms::over().encode(env),
    }
}
