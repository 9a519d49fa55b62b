//! The state of the server.
#![expect(unsafe_code, reason = "files are known by numbers")]

use super::processor::Processors;
use super::signals::Signals;
use super::wire::Wire;
use crate::child::accesses::Known;
use crate::platform::memory;
use crate::platform::modules::Modules;
use crate::platform::raw;
use raddle_engine::{Config, Engine, Races, Strategy, Timeouts};
use raddle_model::native::{Answer, Setup};
use raddle_model::{IRoot, Ledger, Name, Settings};
use raddle_strategies::coverage::Coverage;
use std::collections::{BTreeMap, BTreeSet};

/// The server.
pub(super) struct Server {
    pub(super) wire: Wire,
    pub(super) setup: Setup,
    /// All are there but, in a child, the one under which it makes its run.
    pub(super) strategies: Vec<Option<Box<dyn Strategy>>>,
    /// Per strategy: whether it learns by itself, and the iRoots that were told.
    pub(super) lanes: Vec<Lane>,
    /// For learning.
    pub(super) engine: Engine,
    /// Address ranges of the files that the program is made of.
    pub(super) modules: &'static Modules,
    /// The names of the places that runs came to, by their addresses and those of their callers, if a strategy asks for them.
    pub(super) places: BTreeMap<Vec<u64>, Name>,
    /// A file in memory for what the program prints.
    pub(super) output: i32,
    /// If the standard output is expected to be this, another file for that alone.
    pub(super) expected: Option<(Vec<u8>, i32)>,
    /// Memory that is known to be shared.
    pub(super) known: Known,
    /// Runs are being made to learn that.
    pub(super) learns: bool,
    /// Why the first run was lost of those that were to tell that, if one was.
    pub(super) unlearnt: Option<String>,
    /// What the program calls its main thread.
    pub(super) main: u64,
    pub(super) signals: Signals,
    pub(super) processors: Processors,
}

/// What is kept of a strategy beside itself.
pub(super) struct Lane {
    /// Whether it learns by itself, not only because its runs are looked at.
    pub(super) learns: bool,
    /// Invariant: the exposed iRoots of its ledger that the command line knows.
    pub(super) told: BTreeSet<IRoot>,
}

impl Lane {
    /// Of a strategy that has recalled `known`, which came from the command line.
    pub(super) fn new(learns: bool, known: &Ledger) -> Lane {
        let exposed = known.iter().filter(|(_, standing)| standing.exposed);
        Lane { learns, told: exposed.map(|(&root, _)| root).collect() }
    }
}

/// What somebody wants to know of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Its steps if it fails.
    IfFailing,
    /// Its steps.
    Steps,
    /// Its steps and what they read and wrote.
    Values,
}

impl Server {
    /// A server, in memory of its own: what is on the stack is copied by every child.
    #[inline(never)]
    pub(super) fn new(mut wire: Wire, setup: Setup) -> Box<Server> {
        let modules = Box::leak(Box::new(Modules::read()));
        // What changes from run to run is on few pages.
        memory::settle();
        let (mut strategies, mut lanes): (Vec<Option<Box<dyn Strategy>>>, _) = (Vec::new(), Vec::new());
        for spec in &setup.strategies {
            match raddle_strategies::build(spec) {
                Ok(mut strategy) => {
                    lanes.push(Lane::new(strategy.learns(), &setup.known));
                    if let Some(window) = setup.coverage {
                        strategy = Box::new(Coverage::new(strategy, window));
                    }
                    strategy.recall(&setup.known);
                    strategies.push(Some(strategy));
                }
                Err(error) => {
                    wire.send(&Answer::Lost { message: error.to_string() });
                    raw::exit(0);
                }
            }
        }
        let output = memory_file(wire.socket);
        let expected = setup.expected.as_ref().map(|path| match std::fs::read(path) {
            Ok(text) => (text, memory_file(wire.socket)),
            Err(error) => {
                wire.send(&Answer::Lost { message: format!("cannot read {path}: {error}") });
                raw::exit(0);
            }
        });
        let engine = Engine::new(config(setup.settings));
        let (places, known, unlearnt) = (BTreeMap::new(), Known::default(), None);
        let is_alone = setup.alone;
        // SAFETY: it has no condition.
        let main = unsafe { libc::pthread_self() };
        Box::new(Server {
            wire,
            setup,
            strategies,
            lanes,
            engine,
            modules,
            places,
            output,
            expected,
            known,
            learns: false,
            unlearnt,
            main,
            signals: Signals::take(),
            processors: Processors::known(is_alone),
        })
    }

    /// The files for what the program prints.
    pub(super) fn files(&self) -> impl Iterator<Item = i32> + '_ {
        self.expected.iter().map(|(_, file)| *file).chain([self.output])
    }
}

/// A new file in memory, out of the way of the program's numbers, which are less than `from`.
fn memory_file(from: i32) -> i32 {
    // SAFETY: the name ends with a zero, and the number is our own.
    unsafe {
        let file = libc::memfd_create(c"output".as_ptr(), libc::MFD_CLOEXEC);
        let moved = libc::fcntl(file, libc::F_DUPFD_CLOEXEC, from);
        libc::close(file);
        moved
    }
}

/// Returns the configuration of the engine for these settings.
pub(super) fn config(settings: Settings) -> Config {
    let mut config = Config::default();
    config.step_limit = settings.step_limit;
    config.step_limit_fails = settings.step_limit_fails;
    config.patience = settings.patience;
    config.timeouts = if settings.timeouts_anytime { Timeouts::Anytime } else { Timeouts::WhenIdle };
    config.exit_last = settings.exit_last;
    config.races = if settings.races { Races::All } else { Races::Ignored };
    config
}
