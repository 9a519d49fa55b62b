//! `raddle replay --gdb`.

use super::{folder, raddle, refused, run};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Returns a folder with a recorded run of `on_stack.c` in `run.json`; `None`, with a message, if there is no
/// gdb.
fn recorded(test: &str) -> Option<PathBuf> {
    if Command::new("gdb").arg("--version").stdout(Stdio::null()).status().is_err() {
        // Not with a macro, whose output the test harness would capture.
        _ = std::io::stderr().write_all(b"skipped: gdb is not installed\n");
        return None;
    }
    let folder = folder(test);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/on_stack.c");
    let source = source.to_str().expect("a plain path");
    let output = raddle(&folder, &["cc", "-g", "-O1", "-pthread", source, "-o", "program"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    run(&folder, &["--record", "run.json", "--", "./program", "two words", "it's", ""]);
    Some(folder)
}

fn debug(folder: &Path, commands: &[&str]) -> (Output, String) {
    let commands = commands.iter().flat_map(|command| ["-ex", command]);
    let mut gdb = Command::new(env!("CARGO_BIN_EXE_raddle"));
    gdb.args(["replay", "run.json", "--gdb", "--", "-nx"])
        .args(commands)
        .current_dir(folder)
        .env("LC_ALL", "C");
    let output = gdb.stdin(Stdio::null()).output().expect("raddle starts");
    let text =
        format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output, text)
}

#[test]
fn breakpoints_are_hit_and_all_stacks_are_seen() {
    let Some(folder) = recorded("gdb") else { return };
    let (output, text) = debug(
        &folder,
        &["break add", "continue", "continue", "thread apply all bt", "print main_arguments[1]"],
    );
    for part in [
        "hit Temporary breakpoint 1, main (",
        ", add (counter=",
        // The locations of the threads that do not run.
        " in add (counter=",
        " in main (",
        "\"two words\"",
        // The verdict.
        "; it repeats exactly.\n",
        "assertion `counter == 2` failed",
    ] {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
    assert!(!text.contains("frame_dummy"), "{text}");
    assert_eq!(output.status.code(), Some(1), "{text}");
    // The schedule is the recorded one, whatever was inspected.
    let plain = raddle(&folder, &["replay", "run.json"]);
    let plain = String::from_utf8_lossy(&plain.stdout);
    assert!(text.contains(plain.trim_end()), "{text}");
}

#[test]
fn a_run_can_be_begun_again_or_broken_off() {
    let Some(folder) = recorded("gdb_again") else { return };
    let again = ["break add", "continue", "set confirm off", "run", "continue"];
    let (output, text) = debug(&folder, &again);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("; it repeats exactly.\n"), "{text}");
    assert_eq!(text.matches("hit Temporary breakpoint").count(), 2, "{text}");
    let (output, text) = debug(&folder, &["kill"]);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("error: run.json: the run did not come to its end under gdb: "), "{text}");
}

#[test]
fn only_recorded_pthreads_programs_are_debugged() {
    let folder = folder("gdb_wrong");
    let figure = Path::new(env!("CARGO_MANIFEST_DIR")).join("../raddle-lab/figures/philosophers.rdl");
    let figure = figure.to_str().expect("a plain path");
    raddle(&folder, &["lab", "run", figure, "--until-bug", "--record", "lab.json"]);
    refused(&folder, &["replay", "lab.json", "--gdb"], &["lab.json: it is no run of a pthreads program"]);
}
