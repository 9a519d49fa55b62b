//! `raddle beam run`, and commands on the failures that it found. Needs Erlang/OTP. Without it the tests
//! print a message and pass, unless `RADDLE_BEAM` is set.

mod application;
mod elixir;
mod killed;

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn raddle(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("beam/cache");
    command.args(words).current_dir(folder).env("RADDLE_CACHE", cache).env_remove("RADDLE_ERLANG");
    command.output().expect("raddle starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

/// Returns a folder with the compiled program, or `None` if that is impossible and not required.
fn folder(name: &str) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("beam").join(name);
    std::fs::create_dir_all(&folder).expect("a folder for the test can be made");
    let sources = ["race", "store"].map(|name| here.join(format!("tests/beam/{name}.erl")));
    let compiled = Command::new("erlc").arg("+debug_info").arg("-o").arg(&folder).args(sources).status();
    if compiled.is_ok_and(|status| status.success()) {
        return Some(folder);
    }
    #[expect(clippy::disallowed_methods, reason = "the environment decides whether the test may be skipped")]
    let wanted = std::env::var("RADDLE_BEAM").is_ok();
    assert!(!wanted, "no Erlang; tools/install.sh installs it");
    let words = "NOT TESTED: Erlang programs; tools/install.sh installs Erlang";
    writeln!(std::io::stderr(), "\n{words}\n").expect("standard error is writable");
    None
}

#[test]
fn a_lost_update_is_found_and_repeats() {
    let Some(folder) = folder("lost") else { return };
    let found = raddle(&folder, &["beam", "run", "race:lost", "--pa", ".", "--record", "bug.json"]);
    let printed = text(&found.stdout);
    assert_eq!(found.status.code(), Some(1), "{printed}{}", text(&found.stderr));
    assert!(printed.contains("Failed: ") && printed.contains("{badmatch,[{count,1}]}"), "{printed}");
    assert!(printed.contains("<0.102.0>") && printed.contains("count in table"), "{printed}");
    assert!(printed.contains("\nreplay: raddle replay bug.json\n"), "{printed}");
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
fn what_a_failing_run_printed_is_shown() {
    let Some(folder) = folder("prints") else { return };
    let printed = "\nIt printed:\n  2 of <0.101.0>\n  is first\n";
    for words in [&["--record", "bug.json"][..], &["--no-minimize"]] {
        let words = [&["beam", "run", "race:prints", "--pa", "."], words].concat();
        let found = raddle(&folder, &words);
        assert_eq!(found.status.code(), Some(1), "{}", text(&found.stderr));
        assert!(text(&found.stdout).contains(printed), "{}", text(&found.stdout));
    }
    let again = raddle(&folder, &["replay", "bug.json"]);
    assert!(text(&again.stdout).contains(printed), "{}{}", text(&again.stdout), text(&again.stderr));
    let silent = raddle(&folder, &["beam", "run", "race:lost", "--pa", "."]);
    assert!(!text(&silent.stdout).contains("It printed:"), "{}", text(&silent.stdout));
}

#[test]
fn library_operations_are_reported_with_their_callers() {
    let Some(folder) = folder("callers") else { return };
    let sent = "send mailbox of server <0.102.0>     race.erl:53";
    let words = ["beam", "run", "race:asks", "--pa", ".", "--record", "bug.json"];
    let (found, again) = (raddle(&folder, &words), raddle(&folder, &["replay", "bug.json"]));
    for printed in [&found, &again] {
        assert_eq!(printed.status.code(), Some(1), "{}", text(&printed.stderr));
        assert_eq!(text(&printed.stdout).matches(sent).count(), 2, "{}", text(&printed.stdout));
        assert!(!text(&printed.stdout).contains("(gen.erl"), "{}", text(&printed.stdout));
    }
    let all = raddle(&folder, &["replay", "bug.json", "--frames", "all"]);
    assert_eq!(text(&all.stdout).matches("race.erl:53 (gen.erl:").count(), 2, "{}", text(&all.stdout));
}

#[test]
fn errors_have_a_remedy() {
    let Some(folder) = folder("mistakes") else { return };
    let printed = |function: &str| {
        let output = raddle(&folder, &["beam", "run", function, "--pa", ".", "--runs", "1"]);
        (output.status.code(), text(&output.stderr))
    };
    assert_eq!(printed("race:fine/0"), (Some(0), String::new()));
    let (status, words) = printed("race:takes");
    assert_eq!(status, Some(2), "{words}");
    assert!(
        words.contains("no function takes/0; it exports takes/1, but a test must have no arguments"),
        "{words}"
    );
    assert!(printed("race:takes/1").1.contains("the function takes no arguments"));
    assert!(printed("race:nothing").1.contains("; without arguments it exports asks/0, busy/0, calls/0"));
    assert!(printed("nothing:nothing").1.contains("module nothing not found\nhelp: name the directory"));
}

#[test]
fn a_run_of_an_unknown_strategy_is_a_user_error() {
    let Some(folder) = folder("unknown") else { return };
    lost(&folder, "bug.json");
    let path = folder.join("bug.json");
    let mut file: Value =
        serde_json::from_str(&std::fs::read_to_string(&path).expect("it was written")).expect("JSON");
    file["strategy"] = "nothing".into();
    std::fs::write(&path, file.to_string()).expect("the folder can be written to");
    for command in ["replay", "explain", "minimize"] {
        let printed = raddle(&folder, &[command, "bug.json"]);
        let words = text(&printed.stderr);
        assert_eq!(printed.status.code(), Some(2), "{words}");
        assert!(words.contains("nothing") && words.contains("\nhelp: use the version of raddle"), "{words}");
        assert!(!words.contains("internal error"), "{words}");
    }
}

#[test]
fn modules_that_have_moved_are_named_by_pa() {
    let Some(folder) = folder("moved") else { return };
    lost(&folder, "bug.json");
    let ebin = folder.join("ebin");
    std::fs::create_dir_all(&ebin).expect("the folder can be written to");
    std::fs::rename(folder.join("race.beam"), ebin.join("race.beam")).expect("the module was compiled");
    let gone = raddle(&folder, &["replay", "bug.json"]);
    assert_eq!(gone.status.code(), Some(2), "{}", text(&gone.stdout));
    assert!(
        text(&gone.stderr).contains("module race not found\nhelp: name the directory"),
        "{}",
        text(&gone.stderr)
    );
    for command in ["replay", "explain", "minimize"] {
        let again = raddle(&folder, &[command, "bug.json", "--pa", "ebin"]);
        assert_eq!(again.status.code(), Some(1), "{command}: {}", text(&again.stderr));
    }
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

/// Records a failing run of `race:lost`, without minimization.
fn lost(folder: &Path, name: &str) {
    let words = ["beam", "run", "race:lost", "--pa", ".", "--strategy", "random-walk", "--seed", "3"];
    let found = raddle(folder, &[&words[..], &["--no-minimize", "--record", name]].concat());
    assert_eq!(found.status.code(), Some(1), "{}", text(&found.stderr));
}

fn trace(folder: &Path, name: &str) -> Value {
    let text = std::fs::read(folder.join(name)).expect("the failing run was written");
    serde_json::from_slice(&text).expect("it is JSON")
}

#[test]
fn another_end_is_no_repetition() {
    let Some(folder) = folder("end") else { return };
    lost(&folder, "bug.json");
    let recorded = std::fs::read_to_string(folder.join("bug.json")).expect("the failing run was written");
    let other = recorded.replace("{badmatch,[{count,1}]}", "{badmatch,[{count,7}]}");
    assert_ne!(recorded, other);
    std::fs::write(folder.join("other.json"), other).expect("the folder can be written to");
    let again = raddle(&folder, &["replay", "other.json"]);
    assert_eq!(again.status.code(), Some(2), "{}", text(&again.stdout));
    let printed = text(&again.stderr);
    assert!(
        printed.contains("the steps repeat but the end does not") && printed.contains("{count,7}"),
        "{printed}"
    );
}

#[test]
fn a_failing_run_is_minimized_and_explained() {
    let Some(folder) = folder("small") else { return };
    lost(&folder, "bug.json");
    assert!(trace(&folder, "bug.json")["minimized"].is_null());
    let made =
        json(&raddle(&folder, &["minimize", "bug.json", "-o", "small.json", "--json", "--time", "10m"]));
    assert!(made["switches"].as_u64() <= made["switches_before"].as_u64(), "{made}");
    // Two processes must read before one of them writes.
    assert_eq!(made["switches"].as_u64(), Some(4), "{made}");
    let again = raddle(&folder, &["replay", "small.json"]);
    assert!(text(&again.stdout).contains("; it repeats exactly."), "{}", text(&again.stderr));

    let explained = raddle(&folder, &["explain", "small.json", "--time", "10m"]);
    let printed = text(&explained.stdout);
    assert_eq!(explained.status.code(), Some(1), "{}", text(&explained.stderr));
    assert!(printed.contains("swap them and the run passes."), "{printed}");
    assert!(
        printed.contains("read `count in table") && printed.contains("at race.erl:10 before <0.10"),
        "{printed}"
    );

    // A failing run is minimized at once by default.
    let words = ["beam", "run", "race:lost", "--pa", ".", "--strategy", "random-walk", "--seed", "3"];
    raddle(&folder, &[&words[..], &["--record", "auto.json"]].concat());
    assert!(trace(&folder, "auto.json")["minimized"].is_object());
}

#[test]
fn a_page_has_the_source_of_the_module() {
    let Some(folder) = folder("page") else { return };
    lost(&folder, "bug.json");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/beam/race.erl");
    std::fs::copy(source, folder.join("race.erl")).expect("the folder can be written to");
    let made = raddle(&folder, &["report", "bug.json", "-o", "bug.html"]);
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    let page = std::fs::read_to_string(folder.join("bug.html")).expect("the page was written");
    assert!(page.contains("ets:lookup(Table, count)"), "the source is not in the page");
}

#[test]
fn runs_do_not_depend_on_the_number_of_machines() {
    let Some(folder) = folder("jobs") else { return };
    let run = |jobs: &str, strategy: &str| {
        let words = ["beam", "run", "race:lost", "--pa", ".", "--keep-going", "--runs", "300", "--json"];
        let more = ["--no-minimize", "--record", "bug.json", "--jobs", jobs, "--strategy", strategy];
        let printed = json(&raddle(&folder, &[&words[..], &more].concat()));
        ["runs", "failures", "first_failure", "partial_orders", "steps", "kinds"]
            .map(|key| printed[key].clone())
    };
    for strategy in ["portfolio", "pos+pct:depth=2"] {
        assert_eq!(run("1", strategy), run("3", strategy), "{strategy}");
    }
    // A search enumerates all orders, whichever process executes the runs.
    let all =
        json(&raddle(&folder, &["beam", "run", "race:fine", "--pa", ".", "--strategy", "dpor", "--json"]));
    assert_eq!(all["exhausted"].as_bool(), Some(true), "{all}");
}

#[test]
fn a_deadlock_report_shows_the_awaited_messages() {
    let Some(folder) = folder("waits") else { return };
    let found = raddle(&folder, &["beam", "run", "race:waits", "--pa", ".", "--record", "bug.json"]);
    let printed = text(&found.stdout);
    assert!(
        printed.contains(
            "deadlock: one process waits and nothing can wake it\n\n  test waits at race.erl:17 for never\n"
        ),
        "{printed}"
    );
}

#[test]
fn what_is_not_a_bug_has_another_status() {
    let Some(folder) = folder("others") else { return };
    for (words, status, part) in [
        (&["race:fine", "--runs", "50"][..], 0, "No run failed"),
        (&["race:waits"], 1, " for never"),
        (&["race:fine", "--strategy", "dpor"], 0, "no schedule is left"),
        (&["race:calls"], 2, "erlang:open_port/2 at race.erl:"),
        (&["race:nothing"], 2, "module race exports no function nothing/0"),
        (&["nowhere:x"], 2, "module nowhere not found"),
        (&["race:fine", "--strategy", "psos"], 2, "unknown strategy `psos`"),
    ] {
        let mut all = vec!["beam", "run"];
        all.extend(words);
        all.extend(["--pa", "."]);
        let output = raddle(&folder, &all);
        let printed = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.code() == Some(status) && printed.contains(part), "{words:?}: {printed}");
    }
}

#[test]
fn what_a_search_found_repeats() {
    let Some(folder) = folder("search") else { return };
    // Under a search a program has additional operations.
    let words = ["beam", "run", "race:lost", "--pa", ".", "--strategy", "dpor", "--record", "bug.json"];
    let found = raddle(&folder, &words);
    assert!(
        text(&found.stdout).contains(" that do not matter are hidden"),
        "{}{}",
        text(&found.stdout),
        text(&found.stderr)
    );
    let again = raddle(&folder, &["replay", "bug.json"]);
    assert!(text(&again.stdout).contains("; it repeats exactly."), "{}", text(&again.stderr));
}

#[test]
fn a_failure_near_the_end_of_the_test_replays() {
    let Some(folder) = folder("ends") else { return };
    // Under these strategies the end of the test is an operation, and the failure may occur while the test is
    // about to end.
    for strategy in ["upo", "dpor", "dfs"] {
        let words = ["beam", "run", "race:ends", "--pa", ".", "--fail-on", "error", "--record", "bug.json"];
        for more in [&["--no-minimize"][..], &[]] {
            let found = raddle(&folder, &[&words[..], &["--strategy", strategy], more].concat());
            assert_eq!(found.status.code(), Some(1), "{strategy}: {}", text(&found.stderr));
            let again = raddle(&folder, &["replay", "bug.json"]);
            assert!(
                text(&again.stdout).contains("; it repeats exactly."),
                "{strategy}: {}",
                text(&again.stderr)
            );
        }
        // It was repeated for minimization, so the end of the test was at the right position.
        assert!(trace(&folder, "bug.json")["minimized"].is_object(), "{strategy}");
    }
}

#[test]
fn the_portfolio_is_that_of_erlang_tests() {
    let Some(folder) = folder("portfolio") else { return };
    let words = ["beam", "run", "race:lost", "--pa", ".", "--no-minimize", "--record", "bug.json"];
    assert_eq!(raddle(&folder, &words).status.code(), Some(1));
    // It has the first turn, and the end of the test is not an operation that could wait.
    assert_eq!(trace(&folder, "bug.json")["strategy"], "oos");
}

#[test]
fn a_vm_that_makes_no_runs_is_not_waited_for() {
    let Some(folder) = folder("broken") else { return };
    lost(&folder, "bug.json");
    let mut file = trace(&folder, "bug.json");
    let words = file["arguments"].as_array_mut().expect("the program has arguments");
    words.extend(["--fail-on", "nonsense"].map(Value::from));
    std::fs::write(folder.join("other.json"), file.to_string()).expect("the folder can be written to");
    for command in ["minimize", "replay", "explain"] {
        let output = raddle(&folder, &[command, "--trust", "other.json"]);
        assert_eq!(output.status.code(), Some(2), "{command}: {}", text(&output.stdout));
        let printed = text(&output.stderr);
        assert!(
            printed.contains("the process that executes the runs has ended: ")
                && printed.contains("nonsense"),
            "{command}: {printed}"
        );
    }
}

#[test]
fn a_failure_is_reported_although_a_later_run_is_inconclusive() {
    let Some(folder) = folder("mixed") else { return };
    let run = |seed: u64| {
        let seed = seed.to_string();
        let words = [
            "beam",
            "run",
            "race:mixed",
            "--pa",
            ".",
            "--keep-going",
            "--record",
            "bug.json",
            "--jobs",
            "1",
            "--seed",
        ];
        raddle(&folder, &[&words[..], &[&seed]].concat())
    };
    // The seed decides which of the two comes first.
    let found = (1..=20).map(run).find(|output| output.status.code() == Some(1));
    let printed = text(&found.expect("one of the seeds begins with the failure").stdout);
    assert!(printed.contains("Failed: "), "{printed}");
    assert!(
        printed.contains("Note: not all runs were made: ")
            && printed.contains("erlang:open_port/2 at race.erl:"),
        "{printed}"
    );
}

#[test]
fn a_moved_location_is_reported_with_its_step() {
    let Some(folder) = folder("moved") else { return };
    let found = raddle(&folder, &["beam", "run", "race:lost", "--pa", ".", "--record", "bug.json"]);
    assert_eq!(found.status.code(), Some(1), "{}", text(&found.stderr));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/beam/race.erl");
    let moved = "\n".to_owned() + &std::fs::read_to_string(source).expect("the source is there");
    std::fs::write(folder.join("race.erl"), moved).expect("the folder can be written to");
    let compiled = Command::new("erlc").args(["+debug_info", "race.erl"]).current_dir(&folder).status();
    assert!(compiled.is_ok_and(|status| status.success()));
    let again = raddle(&folder, &["replay", "bug.json"]);
    assert_eq!(again.status.code(), Some(2), "{}", text(&again.stdout));
    let printed = text(&again.stderr);
    assert!(printed.contains("the run does not repeat: at step 1 of "), "{printed}");
    assert!(
        printed
            .contains("it is at race.erl:8, in the recorded run it was at race.erl:7; a module has changed"),
        "{printed}"
    );
}

#[test]
fn reported_errors_fail_if_they_are_to() {
    let Some(folder) = folder("reported") else { return };
    let words = ["beam", "run", "race:reports", "--pa", ".", "--runs", "20", "--record", "bug.json"];
    assert_eq!(raddle(&folder, &words).status.code(), Some(0));
    let found = raddle(&folder, &[&words[..], &["--fail-on", "error"]].concat());
    let printed = text(&found.stdout);
    assert!(
        found.status.code() == Some(1) && printed.contains("an error was reported: <0.102.0> is bad"),
        "{printed}"
    );
    // The file records it.
    let again = raddle(&folder, &["replay", "bug.json"]);
    assert!(text(&again.stdout).contains("; it repeats exactly."), "{}", text(&again.stderr));
}

#[test]
fn what_is_allowed_runs_as_it_is() {
    let Some(folder) = folder("allowed") else { return };
    let run = |allow: &[&str]| {
        let words = ["beam", "run", "race:traces", "--pa", ".", "--runs", "20", "--record", "bug.json"];
        let output = raddle(&folder, &[&words[..], allow].concat());
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let (status, printed) = run(&["--allow", "seq_trace:get_token/1"]);
    assert!(status == Some(2) && printed.contains("seq_trace:get_token/0 at race.erl:"), "{printed}");
    assert!(printed.contains("--allow seq_trace:get_token/0"), "{printed}");
    let (status, printed) = run(&["--allow", "gen_tcp"]);
    assert!(status == Some(2) && printed.contains("allow gen_tcp: it cannot run unmodified"), "{printed}");
    let (status, printed) = run(&["--allow", "seq_trace/0"]);
    assert!(status == Some(2) && printed.contains("a module or a function of one"), "{printed}");
    for name in ["seq_trace", "seq_trace:get_token/0"] {
        let (status, printed) = run(&["--allow", name]);
        assert!(status == Some(1) && printed.contains("error: through"), "{printed}");
        // The file records the allowed functions.
        let again = raddle(&folder, &["replay", "bug.json"]);
        assert!(text(&again.stdout).contains("; it repeats exactly."), "{}", text(&again.stderr));
    }
}

#[test]
fn a_run_may_take_too_much_virtual_time() {
    let Some(folder) = folder("time") else { return };
    let words = ["beam", "run", "race:ticks", "--pa", ".", "--virtual-time", "90s", "--record", "bug.json"];
    let found = raddle(&folder, &words);
    let printed = text(&found.stdout);
    assert_eq!(found.status.code(), Some(1), "{printed}{}", text(&found.stderr));
    assert!(printed.contains("time limit: the run did not end within 90s of virtual time"), "{printed}");
    assert_eq!(trace(&folder, "bug.json")["verdict"]["failure"]["kind"], "time-limit");
    let again = raddle(&folder, &["replay", "bug.json"]);
    assert!(text(&again.stdout).contains("; it repeats exactly."), "{}", text(&again.stderr));
}

const NODES: [&str; 4] = ["--node", "a@x", "--node", "b@x"];

#[test]
fn faults_of_nodes_are_found_replayed_and_minimized() {
    let Some(folder) = folder("faults") else { return };
    for (test, faults, part) in [
        ("store:asks", "crash=1", " for {Reference, 1}"),
        ("store:asks", "partition=1", " for {Reference, 1}"),
        ("store:remembers", "crash=1,restart=1", "{badmatch,false}"),
    ] {
        let words = [&["beam", "run", test, "--pa", "."], &NODES[..]].concat();
        let right = raddle(&folder, &[&words[..], &["--runs", "300"]].concat());
        assert_eq!(right.status.code(), Some(0), "{test}: {}", text(&right.stdout));

        let more = ["--runs", "2000", "--faults", faults, "--record", "bug.json"];
        let words = [&words[..], &more].concat();
        let found = raddle(&folder, &words);
        let printed = text(&found.stdout);
        assert_eq!(found.status.code(), Some(1), "{test} {faults}: {printed}{}", text(&found.stderr));
        assert!(printed.contains(part), "{test} {faults}: {printed}");
        let file = trace(&folder, "bug.json");
        assert!(file["minimized"].is_object(), "{file}");
        let threads = file["threads"].as_array().expect("the run has actors");
        assert!(threads.contains(&Value::from("faults")), "{threads:?}");
        let again = raddle(&folder, &["replay", "bug.json"]);
        assert!(text(&again.stdout).contains("; it repeats exactly."), "{}", text(&again.stderr));
    }
}

#[test]
fn faults_that_change_nothing_are_left_out() {
    let Some(folder) = folder("idle-faults") else { return };
    let words = ["beam", "run", "race:lost", "--pa", ".", "--strategy", "random-walk", "--seed", "39"];
    let more = ["--faults", "crash=1,partition=1", "--no-minimize", "--record", "bug.json"];
    assert_eq!(raddle(&folder, &[&words[..], &more, &NODES].concat()).status.code(), Some(1));
    let crashes = |name: &str| {
        let file = trace(&folder, name);
        file["locations"].as_array().is_some_and(|places| places.contains(&Value::from("a crash")))
    };
    assert!(crashes("bug.json"), "another seed has a crash in a run that fails without it");
    assert_eq!(raddle(&folder, &["minimize", "bug.json", "-o", "small.json"]).status.code(), Some(1));
    assert!(!crashes("small.json"));
}

#[test]
fn faults_need_a_second_node_and_a_sort() {
    let Some(folder) = folder("no-faults") else { return };
    for (words, part) in [
        (&["--faults", "crash=1"][..], "--node names them"),
        (&["--node", "a@x", "--node", "b@x", "--faults", "flood=1"], "crash, restart, partition, disconnect"),
        (&["--node", "a@x", "--node", "b@x", "--faults", "crash"], "crash=1,partition=2"),
    ] {
        let output = raddle(&folder, &[&["beam", "run", "store:asks", "--pa", "."], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(text(&output.stderr).contains(part), "{words:?}: {}", text(&output.stderr));
    }
}
