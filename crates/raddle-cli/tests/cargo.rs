//! `cargo raddle` on a small crate, `fixture-crate`, which is compiled with hooks here.

use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// Returns a copy of the crate for `test` alone.
fn copy(test: &str) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixture-crate");
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cargo").join(test);
    for name in ["Cargo.toml", "raddle.toml", "src/lib.rs", "src/main.rs", "tests/surroundings.rs"] {
        let copy = to.join(name);
        std::fs::create_dir_all(copy.parent().expect("a file is in a folder")).expect("it can be made");
        std::fs::copy(from.join(name), copy).expect("the crate can be copied");
    }
    _ = std::fs::remove_dir_all(to.join("target/raddle/failures"));
    to
}

/// Creates files in a folder.
fn write(folder: &Path, files: &[(&str, impl AsRef<[u8]>)]) {
    for (name, content) in files {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().expect("a file is in a folder")).expect("it can be made");
        std::fs::write(file, content).expect("it can be written");
    }
}

/// Runs `cargo raddle WORDS`, as cargo starts it.
fn cargo_raddle(folder: &Path, words: &[&str]) -> Output {
    command(folder, words).output().expect("it starts")
}

fn command(folder: &Path, words: &[&str]) -> Command {
    command_under(Command::new(env!("CARGO_BIN_EXE_cargo-raddle")), folder, words)
}

/// Adds the arguments and the environment to `command`.
fn command_under(mut command: Command, folder: &Path, words: &[&str]) -> Command {
    for name in [
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_TARGET_DIR",
        "CARGO_BUILD_TARGET_DIR",
        "RUSTC_WRAPPER",
    ] {
        command.env_remove(name);
    }
    command.arg("raddle").args(words).current_dir(folder);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// All tests of the crate.
struct Session {
    folder: PathBuf,
    status: Option<i32>,
    /// By name.
    tests: BTreeMap<String, Value>,
    all: Value,
    junit: String,
}

fn session() -> &'static Session {
    static SESSION: OnceLock<Session> = OnceLock::new();
    SESSION.get_or_init(|| {
        let folder = copy("session");
        let output =
            cargo_raddle(&folder, &["test", "--offline", "--json", "--runs", "300", "--junit", "junit.xml"]);
        let printed = text(&output.stdout);
        let mut lines: Vec<Value> =
            printed.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
        let all = lines.pop().unwrap_or_else(|| panic!("nothing was printed: {}", text(&output.stderr)));
        let name = |test: &Value| test["test"].as_str().expect("a test has a name").to_owned();
        let tests = lines.into_iter().map(|test| (name(&test), test)).collect();
        let junit = std::fs::read_to_string(folder.join("junit.xml")).expect("JUnit's file is written");
        Session { folder, status: output.status.code(), tests, all, junit }
    })
}

#[test]
fn every_test_has_its_verdict() {
    let Session { status, tests, all, .. } = session();
    let verdicts: Vec<(&str, &str, &str)> = tests
        .iter()
        .map(|(name, test)| (&name[..], &test["status"], &test["kind"]))
        .map(|(name, status, kind)| (name, status.as_str().unwrap_or("?"), kind.as_str().unwrap_or("")))
        .collect();
    let expected = [
        ("are_part_of_a_failure", "failed", "panic"),
        ("are_those_of_cargo", "not-concurrent", ""),
        ("priority_inheritance_is_not_controlled", "not-controllable", ""),
        ("tests::a_panic_is_handed_on", "failed", "panic"),
        ("tests::a_panic_is_returned", "passed", ""),
        ("tests::has_to_panic", "passed", ""),
        ("tests::is_ignored", "ignored", ""),
        ("tests::is_skipped", "skipped", ""),
        ("tests::locked", "passed", ""),
        ("tests::locks_in_both_orders", "failed", "deadlock"),
        ("tests::loses_updates", "failed", "panic"),
        ("tests::single", "not-concurrent", ""),
        ("tests::single_and_wrong", "failed", "panic"),
    ];
    assert_eq!(verdicts, expected, "{tests:#?}");
    assert_eq!(*status, Some(1));
    let counts = ["tests", "passed", "failed", "not_concurrent", "not_controllable", "ignored", "skipped"];
    assert_eq!(counts.map(|count| all[count].as_u64()), [11, 3, 5, 2, 1, 1, 1].map(Some), "{all}");
}

