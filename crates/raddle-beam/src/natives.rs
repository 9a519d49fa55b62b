//! What the BEAM calls. Every function is short enough for an ordinary scheduler.

use crate::record::{self, Told};
use crate::session::{Answer, Deed, Session};
use raddle_engine::Config;
use raddle_model::{Access, Failure, Kind, ObjectId, Touch, Verdict};
use rustler::{Encoder, Env, LocalPid, NifResult, Resource, ResourceArc, Term};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

mod atoms {
    rustler::atoms! {
        ok, error, exhausted, go, timeout, stop, none, passed, failed, cut_off, broken
    }
}

/// A session as the BEAM holds it.
struct Handle {
    session: Mutex<Session<LocalPid>>,
    config: Config,
}

#[rustler::resource_impl]
impl Resource for Handle {}

type Shared = ResourceArc<Handle>;

impl Handle {
    fn lock(&self) -> MutexGuard<'_, Session<LocalPid>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks the session for an answer. If that panics, the run is over and decides nothing.
fn ask<'a>(
    env: Env<'a>,
    shared: &Shared,
    question: impl FnOnce(&mut Session<LocalPid>) -> Answer<LocalPid>,
) -> Term<'a> {
    let mut session = shared.lock();
    let answer = catch_unwind(AssertUnwindSafe(|| {
        if session.broken().is_some() { Answer::Stop } else { question(&mut session) }
    }));
    match answer.unwrap_or_else(|panic| {
        session.break_off(said(&*panic));
        Answer::Stop
    }) {
        Answer::Go => atoms::go().encode(env),
        Answer::TimedOut => atoms::timeout().encode(env),
        Answer::Wake(pid) => pid.encode(env),
        Answer::WakeTimedOut(pid) => (atoms::timeout(), pid).encode(env),
        Answer::ActFor(actor) => actor.encode(env),
        Answer::Stop => atoms::stop().encode(env),
    }
}

/// Tells the session something. If that panics, the run is over and decides nothing.
fn tell<T>(shared: &Shared, otherwise: T, tale: impl FnOnce(&mut Session<LocalPid>) -> T) -> T {
    let mut session = shared.lock();
    if session.broken().is_some() {
        return otherwise;
    }
    catch_unwind(AssertUnwindSafe(|| tale(&mut session))).unwrap_or_else(|panic| {
        session.break_off(said(&*panic));
        otherwise
    })
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
}

/// The kinds of operation, by the numbers that `raddle_run.hrl` gives them.
const KINDS: [Kind; 8] = [
    Kind::Read,
    Kind::Write,
    Kind::Send,
    Kind::Spawn,
    Kind::Yield,
    Kind::TryReceive,
    Kind::Sleep,
    Kind::ReadModifyWrite,
];

/// A touch as Erlang writes it: twice the object, and 1 more if it is written; negative for none.
fn touch(number: i64) -> Touch {
    match u32::try_from(number) {
        Ok(number) => {
            let access = if number & 1 == 1 { Access::Write } else { Access::Read };
            Touch::new(ObjectId(number >> 1), access)
        }
        Err(_) => Touch::NONE,
    }
}

fn deed(kind: u32, place: u32, nanoseconds: i64, touches: (i64, i64)) -> NifResult<Deed> {
    let kind = *KINDS.get(kind as usize).ok_or(rustler::Error::BadArg)?;
    let argument = span(nanoseconds);
    Ok(Deed { kind, place, argument, touches: [touch(touches.0), touch(touches.1)] })
}

/// Nanoseconds as Erlang writes them: negative for no end.
fn span(nanoseconds: i64) -> u64 {
    u64::try_from(nanoseconds).unwrap_or(u64::MAX)
}

/// Who calls; negative for a process that is no actor any more.
fn caller(number: i64) -> Option<u32> {
    u32::try_from(number).ok()
}

#[rustler::nif]
fn open<'a>(env: Env<'a>, spec: &str, step_limit: u64, patience: u32, anytime: bool) -> Term<'a> {
    let config = record::config(step_limit, patience, anytime);
    match raddle_strategies::build(spec) {
        Ok(strategy) => {
            let session = Mutex::new(Session::new(strategy, config));
            (atoms::ok(), ResourceArc::new(Handle { session, config })).encode(env)
        }
        Err(error) => (atoms::error(), error.to_string()).encode(env),
    }
}

