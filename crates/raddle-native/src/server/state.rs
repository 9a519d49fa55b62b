//! The state of the server.
#![expect(unsafe_code, reason = "files are identified by numbers")]

use super::begun::{Begun, End};
use super::orders::Orders;
use super::processor::Processors;
use super::residents::Residents;
use super::signals::Signals;
use super::wire::Wire;
use crate::child::batch::Batch;
use crate::child::known::Known;
use crate::child::transactions::Division;
use crate::platform::memory;
use crate::platform::modules::Modules;
use crate::platform::raw;
use raddle_engine::{Engine, Strategy};
use raddle_model::native::{Answer, Setup, Site};
use raddle_model::{IRoot, Ledger, MemoryModel, Name, Settings};
use raddle_strategies::coverage::coverage;
use std::collections::{BTreeMap, BTreeSet};

/// The server.
pub(super) struct Server {
    pub(super) wire: Wire,
    pub(super) setup: Setup,
    /// Every strategy is present except, in a child, the one of its run.
    pub(super) strategies: Vec<Option<Box<dyn Strategy>>>,
    /// Per strategy: whether it learns by itself, and the reported iRoots.
    pub(super) lanes: Vec<Lane>,
    /// The engine for learning.
    pub(super) engine: Engine,
    /// Address ranges of the files of the program.
    pub(super) modules: &'static Modules,
    /// The names of the locations that runs reached, by their addresses and those of their callers, if a
    /// strategy requests them.
    pub(super) places: BTreeMap<Vec<u64>, Name>,
    /// A file in memory for the output of the program.
    pub(super) output: i32,
    /// The expected standard output, if any, and a separate file for it.
    pub(super) expected: Option<(Vec<u8>, i32)>,
    /// Memory that is known to be shared.
    pub(super) known: Known,
    /// The number of its bytes.
    pub(super) known_bytes: u64,
    /// True during runs that learn shared memory.
    pub(super) learns: bool,
    /// The reason why the first learning run was lost, if one was.
    pub(super) profiling_error: Option<String>,
    /// The program's handle of its main thread.
    pub(super) main: u64,
    pub(super) signals: Signals,
    pub(super) processors: Processors,
    pub(super) residents: Residents,
    /// The number of forked runs.
    pub(super) forks: u64,
    /// True if the next child executes many runs.
    pub(super) is_first: bool,
    /// The orders that were read in advance.
    pub(super) orders: Orders,
    /// The results of the latest batch of a child that executes many runs, and how the run after them ended.
    pub(super) batch: Batch,
    pub(super) end_of_batch: Option<End>,
    /// The transactions of its runs, if they have some.
    pub(super) division: Option<&'static Division>,
    /// The accesses of operations that were reported.
    pub(super) sites: BTreeSet<Site>,
    /// In a child that executes many runs, the current one.
    pub(super) begun: Option<Begun>,
}

/// The data about a strategy besides itself.
pub(super) struct Lane {
    /// True if it learns by itself, not only because its runs are examined.
    pub(super) learns: bool,
    /// Invariant: the exposed iRoots of its ledger that the command line knows.
    pub(super) reported: BTreeSet<IRoot>,
}

impl Lane {
    /// Creates the lane of a strategy that has recalled `known`, which came from the command line.
    pub(super) fn new(learns: bool, known: &Ledger) -> Lane {
        let exposed = known.iter().filter(|(_, standing)| standing.exposed);
        Lane { learns, reported: exposed.map(|(&root, _)| root).collect() }
    }
}

impl Server {
    /// Creates a server in separate memory: every child copies the stack.
    #[inline(never)]
    pub(super) fn new(mut wire: Wire, setup: Setup) -> Box<Server> {
        let modules = Box::leak(Box::new(Modules::read()));
        let division = setup.transactions.clone();
        let division = division
            .map(|transactions| &*Box::leak(Box::new(Division::new(transactions, modules.program()))));
        // Data that changes from run to run is on few pages.
        memory::settle();
        let (mut strategies, mut lanes): (Vec<Option<Box<dyn Strategy>>>, _) = (Vec::new(), Vec::new());
        for spec in &setup.strategies {
            match raddle_strategies::build(spec) {
                Ok(mut strategy) => {
                    lanes.push(Lane::new(strategy.learns(), &setup.known));
                    if let Some(window) = setup.coverage {
                        strategy = Box::new(coverage(strategy, window));
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
        // It repeats runs, whose choices of weak memory are recorded.
        let settings = Settings { memory: MemoryModel::Sc, ..setup.settings };
        let engine = Engine::new(settings.into());
        let (places, known, profiling_error) = (BTreeMap::new(), Known::default(), None);
        let (is_alone, residents) = (setup.alone, Residents::new(setup.isolation));
        // SAFETY: the function has no preconditions.
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
            known_bytes: 0,
            learns: false,
            profiling_error,
            main,
            signals: Signals::take(),
            processors: Processors::known(is_alone),
            residents,
            forks: 0,
            is_first: false,
            orders: Orders::default(),
            batch: Batch::none(),
            end_of_batch: None,
            division,
            sites: BTreeSet::new(),
            begun: None,
        })
    }

    /// Returns the files for the output of the program.
    pub(super) fn files(&self) -> impl Iterator<Item = i32> + '_ {
        self.expected.iter().map(|(_, file)| *file).chain([self.output])
    }
}

/// Returns a new file in memory, with a number of at least `from`, above the program's.
fn memory_file(from: i32) -> i32 {
    // SAFETY: the name is zero-terminated, and the number is our own.
    unsafe {
        let file = libc::memfd_create(c"output".as_ptr(), libc::MFD_CLOEXEC);
        let moved = libc::fcntl(file, libc::F_DUPFD_CLOEXEC, from);
        libc::close(file);
        moved
    }
}
