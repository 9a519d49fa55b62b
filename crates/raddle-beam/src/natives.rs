//! The functions that the BEAM calls. Functions that are called once for a file are on dirty schedulers; the
//! others are short enough for an ordinary one, except that `end_run` lets the strategy learn, which takes
//! longer after longer runs. Switching to a dirty scheduler would cost every short run more than that;
//! meanwhile, only processes of the host on one scheduler wait.

use crate::connection;
use crate::handle::{Handle, Shared};
use crate::record::{self, Names, RunInfo};
use crate::requests::{Requests, TraceMode};
use crate::session::{Action, Answer, Caller, Session};
use raddle_model::{Access, Failure, Kind, ObjectId, Settings, ThreadId, Touch, Verdict};
use rustler::{Encoder, Env, LocalPid, NifResult, ResourceArc, Term};
use std::panic::{AssertUnwindSafe, catch_unwind};

mod search;
mod turns;

mod atoms {
    rustler::atoms! {
        ok, error, exhausted, go, timeout, stop, none, passed, failed, cut_off, inconclusive, broken, failing, any, callers, over
    }
}

/// Asks the session for an answer. If that panics, the run is over and inconclusive.
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

/// Updates the session. If that panics, the run is over and inconclusive.
fn update<T>(shared: &Shared, otherwise: T, change: impl FnOnce(&mut Session<LocalPid>) -> T) -> T {
    let mut session = shared.lock();
    if session.broken().is_some() {
        return otherwise;
    }
    catch_unwind(AssertUnwindSafe(|| change(&mut session))).unwrap_or_else(|panic| {
        session.break_off(said(&*panic));
        otherwise
    })
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
}

/// The kinds of operation, by their numbers in `raddle_run.hrl`.
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

/// Decodes a touch from Erlang: twice the object, plus 1 if it is written; negative for none.
fn touch(number: i64) -> Touch {
    match u32::try_from(number) {
        Ok(number) => {
            let access = if number & 1 == 1 { Access::Write } else { Access::Read };
            Touch::new(ObjectId(number >> 1), access)
        }
        Err(_) => Touch::NONE,
    }
}

fn action(kind: u32, place: u32, nanoseconds: i64, touches: (i64, i64)) -> NifResult<Action> {
    let kind = *KINDS.get(kind as usize).ok_or(rustler::Error::BadArg)?;
    let argument = span(nanoseconds);
    Ok(Action { kind, place, argument, touches: [touch(touches.0), touch(touches.1)] })
}

/// Decodes nanoseconds from Erlang: negative for no time limit.
fn span(nanoseconds: i64) -> u64 {
    u64::try_from(nanoseconds).unwrap_or(u64::MAX)
}

/// Decodes the caller; negative for a process that is no longer an actor.
fn caller(number: i64) -> Option<u32> {
    u32::try_from(number).ok()
}

#[rustler::nif]
fn open<'a>(env: Env<'a>, spec: &str, step_limit: u64, patience: u32, anytime: bool) -> Term<'a> {
    let settings = Settings { step_limit, patience, timeouts_anytime: anytime, ..Settings::default() };
    match Handle::under(spec, settings) {
        Ok(handle) => (atoms::ok(), ResourceArc::new(handle)).encode(env),
        Err(error) => (atoms::error(), error.to_string()).encode(env),
    }
}

#[rustler::nif(schedule = "DirtyCpu")]
fn open_replay<'a>(env: Env<'a>, text: &str) -> Term<'a> {
    match Handle::replay(text) {
        Ok((handle, file)) => {
            let is_own = raddle_search::is_signed(&file);
            let info = (&file.program, &file.arguments, &file.locations, file.fingerprint, is_own);
            (atoms::ok(), ResourceArc::new(handle), info).encode(env)
        }
        Err(error) => (atoms::error(), error.to_string()).encode(env),
    }
}

