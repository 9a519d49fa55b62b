//! Runs that begin like an earlier one.

use crate::config::Config;
use crate::engine::Engine;
use crate::objects::Objects;
use crate::pending::Pending;
use crate::strategy::Needs;
use crate::threads::Threads;
use raddle_model::ThreadId;

/// A snapshot of a run before its first step, when every thread has announced its first operation. A program
/// that always begins in the same way keeps it to start later runs quickly.
#[derive(Clone, Debug)]
pub struct Beginning {
    config: Config,
    needs: Needs,
    threads: Threads,
    objects: Objects,
    pending: Pending,
    parents: Vec<Option<ThreadId>>,
    first_threads: usize,
    alive: usize,
    state: u64,
    has_state: bool,
    timed: bool,
}

impl Engine {
    /// Returns a thread that exists from the start and has to be resumed before the first choice. A front end
    /// that does not resume these threads through [`Engine::next`] calls this until it returns `None`.
    pub fn take_ready(&mut self) -> Option<ThreadId> {
        self.ready.pop().map(|(thread, _)| thread)
    }

    /// Returns a snapshot of the run, if it can be the beginning of others: nothing was executed, and every
    /// thread has announced its first operation or has ended. Returns `None` if a thread waits for a mutex or
    /// runs in the background, or if something may come from outside.
    pub fn beginning(&self) -> Option<Beginning> {
        let begun = self.ready.is_empty() && self.steps == 0 && self.now == 0 && self.verdict.is_none();
        // None of these is part of a beginning.
        let plain =
            self.resting.is_empty() && self.plain_lockers == 0 && self.background == 0 && !self.outside;
        (begun && plain).then(|| Beginning {
            config: self.config,
            needs: self.needs,
            threads: self.threads.clone(),
            objects: self.objects.clone(),
            pending: self.pending.clone(),
            parents: self.trace.parents.clone(),
            first_threads: self.first_threads,
            alive: self.alive,
            state: self.state,
            has_state: self.has_state,
            timed: self.timed,
        })
    }

    /// Makes this run, to which nothing was added yet, begin like an earlier one. Returns false, without
    /// effect, if the settings differ or the strategy needs something else to be tracked.
    #[inline]
    pub fn begin_like(&mut self, beginning: &Beginning) -> bool {
        let fits = self.config == beginning.config && self.needs == beginning.needs;
        if fits {
            self.threads.clone_from(&beginning.threads);
            self.objects.clone_from(&beginning.objects);
            self.pending.clone_from(&beginning.pending);
            self.trace.parents.clone_from(&beginning.parents);
            self.first_threads = beginning.first_threads;
            self.alive = beginning.alive;
            self.state = beginning.state;
            self.has_state = beginning.has_state;
            self.timed = beginning.timed;
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::{MutexKind, Resource};
    use raddle_model::{Access, Kind, LocationId, Name, ObjectId, Operation};

    /// Creates an engine in which two threads have announced an operation of this kind.
    fn begun(kind: Kind) -> Engine {
        let mut engine = Engine::new(Config::default());
        engine.begin(Needs::default());
        engine.add_object(Name(1), Resource::mutex(MutexKind::Normal));
        engine.add_thread();
        engine.add_thread();
        while let Some(thread) = engine.take_ready() {
            let operation = Operation::new(kind, LocationId(1)).on(ObjectId(0), Access::Write);
            engine.announce(thread, operation);
        }
        engine
    }

    #[test]
    fn only_supported_states_make_a_beginning() {
        assert!(begun(Kind::Write).beginning().is_some());
        assert!(begun(Kind::Lock).beginning().is_none());
        let mut engine = begun(Kind::Write);
        engine.add_thread();
        assert!(engine.beginning().is_none(), "a thread has announced nothing");
    }

    #[test]
    fn a_run_with_other_settings_begins_from_scratch() {
        let beginning = begun(Kind::Write).beginning().unwrap();
        let begins = |config, needs| {
            let mut engine = Engine::new(config);
            engine.begin(needs);
            (engine.begin_like(&beginning), engine.threads.len(), engine.object_count())
        };
        assert_eq!(begins(Config::default(), Needs::default()), (true, 2, 1));
        let other = Config { patience: 7, ..Config::default() };
        assert_eq!(begins(other, Needs::default()), (false, 0, 0));
        let state = Needs { state: true, ..Needs::default() };
        assert_eq!(begins(Config::default(), state), (false, 0, 0));
    }
}