#[test]
fn a_passed_test_reports_its_coverage() {
    let tests = &session().tests;
    let returned = &tests["tests::a_panic_is_returned"];
    assert_eq!((&returned["runs"], &returned["threads"]), (&300.into(), &2.into()), "{returned}");
    let missed = |depth: usize| returned["bounds"][depth]["missed"].as_f64().expect("there is a bound");
    assert!(missed(0) <= missed(1) && missed(1) <= missed(2) && missed(2) <= 1.0, "{returned}");
    // The configuration requests an exhaustive search.
    let whole = &tests["tests::has_to_panic"];
    assert_eq!((&whole["strategy"], &whole["exhausted"]), (&"dpor".into(), &true.into()), "{whole}");
    assert!(whole["bounds"].as_array().is_some_and(Vec::is_empty), "{whole}");
    let single = &tests["tests::single"];
    assert_eq!(single["runs"], 1, "{single}");
    let lost = &tests["priority_inheritance_is_not_controlled"]["reason"];
    assert!(lost.as_str().is_some_and(|why| why.contains("futex operation 6")), "{lost}");
}

#[test]
fn a_failed_test_reports_its_panic_and_output() {
    let tests = &session().tests;
    let lost = &tests["tests::loses_updates"];
    let message = lost["message"].as_str().expect("a failure has a message");
    assert!(message.starts_with("panic: assertion `left == right` failed: an update is lost"), "{message}");
    assert!(
        message.contains("left: 1") && message.contains("thread tests::loses_updates, src/lib.rs:"),
        "{message}"
    );
    let output = lost["output"].as_str().expect("it has printed something");
    assert!(output.starts_with("counted to 1\n") && !output.contains("running 1 test"), "{output}");
    // The cause is reported with the panic that ended the test.
    let handed = tests["tests::a_panic_is_handed_on"]["message"].as_str().expect("it has a message");
    assert!(handed.starts_with("panic: called `Result::unwrap()`"), "{handed}");
    assert!(handed.contains("before: assertion `left == right` failed: somebody else has added"), "{handed}");
    let deadlock = tests["tests::locks_in_both_orders"]["message"].as_str().expect("it has a message");
    assert!(deadlock.starts_with("deadlock: 2 threads wait") && !deadlock.contains("harness"), "{deadlock}");
}

#[test]
fn junit_has_every_test() {
    let junit = &session().junit;
    assert!(
        junit.contains("<testsuites name=\"raddle\" tests=\"13\" skipped=\"3\" failures=\"5\" errors=\"0\""),
        "{junit}"
    );
    assert!(junit.contains("<testsuite name=\"fixture::surroundings\" tests=\"3\""), "{junit}");
    assert!(junit.contains("<failure message=\"deadlock: 2 threads wait"), "{junit}");
    assert_eq!(junit.matches("<testcase ").count(), 13);
}

#[test]
fn failures_replay_from_anywhere() {
    let Session { folder, tests, .. } = session();
    let elsewhere = folder.parent().expect("it is in a folder");
    for name in ["tests::loses_updates", "tests::locks_in_both_orders", "are_part_of_a_failure"] {
        let kept = tests[name]["failure_file"].as_str().expect("a failing run is kept");
        // Another test that repeats this one finds the same failure and writes it to the same file.
        let file = elsewhere.join("a-failure.json");
        std::fs::copy(folder.join(kept), &file).expect("it can be copied");
        let replay = || {
            let mut raddle = Command::new(env!("CARGO_BIN_EXE_raddle"));
            raddle.arg("replay").arg(&file).current_dir(elsewhere);
            // Variables that only cargo sets come from the file.
            raddle
                .env_remove("CARGO_MANIFEST_DIR")
                .env("RUST_BACKTRACE", "1")
                .output()
                .expect("raddle starts")
        };
        let first = replay();
        let printed = text(&first.stdout);
        assert_eq!(first.status.code(), Some(1), "{name}: {}", text(&first.stderr));
        assert!(printed.contains("it repeats exactly") && !printed.contains("running 1 test"), "{printed}");
        let message = tests[name]["message"].as_str().expect("it has a message");
        let first = message.split_once(": ").map_or(message, |(_, rest)| rest);
        let first = first.split(['\n', ';']).next().unwrap_or_default();
        assert!(printed.contains(first), "{first}: {printed}");
        let steps = |printed: &str| printed.split("It printed").next().unwrap_or_default().to_owned();
        assert_eq!(steps(&text(&replay().stdout)), steps(&printed));
    }
}

