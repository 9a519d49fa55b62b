//! Many runs of one Erlang program, one after the other: who is who in the engine, and who has to be woken.
//!
//! A thread of the engine is an *actor* here. Most are Erlang processes, which sleep on the BEAM until somebody wakes them.
//! The others (timers, deliveries between nodes, processes that are dying) have no process of their own: whoever asked who is next
//! acts for them. So there is no process in the middle, and a switch is one message.

use crate::places::Places;
use raddle_engine::{Config, Divergence, Engine, Next, Plan, Replay, Reply, Resource, Rng, Strategy};
use raddle_model::{
    Access, Event, Failure, Kind, LocationId, Name, ObjectId, Operation, Pick, ThreadId, Touch, Verdict, mix,
};

use std::collections::BTreeMap;

/// What whoever has called does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer<P> {
    /// It goes on.
    Go,
    /// It goes on, and what it waited for has not come.
    TimedOut,
    /// It wakes this process, and sleeps.
    Wake(P),
    /// As `Wake`; what that process waited for has not come.
    WakeTimedOut(P),
    /// It acts for this actor, which has no process.
    ActFor(u32),
    /// It sleeps for ever, as the run is over.
    Stop,
}

/// The line of the program that an operation of a library was made for: of an actor, at a place as the Erlang side numbers them, and the how manieth of
/// these, from 1.
pub type Caller = ((u32, u32, u32), String);

/// What an actor is about to do.
#[derive(Clone, Copy, Debug)]
pub struct Deed {
    /// What.
    pub kind: Kind,
    /// Where, as the Erlang side numbers places.
    pub place: u32,
    /// See [`Operation::argument`].
    pub argument: u64,
    /// The objects touched.
    pub touches: [Touch; 2],
}

struct Actor<P> {
    /// The process that sleeps or runs as this actor, if there is one.
    process: Option<P>,
    mailbox: ObjectId,
    /// The object that stands for its life; its mailbox, if it has none.
    life: ObjectId,
    /// The first operation, if the actor is no process and so cannot tell it itself.
    first: Option<Operation>,
    /// How many operations it has told of.
    told: u64,
}

/// The mailbox of an actor that has none; nobody asks for it.
const NOTHING: ObjectId = ObjectId(u32::MAX);

/// Whom the runs of a session follow.
enum Guide {
    Strategy(Box<dyn Strategy>),
    Replay(Box<Replay>),
}

/// The engine with its strategy, and the actors of the run that is going on. `P` is how a process is known to the BEAM.
pub struct Session<P> {
    engine: Engine,
    guide: Guide,
    actors: Vec<Actor<P>>,
    places: Places,
    /// The actor that the latest [`Kind::Spawn`] has made, until it gets its process.
    born: Option<ThreadId>,
    unique: u64,
    /// Whether the end of the test is an operation. A search that goes through all orders has to see it, because what others were about
    /// to do is lost with it; under the other strategies it costs steps and finds nothing. A run that is made again has it if it had it.
    exits: bool,
    /// Whether that operation waits until nothing else can be done without time passing. It depends on everything, so at any moment it would multiply
    /// the orders by the steps of those that are not done, and what they do after it shows to nobody.
    exits_last: bool,
    /// Actors that stand aside, each with the number of steps after which it has news.
    held: Vec<(u64, u32)>,
    /// Whether actors stand aside at all. In a run that is made again the schedule says when they go on.
    holds: bool,
    /// The value of the latest [`Kind::Choose`].
    chosen: u32,
    /// How often actors were interrupted that did nothing for long.
    interruptions: u64,
    /// The end of what the program has printed in this run, or some more.
    printed: String,
    /// What went wrong in here, if anything did.
    broken: Option<String>,
}

/// So much of what a run prints is kept.
const MOST_PRINTED: usize = 64 << 10;

/// The end of a text that is too long, from the beginning of a line if there is one.
fn end(text: &str) -> &str {
    if text.len() <= MOST_PRINTED {
        return text;
    }
    let mut from = text.len() - MOST_PRINTED;
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let end = &text[from..];
    end.split_once('\n').map_or(end, |(_, lines)| if lines.is_empty() { end } else { lines })
}

impl<P: Copy> Session<P> {
    /// A session under a strategy.
    pub fn new(strategy: Box<dyn Strategy>, config: Config) -> Session<P> {
        let exits = strategy.needs().enabled;
        Session::guided(Guide::Strategy(strategy), config, exits)
    }

