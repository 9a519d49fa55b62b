//! `raddle run`.

use super::baseline;
use super::memory::{self, Memory};
use super::races;
use crate::args::{MemoryArg, NativeArgs, PointsArg, RacesArg, ThreadsArg};
use crate::ci::{Reports, searched};
use crate::notes::{
    early_timeouts, exit_statuses, in_short, missed_memory, report, reset_difference, unexplored_memory,
};
use crate::outcome::Outcome;
use crate::progress::{Progress, Waiting};
use crate::show;
use anyhow::{Context, Result, ensure};
use raddle_cc::Source;
use raddle_launch::native::{
    self, Found, Native, Program, find, has_hooks_in_std, is_instrumented, library_access, namer, trace_file,
    uses_openmp,
};
use raddle_launch::{Keep, Kept, Output, Subject};
use raddle_model::native::{Points, Setup, Threads};
use raddle_model::{
    Claim, EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, Environment, FrontEnd, MemoryModel, Settings, TraceFile,
};
use raddle_report::run_text::verdict;
use raddle_report::shape;
use raddle_report::text::plural;
use raddle_report::{FailureReport, coverage, search_text};
use raddle_search::{Lanes, Seen, claims, is_interrupted};
use raddle_strategies::coverage::WINDOW;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The note if the requested kind of threads is unavailable.
const NO_FIBERS: &str = "this machine does not let programs set the FS base (FSGSBASE), so threads were OS threads, as with \
     --threads os: the runs are the same, but slower";

/// The note if data races of a Rust program count as failures.
const FALSE_RACES: &str = "the data race may be none: Rust's standard library is not instrumented, so that locks and messages \
     of its own may have ordered the accesses unseen";

/// The same for a program with OpenMP.
const FALSE_RACES_OF_OPENMP: &str = "the data race may be none: the library of OpenMP is not instrumented, so that the end of a \
     parallel region, a barrier or a task may have ordered the accesses unseen";

pub(crate) fn run(args: &NativeArgs, width: usize) -> Result<Outcome> {
    let program = program(args)?;
    // What the user typed is the name of the program, unless it is a source.
    let typed = &args.program[0];
    let is_name = Source::of(typed).is_none() && program.to_str() != Some(typed);
    let environment = Environment { name: is_name.then(|| typed.clone()), ..Environment::default() };
    run_in(args, &program, &environment, None, width)
}

