//! PCTWM: PCT for weak memory. Threads read what they already know, except at `depth` random reads, which are delayed
//! behind the other threads and read one of the `history` newest values.
//!
//! Paper: Gao, Chakraborty, Kulahcioglu Ozkan, "Probabilistic Concurrency Testing for Weak Memory Programs", ASPLOS 2023.
//! The text of the paper was not at hand; what follows is stated and proved for this implementation.
//!
//! Guarantee: in a program whose threads do not wait, a bug of depth `d` and history `h` has a probability of at least
//! `1 / (d! * C(k, d) * h^d)` in a run, where `k` is the number of atomic reads of a run. A bug has this depth and history
//! if there are `d` reads, in some order, and a number below `h` for each, such that every run fails in which each of these
//! reads is executed after everything that does not need it, in that order, and returns the value with that number (0 is the
//! newest) of those it may return, while every other read returns the oldest value it may return, which its thread knows
//! already, and every write comes last.
//!
//! Proof: let the priorities of the threads be any. Let a thread that is about to execute one of the `d` reads fall behind all
//! others, the one whose read comes first in the order least. The positions at which the `d` reads are reached then
//! depend on the priorities only, since no other read communicates: they are `d` different numbers up to `k`. The strategy
//! draws them, in this order, with probability `1 / (d! * C(k, d))`, and independently the `d` numbers with `1 / h^d`; then
//! the run is the one described. This holds for all priorities, so the number of threads is no factor. Tests:
//! `raddle-lab/tests/pctwm.rs`.
//!
//! Departures: `k` is the largest number of reads seen unless it is given (so the first run has no communication). An
//! iteration of a spin loop, a read of the atomic that its thread read last, at the same location in the code, is no position
//! of its own. Other decisions are drawn uniformly and are not part of the bound. The engine lets a
//! thread that reads old values again and again read the newest one in the end.

use crate::catalogue::{Build, Capabilities, Entry, Family, parameter};
use crate::pct::Ranks;
use raddle_engine::{Choice, Plan, Point, Rng, RunSummary, Strategy};
use raddle_model::{Event, LocationId, MemoryOrder, ObjectId, Operation, ThreadId};

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "pctwm",
    family: Family::Randomized,
    summary: "weak memory: threads read what they know, except at depth random reads",
    parameters: &[
        parameter("depth", "2", "d, the number of reads that communicate; `drawn`: 0 to 3 in each run"),
        parameter("history", "2", "h: those read one of the h newest values"),
        parameter("reads", "learnt", "k, the number of atomic reads of a run; the most seen if not given"),
    ],
    source: "Gao et al., ASPLOS 2023",
    guarantee: "a weak-memory bug of depth d and history h: 1/(d! C(k,d) h^d)",
    capabilities: Capabilities { chooses_messages: true, ..Capabilities::NONE },
    build: Build::Alone(|values| {
        let depth = match values.get("depth") {
            Some("drawn") => None,
            _ => Some(values.within("depth", 2, 0..=64)?),
        };
        let history = values.within("history", 2, 1..=1024)?;
        Ok(Box::new(Pctwm::new(depth, history, values.optional("reads")?)))
    }),
};

/// The strategy; see the module documentation.
#[derive(Clone, Debug)]
pub struct Pctwm {
    /// The depth, or nothing if it is drawn.
    depth: Option<u32>,
    history: u32,
    /// The `k` of the guarantee; learnt if not given.
    reads: Option<u64>,
    most_reads: u64,
    rng: Rng,
    ranks: Ranks,
    /// The reads that communicate, by number from 1, in the order in which they are executed, and the value each returns.
    sinks: Vec<(u64, u32)>,
    /// The number of reads that threads have reached.
    counted: u64,
    threads: Vec<Thread>,
    /// How the operation being executed reads.
    reading: Reading,
}

/// The greatest depth that is drawn.
const DEEPEST: u64 = 3;

/// How a read chooses its value.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Reading {
    /// The operation is not a read, or has not been reached.
    #[default]
    None,
    /// The oldest value.
    Own,
    /// The value with this number; 0 is the newest.
    Recent(u32),
}

