//! Consecutive runs of one Erlang program: the actors of the engine, and which processes to wake.
//!
//! A thread of the engine is an *actor* here. Most are Erlang processes, which sleep on the BEAM until they
//! are woken. The others (timers, deliveries between nodes, dying processes) have no process of their own:
//! the process that asked for the next actor acts for them. So there is no process in the middle, and a
//! switch is one message.

use crate::locations::Locations;
use crate::printed::Printed;
use raddle_engine::{Config, Divergence, Engine, Next, Plan, Replay, Reply, Resource, Rng, Strategy};
use raddle_model::{
    Access, Event, Failure, Kind, LocationId, Name, ObjectId, Operation, Pick, ThreadId, Touch, Verdict, mix,
};
use std::collections::BTreeMap;

/// The next action of the calling process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer<P> {
    /// Continue.
    Go,
    /// Continue; the wait timed out.
    TimedOut,
    /// Wake this process, and sleep.
    Wake(P),
    /// Like `Wake`; the wait of that process timed out.
    WakeTimedOut(P),
    /// Act for this actor, which has no process.
    ActFor(u32),
    /// Sleep forever, as the run is over.
    Stop,
}

/// The line of the program for which a library executed an operation: the actor, the location id used on the
/// Erlang side and its 1-based occurrence.
pub type Caller = ((u32, u32, u32), String);

/// The next operation of an actor.
#[derive(Clone, Copy, Debug)]
pub struct Action {
    /// The kind.
    pub kind: Kind,
    /// The location id used on the Erlang side.
    pub place: u32,
    /// See [`Operation::argument`].
    pub argument: u64,
    /// The objects touched.
    pub touches: [Touch; 2],
}

struct Actor<P> {
    /// The process of this actor, if there is one.
    process: Option<P>,
    mailbox: ObjectId,
    /// The object that stands for its life; its mailbox, if it has none.
    life: ObjectId,
    /// The first operation, if the actor is not a process and so cannot announce it itself.
    first: Option<Operation>,
    /// The number of operations it has announced.
    announced: u64,
}

/// The mailbox of an actor without one; it is never used.
const NOTHING: ObjectId = ObjectId(u32::MAX);

/// The source of the schedules of a session.
enum Guide {
    Strategy(Box<dyn Strategy>),
    Replay(Box<Replay>),
}

/// The engine with its strategy, and the actors of the current run. `P` identifies a process for the BEAM.
pub struct Session<P> {
    engine: Engine,
    guide: Guide,
    actors: Vec<Actor<P>>,
    places: Locations,
    /// The actor that the latest [`Kind::Spawn`] has created, until it gets its process.
    born: Option<ThreadId>,
    unique: u64,
    /// True if the end of the test is an operation. A search that enumerates all orders must see it, because
    /// it discards the next operations of other actors; under the other strategies it costs steps and finds
    /// nothing. A repeated run has it if the original had it.
    exits: bool,
    /// True if that operation waits until nothing else can run without time passing. It depends on
    /// everything, so at any moment it would multiply the orders by the remaining steps of the others, whose
    /// effects are unobservable after it.
    exits_last: bool,
    /// Held actors, each with the number of steps after which it continues.
    held: Vec<(u64, u32)>,
    /// True if actors are held at all. In a repeated run the schedule determines when they continue.
    holds: bool,
    /// The value of the latest [`Kind::Choose`].
    chosen: u32,
    /// The number of interruptions of actors that did nothing for long.
    interruptions: u64,
    printed: Printed,
    /// The internal error, if any.
    broken: Option<String>,
}

impl<P: Copy> Session<P> {
    /// Creates a session under a strategy.
    pub fn new(strategy: Box<dyn Strategy>, config: Config) -> Session<P> {
        let exits = strategy.needs().enabled;
        Session::guided(Guide::Strategy(strategy), config, exits)
    }

