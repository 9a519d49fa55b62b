//! `raddle report`.

use crate::args::{FormatArg, OpenArgs, ReportArgs};
use crate::explain;
use crate::input::{failure, shown};
use crate::outcome::{Outcome, causes};
use crate::show;
use crate::trust::{is_own, recorded};
use anyhow::{Context, Result, ensure};
use raddle_explain::{Effort, Pair};
use raddle_launch::source_folders;
use raddle_model::{Details, EXIT_NOTHING_FOUND, FrontEnd, TraceFile};
use raddle_report::events::Timeline;
use raddle_report::format::{Terminal, html, json, junit, perfetto, sarif, text};
use raddle_report::{FailureReport, PairRole, Source};
use raddle_symbols::Symbols;
use std::path::{Path, PathBuf};

/// The default number of runs for the explanation, and the approximate number of steps of all of them: the
/// user waits for the report.
const MOST_RUNS: u64 = 3_000;
const MOST_STEPS: u64 = 20_000_000;

/// The number of random schedules with which a set of orderings is tried.
const SAMPLES: u64 = 50;

/// Longer source files are not embedded in a page.
const LONGEST_SOURCE: u64 = 4 << 20;

/// The extensions of source files.
const SOURCES: &[&str] = &[
    "c", "h", "cc", "hh", "cpp", "hpp", "cxx", "hxx", "c++", "h++", "inc", "inl", "ipp", "tcc", "rs", "s",
    "erl", "hrl", "ex", "exs",
];

pub(crate) fn run(args: &ReportArgs, width: usize) -> Result<Outcome> {
    let shown = shown(&args.file);
    let format = format(args)?;
    let file = if args.explain {
        recorded(&args.file, &OpenArgs { trust: args.trust, pa: Vec::new() })?
    } else {
        failure(&args.file)?
    };
    let mut report = tell(args, &file, shown);
    let text = match format {
        FormatArg::Html => {
            sources(&mut report, &file, &args.source);
            html(&report)
        }
        FormatArg::Junit => junit(&report),
        FormatArg::Sarif => sarif(&report),
        FormatArg::Perfetto => perfetto(&report),
        FormatArg::Json => json(&report),
        FormatArg::Text => {
            // The library checks the terminal and `NO_COLOR`.
            let colours = args.output.is_none() && console::colors_enabled();
            let mut out = String::new();
            let found = report.found.split(';').next().unwrap_or_default();
            show::head(&mut out, &report.program, found, width);
            out + &text(&report, Terminal { colours, ..show::terminal(args.show, width) })
        }
    };
    let Some(path) = &args.output else {
        return Ok(Outcome { text, status: EXIT_NOTHING_FOUND });
    };
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let is_input = real(path).is_some_and(|output| real(Path::new(&args.file)) == Some(output));
    ensure!(!is_input, "{shown}: the report would replace the failure file; give another name");
    std::fs::write(path, text).with_context(|| {
        format!(
            "cannot write the report to {}\nhelp: name a file in a folder that can be written",
            path.display()
        )
    })?;
    Ok(Outcome { text: String::new(), status: EXIT_NOTHING_FOUND })
}

fn format(args: &ReportArgs) -> Result<FormatArg> {
    if args.json {
        return Ok(FormatArg::Json);
    }
    match (args.format, &args.output) {
        (Some(format), _) => Ok(format),
        (None, None) => Ok(FormatArg::Text),
        (None, Some(path)) => FormatArg::of(path).with_context(|| {
            let path = path.display();
            format!(
                "cannot infer the format from the file extension of {path}\nhelp: use --format, or one of the extensions .html, .xml, \
                 .sarif, .json and .txt"
            )
        }),
    }
}

