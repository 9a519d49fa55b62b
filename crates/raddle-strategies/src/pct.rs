//! PCT: random thread priorities, lowered at `depth - 1` random steps.
//!
//! Paper: Burckhardt, Kothari, Musuvathi, Nagarakatte, "A Randomized Scheduler with Probabilistic
//! Guarantees of Finding Bugs", ASPLOS 2010.
//! Guarantee: in a program with at most `n` threads and `k` steps, one run hits a bug of depth `d` with
//! probability at least `1 / (n * k^(d-1))`. Tests: `meets_the_bound_at_depth_2`,
//! `meets_the_bound_at_depth_3`. Other decisions (which waiter a signal wakes, data choices) are drawn
//! uniformly and are not part of the bound: a bug that needs one of `m` answers has a probability of `1
//! / m` of that. Test: `a_signal_is_outside_the_bound`.
//! Departures from the paper: a thread gets its priority when it appears, at a uniformly random rank
//! among all; `k` is the longest run seen unless it is given (so the first run has no change points); a
//! drawn depth is geometric (1/2 each) up to 8, where the paper leaves the distribution open. Of two
//! change points on one step the one drawn last counts, as in the loop of the paper's Figure 7.
//! `Count::Choices` is the paper's optimisation for sequential phases, `At::Synchronisation` the one for
//! synchronisation operations (both section 4.2); they change what counts as a step in `k`.
//! Synchronisation is everything except memory accesses, plus atomic accesses, read-modify-write
//! operations, and accesses to objects on which a data race was seen in an earlier run; the bound holds
//! once all of these are known. `Phases::Joins` is the one for join points: a phase begins when a single
//! thread is enabled. It draws priorities and change points again, and `k` is the longest phase; the
//! bound then holds for bugs within one phase. The paper does not say whether priorities are drawn
//! again.

use crate::catalogue::{Build, Capabilities, Entry, Exact, Family, STEPS, parameter};
use crate::spec::SpecError;
use crate::tournament::{Tournament, given_rank, low_rank, random_rank};
use crate::values::Values;
use raddle_engine::{Choice, Plan, Point, Rng, RunSummary, Strategy, conflicts};
use raddle_model::{Kind, MemoryOrder, Name, ObjectId, Operation, ThreadId};
use std::collections::BTreeSet;

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "pct",
    family: Family::Randomized,
    summary: "random thread priorities, lowered at depth-1 random steps",
    parameters: &[
        parameter("depth", "3", "d: a number, `drawn` (per run), or `auto` (from confidence and runs)"),
        STEPS,
        parameter("count", "all", "`all` steps count, or only `choices` (more than one thread enabled)"),
        parameter("at", "any", "change points at `any` step, or at `sync`: no race-free plain accesses"),
        parameter("phases", "one", "`joins`: drawn again when a single thread is enabled; k is per phase"),
        parameter("exit", "free", "`last`: a thread about to exit the program waits for the others"),
        parameter("confidence", "0.95", "for depth=auto: the wanted probability of a hit"),
        parameter("runs", "10000", "for depth=auto: the number of planned runs"),
    ],
    source: "Burckhardt et al., ASPLOS 2010",
    guarantee: "a bug of depth d: 1/(n k^(d-1)), times 1/m if it needs one of m waiters signalled or numbers chosen",
    capabilities: Capabilities {
        depth_bound: Some(published_depth),
        exact: Some(exact),
        ..Capabilities::NONE
    },
    build: Build::Alone(|values| Ok(Box::new(Pct::new(settings(values)?)))),
};

fn settings(values: &Values<'_>) -> Result<PctConfig, SpecError> {
    let depth = match values.get("depth") {
        Some("drawn") => Depth::Drawn,
        Some("auto") => Depth::Confident {
            confidence: values.confidence()?.unwrap_or(0.95),
            runs: values.positive("runs", 10_000)?,
        },
        _ => Depth::Fixed(values.depth()?),
    };
    Ok(PctConfig {
        depth,
        steps: values.optional("steps")?,
        count: values.word("count", &[("all", Count::All), ("choices", Count::Choices)])?,
        at: values.word("at", &[("any", At::Any), ("sync", At::Synchronisation)])?,
        phases: values.word("phases", &[("one", Phases::One), ("joins", Phases::Joins)])?,
        exit_last: values.word("exit", &[("free", false), ("last", true)])?,
    })
}

