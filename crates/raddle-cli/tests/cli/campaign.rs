//! Campaigns: turns, resumption, causes and their states, merges, reports.

use crate::common::{CommandOutput, figure, raddle, root, scratch};
use raddle_store::{Campaign, CampaignTurn};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// A folder for the state of a campaign.
struct Folder(String);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = scratch(&format!("campaign_{name}"));
        _ = std::fs::remove_dir_all(&folder);
        Folder(folder)
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.0)
    }

    /// Returns the words of `raddle campaign run`.
    fn words<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        [&["campaign", "run", "--folder", &self.0, "--jobs", "1"], more].concat()
    }

    fn run(&self, more: &[&str]) -> CommandOutput {
        raddle(&self.words(more))
    }

    /// Returns the report.
    fn report(&self) -> Value {
        let ran = raddle(&["campaign", "status", "--json", "--folder", &self.0]);
        assert_eq!(ran.status, 0, "{}", ran.err);
        ran.json()
    }

    fn state(&self) -> Option<Campaign> {
        Campaign::open_to_read(Path::new(&self.path("campaign.sqlite"))).ok()
    }

    /// Returns the turns without times.
    fn turns(&self) -> Vec<CampaignTurn> {
        let turns = self.state().and_then(|state| state.turns().ok()).unwrap_or_default();
        turns.into_iter().map(|turn| CampaignTurn { at: 0, seconds: 0.0, ..turn }).collect()
    }

    /// Returns the failing runs: cause, turn and night.
    fn sightings(&self) -> Vec<(String, u64, u64)> {
        let all = self.state().expect("it is there").sightings().expect("they can be read");
        all.into_iter().map(|one| (one.cause, one.turn, one.night)).collect()
    }
}

/// Returns the states of failures with their targets.
fn states(report: &Value) -> Vec<(String, String)> {
    let failures = report["failures"].as_array().expect("a list");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    failures.iter().map(|failure| (text(&failure["state"]), text(&failure["target"]))).collect()
}

#[test]
fn a_killed_campaign_resumes_without_losing_or_doubling_a_run() {
    let targets = [figure("abba"), figure("philosophers"), figure("lost_update"), figure("branches")];
    let limits = ["--rounds", "60", "--runs", "40"];
    let words: Vec<&str> = limits.iter().copied().chain(targets.iter().map(String::as_str)).collect();
    let undisturbed = Folder::new("undisturbed");
    assert_eq!(undisturbed.run(&words).status, 1);
    let expected = undisturbed.turns();
    assert!(expected.len() > 120, "{}", expected.len());

    let killed = Folder::new("killed");
    for (after, words) in [(1, &words[..]), (30, &["--resume"]), (90, &["--resume"])] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
        command.args(killed.words(words)).current_dir(root()).stdout(Stdio::null());
        let mut child = command.spawn().expect("raddle starts");
        while killed.turns().len() < after {
            assert!(child.try_wait().expect("it can be asked").is_none(), "it has ended early");
        }
        child.kill().expect("it can be killed");
        child.wait().expect("it has ended");
        assert!(killed.turns().len() < expected.len(), "it was killed too late");
    }
    assert_eq!(killed.report()["nights"][0]["completed"], false);
    let resumed = killed.run(&["--resume"]);
    assert_eq!(resumed.status, 1, "{}", resumed.err);
    assert!(killed.turns() == expected, "the turns differ");
    assert_eq!(killed.sightings(), undisturbed.sightings());
    assert_eq!(killed.report()["nights"][0]["completed"], true);
    killed.run(&["--resume"]).is_user_error(&["night 1 was completed", "help: leave out --resume"]);
}

