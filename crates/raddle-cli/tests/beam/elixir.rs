//! Programs in Elixir. Without Elixir the tests print a message and pass, unless `RADDLE_ELIXIR` is set.

use crate::{json, raddle, text, trace};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the folder where mix would put the beams of a project called `name`, with the program compiled, or
/// `None` if that is impossible and not required.
fn project(name: &str) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/beam/race.ex");
    let project = Path::new(env!("CARGO_TARGET_TMPDIR")).join("beam").join(name);
    let beams = project.join("_build/test/lib/race/ebin");
    for folder in [&project.join("lib/race"), &beams] {
        std::fs::create_dir_all(folder).expect("a folder for the test can be made");
    }
    std::fs::copy(source, project.join("lib/race/race.ex")).expect("the folder can be written to");
    let mut compile = Command::new("elixirc");
    compile
        .arg("--ignore-module-conflict")
        .arg("-o")
        .arg(&beams)
        .arg("lib/race/race.ex")
        .current_dir(&project);
    let compiled = compile.output();
    if compiled.is_ok_and(|output| output.status.success()) {
        return Some(beams);
    }
    #[expect(clippy::disallowed_methods, reason = "the environment decides whether the test may be skipped")]
    let wanted = std::env::var("RADDLE_ELIXIR").is_ok();
    assert!(!wanted, "no Elixir; on Debian the package elixir has it");
    let words = "NOT TESTED: Elixir programs; on Debian the package elixir has what is needed";
    writeln!(std::io::stderr(), "\n{words}\n").expect("standard error is writable");
    None
}

#[test]
fn races_of_elixir_programs_are_found_and_repeat() {
    let Some(beams) = project("elixir-races") else { return };
    for (test, part, place) in [
        ("Race.lost", "{badmatch,1} in Race.lost/0 (race.ex:", " at race.ex:"),
        ("Race.registered", "{already_started,", " (race.ex:"),
        ("Elixir.Race:late", "{timeout,{'Elixir.Task',await,", " (race.ex:"),
    ] {
        let found =
            raddle(&beams, &["beam", "run", test, "--pa", ".", "--runs", "500", "--record", "bug.json"]);
        let printed = text(&found.stdout);
        assert_eq!(found.status.code(), Some(1), "{test}: {printed}{}", text(&found.stderr));
        assert!(printed.contains(part) && printed.contains(place), "{test}: {printed}");
        let again = raddle(&beams, &["replay", "bug.json"]);
        assert!(text(&again.stdout).contains("; it repeats exactly."), "{test}: {}", text(&again.stderr));
    }
}

#[test]
fn elixir_programs_without_races_pass() {
    let Some(beams) = project("elixir-passes") else { return };
    for test in ["Race.kept", "Race.registered_once", "Race.in_time", "Race.others"] {
        let printed = json(&raddle(&beams, &["beam", "run", test, "--pa", ".", "--runs", "200", "--json"]));
        assert_eq!(
            (printed["verdict"].as_str(), printed["runs"].as_u64()),
            (Some("passed"), Some(200)),
            "{test}: {printed}"
        );
        assert!(printed["partial_orders"].as_u64() > Some(50), "{test}: {printed}");
    }
}

#[test]
fn what_an_elixir_program_waits_for_is_as_in_its_source() {
    let Some(beams) = project("elixir-waits") else { return };
    let found = raddle(&beams, &["beam", "run", "Race.waits", "--pa", ".", "--record", "bug.json"]);
    let printed = text(&found.stdout);
    assert!(
        printed.contains("test waits at race.ex:") && printed.contains(" for {reply, server, _}\n"),
        "{printed}{}",
        text(&found.stderr)
    );
    assert_eq!(trace(&beams, "bug.json")["program"], "Elixir.Race:waits");
}

#[test]
fn a_page_has_sources_of_a_mix_project() {
    let Some(beams) = project("elixir-page") else { return };
    let words = ["beam", "run", "Race.waits", "--pa", ".", "--record", "bug.json", "--no-minimize"];
    assert_eq!(raddle(&beams, &words).status.code(), Some(1));
    let made = raddle(&beams, &["report", "bug.json", "-o", "bug.html"]);
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    let page = std::fs::read_to_string(beams.join("bug.html")).expect("the page was written");
    assert!(page.contains("{:ok, agent} = Agent.start_link"), "the source is not in the page");
}

#[test]
fn errors_use_the_syntax_of_elixir() {
    let Some(beams) = project("elixir-mistakes") else { return };
    for (words, part) in [
        (&["Race.nothing"][..], "module Race exports no function nothing/0"),
        (&["Nowhere.x"], "module Nowhere not found"),
        (&["Race.opens"], "erlang:open_port/2 at race.ex:"),
        (&["Race"], "a function of a module"),
        (&["Race.kept", "--allow", "Port.open"], "allow Port.open is neither a module nor a function"),
    ] {
        let output = raddle(&beams, &[&["beam", "run"], words, &["--pa", "."]].concat());
        let printed = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.code() == Some(2) && printed.contains(part), "{words:?}: {printed}");
    }
}
