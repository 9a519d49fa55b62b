//! Shards of a search, and their merge.

use crate::common::{CommandOutput, figure, raddle, raddle_with_input, root, scratch};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

/// A program that fails in half of its runs.
const PROGRAM: &str = "tests/c/fail/abba_deadlock.c";

/// A program with a data race that is no failure.
const RACE: &str = "#include <pthread.h>
static int last;
static void *set(void *to) { last = to != 0; return 0; }
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, set, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return last;
}
";

/// Returns a new folder for the results of a test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(scratch(&format!("shards_{name}")));
    _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

/// Runs all shards of a command, which ends with the program, and returns their files.
fn shards(folder: &std::path::Path, words: &[&str], program: &[&str], count: usize) -> Vec<String> {
    let shard = |index: usize| {
        let (shard, file) = (format!("{index}/{count}"), folder.join(format!("{index}.json")));
        let file = file.to_str().expect("it is a plain name").to_owned();
        let part = ["--shard", &shard, "--result", &file];
        let ran = raddle(&[words, &part, program].concat());
        assert!(ran.status <= 1, "{}", ran.err);
        assert!(
            ran.out.contains(&format!("The result of shard {shard} is in ")) || ran.out.starts_with('{'),
            "{}",
            ran.out
        );
        file
    };
    (1..=count).map(shard).collect()
}

fn merge(options: &[&str], files: &[String]) -> CommandOutput {
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    raddle(&[&["merge"], options, &files].concat())
}

#[track_caller]
fn is_same(merged: &CommandOutput, whole: &CommandOutput) {
    // How many runs needed a fork depends on the processes that executed them, and on the machine.
    let out = |output: &CommandOutput| {
        let mut json: Result<Value, _> = serde_json::from_str(&output.out);
        if let Some(fields) = json.as_mut().ok().and_then(Value::as_object_mut) {
            fields.retain(|name, _| !["forked", "without_fork", "reset_unsupported"].contains(&&name[..]));
        }
        let plain = || {
            let words = output.out.split_inclusive(')').map(|part| match part.rsplit_once(" (") {
                Some((text, note))
                    if note.ends_with(" without a fork)") || note.starts_with("all forked") =>
                {
                    text
                }
                _ => part,
            });
            words.collect()
        };
        json.map_or_else(|_| plain(), |json| json.to_string())
    };
    assert_eq!((out(merged), merged.status), (out(whole), whole.status), "{}", merged.err);
}

#[test]
fn merged_shards_of_a_lab_program_print_the_same_report() {
    let program = figure("pos_fig2");
    let folder = folder("lab");
    for stop in ["--keep-going", "--until-bug"] {
        let words = ["lab", "run", "--strategy", "pos", "--strategy", "random-walk", "--runs", "500", stop];
        let mut files = shards(&folder, &words, &[&program], 7);
        let whole = raddle(&[&words[..], &[&program]].concat());
        let json = raddle(&[&words[..], &["--json", &program]].concat());
        assert_eq!(whole.status, 1, "{}", whole.err);
        is_same(&merge(&[], &files), &whole);
        files.reverse();
        is_same(&merge(&["--json"], &files), &json);
        files.extend(files[..3].to_vec());
        is_same(&merge(&[], &files), &whole);
    }
}

#[test]
fn merged_shards_of_a_program_print_the_same_report() {
    let folder = folder("program");
    let file = |name: &str| folder.join(name).to_str().expect("it is a plain name").to_owned();
    for (stop, strategy) in [("--keep-going", "pos"), ("--until-bug", "pos+random-walk")] {
        let found = file("found.json");
        let words = ["run", "--strategy", strategy, "--runs", "90", stop, "--record", &found];
        let mut files = shards(&folder, &words, &[PROGRAM], 3);
        let whole = raddle(&[&words[..], &[PROGRAM]].concat());
        assert_eq!(whole.status, 1, "{}", whole.err);
        let recorded = std::fs::read_to_string(&found).expect("the failing run is recorded");
        std::fs::remove_file(&found).expect("it was there");
        files.rotate_left(1);
        is_same(&merge(&["--record", &found], &files), &whole);
        assert_eq!(std::fs::read_to_string(&found).expect("it is recorded again"), recorded);
        assert_eq!(raddle(&["replay", &found]).status, 1, "the own file runs without a question");
    }
}

/// The default portfolio does not adapt in shards.
#[test]
fn shards_of_the_portfolio_print_the_report_of_a_single_shard() {
    let folder = folder("portfolio");
    let words =
        ["run", "--json", "--runs", "300", "--keep-going", "--record", &scratch("shards_portfolio.json")];
    let single = shards(&folder, &words, &[PROGRAM], 1);
    let single = merge(&["--json", "--record", words[6]], &single);
    let three = shards(&folder, &words, &[PROGRAM], 3);
    let three = merge(&["--json", "--record", words[6]], &three);
    is_same(&three, &single);
    assert_eq!(three.json()["runs"], 300);
}