/// Returns all information about the failure. If it cannot be explained, the report has the reason.
fn tell(args: &ReportArgs, file: &TraceFile, shown: &str) -> FailureReport {
    if !args.explain || file.verdict.failure().is_none() {
        return FailureReport::of(file);
    }
    let few = (MOST_STEPS / (file.steps.len() as u64).max(1)).clamp(100, MOST_RUNS);
    let effort = Effort { executions: args.runs.unwrap_or(few), samples: SAMPLES, depth: true, near: false };
    let (run, found, sources) = match explain::search(file, shown, effort, args.time) {
        Ok(explained) => explained,
        Err(error) => {
            let mut report = FailureReport::of(file);
            report.notes.push(format!("Not explained: {}.", causes(&error)));
            return report;
        }
    };
    // Only the file records how the run was found.
    let minimized = file.minimized.or(run.minimized);
    let mut report = FailureReport::of(&TraceFile {
        verdict: run.verdict,
        threads: run.threads,
        objects: run.objects,
        locations: run.locations,
        steps: run.steps,
        picks: run.picks,
        values: run.values,
        minimized,
        details: Details { reason: None, ..file.details.clone() },
        ..file.clone()
    });
    let run = found.run.as_ref().unwrap_or(file);
    report.details.reason = raddle_explain::reason(run, &found);
    report.why = explain::why(run, &found, effort, &sources).lines().map(str::to_owned).collect();
    for (pairs, role) in [(&found.swapped, PairRole::Swap), (&found.constraints, PairRole::Enough)] {
        for &Pair { first, second } in pairs {
            let step = |index: usize| (index, &found.steps[index]);
            report.add_pair(step(first), step(second), role);
        }
    }
    if let Some(idiom) = found.idiom {
        let pairs: Vec<(usize, usize)> =
            found.constraints.iter().map(|pair| (pair.first, pair.second)).collect();
        report.set_idiom(idiom, explain::IDIOMS[usize::from(idiom) - 1], &pairs, &found.steps);
    }
    report.passing = found.passing.as_ref().map(Timeline::of);
    report.find_relevant();
    report
}

/// Adds the texts of the source files to the report, as far as they are found.
///
/// A file may name any path, and a page may be passed on. So a name is looked up only below certain folders:
/// those that the user names and the current one, and for a file of the user also those of the program and
/// the file itself.
fn sources(report: &mut FailureReport, file: &TraceFile, folders: &[PathBuf]) {
    let program = (file.front_end == FrontEnd::Native && is_own(file)).then(|| Path::new(&file.program));
    let named: Vec<PathBuf> = match program {
        Some(program) => Symbols::new().sources(program).into_iter().map(PathBuf::from).collect(),
        None => Vec::new(),
    };
    let mut folders = folders.to_vec();
    folders.push(PathBuf::from("."));
    if is_own(file) {
        folders.extend(source_folders(file));
        folders.extend(program.and_then(Path::parent).map(Path::to_owned));
    }
    let names: Vec<String> = report.files().into_iter().map(str::to_owned).collect();
    for name in names {
        let known = named.iter().filter(|path| path.ends_with(&name)).cloned();
        let mut candidates = folders.iter().filter_map(|folder| below(folder, &name)).chain(known);
        if let Some(text) = candidates.find_map(|path| source(&path)) {
            report.sources.push(Source { name, text });
        }
    }
}

/// Returns the file `name` of `folder`, if it is below it, after following links.
fn below(folder: &Path, name: &str) -> Option<PathBuf> {
    let folder = std::fs::canonicalize(folder).ok()?;
    let path = std::fs::canonicalize(folder.join(name)).ok()?;
    path.starts_with(&folder).then_some(path)
}

fn source(path: &Path) -> Option<String> {
    let end = path.extension()?.to_str()?.to_ascii_lowercase();
    let about = std::fs::metadata(path).ok()?;
    if !SOURCES.contains(&&end[..]) || !about.is_file() || about.len() > LONGEST_SOURCE {
        return None;
    }
    Some(String::from_utf8_lossy(&std::fs::read(path).ok()?).into_owned())
}
