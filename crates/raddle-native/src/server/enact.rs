//! Runs the recorded operations of a run again without the program, so that the server's strategy can learn from a run that
//! happened in another process.

use crate::child::outside;
use crate::child::results::RunData;
use raddle_engine::{Engine, Needs, Program, Replay, Reply, Strategy, run};
use raddle_model::{Event, Kind, LocationId, Name, Operation, ThreadId, Verdict};
use std::collections::VecDeque;

/// Brings `engine` into the state in which the run ended, with what the strategy that made the run needs tracked.
/// `names` are the names of the places of the run, if the strategy needs them.
/// Tells whether that went as recorded; if not, there is nothing to be learnt.
pub(crate) fn enact(engine: &mut Engine, whole: &RunData, needs: Needs, names: &[Name]) -> bool {
    let mut actors: Vec<Actor> = whole.ended.iter().map(|_| Actor::default()).collect();
    for event in whole.events.iter().filter(|event| event.operation.kind != Kind::ConditionReacquire) {
        actors[event.thread.index()].next.push_back(event.operation);
    }
    for (actor, pending) in actors.iter_mut().zip(&whole.pending) {
        actor.next.extend(pending.filter(|operation| operation.kind != Kind::ConditionReacquire));
    }
    let mut cast = Cast { whole, actors, woken: 0, waiting: 0 };
    let replay = Replay::of(whole.events.clone(), whole.picks.clone());
    let mut follower = Follower { replay, needs };
    // Numbers of places mean nothing beyond the run, and names outlast the beginning of one.
    for (place, &name) in names.iter().enumerate() {
        engine.name_place(LocationId(place as u32), name);
    }
    run(engine, &mut cast, &mut follower);
    engine.summary().trace.events.len() == whole.events.len()
}

#[derive(Default)]
struct Actor {
    next: VecDeque<Operation>,
    /// Its latest operation, as an event of the run.
    last: Option<u32>,
    /// Whether it waits for something that the operating system keeps.
    waits: bool,
}

struct Cast<'a> {
    whole: &'a RunData,
    actors: Vec<Actor>,
    /// How many of the tokens that were given without a step have been given again.
    woken: usize,
    /// How many threads wait for something that the operating system keeps.
    waiting: usize,
}

impl Cast<'_> {
    /// Gives the tokens that were given at this point of the run.
    fn wake(&mut self, engine: &mut Engine, idle: bool) {
        while let Some(wake) = self.whole.wakes.get(self.woken)
            && u64::from(wake.step) == engine.step_count()
            && wake.idle == idle
        {
            self.woken += 1;
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
        self.wake(engine, false);
        let actor = &mut self.actors[thread.index()];
        if reply == Reply::Go {
            let latest = (engine.step_count() as u32).checked_sub(1);
            actor.last = latest.filter(|&step| self.whole.events[step as usize].thread == thread);
            if actor.last.is_some_and(|step| self.whole.unwritten.binary_search(&step).is_ok()) {
                engine.note_no_write(thread);
            }
            let interrupts = self.whole.interrupts.iter().filter(|(step, _)| Some(*step) == actor.last);
            interrupts.for_each(|&(_, target)| engine.interrupt(target));
        }
        match (actor.next.pop_front(), &self.whole.verdict) {
            (Some(operation), _) => {
                let known = operation.objects().map(|(object, _)| object.index() + 1).max().unwrap_or(0);
                for made in self.whole.made.iter().take(known).skip(engine.object_count()) {
                    made.add(engine);
                }
                if outside::is_wait(&operation) {
                    actor.waits = true;
                    self.waiting += 1;
                    engine.expect_outside(true);
                }
                engine.announce(thread, operation);
            }
            (None, Verdict::Failed { failure }) if self.whole.ended[thread.index()] == 0 => {
                engine.fail(failure.clone());
            }
            (None, _) => engine.finish(thread),
        }
    }

    fn idle(&mut self, engine: &mut Engine) {
        self.wake(engine, true);
    }
}

/// Follows the recorded run and tracks what the strategy that made it needs.
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

/// The events of a recorded run.
pub(crate) fn events(steps: &[raddle_model::TraceStep]) -> Vec<Event> {
    steps.iter().map(|step| Event { thread: ThreadId(step.thread), operation: step.operation }).collect()
}
