//! What the BEAM calls. Functions that are called once for a file are on dirty schedulers; the others are short enough for an
//! ordinary one, except that `end_run` lets the strategy learn, which takes a search longer the longer the run was. The change to
//! a dirty scheduler would cost every short run more than that; what waits meanwhile are processes of the host on one scheduler.

use crate::desk::{Desk, Wish};
use crate::handle::{Handle, Shared};
use crate::record::{self, Names, Told};
use crate::rounds::Turns;
use crate::session::{Answer, Caller, Deed, Session};
use raddle_model::{Access, Failure, Kind, ObjectId, Settings, ThreadId, Touch, Verdict};
use rustler::{Encoder, Env, LocalPid, NifResult, ResourceArc, Term};
use std::panic::{AssertUnwindSafe, catch_unwind};

mod search;

mod atoms {
    rustler::atoms! {
        ok, error, exhausted, go, timeout, stop, none, passed, failed, cut_off, inconclusive, broken, failing, any, whole, over
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
    let settings = Settings {
        step_limit,
        patience,
        timeouts_anytime: anytime,
        races: false,
        exit_last: false,
        step_limit_fails: false,
    };
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
            let told = (&file.program, &file.arguments, &file.locations, file.fingerprint, is_own);
            (atoms::ok(), ResourceArc::new(handle), told).encode(env)
        }
        Err(error) => (atoms::error(), error.to_string()).encode(env),
    }
}

/// What holds for all orders of the command line: a desk that takes them, the seed, and the patience in milliseconds.
#[rustler::nif]
fn open_desk<'a>(env: Env<'a>, setup: &str) -> Term<'a> {
    match Desk::open(setup) {
        Ok((desk, seed, patience)) => (atoms::ok(), ResourceArc::new(desk), seed, patience).encode(env),
        Err(error) => (atoms::error(), error).encode(env),
    }
}

/// An order as `{Session, Run, Wish}`: which run to make, and whether its trace is wanted (`none`, `failing`, `any`, or `whole` for one with callers).
#[rustler::nif]
fn read_order<'a>(env: Env<'a>, desk: ResourceArc<Desk>, order: &str) -> Term<'a> {
    match desk.read(order) {
        Ok((shared, run, wish)) => {
            let wish = match wish {
                Wish::None => atoms::none(),
                Wish::Failing => atoms::failing(),
                Wish::Any => atoms::any(),
                Wish::Whole => atoms::whole(),
            };
            (shared, run, wish).encode(env)
        }
        Err(error) => (atoms::error(), error).encode(env),
    }
}

/// The strategies of a specification: several if it is a list or `portfolio`. What is wrong with one is found out by `open`.
#[rustler::nif]
fn lanes<'a>(env: Env<'a>, spec: &str) -> Term<'a> {
    match Turns::of(spec) {
        Ok(turns) => turns.specs().encode(env),
        Err(_) => spec.split('+').collect::<Vec<_>>().encode(env),
    }
}

/// Whose turn it is, for the strategies of a specification.
#[rustler::nif]
fn open_turns(spec: &str) -> rustler::NifResult<ResourceArc<Turns>> {
    Turns::of(spec).map(ResourceArc::new).map_err(|_| rustler::Error::BadArg)
}

/// The next turn, as the index of the strategy and the number of the run among its runs; nobody's if none has a schedule left.
#[rustler::nif]
fn next_turn<'a>(env: Env<'a>, turns: ResourceArc<Turns>) -> Term<'a> {
    match turns.next() {
        Some(turn) => (turn.lane, turn.run).encode(env),
        None => atoms::exhausted().encode(env),
    }
}

/// What came of the latest turn: its partial order, or nothing if the strategy has no schedule left.
#[rustler::nif]
fn note_turn<'a>(env: Env<'a>, turns: ResourceArc<Turns>, lane: usize, fingerprint: Option<u64>) -> Term<'a> {
    turns.note(lane, fingerprint);
    atoms::ok().encode(env)
}

#[rustler::nif]
fn begin<'a>(env: Env<'a>, shared: Shared, seed: u64, run: u64) -> Term<'a> {
    if shared.lock().begin(seed, run) { atoms::ok().encode(env) } else { atoms::exhausted().encode(env) }
}

/// Lets the run that has been begun, and those after it, fail at a limit of their virtual time.
#[rustler::nif]
fn limit_time<'a>(env: Env<'a>, shared: Shared, nanoseconds: u64) -> Term<'a> {
    tell(&shared, (), |session| session.limit_time(nanoseconds));
    atoms::ok().encode(env)
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
fn add_process_of(shared: Shared, parent: u32, pid: LocalPid) -> (u32, u32, u32) {
    tell(&shared, (0, 0, 0), |session| session.add_process_of(parent, pid))
}

#[rustler::nif]
fn add_timer(shared: Shared, parent: u32, nanoseconds: i64, place: u32, timer: i64) -> u32 {
    tell(&shared, 0, |session| session.add_timer(parent, span(nanoseconds), place, touch(timer)))
}

#[rustler::nif]
fn add_errand(shared: Shared, parent: u32, kind: u32, place: u32, touches: (i64, i64)) -> NifResult<u32> {
    let deed = deed(kind, place, -1, touches)?;
    Ok(tell(&shared, 0, |session| session.add_errand(parent, deed)))
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
fn sleep<'a>(
    env: Env<'a>,
    shared: Shared,
    me: u32,
    place: u32,
    nanoseconds: i64,
    life: i64,
) -> NifResult<Term<'a>> {
    let deed = deed(6, place, nanoseconds, (life, -1))?;
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

