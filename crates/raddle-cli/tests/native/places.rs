//! Reports with source names.

use super::{folder, raddle, replays, run};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Returns the number of the line that is `after` lines after the first one with `before`.
fn line(source: &str, before: &str, after: usize) -> usize {
    source.lines().position(|line| line.contains(before)).expect("the line is there") + 1 + after
}

/// Both waits, both acquisitions and both mutexes, wherever the program is loaded, in all reports of the run.
#[test]
fn a_deadlock_report_has_source_names() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/c/fail/abba_deadlock.c");
    let source = std::fs::read_to_string(&path).expect("the program is there");
    let (forth, back) = (line(&source, "*forth(", 1), line(&source, "*back(", 1));
    for (name, flags) in [("pie", ["-pie", "-fPIE"]), ("fixed", ["-no-pie", "-fno-pie"])] {
        let folder = folder(&format!("places_{name}"));
        let mut gcc = Command::new("gcc");
        gcc.args(["-g", "-O1", "-pthread"]).args(flags).arg("-o").arg(folder.join("abba")).arg(&path);
        assert!(gcc.status().expect("gcc starts").success(), "it is compiled");
        let report = run(&folder, &["--strategy", "pos", "--", "./abba"]);
        let message = report["message"].as_str().expect("a failure has a message");
        let printed = [
            format!("T1 waits for mutex m2, held by T2; forth at abba_deadlock.c:{}\n", forth + 1),
            format!("T2 waits for mutex m1, held by T1; back at abba_deadlock.c:{}\n", back + 1),
            format!("  T1 took m1; forth at abba_deadlock.c:{forth}"),
            format!("  T2 took m2; back at abba_deadlock.c:{back}"),
        ];
        let shown = [
            format!(
                "T1 waits at abba_deadlock.c:{} for mutex m2, which T2 took at abba_deadlock.c:{back}\n",
                forth + 1
            ),
            format!(
                "T2 waits at abba_deadlock.c:{} for mutex m1, which T1 took at abba_deadlock.c:{forth}\n",
                back + 1
            ),
            "--> T1\n".to_owned(),
        ];
        let steps = [
            format!("lock m1 at abba_deadlock.c:{forth} [m1]\n"),
            format!("lock m2 at abba_deadlock.c:{back} [m2]\n"),
        ];
        replays(&folder, &report, 2);
        let again = raddle(&folder, &["run", "--strategy", "pos", "--record", "run.json", "--", "./abba"]);
        let again = String::from_utf8_lossy(&again.stdout);
        assert!(again.contains("\nreplay: raddle replay run.json\n"), "{again}");
        let replayed = raddle(&folder, &["replay", "--full", "run.json"]);
        let replayed = String::from_utf8_lossy(&replayed.stdout);
        for part in &printed {
            assert!(message.contains(part), "{name}: `{part}` is missing in: {message}");
        }
        for part in &shown {
            assert!(again.contains(part), "{name}: `{part}` is missing in: {again}");
        }
        for part in shown.iter().chain(&steps) {
            assert!(replayed.contains(part), "{name}: `{part}` is missing in: {replayed}");
        }
        let explained = raddle(&folder, &["explain", "run.json", "--time", "10m"]);
        let explained = String::from_utf8_lossy(&explained.stdout);
        for part in [
            format!(
                "thread T1 locked `m1` at abba_deadlock.c:{forth} before T2 locked it at abba_deadlock.c:{}",
                back + 1
            ),
            "swap them and the run passes".to_owned(),
            "Estimated bug depth: 2.".to_owned(),
            "Maple's idiom 5".to_owned(),
        ] {
            assert!(explained.contains(&part), "{name}: `{part}` is missing in: {explained}");
        }
        let file = std::fs::read_to_string(folder.join("run.json")).expect("the run was recorded");
        let file: Value = serde_json::from_str(&file).expect("it is JSON");
        let place = Value::from(format!("forth at abba_deadlock.c:{forth}"));
        assert!(file["locations"].as_array().expect("a list").contains(&place), "{file}");
    }
}

/// The C++ library calls `malloc` without frame pointers, and its frame may hold the address of `main`.
#[test]
fn an_allocation_is_shown_where_the_program_makes_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/c/fail/observer.cc");
    let source = std::fs::read_to_string(&path).expect("the program is there");
    let made = line(&source, "make_unique", 0);
    let folder = folder("places_allocation");
    let output = raddle(&folder, &["run", path.to_str().expect("the path is UTF-8")]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    for part in [
        &format!("allocated by main:\n  main at observer.cc:{made}\n"),
        "lock s.mutex_ ",
        "write listener.seen ",
    ] {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
}
