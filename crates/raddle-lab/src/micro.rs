//! The micro benchmark of the POS paper (CAV 2018, section 6.1; thesis, tables 3.1 and 3.2): 20 straight-line
//! programs, their published numbers, and the numbers that can be computed.
//!
//! The definitions behind the published columns are in `docs/design/micro-benchmark.md`.

use crate::exact::{self, ExactError, ExactStrategy, Graph, Limits};
use crate::sample::Job;
use crate::straight::{Straight, StraightError};
use raddle_engine::{Config, Strategy};
use raddle_model::{Operation, Reads, dependent};
use raddle_search::{Budget, Lanes};
use raddle_strategies::basic_pos::BasicPos;
use raddle_strategies::pct::{Pct, PctConfig};
use raddle_strategies::pos::Pos;
use raddle_strategies::random_walk::RandomWalk;
use raddle_strategies::rapos::Rapos;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The benchmark file of this crate.
const BENCHMARK: &str = include_str!("../data/pos_micro.json");

/// Largest number of events of a program; an event is a bit.
const MOST_EVENTS: usize = 64;

/// The algorithms of the tables.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// Random walk.
    RandomWalk,
    /// PCT with as many change points as required preemptions.
    Pct,
    /// RAPOS.
    Rapos,
    /// BasicPOS; called POS in the thesis.
    BasicPos,
    /// POS in which reads conflict; POS*- in the thesis.
    PosNoReadRelaxation,
    /// POS; called POS* in the thesis.
    Pos,
}

impl Algorithm {
    /// All algorithms, in the order of the tables.
    pub const ALL: [Algorithm; 6] = [
        Algorithm::RandomWalk,
        Algorithm::Pct,
        Algorithm::Rapos,
        Algorithm::BasicPos,
        Algorithm::PosNoReadRelaxation,
        Algorithm::Pos,
    ];

    /// Returns the name in the benchmark's file.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::RandomWalk => "random_walk",
            Algorithm::Pct => "pct",
            Algorithm::Rapos => "rapos",
            Algorithm::BasicPos => "basic_pos",
            Algorithm::PosNoReadRelaxation => "pos_no_read_relaxation",
            Algorithm::Pos => "pos",
        }
    }

    /// Returns the specification of our strategy.
    pub fn spec(self) -> &'static str {
        match self {
            Algorithm::RandomWalk => "random-walk",
            Algorithm::Pct => "pct",
            Algorithm::Rapos => "rapos",
            Algorithm::BasicPos => "basic-pos",
            Algorithm::PosNoReadRelaxation => "pos:reads=dependent",
            Algorithm::Pos => "pos",
        }
    }
}

/// One program.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct MicroProgram {
    /// Its name.
    pub name: String,
    /// Per thread, its accesses: `R` or `W` and a variable.
    pub threads: Vec<Vec<String>>,
    /// The published numbers.
    pub published: Published,
}

/// The published numbers of a program.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Published {
    /// Number of partial orders.
    pub partial_orders: usize,
    /// The largest number of preemptions that a partial order requires.
    pub max_preemptions: u32,
    /// The largest number of races of a partial order; see [`Analysis::published_races`].
    pub max_races: u32,
    /// The coverage of partial orders by each algorithm.
    pub coverage: BTreeMap<Algorithm, Coverage>,
}

/// The coverage of the partial orders of a program by 5e7 runs.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(try_from = "CoverageFields")]
pub enum Coverage {
    /// All were seen; the rarest had this share of the runs.
    Least(f64),
    /// Only this many were seen.
    Covered(usize),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CoverageFields {
    min_hit_ratio: Option<f64>,
    covered: Option<usize>,
}

impl TryFrom<CoverageFields> for Coverage {
    type Error = &'static str;

    fn try_from(fields: CoverageFields) -> Result<Coverage, &'static str> {
        match (fields.min_hit_ratio, fields.covered) {
            (Some(ratio), None) if (0.0..=1.0).contains(&ratio) => Ok(Coverage::Least(ratio)),
            (Some(_), None) => Err("`min_hit_ratio` is not between 0 and 1"),
            (None, Some(covered)) => Ok(Coverage::Covered(covered)),
            _ => Err("a coverage needs one of `min_hit_ratio` and `covered`"),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "about")]
    _about: Option<String>,
    programs: Vec<MicroProgram>,
}

