//! Executes the recorded operations of a run again without the program, so that the server's strategy can
//! learn from a run in another process. The values of atomics are not needed: choices of weak memory are copied.

use crate::child::outside;
use crate::child::results::RunData;
use raddle_engine::{Engine, Needs, Program, Replay, Reply, Strategy, run};
use raddle_model::{Event, Kind, LocationId, Name, Operation, Pick, ThreadId, Verdict};
use std::collections::VecDeque;

/// Brings `engine` into the state in which the run ended, and tracks the data that the strategy of the run
/// needs. `names` are the names of the locations of the run, if the strategy needs them. Returns true if it
/// went as recorded; if not, there is nothing to learn.
pub(crate) fn enact(engine: &mut Engine, data: &RunData, needs: Needs, names: &[Name]) -> bool {
    let mut actors: Vec<Actor> = data.ended.iter().map(|_| Actor::default()).collect();
    for event in data.events.iter().filter(|event| event.operation.kind != Kind::ConditionReacquire) {
        actors[event.thread.index()].next.push_back(event.operation);
    }
    for (actor, pending) in actors.iter_mut().zip(&data.pending) {
        actor.next.extend(pending.filter(|operation| operation.kind != Kind::ConditionReacquire));
    }
    let mut cast = Cast { data, actors, messages: Vec::new(), woken: 0, waiting: 0, born: 0 };
    let is_message = |pick: &Pick| data.events[pick.step as usize].operation.kind.accesses_memory();
    let (messages, picks) = data.picks.iter().partition(|pick| is_message(pick));
    cast.messages = messages;
    let replay = Replay::of(data.events.clone(), picks);
    let mut follower = Follower { replay, needs };
    // Location numbers are valid only within the run, and names remain valid when a run begins.
    for (place, &name) in names.iter().enumerate() {
        engine.name_location(LocationId(place as u32), name);
    }
    run(engine, &mut cast, &mut follower);
    engine.summary().trace.events.len() == data.events.len()
}

#[derive(Default)]
struct Actor {
    next: VecDeque<Operation>,
    /// Its latest operation, as an event of the run.
    last: Option<u32>,
    /// True if it waits for a resource of the operating system.
    waits: bool,
}

struct Cast<'a> {
    data: &'a RunData,
    actors: Vec<Actor>,
    /// The choices of weak memory.
    messages: Vec<Pick>,
    /// The number of tokens set without a step that have been set again.
    woken: usize,
    /// The number of threads that wait for a resource of the operating system.
    waiting: usize,
    /// The number of threads added without a step.
    born: usize,
}

impl Cast<'_> {
    /// Adds the objects with numbers below `known`.
    fn make(&self, engine: &mut Engine, known: usize) {
        for made in self.data.made.iter().take(known).skip(engine.object_count()) {
            made.add(engine);
        }
    }

    /// Adds the threads that the latest step of `parent` has added.
    fn bear(&mut self, engine: &mut Engine, parent: ThreadId) {
        while let Some(birth) = self.data.births.get(self.born)
            && u64::from(birth.step) == engine.step_count()
            && birth.parent == parent
        {
            self.born += 1;
            let thread = engine.add_child(parent);
            engine.set_background(thread);
        }
    }

    /// Sets the tokens that were set at this point of the run.
    fn wake(&mut self, engine: &mut Engine, idle: bool) {
        while let Some(wake) = self.data.wakes.get(self.woken)
            && u64::from(wake.step) == engine.step_count()
            && wake.idle == idle
        {
            self.woken += 1;
            self.make(engine, wake.token.index() + 1);
            engine.give_token(wake.token);
        }
    }
}

impl Program for Cast<'_> {
    fn start(&mut self, engine: &mut Engine) {
        engine.add_thread();
    }

    fn resume(&mut self, engine: &mut Engine, thread: ThreadId, reply: Reply) {
        if std::mem::take(&mut self.actors[thread.index()].waits) {
            self.waiting -= 1;
            engine.expect_outside(self.waiting > 0);
        }
        self.bear(engine, thread);
        self.wake(engine, false);
        let actor = &mut self.actors[thread.index()];
        if reply == Reply::Go {
            let latest = (engine.step_count() as u32).checked_sub(1);
            actor.last = latest.filter(|&step| self.data.events[step as usize].thread == thread);
            let choice = self.messages.binary_search_by_key(&actor.last, |pick| Some(pick.step));
            if let Ok(index) = choice {
                let Pick { arity, value, .. } = self.messages[index];
                engine.repeat_message_choice(thread, arity, value);
            }
            if actor.last.is_some_and(|step| self.data.unwritten.binary_search(&step).is_ok()) {
                engine.note_no_write(thread);
            }
            let interrupts = self.data.interrupts.iter().filter(|(step, _)| Some(*step) == actor.last);
            interrupts.for_each(|&(_, target)| engine.interrupt(target));
        }
        match (actor.next.pop_front(), &self.data.verdict) {
            (Some(operation), _) => {
                let known = operation.objects().map(|(object, _)| object.index() + 1).max().unwrap_or(0);
                self.make(engine, known);
                if outside::is_wait(&operation) {
                    self.actors[thread.index()].waits = true;
                    self.waiting += 1;
                    engine.expect_outside(true);
                }
                let next = self.actors[thread.index()].last.map(|last| last + 1);
                if next.is_some_and(|next| self.data.joined.binary_search(&next).is_ok()) {
                    engine.join_next(thread);
                }
                engine.announce(thread, operation);
            }
            (None, Verdict::Failed { failure }) if self.data.ended[thread.index()] == 0 => {
                engine.fail(failure.clone());
            }
            (None, _) => engine.finish(thread),
        }
    }

    fn idle(&mut self, engine: &mut Engine) {
        self.wake(engine, true);
    }
}

/// A strategy that follows the recorded run and tracks the data that the strategy of the run needs.
struct Follower {
    replay: Replay,
    needs: Needs,
}

impl Strategy for Follower {
    fn begin(&mut self, rng: raddle_engine::Rng) -> raddle_engine::Plan {
        self.replay.begin(rng)
    }

    fn choose(&mut self, point: &raddle_engine::Point<'_>) -> raddle_engine::Choice {
        self.replay.choose(point)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.replay.pick(arity)
    }

    fn needs(&self) -> Needs {
        self.needs
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        self.replay.fork()
    }
}

/// Returns the events of a recorded run.
pub(crate) fn events(steps: &[raddle_model::TraceStep]) -> Vec<Event> {
    steps.iter().map(|step| Event { thread: ThreadId(step.thread), operation: step.operation }).collect()
}
