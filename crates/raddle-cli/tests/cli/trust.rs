//! Failure files of somebody else: nothing that they name runs, and no page shows files that they name.

use crate::common::{CommandOutput, raddle, root, scratch};
use serde_json::{Value, json};
use std::path::Path;

/// Records a failing run of a C program, and returns the name of its file.
fn recorded(name: &str) -> String {
    let file = scratch(&format!("trust_{name}.json"));
    let found = raddle(&["run", "--record", &file, "tests/c/fail/abba_deadlock.c"]);
    assert_eq!(found.status, 1, "{}", found.err);
    file
}

/// Writes a copy of a failure file in which some fields are others.
fn forged(file: &str, name: &str, change: impl FnOnce(&mut Value)) -> String {
    let text = std::fs::read_to_string(file).expect("the failure is recorded");
    let mut json: Value = serde_json::from_str(&text).expect("it is JSON");
    change(&mut json);
    let path = scratch(&format!("trust_{name}_forged.json"));
    std::fs::write(&path, json.to_string()).expect("a copy can be written");
    path
}

fn all_commands(file: &str) -> [CommandOutput; 5] {
    let out = format!("{file}.out.json");
    [
        raddle(&["replay", file]),
        raddle(&["replay", "--gdb", file]),
        raddle(&["explain", file]),
        raddle(&["minimize", "-o", &out, file]),
        raddle(&["report", "--explain", file]),
    ]
}

#[test]
fn a_file_that_names_a_shell_is_refused_by_every_command() {
    let file = recorded("shell");
    let touched = scratch("trust_touched");
    _ = std::fs::remove_file(&touched);
    let shell = std::fs::canonicalize("/bin/sh").expect("there is a shell");
    let build = raddle_symbols::build(&shell).ok();
    let hostile = forged(&file, "shell", |json| {
        json["program"] = json!(shell);
        json["arguments"] = json!(["-c", format!(": > {touched}")]);
        // The right build of the wrong program is no recommendation.
        json["build"] = json!(build);
    });
    for ran in all_commands(&hostile) {
        ran.is_user_error(&["not recorded by you", " -c ': > ", "help: ", "--trust"]);
    }
    let report = raddle(&["report", &hostile]);
    assert_eq!(report.status, 0, "a report runs nothing: {}", report.err);
    assert!(!Path::new(&touched).exists(), "nothing has run");
    // The same file runs it if the user says so, so it is the refusal that has kept it from running.
    raddle(&["replay", "--trust", &hostile]);
    assert!(Path::new(&touched).exists(), "the program has run");
}

#[test]
fn whatever_changes_what_is_started_breaks_the_signature() {
    let file = recorded("change");
    assert_eq!(raddle(&["replay", &file]).status, 1, "the own file runs without a question");
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 5] = [
        ("unsigned", |json| drop(json.as_object_mut().expect("an object").remove("signature"))),
        ("arguments", |json| json["arguments"] = json!(["--delete-all"])),
        ("preload", |json| {
            json["surroundings"] = json!({"environment": [["LD_PRELOAD", "/tmp/evil.so"]]});
        }),
        ("directory", |json| json["surroundings"] = json!({"directory": "/tmp"})),
        ("erlang", |json| {
            json["front_end"] = json!("beam");
            json["program"] = json!("evil:run");
            json["arguments"] = json!(["--pa", "/tmp/evil"]);
        }),
    ];
    for (name, change) in changes {
        for ran in all_commands(&forged(&file, name, change)) {
            ran.is_user_error(&["not recorded by you", "--trust"]);
        }
    }
    // The schedule is not signed: it only orders the threads of the user's own program.
    let other = forged(&file, "schedule", |json| json["seed"] = json!(7));
    assert_eq!(raddle(&["replay", &other]).status, 1);
}

#[test]
fn a_signature_of_another_key_does_not_count() {
    let file = recorded("key");
    let replay = |key: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_raddle"));
        let command = command.args(["replay", &file]).env("RADDLE_KEY", key).current_dir(root());
        CommandOutput::new(command.output().expect("raddle starts"))
    };
    let key = scratch("trust_other_key");
    std::fs::write(&key, [7; 32]).expect("a key can be written");
    replay(&key).is_user_error(&["not recorded by you"]);
    replay("/no/such/key").is_user_error(&["not recorded by you"]);
    let small = scratch("trust_key.min.json");
    assert_eq!(raddle(&["minimize", "-o", &small, &file]).status, 1);
    assert_eq!(raddle(&["replay", &small]).status, 1, "what was trusted once is signed again");
}

#[test]
fn escape_sequences_of_a_file_do_not_reach_the_terminal() {
    let file = recorded("escape");
    let hostile = forged(&file, "escape", |json| {
        json["threads"][0] = json!("\u{1b}]0;gone\u{7}\u{1b}[2J");
        json["arguments"] = json!(["\u{1b}[2J\u{202e}"]);
    });
    for ran in [raddle(&["report", &hostile]), raddle(&["replay", &hostile])] {
        let all = ran.out + &ran.err;
        assert!(!all.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{all:?}");
        assert!(all.contains("[2J"), "{all:?}");
    }
}

#[test]
fn a_page_has_no_source_from_a_path_that_a_foreign_file_names() {
    let file = recorded("page");
    // Outside of the current folder, whose files a page may have.
    let folder = tempfile::tempdir().expect("a folder can be made");
    let folder = folder.path().to_str().expect("it has a plain name");
    std::fs::write(format!("{folder}/secret.c"), "int top_secret;\n").expect("a file can be written");
    let has_secret = |file: &str, more: &[&str]| {
        let out = format!("{file}.html");
        let ran = raddle(&[&["report", file, "-o", &out], more].concat());
        assert_eq!(ran.status, 0, "{}", ran.err);
        std::fs::read_to_string(&out).expect("the page is written").contains("top_secret")
    };
    let locate = |json: &mut Value, place: &str| {
        for location in json["locations"].as_array_mut().expect("places") {
            *location = json!(place);
        }
    };
    let whole = format!("main at {folder}/secret.c:1");
    // An absolute path is taken neither from a foreign file nor from one with a signature, which does not cover it.
    assert!(!has_secret(&forged(&file, "whole", |json| locate(json, &whole)), &[]));
    let deep = format!("main at {}secret.c:1", format!("{folder}/").replacen('/', &"../".repeat(20), 1));
    assert!(!has_secret(&forged(&file, "deep", |json| locate(json, &deep)), &[]));
    let elsewhere = forged(&file, "elsewhere", |json| {
        json["front_end"] = json!("rust");
        json["surroundings"] = json!({"directory": folder});
        locate(json, "secret.c:1");
    });
    assert!(!has_secret(&elsewhere, &[]));
    assert!(has_secret(&elsewhere, &["--source", folder]), "the user may name the folder");
}