    /// A session that repeats a recorded run.
    pub fn replay(events: Vec<Event>, picks: Vec<Pick>, config: Config) -> Session<P> {
        Session::guided(Guide::Replay(Box::new(Replay::of(events, picks))), config, false)
    }

    /// The same for runs that are made again, in which the end of the test is an operation, or is none.
    pub fn again(self, exits: bool) -> Session<P> {
        Session { exits, exits_last: false, holds: false, ..self }
    }

    fn guided(guide: Guide, config: Config, exits: bool) -> Session<P> {
        Session {
            engine: Engine::new(config),
            guide,
            actors: Vec::new(),
            places: Places::default(),
            born: None,
            unique: 0,
            exits,
            exits_last: exits,
            held: Vec::new(),
            holds: true,
            chosen: 0,
            interruptions: 0,
            printed: String::new(),
            broken: None,
        }
    }

    fn strategy(&mut self) -> &mut dyn Strategy {
        match &mut self.guide {
            Guide::Strategy(strategy) => &mut **strategy,
            Guide::Replay(replay) => &mut **replay,
        }
    }

    /// Begins run number `run` of `seed`; tells whether there is such a run.
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

    /// Lets the run that has been begun, and those after it, fail where their virtual time would pass so many nanoseconds.
    pub fn limit_time(&mut self, nanoseconds: u64) {
        self.engine.limit_time(nanoseconds);
    }

    /// Adds the process that runs the test: its actor, its mailbox, and the object that stands for its life.
    pub fn add_main(&mut self, process: P) -> (u32, u32, u32) {
        let thread = self.engine.add_thread();
        self.add_process(thread, Some(process))
    }

    /// Gives the actor that the latest [`Kind::Spawn`] has made its process. As [`Session::add_main`].
    pub fn add_spawned(&mut self, process: P) -> (u32, u32, u32) {
        let thread = self.born.take().expect("a spawn was executed");
        self.add_process(thread, Some(process))
    }

    /// Adds a process as part of the latest step of `parent`, which is no [`Kind::Spawn`]. As [`Session::add_main`].
    pub fn add_process_of(&mut self, parent: u32, process: P) -> (u32, u32, u32) {
        let thread = self.engine.add_child(ThreadId(parent));
        self.add_process(thread, Some(process))
    }

    fn add_process(&mut self, thread: ThreadId, process: Option<P>) -> (u32, u32, u32) {
        let name = self.engine.thread_name(thread);
        let mailbox = self.engine.add_object(name.child(u64::MAX - 1), Resource::mailbox());
        let life = self.engine.add_object(name.child(u64::MAX - 2), Resource::Memory);
        self.add_actor(thread, Actor { process, mailbox, life, first: None, told: 0 });
        (thread.0, mailbox.0, life.0)
    }

    fn add_actor(&mut self, thread: ThreadId, actor: Actor<P>) {
        assert_eq!(thread.index(), self.actors.len(), "actors are added in the order of their threads");
        self.actors.push(actor);
    }

    /// Adds an actor without a process that sleeps for `nanoseconds` and then has something to do. `timer` is what whoever cancels
    /// it touches as well.
    pub fn add_timer(&mut self, parent: u32, nanoseconds: u64, place: u32, timer: Touch) -> u32 {
        let location = self.find_place(place);
        let thread = self.engine.add_child(ThreadId(parent));
        // A span of nothing is over at once, not only when nobody else can go on.
        let mut first = match nanoseconds {
            0 => Operation::new(Kind::Yield, location),
            _ => Operation::new(Kind::Sleep, location).with_argument(nanoseconds),
        };
        first.touches[0] = timer;
        let mailbox = NOTHING;
        self.add_actor(thread, Actor { process: None, mailbox, life: mailbox, first: Some(first), told: 0 });
        thread.0
    }

    /// Adds an actor without a process that has this to do, as part of the latest step of `parent`.
    pub fn add_errand(&mut self, parent: u32, deed: Deed) -> u32 {
        let first = self.operation(deed);
        let thread = self.engine.add_child(ThreadId(parent));
        let mailbox = NOTHING;
        self.add_actor(thread, Actor { process: None, mailbox, life: mailbox, first: Some(first), told: 0 });
        thread.0
    }

