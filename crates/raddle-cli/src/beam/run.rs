//! `raddle beam run`.

use crate::args::BeamRunArgs;
use crate::ci::{Reports, searched};
use crate::notes::{in_short, report};
use crate::outcome::Outcome;
use crate::progress::{Progress, Waiting};
use crate::result::{Executed, Failing, MergedTarget, TargetResult, identity, part};
use crate::show;
use anyhow::{Context, Result, ensure};
use raddle_launch::beam::{Beam, Program, Vm, output, setup, whole};
use raddle_launch::server::Remote;
use raddle_launch::{Keep, Kept, Sources, Subject};
use raddle_model::native::{RunResult, Setup};
use raddle_model::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, FrontEnd, TraceFile};
use raddle_report::run_text::verdict;
use raddle_report::text::plural;
use raddle_report::{search_text, shape};
use raddle_search::{Lanes, Portfolio, Seen, ShardResult, Tally, Target, claims, is_interrupted};
use std::fmt::Write;

/// An Erlang program as the target of a search, with a VM for each job.
struct Search<'a> {
    program: &'a Program,
    setup: &'a Setup,
}

impl Target for Search<'_> {
    type Worker = Remote<Vm>;

    fn start(&self, _job: usize) -> Result<Remote<Vm>> {
        Ok(Remote::new(Vm::start(self.program, self.setup)?, &self.program.test, self.setup))
    }
}

pub(crate) fn run(args: &BeamRunArgs, width: usize) -> Result<Executed> {
    let mut reports = Reports::open(&args.search.ci)?;
    let program = Program { test: args.test.clone(), places: places(args)? };
    // The same strategies as under `raddle:test`. Letting the end of the test wait for the others, as for
    // native programs, would change nothing: it ends the run.
    let lanes = Lanes::parse(&args.search.strategy(), Portfolio::Tests)?;
    let part = part(&args.search.part, &lanes)?;
    let wall = u64::try_from(args.search.run_time(args.run_time).as_millis()).unwrap_or(u64::MAX);
    let setup = setup(lanes.specs(), args.search.seed(), args.search.settings(), wall);
    let budget = args.search.budget();
    let progress = Progress::new(budget.runs);
    let watch = |seen: Seen<'_>| {
        progress.add(seen.turns);
        progress.note(&|| in_short(&seen, &setup.strategies));
    };
    let search = raddle_search::Search {
        lanes: &lanes,
        budget,
        jobs: args.search.jobs(),
        part,
        known: None,
        watch: &watch,
        every: 1,
    };
    let found = raddle_search::search(&Search { program: &program, setup: &setup }, &search)?;
    progress.finish();
    let keep = |ran: &RunResult| {
        let run = ran.trace.as_deref().cloned().context("the Erlang VM returned no trace of the run")?;
        let file = TraceFile {
            front_end: FrontEnd::Beam,
            program: program.test.clone(),
            arguments: program.places.clone(),
            ..run
        };
        let open = |file: &TraceFile| -> Result<Box<dyn Subject>> {
            Ok(Box::new(Beam::open(file, "the failing run")?))
        };
        let (path, minimize) = (args.record.as_deref(), !args.search.no_minimize);
        let namer = Box::new(|_: &mut TraceFile| Sources::new());
        let explain = args.search.part.unit.as_ref().is_none_or(|unit| unit.minimize);
        let keep = Keep { path, minimize, explain, namer, open: &open, progress: &Waiting::default() };
        anyhow::Ok(keep.keep(file, output(ran)))
    };
    let first = found.first.as_ref().map(|(turn, ran)| anyhow::Ok((turn.number, keep(ran)?))).transpose()?;
    let mut results = Vec::new();
    if let Some(part) = args.search.part.counted(part) {
        let facts = [
            ("the program", args.test.clone()),
            ("its module", module(args)),
            ("the options", options(&program.places).join(" ")),
            ("the settings of runs", serde_json::to_string(&setup.settings)?),
        ];
        let name = identity(&search, part, setup.seed, facts);
        let failing = first.as_ref().map(|(_, kept)| Failing::of(kept));
        results.push(TargetResult {
            name: args.test.clone(),
            strategies: lanes.specs(),
            seconds: 0.0,
            facts: serde_json::Value::Null,
            runs: Some(ShardResult::new(part, name, &search, &found, failing)),
            races: None,
            lost: None,
        });
    }
    let is_complete = found.lost.is_none();
    // The signal that interrupts a search also ends the VM.
    let lost = found.lost.filter(|_| !is_interrupted());
    let lost = lost.map(|why| format!("not all runs were made: {why:#}"));
    let outcome = conclude(args, &lanes, &found.tally, first, lost, &mut reports, width)?;
    Ok(Executed { outcome, results, is_complete })
}