    /// Creates a session that repeats a recorded run.
    pub fn replay(events: Vec<Event>, picks: Vec<Pick>, config: Config) -> Session<P> {
        Session::guided(Guide::Replay(Box::new(Replay::of(events, picks))), config, false)
    }

    /// Configures the session for repeated runs, in which the end of the test is an operation, or is not.
    pub fn again(self, exits: bool) -> Session<P> {
        Session { exits, exits_last: false, holds: false, ..self }
    }

    fn guided(guide: Guide, config: Config, exits: bool) -> Session<P> {
        Session {
            engine: Engine::new(config),
            guide,
            actors: Vec::new(),
            places: Locations::default(),
            born: None,
            unique: 0,
            exits,
            exits_last: exits,
            held: Vec::new(),
            holds: true,
            chosen: 0,
            interruptions: 0,
            printed: Printed::default(),
            broken: None,
        }
    }

    fn strategy(&mut self) -> &mut dyn Strategy {
        match &mut self.guide {
            Guide::Strategy(strategy) => &mut **strategy,
            Guide::Replay(replay) => &mut **replay,
        }
    }

    /// Begins run number `run` of `seed`; returns false if there is no such run.
    pub fn begin(&mut self, seed: u64, run: u64) -> bool {
        if self.strategy().begin(Rng::for_run(seed, run)) == Plan::Exhausted {
            return false;
        }
        let mut needs = self.strategy().needs();
        needs.exit_last |= self.exits_last;
        self.engine.begin(needs);
        self.actors.clear();
        self.places.clear();
        self.born = None;
        self.unique = 0;
        self.held.clear();
        self.chosen = 0;
        self.interruptions = 0;
        self.printed.clear();
        self.broken = None;
        true
    }

    /// Sets a limit in nanoseconds on the virtual time of the current run and later ones, at which they fail.
    pub fn limit_time(&mut self, nanoseconds: u64) {
        self.engine.limit_time(nanoseconds);
    }

    /// Adds the process that runs the test; returns its actor, its mailbox, and its life object.
    pub fn add_main(&mut self, process: P) -> (u32, u32, u32) {
        let thread = self.engine.add_thread();
        self.add_process(thread, Some(process))
    }

    /// Sets the process of the actor that the latest [`Kind::Spawn`] has created. Returns the same as
    /// [`Session::add_main`].
    pub fn add_spawned(&mut self, process: P) -> (u32, u32, u32) {
        let thread = self.born.take().expect("a spawn was executed");
        self.add_process(thread, Some(process))
    }

    /// Adds a process as part of the latest step of `parent`, which is not a [`Kind::Spawn`]. Returns the
    /// same as [`Session::add_main`].
    pub fn add_process_of(&mut self, parent: u32, process: P) -> (u32, u32, u32) {
        let thread = self.engine.add_child(ThreadId(parent));
        self.add_process(thread, Some(process))
    }

    fn add_process(&mut self, thread: ThreadId, process: Option<P>) -> (u32, u32, u32) {
        let name = self.engine.thread_name(thread);
        let mailbox = self.engine.add_object(name.child(u64::MAX - 1), Resource::mailbox());
        let life = self.engine.add_object(name.child(u64::MAX - 2), Resource::Memory);
        self.add_actor(thread, Actor { process, mailbox, life, first: None, announced: 0 });
        (thread.0, mailbox.0, life.0)
    }

    fn add_actor(&mut self, thread: ThreadId, actor: Actor<P>) {
        assert_eq!(thread.index(), self.actors.len(), "actors are added in the order of their threads");
        self.actors.push(actor);
    }

