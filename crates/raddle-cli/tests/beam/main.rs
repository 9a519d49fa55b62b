//! `raddle beam run`, and `raddle replay` of what it found. Needs Erlang/OTP, and the application built by
//! `make -C erlang/raddle`. Without them the tests say so and pass, unless `RADDLE_BEAM` is set.

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn raddle(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    command.args(words).current_dir(folder).env("RADDLE_CACHE", folder.join("cache"));
    command.output().expect("raddle starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

/// A folder with the compiled program, or nothing if that cannot be made and nobody insists.
fn folder(name: &str) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("beam").join(name);
    std::fs::create_dir_all(&folder).expect("a folder for the test can be made");
    let source = here.join("tests/beam/race.erl");
    let compiled = Command::new("erlc").arg("+debug_info").arg("-o").arg(&folder).arg(source).status();
    let built = here.join("../../erlang/raddle/priv/libraddle_beam.so").is_file();
    if compiled.is_ok_and(|status| status.success()) && built {
        return Some(folder);
    }
    #[expect(clippy::disallowed_methods, reason = "whoever runs the test says whether it may be passed over")]
    let wanted = std::env::var("RADDLE_BEAM").is_ok();
    assert!(
        !wanted,
        "no Erlang, or the application is not built; tools/install.sh and make -C erlang/raddle"
    );
    let words = "NOT TESTED: Erlang programs; tools/install.sh installs Erlang, make -C erlang/raddle builds the rest";
    writeln!(std::io::stderr(), "\n{words}\n").expect("somebody reads the messages");
    None
}

#[test]
fn a_lost_update_is_found_and_repeats() {
    let Some(folder) = folder("lost") else { return };
    let found = raddle(&folder, &["beam", "run", "race:lost", "--pa", ".", "--record", "bug.json"]);
    let told = text(&found.stdout);
    assert_eq!(found.status.code(), Some(1), "{told}{}", text(&found.stderr));
    assert!(told.contains("Failed: 1 assertion") && told.contains("{badmatch,[{count,1}]}"), "{told}");
    assert!(told.contains("<0.102.0>") && told.contains("count in table"), "{told}");
    assert!(told.ends_with("Replay it: raddle replay bug.json\n"), "{told}");
    let again = raddle(&folder, &["replay", "bug.json"]);
    assert_eq!(again.status.code(), Some(1), "{}", text(&again.stderr));
    assert!(text(&again.stdout).contains("; it repeats exactly."), "{}", text(&again.stdout));
    let json = json(&raddle(
        &folder,
        &["beam", "run", "race:lost", "--pa", ".", "--keep-going", "--runs", "200", "--json"],
    ));
    let (runs, failures) = (json["runs"].as_u64(), json["failures"].as_u64());
    assert_eq!((runs, json["verdict"].as_str()), (Some(200), Some("failed")), "{json}");
    assert_eq!(failures, json["kinds"]["assertion"].as_u64(), "{json}");
    assert!(failures.is_some_and(|failures| failures > 20), "{json}");
}

#[test]
fn a_changed_module_does_not_repeat() {
    let Some(folder) = folder("changed") else { return };
    let found = raddle(&folder, &["beam", "run", "race:lost", "--pa", ".", "--record", "bug.json"]);
    assert_eq!(found.status.code(), Some(1), "{}", text(&found.stderr));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/beam/race.erl");
    let changed = std::fs::read_to_string(source)
        .expect("the source is there")
        .replace("[1, 2]],\n    [rec", "[1, 2, 3]],\n    [rec");
    std::fs::write(folder.join("race.erl"), changed).expect("the folder can be written to");
    let compiled = Command::new("erlc").args(["+debug_info", "race.erl"]).current_dir(&folder).status();
    assert!(compiled.is_ok_and(|status| status.success()));
    let again = raddle(&folder, &["replay", "bug.json"]);
    assert_eq!(again.status.code(), Some(2), "{}", text(&again.stdout));
    assert!(text(&again.stderr).contains("the run does not repeat: at step "), "{}", text(&again.stderr));
}

#[test]
fn what_is_not_a_bug_has_another_status() {
    let Some(folder) = folder("others") else { return };
    for (words, status, part) in [
        (&["race:fine", "--runs", "50"][..], 0, "No run failed."),
        (&["race:waits"], 1, "waits for a message that it is ready to take"),
        (&["race:fine", "--strategy", "dpor"], 0, "no schedule is left"),
        (&["race:prints"], 2, "file:write_file/2 at race.erl:"),
        (&["race:nothing"], 2, "module race exports no function nothing/0"),
        (&["nowhere:x"], 2, "there is no module nowhere"),
        (&["race:fine", "--strategy", "psos"], 2, "no strategy is called `psos`"),
    ] {
        let mut all = vec!["beam", "run"];
        all.extend(words);
        all.extend(["--pa", "."]);
        let output = raddle(&folder, &all);
        let told = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.code() == Some(status) && told.contains(part), "{words:?}: {told}");
    }
}
