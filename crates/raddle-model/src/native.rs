//! What the command line and the native runtime tell each other.
//!
//! The runtime is a library inside the program under test, and the command line is another process. They share a
//! socket, over which each sends messages: four bytes with the length, least significant first, then JSON. The runtime
//! begins with [`Answer::Ready`]; the command line sends one [`Setup`] and then orders, each of which gets one answer, in their
//! order. Several orders may be on their way at a time, and answers may be held back until one is asked for ([`Order::Run`]).

use crate::{IRoot, Ledger, Name, Pick, Schedule, Settings, TraceFile, TraceStep, mix};
use serde::{Deserialize, Serialize};

/// The environment variable that holds the number of the socket. Without it the library does nothing.
pub const SOCKET: &str = "RADDLE_NATIVE_SOCKET";

/// The environment variable that holds the seed of random delays, for a program that is not under control.
pub const DELAY: &str = "RADDLE_NATIVE_DELAY";

/// The environment variable that tells a program that it was started again, to have the same addresses in every process.
pub const AGAIN: &str = "RADDLE_NATIVE_AGAIN";

/// The largest number of threads of a run under control.
pub const MOST_THREADS: usize = 4096;

/// At which memory accesses of an instrumented program the schedule may change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Points {
    /// At all of them.
    All,
    /// At those to memory that more than one thread has touched, in this run or in those made to learn that.
    #[default]
    Shared,
    /// At none: only at synchronisation and atomics, whoever touches them.
    Sync,
}

/// What the threads of a run are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Threads {
    /// Fibers of one OS thread.
    #[default]
    Fibers,
    /// OS threads, one of which has the turn. The runs are the same.
    Os,
}

/// What holds for all runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// The strategies, to be named by their index.
    pub strategies: Vec<String>,
    /// The seed.
    pub seed: u64,
    /// The engine's settings.
    pub settings: Settings,
    /// Where the schedule may change.
    pub points: Points,
    /// What threads are.
    pub threads: Threads,
    /// After how many milliseconds without an end a run is given up.
    pub patience_ms: u64,
    /// A file whose content the standard output of every run has to be.
    #[serde(default)]
    pub expected: Option<String>,
    /// Whether a run fails that ends with a status other than 0.
    #[serde(default)]
    pub fail_on_exit: bool,
    /// The name of the thread of a Rust program whose panic ends it: a run fails that ends so.
    #[serde(default)]
    pub panics: Option<String>,
    /// Whether runs are looked at for iRoots, and then how many steps of a thread its accesses in one may be apart.
    #[serde(default)]
    pub coverage: Option<u32>,
    /// What is known of iRoots from earlier searches; a place is named by its text, see [`Covered::places`].
    #[serde(default)]
    pub known: Ledger,
    /// Whether a place is told with its callers. The program has to keep frame pointers.
    #[serde(default)]
    pub callers: bool,
    /// Whether the server may expect that no other one makes runs for the same command at the same time. It is faster so, and
    /// nothing else depends on it.
    #[serde(default)]
    pub alone: bool,
}

/// Returns a message as it is sent: four bytes with the length, least significant first, then JSON. Nothing if it is longer than
/// that can say.
pub fn framed(message: &impl Serialize) -> Option<Vec<u8>> {
    let text = serde_json::to_vec(message).ok()?;
    let mut bytes = u32::try_from(text.len()).ok()?.to_le_bytes().to_vec();
    bytes.extend(text);
    Some(bytes)
}

/// Returns the message of a frame, without its length. Nothing if it is no such message.
pub fn unframed<M: for<'a> Deserialize<'a>>(text: &[u8]) -> Option<M> {
    serde_json::from_slice(text).ok()
}

/// What stands between a place and its caller, where places are told with their callers. A module is named once in a row:
/// `/a/program+0x12 < +0x34 < /a/library+0x56`.
pub const CALLED_BY: &str = " < ";

