//! The report of `raddle run` and of merged shards.

use super::races;
use crate::args::{NativeArgs, PointsArg, ThreadsArg};
use crate::ci::{Reports, searched};
use crate::notes::{
    early_timeouts, exit_statuses, forks, missed_memory, no_threads, report, reset_difference,
    unexplored_memory,
};
use crate::outcome::Outcome;
use crate::result::{Failing, MergedTarget, identity};
use crate::show;
use anyhow::{Context, Result};
use raddle_launch::Kept;
use raddle_launch::native::{has_hooks_in_std, is_instrumented, library_access, uses_openmp};
use raddle_model::native::Setup;
use raddle_model::{Claim, EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, FrontEnd, Settings};
use raddle_report::run_text::verdict;
use raddle_report::shape::{self, Races};
use raddle_report::text::plural;
use raddle_report::{Coverage, FailureReport, coverage, search_text};
use raddle_search::{Identity, Lanes, Part, Search, Tally, claims};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::Path;

/// The note if the requested kind of threads is unavailable.
const NO_FIBERS: &str = "this machine does not let programs set the FS base (FSGSBASE), so threads were OS threads, as with \
     --threads os: the runs are the same, but slower";

/// The note if data races of a Rust program count as failures.
const FALSE_RACES: &str = "the data race may be none: Rust's standard library is not instrumented, so that locks and messages \
     of its own may have ordered the accesses unseen";

/// The same for a program with OpenMP.
const FALSE_RACES_OF_OPENMP: &str = "the data race may be none: the library of OpenMP is not instrumented, so that the end of a \
     parallel region, a barrier or a task may have ordered the accesses unseen";

/// The properties of a program and of its runs that a report depends on, besides their numbers.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Facts {
    /// The program and its arguments, as a test in reports.
    pub(super) name: String,
    /// The settings of the runs.
    settings: Settings,
    seed: u64,
    is_rust: bool,
    /// True for a Rust program whose standard library has no hooks.
    has_unseen_std: bool,
    uses_openmp: bool,
    is_instrumented: bool,
    /// The reason why the schedule could not change at accesses to memory, if it could not.
    unseen_memory: Option<String>,
    /// A C library function that accesses memory of the program, where no hooks are.
    library_access: Option<String>,
    has_fibers: bool,
    build: String,
}

impl Facts {
    /// Reads the program.
    pub(super) fn of(args: &NativeArgs, program: &Path, words: &[String], setup: &Setup) -> Result<Facts> {
        let is_instrumented = is_instrumented(program)?;
        let unseen = match args.points {
            PointsArg::Sync => Some("with --points sync"),
            _ if is_instrumented => None,
            _ => Some("in a program that was not compiled with `raddle cc` or `raddle c++`"),
        };
        let is_rust = raddle_symbols::is_rust(program);
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Facts {
            name: [&[name], &words[1..]].concat().join(" "),
            settings: setup.settings,
            seed: setup.seed,
            is_rust,
            has_unseen_std: is_rust && !has_hooks_in_std(program)?,
            uses_openmp: uses_openmp(program)?,
            is_instrumented,
            unseen_memory: unseen.map(str::to_owned),
            library_access: library_access(program)?.map(str::to_owned),
            has_fibers: true,
            build: raddle_symbols::build(program)
                .with_context(|| format!("cannot read {}", program.display()))?,
        })
    }

    /// Returns the same facts; `has_fibers` is true if threads were fibers.
    pub(super) fn with_fibers(&self, has_fibers: bool) -> Facts {
        Facts { has_fibers, ..self.clone() }
    }

    /// Returns true if further runs can find data races. The precompiled standard library of Rust and those of OpenMP are not
    /// instrumented, so many orderings of accesses are invisible: a lock that was taken in its slow path, a message through
    /// a channel, the end of a parallel region. Races would mostly be false alarms.
    pub(super) fn shows_races(&self) -> bool {
        !self.has_unseen_std && !self.uses_openmp && self.is_instrumented
    }

    /// Returns what identifies a search of the program. Its path may differ between machines.
    pub(super) fn identity(&self, search: &Search<'_>, part: Part, setup: &Setup) -> Identity {
        let settings =
            (setup.settings, setup.points, setup.fail_on_exit, setup.callers, setup.expected.is_some());
        let settings = serde_json::to_string(&settings).unwrap_or_default();
        let facts = [
            ("the program", self.name.clone()),
            ("its build", self.build.clone()),
            ("the settings of runs", settings),
        ];
        identity(search, part, setup.seed, facts)
    }
}

/// The first failing run.
pub(super) struct First {
    pub(super) number: u64,
    /// The interleavings that it was the first to have.
    pub(super) iroots: Vec<String>,
    pub(super) kept: Kept,
}

impl First {
    /// Returns the run as shards store it.
    pub(super) fn failing(&self) -> Failing {
        Failing::of(&self.kept)
    }
}

