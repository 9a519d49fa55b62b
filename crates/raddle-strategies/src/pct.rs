//! PCT: random thread priorities, lowered at `depth - 1` random steps.
//!
//! Paper: Burckhardt, Kothari, Musuvathi, Nagarakatte, "A Randomized Scheduler with Probabilistic Guarantees of
//! Finding Bugs", ASPLOS 2010.
//! Guarantee: in a program with at most `n` threads and `k` steps, one run hits a bug of depth `d` with probability
//! at least `1 / (n * k^(d-1))`. Tests: `meets_the_bound_at_depth_2`, `meets_the_bound_at_depth_3`.
//! Departures from the paper: a thread gets its priority when it appears, at a uniformly random rank among all; `k` is
//! the longest run seen unless it is given (so the first run has no change points); a drawn depth is geometric (1/2
//! each) up to 8, where the paper leaves the distribution open. Of two change points on one step the one drawn last counts,
//! as in the loop of the paper's Figure 7. `Count::Choices` is the paper's optimisation for
//! sequential phases, `At::Synchronisation` the one for synchronisation operations (both section 4.2); they change
//! what counts as a step in `k`.

use crate::catalogue::{Build, Capabilities, Entry, Exact, Family, STEPS, parameter};
use crate::spec::SpecError;
use crate::tournament::{Tournament, given_rank, low_rank, random_rank};
use crate::values::Values;
use raddle_engine::{Choice, Plan, Point, Rng, RunSummary, Strategy};
use raddle_model::{Operation, ThreadId};

/// The entry in the catalogue.
pub(crate) const ENTRY: Entry = Entry {
    name: "pct",
    family: Family::Randomized,
    summary: "random thread priorities, lowered at depth-1 random steps",
    parameters: &[
        parameter("depth", "3", "d: a number, `drawn` (per run), or `auto` (from confidence and runs)"),
        STEPS,
        parameter("count", "all", "`all` steps count, or only `choices` (more than one thread enabled)"),
        parameter("at", "any", "change points at `any` step, or at `sync` operations only"),
        parameter("exit", "free", "`last`: a thread about to end the program waits for the others"),
        parameter("confidence", "0.95", "for depth=auto: the wanted chance of a hit"),
        parameter("runs", "10000", "for depth=auto: how many runs are planned"),
    ],
    source: "Burckhardt et al., ASPLOS 2010",
    guarantee: "a bug of depth d: 1/(n k^(d-1))",
    capabilities: Capabilities {
        depth_bound: Some(published_depth),
        exact: Some(exact),
        ..Capabilities::NONE
    },
    build: Build::Alone(|values| Ok(Box::new(Pct::new(settings(values)?)))),
};

fn settings(values: &Values<'_>) -> Result<Settings, SpecError> {
    let depth = match values.get("depth") {
        Some("drawn") => Depth::Drawn,
        Some("auto") => Depth::Confident {
            confidence: values.confidence()?.unwrap_or(0.95),
            runs: values.positive("runs", 10_000)?,
        },
        _ => Depth::Fixed(values.depth()?),
    };
    Ok(Settings {
        depth,
        steps: values.optional("steps")?,
        count: values.word("count", &[("all", Count::All), ("choices", Count::Choices)])?,
        at: values.word("at", &[("any", At::Any), ("sync", At::Synchronisation)])?,
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
    if !usual("count", "all") || !usual("at", "any") || !usual("exit", "free") {
        return Err("for pct it is computed without `count`, `at` and `exit` only".to_owned());
    }
    let depth = values.get("depth").map_or(Ok(3), str::parse);
    let depth = depth.map_err(|_| "for pct it is computed for a depth that is a number".to_owned())?;
    Ok(Exact::Pct { depth, steps: values.get("steps").and_then(|steps| steps.parse().ok()) })
}

/// How many change points a run has.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Depth {
    /// `depth - 1` in every run.
    Fixed(u32),
    /// Drawn for every run.
    Drawn,
    /// The largest depth for which the guarantee gives this chance of at least one hit in this many runs, with `n` and
    /// `k` as seen in the first ten runs, which are random walks (randomized-stride paper, section V-B).
    Confident {
        /// The wanted chance, below 1.
        confidence: f64,
        /// How many runs are planned.
        runs: u64,
    },
}

/// Which steps count towards `k` and can be change points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    /// Every step.
    All,
    /// Steps at which more than one thread was enabled.
    Choices,
}

