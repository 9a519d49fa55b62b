//! A program as a process: its status, its start, its user.

use super::{compile, raddle, refused, replays, run};

/// A status other than 0 is a failure only if requested.
#[test]
fn a_status_is_a_failure_if_asked_for() {
    let folder = compile("status", "status", &[]);
    let words = ["--fail-on-exit", "--runs", "200", "--", "./status"];
    for end in [&["5"][..], &["5", "_exit"]] {
        let plain = run(&folder, &[&words[1..], end].concat());
        assert_eq!((&plain["verdict"], &plain["runs"]), (&"passed".into(), &200.into()), "{plain}");
        let report = run(&folder, &[&words[..], end].concat());
        assert_eq!(report["kind"], "exit", "{report}");
        let message = report["message"].as_str().expect("a failure has a message");
        assert_eq!(message, "exit: the program ended with status 5");
        replays(&folder, &report, 3);
        let every = run(&folder, &[&["--keep-going"], &words[..], end].concat());
        assert!(every["failures"].as_u64() < Some(200), "some runs end with 0: {every}");
    }
    // A waiting process sees 0.
    let report = run(&folder, &[&words[..], &["256"]].concat());
    assert_eq!(report["verdict"], "passed", "{report}");
    let bare =
        raddle(&folder, &["run", "--baseline", "stress", "--fail-on-exit", "--runs", "1", "./status", "0"]);
    assert_eq!(bare.status.code(), Some(0), "{}", String::from_utf8_lossy(&bare.stdout));
}

/// If the kernel randomizes addresses nevertheless, the program is restarted once and not forever.
#[test]
fn a_program_is_started_again_once() {
    let folder = compile("forgets", "forgets", &["-rdynamic"]);
    let report = run(&folder, &["--fail-on-exit", "--jobs", "1", "--runs", "3", "--", "./forgets"]);
    assert_eq!(report["verdict"], "passed", "{report}");
    let starts = std::fs::read(folder.join("starts")).expect("it was asked for the same addresses");
    assert_eq!(starts.len(), 1);
}

/// The C library would wait for parked threads.
#[test]
fn the_user_changes_while_threads_are_alive() {
    let folder = compile("identity", "identity", &[]);
    for way in [&[][..], &["late"]] {
        let report = run(&folder, &[&["--runs", "30", "--", "./identity"], way].concat());
        assert_eq!((&report["verdict"], &report["runs"]), (&"passed".into(), &30.into()), "{report}");
    }
    let words = ["run", "--threads", "os", "--runs", "1", "--", "./identity"];
    refused(&folder, &words, &["seteuid is called while other threads are alive", "--threads fibers"]);
}

/// The server gets a signal when a run has ended. The program has that signal in its original state.
#[test]
fn signals_are_as_the_program_was_started_with_them() {
    let folder = compile("inherits", "inherits", &[]);
    let words = ["run", "--fail-on-exit", "--runs", "20", "--json", "--", "./inherits"];
    for (start, argument) in [("--default-signal=CHLD", "default"), ("--ignore-signal=CHLD", "ignored")] {
        let mut command = std::process::Command::new("env");
        command.args([start, env!("CARGO_BIN_EXE_raddle")]).args(words).arg(argument).current_dir(&folder);
        let output = command.output().expect("env is there");
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{argument}: {text}");
        assert!(text.contains(r#""runs":20"#), "{argument}: {text}");
    }
}

/// The environment names the socket of the command line.
#[test]
fn a_program_may_clear_its_environment_before_main() {
    let folder = compile("clears", "clears", &[]);
    let report = run(&folder, &["--fail-on-exit", "--runs", "3", "--", "./clears"]);
    assert_eq!((&report["verdict"], &report["runs"]), (&"passed".into(), &3.into()), "{report}");
}

/// Calls are bound before the first run, to the loader's choice. A run may use all processors, although its
/// server is pinned to one during the fork.
#[test]
fn a_run_begins_with_bound_calls_and_all_processors() {
    let library = compile("binds-library", "binds", &["-DLIBRARY", "-shared", "-fPIC"]).join("binds");
    let folder = compile("binds", "binds", &["-Wl,-z,lazy"]);
    let start = |name: &str| {
        let mut command = std::process::Command::new(name);
        command.current_dir(&folder).env("LD_PRELOAD", &library);
        command
    };
    let plain = start("./binds").arg("plain").output().expect("the program starts");
    assert_eq!(plain.status.code(), Some(0), "nothing is bound by itself");
    std::fs::write(folder.join("expected"), plain.stdout).expect("the folder can be written to");
    let words =
        ["run", "--jobs", "1", "--runs", "3", "--fail-on-exit", "--expect-output", "expected", "./binds"];
    let output = start(env!("CARGO_BIN_EXE_raddle")).args(words).output().expect("raddle starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
}

/// A call is left unbound if its name leads back to it, if the program has bound it, or if it is in a library
/// that the program has loaded.
#[test]
fn a_run_begins_with_calls_as_the_program_has_them() {
    let library = ["-DLIBRARY", "-shared", "-fPIC", "-Wl,-z,lazy"];
    let loaded = compile("calls-library", "calls", &library).join("calls");
    let place = format!("-DLOADED=\"{}\"", loaded.display());
    for (test, flags) in [
        ("calls-pointer", &["-DPOINTER", "-no-pie", "-fno-pie"][..]),
        ("calls-own", &["-DOWN"]),
        ("calls-loaded", &[&place]),
    ] {
        let folder = compile(test, "calls", &[flags, &["-Wl,-z,lazy"]].concat());
        let report = run(&folder, &["--fail-on-exit", "--jobs", "1", "--runs", "3", "--", "./calls"]);
        assert_eq!(report["verdict"], "passed", "{test}: {report}");
    }
}

/// By default the end of the program waits in most runs, so that a detached check finishes, and does not in
/// the others. The failure file records which it was.
#[test]
fn detached_threads_run_to_their_end_in_some_runs() {
    let folder = compile("never-joined", "never_joined", &[]);
    let settings = |report: &serde_json::Value| {
        let file = report["failure_file"].as_str().expect("a failing run is recorded");
        let text = std::fs::read_to_string(folder.join(file)).expect("the file is there");
        let file: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        file["settings"]["exit_last"].clone()
    };
    let report = run(&folder, &["--runs", "40", "--", "./never_joined"]);
    assert_eq!((&report["kind"], settings(&report)), (&"assertion".into(), true.into()), "{report}");
    replays(&folder, &report, 3);
    let file = report["failure_file"].as_str().expect("a failing run is recorded");
    for command in ["minimize", "explain"] {
        let output = raddle(&folder, &[command, file]);
        assert_eq!(output.status.code(), Some(1), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
    std::fs::write(folder.join("expected"), "done\n").expect("the folder can be written to");
    let words = ["--expect-output", "expected", "--runs", "40", "--", "./never_joined", "print"];
    let report = run(&folder, &words);
    assert_eq!((&report["kind"], settings(&report)), (&"output".into(), serde_json::Value::Null), "{report}");
    replays(&folder, &report, 3);
}