/// An error in a benchmark file or its computation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MicroError {
    /// The file is malformed.
    #[error("line {line}, column {column}: {message}")]
    File {
        /// The 1-based line.
        line: usize,
        /// The 1-based column.
        column: usize,
        /// The error, with the name of the field.
        message: String,
    },
    /// An event is malformed.
    #[error("program `{program}`: {source}")]
    Event {
        /// The program.
        program: String,
        /// The error.
        source: StraightError,
    },
    /// A program is empty or too long.
    #[error("program `{program}` has {events} events; it needs 1 to {MOST_EVENTS}")]
    Events {
        /// The program.
        program: String,
        /// Number of events.
        events: usize,
    },
    /// Two programs share a name.
    #[error("there are two programs named `{program}`")]
    Twice {
        /// The name.
        program: String,
    },
    /// It cannot be computed.
    #[error("program `{program}`: {source}")]
    Exact {
        /// The program.
        program: String,
        /// The error.
        source: ExactError,
    },
}

/// Returns the benchmark of this crate.
pub fn benchmark() -> Vec<MicroProgram> {
    parse(BENCHMARK).expect("the file that comes with the crate is correct, as its tests show")
}

/// Returns the message of the JSON parser without its location, which precedes it.
fn without_place(message: &str) -> &str {
    message.rsplit_once(" at line ").map_or(message, |(message, _)| message)
}

/// Parses a benchmark file.
pub fn parse(text: &str) -> Result<Vec<MicroProgram>, MicroError> {
    let file: File = serde_json::from_str(text).map_err(|error| MicroError::File {
        line: error.line(),
        column: error.column(),
        message: without_place(&error.to_string()).to_owned(),
    })?;
    let mut names = BTreeSet::new();
    for program in &file.programs {
        let events = program.threads.iter().map(Vec::len).sum();
        if !(1..=MOST_EVENTS).contains(&events) {
            return Err(MicroError::Events { program: program.name.clone(), events });
        }
        if !names.insert(&program.name) {
            return Err(MicroError::Twice { program: program.name.clone() });
        }
        program.straight(false)?;
    }
    Ok(file.programs)
}

impl MicroProgram {
    /// Returns the program; with `dummies`, each thread begins with a step that touches nothing.
    pub fn straight(&self, dummies: bool) -> Result<Straight, MicroError> {
        let wrong = |source| MicroError::Event { program: self.name.clone(), source };
        Straight::new(&self.threads, dummies).map_err(wrong)
    }

    /// Returns the number of events without dummies.
    pub fn events(&self) -> usize {
        self.threads.iter().map(Vec::len).sum()
    }
}

/// The computed numbers of a program.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Analysis {
    /// Number of partial orders.
    pub partial_orders: usize,
    /// The maximum over all partial orders of the minimum number of preemptions over its schedules.
    pub max_preemptions: u32,
    /// The largest number of races of a partial order as the POS paper defines them: pairs of dependent
    /// events of different threads that can be enabled together.
    pub races: u32,
    /// As published: `races`, and each pair of successive dependent events of one thread.
    pub published_races: u32,
    /// The largest number of direct conflicts of a schedule as the thesis defines them (section 3.4): an
    /// event executed while a dependent one of another thread is enabled.
    pub direct_conflicts: u32,
    /// The probability of the least likely partial order under random walk.
    pub random_walk_least: f64,
}

