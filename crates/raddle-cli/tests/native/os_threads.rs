//! `--threads os`: the same runs, each thread on its own OS thread.

use super::{compile, folder, raddle, replays, run};
use raddle_testkit::{CLanguage, c_programs};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Compiles a program of `tests/c`, or of this folder, with hooks into `folder`.
fn instrument(folder: &Path, source: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let source = source.to_str().expect("a plain path");
    let output = raddle(folder, &["cc", "-g", "-O1", "-pthread", source, "-o", "program"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Every number of the report is the same: failures by kind, partial orders, steps, and the first failing
/// run, whose file contains its fingerprint.
#[test]
fn every_program_has_the_same_runs() {
    let mut different = Vec::new();
    for program in c_programs() {
        let folder = folder(&format!("os-{}", program.name.replace('/', "-")));
        let mut compiler = Command::new(env!("CARGO_BIN_EXE_raddle"));
        compiler.arg(if program.language == CLanguage::C { "cc" } else { "c++" });
        program.compile(&mut compiler, &folder.join("program"));
        let options: Vec<&str> = program.options.iter().map(String::as_str).collect();
        let both = ["fibers", "os"].map(|threads| {
            // A switch between OS threads takes time, and one program spins up to the limit. Minimization
            // uses all available time.
            let words = [
                "--keep-going",
                "--no-minimize",
                "--runs",
                "12",
                "--step-limit",
                "2000",
                "--threads",
                threads,
                "--record",
                "run.json",
            ];
            let report = run(&folder, &[&words[..], &options[..], &["--", "./program"]].concat());
            (report, std::fs::read_to_string(folder.join("run.json")).ok())
        });
        // External events arrive at any time.
        if both[0].0["outside_waits"].as_u64() > Some(0) {
            continue;
        }
        if both[0] != both[1] {
            different.push(format!("{}: {} {}", program.name, both[0].0, both[1].0));
        } else if both[0].1.is_some() {
            let replayed = ["fibers", "os"]
                .map(|threads| raddle(&folder, &["replay", "--threads", threads, "run.json"]))
                .map(|output| (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned()));
            assert_eq!(replayed[0].0, Some(1), "{}", program.name);
            assert_eq!(replayed[0], replayed[1], "{}", program.name);
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// Threads that crash on their own OS threads, one of them with a stack overflow.
#[test]
fn crashes_are_reported() {
    let folder = compile("os_crashes", "crashes", &[]);
    for (way, kind, message) in
        [("segv", "signal", "got SIGSEGV for an access to address 0x10"), ("abort", "abort", "got SIGABRT")]
    {
        let report = run(&folder, &["--threads", "os", "--runs", "500", "--", "./crashes", way]);
        assert_eq!(report["kind"], kind, "{report}");
        assert!(report["message"].as_str().is_some_and(|text| text.contains(message)), "{report}");
        replays(&folder, &report, 2);
    }
    let folder = compile("os_overflow", "overflow", &[]);
    let report = run(&folder, &["--threads", "os", "--runs", "1", "--", "./overflow"]);
    assert_eq!(report["kind"], "signal", "{report}");
    let fibers = run(&folder, &["--runs", "1", "--", "./overflow"]);
    assert_eq!(report["message"], fibers["message"]);
}

#[test]
fn a_hanging_run_is_reported_with_the_running_thread() {
    let folder = compile("os_hangs", "hangs", &[]);
    let words = ["run", "--threads", "os", "--run-time", "300ms", "--", "./hangs", "unseen"];
    super::refused(
        &folder,
        &words,
        &["thread T1", "it waits in the system call read, which raddle does not control"],
    );
}

/// A machine without FSGSBASE, as reported by the C library.
#[test]
fn they_are_chosen_where_there_are_no_fibers() {
    let folder = compile("os_chosen", "lost_update", &[]);
    let source = "#include <sys/auxv.h>\nunsigned long getauxval(unsigned long type) { return type == AT_HWCAP2 ? 0 : type == AT_PAGESZ ? 4096 : 0; }\n";
    std::fs::write(folder.join("old.c"), source).expect("the folder can be written to");
    let gcc =
        Command::new("gcc").args(["-shared", "-fPIC", "old.c", "-o", "old.so"]).current_dir(&folder).status();
    assert!(gcc.expect("gcc starts").success());
    let report = |words: &[&str]| -> Value {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
        command
            .args(["run", "--json", "--keep-going", "--runs", "50"])
            .args(words)
            .args(["--", "./lost_update"]);
        let output = command.current_dir(&folder).env("LD_PRELOAD", folder.join("old.so")).output();
        let output = output.expect("raddle starts");
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
    };
    let chosen = report(&[]);
    assert!(chosen["notes"][0].as_str().is_some_and(|note| note.contains("(FSGSBASE)")), "{chosen}");
    let asked = report(&["--threads", "os"]);
    assert_eq!(asked["notes"], Value::Array(vec![]), "{asked}");
    let usual = run(&folder, &["--keep-going", "--runs", "50", "--", "./lost_update"]);
    assert_eq!(asked, usual);
}

/// The beginning of the stack of `main` depends on the environment, and a replay must not.
#[test]
fn a_replay_does_not_depend_on_the_environment() {
    let folder = folder("environment");
    instrument(&folder, "tests/native/on_stack.c");
    let report = run(&folder, &["--", "./program"]);
    let file = report["failure_file"].as_str().expect("it fails");
    for length in [0, 1000, 100_000] {
        for threads in ["fibers", "os"] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
            command.args(["replay", "--threads", threads, file]).current_dir(&folder);
            let output = command.env("PADDING", "x".repeat(length)).output().expect("raddle starts");
            let messages = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{length} {threads}: {messages}");
        }
    }
}

/// The kernel's location of the arguments depends on the environment too: for some lengths two arguments
/// would share a unit of memory, and for others not.
#[test]
fn a_search_does_not_depend_on_the_environment() {
    let folder = folder("surroundings");
    instrument(&folder, "tests/native/letters.c");
    let report = |length: usize| -> Value {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
        command.args(["run", "--json", "--runs", "20", "-s", "pos", "--", "./program", "abc", "def"]);
        let output = command.current_dir(&folder).env("PADDING", "x".repeat(length)).output();
        serde_json::from_slice(&output.expect("raddle starts").stdout).expect("raddle reports")
    };
    let first = report(0);
    assert_eq!(first["verdict"], "passed", "{first}");
    for length in 1..8 {
        assert_eq!(report(length), first, "{length} letters more");
    }
}
