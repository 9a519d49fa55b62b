//! The protocol between the command line and the native runtime.
//!
//! The runtime is a library inside the program under test, and the command line is another process. They
//! share a socket, over which each sends messages: four bytes with the length, least significant first, then
//! JSON. The runtime begins with [`Answer::Ready`]; the command line sends one [`Setup`] and then orders,
//! each of which gets one answer, in order. Orders may be pipelined, and answers may be held back until one
//! is awaited ([`Order::Run`]).

mod locations;
mod transactions;

pub use locations::{CALLED_BY, called_by, location_name, module_name, way};
pub use transactions::{Site, Transactions};

use crate::{IRoot, Ledger, Name, Pick, Schedule, Settings, TraceFile, TraceStep};
use serde::{Deserialize, Serialize};

/// The name of the object that stands for all files, which a change of any file touches.
pub const ALL_FILES: &str = "all files";

/// The environment variable that holds the file descriptor of the socket. Without it the library does
/// nothing.
pub const SOCKET: &str = "RADDLE_NATIVE_SOCKET";

/// The environment variable that holds the seed of random delays, for a program that is not controlled.
pub const DELAY: &str = "RADDLE_NATIVE_DELAY";

/// The environment variable that marks a program that was restarted to have the same addresses in every
/// process.
pub const AGAIN: &str = "RADDLE_NATIVE_AGAIN";

/// The largest number of threads of a controlled run.
pub const MOST_THREADS: usize = 4096;

/// The memory accesses of an instrumented program that are scheduling points.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Points {
    /// All accesses.
    All,
    /// Accesses to memory that more than one thread has touched, in this run or in the profiling runs.
    #[default]
    Shared,
    /// None: only synchronisation and atomics are scheduling points, whichever threads use them.
    Sync,
    /// As `Shared`, and the operations of [`Setup::transactions`] are divided into transactions. The runtime sets it.
    #[serde(skip)]
    Transactional,
}

/// The implementation of the threads of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Threads {
    /// Fibers of one OS thread.
    #[default]
    Fibers,
    /// OS threads, one of which runs at a time. The runs are the same.
    Os,
}

/// The way in which a run is kept from affecting later ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Every run is a forked process.
    Fork,
    /// A process executes many runs, and undoes what each has changed. Runs that cannot be undone end it.
    #[default]
    Reset,
}

/// The settings of all runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// The strategies. Orders refer to them by index.
    pub strategies: Vec<String>,
    /// The seed.
    pub seed: u64,
    /// The engine's settings.
    pub settings: Settings,
    /// The scheduling points.
    pub points: Points,
    /// The implementation of threads.
    pub threads: Threads,
    /// The isolation of runs of strategies. Others are forked.
    #[serde(default)]
    pub isolation: Isolation,
    /// The timeout of a run, in milliseconds.
    pub patience_ms: u64,
    /// A file with the expected standard output of every run.
    #[serde(default)]
    pub expected: Option<String>,
    /// True if a run with a nonzero exit status fails.
    #[serde(default)]
    pub fail_on_exit: bool,
    /// The name of the thread of a Rust program whose panic ends the program: such a run fails.
    #[serde(default)]
    pub panics: Option<String>,
    /// The largest distance between two accesses of a thread in an iRoot, in steps of that thread; `None` if
    /// iRoots are not tracked.
    #[serde(default)]
    pub coverage: Option<u32>,
    /// The iRoots known from earlier searches. A location is identified by its text; see [`Covered::locations`].
    #[serde(default)]
    pub known: Ledger,
    /// The memory known to be shared, as packed by [`SharedUnit`], before the profiling runs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shared: Vec<u64>,
    /// True if locations include their callers. The program must keep frame pointers.
    #[serde(default)]
    pub callers: bool,
    /// True if the server may assume that no other server executes runs of the same command at the same time.
    /// This only affects speed.
    #[serde(default)]
    pub alone: bool,
    /// The transactions of the program, if its operations are divided into some.
    #[serde(default, skip_serializing_if = "is_default")]
    pub transactions: Option<Transactions>,
}

impl Setup {
    /// Returns the setup of fibers that switch at shared memory, with nothing else asked for.
    pub fn new(strategies: Vec<String>, seed: u64, settings: Settings, patience_ms: u64) -> Setup {
        Setup {
            strategies,
            seed,
            settings,
            points: Points::default(),
            threads: Threads::default(),
            isolation: Isolation::default(),
            patience_ms,
            expected: None,
            fail_on_exit: false,
            panics: None,
            coverage: None,
            known: Ledger::default(),
            shared: Vec::new(),
            callers: false,
            alone: false,
            transactions: None,
        }
    }
}