/// What the runtime is to do next.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Make one run.
    Run {
        /// The index of its strategy.
        strategy: usize,
        /// Its number among the runs of that strategy.
        run: u64,
        /// Whether the trace is wanted if it fails.
        trace: bool,
        /// Whether somebody waits for the answer. If not, it may be held back with those after it, unless it is a
        /// failure: to be woken for every answer takes a tenth of the time of a short run.
        #[serde(default)]
        awaited: bool,
    },
    /// Tell what a strategy knows of iRoots.
    Coverage {
        /// The index of the strategy.
        strategy: usize,
    },
    /// Make a recorded run again.
    Replay {
        /// The executed operations.
        steps: Vec<TraceStep>,
        /// Every other decision.
        picks: Vec<(u32, u32, u32)>,
        /// The memory that was known to be shared, as [`SharedUnit`] packs it.
        shared: Vec<u64>,
        /// The number that the program's random numbers follow from, besides the seed.
        random: u64,
    },
    /// Make a run that follows a schedule as far as that is possible.
    Follow {
        /// The schedule.
        schedule: Schedule,
        /// Whether the trace is wanted if it passes, too.
        any: bool,
        /// Whether the values of its steps are wanted: they take time.
        #[serde(default)]
        values: bool,
        /// As for a replay.
        shared: Vec<u64>,
        /// As for a replay.
        random: u64,
    },
    /// Make a run that follows a recorded run as far as that is possible, though the program has changed.
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

/// What came of an order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The program stands before its `main`.
    Ready {
        /// Whether the machine lets threads be fibers.
        fibers: bool,
    },
    /// A run was made.
    RunResult(Box<RunResult>),
    /// The strategy has no schedule left.
    Exhausted,
    /// What a strategy knows of iRoots.
    Coverage(Box<Covered>),
    /// A run cannot be controlled, and says nothing about the program.
    Lost {
        /// Why.
        message: String,
    },
    /// The system does not give what a run needs; this is no matter of the program.
    Refused {
        /// What, and what may help.
        message: String,
    },
}

/// The name of a place in the code, `/path/module+0x12ab`, or of one with its callers ([`CALLED_BY`]). It does not depend on
/// folders, for what a seed means must not.
pub fn place_name(text: &str) -> Name {
    let mut way = way(text);
    let (module, offset) = way.next().unwrap_or_default();
    let offset_of =
        |text: &str| u64::from_str_radix(text.trim_start_matches(['+', '0', 'x']), 16).unwrap_or(0);
    let first = Name::of_text(&format!("{}{offset}", module_name(module)));
    way.fold(first, |name, (module, offset)| {
        called_by(name, Name::of_text(module_name(module)), offset_of(offset))
    })
}

/// The name of a place that is called `name` if it was called from `offset` in a module, which is known by the text of its
/// [`module_name`].
pub fn called_by(name: Name, module: Name, offset: u64) -> Name {
    Name(mix(name.0 ^ mix(module.0 ^ mix(offset))))
}

/// The file of a module without its folder.
pub fn module_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A place and its callers from the inside out, each as a module, with its folder, and an offset such as `+0x12ab`. What lies in
/// no module has an address instead.
pub fn way(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut module = "";
    text.split(CALLED_BY).map(move |part| {
        let Some(plus) = part.rfind('+') else { return ("", part) };
        let (of, offset) = part.split_at(plus);
        module = if of.is_empty() { module } else { of };
        (module, offset)
    })
}

/// What a strategy knows of iRoots.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Covered {
    /// The iRoots.
    pub ledger: Ledger,
    /// The places in the code, as `/path/module+0x12ab`, with their names ([`place_name`]), so that whoever keeps iRoots can
    /// name them for another process.
    pub places: Vec<(Name, String)>,
}