/// Returns the depth of the published guarantee, which holds for plain PCT only.
fn published_depth(values: &Values<'_>) -> Option<u64> {
    let is_plain = values.given().all(|(name, _)| name == "depth");
    values.get("depth").map_or(Some(3), |depth| depth.parse().ok()).filter(|_| is_plain)
}

fn exact(values: &Values<'_>) -> Result<Exact, String> {
    let usual = |name: &str, default: &str| values.get(name).is_none_or(|value| value == default);
    if !usual("count", "all") || !usual("at", "any") || !usual("phases", "one") || !usual("exit", "free") {
        return Err("for pct it is computed only without `count`, `at`, `phases` and `exit`".to_owned());
    }
    let depth = values.get("depth").map_or(Ok(3), str::parse);
    let depth = depth.map_err(|_| "for pct it is computed only for a depth that is a number".to_owned())?;
    Ok(Exact::Pct { depth, steps: values.get("steps").and_then(|steps| steps.parse().ok()) })
}

/// The number of change points of a run, plus one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Depth {
    /// `depth - 1` change points in every run.
    Fixed(u32),
    /// Drawn for every run.
    Drawn,
    /// The largest depth for which the guarantee gives this probability of at least one hit in this many
    /// runs, with `n` and `k` as seen in the first ten runs, which are random walks (randomized-stride paper,
    /// section V-B).
    Confident {
        /// The wanted probability, below 1.
        confidence: f64,
        /// Number of planned runs.
        runs: u64,
    },
}

/// The steps that count towards `k` and can be change points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    /// Every step.
    All,
    /// Steps at which more than one thread was enabled.
    Choices,
}

/// The operations at which change points may lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At {
    /// All operations.
    Any,
    /// Operations by which threads may communicate: all except plain memory accesses without a known data
    /// race.
    Synchronisation,
}

/// The duration for which priorities and change points are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phases {
    /// The whole run.
    One,
    /// Until a single thread is enabled.
    Joins,
}

/// The parameters of PCT.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PctConfig {
    /// The depth.
    pub depth: Depth,
    /// The `k` of the guarantee; learnt if not given.
    pub steps: Option<u64>,
    /// The steps that count.
    pub count: Count,
    /// The operations at which change points may lie.
    pub at: At,
    /// The duration for which priorities and change points are drawn.
    pub phases: Phases,
    /// True if a thread that is about to exit the program first falls behind all others (the paper's final
    /// wait).
    pub exit_last: bool,
}

impl PctConfig {
    /// Returns the parameters of the paper's Figure 7, with `k` learnt.
    pub fn fixed(depth: u32) -> PctConfig {
        PctConfig {
            depth: Depth::Fixed(depth),
            steps: None,
            count: Count::All,
            at: At::Any,
            phases: Phases::One,
            exit_last: false,
        }
    }

    /// Returns true if every step counts, in one phase.
    fn is_plain(&self) -> bool {
        self.count == Count::All && self.at == At::Any && self.phases == Phases::One
    }
}

/// Number of runs from which `Depth::Confident` learns the size of the program.
const PROFILE_RUNS: u64 = 10;
/// The largest depth that is drawn or computed.
const DEEPEST: u32 = 8;

/// The strategy; see the module documentation.
#[derive(Clone, Debug)]
pub struct Pct {
    settings: PctConfig,
    rng: Rng,
    ranks: Ranks,
    /// Number of counted steps of this run, or of its current phase.
    counted: u64,
    /// True if a single thread was enabled at the latest choice.
    alone: bool,
    /// The names of objects with a data race.
    racing: BTreeSet<Name>,
    /// Per object of this run seen so far: true if it is one of those.
    races: Vec<bool>,
    /// True if this run is a random walk to learn the size of the program.
    profiling: bool,
    /// The change points of this run in the order drawn (not sorted).
    change_at: Vec<u64>,
    longest: u64,
    threads: u64,
    learnt_runs: u64,
    script: Option<Given>,
}

/// Given priorities and change points, which replace the draws.
#[derive(Clone, Default, Debug)]
struct Given {
    /// One rank per thread, in the order in which they appear.
    ranks: Vec<u32>,
    change_at: Vec<u64>,
}