    /// Adds an actor without a process that sleeps for `nanoseconds` and then executes an operation.
    /// Cancelling it also touches `timer`.
    pub fn add_timer(&mut self, parent: u32, nanoseconds: u64, place: u32, timer: Touch) -> u32 {
        let location = self.find_place(place);
        let thread = self.engine.add_child(ThreadId(parent));
        // A zero duration is over at once, not only when no other actor can run.
        let mut first = match nanoseconds {
            0 => Operation::new(Kind::Yield, location),
            _ => Operation::new(Kind::Sleep, location).with_argument(nanoseconds),
        };
        first.touches[0] = timer;
        let mailbox = NOTHING;
        self.add_actor(
            thread,
            Actor { process: None, mailbox, life: mailbox, first: Some(first), announced: 0 },
        );
        thread.0
    }

    /// Adds an actor without a process that executes this operation, as part of the latest step of `parent`.
    pub fn add_task(&mut self, parent: u32, action: Action) -> u32 {
        let first = self.operation(action);
        let thread = self.engine.add_child(ThreadId(parent));
        let mailbox = NOTHING;
        self.add_actor(
            thread,
            Actor { process: None, mailbox, life: mailbox, first: Some(first), announced: 0 },
        );
        thread.0
    }

    /// Adds an actor without a process that waits for messages to its mailbox, for the whole run. Returns the
    /// actor and the mailbox.
    pub fn add_carrier(&mut self, parent: u32, place: u32) -> (u32, u32) {
        let location = self.find_place(place);
        let thread = self.engine.add_child(ThreadId(parent));
        self.engine.set_background(thread);
        let name = self.engine.thread_name(thread);
        let mailbox = self.engine.add_object(name.child(u64::MAX - 1), Resource::mailbox());
        let first = Operation::new(Kind::Receive, location).on(mailbox, Access::Read);
        self.add_actor(
            thread,
            Actor { process: None, mailbox, life: mailbox, first: Some(first), announced: 0 },
        );
        (thread.0, mailbox.0)
    }

    /// Adds an object that is read and written. `name` is the same in all runs.
    pub fn add_object(&mut self, name: u64) -> u32 {
        self.engine.add_object(Name(mix(name)), Resource::Memory).0
    }

    fn find_place(&mut self, place: u32) -> LocationId {
        let (location, new) = self.places.find(place);
        if new && self.engine.wants_location_names() {
            self.engine.name_location(location, Name(mix(u64::from(place))));
        }
        location
    }

    fn operation(&mut self, action: Action) -> Operation {
        let Action { kind, place, argument, touches } = action;
        Operation { kind, argument, touches, location: self.find_place(place) }
    }

    /// Executes an operation of `actor`; `caller` is the process that calls, the actor itself unless it acts
    /// for another.
    #[inline]
    pub fn step(&mut self, caller: Option<u32>, actor: u32, action: Action) -> Answer<P> {
        let operation = self.operation(action);
        self.actors[actor as usize].announced += 1;
        self.engine.announce(ThreadId(actor), operation);
        self.next(caller)
    }

    /// Interrupts `actor`, which has done nothing for long. Returns the number of operations it has
    /// announced.
    pub fn interrupt(&mut self, actor: u32) -> u64 {
        self.interruptions += 1;
        self.actors[actor as usize].announced
    }

    /// Returns the cost of the run, in steps. The time between two interruptions counts as some thousand.
    pub fn effort(&self) -> u64 {
        self.engine.step_count() + 20_000 * self.interruptions
    }

    /// Makes `actor`, which has found no message in its mailbox, wait for `nanoseconds`.
    #[inline]
    pub fn wait(&mut self, caller: Option<u32>, actor: u32, place: u32, nanoseconds: u64) -> Answer<P> {
        let mailbox = self.actors[actor as usize].mailbox;
        self.engine.note_seen(mailbox);
        let touches = [Touch::new(mailbox, Access::Read), Touch::NONE];
        self.step(caller, actor, Action { kind: Kind::Receive, place, argument: nanoseconds, touches })
    }

    /// Removes `actor`.
    pub fn finish(&mut self, caller: Option<u32>, actor: u32) -> Answer<P> {
        self.engine.finish(ThreadId(actor));
        self.next(caller)
    }

