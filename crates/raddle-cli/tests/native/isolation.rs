//! Runs without a fork are the same as forked ones.

use super::{compile, folder, raddle};
use raddle_testkit::{CLanguage, c_programs};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs whose runs depend on other processes, or on the order in which the system does something.
const VARIES: [&str; 1] = ["pass/processes"];

/// The report of a search, its failing run, and the number of runs without a fork.
fn search(folder: &Path, isolation: &str, options: &[&str], program: &[&str]) -> (Value, String, u64) {
    let record = folder.join("failing.json");
    let record_text = record.to_str().expect("paths are UTF-8 here");
    let words =
        ["run", "--json", "--fresh", "--jobs", "1", "--seed", "5", "--keep-going", "--record", record_text];
    let output =
        raddle(folder, &[&words[..], &["--isolation", isolation], options, &["--"], program].concat());
    let mut report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{program:?}: {error}: {}", String::from_utf8_lossy(&output.stderr)));
    let fields = report.as_object_mut().expect("a report has fields");
    let mut count = |name: &str| fields.remove(name).and_then(|count| count.as_u64()).unwrap_or(0);
    let (_, without_fork) = (count("forked"), count("without_fork"));
    let failing = std::fs::read_to_string(&record).unwrap_or_default();
    _ = std::fs::remove_file(record);
    (report, failing, without_fork)
}

/// Searches with and without forks, and compares reports and failing runs. Returns the number of runs without a fork.
#[track_caller]
fn same(folder: &Path, options: &[&str], program: &str) -> u64 {
    let (forked, without) =
        (search(folder, "fork", options, &[program]), search(folder, "reset", options, &[program]));
    assert_eq!(forked.2, 0, "{program}");
    assert_eq!((&forked.0, &forked.1), (&without.0, &without.1), "{program} in {}", folder.display());
    without.2
}

/// Compiles a C program with hooks, with the definitions of its first case in the benchmark.
fn compiled(source: &Path, folder: &Path) {
    let manifest = std::fs::read_to_string(source.with_extension("toml")).expect("programs have manifests");
    let first = manifest.lines().find_map(|line| line.strip_prefix("define = ")).unwrap_or_default();
    let defined = first.split('"').skip(1).step_by(2).map(|name| format!("-D{name}"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    command.args(["cc", "-g", "-O1", "-pthread", "-o"]).arg(folder.join("program")).args(defined).arg(source);
    assert!(command.status().expect("it starts").success(), "{}", source.display());
}

#[test]
fn programs_have_the_same_runs_with_and_without_forks() {
    let mut without_fork = 0;
    for program in c_programs() {
        let folder = folder(&format!("isolation-{}", program.name.replace('/', "-")));
        let mut compiler = Command::new(env!("CARGO_BIN_EXE_raddle"));
        compiler.arg(if program.language == CLanguage::C { "cc" } else { "c++" });
        program.compile(&mut compiler, &folder.join("program"));
        let options: Vec<&str> = program.options.iter().map(String::as_str).collect();
        if !VARIES.contains(&&program.name[..]) {
            let count = same(&folder, &[&["--runs", "60"], &options[..]].concat(), "./program");
            without_fork += u64::from(count >= 50);
        }
    }
    assert!(without_fork >= 50, "only {without_fork} programs were executed mostly without forks");
}

#[test]
fn programs_of_the_benchmark_have_the_same_runs_with_and_without_forks() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks/corpus");
    let entries = std::fs::read_dir(corpus)
        .expect("the corpus is there")
        .map(|entry| entry.expect("it is readable").path());
    let mut sources: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|kind| kind == "c")).collect();
    sources.sort();
    for source in sources {
        let name = source.file_stem().and_then(|stem| stem.to_str()).expect("programs have plain names");
        let folder = folder(&format!("isolation-corpus-{name}"));
        compiled(&source, &folder);
        same(&folder, &["--runs", "40"], "./program");
    }
}

