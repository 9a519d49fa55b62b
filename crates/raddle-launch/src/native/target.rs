//! A pthreads program as the target of a search.

use super::launch::{Server, library};
use super::program::is_instrumented;
use crate::server::Remote;
use crate::temporary::Temporary;
use anyhow::{Error, Result};
use raddle_model::native::{Points, RunResult, Setup};
use raddle_model::{Environment, Settings};
use raddle_search::{Budget, Lanes, Outcome, Search, Seen, Target, search};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// The result of a search of a program.
pub type Found = Outcome<Box<RunResult>, Error>;

/// A program, started once for each job with the native runtime inside.
pub struct Native<'a> {
    /// The program and its arguments.
    words: &'a [String],
    environment: &'a Environment,
    setup: &'a Setup,
    /// The memory that runs have discovered to be shared, packed.
    shared: Mutex<Vec<u64>>,
    library: Temporary,
    /// True if the machine supports fibers.
    fibers: AtomicBool,
}

impl<'a> Native<'a> {
    /// Prepares a program, `words[0]`, with the other words as arguments.
    pub fn new(words: &'a [String], environment: &'a Environment, setup: &'a Setup) -> Result<Native<'a>> {
        let shared = Mutex::new(setup.shared.clone());
        Ok(Native { words, environment, setup, shared, library: library()?, fibers: AtomicBool::new(false) })
    }

    /// Executes runs under the strategies of the setup, which are those of `lanes`.
    pub fn search(
        &self,
        lanes: &Lanes,
        budget: Budget,
        jobs: usize,
        watch: &(dyn Fn(Seen<'_>) + Sync),
    ) -> Result<Found> {
        let known = Some(&self.setup.known);
        search(self, &Search { lanes, budget, jobs, part: None, known, watch, every: 1 })
    }

    /// Executes the runs of `whole`, or a part of them, under the strategies of the setup.
    pub fn run(&self, whole: &Search<'_>) -> Result<Found> {
        search(self, &Search { known: Some(&self.setup.known), every: 1, ..whole.clone() })
    }

    fn shared(&self) -> MutexGuard<'_, Vec<u64>> {
        self.shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Returns true if the threads of its runs were fibers.
    pub fn had_fibers(&self) -> bool {
        self.fibers.load(Ordering::Relaxed)
    }
}

impl Target for Native<'_> {
    type Worker = Remote<Server>;

    fn start(&self, _job: usize) -> Result<Remote<Server>> {
        let shared = self.shared().clone();
        let setup = Setup { shared, ..self.setup.clone() };
        let server = Server::start(&self.library, self.words, self.environment, &setup)?;
        self.fibers.fetch_or(server.fibers, Ordering::Relaxed);
        Ok(Remote::new(server, &self.words[0], self.setup))
    }

    fn may_discover(&self) -> bool {
        self.setup.points == Points::Shared && is_instrumented(Path::new(&self.words[0])).unwrap_or(true)
    }

    fn learn_shared(&self, shared: Vec<u64>) {
        *self.shared() = shared;
    }
}

/// Returns the default setup of a search.
pub fn setup(lanes: &Lanes, seed: u64, settings: Settings, run_time: Duration) -> Setup {
    let patience_ms = u64::try_from(run_time.as_millis()).unwrap_or(u64::MAX);
    Setup::new(lanes.specs(), seed, settings, patience_ms)
}