#[rustler::nif]
fn open_replay<'a>(env: Env<'a>, text: &str) -> Term<'a> {
    match record::read(text) {
        Ok(file) => {
            let settings = file.settings;
            let config = record::config(settings.step_limit, settings.patience, settings.timeouts_anytime);
            let session = Mutex::new(Session::replay(&file, config));
            let told = (&file.program, &file.arguments, &file.locations, file.fingerprint);
            (atoms::ok(), ResourceArc::new(Handle { session, config }), told).encode(env)
        }
        Err(error) => (atoms::error(), error.to_string()).encode(env),
    }
}

#[rustler::nif]
fn begin<'a>(env: Env<'a>, shared: Shared, seed: u64, run: u64) -> Term<'a> {
    if shared.lock().begin(seed, run) { atoms::ok().encode(env) } else { atoms::exhausted().encode(env) }
}

#[rustler::nif]
fn add_main(shared: Shared, pid: LocalPid) -> (u32, u32, u32) {
    tell(&shared, (0, 0, 0), |session| session.add_main(pid))
}

#[rustler::nif]
fn add_spawned(shared: Shared, pid: LocalPid) -> (u32, u32, u32) {
    tell(&shared, (0, 0, 0), |session| session.add_spawned(pid))
}

#[rustler::nif]
fn add_timer(shared: Shared, parent: u32, nanoseconds: i64, place: u32, timer: i64) -> u32 {
    tell(&shared, 0, |session| session.add_timer(parent, span(nanoseconds), place, touch(timer)))
}

#[rustler::nif]
fn add_carrier(shared: Shared, parent: u32, place: u32) -> (u32, u32) {
    tell(&shared, (0, 0), |session| session.add_carrier(parent, place))
}

#[rustler::nif]
fn add_object(shared: Shared, name: u64) -> u32 {
    tell(&shared, 0, |session| session.add_object(name))
}

#[rustler::nif]
fn start<'a>(env: Env<'a>, shared: Shared) -> Term<'a> {
    ask(env, &shared, |session| session.next(None))
}

/// The one function of the hot path: actor `me` is about to do something.
#[rustler::nif]
fn step<'a>(
    env: Env<'a>,
    shared: Shared,
    me: u32,
    kind: u32,
    place: u32,
    first: i64,
    second: i64,
) -> NifResult<Term<'a>> {
    let deed = deed(kind, place, -1, (first, second))?;
    Ok(ask(env, &shared, |session| session.step(Some(me), me, deed)))
}

#[rustler::nif]
fn sleep<'a>(env: Env<'a>, shared: Shared, me: u32, place: u32, nanoseconds: i64) -> NifResult<Term<'a>> {
    let deed = deed(6, place, nanoseconds, (-1, -1))?;
    Ok(ask(env, &shared, |session| session.step(Some(me), me, deed)))
}

#[rustler::nif]
fn wait<'a>(env: Env<'a>, shared: Shared, me: u32, place: u32, nanoseconds: i64) -> Term<'a> {
    ask(env, &shared, |session| session.wait(Some(me), me, place, span(nanoseconds)))
}

/// Process `who` acts for `actor`, which is about to do something.
#[rustler::nif]
fn act<'a>(
    env: Env<'a>,
    shared: Shared,
    who: i64,
    actor: u32,
    kind: u32,
    place: u32,
    touches: (i64, i64),
) -> NifResult<Term<'a>> {
    let deed = deed(kind, place, -1, touches)?;
    Ok(ask(env, &shared, |session| session.step(caller(who), actor, deed)))
}

/// Process `who` acts for `actor`, which waits for what comes to its mailbox.
#[rustler::nif]
fn act_wait<'a>(env: Env<'a>, shared: Shared, who: i64, actor: u32, place: u32) -> Term<'a> {
    ask(env, &shared, |session| session.wait(caller(who), actor, place, u64::MAX))
}

#[rustler::nif]
fn finish<'a>(env: Env<'a>, shared: Shared, who: i64, actor: u32) -> Term<'a> {
    ask(env, &shared, |session| session.finish(caller(who), actor))
}

#[rustler::nif]
fn deliver<'a>(env: Env<'a>, shared: Shared, actor: u32) -> Term<'a> {
    tell(&shared, (), |session| session.deliver(actor));
    atoms::ok().encode(env)
}