/// Makes the VM end when its standard input is closed at the other end.
#[rustler::nif]
fn end_with_input(env: Env<'_>) -> Term<'_> {
    match connection::end_vm_with_input() {
        Ok(()) => atoms::ok().encode(env),
        Err(error) => (atoms::error(), error.to_string()).encode(env),
    }
}

/// Returns the state for all requests of the command line, the seed, and the time limit in milliseconds.
#[rustler::nif]
fn open_requests<'a>(env: Env<'a>, setup: &str) -> Term<'a> {
    match Requests::open(setup) {
        Ok((requests, seed, patience)) => {
            (atoms::ok(), ResourceArc::new(requests), seed, patience).encode(env)
        }
        Err(error) => (atoms::error(), error).encode(env),
    }
}

/// Returns a request as `{Session, Run, Trace}`: the run to execute, and whether its trace is returned
/// (`none`, `failing`, `any`, or `callers` for one with callers).
#[rustler::nif]
fn read_request<'a>(env: Env<'a>, requests: ResourceArc<Requests>, order: &str) -> Term<'a> {
    match requests.read(order) {
        Ok((shared, run, trace)) => {
            let trace = match trace {
                TraceMode::None => atoms::none(),
                TraceMode::Failing => atoms::failing(),
                TraceMode::Any => atoms::any(),
                TraceMode::Callers => atoms::callers(),
            };
            (shared, run, trace).encode(env)
        }
        Err(error) => (atoms::error(), error).encode(env),
    }
}

#[rustler::nif]
fn begin<'a>(env: Env<'a>, shared: Shared, seed: u64, run: u64) -> Term<'a> {
    if shared.lock().begin(seed, run) { atoms::ok().encode(env) } else { atoms::exhausted().encode(env) }
}

/// Sets a limit on the virtual time of the current run and later ones, at which they fail.
#[rustler::nif]
fn limit_time<'a>(env: Env<'a>, shared: Shared, nanoseconds: u64) -> Term<'a> {
    update(&shared, (), |session| session.limit_time(nanoseconds));
    atoms::ok().encode(env)
}

#[rustler::nif]
fn add_main(shared: Shared, pid: LocalPid) -> (u32, u32, u32) {
    update(&shared, (0, 0, 0), |session| session.add_main(pid))
}

#[rustler::nif]
fn add_spawned(shared: Shared, pid: LocalPid) -> (u32, u32, u32) {
    update(&shared, (0, 0, 0), |session| session.add_spawned(pid))
}

#[rustler::nif]
fn add_process_of(shared: Shared, parent: u32, pid: LocalPid) -> (u32, u32, u32) {
    update(&shared, (0, 0, 0), |session| session.add_process_of(parent, pid))
}

#[rustler::nif]
fn add_timer(shared: Shared, parent: u32, nanoseconds: i64, place: u32, timer: i64) -> u32 {
    update(&shared, 0, |session| session.add_timer(parent, span(nanoseconds), place, touch(timer)))
}

#[rustler::nif]
fn add_task(shared: Shared, parent: u32, kind: u32, place: u32, touches: (i64, i64)) -> NifResult<u32> {
    let action = action(kind, place, -1, touches)?;
    Ok(update(&shared, 0, |session| session.add_task(parent, action)))
}

#[rustler::nif]
fn add_carrier(shared: Shared, parent: u32, place: u32) -> (u32, u32) {
    update(&shared, (0, 0), |session| session.add_carrier(parent, place))
}

#[rustler::nif]
fn add_object(shared: Shared, name: u64) -> u32 {
    update(&shared, 0, |session| session.add_object(name))
}

#[rustler::nif]
fn start<'a>(env: Env<'a>, shared: Shared) -> Term<'a> {
    ask(env, &shared, |session| session.next(None))
}

/// Executes an operation of actor `me`: the hot path.
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
    let action = action(kind, place, -1, (first, second))?;
    Ok(ask(env, &shared, |session| session.step(Some(me), me, action)))
}

#[rustler::nif]
fn sleep<'a>(
    env: Env<'a>,
    shared: Shared,
    me: u32,
    place: u32,
    nanoseconds: i64,
    life: i64,
) -> NifResult<Term<'a>> {
    let action = action(6, place, nanoseconds, (life, -1))?;
    Ok(ask(env, &shared, |session| session.step(Some(me), me, action)))
}

#[rustler::nif]
fn wait<'a>(env: Env<'a>, shared: Shared, me: u32, place: u32, nanoseconds: i64) -> Term<'a> {
    ask(env, &shared, |session| session.wait(Some(me), me, place, span(nanoseconds)))
}