/// A thread of the run.
#[derive(Clone, Copy, Default, Debug)]
struct Thread {
    /// How its next operation reads, once it has been reached.
    next: Reading,
    last: LastRead,
}

/// The atomic that a thread read last, and where.
type LastRead = Option<(ObjectId, LocationId)>;

impl Pctwm {
    /// Creates a strategy for bugs of this depth and history in programs with `reads` reads. Without a depth, each run draws
    /// one; the number of reads is learnt if not given.
    pub fn new(depth: Option<u32>, history: u32, reads: Option<u64>) -> Pctwm {
        Pctwm {
            depth,
            history,
            reads,
            most_reads: 0,
            rng: Rng::for_run(0, 0),
            ranks: Ranks::default(),
            sinks: Vec::new(),
            counted: 0,
            threads: Vec::new(),
            reading: Reading::None,
        }
    }

    /// Draws which reads communicate: all sequences of different numbers are equally likely.
    fn draw_sinks(&mut self) {
        self.sinks.clear();
        let reads = self.reads.unwrap_or(self.most_reads);
        let depth = self.depth.map_or_else(|| self.rng.below(DEEPEST + 1), u64::from);
        while (self.sinks.len() as u64) < reads.min(depth) {
            let number = 1 + self.rng.below(reads);
            if self.sinks.iter().all(|&(known, _)| known != number) {
                let value = self.rng.below(u64::from(self.history)) as u32;
                self.sinks.push((number, value));
            }
        }
    }

    /// Returns how `thread` executes its next operation, or nothing if it has to wait for the others first.
    fn reach(&mut self, thread: ThreadId, operation: &Operation) -> Option<Reading> {
        let Some(read) = atomic_read(operation) else { return Some(Reading::None) };
        let state = &mut self.threads[thread.index()];
        if state.next != Reading::None {
            return Some(state.next);
        }
        if state.last == Some(read) {
            return Some(Reading::Own);
        }
        self.counted += 1;
        let Some(sink) = self.sinks.iter().position(|&(number, _)| number == self.counted) else {
            return Some(Reading::Own);
        };
        state.next = Reading::Recent(self.sinks[sink].1);
        self.ranks.lower(thread, (self.sinks.len() - sink) as u32);
        None
    }
}

/// Returns the atomic that an operation reads, and where in the code it is.
fn atomic_read(operation: &Operation) -> LastRead {
    let is_atomic = operation.kind.reads_memory()
        && operation.memory_order().is_some_and(|order| order != MemoryOrder::Plain);
    operation.object().filter(|_| is_atomic).map(|object| (object, operation.location))
}

/// Returns the number of reads of a run that can communicate.
fn reads(events: &[Event], threads: usize) -> u64 {
    let mut last: Vec<LastRead> = vec![None; threads];
    let mut count = 0;
    for event in events {
        if let Some(read) = atomic_read(&event.operation) {
            let last = &mut last[event.thread.index()];
            count += u64::from(*last != Some(read));
            *last = Some(read);
        }
    }
    count
}

impl Strategy for Pctwm {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.rng = rng;
        self.ranks.clear();
        self.counted = 0;
        self.threads.clear();
        self.reading = Reading::None;
        self.draw_sinks();
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        self.ranks.update(point, &mut self.rng);
        if self.threads.len() < point.thread_count() {
            self.threads.resize(point.thread_count(), Thread::default());
        }
        loop {
            let thread = self.ranks.highest();
            let operation = point.operation(thread);
            if let Some(reading) = self.reach(thread, operation) {
                let last = atomic_read(operation).or(self.threads[thread.index()].last);
                self.threads[thread.index()] = Thread { next: Reading::None, last };
                self.reading = reading;
                return Choice::Run(thread);
            }
        }
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.rng.below(u64::from(arity)) as u32
    }

    fn pick_message(&mut self, arity: u32) -> u32 {
        match self.reading {
            Reading::None => 0,
            Reading::Own => arity - 1,
            Reading::Recent(number) => number.min(arity - 1),
        }
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        if self.learns() {
            self.most_reads = self.most_reads.max(reads(&run.trace.events, run.thread_count()));
        }
    }

    fn learns(&self) -> bool {
        self.reads.is_none()
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}