/// Implements `raddle run`, with `program` instead of the first word, started in `environment`. A panic of
/// the thread called `panics` that ends the run is a failure.
pub(crate) fn run_in(
    args: &NativeArgs,
    program: &Path,
    environment: &Environment,
    panics: Option<String>,
    width: usize,
) -> Result<Outcome> {
    let mut words = vec![program.to_str().context("the program's path is no text")?.to_owned()];
    words.extend_from_slice(&args.program[1..]);
    if let Some(kind) = args.baseline {
        let report = baseline::run(args, kind, &words)?;
        let status = if report.failures > 0 { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
        let text = if args.search.json { shape::line(&report) } else { search_text::uncontrolled(&report) };
        return Ok(Outcome { text, status });
    }
    let mut reports = Reports::open(&args.search.ci)?;
    let mut memory = Memory::open(args, program)?;
    let known = memory.as_ref().map(Memory::known).unwrap_or_default();
    let lanes = lanes(args, program)?;
    let setup = Setup { panics, known, ..setup(args, &lanes, program)? };
    // The order of all runs determines when an iRoot was new.
    let jobs = if looks_for_iroots(args) { 1 } else { args.search.jobs() };
    let budget = args.search.budget();
    let progress = Progress::new(budget.runs);
    let watch = |seen: Seen<'_>| {
        progress.add(seen.turns);
        progress.note(&|| in_short(&seen, &setup.strategies));
    };
    let target = Native::new(&words, environment, &setup)?;
    // The precompiled standard library of Rust and those of OpenMP are not instrumented, so many orderings of accesses are
    // invisible: a lock that was taken in its slow path, a message through a channel, the end of a parallel
    // region. Races would mostly be false alarms.
    let is_rust = raddle_symbols::is_rust(program);
    let has_unseen_std = is_rust && !has_hooks_in_std(program)?;
    let uses_openmp = uses_openmp(program)?;
    let may_look =
        args.races == RacesArg::Report && !has_unseen_std && !uses_openmp && is_instrumented(program)?;
    let (budget, further) = races::split(budget, may_look);
    let begun = now();
    let Found { tally, first, lost, .. } = target.search(&lanes, budget, jobs, &watch)?;
    ensure!(
        tally.runs + tally.cut_off > 0 || is_interrupted(),
        "{}: no run ended within the time limit\nhelp: raise --time",
        program.display()
    );
    let races = match further.filter(|_| tally.failures == 0 && !is_interrupted()) {
        Some(further) => races::look(
            &words,
            environment,
            &setup,
            &lanes,
            &further,
            jobs,
            begun.elapsed() / tally.runs.max(1) as u32,
        ),
        None => Ok(None),
    };
    drop(progress);

    let mut report = report(&tally, args.search.strategy(), args.search.seed());
    report.claims = claims(&tally, &lanes);
    report.memory = setup.settings.memory;
    report.weak_runs = tally.weak_runs;
    report.without_fork = tally.runs + tally.cut_off - tally.forked;
    // If every run was forked, the number says nothing new.
    report.forked = if report.without_fork > 0 { tally.forked } else { 0 };
    if setup.coverage.is_some() {
        report.coverage = Some(memory::covered(&tally));
    }
    let mut notes = Vec::new();
    if let Some(memory) = &mut memory {
        notes.append(&mut memory.notes);
        if let Err(error) = memory.keep(args, &tally) {
            notes.push(format!("what was tested is not kept: {error:#}"));
        }
    }
    match races {
        Ok(races) => report.races = races,
        Err(error) => {
            notes.push(format!("the further runs that look for data races were not all made: {error:#}"))
        }
    }
    if let Some(why) = unseen_memory(args, program)? {
        report.claims.synchronisation_only = true;
        report.synchronisation_only = tally.exhausted;
        if tally.exhausted {
            notes.push(unseen_orders(args, why));
        } else if report.claims.statements.iter().any(Claim::is_guarantee) {
            notes.push(format!("accesses to memory are not seen {why}"));
        }
    } else if report.claims.exhaustion.is_some() || report.claims.statements.iter().any(Claim::is_guarantee) {
        notes.extend(library_access(program)?.map(|name| {
            format!(
                "memory that C library functions access ({name}) is not seen; bugs that need another order of these \
                 accesses are not covered"
            )
        }));
    }
    if has_unseen_std && tally.kinds.contains_key(races::KIND) {
        notes.push(FALSE_RACES.to_owned());
    }
    if uses_openmp && tally.kinds.contains_key(races::KIND) {
        notes.push(FALSE_RACES_OF_OPENMP.to_owned());
    }
    if !target.had_fibers() && args.threads == ThreadsArg::Fibers {
        notes.push(NO_FIBERS.to_owned());
    }
    // The standard library of Rust has weaker orders in every program.
    notes.extend(unexplored_memory(&tally, setup.settings).filter(|_| !is_rust));
    notes.extend(missed_memory(&tally));
    notes.extend(exit_statuses(&tally));
    notes.extend(reset_difference(&tally));
    notes.extend(lost.iter().map(|why| format!("not all runs were made: {why:#}")));
    let status = if tally.failures > 0 { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
    let mut failing = None;
    if let Some((turn, ran)) = &first {
        let open = |file: &TraceFile| -> Result<Box<dyn Subject>> {
            Ok(Box::new(Program::open(file, "the failing run", Threads::Fibers)?))
        };
        let (path, minimize) = (args.record.as_deref(), !args.search.no_minimize);
        let keep = Keep {
            path,
            minimize,
            explain: true,
            namer: namer(),
            open: &open,
            progress: &Waiting::default(),
        };
        let output = Output { printed: ran.output.clone(), ..Output::default() };
        let kept = keep.keep(trace_file(ran, &words, environment, &setup), output);
        report.kind = ran.kind.clone();
        report.failure_file = kept.path.as_ref().map(|path| path.display().to_string());
        if let Some(why) = &kept.not_kept {
            notes.push(format!("{why}; the same command with --record FILE writes it elsewhere"));
        }
        notes.extend(early_timeouts(&kept.file, setup.settings));
        report.first_failure = Some(turn.number);
        report.iroots = memory::first_had(&tally, turn.number, ran);
        report.message = Some(verdict(&kept.file).join("\n"));
        failing = Some(kept);
    }
    report.notes = notes;
    let name =
        [&[program.file_name().unwrap_or_default().to_string_lossy().into_owned()], &words[1..]].concat();
    reports.add(searched("raddle run", name.join(" "), &report), failing.as_ref().map(|kept| &kept.file));
    reports.write(true)?;
    if args.search.json {
        return Ok(Outcome { text: shape::line(&report), status });
    }
    let mut out = String::new();
    if let Some(Kept { file, output, .. }) = failing {
        let name = FailureReport::of(&file).program;
        show::head(&mut out, &name, &format!("after {}", plural(report.runs, "run")), width);
        show::run(&mut out, &file, &output, show::terminal(args.search.show, width));
        report.failure_file.iter().for_each(|path| show::commands(&mut out, path));
        out.push('\n');
    }
    out.push_str(&search_text::summary(&report, FrontEnd::Native));
    if let Some(covered) = &report.coverage {
        out.push_str(&coverage(covered, report.runs));
    }
    for (index, note) in report.notes.iter().enumerate() {
        let gap = if index == 0 { "\n" } else { "" };
        let _ = writeln!(out, "{gap}Note: {note}.");
    }
    Ok(Outcome { text: out, status })
}

#[expect(
    clippy::disallowed_methods,
    reason = "whether further runs fit into the time depends on how long runs take"
)]
fn now() -> Instant {
    Instant::now()
}

