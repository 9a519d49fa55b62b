//! `raddle lab micro`.

use crate::args::{MicroArgs, cores};
use crate::input::{read, shown};
use crate::outcome::Outcome;
use crate::progress::Progress;
use anyhow::{Context, Result, bail};
use raddle_engine::Config;
use raddle_lab::exact::ExactStrategy;
use raddle_lab::micro::{self, Algorithm, Analysis, Coverage, MicroProgram};
use raddle_lab::{Job, sample_all};
use raddle_model::EXIT_NOTHING_FOUND;
use raddle_report::shape::{self, Micro, MicroCell, MicroCounts, MicroPublished};
use raddle_search::{Budget, Lanes, Portfolio, Tally};

/// The default strategies of the comparison.
const USUAL: [&str; 7] = ["random-walk", "pct", "rapos", "basic-pos", "pos", READS_DEPENDENT, "upo"];
const READS_DEPENDENT: &str = "pos:reads=dependent";
/// Runs of each strategy in the published experiment.
const PUBLISHED_RUNS: u64 = 50_000_000;

pub(crate) fn run(args: &MicroArgs, width: usize) -> Result<Outcome> {
    let programs = programs(args)?;
    let usual = args.strategy.is_empty();
    let specs: Vec<String> =
        if usual { USUAL.iter().map(|&spec| spec.to_owned()).collect() } else { args.strategy.clone() };
    for spec in &specs {
        raddle_strategies::build(spec)?;
    }
    let analyses = micro::analyse_all(&programs, cores(args.jobs))?;

    let mut jobs = Vec::new();
    let mut cells = Vec::new();
    for (index, program) in programs.iter().enumerate() {
        for spec in specs.iter().filter(|spec| !is_computed(spec)) {
            // Without reads it is the same as `pos`.
            if !(usual && spec == READS_DEPENDENT && !has_reads(program)) {
                jobs.push(job(args, program, &analyses[index], spec)?);
                cells.push((index, spec.clone()));
            }
        }
    }
    let progress = Progress::new(args.runs.saturating_mul(jobs.len() as u64));
    let sampled = sample_all(&jobs, cores(args.jobs), &|runs| progress.add(runs))?;
    drop(progress);

    let mut report = Micro {
        runs: args.runs,
        seed: args.seed,
        published_runs: PUBLISHED_RUNS,
        programs: programs.iter().zip(&analyses).map(|(program, analysis)| row(program, analysis)).collect(),
        ..Micro::default()
    };
    for ((index, spec), found) in cells.into_iter().zip(&sampled) {
        let cell = cell(&programs[index], &analyses[index], &spec, &found.tally);
        report.programs[index].strategies.insert(spec, cell);
    }
    if let Some(spec) = specs.iter().find(|spec| is_computed(spec)) {
        for (index, (program, analysis)) in programs.iter().zip(&analyses).enumerate() {
            let cell = computed(program, analysis, spec);
            report.programs[index].strategies.insert(spec.clone(), cell);
        }
    }
    report.strategies = specs;
    report.compute_means();
    let text = if args.json { shape::pretty(&report) } else { raddle_report::text::micro(&report, width) };
    Ok(Outcome { text, status: EXIT_NOTHING_FOUND })
}

fn programs(args: &MicroArgs) -> Result<Vec<MicroProgram>> {
    let all = match &args.file {
        None => micro::benchmark(),
        Some(path) => micro::parse(&read(path)?).with_context(|| shown(path).to_owned())?,
    };
    for name in &args.program {
        if all.iter().all(|program| program.name != *name) {
            let known: Vec<&str> = all.iter().map(|program| program.name.as_str()).collect();
            bail!("no program is called `{name}`; there are: {}", known.join(", "));
        }
    }
    let wanted = |program: &MicroProgram| args.program.is_empty() || args.program.contains(&program.name);
    Ok(all.into_iter().filter(wanted).collect())
}

fn job(args: &MicroArgs, program: &MicroProgram, analysis: &Analysis, spec: &str) -> Result<Job> {
    let depth = raddle_strategies::entry(spec).is_some_and(|entry| entry.capabilities.has_depth());
    let full = if depth && !spec.contains(':') {
        let steps = program.events() + program.threads.len();
        format!("{spec}:depth={},steps={steps}", analysis.max_preemptions + 1)
    } else {
        spec.to_owned()
    };
    let lanes = Lanes::parse(&full, Portfolio::Tests)?;
    Ok(Job {
        program: Box::new(program.straight(depth)?),
        lanes: if args.in_order { lanes.in_order() } else { lanes },
        config: Config::default(),
        seed: args.seed,
        budget: Budget::all(args.runs),
    })
}

fn has_reads(program: &MicroProgram) -> bool {
    program.threads.iter().flatten().any(|event| event.starts_with('R'))
}

fn row(program: &MicroProgram, analysis: &Analysis) -> shape::MicroProgram {
    shape::MicroProgram {
        name: program.name.clone(),
        partial_orders: analysis.partial_orders as u64,
        max_races: u64::from(analysis.published_races),
        max_preemptions: u64::from(analysis.max_preemptions),
        races: u64::from(analysis.races),
        has_reads: has_reads(program),
        published: MicroCounts {
            partial_orders: program.published.partial_orders as u64,
            max_races: u64::from(program.published.max_races),
            max_preemptions: u64::from(program.published.max_preemptions),
        },
        ..shape::MicroProgram::default()
    }
}

/// Returns true if the analysis computes the probabilities of the strategy `spec`, so that nothing has to be
/// sampled.
fn is_computed(spec: &str) -> bool {
    raddle_strategies::exact(spec) == Ok(ExactStrategy::RandomWalk)
}

fn computed(program: &MicroProgram, analysis: &Analysis, spec: &str) -> MicroCell {
    MicroCell {
        covered: analysis.partial_orders as u64,
        min_hit_ratio: analysis.random_walk_least,
        published: published(program, spec),
        exact: true,
        ..MicroCell::default()
    }
}

fn cell(program: &MicroProgram, analysis: &Analysis, spec: &str, tally: &Tally) -> MicroCell {
    let complete = tally.census.distinct() >= analysis.partial_orders;
    let least = if complete { tally.census.least().unwrap_or(0) } else { 0 };
    MicroCell {
        runs: tally.runs,
        covered: tally.census.distinct() as u64,
        min_hit_ratio: least as f64 / tally.runs.max(1) as f64,
        published: published(program, spec),
        exact: false,
        all_seen_after: tally.last_new.filter(|_| complete),
        space: tally.estimate,
    }
}

fn published(program: &MicroProgram, spec: &str) -> Option<MicroPublished> {
    let algorithm = Algorithm::ALL.into_iter().find(|algorithm| algorithm.spec() == spec)?;
    Some(match *program.published.coverage.get(&algorithm)? {
        Coverage::Least(share) => MicroPublished::MinHitRatio(share),
        Coverage::Covered(covered) => MicroPublished::Covered(covered as u64),
    })
}