/// Where change points may lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At {
    /// Anywhere.
    Any,
    /// At operations other than plain memory accesses.
    Synchronisation,
}

/// What can be set.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// How many change points a run has.
    pub depth: Depth,
    /// The `k` of the guarantee; learnt if not given.
    pub steps: Option<u64>,
    /// Which steps count.
    pub count: Count,
    /// Where change points may lie.
    pub at: At,
    /// Whether a thread that is about to end the program falls behind all others first (the paper's final wait).
    pub exit_last: bool,
}

impl Settings {
    /// The algorithm as in the paper's Figure 7, with `k` learnt.
    pub fn fixed(depth: u32) -> Settings {
        Settings { depth: Depth::Fixed(depth), steps: None, count: Count::All, at: At::Any, exit_last: false }
    }
}

/// Runs by which `Depth::Confident` gets to know the program.
const PROFILE_RUNS: u64 = 10;
/// The largest depth that is drawn or computed.
const DEEPEST: u32 = 8;

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct Pct {
    settings: Settings,
    rng: Rng,
    ranks: Ranks,
    /// Steps of this run that counted.
    counted: u64,
    /// Whether this run is a random walk to get to know the program.
    profiling: bool,
    /// The change points of this run in the order drawn (not sorted).
    change_at: Vec<u64>,
    longest: u64,
    threads: u64,
    learnt_runs: u64,
    script: Option<Given>,
}

/// Priorities and change points that are given, not drawn.
#[derive(Clone, Default, Debug)]
struct Given {
    /// One rank per thread, in the order in which they appear.
    ranks: Vec<u32>,
    change_at: Vec<u64>,
}

impl Pct {
    /// PCT with these settings.
    pub fn new(settings: Settings) -> Pct {
        Pct {
            settings,
            rng: Rng::for_run(0, 0),
            ranks: Ranks::default(),
            counted: 0,
            profiling: false,
            change_at: Vec::new(),
            longest: 0,
            threads: 1,
            learnt_runs: 0,
            script: None,
        }
    }

    /// From now on nothing is drawn: the i-th thread to appear has the priority `ranks[i]` (larger runs first, all
    /// different) and the change points are `change_at`, in the order in which they would have been drawn. Threads
    /// beyond `ranks` still get random ones. For computing probabilities by going through all draws.
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

    /// Lowers `thread`, which takes the step that was counted last, if that is a change point. Tells how many more steps
    /// lie before the next change point; none, if the thread was lowered.
    #[inline]
    fn pass_change_points(&mut self, thread: ThreadId) -> u32 {
        let mut free = u64::MAX;
        // The value belongs to the index of the change point, not to the moment: the i-th (from 1) lowers to
        // `depth - i`, so a later moment may rank above an earlier one.
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

    fn counts(&self, operation: &Operation, enabled: usize) -> bool {
        (self.settings.count == Count::All || enabled > 1)
            && (self.settings.at == At::Any || !operation.kind.is_memory())
    }
}

/// The guarantee for one run: `1 / (n * k^(d-1))`.
pub fn bound(threads: u64, steps: u64, depth: u32) -> f64 {
    1.0 / (threads as f64 * (steps as f64).powi(depth as i32 - 1))
}

impl Strategy for Pct {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.rng = rng;
        self.ranks.clear();
        self.counted = 0;
        self.profiling =
            matches!(self.settings.depth, Depth::Confident { .. }) && self.learnt_runs < PROFILE_RUNS;
        self.change_at.clear();
        if let Some(script) = &self.script {
            self.profiling = false;
            self.ranks.rank.extend(script.ranks.iter().map(|&rank| given_rank(rank)));
            self.change_at.extend_from_slice(&script.change_at);
            return Plan::Run;
        }
        let steps = self.settings.steps.unwrap_or(self.longest);
        if !self.profiling && steps > 0 {
            for _ in 1..self.depth() {
                self.change_at.push(1 + self.rng.below(steps));
            }
        }
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        if self.profiling {
            let enabled = point.enabled();
            return Choice::Run(enabled[self.rng.below(enabled.len() as u64) as usize]);
        }
        self.ranks.update(point, &mut self.rng);
        let thread = self.ranks.highest();
        if self.settings.count == Count::All && self.settings.at == At::Any {
            // Every step counts, so nothing changes before the next change point.
            self.counted = point.step + 1;
            return Choice::RunOn(thread, self.pass_change_points(thread));
        }
        if self.counts(point.operation(thread), point.enabled().len()) {
            self.counted += 1;
            self.pass_change_points(thread);
        }
        Choice::Run(thread)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.rng.below(u64::from(arity)) as u32
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        self.learnt_runs += 1;
        if self.learns() {
            let counts = |&step: &usize| {
                let enabled =
                    if self.settings.count == Count::All { 2 } else { run.trace.enabled_at(step).len() };
                self.counts(&run.trace.events[step].operation, enabled)
            };
            let counted = (0..run.trace.events.len()).filter(counts).count() as u64;
            self.longest = self.longest.max(counted);
            self.threads = self.threads.max(run.thread_count() as u64);
        }
    }