/// Returns why the schedule could not change at accesses to memory, if it could not.
fn unseen_memory(args: &NativeArgs, program: &Path) -> Result<Option<&'static str>> {
    if args.points == PointsArg::Sync {
        return Ok(Some("with --points sync"));
    }
    let why = "in a program that was not compiled with `raddle cc` or `raddle c++`";
    Ok((!is_instrumented(program)?).then_some(why))
}

/// Returns what an exhaustive search has not seen, where the schedule could not change at accesses to memory because of `why`.
fn unseen_orders(args: &NativeArgs, why: &str) -> String {
    // Reduction omits orders that look equal to it; memory accesses may distinguish them.
    let strategy = args.search.strategy();
    let mut entries = strategy.split('+').filter_map(raddle_strategies::entry);
    let reduces = entries.any(|entry| entry.capabilities.one_per_order);
    let consequence = if reduces {
        "dpor has also left out orders of synchronisation that differ only in what memory holds then, so bugs may be left; dfs \
         leaves out none"
    } else {
        "bugs that need another order of accesses between two of its points are left"
    };
    format!(
        "the search was over points of synchronisation only: accesses to memory are not seen {why}; {consequence}"
    )
}

/// Returns the file to run, which is compiled first if it is a source.
fn program(args: &NativeArgs) -> Result<PathBuf> {
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
    let settings = Settings { races: args.races == RacesArg::Fail, memory, ..args.search.settings() };
    Ok(Setup {
        points: match args.points {
            PointsArg::All => Points::All,
            PointsArg::Shared => Points::Shared,
            PointsArg::Sync => Points::Sync,
        },
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
    let whole = std::fs::canonicalize(path).with_context(|| format!("cannot find {shown}"))?;
    // The runtime reads it later, when an error would look like one of a run.
    std::fs::read(&whole).with_context(|| format!("cannot read the expected output, {shown}"))?;
    Ok(whole.to_str().with_context(|| format!("{shown}: the path is not valid UTF-8"))?.to_owned())
}