#[rustler::nif]
fn leave<'a>(env: Env<'a>, shared: Shared, actor: u32) -> Term<'a> {
    tell(&shared, (), |session| session.leave(actor));
    atoms::ok().encode(env)
}

#[rustler::nif]
fn kill<'a>(env: Env<'a>, shared: Shared, actor: u32, place: u32, life: i64) -> NifResult<Term<'a>> {
    let deed = deed(1, place, -1, (life, -1))?;
    tell(&shared, (), |session| session.kill(actor, deed));
    Ok(atoms::ok().encode(env))
}

#[rustler::nif]
fn cancel<'a>(env: Env<'a>, shared: Shared, timer: u32) -> Term<'a> {
    tell(&shared, (), |session| session.cancel(timer));
    atoms::ok().encode(env)
}

#[rustler::nif]
fn conclude<'a>(env: Env<'a>, shared: Shared, actor: u32, place: u32) -> Term<'a> {
    ask(env, &shared, |session| session.conclude(actor, place))
}

#[rustler::nif]
fn fail<'a>(env: Env<'a>, shared: Shared, actor: u32, place: u32, message: String) -> Term<'a> {
    ask(env, &shared, |session| {
        session.fail(actor, place, message);
        session.next(None)
    })
}

/// The virtual time in nanoseconds.
#[rustler::nif]
fn now(shared: Shared) -> u64 {
    tell(&shared, 0, |session| session.engine().now())
}

#[rustler::nif]
fn unique(shared: Shared) -> u64 {
    tell(&shared, 0, Session::unique)
}

#[rustler::nif]
fn pids(shared: Shared) -> Vec<LocalPid> {
    shared.lock().processes().collect()
}

#[rustler::nif]
fn places(shared: Shared) -> Vec<u32> {
    shared.lock().places().to_vec()
}

/// How many actors and objects the run has had.
#[rustler::nif]
fn counts(shared: Shared) -> (usize, usize) {
    shared.lock().counts()
}

/// Actors with their mailboxes and the objects of their lives.
#[rustler::nif]
fn owned(shared: Shared) -> Vec<(u32, u32, u32)> {
    shared.lock().owned().collect()
}

/// How the run ended, after which the strategy has learnt from it: the verdict, the number of steps, the fingerprint, the rests
/// and the virtual time.
#[rustler::nif]
fn end_run<'a>(env: Env<'a>, shared: Shared) -> Term<'a> {
    tell(&shared, (), Session::learn);
    let session = shared.lock();
    if let Some(what) = session.broken() {
        return (atoms::broken(), what).encode(env);
    }
    let summary = session.engine().summary();
    let verdict = match summary.verdict {
        Verdict::Passed => atoms::passed().encode(env),
        Verdict::CutOff => atoms::cut_off().encode(env),
        Verdict::Failed { failure } => failed(env, failure),
    };
    let numbers = (session.engine().step_count(), summary.fingerprint, summary.rests, session.engine().now());
    (verdict, numbers).encode(env)
}

/// A failure as `{failed, Kind, Actor, Message, [{Actor, Place}]}`, with the actors that cannot go on.
fn failed<'a>(env: Env<'a>, failure: &Failure) -> Term<'a> {
    let (actor, message, blocked) = match failure {
        Failure::Assertion { thread, message, .. } => (i64::from(thread.0), message.as_str(), Vec::new()),
        Failure::Deadlock { blocked, .. } => {
            (-1, "", blocked.iter().map(|entry| (entry.thread.0, entry.location.0)).collect())
        }
        _ => (-1, "", Vec::new()),
    };
    (atoms::failed(), failure.kind(), actor, message, blocked).encode(env)
}

/// Where a replay has left the recorded run.
#[rustler::nif]
fn divergence<'a>(env: Env<'a>, shared: Shared) -> Term<'a> {
    match shared.lock().divergence() {
        Some(divergence) => (divergence.step, divergence.what).encode(env),
        None => atoms::none().encode(env),
    }
}

/// The run as a failure file.
#[rustler::nif]
fn record(
    shared: Shared,
    (program, arguments, strategy): (String, Vec<String>, String),
    (seed, run): (u64, u64),
    (threads, objects, locations): (Vec<String>, Vec<String>, Vec<String>),
) -> String {
    let told = Told { program, arguments, strategy, seed, run, threads, objects, locations };
    record::write(&shared.lock(), shared.config, told).to_json()
}
