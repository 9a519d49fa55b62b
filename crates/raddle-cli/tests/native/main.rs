//! `raddle run` on small C programs, which are compiled here.

mod as_is;
mod baseline;
mod coverage;
mod explain;
mod gdb;
mod isolation;
mod linearizable;
mod memory;
mod os_threads;
mod outside;
mod places;
mod process;
mod programs;
mod refusals;
mod rust;
mod source;
mod store;
mod tx;
mod values;
mod weak;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns an empty folder for this test.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("native").join(name);
    _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder for the test can be made");
    path
}

/// Compiles `NAME.c` of this folder into a folder for `test`, and returns that folder.
fn compile(test: &str, name: &str, flags: &[&str]) -> PathBuf {
    let folder = folder(test);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native").join(format!("{name}.c"));
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-O0", "-pthread"]).args(flags).arg("-o").arg(folder.join(name)).arg(source);
    assert!(gcc.status().expect("gcc starts").success(), "{name}.c is compiled");
    folder
}

/// Copies a program in a separate process: a process that other tests start meanwhile could inherit a file
/// that this one has open for writing, and a program cannot be started while it may be written to.
fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").args([from, to]).status().expect("cp starts").success(), "it is copied");
}

fn raddle(folder: &Path, words: &[&str]) -> Output {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("native-cache");
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    command.args(words).current_dir(folder).env("RADDLE_CACHE", cache).env("LC_ALL", "C");
    command.output().expect("raddle starts")
}

/// Runs `raddle run --json` and checks that its exit status matches its report.
#[track_caller]
fn run(folder: &Path, words: &[&str]) -> Value {
    let output = raddle(folder, &[&["run", "--json"], words].concat());
    let messages = String::from_utf8_lossy(&output.stderr);
    let mut report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {messages}"));
    if let Some(fields) = report.as_object_mut() {
        // They depend on the number of jobs and on the machine.
        fields.retain(|name, _| !["forked", "without_fork", "reset_unsupported"].contains(&&name[..]));
    }
    let failed = report["verdict"] == "failed";
    assert_eq!(output.status.code(), Some(i32::from(failed)), "{report} {messages}");
    assert_eq!(report["failures"].as_u64() > Some(0), failed, "{report}");
    report
}

/// Replays the recorded run many times and checks that it is always the same.
#[track_caller]
fn replays(folder: &Path, report: &Value, times: usize) {
    let file = report["failure_file"].as_str().expect("a failing run is recorded");
    let first = raddle(folder, &["replay", file]);
    assert_eq!(first.status.code(), Some(1), "{}", String::from_utf8_lossy(&first.stderr));
    for _ in 1..times {
        let again = raddle(folder, &["replay", file]);
        assert_eq!(String::from_utf8_lossy(&again.stdout), String::from_utf8_lossy(&first.stdout));
    }
    let json = raddle(folder, &["replay", file, "--json"]);
    let json: Value = serde_json::from_slice(&json.stdout).expect("a replay prints its result");
    assert_eq!((&json["verdict"], &json["message"]), (&report["kind"], &report["message"]));
}

/// Checks that the command is rejected with a message that contains all of `parts`.
#[track_caller]
fn refused(folder: &Path, words: &[&str], parts: &[&str]) {
    let output = raddle(folder, words);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("error: "), "{message}");
    for part in parts {
        assert!(message.contains(part), "`{part}` is missing in: {message}");
    }
}

