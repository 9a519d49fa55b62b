//! Programs that use processes, clocks and random numbers print the same and end with the same status as without control.

use super::{folder, raddle, run};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Compiles a program of the folder `as_is`, and returns its folder.
fn compile(name: &str) -> PathBuf {
    let folder = folder(&format!("as-is-{name}"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/as_is").join(format!("{name}.c"));
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-O0", "-pthread", "-o", name]).arg(source).current_dir(&folder);
    assert!(gcc.status().expect("gcc starts").success(), "{name}.c is compiled");
    folder
}

/// Compiles a program, and runs it without control. Returns its folder, where the file `plain` has its output.
fn prepare(name: &str) -> PathBuf {
    let folder = compile(name);
    let mut plain = Command::new(format!("./{name}"));
    let plain = plain.current_dir(&folder).stdin(Stdio::null()).output().expect("the program starts");
    assert!(plain.status.success(), "{name}: {}", String::from_utf8_lossy(&plain.stderr));
    std::fs::write(folder.join("plain"), plain.stdout).expect("the output can be kept");
    folder
}

/// Checks that a program behaves as without control in every run with these options.
#[track_caller]
fn check(name: &str, more: &[&str]) {
    let folder = prepare(name);
    let program = format!("./{name}");
    let options = ["--runs", "10", "--no-minimize", "--fail-on-exit", "--expect-output", "plain"];
    let output = raddle(&folder, &[&["run"], &options[..], more, &["--", &program]].concat());
    let [text, messages] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert_eq!(output.status.code(), Some(0), "{name}: {text}{messages}");
}

/// Defines a test for each program.
macro_rules! programs {
    ($($name:ident;)*) => {$(
        #[test]
        fn $name() {
            check(stringify!($name), &[]);
        }
    )*};
}

/// Sleeps of these programs let other threads come to a wait.
macro_rules! sleeping_programs {
    ($($name:ident;)*) => {$(
        #[test]
        fn $name() {
            check(stringify!($name), &["--timeouts", "idle"]);
            check(stringify!($name), &["--timeouts", "idle", "--threads", "os"]);
        }
    )*};
}

programs! {
    cpu_clocks;
    forked_locks;
    groups;
    process_shared;
    random_bytes;
    signal_stacks;
    signal_targets;
}

sleeping_programs! {
    signal_interrupts;
    signal_timers;
}

#[test]
fn an_alarm_without_a_handler_ends_only_a_program_that_is_late() {
    let folder = compile("limits");
    for (mode, verdict, kind) in [
        ("deadlock", "failed", Some("deadlock")),
        ("pause", "failed", Some("signal")),
        ("late", "failed", Some("signal")),
        ("busy", "failed", Some("signal")),
        ("in-time", "passed", None),
    ] {
        let report = run(&folder, &["--runs", "20", "--no-minimize", "--", "./limits", mode]);
        assert_eq!(
            (report["verdict"].as_str(), report["kind"].as_str()),
            (Some(verdict), kind),
            "{mode}: {report}"
        );
        let message = report["message"].as_str().unwrap_or_default();
        assert!(kind != Some("signal") || message.contains("SIGALRM"), "{mode}: {message}");
    }
}

#[test]
fn a_signal_before_the_wait_for_it_is_lost() {
    let folder = compile("lost_signal");
    let report = run(&folder, &["--runs", "100", "--", "./lost_signal"]);
    assert_eq!(report["kind"].as_str(), Some("deadlock"), "{report}");
    super::replays(&folder, &report, 20);
    let right = run(&folder, &["--runs", "1000", "--", "./lost_signal", "right"]);
    assert_eq!(right["verdict"].as_str(), Some("passed"), "{right}");
    let all = run(&folder, &["-s", "dpor", "--", "./lost_signal", "right"]);
    assert_eq!(all["claims"]["interrupts"].as_bool(), Some(true), "{all}");
}

/// Programs behave as the name says by which they are started, and as their environment says.
#[test]
fn a_program_is_started_by_the_name_that_was_typed() {
    let folder = compile("start");
    std::os::unix::fs::symlink("start", folder.join("other name")).expect("a link can be made");
    let here = |words: &[&str]| {
        let mut shell = Command::new("sh");
        shell.args(["-c", "PATH=$PWD:$PATH exec \"$@\"", "sh"]).args(words).current_dir(&folder);
        shell.output().expect("a shell starts")
    };
    for name in ["./start", "./other name", "other name"] {
        let plain = here(&[name, "word"]);
        assert!(plain.status.success(), "{}", String::from_utf8_lossy(&plain.stderr));
        std::fs::write(folder.join("plain"), plain.stdout).expect("the output can be kept");
        let options = ["run", "--runs", "2", "--expect-output", "plain", "--", name, "word"];
        let output = here(&[&[env!("CARGO_BIN_EXE_raddle")], &options[..]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// bash has its own functions for the environment.
#[test]
fn children_of_a_shell_are_not_under_control() {
    let folder = folder("as-is-shell");
    std::fs::write(folder.join("plain"), "x\nb\n1\n").expect("a file can be written");
    let script = "/bin/echo x; echo b; /usr/bin/env | grep -c -e '^RADDLE_NATIVE' -e '^PATH'";
    let words = ["run", "--runs", "2", "--expect-output", "plain", "--", "bash", "-c", script];
    let output = raddle(&folder, &words);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn an_exit_status_is_noted() {
    let folder = folder("as-is-status");
    let output = raddle(&folder, &["run", "--runs", "3", "--", "sh", "-c", "exit 7"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("3 of 3 runs ended with exit status 7") && text.contains("--fail-on-exit"),
        "{text}"
    );
    let output = raddle(&folder, &["run", "--runs", "3", "--fail-on-exit", "--", "sh", "-c", "exit 7"]);
    assert_eq!(output.status.code(), Some(1));
}

/// Only a forked process may become another program.
#[test]
fn a_program_that_becomes_another_is_refused() {
    let folder = compile("becomes_another");
    for (how, shown) in
        [("vector", "execv of /bin/echo"), ("list", "execl of /bin/echo"), ("thread", "execlp of echo")]
    {
        super::refused(
            &folder,
            &["run", "--", "./becomes_another", how],
            &[shown, "help: run that program instead"],
        );
    }
    let fault = run(&folder, &["--runs", "2", "--fail-on-exit", "--", "./becomes_another", "fault"]);
    assert_eq!(fault["verdict"].as_str(), Some("passed"), "{fault}");
    std::fs::write(folder.join("plain"), "one two\n").expect("a file can be written");
    let words = ["run", "--runs", "3", "--expect-output", "plain", "--", "./becomes_another", "fork"];
    let output = raddle(&folder, &words);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
}

/// A process that outlives its run would hold the lock that the next run needs.
#[test]
fn processes_end_with_their_run() {
    let folder = compile("leftovers");
    let words = ["--fail-on-exit", "--jobs", "1", "--runs", "10", "--", "./leftovers"];
    let report = run(&folder, &words);
    assert!(report["verdict"] == "passed" && report["runs"].as_u64() > Some(1), "{report}");
}