/// Returns a message as it is sent: four bytes with the length, least significant first, then JSON; `None` if
/// the length does not fit.
pub fn framed(message: &impl Serialize) -> Option<Vec<u8>> {
    let text = serde_json::to_vec(message).ok()?;
    let mut bytes = u32::try_from(text.len()).ok()?.to_le_bytes().to_vec();
    bytes.extend(text);
    Some(bytes)
}

/// Parses the message of a frame, without its length; `None` if it is not such a message.
pub fn unframed<M: for<'a> Deserialize<'a>>(text: &[u8]) -> Option<M> {
    serde_json::from_slice(text).ok()
}

/// A request to the runtime.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Execute one run.
    Run {
        /// The index of its strategy.
        strategy: usize,
        /// The index of the run for that strategy.
        run: u64,
        /// True if the trace is wanted if the run fails.
        trace: bool,
        /// True if the client waits for the answer. If not, the answer may be held back with those after it,
        /// unless it is a failure: waking the client for every answer takes a tenth of the time of a short
        /// run.
        #[serde(default)]
        awaited: bool,
    },
    /// Return the iRoots that a strategy knows.
    Coverage {
        /// The index of the strategy.
        strategy: usize,
    },
    /// Return how many partial orders a strategy estimates.
    Estimate {
        /// The index of the strategy.
        strategy: usize,
    },
    /// Repeat a recorded run.
    Replay {
        /// The executed operations.
        steps: Vec<TraceStep>,
        /// Every other decision.
        picks: Vec<(u32, u32, u32)>,
        /// The memory known to be shared, as packed by [`SharedUnit`].
        shared: Vec<u64>,
        /// The number from which, with the seed, the program's random numbers are derived.
        random: u64,
    },
    /// Execute a run that follows a schedule as far as possible.
    Follow {
        /// The schedule.
        schedule: Schedule,
        /// True if the trace is wanted even if the run passes.
        any: bool,
        /// True if the values of its steps are wanted, which takes time.
        #[serde(default)]
        values: bool,
        /// As for a replay.
        shared: Vec<u64>,
        /// As for a replay.
        random: u64,
    },
    /// Execute a run that follows a recorded run as far as possible, although the program has changed.
    Resemble {
        /// The executed operations.
        steps: Vec<TraceStep>,
        /// Every other decision.
        picks: Vec<(u32, u32, u32)>,
        /// As for a replay.
        shared: Vec<u64>,
        /// As for a replay.
        random: u64,
    },
}

/// The answer to an order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The program has stopped before `main`.
    Ready {
        /// True if the machine supports threads as fibers.
        fibers: bool,
    },
    /// A run was executed.
    RunResult(Box<RunResult>),
    /// The strategy has no schedule left.
    Exhausted,
    /// The iRoots that a strategy knows.
    Coverage(Box<Covered>),
    /// The number of partial orders that a strategy estimates, if it does.
    Estimate(Option<f64>),
    /// Control of a run was lost; the run says nothing about the program.
    Lost {
        /// The reason.
        message: String,
    },
    /// The system does not provide what a run needs; this is not a property of the program.
    Refused {
        /// The missing resource, and a remedy.
        message: String,
    },
}

/// The iRoots that a strategy knows.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Covered {
    /// The iRoots.
    pub ledger: Ledger,
    /// The code locations, as `/path/module+0x12ab`, with their names ([`location_name`]), so that stored iRoots
    /// can be named for another process.
    pub locations: Vec<(Name, String)>,
}