#[test]
fn data_races_that_are_no_failures_are_reported_once() {
    let folder = folder("races");
    let words = ["run", "--strategy", "pos", "--runs", "100"];
    let source = folder.join("race.c");
    std::fs::write(&source, RACE).expect("a program can be written");
    let program = [source.to_str().expect("plain")];
    let files = shards(&folder, &words, &program, 2);
    let whole = raddle(&[&words[..], &program].concat());
    is_same(&merge(&[], &files), &whole);
    assert!(whole.out.contains("data races in "), "{}", whole.out);
}

fn changed(file: &str, name: &str, change: impl FnOnce(&mut Value)) -> String {
    let text = std::fs::read_to_string(file).expect("the result is there");
    let mut value: Value = serde_json::from_str(&text).expect("it is JSON");
    change(&mut value);
    let path = scratch(&format!("shards_{name}.json"));
    std::fs::write(&path, value.to_string()).expect("a copy can be written");
    path
}

#[test]
fn results_that_do_not_fit_are_refused() {
    let (program, other) = (figure("pos_fig2"), figure("abba"));
    let words = ["lab", "run", "--runs", "40"];
    let of = |name: &str, words: &[&str], program: &str| shards(&folder(name), words, &[program], 3);
    let files = of("refused", &words, &program);
    let with = |third: &str| merge(&[], &[files[0].clone(), files[1].clone(), third.to_owned()]);
    merge(&[], &files[1..]).is_user_error(&["shard 1/3 is missing", "help: "]);
    merge(&[], &files[2..]).is_user_error(&["shards 1/3, 2/3 are missing", "help: "]);
    let seeds = of("refused_seed", &["lab", "run", "--runs", "40", "--seed", "2"], &program);
    with(&seeds[2]).is_user_error(&["shard 3/3", "the seed is `2` instead of `1`", "help: "]);
    let programs = of("refused_program", &words, &other);
    with(&programs[2]).is_user_error(&["shard 3/3", "the program is `", "help: "]);
    let runs = of("refused_runs", &["lab", "run", "--runs", "50"], &program);
    with(&runs[2]).is_user_error(&["the number of runs is `50` instead of `40`"]);
    let strategies =
        of("refused_strategy", &["lab", "run", "--runs", "40", "--strategy", "random-walk"], &program);
    with(&strategies[2]).is_user_error(&["shard", "missing"]);
    let newer = changed(&files[2], "newer", |value| value["raddle_result"] = json!(2));
    with(&newer).is_user_error(&["has version 2 of the format", "help: "]);
    let version = changed(&files[2], "version", |value| {
        value["targets"][0]["runs"]["search"]["Raddle's version"] = json!("9.9.9");
    });
    with(&version).is_user_error(&["Raddle's version is `9.9.9`"]);
    let damaged =
        changed(&files[2], "damaged", |value| value["targets"][0]["runs"]["counts"]["runs"] = json!(7));
    with(&damaged).is_user_error(&["shard 3/3 is damaged", "help: "]);
    let text = changed(&files[2], "text", |value| *value = json!({"a": 1}));
    with(&text).is_user_error(&["is not a result of a shard", "help: "]);
    with("Cargo.toml").is_user_error(&["is not a result of a shard"]);
    with("/no/such/file").is_user_error(&["cannot read /no/such/file"]);
    assert_eq!(merge(&["--partial"], &files[1..]).status, 1, "what is there is reported on demand");
}

#[test]
fn a_search_that_one_process_has_to_make_is_not_divided() {
    for strategy in ["surw", "dpor", "maple"] {
        let ran = raddle(&["run", "--strategy", strategy, "--shard", "1/2", PROGRAM]);
        ran.is_user_error(&["--shard 1/2", strategy, "help: "]);
    }
    let ran = raddle(&["run", "--coverage", "--shard", "1/2", PROGRAM]);
    assert_eq!(ran.status, 2, "{}", ran.out);
    for wrong in ["0/2", "3/2", "2"] {
        let ran = raddle(&["run", "--shard", wrong, PROGRAM]);
        assert!(ran.status == 2 && ran.err.contains("such as 3/100"), "{}", ran.err);
    }
}