    fn needs(&self) -> raddle_engine::Needs {
        let enabled = self.learns() && self.settings.count == Count::Choices;
        raddle_engine::Needs { enabled, exit_last: self.settings.exit_last, ..Default::default() }
    }

    fn learns(&self) -> bool {
        self.settings.steps.is_none() || matches!(self.settings.depth, Depth::Confident { .. })
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

    /// Takes note of what changed since the last point.
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

    /// Lowers an enabled thread to `value`, below every thread that was never lowered.
    pub(crate) fn lower(&mut self, thread: ThreadId, value: u32) {
        self.rank[thread.index()] = low_rank(value + 1);
        self.enabled.set(thread, self.rank[thread.index()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_model::Kind;
    use raddle_testkit::{Act, Script, affordable, assert_hit_rate, assert_never};

    fn threads(program: &mut Script, pct: &mut Pct, seed: u64) -> Vec<u32> {
        program.run(pct, seed).0.iter().map(|event| event.thread.0).collect()
    }

    /// Whether, after exactly `own` steps of `victim`, another thread runs all it has before `victim` goes on.
    fn preempted_at(schedule: &[u32], victim: u32, own: usize) -> bool {
        let positions: Vec<usize> = (0..schedule.len()).filter(|&i| schedule[i] == victim).collect();
        let rival = 3 - victim;
        let last_of_rival = schedule.iter().rposition(|&thread| thread == rival).unwrap();
        let first_of_rival = schedule.iter().position(|&thread| thread == rival).unwrap();
        positions[own - 1] < first_of_rival && last_of_rival < positions[own]
    }

    fn fork_of_two() -> Script {
        // n = 3, k = 22: main takes ten steps and two spawns, then two children of five.
        let mut main = vec![Act::Step; 10];
        main.extend([Act::Spawn(1), Act::Spawn(2)]);
        Script::new().thread(&main).spawned(&[Act::Step; 5]).spawned(&[Act::Step; 5])
    }

    #[test]
    fn meets_the_bound_at_depth_2() {
        let mut program = fork_of_two();
        let mut pct = Pct::new(Settings { steps: Some(22), ..Settings::fixed(2) });
        for (victim, own) in [(1, 1), (1, 4), (2, 1), (2, 4)] {
            assert_hit_rate(40_000, bound(3, 22, 2), |seed| {
                preempted_at(&threads(&mut program, &mut pct, seed), victim, own)
            });
        }
    }

    #[test]
    fn depth_1_never_preempts() {
        let mut program = fork_of_two();
        let mut pct = Pct::new(Settings { steps: Some(22), ..Settings::fixed(1) });
        assert_never(5_000, |seed| {
            let schedule = threads(&mut program, &mut pct, seed);
            preempted_at(&schedule, 1, 2) || preempted_at(&schedule, 2, 2)
        });
        for victim in [1, 2] {
            assert_hit_rate(5_000, bound(3, 22, 1), |seed| {
                let schedule = threads(&mut program, &mut pct, seed);
                *schedule.last().unwrap() == victim
            });
        }
    }

    /// Threads 0 and 1 are each stopped after their first step, thread 2 runs, then they go on in either order: a bug of
    /// depth 3. If the one stopped later has to go on first, the later change point must rank above the earlier one.
    #[test]
    fn meets_the_bound_at_depth_3() {
        let mut program = Script::straight(3, &["W0 W0", "W1 W1", "W2 W2"]);
        let mut pct = Pct::new(Settings { steps: Some(6), ..Settings::fixed(3) });
        for (stopped, wanted) in [([0, 1], [0, 1]), ([0, 1], [1, 0]), ([1, 0], [0, 1]), ([1, 0], [1, 0])] {
            // Half of the bound for each of the two ways to begin.
            assert_hit_rate(40_000, bound(3, 6, 3) / 2.0, |seed| {
                let schedule = threads(&mut program, &mut pct, seed);
                schedule[..2] == stopped && schedule[2..4] == [2, 2] && schedule[4..] == wanted
            });
        }
    }

    /// The order B A A B of two threads of two steps needs thread 1 first, stopped at step 1, and nothing else.
    #[test]
    fn a_script_replaces_the_draws() {
        let mut program = Script::straight(2, &["W0 W0", "W1 W1"]);
        let mut pct = Pct::new(Settings { steps: Some(4), ..Settings::fixed(2) });
        for (ranks, change_at, expected) in [
            ([0, 1], 1, [1, 0, 0, 1]),
            ([1, 0], 1, [0, 1, 1, 0]),
            ([1, 0], 2, [0, 0, 1, 1]),
            ([0, 1], 4, [1, 1, 0, 0]),
        ] {
            pct.script(&ranks, &[change_at]);
            assert_eq!(threads(&mut program, &mut pct, 5), expected, "{ranks:?} {change_at}");
        }
    }

    #[test]
    fn one_object_replays_every_seed() {
        let mut program = fork_of_two();
        let mut pct = Pct::new(Settings { steps: Some(22), ..Settings::fixed(3) });
        let first: Vec<_> = (0..affordable(50)).map(|seed| threads(&mut program, &mut pct, seed)).collect();
        let again: Vec<_> = (0..affordable(50)).map(|seed| threads(&mut program, &mut pct, seed)).collect();
        assert_eq!(first, again);
    }

    #[test]
    fn steps_are_learnt_and_sequential_ones_need_not_count() {
        let mut program = fork_of_two();
        let mut all = Pct::new(Settings::fixed(2));
        let mut choices = Pct::new(Settings { count: Count::Choices, ..Settings::fixed(2) });
        for seed in 0..affordable(20) {
            threads(&mut program, &mut all, seed);
            threads(&mut program, &mut choices, seed);
        }
        assert_eq!((all.longest, all.threads), (22, 3));
        assert!(choices.longest < 12, "{} steps had a choice", choices.longest);
    }

    #[test]
    fn confidence_gives_the_largest_depth_that_keeps_it() {
        let mut pct = Pct::new(Settings {
            depth: Depth::Confident { confidence: 0.95, runs: 10_000 },
            ..Settings::fixed(1)
        });
        (pct.threads, pct.longest) = (3, 30);
        // 1 / (3 * 30^2) = 1/2700 is enough for 10,000 runs, 1 / (3 * 30^3) is not.
        assert_eq!(pct.depth(), 3);
        pct.longest = 100_000;
        assert_eq!(pct.depth(), 1);
    }

    #[test]
    fn exit_can_come_last() {
        let main = [Act::Spawn(1), Act::Bare(Kind::Exit, 0)];
        let mut program = Script::new().thread(&main).spawned(&[Act::Step; 3]);
        let mut pct = Pct::new(Settings { exit_last: true, ..Settings::fixed(1) });
        assert_never(200, |seed| program.run(&mut pct, seed).0.len() != 5);
        let mut pct = Pct::new(Settings::fixed(1));
        assert_hit_rate(2_000, 0.5, |seed| program.run(&mut pct, seed).0.len() == 2);
    }
}