/// The results of all runs.
pub(super) struct Searched {
    pub(super) tally: Tally,
    pub(super) first: Option<First>,
    /// The further runs that looked for data races, if there were any.
    pub(super) races: Result<Option<Races>>,
    pub(super) coverage: Option<Coverage>,
    /// The reason why not all runs were made.
    pub(super) lost: Option<String>,
    pub(super) notes: Vec<String>,
}

impl Searched {
    /// Returns the merged results of shards.
    pub(super) fn merged(target: MergedTarget, args: &NativeArgs) -> Result<Searched> {
        let merged = target.runs.context("the results have no runs\nhelp: run the shards again")?;
        let first = merged.first.map(|(number, failing)| First {
            number,
            iroots: Vec::new(),
            kept: failing.keep(args.record.as_deref()),
        });
        let races =
            target.races.map(|merged| races::races(&merged.tally, merged.first.and_then(|(_, what)| what)));
        Ok(Searched {
            tally: merged.tally,
            first,
            races: Ok(races),
            coverage: None,
            lost: target.lost,
            notes: Vec::new(),
        })
    }

    /// Writes the reports, and returns the output of the command.
    pub(super) fn report(
        self,
        args: &NativeArgs,
        facts: &Facts,
        lanes: &Lanes,
        reports: &mut Reports,
        width: usize,
    ) -> Result<Outcome> {
        let Searched { tally, first, races, coverage: covered, lost, mut notes } = self;
        let mut report = report(&tally, args.search.strategy(), facts.seed);
        report.claims = claims(&tally, lanes);
        report.memory = facts.settings.memory;
        report.weak_runs = tally.weak_runs;
        report.forks = forks(&tally);
        report.coverage = covered;
        match races {
            Ok(races) => report.races = races,
            Err(error) => {
                notes.push(format!("the further runs that look for data races were not all made: {error:#}"))
            }
        }
        let is_complete = report.claims.exhaustion.is_some();
        let has_guarantee = report.claims.statements.iter().any(Claim::is_guarantee);
        if let Some(why) = &facts.unseen_memory {
            report.claims.synchronisation_only = true;
            report.synchronisation_only = tally.exhausted;
            if tally.exhausted {
                notes.push(unseen_orders(&args.search.strategy(), why));
            } else if has_guarantee {
                notes.push(format!("accesses to memory are not seen {why}"));
            }
        } else if is_complete || has_guarantee {
            notes.extend(facts.library_access.as_ref().map(|name| {
                format!(
                    "memory that C library functions access ({name}) is not seen; bugs that need another order of these \
                     accesses are not covered"
                )
            }));
        }
        let has_race = tally.kinds.contains_key(races::KIND);
        notes.extend((facts.has_unseen_std && has_race).then(|| FALSE_RACES.to_owned()));
        notes.extend((facts.uses_openmp && has_race).then(|| FALSE_RACES_OF_OPENMP.to_owned()));
        if !facts.has_fibers && args.threads == ThreadsArg::Fibers {
            notes.push(NO_FIBERS.to_owned());
        }
        // The standard library of Rust has weaker orders in every program.
        notes.extend(unexplored_memory(&tally, facts.settings).filter(|_| !facts.is_rust));
        notes.extend(missed_memory(&tally));
        notes.extend(exit_statuses(&tally));
        notes.extend(no_threads(&tally));
        notes.extend(reset_difference(&tally));
        notes.extend(lost.map(|why| format!("not all runs were made: {why}")));
        if let Some(First { number, iroots, kept }) = &first {
            report.kind = kept.file.verdict.failure().map(|failure| failure.kind().to_owned());
            report.failure_file = kept.path.as_ref().map(|path| path.display().to_string());
            notes.extend(kept.not_kept.clone());
            notes.extend(early_timeouts(&kept.file, facts.settings));
            report.first_failure = Some(*number);
            report.iroots.clone_from(iroots);
            report.message = Some(verdict(&kept.file).join("\n"));
        }
        report.notes = notes;
        let failing = first.map(|first| first.kept);
        let test = searched("raddle run", facts.name.clone(), &report);
        reports.add(test, failing.as_ref().map(|kept| &kept.file));
        reports.write(true)?;
        let status = if tally.failures > 0 { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
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
}

/// Prints the report of merged shards.
pub(crate) fn merged(
    args: &NativeArgs,
    targets: Vec<MergedTarget>,
    reports: &mut Reports,
    width: usize,
) -> Result<Outcome> {
    let target = targets.into_iter().next().context("the results have no program")?;
    let (facts, lanes) = (target.facts::<Facts>()?, Lanes::of_specs(&target.strategies)?);
    Searched::merged(target, args)?.report(args, &facts, &lanes, reports, width)
}

/// Returns what an exhaustive search has not seen, where the schedule could not change at accesses to memory because of `why`.
fn unseen_orders(strategy: &str, why: &str) -> String {
    // Reduction omits orders that look equal to it; memory accesses may distinguish them.
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