/// A run that was made. What is as in most runs that pass is not told.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunResult {
    /// The kind of failure, or nothing if it passed.
    #[serde(skip_serializing_if = "is_default")]
    pub kind: Option<String>,
    /// Whether the strategy cut it off.
    #[serde(skip_serializing_if = "is_default")]
    pub cut_off: bool,
    /// Whether it reached the step limit without a verdict.
    #[serde(skip_serializing_if = "is_default")]
    pub inconclusive: bool,
    /// Its partial order.
    pub fingerprint: u64,
    /// How many steps it took.
    pub steps: u64,
    /// How many threads it had.
    pub threads: u64,
    /// How often a spinning thread was held back.
    #[serde(skip_serializing_if = "is_default")]
    pub rests: u64,
    /// How many numbers with more than one answer were drawn: waiters that signals wake, and data choices.
    #[serde(skip_serializing_if = "is_default")]
    pub drawn: u64,
    /// How often it waited for something from outside the program, so that it may not repeat.
    #[serde(skip_serializing_if = "is_default")]
    pub outside_waits: u64,
    /// The iRoots that no earlier run of its strategy had, if runs are looked at for them.
    #[serde(skip_serializing_if = "is_default")]
    pub exposed: Vec<IRoot>,
    /// Why the first run was lost of those that were to tell which memory is shared, if one was.
    #[serde(skip_serializing_if = "is_default")]
    pub unlearnt: Option<String>,
    /// How many processes the program started, which are not under control.
    #[serde(skip_serializing_if = "is_default")]
    pub processes: u64,
    /// With what status the program ended, if it did.
    #[serde(skip_serializing_if = "is_default")]
    pub status: Option<i32>,
    /// How many steps took the turn from a thread that could have gone on, where a schedule was followed.
    #[serde(skip_serializing_if = "is_default")]
    pub preemptions: u64,
    /// Where a replay left the recorded run, if it did: the step, from 0, and how.
    #[serde(skip_serializing_if = "is_default")]
    pub divergence: Option<(usize, String)>,
    /// The run, if it failed and was asked for. Its program is empty.
    #[serde(skip_serializing_if = "is_default")]
    pub trace: Option<Box<TraceFile>>,
    /// What the program printed in that run.
    #[serde(skip_serializing_if = "is_default")]
    pub output: String,
    /// For each step of that run the line of the program that it was made for, if it is one of a library; empty texts for others, and no more than
    /// are known.
    #[serde(default)]
    pub callers: Vec<String>,
    /// The memory that was known to be shared before that run, as [`SharedUnit`] packs it.
    #[serde(skip_serializing_if = "is_default")]
    pub shared: Vec<u64>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Order {
    /// The order to repeat the run of `file`, whose random numbers followed from `random`.
    pub fn replay(file: &TraceFile, random: u64) -> Order {
        Order::Replay { steps: file.steps.clone(), picks: file.picks.clone(), shared: shared(file), random }
    }

    /// The order to repeat the run of `file` as far as the program still does what it did.
    pub fn resemble(file: &TraceFile, random: u64) -> Order {
        Order::Resemble { steps: file.steps.clone(), picks: file.picks.clone(), shared: shared(file), random }
    }

    /// The order to follow `schedule`, where memory is shared as in `file`.
    /// The trace of a run that passes comes only if `any` run is wanted.
    pub fn follow(file: &TraceFile, schedule: &Schedule, random: u64, any: bool) -> Order {
        Order::Follow { schedule: schedule.clone(), any, values: false, shared: shared(file), random }
    }

    /// The order to make `run` again, whose memory is shared as in `file`, with the values of its steps.
    pub fn show(file: &TraceFile, run: &TraceFile, random: u64) -> Order {
        Order::Follow { schedule: Schedule::of(run), any: true, values: true, shared: shared(file), random }
    }

    /// The decisions of a replay.
    pub fn picks(picks: &[(u32, u32, u32)]) -> Vec<Pick> {
        picks.iter().map(|&(step, arity, value)| Pick { step, arity, value }).collect()
    }
}

/// The memory that was known to be shared when the run of `file` was made.
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

/// Eight bytes of memory of which some are shared.
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

    /// Unpacks what [`SharedUnit::pack`] has packed.
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
    fn the_name_of_a_place_has_its_callers_and_no_folders() {
        let name = place_name("/a/b/program+0x12 < +0x34 < /usr/lib/c.so+0x5");
        assert_eq!(name, place_name("/x/program+0x12 < /x/program+0x34 < /y/c.so+0x5"));
        let program = Name::of_text("program");
        let plain = place_name("/a/program+0x12");
        let once = called_by(plain, program, 0x34);
        assert_eq!((plain, name), (Name::of_text("program+0x12"), called_by(once, Name::of_text("c.so"), 5)));
        for other in
            ["program+0x12 < +0x34", "program+0x12 < +0x34 < c.so+0x6", "program+0x34 < +0x12 < c.so+0x5"]
        {
            assert_ne!(place_name(other), name);
        }
    }
}