impl Pct {
    /// Creates PCT with these parameters.
    pub fn new(settings: PctConfig) -> Pct {
        Pct {
            settings,
            rng: Rng::for_run(0, 0),
            ranks: Ranks::default(),
            counted: 0,
            alone: false,
            racing: BTreeSet::new(),
            races: Vec::new(),
            profiling: false,
            change_at: Vec::new(),
            longest: 0,
            threads: 1,
            learnt_runs: 0,
            script: None,
        }
    }

    /// Replaces all draws from now on: the i-th thread to appear has the priority `ranks[i]` (larger runs
    /// first, all different) and the change points are `change_at`, in the order in which they would have
    /// been drawn. Threads beyond `ranks` still get random ones. For computing probabilities by enumerating
    /// all draws.
    pub fn script(&mut self, ranks: &[u32], change_at: &[u64]) {
        let script = self.script.get_or_insert_default();
        script.ranks.clear();
        script.ranks.extend_from_slice(ranks);
        script.change_at.clear();
        script.change_at.extend_from_slice(change_at);
    }

    fn depth(&mut self) -> u32 {
        match self.settings.depth {
            Depth::Fixed(depth) => depth,
            Depth::Drawn => (self.rng.bits().trailing_ones() + 1).min(DEEPEST),
            Depth::Confident { confidence, runs } => {
                let miss =
                    |depth: u32| libm::pow(1.0 - bound(self.threads, self.longest, depth), runs as f64);
                (2..=DEEPEST).take_while(|&depth| 1.0 - miss(depth) >= confidence).last().unwrap_or(1)
            }
        }
    }

    /// Lowers `thread`, which takes the step that was counted last, if that is a change point. Returns the
    /// number of further steps before the next change point; 0 if the thread was lowered.
    #[inline]
    fn pass_change_points(&mut self, thread: ThreadId) -> u32 {
        let mut free = u64::MAX;
        // The value belongs to the index of the change point, not to the step: the i-th (from 1) lowers to
        // `depth - i`, so a later step may rank above an earlier one.
        for (index, &step) in self.change_at.iter().enumerate() {
            if step == self.counted {
                self.ranks.lower(thread, (self.change_at.len() - index) as u32);
                free = 0;
            } else if step > self.counted {
                free = free.min(step - self.counted - 1);
            }
        }
        free.min(u64::from(u32::MAX)) as u32
    }

    fn counts(&self, operation: &Operation, enabled: usize, races: impl Fn(ObjectId) -> bool) -> bool {
        if self.settings.count == Count::Choices && enabled == 1 {
            return false;
        }
        self.settings.at == At::Any
            || !operation.kind.is_memory()
            || operation.kind == Kind::ReadModifyWrite
            || operation.memory_order().is_some_and(|order| order != MemoryOrder::Plain)
            || operation.object().is_some_and(races)
    }

    /// Records the objects on which a run has a data race.
    fn learn_races(&mut self, run: &RunSummary<'_>) {
        let events = &run.trace.events;
        conflicts(run, |earlier, later| {
            let objects = |event: usize| events[event].operation.objects().map(|(object, _)| object);
            let is_access = |event: usize| events[event].operation.kind.is_memory();
            if !is_access(earlier) || !is_access(later) {
                return;
            }
            let common = objects(earlier).filter(|&object| objects(later).any(|other| other == object));
            self.racing.extend(common.map(|object| run.object_name(object)));
        });
    }

    /// Draws the change points of a run or phase.
    fn draw_change_points(&mut self) {
        self.counted = 0;
        self.change_at.clear();
        let steps = self.settings.steps.unwrap_or(self.longest);
        if steps > 0 {
            for _ in 1..self.depth() {
                self.change_at.push(1 + self.rng.below(steps));
            }
        }
    }

    /// Begins a phase if a single thread is enabled and there were more before.
    fn note_phase(&mut self, point: &Point<'_>) {
        let alone = point.enabled().len() == 1;
        if alone && !self.alone && point.step > 0 && self.settings.phases == Phases::Joins {
            self.ranks.draw_again(point, &mut self.rng);
            self.draw_change_points();
        }
        self.alone = alone;
    }
}

/// Returns the guarantee for one run: `1 / (n * k^(d-1))`.
pub fn bound(threads: u64, steps: u64, depth: u32) -> f64 {
    1.0 / (threads as f64 * (steps as f64).powi(depth as i32 - 1))
}