/// A result of another user, or a forged one, starts nothing.
#[test]
fn a_failure_of_a_foreign_result_stays_foreign() {
    let folder = folder("foreign");
    let (result, found) = (folder.join("1.json"), folder.join("found.json"));
    let key = scratch("shards_key");
    std::fs::write(&key, [9; 32]).expect("a key can be written");
    let own = folder.join("own.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    command
        .args(["run", "--strategy", "pos", "--shard", "1/1", "--record"])
        .arg(&own)
        .arg("--result")
        .arg(&result);
    let ran =
        command.arg(PROGRAM).env("RADDLE_KEY", &key).current_dir(root()).output().expect("raddle starts");
    assert_eq!(ran.status.code(), Some(1));
    let touched = scratch("shards_touched");
    _ = std::fs::remove_file(&touched);
    let (result, found) = (result.to_str().expect("plain"), found.to_str().expect("plain"));
    let forged = changed(result, "forged", |value| {
        value["targets"][0]["runs"]["first"][1]["file"]["program"] = json!("/bin/sh");
        value["targets"][0]["runs"]["first"][1]["file"]["arguments"] =
            json!(["-c", format!(": > {touched}")]);
        value["command"].as_array_mut().expect("a list").insert(1, json!(format!("--junit={touched}")));
    });
    for file in [result.to_owned(), forged] {
        assert_eq!(merge(&["--record", found], &[file]).status, 1);
        raddle(&["replay", found]).is_user_error(&["not recorded by you", "--trust"]);
    }
    assert!(
        !std::path::Path::new(&touched).exists(),
        "nothing has run, and no file was written that the result names"
    );
}

/// Sends requests to a worker, and returns its answers after the first one.
fn worker(requests: &[String]) -> Vec<Value> {
    let ran = raddle_with_input(&["worker"], &requests.join("\n"));
    assert_eq!(ran.status, 0, "{}", ran.err);
    let mut answers: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).expect("an answer is JSON")).collect();
    assert_eq!(answers.remove(0)["ready"]["protocol"], 1);
    answers
}

#[test]
fn a_worker_executes_ranges_of_runs_that_merge_into_the_whole() {
    let folder = folder("worker");
    let record = scratch("shards_worker.json");
    let words = ["run", "--strategy", "pos", "--runs", "200", "--keep-going", PROGRAM];
    let unit = |from: u64, to: u64, more: Value| {
        let mut unit = json!({"command": words, "window": [from, to]});
        unit.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        json!({"id": from, "unit": unit}).to_string()
    };
    let all = [unit(120, 200, json!({})), unit(0, 70, json!({"minimize": true})), unit(70, 120, json!({}))];
    let answers = worker(&all);
    let files: Vec<String> = answers
        .iter()
        .map(|answer| {
            let path = folder.join(format!("{}.json", answer["id"]));
            std::fs::write(&path, answer["result"].to_string()).expect("a result can be written");
            path.to_str().expect("plain").to_owned()
        })
        .collect();
    let whole = raddle(&[&words[..6], &["--record", &record, PROGRAM]].concat());
    is_same(&merge(&["--record", &record], &files), &whole);
    merge(&[], &files[..2]).is_user_error(&["the runs from 70 to 120 are missing"]);
    // A unit that is repeated gives the same result.
    assert_eq!(
        worker(&all[..1])[0]["result"]["targets"][0]["runs"]["counts"],
        answers[0]["result"]["targets"][0]["runs"]["counts"]
    );
}

#[test]
fn a_worker_names_the_cause_of_an_error_and_goes_on() {
    let lab = json!(["lab", "run", "--runs", "10", figure("pos_fig2")]);
    let request = |unit: Value| json!({"id": "x", "unit": unit}).to_string();
    let answers = worker(&[
        "{".to_owned(),
        json!({"id": 2}).to_string(),
        json!({"id": 3, "unit": {}}).to_string(),
        request(json!({"command": lab, "windows": [0, 1]})),
        request(json!({"command": ["run", "--no-such-option"]})),
        request(json!({"command": ["doctor"]})),
        request(json!({"command": lab, "window": [5, 1]})),
        request(
            json!({"command": ["lab", "run", "--strategy", "surw", figure("pos_fig2")], "window": [0, 9]}),
        ),
        request(json!({"command": ["run", "/no/such/program"], "shard": "1/1"})),
        String::new(),
        json!({"id": [7], "describe": lab}).to_string(),
        request(json!({"command": lab, "shard": "2/2"})),
    ]);
    let expected = [
        (1, "not JSON"),
        (2, "either `describe` or `unit`"),
        (3, "missing field `command`"),
        (4, "unknown field `windows`"),
        (5, "unexpected argument '--no-such-option'"),
        (6, "does not search"),
        (7, "ends before it begins"),
        (8, "surw learns from earlier runs"),
        (9, "/no/such/program"),
    ];
    for (answer, (line, part)) in answers.iter().zip(expected) {
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(answer["error"]["line"] == line && message.contains(part), "{answer}");
    }
    assert_eq!(answers.len(), 11);
    assert_eq!((&answers[9]["id"], &answers[9]["description"]["runs"]), (&json!([7]), &json!(10)));
    assert_eq!(answers[10]["result"]["targets"][0]["runs"]["counts"]["runs"], 5);
}