#[test]
fn tests_are_chosen_as_with_cargo() {
    // The same crate, so that nothing is recompiled.
    let folder = &session().folder;
    let names = |words: &[&str]| {
        let words = [&["test", "--offline", "--json", "--lib", "--runs", "1"], words].concat();
        let output = cargo_raddle(folder, &words);
        let lines = text(&output.stdout);
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line is JSON"));
        let ran = |test: &Value| test["runs"].as_u64() > Some(0);
        let names = lines.filter(ran).filter_map(|test| Some(test["test"].as_str()?.to_owned()));
        (names.collect::<Vec<_>>(), output.status.code())
    };
    let single = (vec!["tests::single".to_owned()], Some(0));
    assert_eq!(names(&["tests::single", "--", "--exact"]), single);
    assert_eq!(names(&["single", "--", "--skip", "wrong"]), single);
    assert_eq!(names(&["--", "--ignored"]), (vec!["tests::is_ignored".to_owned()], Some(1)));
    assert_eq!(names(&["nothing_is_called_so"]), (Vec::new(), Some(2)), "no test matches");
    let strict = cargo_raddle(folder, &["test", "--offline", "--strict", "--test", "surroundings"]);
    let printed = text(&strict.stdout);
    assert_eq!(strict.status.code(), Some(1), "{printed}");
    assert!(
        printed.contains("LOST") && printed.contains("SINGLE") && printed.contains("1 not controllable"),
        "{printed}"
    );
    // Even if nothing else fails.
    let words = ["test", "--offline", "--strict", "--test", "surroundings", "priority_inheritance"];
    let strict = cargo_raddle(folder, &words);
    let printed = text(&strict.stdout);
    assert_eq!(strict.status.code(), Some(1), "{printed}");
    assert!(printed.contains("Failed [") && !printed.contains("Passed ["), "{printed}");
}

#[test]
fn what_goes_wrong_here_is_no_verdict() {
    let folder = &session().folder;
    let words = ["test", "--offline", "--lib", "tests::locked"];
    let lost = command(folder, &words).env("TMPDIR", folder.join("nowhere")).output().expect("it starts");
    let (printed, error) = (text(&lost.stdout), text(&lost.stderr));
    assert_eq!(lost.status.code(), Some(2), "{printed}{error}");
    assert!(error.contains("error: cannot write") && error.contains("nowhere"), "{error}");
    assert!(
        printed.contains("Stopped [") && !printed.contains("LOST") && !printed.contains("Passed"),
        "{printed}"
    );
}

#[test]
fn one_run_is_made_however_little_time_there_is() {
    let words = ["test", "--offline", "--json", "--lib", "--time", "1ms", "tests::locked"];
    let output = cargo_raddle(&session().folder, &words);
    let printed = text(&output.stdout);
    let test: Value =
        serde_json::from_str(printed.lines().next().expect("a test was run")).expect("it is JSON");
    assert_eq!((&test["status"], &test["threads"]), (&"passed".into(), &3.into()), "{test}");
    assert!(test["runs"].as_u64() > Some(0), "{test}");
}