impl Strategy for Pct {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.rng = rng;
        self.ranks.clear();
        self.counted = 0;
        self.alone = false;
        self.races.clear();
        self.profiling =
            matches!(self.settings.depth, Depth::Confident { .. }) && self.learnt_runs < PROFILE_RUNS;
        self.change_at.clear();
        if let Some(script) = &self.script {
            self.profiling = false;
            self.ranks.rank.extend(script.ranks.iter().map(|&rank| given_rank(rank)));
            self.change_at.extend_from_slice(&script.change_at);
            return Plan::Run;
        }
        if !self.profiling {
            self.draw_change_points();
        }
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        if self.profiling {
            let enabled = point.enabled();
            return Choice::Run(enabled[self.rng.below(enabled.len() as u64) as usize]);
        }
        self.ranks.update(point, &mut self.rng);
        if self.settings.phases == Phases::Joins {
            self.note_phase(point);
        }
        let thread = self.ranks.highest();
        if self.settings.is_plain() {
            // Every step counts, so nothing changes before the next change point.
            self.counted = point.step + 1;
            return Choice::RunOn(thread, self.pass_change_points(thread));
        }
        for index in self.races.len()..point.object_count() {
            self.races.push(self.racing.contains(&point.object_name(ObjectId(index as u32))));
        }
        if self.counts(point.operation(thread), point.enabled().len(), |object| self.races[object.index()]) {
            self.counted += 1;
            self.pass_change_points(thread);
        }
        Choice::Run(thread)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.rng.below(u64::from(arity)) as u32
    }

    fn pick_message(&mut self, arity: u32) -> u32 {
        self.rng.message(arity)
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        self.learnt_runs += 1;
        if self.learns() {
            if self.settings.at == At::Synchronisation {
                self.learn_races(run);
            }
            let (mut counted, mut before) = (0, 2);
            for (step, event) in run.trace.events.iter().enumerate() {
                let enabled = if self.needs().enabled { run.trace.enabled_at(step).len() } else { 2 };
                if enabled == 1 && before > 1 && step > 0 && self.settings.phases == Phases::Joins {
                    counted = 0;
                }
                before = enabled;
                let races = |object| self.racing.contains(&run.object_name(object));
                counted += u64::from(self.counts(&event.operation, enabled, races));
                self.longest = self.longest.max(counted);
            }
            self.threads = self.threads.max(run.thread_count() as u64);
        }
    }

    fn needs(&self) -> raddle_engine::Needs {
        let PctConfig { count, phases, .. } = self.settings;
        let enabled = self.learns() && (count == Count::Choices || phases == Phases::Joins);
        raddle_engine::Needs { enabled, exit_last: self.settings.exit_last, ..Default::default() }
    }

    fn learns(&self) -> bool {
        self.settings.steps.is_none()
            || self.settings.at == At::Synchronisation
            || matches!(self.settings.depth, Depth::Confident { .. })
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

/// Thread priorities: random for a thread that appears, until it is lowered.
#[derive(Clone, Default, Debug)]
pub(crate) struct Ranks {
    /// Invariant: one entry per thread seen in this run.
    rank: Vec<u64>,
    /// Invariant at a choice: exactly the enabled threads.
    enabled: Tournament,
}

impl Ranks {
    pub(crate) fn clear(&mut self) {
        self.rank.clear();
        self.enabled.clear();
    }

    /// Applies the changes since the last point.
    #[inline]
    pub(crate) fn update(&mut self, point: &Point<'_>, rng: &mut Rng) {
        while self.rank.len() < point.thread_count() {
            self.rank.push(random_rank(rng.bits()));
        }
        point.for_changed(|thread, enabled| {
            if enabled {
                self.enabled.set(thread, self.rank[thread.index()]);
            } else {
                self.enabled.remove(thread);
            }
        });
    }

    #[inline]
    pub(crate) fn highest(&self) -> ThreadId {
        self.enabled.winner().expect("a point has an enabled thread")
    }

    /// Draws all ranks again.
    fn draw_again(&mut self, point: &Point<'_>, rng: &mut Rng) {
        self.rank.iter_mut().for_each(|rank| *rank = random_rank(rng.bits()));
        for &thread in point.enabled() {
            self.enabled.set(thread, self.rank[thread.index()]);
        }
    }

    /// Lowers an enabled thread to `value`, below every thread that was never lowered.
    pub(crate) fn lower(&mut self, thread: ThreadId, value: u32) {
        self.rank[thread.index()] = low_rank(value + 1);
        self.enabled.set(thread, self.rank[thread.index()]);
    }
}

#[cfg(test)]
mod tests;