/// Executes an operation of `actor`, for which process `who` acts.
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
    let action = action(kind, place, -1, touches)?;
    Ok(ask(env, &shared, |session| session.step(caller(who), actor, action)))
}

/// Waits for a message to the mailbox of `actor`, for which process `who` acts.
#[rustler::nif]
fn act_wait<'a>(env: Env<'a>, shared: Shared, who: i64, actor: u32, place: u32) -> Term<'a> {
    ask(env, &shared, |session| session.wait(caller(who), actor, place, u64::MAX))
}

/// Requests a number below `arity` for `actor`, for which process `who` acts.
#[rustler::nif]
fn act_choose<'a>(env: Env<'a>, shared: Shared, who: i64, actor: u32, place: u32, arity: u32) -> Term<'a> {
    let action =
        Action { kind: Kind::Choose, place, argument: u64::from(arity), touches: [Touch::NONE, Touch::NONE] };
    ask(env, &shared, |session| session.step(caller(who), actor, action))
}

/// Returns the number that the latest such operation got.
#[rustler::nif]
fn chosen(shared: Shared) -> u32 {
    update(&shared, 0, |session| session.chosen())
}

/// Ends the next wait of `actor` after `steps` steps of the run, or sooner if no other actor can run, now or
/// later.
#[rustler::nif]
fn hold<'a>(env: Env<'a>, shared: Shared, actor: u32, steps: u64) -> Term<'a> {
    update(&shared, (), |session| session.hold(actor, steps));
    atoms::ok().encode(env)
}

/// Returns true if actors may wait for steps of the run.
#[rustler::nif]
fn holds(shared: Shared) -> bool {
    update(&shared, false, |session| session.has_holds())
}

#[rustler::nif]
fn finish<'a>(env: Env<'a>, shared: Shared, who: i64, actor: u32) -> Term<'a> {
    ask(env, &shared, |session| session.finish(caller(who), actor))
}

#[rustler::nif]
fn deliver<'a>(env: Env<'a>, shared: Shared, actor: u32) -> Term<'a> {
    update(&shared, (), |session| session.deliver(actor));
    atoms::ok().encode(env)
}

#[rustler::nif]
fn leave<'a>(env: Env<'a>, shared: Shared, actor: u32) -> Term<'a> {
    update(&shared, (), |session| session.leave(actor));
    atoms::ok().encode(env)
}

#[rustler::nif]
fn kill<'a>(env: Env<'a>, shared: Shared, actor: u32, place: u32, life: i64) -> NifResult<Term<'a>> {
    let action = action(1, place, -1, (life, -1))?;
    update(&shared, (), |session| session.kill(actor, action));
    Ok(atoms::ok().encode(env))
}

#[rustler::nif]
fn cancel<'a>(env: Env<'a>, shared: Shared, actor: u32) -> Term<'a> {
    update(&shared, (), |session| session.cancel(actor));
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

/// Returns the virtual time in nanoseconds.
#[rustler::nif]
fn now(shared: Shared) -> u64 {
    update(&shared, 0, |session| session.engine().now())
}

#[rustler::nif]
fn unique(shared: Shared) -> u64 {
    update(&shared, 0, Session::unique)
}

/// Interrupts an actor that has done nothing for long, and returns the number of operations it has announced.
#[rustler::nif]
fn interrupt(shared: Shared, actor: u32) -> u64 {
    update(&shared, 0, |session| session.interrupt(actor))
}

#[rustler::nif]
fn pids(shared: Shared) -> Vec<LocalPid> {
    shared.lock().processes().collect()
}

#[rustler::nif]
fn locations(shared: Shared) -> Vec<u32> {
    shared.lock().places().to_vec()
}

/// Returns a name for an actor that is the same in all runs.
#[rustler::nif]
fn actor_name(shared: Shared, actor: u32) -> u64 {
    update(&shared, 0, |session| session.engine().thread_name(ThreadId(actor)).0)
}

/// Returns the number of steps of the run.
#[rustler::nif]
fn steps(shared: Shared) -> u64 {
    shared.lock().engine().step_count()
}

