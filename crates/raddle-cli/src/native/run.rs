//! `raddle run`.

use super::baseline;
use super::linearizable;
use super::memory::{self, Memory};
use super::races;
use super::report::{Facts, First, Searched};
use crate::args::{MemoryArg, NativeArgs, RacesArg, ThreadsArg};
use crate::ci::Reports;
use crate::notes::in_short;
use crate::outcome::Outcome;
use crate::progress::{Progress, Waiting};
use crate::result::{Executed, TargetResult, part};
use anyhow::{Context, Result, ensure};
use raddle_cc::Source;
use raddle_launch::native::{self, Native, Program, find, has_hooks_in_std, namer, trace_file};
use raddle_launch::{Keep, Output, Subject};
use raddle_model::native::{RunResult, Setup, Threads};
use raddle_model::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, Environment, MemoryModel, Settings, TraceFile};
use raddle_report::search_text;
use raddle_report::shape;
use raddle_search::{Lanes, Part, Search, Seen, ShardResult, is_interrupted};
use raddle_strategies::coverage::WINDOW;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub(crate) fn run(args: &NativeArgs, width: usize) -> Result<Executed> {
    let program = program(args)?;
    // What the user typed is the name of the program, unless it is a source.
    if args.program.len() == 1 && args.baseline.is_none() && linearizable::is_described(&program)? {
        let setup = setup(args, &lanes(args, &program)?, &program)?;
        return Ok(linearizable::run(args, &program, setup, width)?.into());
    }
    let typed = &args.program[0];
    let is_name = Source::of(typed).is_none() && program.to_str() != Some(typed);
    let environment = Environment { name: is_name.then(|| typed.clone()), ..Environment::default() };
    run_in(args, &program, &environment, None, width)
}

/// Returns the path of a program, which failure files store as text.
fn utf8(program: &Path) -> Result<String> {
    let path = program.to_str().with_context(|| {
        format!(
            "{}: the path is not valid UTF-8\nhelp: move the program to a folder with another name",
            program.display()
        )
    })?;
    Ok(path.to_owned())
}

/// Implements `raddle run`, with `program` instead of the first word, started in `environment`. A panic of
/// the thread called `panics` that ends the run is a failure.
pub(crate) fn run_in(
    args: &NativeArgs,
    program: &Path,
    environment: &Environment,
    panics: Option<String>,
    width: usize,
) -> Result<Executed> {
    let mut words = vec![utf8(program)?];
    words.extend_from_slice(&args.program[1..]);
    if let Some(kind) = args.baseline {
        let report = baseline::run(args, kind, &words)?;
        let status = if report.failures > 0 { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
        let text = if args.search.json { shape::line(&report) } else { search_text::uncontrolled(&report) };
        return Ok(Outcome { text, status }.into());
    }
    let mut reports = Reports::open(&args.search.ci)?;
    let lanes = lanes(args, program)?;
    let part = part(&args.search.part, &lanes)?;
    ensure!(
        part.is_none() || !looks_for_iroots(args),
        "--shard: {} tests interleavings that earlier runs predict, so one process executes all runs\n\
         help: leave out --shard, or choose another --strategy",
        args.search.strategy()
    );
    let mut memory = Memory::open(args, program)?;
    let known = memory.as_ref().map(Memory::known).unwrap_or_default();
    let setup = Setup { panics, known, ..setup(args, &lanes, program)? };
    // The order of all runs determines when an iRoot was new.
    let jobs = if looks_for_iroots(args) { 1 } else { args.search.jobs() };
    let budget = args.search.budget();
    let progress = Progress::new(part.map_or(budget.runs, |part| budget.runs / part.shard.count() as u64));
    let watch = |seen: Seen<'_>| {
        progress.add(seen.turns);
        progress.note(&|| in_short(&seen, &setup.strategies));
    };
    let target = Native::new(&words, environment, &setup)?;
    let facts = Facts::of(args, program, &words, &setup)?;
    let (budget, further) = races::split(budget, args.races == RacesArg::Report && facts.shows_races());
    let begun = now();
    let search = Search { lanes: &lanes, budget, jobs, part, known: None, watch: &watch, every: 1 };
    let found = target.run(&search)?;
    let tally = &found.tally;
    ensure!(
        tally.runs + tally.cut_off > 0 || is_interrupted() || part.is_some(),
        "{}: no run ended within the time limit\nhelp: raise --time",
        program.display()
    );
    let identity = |search: &Search<'_>, part| facts.identity(search, part, &setup);
    // A worker makes these runs only if its request asks for them, and then all of them.
    let unit = args.search.part.unit.as_ref();
    let looks = tally.failures == 0 && !is_interrupted() && unit.is_none_or(|unit| unit.races);
    let raced = match further.filter(|_| looks) {
        Some(budget) => {
            let part = part.map(|part| Part { window: None, ..part });
            let further = Search { budget, part, watch: &|_| (), ..search.clone() };
            let span = begun.elapsed() / tally.runs.max(1) as u32;
            races::look(&words, environment, &setup, &further, span, &identity).map(Some)
        }
        None => Ok(None),
    };
    progress.finish();

    let mut notes = Vec::new();
    if let Some(memory) = &mut memory {
        notes.append(&mut memory.notes);
        if let Err(error) = memory.keep(args, &found.tally) {
            notes.push(format!("what was tested is not kept: {error:#}"));
        }
    }
    let keep = |ran: &RunResult| {
        let open = |file: &TraceFile| -> Result<Box<dyn Subject>> {
            Ok(Box::new(Program::open(file, "the failing run", Threads::Fibers)?))
        };
        let (path, minimize) = (args.record.as_deref(), !args.search.no_minimize);
        let explain = unit.is_none_or(|unit| unit.minimize);
        let progress = &Waiting::default();
        let keep = Keep { path, minimize, explain, namer: namer(), open: &open, progress };
        let output = Output { printed: ran.output.clone(), ..Output::default() };
        keep.keep(trace_file(ran, &words, environment, &setup), output)
    };
    let first = found.first.as_ref().map(|(turn, ran)| First {
        number: turn.number,
        iroots: memory::first_had(&found.tally, turn.number, ran),
        kept: keep(ran),
    });
    let facts = facts.with_fibers(target.had_fibers());
    let mut results = Vec::new();
    if let Some(part) = args.search.part.counted(part) {
        let (name, failing) = (facts.identity(&search, part, &setup), first.as_ref().map(First::failing));
        results.push(TargetResult {
            name: facts.name.clone(),
            strategies: lanes.specs(),
            seconds: 0.0,
            facts: serde_json::to_value(&facts)?,
            runs: Some(ShardResult::new(part, name, &search, &found, failing)),
            races: raced.as_ref().ok().and_then(|raced| raced.as_ref()?.result.clone()),
            lost: None,
        });
    }
    let is_complete = found.lost.is_none() && raced.is_ok();
    let searched = Searched {
        races: raced.map(|raced| raced.map(|raced| raced.races)),
        coverage: setup.coverage.map(|_| memory::covered(&found.tally)),
        lost: found.lost.map(|why| format!("{why:#}")),
        tally: found.tally,
        first,
        notes,
    };
    let outcome = searched.report(args, &facts, &lanes, &mut reports, width)?;
    Ok(Executed { outcome, results, is_complete })
}