    /// Returns the next actor to run. Every actor that was resumed has announced its next operation before.
    pub fn next(&mut self, caller: Option<u32>) -> Answer<P> {
        loop {
            if !self.held.is_empty() {
                self.release(self.engine.step_count());
            }
            let strategy: &mut dyn Strategy = match &mut self.guide {
                Guide::Strategy(strategy) => &mut **strategy,
                Guide::Replay(replay) => &mut **replay,
            };
            let (thread, reply) = match self.engine.next(strategy) {
                Next::Resume { thread, reply } => (thread, reply),
                // No actor can run, now or later: releasing held actors may change that.
                Next::Idle { until: None, .. } => {
                    self.release(u64::MAX);
                    continue;
                }
                Next::Idle { .. } => continue,
                Next::Done => return Answer::Stop,
            };
            if let Reply::Spawned(child) = reply {
                self.born = Some(child);
            }
            if let Reply::Number(value) = reply {
                self.chosen = value;
            }
            let late = matches!(reply, Reply::TimedOut | Reply::Busy);
            let actor = &mut self.actors[thread.index()];
            if let Some(first) = actor.first.take() {
                self.engine.announce(thread, first);
                continue;
            }
            return match actor.process {
                Some(_) if caller == Some(thread.0) && late => Answer::TimedOut,
                Some(_) if caller == Some(thread.0) => Answer::Go,
                Some(process) if late => Answer::WakeTimedOut(process),
                Some(process) => Answer::Wake(process),
                None => Answer::ActFor(thread.0),
            };
        }
    }

    /// Releases actors that are held for at most `steps`.
    fn release(&mut self, steps: u64) {
        let (due, held) = std::mem::take(&mut self.held).into_iter().partition(|&(until, _)| until <= steps);
        self.held = held;
        let due: Vec<(u64, u32)> = due;
        due.into_iter().for_each(|(_, actor)| self.deliver(actor));
    }

    /// Holds `actor`, which is about to wait, for `steps` more steps of the run, or until no other actor can
    /// run, now or later.
    pub fn hold(&mut self, actor: u32, steps: u64) {
        self.engine.expect_outside(true);
        let until = if self.holds { self.engine.step_count().saturating_add(steps) } else { 0 };
        self.held.push((until, actor));
    }

    /// Returns true if actors may be held for some steps. Not under a strategy for which the enabled actors
    /// matter: there an actor is enabled by its dependencies, not by the number of steps.
    pub fn has_holds(&self) -> bool {
        !self.exits
    }

    /// Returns the value of the latest [`Kind::Choose`].
    pub fn chosen(&self) -> u32 {
        self.chosen
    }

    /// Delivers a message to the mailbox of `actor`.
    pub fn deliver(&mut self, actor: u32) {
        let mailbox = self.actors[actor as usize].mailbox;
        self.engine.post(mailbox);
    }

    /// Detaches the process of `actor`, which is running: others act for it.
    pub fn leave(&mut self, actor: u32) {
        self.actors[actor as usize].process = None;
    }

    /// Replaces the next operation of `actor`, which sleeps, and removes its process.
    pub fn kill(&mut self, actor: u32, action: Action) {
        let operation = self.operation(action);
        self.actors[actor as usize].process = None;
        self.engine.replace(ThreadId(actor), operation);
    }

    /// Removes `actor`, which sleeps, and its process. A step was taken since it was created.
    pub fn cancel(&mut self, actor: u32) {
        let idle = Operation::new(Kind::Local, LocationId(0));
        self.actors[actor as usize].process = None;
        self.engine.replace(ThreadId(actor), idle);
        self.engine.finish(ThreadId(actor));
    }

    /// Ends the test, which ran in `actor` and has passed.
    pub fn conclude(&mut self, actor: u32, place: u32) -> Answer<P> {
        if self.exits {
            let location = self.find_place(place);
            self.engine.announce(ThreadId(actor), Operation::new(Kind::Exit, location));
        } else {
            self.engine.conclude();
        }
        self.next(None)
    }