/// The result of a run. Fields with the value that most passing runs have are not sent.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunResult {
    /// The kind of failure, or nothing if the run passed.
    #[serde(skip_serializing_if = "is_default")]
    pub kind: Option<String>,
    /// True if the strategy abandoned the run.
    #[serde(skip_serializing_if = "is_default")]
    pub cut_off: bool,
    /// True if the run reached the step limit without a verdict.
    #[serde(skip_serializing_if = "is_default")]
    pub inconclusive: bool,
    /// The fingerprint of its partial order.
    pub fingerprint: u64,
    /// Number of steps.
    pub steps: u64,
    /// Number of threads.
    pub threads: u64,
    /// Number of times a spinning thread was descheduled.
    #[serde(skip_serializing_if = "is_default")]
    pub rests: u64,
    /// Number of decisions with more than one answer: waiters that signals wake, and data choices.
    #[serde(skip_serializing_if = "is_default")]
    pub drawn: u64,
    /// True if it had sleeps or time limits, and these ended only when nothing else could run.
    #[serde(skip_serializing_if = "is_default")]
    pub idle_timeouts: bool,
    /// True if a thread sent a signal to another one, or cancelled it.
    #[serde(skip_serializing_if = "is_default")]
    pub has_interrupts: bool,
    /// Number of times the run waited for something from outside the program, so that it may not repeat.
    #[serde(skip_serializing_if = "is_default")]
    pub outside_waits: u64,
    /// The iRoots that no earlier run of its strategy exposed, if iRoots are tracked.
    #[serde(skip_serializing_if = "is_default")]
    pub exposed: Vec<IRoot>,
    /// The reason why the first failed profiling run failed, if one did. Profiling runs detect which memory
    /// is shared.
    #[serde(skip_serializing_if = "is_default")]
    pub profiling_error: Option<String>,
    /// The memory known to be shared after the run, as packed by [`SharedUnit`], if several threads touched some
    /// that was not known to be shared; otherwise empty.
    #[serde(skip_serializing_if = "is_default")]
    pub discovered: Vec<u64>,
    /// Number of processes that the program started, which are not controlled.
    #[serde(skip_serializing_if = "is_default")]
    pub processes: u64,
    /// True if a choice of weak memory was smaller than the model allows, because old writes had been dropped.
    #[serde(skip_serializing_if = "is_default")]
    pub forgot_writes: bool,
    /// True if an atomic access had a memory order weaker than sequential consistency.
    #[serde(skip_serializing_if = "is_default")]
    pub has_weak_orders: bool,
    /// True if it was under weak memory.
    #[serde(skip_serializing_if = "is_default")]
    pub weak_memory: bool,
    /// True if a process was forked for it.
    #[serde(skip_serializing_if = "is_default")]
    pub forked: bool,
    /// The difference from the same run in a forked process, if it was not forked, was checked and differed. This is
    /// an internal error; the results are those of the forked run.
    #[serde(skip_serializing_if = "is_default")]
    pub reset_difference: Option<String>,
    /// True if it was forked because the system does not support runs without a fork. Only the first such run of a
    /// server says so.
    #[serde(skip_serializing_if = "is_default")]
    pub reset_unsupported: bool,
    /// The memory accesses of operations that no earlier run had, if they were requested.
    #[serde(skip_serializing_if = "is_default")]
    pub sites: Vec<Site>,
    /// The estimated number of partial orders, if there are transactions and the strategy estimates it.
    #[serde(skip_serializing_if = "is_default")]
    pub estimate: Option<f64>,
    /// The exit status of the program, if it exited.
    #[serde(skip_serializing_if = "is_default")]
    pub status: Option<i32>,
    /// Number of steps that preempted a thread, where a schedule was followed.
    #[serde(skip_serializing_if = "is_default")]
    pub preemptions: u64,
    /// The first difference of a replay from the recorded run, if any: the step, from 0, and a description.
    #[serde(skip_serializing_if = "is_default")]
    pub divergence: Option<(usize, String)>,
    /// The run, if it failed and was requested. Its program is empty.
    #[serde(skip_serializing_if = "is_default")]
    pub trace: Option<Box<TraceFile>>,
    /// The output of the program in that run.
    #[serde(skip_serializing_if = "is_default")]
    pub output: String,
    /// For each step of that run inside a library, the line of the program that called it; empty for other
    /// steps, and only as many entries as are known.
    #[serde(default)]
    pub callers: Vec<String>,
    /// The memory known to be shared before that run, as packed by [`SharedUnit`].
    #[serde(skip_serializing_if = "is_default")]
    pub shared: Vec<u64>,
    /// The origins of the memory of objects, if the run was made to be shown.
    #[serde(skip_serializing_if = "is_default")]
    pub memory: Vec<ObjectMemory>,
}