#[expect(
    clippy::disallowed_methods,
    reason = "whether further runs fit into the time depends on how long runs take"
)]
fn now() -> Instant {
    Instant::now()
}

/// Returns the file to run, which is compiled first if it is a source.
pub(crate) fn program(args: &NativeArgs) -> Result<PathBuf> {
    let name = &args.program[0];
    let flags: Vec<String> = shlex::split(args.cflags.as_deref().unwrap_or_default())
        .context("--cflags: a quote is not closed")?;
    match Source::of(name) {
        Some(source) => find(&source.compile(&flags)?.to_string_lossy()),
        None => {
            ensure!(
                flags.is_empty(),
                "--cflags needs a C or C++ source, and {name} is none\nhelp: compile the program with: raddle cc FLAGS"
            );
            find(name)
        }
    }
}

/// Returns the strategies of the command line. To find iRoots, each executes its runs in order.
fn lanes(args: &NativeArgs, program: &Path) -> Result<Lanes> {
    let mut lanes = Lanes::parse(&args.search.strategy(), args.search.portfolio())?;
    if args.memory.wanted()? == MemoryArg::Auto && !raddle_symbols::is_rust(program) {
        lanes = lanes.with_weak_memory()?;
    }
    Ok(if looks_for_iroots(args) { lanes.in_order() } else { lanes })
}

fn looks_for_iroots(args: &NativeArgs) -> bool {
    args.coverage || memory::directs(&args.search.strategy())
}

fn setup(args: &NativeArgs, lanes: &Lanes, program: &Path) -> Result<Setup> {
    let memory = args.memory.model()?;
    ensure!(
        memory == MemoryModel::Sc || !raddle_symbols::is_rust(program) || has_hooks_in_std(program)?,
        "{}: weak memory cannot be explored in this Rust program: its standard library has no hooks, so that values would be read \
         that its locks, park and one-time initialization forbid\n\
         help: `cargo raddle run --memory weak` and `cargo raddle test --memory weak` build the standard library with hooks",
        program.display()
    );
    let settings = Settings {
        races: args.races == RacesArg::Fail,
        memory,
        network: args.network.settings(),
        ..args.search.settings()
    };
    Ok(Setup {
        points: args.points.into(),
        threads: threads(args.threads),
        isolation: args.isolation.into(),
        expected: args.expect_output.as_deref().map(expected).transpose()?,
        fail_on_exit: args.fail_on_exit,
        coverage: looks_for_iroots(args).then_some(WINDOW),
        callers: args.callers || raddle_symbols::is_rust(program),
        alone: args.search.jobs() == 1 || looks_for_iroots(args),
        ..native::setup(lanes, args.search.seed(), settings, args.search.run_time(args.run_time))
    })
}

/// Returns the kind of threads.
pub(crate) fn threads(arg: ThreadsArg) -> Threads {
    match arg {
        ThreadsArg::Fibers => Threads::Fibers,
        ThreadsArg::Os => Threads::Os,
    }
}

/// Returns the path of the file with the expected output, for processes and replays in other folders.
fn expected(path: &Path) -> Result<String> {
    let shown = path.display();
    let whole =
        std::fs::canonicalize(path).with_context(|| format!("cannot find {shown}\nhelp: check the path"))?;
    // The runtime reads it later, when an error would look like one of a run.
    std::fs::read(&whole).with_context(|| format!("cannot read the expected output, {shown}"))?;
    Ok(whole.to_str().with_context(|| format!("{shown}: the path is not valid UTF-8"))?.to_owned())
}