    /// Adds an actor without a process that waits for what comes to its mailbox, for as long as the run lasts. Tells the actor
    /// and the mailbox.
    pub fn add_carrier(&mut self, parent: u32, place: u32) -> (u32, u32) {
        let location = self.find_place(place);
        let thread = self.engine.add_child(ThreadId(parent));
        self.engine.set_background(thread);
        let name = self.engine.thread_name(thread);
        let mailbox = self.engine.add_object(name.child(u64::MAX - 1), Resource::mailbox());
        let first = Operation::new(Kind::Receive, location).on(mailbox, Access::Read);
        self.add_actor(thread, Actor { process: None, mailbox, life: mailbox, first: Some(first), told: 0 });
        (thread.0, mailbox.0)
    }

    /// Adds an object that is read and written. `name` is the same in all runs.
    pub fn add_object(&mut self, name: u64) -> u32 {
        self.engine.add_object(Name(mix(name)), Resource::Memory).0
    }

    fn find_place(&mut self, place: u32) -> LocationId {
        let (location, new) = self.places.find(place);
        if new && self.engine.wants_places() {
            self.engine.name_place(location, Name(mix(u64::from(place))));
        }
        location
    }

    fn operation(&mut self, deed: Deed) -> Operation {
        let Deed { kind, place, argument, touches } = deed;
        Operation { kind, argument, touches, location: self.find_place(place) }
    }

    /// `actor` is about to do something; `caller` is whoever says so, itself unless it acts for another.
    #[inline]
    pub fn step(&mut self, caller: Option<u32>, actor: u32, deed: Deed) -> Answer<P> {
        let operation = self.operation(deed);
        self.actors[actor as usize].told += 1;
        self.engine.announce(ThreadId(actor), operation);
        self.next(caller)
    }

    /// `actor` is interrupted as it has done nothing for long. Tells how many operations it has told of.
    pub fn interrupt(&mut self, actor: u32) -> u64 {
        self.interruptions += 1;
        self.actors[actor as usize].told
    }

    /// What the run has cost, in steps. What happens between two interruptions takes as long as some thousand.
    pub fn effort(&self) -> u64 {
        self.engine.step_count() + 20_000 * self.interruptions
    }

    /// `actor` has found nothing for it in its mailbox and waits for `nanoseconds`.
    #[inline]
    pub fn wait(&mut self, caller: Option<u32>, actor: u32, place: u32, nanoseconds: u64) -> Answer<P> {
        let mailbox = self.actors[actor as usize].mailbox;
        self.engine.note_seen(mailbox);
        let touches = [Touch::new(mailbox, Access::Read), Touch::NONE];
        self.step(caller, actor, Deed { kind: Kind::Receive, place, argument: nanoseconds, touches })
    }

    /// `actor` is no more.
    pub fn finish(&mut self, caller: Option<u32>, actor: u32) -> Answer<P> {
        self.engine.finish(ThreadId(actor));
        self.next(caller)
    }

    /// Who goes on. Every actor that was let go on has said before what it is about to do.
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
                // Nobody can go on or ever could: those that stand aside may change that.
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

    /// Gives news to those that stand aside for no more than `steps`.
    fn release(&mut self, steps: u64) {
        let (due, held) = std::mem::take(&mut self.held).into_iter().partition(|&(until, _)| until <= steps);
        self.held = held;
        let due: Vec<(u64, u32)> = due;
        due.into_iter().for_each(|(_, actor)| self.deliver(actor));
    }

    /// `actor`, which is about to wait, has news after `steps` more steps of the run, or sooner if nobody else can go on or ever could.
    pub fn hold(&mut self, actor: u32, steps: u64) {
        self.engine.expect_outside(true);
        let until = if self.holds { self.engine.step_count().saturating_add(steps) } else { 0 };
        self.held.push((until, actor));
    }

    /// Whether actors may stand aside for some steps. Not under a strategy for which it matters who could have gone on: there an actor is
    /// enabled because of what it depends on, not of how many steps there were.
    pub fn has_holds(&self) -> bool {
        !self.exits
    }

    /// The value of the latest [`Kind::Choose`].
    pub fn chosen(&self) -> u32 {
        self.chosen
    }

    /// Something has come to the mailbox of `actor`.
    pub fn deliver(&mut self, actor: u32) {
        let mailbox = self.actors[actor as usize].mailbox;
        self.engine.post(mailbox);
    }