#[test]
fn a_report_that_cannot_be_written_hides_no_failure() {
    let folder = &session().folder;
    let junit = |file: &str| {
        let words = ["test", "--offline", "--lib", "--junit", file, "tests::single_and_wrong"];
        let output = cargo_raddle(folder, &words);
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    // Writes to this device fail, and nothing else does.
    let (status, printed, _) = junit("/dev/full");
    assert_eq!(status, Some(1), "{printed}");
    assert!(printed.contains("1 failed") && printed.contains("not all is done: cannot write"), "{printed}");
    let (status, printed, error) = junit("Cargo.toml/report.xml");
    assert_eq!((status, &printed[..]), (Some(2), ""));
    assert!(error.contains("cannot write Cargo.toml/report.xml"), "{error}");
}

#[test]
fn cargo_arguments_are_forwarded() {
    // Two packages in a workspace; the second one is in `other`, and half of its tests need a feature.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cargo/workspace");
    let tests = "#[test]\nfn always() {}\n#[cfg(feature = \"more\")]\n#[test]\nfn featured() {}\n\
                 #[cfg(not(debug_assertions))]\n#[test]\nfn optimized() {}\n";
    let package = |name: &str| {
        format!("[package]\nname = '{name}'\nversion = '1.0.0'\nedition = '2021'\n[features]\nmore = []\n")
    };
    let files = [
        ("Cargo.toml", format!("{}[workspace]\nmembers = ['other']\n", package("first"))),
        (
            "src/lib.rs",
            "#[test]\nfn fails_first() { panic!() }\n#[test]\nfn fails_too() { panic!() }\n".to_owned(),
        ),
        ("src/main.rs", "fn main() {}\n#[test]\nfn in_the_program() {}\n".to_owned()),
        ("other/Cargo.toml", package("other")),
        ("other/src/lib.rs", tests.to_owned()),
    ];
    write(&folder, &files);
    let names = |words: &[&str]| {
        let words = [&["test", "--offline", "--json"], words].concat();
        let output = cargo_raddle(&folder, &words);
        let lines = text(&output.stdout);
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line is JSON"));
        let mut names: Vec<String> =
            lines.filter_map(|test| Some(test["test"].as_str()?.to_owned())).collect();
        names.sort();
        names.join(" ")
    };
    assert_eq!(names(&[]), "fails_first fails_too in_the_program");
    assert_eq!(names(&["--bins"]), "in_the_program");
    assert_eq!(names(&["--lib", "--fail-fast"]), "fails_first");
    assert_eq!(names(&["--package", "other"]), "always");
    assert_eq!(names(&["--package", "other", "--features", "other/more"]), "always featured");
    assert_eq!(names(&["--package", "other", "--profile", "release"]), "always optimized");
    assert_eq!(names(&["--workspace", "--exclude", "first", "--all-features"]), "always featured");
    assert_eq!(names(&["--workspace"]), "always fails_first fails_too in_the_program");
}

#[test]
fn a_failed_test_is_shown_by_the_steps_that_matter() {
    let output = cargo_raddle(&session().folder, &["test", "--offline", "loses_updates"]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains("FAIL") && printed.contains("fixture tests::loses_updates"), "{printed}");
    assert!(!printed.contains("harness  ") && printed.contains("lib.rs:"), "{printed}");
    assert!(
        printed.contains("\nWhy: ") && printed.contains(" that do not matter are hidden (--full)."),
        "{printed}"
    );
    assert!(!printed.contains("<std>") && !printed.contains("0x7f"), "{printed}");
    assert!(printed.contains("\nIt printed:\n  counted to 1\n"), "{printed}");
    assert!(printed.contains("\nreplay: raddle replay target/raddle/failures/raddle-failure-"), "{printed}");
}

#[test]
fn programs_are_run_too() {
    let folder = &session().folder;
    let words = ["run", "--offline", "--json", "--runs", "300", "--record", "program.json", "--", "a word"];
    let output = cargo_raddle(folder, &words);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let message = report["message"].as_str().expect("a failure has a message");
    assert!(
        message.contains("failed: Some(\"a word\")") && message.contains("thread main, src/main.rs:"),
        "{message}"
    );
    let mut replay = Command::new(env!("CARGO_BIN_EXE_raddle"));
    let replay = replay.arg("replay").arg(folder.join("program.json")).output().expect("raddle starts");
    assert_eq!(replay.status.code(), Some(1), "{}", text(&replay.stderr));
}

#[test]
fn settings_are_written_once_and_errors_in_them_are_reported() {
    let folder = copy("settings");
    std::fs::remove_file(folder.join("raddle.toml")).expect("it was copied");
    let first = cargo_raddle(&folder, &["init"]);
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    let written = std::fs::read_to_string(folder.join("raddle.toml")).expect("it was written");
    assert!(written.lines().all(|line| line.is_empty() || line.starts_with('#')), "{written}");
    let second = cargo_raddle(&folder, &["init"]);
    assert_eq!(second.status.code(), Some(2));
    assert!(text(&second.stderr).contains("raddle.toml is there already"), "{}", text(&second.stderr));
    std::fs::write(folder.join("raddle.toml"), "rums = 5\n").expect("it can be written");
    let third = cargo_raddle(&folder, &["test", "--offline"]);
    let message = text(&third.stderr);
    assert_eq!(third.status.code(), Some(2), "{message}");
    assert!(message.contains("raddle.toml") && message.contains("`rums`"), "{message}");
}

/// A program with its own panic message.
const OWN_HOOK: &str = "fn main() { std::panic::set_hook(Box::new(|_| eprintln!(\"sorry\"))); panic!() }\n";

#[test]
fn packages_may_have_hooks_harnesses_and_a_program_of_their_own() {
    const MANIFEST: &str = "[package]\nname = 'own'\nversion = '1.0.0'\nedition = '2021'\ndefault-run = 'hook'\n\
                            [[test]]\nname = 'silent'\nharness = false\n[workspace]\nmembers = ['member']\n";
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cargo/own");
    let files = [
        ("Cargo.toml", MANIFEST),
        ("raddle.toml", "seed = 5\n"),
        ("src/lib.rs", ""),
        ("src/bin/another.rs", "fn main() {}\n"),
        ("src/bin/hook.rs", OWN_HOOK),
        ("tests/silent.rs", "fn main() {}\n"),
        ("member/Cargo.toml", "[package]\nname = 'member'\nversion = '1.0.0'\nedition = '2021'\n"),
        ("member/src/lib.rs", ""),
    ];
    write(&folder, &files);
    let output = cargo_raddle(&folder, &["run", "--offline", "--json", "--runs", "1"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert!(report["message"].as_str().is_some_and(|message| message.contains("101")), "{report}");

    // The library and the programs have the standard harness, and no tests in it.
    let output = cargo_raddle(&folder, &["test", "--offline"]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{printed}{}", text(&output.stderr));
    assert_eq!(printed.matches("LOST").count(), 1, "{printed}");
    assert!(printed.contains("own::silent") && printed.contains("which lists no test"), "{printed}");

    // A member's configuration overrides that of the workspace.
    let member = folder.join("member");
    _ = std::fs::remove_file(member.join("raddle.toml"));
    let output = cargo_raddle(&member, &["init"]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(printed.contains("takes the place of") && !printed.contains("changes nothing"), "{printed}");
}

/// A compiler that no longer knows the flags.
const OTHER_COMPILER: &str = "#!/bin/sh\nfor word; do case $word in -Cpasses=*) echo 'error: unknown pass' >&2; exit 1;; esac; done\n\
                              exec rustc \"$@\"\n";

#[test]
fn the_doctor_says_what_is_missing() {
    let well = cargo_raddle(Path::new(env!("CARGO_TARGET_TMPDIR")), &["doctor"]);
    let printed = text(&well.stdout);
    assert_eq!(well.status.code(), Some(0), "{printed}");
    assert!(
        printed.contains("lost update was found under control") && !printed.contains("MISSING"),
        "{printed}"
    );

    let folder = copy("doctor");
    let compiler = folder.join("compiler");
    let script = folder.join("compiler.txt");
    std::fs::write(&script, OTHER_COMPILER).expect("it can be written");
    // Written by a separate process: a process that another test starts may inherit a file that this one has
    // open for writing.
    let mut install = Command::new("install");
    assert!(install.arg("-m755").args([&script, &compiler]).status().expect("install starts").success());
    let ill = command(&folder, &["doctor", "--json"]).env("RUSTC", &compiler).output().expect("it starts");
    assert_eq!(ill.status.code(), Some(2));
    let report: Value = serde_json::from_slice(&ill.stdout).expect("it is JSON");
    let last =
        report["findings"].as_array().and_then(|findings| findings.last()).expect("it looked at something");
    assert_eq!((&last["ok"], &report["fallback"]), (&false.into(), &true.into()), "{report}");
    assert!(last["detail"].as_str().is_some_and(|why| why.contains("unknown pass")), "{last}");
}

/// Returns the child of process `id` that executes the tests of `folder`, once it has a child: a run.
fn tests_of(id: u32, folder: &Path) -> Option<u32> {
    let children = |id: u32| {
        let threads = std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
        let lines = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
        let lines: Vec<String> = lines.collect();
        lines.join(" ").split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u32>>()
    };
    children(id).into_iter().find(|child| {
        let program = std::fs::read_link(format!("/proc/{child}/exe"));
        program.is_ok_and(|path| path.starts_with(folder.join("target"))) && !children(*child).is_empty()
    })
}

#[test]
fn ctrl_c_ends_with_a_summary() {
    let folder = copy("ctrl_c").canonicalize().expect("it was made");
    let words = ["test", "--offline", "--lib", "--jobs", "1", "--runs"];
    let exactly = ["--", "--exact", "tests::locked"];
    // Built before, so that the signal finds a search.
    let built = cargo_raddle(&folder, &[&words[..], &["1"], &exactly].concat());
    assert_eq!(built.status.code(), Some(0), "{}{}", text(&built.stdout), text(&built.stderr));
    // The tests may have been started with an ignored SIGINT, which would stay ignored.
    let mut command = Command::new("env");
    command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_cargo-raddle")]);
    let mut command = command_under(command, &folder, &[&words[..], &["1e10"], &exactly].concat());
    // As a terminal does, the signal goes to all processes of the group.
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut search = command.spawn().expect("it starts");
    let id = search.id();
    let tests = loop {
        assert!(search.try_wait().expect("it can be waited for").is_none(), "the search has ended");
        match tests_of(id, &folder) {
            Some(tests) => break tests,
            None => std::thread::yield_now(),
        }
    };
    let sent = Command::new("kill").args(["-INT", "--", &format!("-{id}")]).status();
    assert!(sent.expect("kill starts").success());
    let output = search.wait_with_output().expect("it ends");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(130), "{out}{err}");
    assert!(out.contains("Stopped [") && out.contains("1 test: "), "{out}{err}");
    assert!(err.contains("interrupted by SIGINT"), "{out}{err}");
    assert!(!Path::new(&format!("/proc/{tests}")).exists(), "a process is left");
}

/// Runs `raddle merge` for the shards of a crate.
fn merge(folder: &Path, count: usize) -> Output {
    let files = (1..=count).rev().map(|index| format!("raddle-result-{index}-of-{count}.json"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    let command = command.args(["merge", "--json", "--record", "."]).args(files).current_dir(folder);
    command.output().expect("raddle starts")
}

/// Returns the results of tests without what depends on time and folders.
fn results(output: &Output) -> Vec<Value> {
    let printed = text(&output.stdout);
    let lines = printed.lines().map(|line| serde_json::from_str(line).expect("a line is JSON"));
    let plain = lines.map(|mut line: Value| {
        let fields = line.as_object_mut().expect("a result is an object");
        for name in ["seconds", "failure_file", "replay", "forked", "without_fork", "reset_unsupported"] {
            fields.remove(name);
        }
        line
    });
    plain.collect()
}

#[test]
fn merged_shards_have_the_results_of_one_process() {
    let folder = copy("shards");
    let words = [
        "test",
        "--offline",
        "--json",
        "--lib",
        "--strategy",
        "pos",
        "--runs",
        "40",
        "tests::",
        "--",
        "--skip",
        "both",
    ];
    let whole = cargo_raddle(&folder, &words);
    for shard in ["1/2", "2/2"] {
        let part = cargo_raddle(&folder, &[&words[..1], &["--shard", shard], &words[1..]].concat());
        assert_eq!(part.status.code(), Some(1), "{}", text(&part.stderr));
    }
    let merged = merge(&folder, 2);
    assert_eq!(results(&merged), results(&whole), "{}", text(&merged.stderr));
    assert_eq!(merged.status.code(), Some(1));
    assert!(results(&merged).len() > 8, "{}", text(&merged.stdout));
}

#[test]
fn a_test_whose_strategy_learns_is_in_one_shard() {
    let folder = copy("learning_shards");
    // raddle.toml names the strategy dpor for it.
    let words = ["test", "--offline", "--json", "--lib", "has_to_panic"];
    let whole = cargo_raddle(&folder, &words);
    for shard in ["1/2", "2/2"] {
        let part = cargo_raddle(&folder, &[&words[..1], &["--shard", shard], &words[1..]].concat());
        assert_eq!(part.status.code(), Some(0), "{}", text(&part.stderr));
    }
    assert_eq!(results(&merge(&folder, 2)), results(&whole));
}