/// Analyses every program, on so many cores.
pub fn analyse_all(programs: &[MicroProgram], cores: usize) -> Result<Vec<Analysis>, MicroError> {
    let next = AtomicUsize::new(0);
    let results: Vec<OnceLock<_>> = programs.iter().map(|_| OnceLock::new()).collect();
    let work = || {
        while let Some((program, result)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            programs.get(index).zip(results.get(index))
        } {
            result.get_or_init(|| analyse(program));
        }
    };
    std::thread::scope(|scope| {
        (1..cores).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    results.into_iter().map(|result| result.into_inner().expect("every program was analysed")).collect()
}

/// Computes the numbers of a program.
pub fn analyse(program: &MicroProgram) -> Result<Analysis, MicroError> {
    let straight = program.straight(false)?;
    let (config, limits) = (Config::default(), Limits::default());
    let wrong = |source| MicroError::Exact { program: program.name.clone(), source };
    let graph = Graph::unfold(&straight, config, limits.nodes).map_err(wrong)?;
    let walk = exact::compute_on::<f64>(&graph, &straight, config, &ExactStrategy::RandomWalk, &limits)
        .map_err(wrong)?;
    let races = graph.ends().map(|(node, _)| races(&graph.path(node), straight.threads().len())).max();
    let races = races.unwrap_or(0);
    let successive = |thread: &Vec<Operation>| {
        thread.windows(2).filter(|pair| dependent(&pair[0], &pair[1], Reads::Independent)).count() as u32
    };
    Ok(Analysis {
        partial_orders: walk.partial_orders,
        max_preemptions: max_preemptions(&graph, straight.threads().len()),
        races,
        published_races: races + straight.threads().iter().map(successive).sum::<u32>(),
        direct_conflicts: graph.direct_conflicts(),
        random_walk_least: walk.least,
    })
}

/// Counts the races of the partial order of a schedule. Two dependent events of different threads can be
/// enabled together if the first does not happen before the event that precedes the second in its own thread.
fn races(schedule: &[(u16, Operation)], threads: usize) -> u32 {
    // Per event, the earlier events that happen before it, and itself.
    let mut before: Vec<u64> = Vec::with_capacity(schedule.len());
    let mut last: Vec<u64> = vec![0; threads];
    let mut count = 0;
    for (index, (thread, operation)) in schedule.iter().enumerate() {
        let known = last[usize::from(*thread)];
        let mut happened = known | 1 << index;
        for (earlier, (other, executed)) in schedule[..index].iter().enumerate() {
            if other != thread && dependent(executed, operation, Reads::Independent) {
                count += u32::from(known >> earlier & 1 == 0);
                happened |= before[earlier];
            }
        }
        before.push(happened);
        last[usize::from(*thread)] = happened;
    }
    count
}

/// Returns the maximum over all ends of the minimum number of preemptions on the way there. A switch away
/// from an enabled thread is a preemption.
fn max_preemptions(graph: &Graph, threads: usize) -> u32 {
    const NEVER: u32 = u32::MAX;
    // Per node and thread that took the last step: the fewest preemptions.
    let mut fewest = vec![NEVER; graph.nodes().len() * threads];
    let mut most = 0;
    for (index, node) in graph.nodes().iter().enumerate() {
        let here: Vec<u32> = fewest[index * threads..][..threads].to_vec();
        let can_go_on = |last: usize| graph.pending(node).iter().any(|next| usize::from(next.thread) == last);
        for edge in graph.edges(node) {
            let thread = usize::from(edge.thread);
            let ways = (0..threads).filter(|&last| here[last] != NEVER);
            let cost = ways.map(|last| here[last] + u32::from(last != thread && can_go_on(last))).min();
            let entry = &mut fewest[edge.child as usize * threads + thread];
            // There is no preemption at the root.
            *entry = (*entry).min(cost.unwrap_or(0));
        }
        if node.end.is_some() {
            most = most.max(here.iter().copied().min().filter(|&least| least != NEVER).unwrap_or(0));
        }
    }
    most
}

/// Creates the jobs that sample these programs under one algorithm as in the tables. PCT gets a first step
/// without effect in each thread, one change point per required preemption, and may place them at any step.
pub fn jobs(
    programs: &[MicroProgram],
    algorithm: Algorithm,
    seed: u64,
    runs: u64,
) -> Result<Vec<Job>, MicroError> {
    let job = |program: &MicroProgram| {
        let strategy: Box<dyn Strategy> = match algorithm {
            Algorithm::RandomWalk => Box::new(RandomWalk::new()),
            Algorithm::Pct => {
                let steps = (program.events() + program.threads.len()) as u64;
                let depth = program.published.max_preemptions + 1;
                Box::new(Pct::new(PctConfig { steps: Some(steps), ..PctConfig::fixed(depth) }))
            }
            Algorithm::Rapos => Box::new(Rapos::new()),
            Algorithm::BasicPos => Box::new(BasicPos::new()),
            Algorithm::PosNoReadRelaxation => Box::new(Pos::new(Reads::Dependent)),
            Algorithm::Pos => Box::new(Pos::new(Reads::Independent)),
        };
        let straight = program.straight(algorithm == Algorithm::Pct)?;
        Ok(Job {
            program: Box::new(straight),
            lanes: Lanes::of(algorithm.name(), strategy),
            config: Config::default(),
            seed,
            budget: Budget::all(runs),
        })
    };
    programs.iter().map(job).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_column_that_can_be_computed_is_right() {
        let programs = benchmark();
        assert_eq!(programs.len(), 20);
        for program in &programs {
            let (name, published) = (&program.name, &program.published);
            let found = analyse(program).unwrap();
            assert_eq!(found.partial_orders, published.partial_orders, "{name}");
            assert_eq!(found.max_preemptions, published.max_preemptions, "{name}");
            assert_eq!(found.published_races, published.max_races, "{name}");
            assert!(found.direct_conflicts < found.races, "{name}: {found:?}");
            let Coverage::Least(least) = published.coverage[&Algorithm::RandomWalk] else {
                panic!("{name}: random walk was computed");
            };
            assert_eq!(format!("{:.2e}", found.random_walk_least), format!("{least:.2e}"), "{name}");
        }
    }

    #[test]
    fn the_paper_and_the_tables_count_races_differently() {
        let figures = |name: &str| {
            let programs = benchmark();
            let program = programs.iter().find(|program| program.name == name).unwrap();
            let found = analyse(program).unwrap();
            (found.races, found.published_races, found.direct_conflicts)
        };
        assert_eq!(figures("uniform-4"), (15, 21, 12));
        assert_eq!(figures("uniform-rw-3"), (15, 15, 12));
    }

    /// The values of `docs/design/micro-benchmark.md`, which were first computed by another program.
    #[test]
    fn basic_pos_has_the_documented_minima() {
        let programs = benchmark();
        for (name, least) in
            [("uniform-4", "2.473e-7"), ("uniform-rw-4", "1.817e-6"), ("skewed-rw-2", "3.947e-7")]
        {
            let program = programs.iter().find(|program| program.name == name).unwrap();
            let straight = program.straight(false).unwrap();
            let (config, basic) = (Config::default(), ExactStrategy::BasicPos);
            let found = exact::compute_in::<f64>(&straight, config, &basic, &Limits::default()).unwrap();
            assert_eq!(format!("{:.3e}", found.least), least, "{name}");
        }
    }

    /// The published parameters of PCT do not reach every partial order, in however many runs.
    #[test]
    fn pct_reaches_1032_of_1041() {
        let programs = benchmark();
        let program = programs.iter().find(|program| program.name == "uniform-rw-4").unwrap();
        let pct = ExactStrategy::Pct { depth: program.published.max_preemptions + 1, steps: Some(20) };
        let straight = program.straight(true).unwrap();
        let found = exact::compute_in::<f64>(&straight, Config::default(), &pct, &Limits::default()).unwrap();
        assert_eq!((found.partial_orders, found.covered), (1041, 1032));
        assert_eq!(program.published.coverage[&Algorithm::Pct], Coverage::Covered(1032));
    }

    #[test]
    fn jobs_run_as_in_the_tables() {
        let programs = &benchmark()[14..15];
        for algorithm in Algorithm::ALL {
            let job = jobs(programs, algorithm, 1, 1_000).unwrap().pop().unwrap();
            let tally = crate::sample(job, 1).unwrap().tally;
            let steps = if algorithm == Algorithm::Pct { 20 } else { 16 };
            assert_eq!((tally.runs, tally.steps, tally.failures), (1_000, steps, 0), "{}", algorithm.name());
            assert!(tally.census.distinct() > 50, "{}", algorithm.name());
        }
    }

    #[test]
    fn a_bad_file_is_rejected_with_its_location() {
        let good = r#"{ "programs": [
            { "name": "a", "threads": [["Wx"], ["Rx"]],
              "published": { "partial_orders": 2, "max_preemptions": 0, "max_races": 1,
                "coverage": { "pos": { "covered": 2 } } } }
        ] }"#;
        assert_eq!(parse(good).unwrap()[0].published.coverage[&Algorithm::Pos], Coverage::Covered(2));
        for (from, to, expected) in [
            ("\"max_races\": 1,", "", "line 4, column 57: missing field `max_races`"),
            ("\"Rx\"", "7", "line 2, column 49: invalid type: integer `7`, expected a string"),
            ("\"name\"", "\"nom\"", "line 2, column 19: unknown field `nom`"),
            ("\"pos\"", "\"gnu\"", "line 4, column 35: unknown variant `gnu`"),
            ("\"covered\": 2", "", "line 4, column 43: a coverage needs one of"),
            ("\"covered\": 2", "\"min_hit_ratio\": 2.5", "`min_hit_ratio` is not between 0 and 1"),
            ("\"Rx\"", "\"x\"", "program `a`: thread 1, event 0: `x` is not an access"),
            ("[\"Wx\"], [\"Rx\"]", "", "program `a` has 0 events; it needs 1 to 64"),
        ] {
            let bad = good.replace(from, to);
            assert_ne!(bad, good);
            let error = parse(&bad).unwrap_err().to_string();
            assert!(error.contains(expected), "{error:?} does not say {expected:?}");
        }
        let program = good.lines().skip(1).take(3).collect::<String>();
        let twice = format!("{{ \"programs\": [{program}, {program}] }}");
        assert!(matches!(parse(&twice).unwrap_err(), MicroError::Twice { .. }));
    }
}
