//! What programs ask of the outside: files, signals, processes, random numbers.

use super::{compile, folder, raddle, replays, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a program of `tests/c` by `raddle cc`.
fn controlled(name: &str) -> PathBuf {
    let folder = folder(&format!("outside-{}", name.replace('/', "-")));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/c").join(format!("{name}.c"));
    let mut compiler = Command::new(env!("CARGO_BIN_EXE_raddle"));
    compiler.args(["cc", "-g", "-O1", "-pthread", "-o"]).arg(folder.join("program")).arg(source);
    assert!(compiler.status().expect("the compiler starts").success(), "{name}.c is compiled");
    folder
}

/// What both ends of is in the program is part of the schedule: the runs repeat, differ from each other, and none of them
/// waits for the outside.
#[test]
fn threads_talk_through_files() {
    for (name, orders) in [("pass/pipes", 50), ("pass/event_loop", 5), ("pass/signals", 2)] {
        let folder = controlled(name);
        for strategy in ["random-walk", "surw"] {
            let words = ["--strategy", strategy, "--runs", "100", "--", "./program"];
            let report = run(&folder, &words);
            assert_eq!((&report["runs"], &report["verdict"]), (&100.into(), &"passed".into()), "{report}");
            assert_eq!((&report["outside_waits"], &report["processes"]), (&0.into(), &0.into()), "{report}");
            assert!(report["partial_orders"].as_u64() >= Some(orders), "{name}: {report}");
            assert_eq!(run(&folder, &words), report, "{name} under {strategy}");
        }
    }
}

/// Which threads wait in a file is known to a search, so that it ends.
#[test]
fn a_search_through_files_ends() {
    let folder = controlled("pass/event_loop");
    let report = run(&folder, &["--strategy", "dpor", "--", "./program"]);
    assert_eq!((&report["exhausted"], &report["cut_off"]), (&true.into(), &0.into()), "{report}");
    assert!(report["runs"].as_u64() > Some(5), "{report}");
}

#[test]
fn a_read_that_nobody_answers_is_a_deadlock() {
    let folder = compile("silence", "hangs", &[]);
    let report = run(&folder, &["--", "./hangs", "read"]);
    assert_eq!(report["kind"], "deadlock", "{report}");
    let message = report["message"].as_str().expect("a failure has a message");
    assert!(message.contains("T1 waits for pipe 3 to be ready"), "{message}");
    replays(&folder, &report, 3);
}

#[test]
fn processes_are_counted() {
    let folder = controlled("pass/processes");
    let report = run(&folder, &["--runs", "20", "--", "./program"]);
    assert_eq!((&report["verdict"], &report["processes"]), (&"passed".into(), &100.into()), "{report}");
    assert!(report["outside_waits"].as_u64() > Some(20), "{report}");
    let text = raddle(&folder, &["run", "--runs", "2", "--", "./program"]).stdout;
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains("Note: processes started by the program, not under control: 10."), "{text}");
    assert!(text.contains("for something from outside"), "{text}");
}