/// Prints the report of merged shards.
pub(crate) fn merged(
    args: &BeamRunArgs,
    targets: Vec<MergedTarget>,
    reports: &mut Reports,
    width: usize,
) -> Result<Outcome> {
    let target = targets.into_iter().next().context("the results have no program")?;
    let lanes = Lanes::of_specs(&target.strategies)?;
    let merged = target.runs.context("the results have no runs\nhelp: run the shards again")?;
    let first = merged.first.map(|(number, failing)| (number, failing.keep(args.record.as_deref())));
    conclude(args, &lanes, &merged.tally, first, None, reports, width)
}

/// Writes the reports, and returns the output of the command.
fn conclude(
    args: &BeamRunArgs,
    lanes: &Lanes,
    tally: &Tally,
    first: Option<(u64, Kept)>,
    lost: Option<String>,
    reports: &mut Reports,
    width: usize,
) -> Result<Outcome> {
    let mut report = report(tally, args.search.strategy(), args.search.seed());
    report.claims = claims(tally, lanes);
    report.notes.extend(lost);
    if let Some((number, kept)) = &first {
        report.notes.extend(kept.not_kept.clone());
        report.first_failure = Some(*number);
        report.kind = kept.file.verdict.failure().map(|failure| failure.kind().to_owned());
        report.message = Some(verdict(&kept.file).join("\n"));
        report.failure_file = kept.path.as_ref().map(|path| path.display().to_string());
    }
    let status = if first.is_some() { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
    let test = searched("raddle beam run", args.test.clone(), &report);
    reports.add(test, first.as_ref().map(|(_, kept)| &kept.file));
    reports.write(true)?;
    if args.search.json {
        return Ok(Outcome { text: shape::line(&report), status });
    }
    let mut out = String::new();
    if let Some((_, Kept { file, output, .. })) = &first {
        show::head(&mut out, &file.program, &format!("after {}", plural(report.runs, "run")), width);
        show::run(&mut out, file, output, show::terminal(args.search.show, width));
        report.failure_file.iter().for_each(|path| show::commands(&mut out, path));
        out.push('\n');
    }
    out.push_str(&search_text::summary(&report, FrontEnd::Beam));
    for note in &report.notes {
        let _ = writeln!(out, "\nNote: {note}.");
    }
    Ok(Outcome { text: out, status })
}

/// Returns what identifies the module of the function, if it is in one of the folders.
pub(crate) fn module(args: &BeamRunArgs) -> String {
    let name = args.test.split(':').next().unwrap_or_default();
    let files = args.pa.iter().map(|folder| folder.join(format!("{name}.beam")));
    files.filter_map(|file| raddle_symbols::build(&file).ok()).next().unwrap_or_else(|| "unknown".to_owned())
}

/// Returns the options that do not depend on the machine.
fn options(places: &[String]) -> Vec<&str> {
    let pairs = places.chunks(2).filter(|pair| pair[0] != "--pa");
    pairs.flatten().map(String::as_str).collect()
}

/// Returns the folders of modules, the nodes, allowed functions, limits, failure conditions and faults, in
/// the form of the application and of failure files.
fn places(args: &BeamRunArgs) -> Result<Vec<String>> {
    let mut places = Vec::new();
    for directory in &args.pa {
        places.extend(["--pa".to_owned(), whole(directory)?]);
    }
    for node in &args.node {
        places.extend(["--node".to_owned(), node.clone()]);
    }
    for name in &args.allow {
        places.extend(["--allow".to_owned(), name.clone()]);
    }
    if let Some(limit) = args.virtual_time {
        places.extend(["--virtual-time".to_owned(), limit.as_millis().to_string()]);
    }
    for fails in &args.fail_on {
        places.extend(["--fail-on".to_owned(), fails.word().to_owned()]);
    }
    if let Some(faults) = &args.faults {
        ensure!(
            args.node.len() > 1,
            "--faults are those of nodes: --node names them, and the function runs on the first one"
        );
        places.extend(["--faults".to_owned(), faults.clone()]);
    }
    Ok(places)
}