/// Returns true if the strategy prunes orders by the objects that operations touch, and so must know all of
/// them.
#[rustler::nif]
fn searches(shared: Shared) -> bool {
    shared.searches()
}

/// Returns true if time-outs fire at any moment.
#[rustler::nif]
fn anytime(shared: Shared) -> bool {
    shared.anytime()
}

/// Returns the number of actors and objects of the run.
#[rustler::nif]
fn counts(shared: Shared) -> (usize, usize) {
    shared.lock().counts()
}

/// Returns actors with their mailboxes and their life objects.
#[rustler::nif]
fn owned(shared: Shared) -> Vec<(u32, u32, u32)> {
    shared.lock().owned().collect()
}

/// Ends the run and lets the strategy learn from it. Returns the verdict, the number of steps, the
/// fingerprint, the number of deschedulings and the virtual time.
#[rustler::nif]
fn end_run<'a>(env: Env<'a>, shared: Shared) -> Term<'a> {
    update(&shared, (), Session::learn);
    let session = shared.lock();
    if let Some(what) = session.broken() {
        return (atoms::broken(), what).encode(env);
    }
    let summary = session.engine().summary();
    let verdict = match &session.verdict() {
        Verdict::Passed => atoms::passed().encode(env),
        Verdict::CutOff => atoms::cut_off().encode(env),
        Verdict::Inconclusive { .. } => atoms::inconclusive().encode(env),
        Verdict::Failed { failure } => failed(env, failure),
    };
    let numbers = (session.engine().step_count(), summary.fingerprint, summary.rests, session.engine().now());
    (verdict, numbers).encode(env)
}

/// Returns a failure as `{failed, Kind, Actor, Message, [{Actor, Place}]}`, with the blocked actors.
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

/// Returns where a replay diverged from the recorded run, as `{Step, What}`, or a different outcome, as
/// `{none, What}`.
#[rustler::nif]
fn divergence<'a>(env: Env<'a>, shared: Shared) -> Term<'a> {
    match (shared.divergence(), shared.other_end()) {
        (Some(divergence), _) => divergence.encode(env),
        (None, Some(what)) => (atoms::none(), what).encode(env),
        (None, None) => atoms::none().encode(env),
    }
}

/// Records output of the program.
#[rustler::nif]
fn print<'a>(env: Env<'a>, shared: Shared, text: &str) -> Term<'a> {
    update(&shared, (), |session| session.print(text));
    atoms::ok().encode(env)
}

/// Returns the output of the program in this run, truncated to its end.
#[rustler::nif]
fn printed(shared: Shared) -> String {
    shared.lock().printed().to_owned()
}

/// Returns the run as a failure file.
#[rustler::nif(schedule = "DirtyCpu")]
fn record(
    shared: Shared,
    (program, arguments): (String, Vec<String>),
    (seed, run): (u64, u64),
    (threads, objects, locations): Names,
) -> String {
    let info = RunInfo { program, arguments, seed, run, threads, objects, locations };
    raddle_search::signed(&shared.record(info))
}

/// Returns the run for the command line, with its output and the calling lines, and with its trace if there
/// are names for it.
#[rustler::nif]
fn answer(
    shared: Shared,
    (seed, run): (u64, u64),
    names: Option<Names>,
    printed: String,
    callers: Vec<Caller>,
) -> NifResult<String> {
    let info = names.map(|(threads, objects, locations)| RunInfo {
        seed,
        run,
        threads,
        objects,
        locations,
        ..RunInfo::default()
    });
    shared.answer(info, printed, callers).map_err(|error| rustler::Error::Term(Box::new(error)))
}

/// Returns the calling line for each step of the run, as in [`Session::callers`].
#[rustler::nif(schedule = "DirtyCpu")]
fn callers(shared: Shared, known: Vec<Caller>) -> Vec<String> {
    shared.lock().callers(known)
}

/// Returns the steps of the run in a failure file as text, with the calling lines, and how it was minimized.
#[rustler::nif(schedule = "DirtyCpu")]
fn shown(text: &str, callers: Vec<String>) -> String {
    record::read(text).map_or_else(|error| error.to_string(), |file| record::show(&file, &callers))
}