    /// Fails the test in `actor`, after its latest operation.
    pub fn fail(&mut self, actor: u32, place: u32, message: String) {
        let own = |event: &&Event| event.thread.0 == actor;
        let latest = self.engine.events().iter().rev().find(own).map(|event| event.operation.location);
        let location = latest.unwrap_or_else(|| self.find_place(place));
        self.engine.fail(Failure::Assertion { thread: ThreadId(actor), location, message });
    }

    /// Returns a number that is unique in this run.
    pub fn unique(&mut self) -> u64 {
        self.unique += 1;
        self.unique
    }

    /// Lets the strategy learn from the run, which is over.
    pub fn learn(&mut self) {
        if let Guide::Strategy(strategy) = &mut self.guide {
            strategy.learn(&self.engine.summary());
        }
    }

    /// Returns where a replay diverged from the recorded run, if it did.
    pub fn divergence(&self) -> Option<Divergence> {
        match &self.guide {
            Guide::Strategy(_) => None,
            Guide::Replay(replay) => replay.divergence(),
        }
    }

    /// Returns the engine, for inspection.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the Erlang side's numbers of the locations of this run.
    pub fn places(&self) -> &[u32] {
        self.places.order()
    }

    /// Returns the processes of the actors of this run.
    pub fn processes(&self) -> impl Iterator<Item = P> + '_ {
        self.actors.iter().filter_map(|actor| actor.process)
    }

    /// Returns the verdict of the completed run. A deadlock is one of processes: an idle delivery is not part
    /// of it.
    pub fn verdict(&self) -> Verdict {
        let mut verdict = self.engine.summary().verdict.clone();
        if let Verdict::Failed { failure: Failure::Deadlock { blocked, .. } } = &mut verdict {
            blocked.retain(|entry| self.actors[entry.thread.index()].process.is_some());
        }
        verdict
    }

    /// Returns the number of actors and objects of the run.
    pub fn counts(&self) -> (usize, usize) {
        (self.actors.len(), self.engine.object_count())
    }

    /// Returns the actors that have a mailbox, each with it and its life object.
    pub fn owned(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        let actors = (0..).zip(&self.actors).filter(|(_, actor)| actor.mailbox != NOTHING);
        actors.map(|(number, actor)| (number, actor.mailbox.0, actor.life.0))
    }

    /// Returns for each step of the run, and then for each thread of a deadlock, the line of the program that
    /// caused it, if it is in `known`, and an empty text for others.
    pub fn callers(&self, known: Vec<Caller>) -> Vec<String> {
        let mut known: BTreeMap<_, _> = known.into_iter().collect();
        let mut counts: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let caller = |(thread, location): (ThreadId, LocationId)| {
            let place = self.places().get(location.index())?;
            let count = counts.entry((thread.0, *place)).or_default();
            *count += 1;
            known.remove(&(thread.0, *place, *count))
        };
        let blocked = match self.engine.summary().verdict.failure() {
            Some(Failure::Deadlock { blocked, .. }) => &blocked[..],
            _ => &[],
        };
        let steps = self.engine.events().iter().map(|event| (event.thread, event.operation.location));
        let waits = blocked.iter().map(|entry| (entry.thread, entry.location));
        steps.chain(waits).map(caller).map(Option::unwrap_or_default).collect()
    }

    /// Records output of the program.
    pub fn print(&mut self, text: &str) {
        self.printed.push(text);
    }

    /// Returns the output of the program in this run, truncated to its end.
    pub fn printed(&self) -> &str {
        self.printed.text()
    }

    /// Records an internal error; the run is inconclusive.
    pub fn break_off(&mut self, what: String) {
        self.broken.get_or_insert(what);
    }

    /// Returns the internal error, if any.
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }
}