/// Everything that a run changes and that can be undone: memory of all kinds, the heap, mappings, files, signals, the
/// output and the stack. The program fails if it finds a change of an earlier run.
#[test]
fn a_run_finds_no_change_of_an_earlier_one() {
    let folder = compile("undone", "undone", &["-O1"]);
    let count = same(&folder, &["--runs", "50", "--fail-on-exit"], "./undone");
    assert_eq!(count, 49);
    let (report, ..) = search(&folder, "reset", &["--runs", "50", "--fail-on-exit"], &["./undone"]);
    assert_eq!(
        (report["failures"].as_u64(), &report["verdict"]),
        (Some(0), &Value::from("passed")),
        "{report}"
    );
}

/// Changes that cannot be undone end the process: the program fails if it finds a change of an earlier run.
#[test]
fn changes_that_cannot_be_undone_end_the_process() {
    let folder = compile("traces", "traces", &["-O1"]);
    for change in ["umask", "directory", "unmap", "descriptor", "limit", "name", "instruction", "fork"] {
        let words = ["--runs", "20", "--fail-on-exit"];
        let (report, _, without_fork) = search(&folder, "reset", &words, &["./traces", change]);
        assert_eq!((report["failures"].as_u64(), without_fork), (Some(0), 0), "{change}: {report}");
    }
    let (report, _, without_fork) =
        search(&folder, "reset", &["--runs", "20", "--fail-on-exit"], &["./traces", "none"]);
    assert_eq!((report["failures"].as_u64(), without_fork), (Some(0), 19), "{report}");
}

/// Containers may forbid `userfaultfd`, and older kernels have no `PAGEMAP_SCAN`: then every run is forked.
#[test]
fn runs_are_forked_where_the_system_cannot_undo_them() {
    let folder = compile("isolation-contained", "lost_update", &[]);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/contained.c");
    let gcc = Command::new("gcc").args(["-o", "contained"]).arg(source).current_dir(&folder).status();
    assert!(gcc.expect("gcc starts").success());
    let search = |without: &str, more: &[&str]| {
        let words = ["run", "--fresh", "--jobs", "1", "--runs", "50", "--keep-going"];
        let mut command = Command::new(folder.join("contained"));
        command.arg(without).arg(env!("CARGO_BIN_EXE_raddle")).args(words).args(more);
        let output = command.args(["--", "./lost_update"]).current_dir(&folder).output();
        String::from_utf8(output.expect("it starts").stdout).expect("output is UTF-8")
    };
    let json = |without: &str, isolation: &str| -> Value {
        let text = search(without, &["--json", "--isolation", isolation]);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let forked = json("nothing", "fork");
    for without in ["userfaultfd", "PAGEMAP_SCAN"] {
        let mut report = json(without, "reset");
        let fields = report.as_object_mut().expect("a report has fields");
        assert_eq!(fields.remove("reset_unsupported"), Some(Value::Bool(true)), "{without}");
        assert_eq!(report, forked, "{without}");
    }
    let text = search("userfaultfd", &[]);
    assert_eq!(
        text.matches("50 runs (all forked, because this system has no userfaultfd").count(),
        1,
        "{text}"
    );
}

/// Runs that pass are executed in batches; a difference from a forked run would be a note.
#[test]
fn runs_in_batches_are_the_same() {
    let folder = compile("isolation-batches", "no_race", &[]);
    for strategy in ["random-walk", "surw+pos"] {
        let count = same(&folder, &["--runs", "3100", "--strategy", strategy], "./no_race");
        assert!(count > 3000, "{strategy}: {count}");
    }
    // It ends within a batch.
    let folder = compile("isolation-exhausted", "lost_update", &[]);
    let count = same(&folder, &["--runs", "300", "--strategy", "dfs"], "./lost_update");
    assert!((1..290).contains(&count), "{count}");
}

/// Threads that wait when the program ends, or that are deadlocked, end with the run.
#[test]
fn threads_that_have_not_ended_are_no_trace() {
    let folder = compile("isolation-unended", "unended", &[]);
    let count = same(&folder, &["--runs", "50", "--fail-on-exit"], "./unended");
    assert_eq!(count, 49);
}

/// A crash ends the process, and the next run begins in a fresh one.
#[test]
fn runs_after_a_crash_are_the_same() {
    let folder = compile("isolation-crashes", "dies", &[]);
    same(&folder, &["--runs", "200"], "./dies");
}