#[test]
fn a_lost_update_is_found_and_replayed() {
    let folder = compile("lost", "lost_update", &[]);
    let report = run(&folder, &["--strategy", "random-walk", "--runs", "1000", "--", "./lost_update"]);
    assert_eq!((&report["kind"], &report["threads"]), (&"assertion".into(), &3.into()), "{report}");
    let message = report["message"].as_str().expect("a failure has a message");
    assert!(message.contains("lost_update.c:14: assertion `counter == 2` failed"), "{message}");
    let name = report["failure_file"].as_str().expect("a failure has a file");
    assert!(name.starts_with("raddle-failure-"), "{name}");
    let file = std::fs::read_to_string(folder.join(name)).expect("the run was recorded");
    assert!(file.contains(r#""front_end": "native""#) && file.contains(r#""build": "gnu:"#), "{file}");
    replays(&folder, &report, 20);
    let shown = raddle(&folder, &["replay", name]);
    let shown = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.contains("It printed:\n  counter is 1\n"), "{shown}");
}

/// Two threads take two relevant steps each. Under the random walk the probability of a hit is a rational
/// number that does not depend on the number of processes, and neither do the runs.
#[test]
fn results_do_not_depend_on_the_number_of_jobs() {
    let folder = compile("jobs", "lost_update", &[]);
    let words = |strategy: &'static str, jobs: &'static str| {
        [
            "--keep-going",
            "--runs",
            "120",
            "--seed",
            "5",
            "--strategy",
            strategy,
            "--jobs",
            jobs,
            "--",
            "./lost_update",
        ]
    };
    for strategy in ["portfolio", "surw+pct:depth=2"] {
        let (one, three) = (run(&folder, &words(strategy, "1")), run(&folder, &words(strategy, "3")));
        assert_eq!(one, three);
        assert!(one["failures"].as_u64() < Some(120), "{one}");
    }
}

#[test]
fn an_exhaustive_search_ends() {
    // The memory of uninstrumented programs is invisible, so dpor is suitable only if everything is locked.
    for (strategy, program) in [("dfs", "lost_update"), ("dfs", "abba"), ("dpor", "abba")] {
        let folder = compile(&format!("{strategy}_{program}"), program, &[]);
        let program = format!("./{program}");
        let report = run(&folder, &["--strategy", strategy, "--keep-going", "--", &program]);
        assert_eq!(report["exhausted"], true, "{report}");
        assert!(report["failures"].as_u64() > Some(0), "{report}");
        assert!(report["failures"].as_u64() < report["runs"].as_u64(), "{report}");
        assert_eq!(report["synchronisation_only"], true, "{report}");
        let text = raddle(&folder, &["run", "--strategy", strategy, "--keep-going", "--", &program]);
        let text = String::from_utf8_lossy(&text.stdout);
        assert!(text.contains("; no order of synchronisation is left.\n"), "{text}");
        assert!(text.contains("\nNote: the search was over points of synchronisation only: "), "{text}");
        assert_eq!(text.contains("dpor has also left out"), strategy == "dpor", "{text}");
    }
}

#[test]
fn a_deadlock_report_shows_the_wait_for_cycle() {
    let folder = compile("abba", "abba", &[]);
    let report = run(&folder, &["--strategy", "pos", "--", "./abba"]);
    assert_eq!(report["kind"], "deadlock", "{report}");
    let message = report["message"].as_str().expect("a failure has a message");
    for part in ["T1 waits for mutex", "held by T2", "each waits for the next: T1 -> T2 -> T1"] {
        assert!(message.contains(part), "`{part}` is missing in: {message}");
    }
    replays(&folder, &report, 20);
}

#[test]
fn correct_use_of_all_primitives_passes() {
    let folder = compile("all", "all_primitives", &[]);
    for strategy in ["random-walk", "pos", "pct:depth=3", "surw", "rapos"] {
        let words = ["--strategy", strategy, "--runs", "200", "--", "./all_primitives"];
        let report = run(&folder, &words);
        assert_eq!((&report["runs"], &report["verdict"]), (&200.into(), &"passed".into()), "{report}");
        assert!(report["partial_orders"].as_u64() > Some(5), "{report}");
    }
}

/// With learning strategies, the server also enacts runs with cancelled threads.
#[test]
fn cancelled_threads_end() {
    let folder = compile("cancels", "cancels", &[]);
    for strategy in ["random-walk", "pct:depth=3", "surw", "pos"] {
        let report = run(&folder, &["--strategy", strategy, "--runs", "200", "--", "./cancels"]);
        assert_eq!((&report["runs"], &report["verdict"]), (&200.into(), &"passed".into()), "{report}");
    }
    let report = run(&folder, &["--strategy", "dfs", "--runs", "100", "--", "./cancels"]);
    assert!(
        report["partial_orders"].as_u64() > Some(1),
        "a search that learns nothing repeats one run: {report}"
    );
}

#[test]
fn crashes_and_misuse_have_names() {
    let folder = compile("crashes", "crashes", &[]);
    let limit = ["--step-limit", "5000", "--patience", "0"];
    for (way, kind, message) in [
        ("segv", "signal", "got SIGSEGV for an access to address 0x10"),
        ("abort", "abort", "got SIGABRT"),
        // Free, or the other thread holds it.
        ("unlock", "misuse", "misuse of lock: unlocked "),
        ("again", "deadlock", "held by T2"),
        ("spin", "step-limit", "5000 steps"),
    ] {
        let report = run(&folder, &[&limit[..], &["--runs", "500", "--", "./crashes", way]].concat());
        assert_eq!(report["kind"], kind, "{report}");
        assert!(report["message"].as_str().is_some_and(|text| text.contains(message)), "{report}");
        replays(&folder, &report, 2);
    }
}

/// The program crashes as it would without control, and where it calls the function.
#[test]
fn pointers_to_no_object_are_the_programs_bug() {
    let folder = compile("pointers", "pointers", &[]);
    let source =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/pointers.c"));
    let source = source.expect("the source is there");
    for way in [
        "mutex",
        "unlock",
        "rwlock",
        "cond",
        "cond_wait",
        "cond_mutex",
        "sem",
        "post",
        "barrier",
        "spin",
        "once",
        "consistent",
        "sem_time",
        "cond_time",
        "lock_time",
        "create",
        "name",
        "cancel",
        "tryjoin",
        "clock",
        "attributes",
        "key",
        "value",
        "length",
        "call",
        "routine",
        "constant",
    ] {
        let quoted = format!("\"{way}\"");
        let named =
            source.lines().position(|line| line.contains(&quoted)).expect("it is one of its ways") + 1;
        // The call, which may be two lines below.
        let line = if way == "cond_wait" { named + 2 } else { named };
        for address in ["0", "0x10"] {
            let words = ["--no-minimize", "--jobs", "1", "--runs", "3", "--", "./pointers", way, address];
            let report = run(&folder, &words);
            assert_eq!(report["kind"], "signal", "{report}");
            let message = report["message"].as_str().expect("a failure has a message");
            assert!(message.contains("got SIGSEGV for an access to address 0x"), "{message}");
            assert!(message.ends_with(&format!("use at pointers.c:{line}")), "{message}");
        }
    }
    for (way, address) in [("kernel", "0"), ("kernel", "0x10"), ("nobody", "0"), ("nobody", "0x10")] {
        let report = run(&folder, &["--jobs", "1", "--runs", "3", "--", "./pointers", way, address]);
        assert_eq!(report["verdict"], "passed", "{report}");
    }
}

/// By default, the search includes sleepers that overtake a runnable thread, and the report says so.
#[test]
fn a_failure_says_what_it_assumes_about_time() {
    let folder = folder("sleeps");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/c/fail/sleep_as_synchronisation.c");
    let source = source.to_str().expect("a plain path");
    let report = run(&folder, &["--runs", "1000", source]);
    assert_eq!(report["kind"], "assertion", "{report}");
    let assumes = |report: &Value| report["notes"].to_string().contains("assumes that a sleep");
    assert!(assumes(&report), "{report}");
    replays(&folder, &report, 3);
    let report = run(&folder, &["--runs", "1000", "--timeouts", "idle", source]);
    assert_eq!(report["verdict"], "passed", "{report}");
    let report = run(&folder, &["--runs", "1000", "--timeouts", "any", source]);
    assert!(report["kind"] == "assertion" && !assumes(&report), "{report}");
}

/// A bug behind a sleep takes a few dozen runs at most.
#[test]
fn a_sleep_that_is_overtaken_is_found_soon() {
    let folder = folder("overtaken");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/overtaken.c");
    let source = source.to_str().expect("a plain path");
    for seed in ["1", "2", "3", "4", "5"] {
        let words = ["--no-minimize", "--jobs", "1", "--runs", "50", "--seed", seed, source];
        let report = run(&folder, &words);
        assert_eq!(report["kind"], "assertion", "seed {seed}: {report}");
    }
}

/// The system does it if memory runs out.
#[test]
fn a_run_that_is_killed_from_outside_has_not_failed() {
    let folder = compile("killed", "killed", &[]);
    let words = ["--jobs", "1", "--runs", "3", "--", "./killed"];
    refused(
        &folder,
        &[&["run"], &words[..], &["other"]].concat(),
        &["cannot be made", "killed from outside"],
    );
    let report = run(&folder, &[&words[..], &["other", "first"]].concat());
    assert_eq!((&report["verdict"], &report["runs"]), (&"passed".into(), &3.into()), "{report}");
    let report = run(&folder, &[&words[..], &["self"]].concat());
    let message = report["message"].as_str().expect("a failure has a message");
    assert!(message.contains("got SIGKILL; main at killed.c:10"), "{message}");
    refused(
        &folder,
        &[&["run"], &words[..], &["server"]].concat(),
        &["the process that makes its runs was killed (SIGKILL)", "not a failure of the program"],
    );
}

/// No run exceeds its time limit, although each has less time than the runs that profile memory would need.
#[test]
fn loops_on_plain_memory_are_seen() {
    let folder = folder("plain_spin");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/plain_spin.c");
    let source = source.to_str().expect("a plain path");
    for way in ["volatile", "plain", "writes"] {
        for points in ["shared", "sync", "all"] {
            let words = ["--races", "off", "--runs", "20", "--points", points, source, way];
            let report = run(&folder, &words);
            assert_eq!((&report["verdict"], &report["runs"]), (&"passed".into(), &20.into()), "{report}");
            assert_eq!(report["notes"], Value::Array(vec![]), "no profiling run was lost: {report}");
        }
    }
}

/// A thread that polls memory which no thread writes reaches the step limit before the loop ends by itself.
#[test]
fn an_endless_loop_on_plain_memory_is_a_livelock() {
    let folder = folder("endless_spin");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/plain_spin.c");
    let source = source.to_str().expect("a plain path");
    let words = ["--runs", "3", "--no-minimize", "--step-limit", "20000", source, "endless"];
    let report = run(&folder, &words);
    assert_eq!(report["kind"], "step-limit", "{report}");
}

/// The memory map names such memory `/dev/zero`, which has no end.
#[test]
fn memory_without_a_file_is_not_read() {
    let folder = folder("shared_mapping");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/shared_mapping.c");
    let report = run(&folder, &["--runs", "500", source.to_str().expect("a plain path")]);
    assert_eq!(report["kind"], "assertion", "{report}");
    replays(&folder, &report, 2);
}

#[test]
fn the_end_of_the_program_is_a_step() {
    let folder = compile("ends", "ends", &[]);
    let report = run(&folder, &["--runs", "300", "--", "./ends", "return"]);
    assert_eq!(report["kind"], "assertion", "{report}");
    for way in ["pthread_exit", "_exit"] {
        let report = run(&folder, &["--runs", "100", "--", "./ends", way]);
        assert_eq!(report["verdict"], "passed", "{report}");
    }
}

/// Compiled with `-fsanitize=thread`, with hooks from a library that does nothing and comes after the
/// runtime.
#[test]
fn accesses_of_instrumented_programs_are_steps() {
    let folder = folder("instrumented");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native");
    let gcc = |words: &[&str]| {
        let status = Command::new("gcc").args(words).current_dir(&folder).status().expect("gcc starts");
        assert!(status.success(), "{words:?}");
    };
    let (program, hooks) = (sources.join("instrumented.c"), sources.join("hooks.c"));
    let (program, hooks) = (program.to_str().expect("a plain path"), hooks.to_str().expect("a plain path"));
    let plain = "tsan-instrument-func-entry-exit=0";
    gcc(&["-g", "-O1", "-fsanitize=thread", "--param", plain, "-c", "-o", "program.o", program]);
    gcc(&["-shared", "-fPIC", "-o", "libhooks.so", hooks]);
    gcc(&["-pthread", "-o", "program", "program.o", "./libhooks.so"]);
    for points in ["all", "shared"] {
        let report = run(&folder, &["--points", points, "--strategy", "pos", "--", "./program"]);
        assert_eq!(report["kind"], "assertion", "{report}");
        replays(&folder, &report, 20);
    }
    let found = |points: &str, strategy: &str| {
        let words =
            ["--keep-going", "--runs", "100", "--points", points, "--strategy", strategy, "--", "./program"];
        run(&folder, &words)
    };
    let (all, shared) = (found("all", "pos"), found("shared", "pos"));
    // Each thread makes 40 accesses that no other thread sees.
    assert!(all["steps"].as_u64() >= shared["steps"].as_u64().map(|steps| steps + 60), "{all} {shared}");
    assert_eq!(found("sync", "pos")["verdict"], "passed");
    // Nor is a bound claimed for accesses that are no scheduling points.
    let words = ["run", "--points", "sync", "--strategy", "pct:depth=1", "--runs", "100", "--", "./program"];
    let text = String::from_utf8_lossy(&raddle(&folder, &words).stdout).into_owned();
    assert!(text.contains("a bug of depth 1 was missed with probability at most"), "{text}");
    assert!(text.contains("; orders of memory accesses are not covered"), "{text}");
    assert!(text.contains("Note: accesses to memory are not seen with --points sync"), "{text}");
    // With visible memory accesses, reduction is sound.
    let report = run(&folder, &["--strategy", "dpor", "--keep-going", "--", "./program"]);
    assert_eq!((&report["exhausted"], &report["verdict"]), (&true.into(), &"failed".into()), "{report}");
    assert_eq!(
        (&report["synchronisation_only"], &report["notes"]),
        (&false.into(), &Value::Array(vec![])),
        "{report}"
    );
    let report = run(&folder, &["--strategy", "dpor", "--points", "sync", "--", "./program"]);
    assert_eq!(
        (&report["exhausted"], &report["synchronisation_only"]),
        (&true.into(), &true.into()),
        "{report}"
    );
}

/// The copies themselves are not seen, so dpor takes their orders for one; it must not claim to have seen everything.
#[test]
fn what_library_functions_access_is_left_out_of_claims() {
    let folder = folder("overlapping");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/overlapping_copies.c");
    let source = source.to_str().expect("a plain path");
    let report = run(&folder, &["--strategy", "dpor", "--races", "off", source]);
    let notes = report["notes"].to_string();
    assert_eq!((&report["verdict"], &report["exhausted"]), (&"passed".into(), &true.into()), "{report}");
    assert!(notes.contains("memory that C library functions access (memcpy) is not seen"), "{report}");
    assert_eq!(run(&folder, &["--strategy", "dfs", source])["verdict"], "failed");
}

/// Rust's std waits with futexes, through `syscall`.
#[test]
fn a_rust_program_is_controlled() {
    let folder = folder("rust");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/std_threads.rs");
    let rustc =
        Command::new("rustc").args(["-O", "-o", "std_threads"]).arg(source).current_dir(&folder).status();
    assert!(rustc.expect("rustc starts").success());
    let report = run(&folder, &["--runs", "200", "--", "./std_threads"]);
    assert_eq!(report["verdict"], "passed", "{report}");
    assert!(report["partial_orders"].as_u64() > Some(20), "{report}");
    let report = run(&folder, &["--runs", "1000", "--", "./std_threads", "deadlock"]);
    assert_eq!(report["kind"], "deadlock", "{report}");
    replays(&folder, &report, 5);
}

#[test]
fn a_hanging_run_is_abandoned() {
    let folder = compile("hangs", "hangs", &[]);
    let words = |way| ["run", "--run-time", "1s", "--", "./hangs", way];
    refused(
        &folder,
        &words("spin"),
        &["did not end within 1000 ms", "it computes at work at hangs.c:14 without"],
    );
    refused(
        &folder,
        &words("unseen"),
        &["thread T1", "it waits in the system call read, which raddle does not control"],
    );
    refused(
        &folder,
        &["run", "--network", "real", "--run-time", "1s", "--", "./hangs", "accept"],
        &["thread T1", "at work at hangs.c:24", "until file descriptor 5 is ready", "raise --run-time"],
    );
    refused(
        &folder,
        &words("accept"),
        &["threads wait for connections to a socket to which the run has not connected", "--network real"],
    );
}

#[test]
fn a_failing_run_is_minimized() {
    let folder = compile("smaller", "lost_update", &[]);
    let words = ["--strategy", "random-walk", "--no-minimize", "--record", "run.json", "--", "./lost_update"];
    let found = run(&folder, &words);
    let small = raddle(&folder, &["minimize", "run.json", "--time", "10m", "--json"]);
    let small: serde_json::Value = serde_json::from_slice(&small.stdout).expect("it is recorded");
    assert_eq!(
        (&small["verdict"], &small["failure_file"]),
        (&found["kind"], &"run.min.json".into()),
        "{small}"
    );
    // To one thread, to the other, and back to main: no failing run has fewer.
    assert_eq!(small["switches"], 3, "{small}");
    // Every smaller intermediate run is written as well, and may be the last.
    let all = raddle(&folder, &["minimize", "run.json", "--time", "10m", "-o", "/dev/stdout"]);
    let all = String::from_utf8_lossy(&all.stdout);
    assert!(all.matches("\"fingerprint\"").count() > 1 && !all.contains("lost_update+0x"), "{all}");
    let shown = raddle(&folder, &["replay", "run.min.json"]);
    let shown = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.contains("it repeats exactly") && shown.contains("counter is 1"), "{shown}");
    let explained = raddle(&folder, &["explain", "run.min.json", "--time", "10m"]);
    let explained = String::from_utf8_lossy(&explained.stdout);
    assert!(explained.contains("seen only if it was compiled by `raddle cc`"), "{explained}");
}

#[test]
fn a_changed_program_is_noticed() {
    let folder = compile("changed", "lost_update", &[]);
    run(&folder, &["--record", "run.json", "--", "./lost_update"]);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/abba.c");
    let gcc =
        Command::new("gcc").arg("-pthread").arg("-o").arg(folder.join("lost_update")).arg(source).status();
    assert!(gcc.expect("gcc starts").success());
    refused(&folder, &["replay", "run.json"], &["does not repeat: at step"]);
    let now = raddle(&folder, &["replay", "run.json", "--tolerant", "--json"]);
    let now: serde_json::Value = serde_json::from_slice(&now.stdout).expect("it is followed all the same");
    assert_eq!(now["recorded"], "assertion", "{now}");
    assert!(now["verdict"] == "passed" || now["verdict"] == "deadlock", "{now}");
    assert!(now["steps"].as_u64() > Some(4) && now["left_because"].is_string(), "{now}");
}
