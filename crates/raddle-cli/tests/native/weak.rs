//! Weak memory in C and C++ programs.

mod litmus;

use super::{folder, raddle, replays, run};
use std::path::{Path, PathBuf};

/// Compiles a program with `raddle cc` or `raddle c++` into a folder of its own, as `program`.
#[track_caller]
fn build(test: &str, compiler: &str, source: &Path, flags: &[&str]) -> PathBuf {
    let folder = folder(test);
    let source = source.to_str().expect("the path is UTF-8");
    let words = [&[compiler, "-O1", "-pthread", "-o", "program", source], flags].concat();
    let output = raddle(&folder, &words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

/// Checks that a program fails under weak memory, with an assertion and the same when replayed, but not under sequential
/// consistency, and that it never fails if compiled with `-DRIGHT`. Each word of `ways` is its argument.
#[track_caller]
fn only_weak_memory_fails(name: &str, compiler: &str, ways: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/weak").join(name);
    let wrong = build(&format!("weak_{name}"), compiler, &source, &[]);
    let right = build(&format!("weak_{name}_right"), compiler, &source, &["-DRIGHT"]);
    for way in ways {
        let report = run(&wrong, &["--memory", "weak", "./program", way]);
        assert_eq!(report["kind"], "assertion", "{name} {way}: {report}");
        replays(&wrong, &report, 3);
        let report = run(&wrong, &["--runs", "300", "--memory", "sc", "./program", way]);
        assert_eq!(report["verdict"], "passed", "{name} {way}: {report}");
        let report = run(&right, &["--runs", "1000", "--memory", "weak", "./program", way]);
        assert_eq!(report["verdict"], "passed", "{name} {way}: {report}");
    }
}

#[test]
fn accesses_of_cpp_have_their_orders() {
    only_weak_memory_fails("atomics.cpp", "c++", &["0", "1", "2", "3", "4", "5", "6"]);
}

#[test]
fn builtins_of_gcc_have_their_orders() {
    only_weak_memory_fails("builtins.c", "cc", &["0", "1", "2", "3"]);
}

/// Neither old values nor data races where memory is used again.
#[test]
fn memory_that_is_given_back_is_forgotten() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/weak/reuse.c");
    let folder = build("weak_reuse", "cc", &source, &[]);
    for way in ["0", "1", "2"] {
        let report =
            run(&folder, &["--runs", "200", "--memory", "weak", "--races", "fail", "./program", way]);
        assert_eq!(report["verdict"], "passed", "{way}: {report}");
    }
}

/// The programs of `benchmarks/weak`: the default finds each wrong version, and no run of a right one fails. The script there
/// executes 10,000 runs.
#[test]
fn classic_bugs_are_found_and_right_versions_pass() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks/weak");
    let files = std::fs::read_dir(&sources).expect("the programs are there").flatten();
    let mut names: Vec<PathBuf> =
        files.map(|file| file.path()).filter(|path| path.extension() == Some("c".as_ref())).collect();
    names.sort();
    assert!(names.len() >= 14, "{names:?}");
    for source in names {
        let name = source.file_stem().and_then(|name| name.to_str()).expect("a name is UTF-8");
        let wrong = build(&format!("weak_{name}"), "cc", &source, &[]);
        for memory in ["weak", "auto"] {
            let report = run(&wrong, &["--memory", memory, "./program"]);
            assert_eq!(report["kind"], "assertion", "{name}, {memory}: {report}");
            replays(&wrong, &report, 3);
        }
        let report = run(&wrong, &["--runs", "300", "--memory", "sc", "./program"]);
        assert_eq!(report["verdict"], "passed", "{name}: {report}");
        let right = build(&format!("weak_{name}_right"), "cc", &source, &["-DRIGHT"]);
        let report = run(&right, &["--runs", "1000", "--memory", "weak", "./program"]);
        assert_eq!(
            (&report["verdict"], &report["inconclusive"]),
            (&"passed".into(), &0.into()),
            "{name}: {report}"
        );
    }
}

/// By default, a quarter of the runs are under weak memory if the program has orders below `seq_cst`, and none otherwise.
#[test]
fn some_runs_are_weak_by_default() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks/weak/message_passing.c");
    let right = build("weak_by_default", "cc", &source, &["-DRIGHT"]);
    let report = run(&right, &["--runs", "400", "./program"]);
    assert_eq!(report["verdict"], "passed", "{report}");
    let weak = report["weak_runs"].as_u64().unwrap_or(0);
    assert!((50..150).contains(&weak), "{report}");
    let output = raddle(&right, &["run", "--runs", "400", "./program"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains(&format!("({weak} runs under weak memory)")), "{text}");
    let report = run(&right, &["--runs", "100", "-s", "pos", "./program"]);
    assert_eq!((&report["verdict"], &report["weak_runs"]), (&"passed".into(), &serde_json::Value::Null));
}