/// Process `who` acts for `actor`, which is about to ask for a number below `arity`.
#[rustler::nif]
fn act_choose<'a>(env: Env<'a>, shared: Shared, who: i64, actor: u32, place: u32, arity: u32) -> Term<'a> {
    let deed =
        Deed { kind: Kind::Choose, place, argument: u64::from(arity), touches: [Touch::NONE, Touch::NONE] };
    ask(env, &shared, |session| session.step(caller(who), actor, deed))
}

/// The number that the latest such operation has got.
#[rustler::nif]
fn chosen(shared: Shared) -> u32 {
    tell(&shared, 0, |session| session.chosen())
}

/// The next wait of `actor` is over after so many steps of the run, or sooner if nobody else can go on or ever could.
#[rustler::nif]
fn hold<'a>(env: Env<'a>, shared: Shared, actor: u32, steps: u64) -> Term<'a> {
    tell(&shared, (), |session| session.hold(actor, steps));
    atoms::ok().encode(env)
}

/// Whether actors may wait for steps of the run.
#[rustler::nif]
fn holds(shared: Shared) -> bool {
    tell(&shared, false, |session| session.has_holds())
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
fn cancel<'a>(env: Env<'a>, shared: Shared, actor: u32) -> Term<'a> {
    tell(&shared, (), |session| session.cancel(actor));
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

/// An actor is interrupted as it has done nothing for long: how many operations it has told of.
#[rustler::nif]
fn interrupt(shared: Shared, actor: u32) -> u64 {
    tell(&shared, 0, |session| session.interrupt(actor))
}

#[rustler::nif]
fn pids(shared: Shared) -> Vec<LocalPid> {
    shared.lock().processes().collect()
}

#[rustler::nif]
fn places(shared: Shared) -> Vec<u32> {
    shared.lock().places().to_vec()
}

/// A name for an actor that is the same in all runs.
#[rustler::nif]
fn actor_name(shared: Shared, actor: u32) -> u64 {
    tell(&shared, 0, |session| session.engine().thread_name(ThreadId(actor)).0)
}

/// How many steps the run has had.
#[rustler::nif]
fn steps(shared: Shared) -> u64 {
    shared.lock().engine().step_count()
}

/// Whether the strategy leaves out orders because of what operations touch, and so has to be told all of that.
#[rustler::nif]
fn searches(shared: Shared) -> bool {
    shared.searches()
}

/// Whether time-outs fire at any moment.
#[rustler::nif]
fn anytime(shared: Shared) -> bool {
    shared.anytime()
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
    let verdict = match &session.verdict() {
        Verdict::Passed => atoms::passed().encode(env),
        Verdict::CutOff => atoms::cut_off().encode(env),
        Verdict::Inconclusive { .. } => atoms::inconclusive().encode(env),
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

/// Where a replay has left the recorded run, as `{Step, What}`, or that it ends otherwise, as `{none, What}`.
#[rustler::nif]
fn divergence<'a>(env: Env<'a>, shared: Shared) -> Term<'a> {
    match (shared.divergence(), shared.other_end()) {
        (Some(divergence), _) => divergence.encode(env),
        (None, Some(what)) => (atoms::none(), what).encode(env),
        (None, None) => atoms::none().encode(env),
    }
}

/// The program prints a text.
#[rustler::nif]
fn print<'a>(env: Env<'a>, shared: Shared, text: &str) -> Term<'a> {
    tell(&shared, (), |session| session.print(text));
    atoms::ok().encode(env)
}

/// What the program has printed in this run; of much, the end.
#[rustler::nif]
fn printed(shared: Shared) -> String {
    shared.lock().printed().to_owned()
}

/// The run as a failure file.
#[rustler::nif(schedule = "DirtyCpu")]
fn record(
    shared: Shared,
    (program, arguments): (String, Vec<String>),
    (seed, run): (u64, u64),
    (threads, objects, locations): Names,
) -> String {
    let told = Told { program, arguments, seed, run, threads, objects, locations };
    raddle_search::signed(&shared.record(told))
}

/// The run for the command line, with its trace if there are names for it, what it has printed, and lines that called.
#[rustler::nif]
fn answer(
    shared: Shared,
    (seed, run): (u64, u64),
    names: Option<Names>,
    printed: String,
    callers: Vec<Caller>,
) -> NifResult<String> {
    let told = names.map(|(threads, objects, locations)| Told {
        seed,
        run,
        threads,
        objects,
        locations,
        ..Told::default()
    });
    shared.answer(told, printed, callers).map_err(|error| rustler::Error::Term(Box::new(error)))
}

/// For each step of the run the line that called, as [`Session::callers`] has it.
#[rustler::nif(schedule = "DirtyCpu")]
fn callers(shared: Shared, known: Vec<Caller>) -> Vec<String> {
    shared.lock().callers(known)
}

/// The steps of the run in the text of a failure file for a person, with the lines that called, and how it became smaller.
#[rustler::nif(schedule = "DirtyCpu")]
fn shown(text: &str, callers: Vec<String>) -> String {
    record::read(text).map_or_else(|error| error.to_string(), |file| record::show(&file, &callers))
}