/// The memory of an object that is no global variable.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ObjectMemory {
    /// The number of the object.
    pub object: u32,
    /// The location that allocated its block, with callers; for a variable on a stack, a location in its function.
    pub place: String,
    /// Bytes from the beginning of the block, or from the canonical frame address of the function.
    pub offset: i64,
    /// The bytes of the block; nothing for a variable on a stack.
    pub block: Option<u64>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Order {
    /// Returns the order to repeat the run of `file`, whose random numbers derive from `random`.
    pub fn replay(file: &TraceFile, random: u64) -> Order {
        Order::Replay { steps: file.steps.clone(), picks: file.picks.clone(), shared: shared(file), random }
    }

    /// Returns the order to repeat the run of `file` as far as the program still behaves in the same way.
    pub fn resemble(file: &TraceFile, random: u64) -> Order {
        Order::Resemble { steps: file.steps.clone(), picks: file.picks.clone(), shared: shared(file), random }
    }

    /// Returns the order to follow `schedule`, with memory shared as in `file`. A passing run returns its
    /// trace only with `any`.
    pub fn follow(file: &TraceFile, schedule: &Schedule, random: u64, any: bool) -> Order {
        Order::Follow { schedule: schedule.clone(), any, values: false, shared: shared(file), random }
    }

    /// Returns the order to repeat `run`, with memory shared as in `file`, and to return the values of its
    /// steps.
    pub fn show(file: &TraceFile, run: &TraceFile, random: u64) -> Order {
        Order::Follow { schedule: Schedule::of(run), any: true, values: true, shared: shared(file), random }
    }

    /// Returns the decisions of a replay.
    pub fn picks(picks: &[(u32, u32, u32)]) -> Vec<Pick> {
        picks.iter().map(|&(step, arity, value)| Pick { step, arity, value }).collect()
    }
}

/// Returns the memory known to be shared when the run of `file` was recorded.
fn shared(file: &TraceFile) -> Vec<u64> {
    let shared = file.parameters.iter().filter(|(name, _)| name == SHARED).map(|&(_, unit)| unit as u64);
    if file.parameters.iter().any(|(name, _)| name == LAYOUTS) {
        return shared.collect();
    }
    // An earlier version shared whole units, which it divided only if it tracked data races.
    let boundaries = if file.settings.races { 1 << 4 } else { 0 };
    shared.map(|unit| SharedUnit { unit, bytes: u8::MAX, boundaries }.pack()).collect()
}

/// The parameter of a failure file that holds a unit of shared memory; there may be many.
pub const SHARED: &str = "shared";
/// The parameter of a failure file whose units of shared memory are packed as [`SharedUnit`]. In files without it they are numbers of units.
pub const LAYOUTS: &str = "layouts";

/// Eight bytes of memory, some of which are shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedUnit {
    /// The address divided by eight.
    pub unit: u64,
    /// The shared bytes; the lowest bit is the first byte.
    pub bytes: u8,
    /// The bytes before which another object begins.
    pub boundaries: u8,
}

impl SharedUnit {
    /// Packs the unit into one number. Addresses have at most 51 bits.
    pub fn pack(self) -> u64 {
        self.unit << 16 | u64::from(self.bytes) << 8 | u64::from(self.boundaries)
    }

    /// Unpacks a number packed by [`SharedUnit::pack`].
    pub fn unpack(packed: u64) -> SharedUnit {
        SharedUnit { unit: packed >> 16, bytes: (packed >> 8) as u8, boundaries: packed as u8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_shared_memory_keep_their_bytes_and_boundaries() {
        let unit = SharedUnit { unit: (1 << 47 >> 3) - 1, bytes: 0xf1, boundaries: 0x10 };
        assert_eq!(SharedUnit::unpack(unit.pack()), unit);
    }

    #[test]
    fn location_names_include_callers_but_no_folders() {
        let name = location_name("/a/b/program+0x12 < +0x34 < /usr/lib/c.so+0x5");
        assert_eq!(name, location_name("/x/program+0x12 < /x/program+0x34 < /y/c.so+0x5"));
        let program = Name::of_text("program");
        let plain = location_name("/a/program+0x12");
        let once = called_by(plain, program, 0x34);
        assert_eq!((plain, name), (Name::of_text("program+0x12"), called_by(once, Name::of_text("c.so"), 5)));
        for other in
            ["program+0x12 < +0x34", "program+0x12 < +0x34 < c.so+0x6", "program+0x34 < +0x12 < c.so+0x5"]
        {
            assert_ne!(location_name(other), name);
        }
    }
}
