//! Stored test results: `raddle run --strategy maple` and `raddle coverage`.

use super::{copy, folder, raddle, run};
use raddle_store::FILE_NAME;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// Two threads add to a counter in a function that can be changed, after one that can move it. One of them
/// starts late, which no prediction knows: attempts to let it come first fail.
fn program(before: &str, step: &str) -> String {
    format!(
        "#include <pthread.h>\nstatic volatile int counter, tail; int usleep(unsigned);\n{before}\n\
         void add(int late) {{ counter += {step}; if (late) {{ usleep(9); tail++; }} else tail = 1; }}\n\
         static void *work(void *late) {{ add(late != 0); return late; }}\n\
         int main(void) {{\n    pthread_t a, b;\n    pthread_create(&a, 0, work, 0);\n\
         pthread_create(&b, 0, work, &b);\n    pthread_join(a, 0);\n    pthread_join(b, 0);\n    return 0;\n}}\n"
    )
}

/// Writes and compiles it in `folder`.
fn compile(folder: &Path, text: &str) {
    std::fs::write(folder.join("add.c"), text).expect("a source can be written");
    let output = raddle(folder, &["cc", "-g", "-O1", "-fno-inline", "-pthread", "add.c", "-o", "add"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// It ends at once when no candidate is left.
const SEARCH: &[&str] = &["-s", "maple:end=1", "--races", "off"];

fn search(folder: &Path, words: &[&str]) -> Value {
    run(folder, &[SEARCH, words, &["--", "./add"]].concat())
}

fn coverage(folder: &Path, words: &[&str]) -> Value {
    let output = raddle(folder, &[&["coverage", "--json"], words].concat());
    let messages = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{messages}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {messages}"))
}

/// Returns the number of exposed iRoots.
fn exposed(coverage: &Value) -> u64 {
    let idioms = coverage["idioms"].as_array().expect("a row for each idiom");
    idioms.iter().filter_map(|row| row["exposed"].as_u64()).sum()
}

#[test]
fn what_was_tested_is_not_tested_again_until_the_code_changes() {
    let folder = folder("store");
    std::fs::create_dir_all(folder.join("stripped")).expect("the folder can be created");
    compile(&folder, &program("", "1"));
    let first = search(&folder, &[]);
    assert_eq!(first["exhausted"], true, "it has a reason to stop: {first}");
    let kept = coverage(&folder, &["--list"]);
    // Read and write of one thread with those of the other, and a write between.
    assert!(exposed(&kept) >= 4, "{kept}");
    assert!(kept["iroots"].to_string().contains("add.c:4"), "{kept}");
    let again = search(&folder, &["--seed", "2"]);
    assert!(again["runs"].as_u64() < first["runs"].as_u64(), "{first} {again}");
    assert_eq!(coverage(&folder, &[])["searches"][1]["fresh"], 0);
    // Without the store everything is new, and nothing is written.
    assert_eq!(search(&folder, &["--fresh"])["runs"], first["runs"]);
    assert_eq!(coverage(&folder, &[])["searches"].as_array().map(Vec::len), Some(2));

    // Code that was only moved is recognized.
    compile(&folder, &program("int more(int x) { return 3 * x + counter; }", "1"));
    let moved = search(&folder, &[]);
    assert_eq!(moved["notes"], Value::Array(vec![]), "{moved}");
    assert_eq!(moved["runs"], search(&folder, &[])["runs"]);
    assert!(moved["runs"].as_u64() < first["runs"].as_u64(), "{first} {moved}");

    // Code that was changed is new.
    std::fs::copy(folder.join(FILE_NAME), folder.join("before.sqlite")).expect("a copy can be made");
    compile(&folder, &program("", "2"));
    let changed = search(&folder, &[]);
    assert!(changed["notes"].to_string().contains("about code that was changed since"), "{changed}");
    assert_eq!(changed["runs"], first["runs"]);
    let both = coverage(&folder, &["--diff", "before.sqlite"]);
    assert_eq!(both["only_there"], Value::Array(vec![]), "{both}");
    // A build without symbols forgets nothing.
    let output = raddle(&folder, &["cc", "-s", "-O1", "-pthread", "add.c", "-o", "stripped/add"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = raddle(&folder, &["coverage", "--forget-stale", "stripped/add"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("name a build with symbols"));
    let forgotten = coverage(&folder, &["--forget-stale", "add"]);
    assert!(forgotten["forgotten"].as_u64() > Some(0), "{forgotten}");
    assert_eq!(exposed(&forgotten), exposed(&kept));
    assert_eq!(search(&folder, &[])["notes"], Value::Array(vec![]));
}

#[test]
fn filters_leave_out_what_is_not_asked_for() {
    let folder = folder("store_filters");
    compile(&folder, &program("", "1"));
    search(&folder, &[]);
    let count = |words: &[&str]| exposed(&coverage(&folder, words));
    assert_eq!(count(&["--own"]) + count(&["--libraries"]), count(&[]));
    assert!(count(&["--own"]) > 0);
    assert_eq!(count(&["--failed"]), 0);
}

#[test]
fn two_searches_at_once_both_add_and_a_killed_one_harms_nothing() {
    let folder = folder("store_together");
    compile(&folder, &program("", "1"));
    let start = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
        command.args(["run", "--races", "off"]).args(words).args(["--", "./add"]).current_dir(&folder);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("raddle starts")
    };
    let several: Vec<_> = ["1", "2", "3"].map(|seed| start(&["-s", "maple", "--seed", seed])).into();
    for mut child in several {
        assert_eq!(child.wait().expect("it ends").code(), Some(0));
    }
    let kept = coverage(&folder, &[]);
    assert_eq!(kept["searches"].as_array().map(Vec::len), Some(3), "{kept}");
    // One that would run for long.
    let mut endless = start(&["-s", "pos", "--coverage", "--runs", "1e9"]);
    let in_use = folder.join(format!("{FILE_NAME}-wal"));
    while !in_use.exists() {
        assert!(
            endless.try_wait().expect("it can be asked").is_none(),
            "it has ended before it used the store"
        );
        std::thread::yield_now();
    }
    endless.kill().expect("it can be killed");
    endless.wait().expect("it ends");
    assert_eq!(coverage(&folder, &[]), kept);
    assert_eq!(search(&folder, &[])["notes"], Value::Array(vec![]));
}

#[test]
fn a_damaged_store_is_reported_and_set_aside() {
    let folder = folder("store_damaged");
    compile(&folder, &program("", "1"));
    let text = "this is no store, however long one reads on in it";
    std::fs::write(folder.join(FILE_NAME), text).expect("a file can be written");
    let output = raddle(&folder, &["coverage"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the store is damaged"));
    let report = search(&folder, &[]);
    assert!(report["notes"].to_string().contains(".damaged-1, and a new one was begun"), "{report}");
    let aside = folder.join(format!("{FILE_NAME}.damaged-1"));
    assert_eq!(std::fs::read_to_string(aside).expect("it is there"), text);
    assert!(exposed(&coverage(&folder, &[])) > 0);
}

#[test]
fn what_was_tried_in_vain_is_added_once_however_many_strategies_know_it() {
    let folder = folder("store_lanes");
    compile(&folder, &program("", "1"));
    let failed = || {
        let kept = coverage(&folder, &["--list"]);
        let roots = kept["iroots"].as_array().expect("they are listed").clone();
        roots.iter().filter_map(|root| root["failed"].as_u64()).sum::<u64>()
    };
    search(&folder, &[]);
    let before = failed();
    let report = run(&folder, &["-s", "maple+pos+surw", "--races", "off", "--runs", "3", "--", "./add"]);
    let runs = report["runs"].as_u64().expect("they are counted");
    assert!(before > runs, "{before} failed attempts suffice to be counted three times");
    assert!((before..=before + runs).contains(&failed()), "{before} and then {}", failed());
}

#[test]
fn a_failing_run_is_not_the_first_with_what_is_known() {
    let folder = folder("store_first");
    let text = "#include <pthread.h>\n#include <stdlib.h>\nstatic volatile int counter;\n\
        static void *work(void *unused) { counter++; return unused; }\n\
        int main(void) {\n    pthread_t a;\n    pthread_create(&a, 0, work, 0);\n    counter++;\n\
        pthread_join(a, 0);\n    if (counter != 2) abort();\n    return 0;\n}\n";
    compile(&folder, text);
    let search = |words: &[&str]| {
        let common = ["-s", "pos+surw", "--coverage", "--races", "off", "--no-minimize"];
        run(&folder, &[&common, words, &["--", "./add"]].concat())
    };
    let first = search(&[]);
    assert!(first["iroots"].as_array().is_some_and(|roots| !roots.is_empty()), "{first}");
    search(&["--keep-going", "--runs", "200"]);
    // Even the first run of a search.
    let again = ["1", "2", "3", "4", "5", "6", "7", "8"].map(|seed| search(&["--seed", seed]));
    assert!(again.iter().any(|report| report["first_failure"] == 0), "{again:?}");
    for report in again {
        assert_eq!(report["iroots"].as_array().map_or(0, Vec::len), 0, "{report}");
    }
}

#[test]
fn lines_and_folders_do_not_matter() {
    let folder = folder("store_moved");
    compile(&folder, &program("", "1"));
    search(&folder, &[]);
    // Other lines, a folder with a space in its name, and another store.
    compile(&folder, &format!("\n\n{}", program("", "1")));
    let away = folder.join("far away");
    std::fs::create_dir_all(&away).expect("the folder can be created");
    copy(&folder.join("add"), &away.join("add"));
    run(&folder, &[SEARCH, &["--store", "other.sqlite", "--", "far away/add"]].concat());
    let both = coverage(&folder, &["--diff", "other.sqlite"]);
    assert!(exposed(&coverage(&folder, &["--store", "other.sqlite", "--own"])) > 0, "{both}");
    assert_eq!((&both["only_here"], &both["only_there"]), (&Value::Array(vec![]), &Value::Array(vec![])));

    compile(&folder, &program("", "2"));
    let changed = search(&folder, &["--store", "other.sqlite"]);
    let advice = changed["notes"].to_string();
    assert!(advice.contains("raddle coverage --store other.sqlite --forget-stale "), "{advice}");
    // A file that is not a store is rejected, and stays unchanged.
    let output = raddle(&folder, &[&["run"], SEARCH, &["--store", "add.c", "--", "./add"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is not a store\nhelp: name another file"));
    assert_eq!(std::fs::read_to_string(folder.join("add.c")).expect("it is there"), program("", "2"));
}