#[test]
fn an_interrupted_turn_is_made_again() {
    let folder = Folder::new("interrupted");
    let (abba, branches) = (figure("philosophers"), figure("branches"));
    let mut command = Command::new("env");
    command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_raddle")]);
    command.args(folder.words(&["--rounds", "1", "--runs", "1e9", &abba, &branches]));
    let mut child = command.current_dir(root()).stdout(Stdio::null()).spawn().expect("raddle starts");
    while folder.state().is_none_or(|state| state.nights().is_ok_and(|nights| nights.is_empty())) {
        assert!(child.try_wait().expect("it can be asked").is_none(), "it has ended early");
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill starts").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert_eq!(folder.turns(), []);
    assert_eq!(folder.report()["nights"][0]["completed"], false);
}

#[test]
fn turns_go_where_new_partial_orders_come_and_none_starves() {
    let folder = Folder::new("shares");
    // One has few partial orders, one has many.
    let (small, large) = (figure("lost_update"), figure("reorder"));
    let ran = folder.run(&["--rounds", "30", "--runs", "20", &small, &large]);
    assert!(ran.status <= 1, "{}", ran.err);
    let turns = |target: &str| folder.turns().iter().filter(|turn| turn.target == target).count();
    assert_eq!(turns(&small) + turns(&large), 60);
    assert!(turns(&large) > 2 * turns(&small) && turns(&small) >= 3, "{} {}", turns(&small), turns(&large));
}

/// A lost update, unless it is fixed, and lines that move it.
const COUNTER: &str = "\
#include <assert.h>
#include <pthread.h>
MOVE
static int counter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *add(void *unused) {
    if (FIXED) pthread_mutex_lock(&lock);
    int seen = counter;
    counter = seen + 1;
    if (FIXED) pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, add, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    assert(counter == 2);
}
";

/// Compiles the counter.
fn compile(folder: &Folder, fixed: &str, moved: &str) {
    std::fs::create_dir_all(&folder.0).expect("a folder can be made");
    let (source, program) = (folder.path("counter.c"), folder.path("counter"));
    std::fs::write(&source, COUNTER.replace("MOVE\n", moved)).expect("a source can be written");
    // The old program may just have run, and is replaced, not overwritten.
    _ = std::fs::remove_file(&program);
    let ran = raddle(&["cc", "-g", "-pthread", &format!("-DFIXED={fixed}"), &source, "-o", &program]);
    assert_eq!(ran.status, 0, "{}", ran.err);
}

#[test]
fn a_failure_is_new_then_known_then_fixed_then_regressed() {
    let folder = Folder::new("states");
    compile(&folder, "0", "");
    let counter = folder.path("counter");
    let night = |more: &[&str]| folder.run(&[&["--rounds", "1", "--runs", "200"], more].concat());
    let state = |state: &str| vec![(state.to_owned(), counter.clone())];

    let first = night(&[&counter]);
    assert_eq!(first.status, 1, "{}", first.err);
    let report = folder.report();
    assert_eq!(states(&report), state("new"));
    assert_eq!(report["failures"][0]["pair"], "counter.c:7, counter.c:8", "{report}");
    assert_eq!(report["failures"][0]["times"], 1);
    let file = report["failures"][0]["file"].as_str().expect("a path").to_owned();
    assert_eq!(raddle(&["replay", &file]).status, 1);

    // What is known does not fail, unless that is wanted.
    let second = night(&[]);
    assert_eq!(second.status, 0, "{}{}", second.out, second.err);
    assert!(second.out.contains("FAILING"), "{}", second.out);
    assert_eq!(states(&folder.report()), state("known"));
    assert_eq!(night(&["--fail-on", "any"]).status, 1);

    // Code above has moved the lines, which is no other failure.
    compile(&folder, "0", "static int more;\nstatic int *used = &more;\n");
    let moved = night(&[]);
    assert_eq!(moved.status, 0, "{}{}", moved.out, moved.err);
    assert_eq!(states(&folder.report()), state("known"));
    let times = folder.report()["failures"][0]["times"].as_u64();

    compile(&folder, "1", "");
    let fixed = night(&["--fail-on", "any"]);
    assert_eq!(fixed.status, 0, "{}{}", fixed.out, fixed.err);
    assert!(fixed.out.contains("FIXED"), "{}", fixed.out);
    assert_eq!(states(&folder.report()), state("fixed"));
    assert_eq!(folder.report()["failures"][0]["times"].as_u64(), times);

    compile(&folder, "0", "");
    let (junit, sarif) = (folder.path("night.xml"), folder.path("night.sarif"));
    let again = night(&["--junit", &junit, "--sarif", &sarif]);
    assert_eq!(again.status, 1, "{}{}", again.out, again.err);
    assert_eq!(states(&folder.report()), state("regressed"));
    let read = |path: &str| std::fs::read_to_string(path).expect("the report is written");
    assert!(read(&junit).contains("failures=\"1\""), "{}", read(&junit));
    let log: Value = serde_json::from_str(&read(&sarif)).expect("it is JSON");
    assert_eq!(log["runs"][0]["results"].as_array().map(Vec::len), Some(1));

    let page = folder.path("campaign.html");
    assert_eq!(raddle(&["campaign", "report", "--folder", &folder.0, "-o", &page]).status, 0);
    let page = read(&page);
    for part in ["<svg", "class=\"night\"", "class=\"state regressed\"", "counter.c:7, counter.c:8"] {
        assert!(page.contains(part), "`{part}` is missing");
    }
}

#[test]
fn foreign_schedules_are_not_run() {
    let folder = Folder::new("foreign");
    compile(&folder, "0", "");
    let counter = folder.path("counter");
    assert_eq!(folder.run(&["--rounds", "1", "--runs", "200", &counter]).status, 1);
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    command.args(folder.words(&["--rounds", "1", "--runs", "10"])).current_dir(root());
    // Another user has another key.
    let home = folder.path("home");
    command.env("HOME", &home).env("XDG_CONFIG_HOME", &home).env("XDG_DATA_HOME", &home);
    let ran = CommandOutput::new(command.env("XDG_STATE_HOME", &home).output().expect("raddle starts"));
    assert!(ran.out.contains("ERROR") && ran.out.contains("--trust"), "{}{}", ran.out, ran.err);
}

#[test]
fn merges_are_idempotent_and_commutative() {
    let (abba, update) = (figure("abba"), figure("lost_update"));
    let make = |name: &str, worker: &str| {
        let folder = Folder::new(name);
        let ran = folder.run(&["--worker", worker, "--rounds", "5", "--runs", "10", &abba, &update]);
        assert_eq!(ran.status, 1, "{}", ran.err);
        folder
    };
    let (one, two) = (make("one", "one"), make("two", "two"));
    let (both, again) = (Folder::new("both"), Folder::new("again"));
    let merge = |into: &Folder, from: &[&Folder]| {
        let paths: Vec<String> = from.iter().map(|folder| folder.path("campaign.sqlite")).collect();
        let paths = paths.iter().map(String::as_str);
        let words: Vec<&str> = ["campaign", "merge", "--folder", &into.0].into_iter().chain(paths).collect();
        let ran = raddle(&words);
        assert_eq!(ran.status, 0, "{}", ran.err);
        ran.out
    };
    merge(&both, &[&one, &two]);
    let merged = (both.turns(), both.sightings(), both.report()["runs"].clone());
    merge(&both, &[&two, &both, &one]);
    merge(&again, &[&two]);
    merge(&again, &[&one]);
    for folder in [&both, &again] {
        assert!((folder.turns(), folder.sightings(), folder.report()["runs"].clone()) == merged);
    }
    let sum = one.report()["runs"].as_u64().unwrap_or(0) + two.report()["runs"].as_u64().unwrap_or(0);
    assert_eq!(merged.2.as_u64(), Some(sum));
    // The machines have other schedules, and find the same causes.
    assert!(one.turns().iter().zip(two.turns()).all(|(one, two)| one.seed != two.seed));
    assert_eq!(states(&both.report()).len(), states(&one.report()).len());
}

#[test]
fn mistakes_are_named() {
    let folder = Folder::new("mistakes");
    folder.run(&[]).is_user_error(&["the campaign has no targets yet", "help: name some"]);
    folder.run(&["no/such"]).is_user_error(&["there is no target no/such", "help: a target is"]);
    folder.run(&["--resume"]).is_user_error(&["has no targets yet"]);
    let abba = figure("abba");
    folder.run(&[&abba, &abba]).is_user_error(&["two targets have the name", "help: name each target once"]);
    let config = folder.path("campaign.toml");
    for (text, part) in [
        ("target = 1", "unknown field"),
        ("commands = ['strategies']", "is no search"),
        ("commands = ['run -- \"a']", "a quote is not closed"),
        ("commands = ['run --shard 1/2 -- ./a']", "--shard cannot be part of a campaign"),
        ("", "the campaign has no target"),
    ] {
        std::fs::write(&config, text).expect("a file can be written");
        folder.run(&["--config", &config]).is_user_error(&[part, "help: "]);
    }
    let missing = Folder::new("missing");
    raddle(&["campaign", "status", "--folder", &missing.0])
        .is_user_error(&["there is no campaign", "help: "]);
}