    /// `actor` goes on without its process: others act for it. For one that runs.
    pub fn leave(&mut self, actor: u32) {
        self.actors[actor as usize].process = None;
    }

    /// `actor`, which sleeps, will do this instead of what it was about to do, and has no process any more.
    pub fn kill(&mut self, actor: u32, deed: Deed) {
        let operation = self.operation(deed);
        self.actors[actor as usize].process = None;
        self.engine.replace(ThreadId(actor), operation);
    }

    /// `actor`, which sleeps, is no more, and neither is its process. A step was taken since it was made.
    pub fn cancel(&mut self, actor: u32) {
        let idle = Operation::new(Kind::Local, LocationId(0));
        self.actors[actor as usize].process = None;
        self.engine.replace(ThreadId(actor), idle);
        self.engine.finish(ThreadId(actor));
    }

    /// The test, which ran in `actor`, is over and has passed.
    pub fn conclude(&mut self, actor: u32, place: u32) -> Answer<P> {
        if self.exits {
            let location = self.find_place(place);
            self.engine.announce(ThreadId(actor), Operation::new(Kind::Exit, location));
        } else {
            self.engine.conclude();
        }
        self.next(None)
    }

    /// The test has failed in `actor`, after its latest operation.
    pub fn fail(&mut self, actor: u32, place: u32, message: String) {
        let own = |event: &&Event| event.thread.0 == actor;
        let latest = self.engine.events().iter().rev().find(own).map(|event| event.operation.location);
        let location = latest.unwrap_or_else(|| self.find_place(place));
        self.engine.fail(Failure::Assertion { thread: ThreadId(actor), location, message });
    }

    /// A number that no other call in this run has given.
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

    /// Where a replay has left the recorded run, if it has.
    pub fn divergence(&self) -> Option<Divergence> {
        match &self.guide {
            Guide::Strategy(_) => None,
            Guide::Replay(replay) => replay.divergence(),
        }
    }

    /// The engine, to look at.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The numbers that the Erlang side has for the places of this run.
    pub fn places(&self) -> &[u32] {
        self.places.order()
    }

    /// The processes that sleep or run as actors of this run.
    pub fn processes(&self) -> impl Iterator<Item = P> + '_ {
        self.actors.iter().filter_map(|actor| actor.process)
    }

    /// How the run, which is over, ended. A deadlock is one of processes: a delivery that has nothing to deliver is no part of it.
    pub fn verdict(&self) -> Verdict {
        let mut verdict = self.engine.summary().verdict.clone();
        if let Verdict::Failed { failure: Failure::Deadlock { blocked, .. } } = &mut verdict {
            blocked.retain(|entry| self.actors[entry.thread.index()].process.is_some());
        }
        verdict
    }

    /// How many actors and objects the run has had.
    pub fn counts(&self) -> (usize, usize) {
        (self.actors.len(), self.engine.object_count())
    }

    /// The actors that have a mailbox, each with that and the object of its life.
    pub fn owned(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        let actors = (0..).zip(&self.actors).filter(|(_, actor)| actor.mailbox != NOTHING);
        actors.map(|(number, actor)| (number, actor.mailbox.0, actor.life.0))
    }

    /// For each step of the run the line of the program that it was made for, if that is among `known`, and an empty text for others.
    pub fn callers(&self, known: Vec<Caller>) -> Vec<String> {
        let mut known: BTreeMap<_, _> = known.into_iter().collect();
        let mut counts: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let caller = |event: &Event| {
            let place = self.places().get(event.operation.location.index())?;
            let count = counts.entry((event.thread.0, *place)).or_default();
            *count += 1;
            known.remove(&(event.thread.0, *place, *count))
        };
        self.engine.events().iter().map(caller).map(Option::unwrap_or_default).collect()
    }

    /// The program prints something.
    pub fn print(&mut self, text: &str) {
        self.printed.push_str(text);
        // Not each time, so that much is not moved again and again.
        if self.printed.len() > 2 * MOST_PRINTED {
            self.printed = end(&self.printed).to_owned();
        }
    }

    /// What the program has printed in this run; of much, the end.
    pub fn printed(&self) -> &str {
        end(&self.printed)
    }

    /// Notes that something went wrong in here; the run decides nothing.
    pub fn break_off(&mut self, what: String) {
        self.broken.get_or_insert(what);
    }

    /// What went wrong in here.
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }
}
