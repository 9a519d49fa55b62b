//! `raddle run --coverage`.

use super::{copy, folder, raddle, run};
use serde_json::{Value, json};
use std::path::Path;

/// Two threads read and write a counter in line 6, and the main one reads it twice at the end: five
/// dependencies by location, and one write between the read and the write of another thread.
#[test]
fn iroots_have_source_locations() {
    let folder = folder("coverage");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/lost_update.c");
    let source = source.to_str().expect("the path is text");
    let covered = |words: &[&str]| {
        let common = [
            "--coverage",
            "--fresh",
            "--runs",
            "80",
            "--keep-going",
            "--no-minimize",
            "--races",
            "off",
            "-s",
        ];
        run(&folder, &[&common[..], words, &[source]].concat())["coverage"].clone()
    };
    let first = covered(&["maple"]);
    assert_eq!(first["idioms"][0], json!({"exposed": 5, "predicted": 5, "confirmed": 5}), "{first}");
    assert_eq!(first["idioms"][1], json!({"exposed": 1, "predicted": 1, "confirmed": 1}), "{first}");
    let roots = first["roots"].as_array().expect("iRoots");
    let lost = roots.iter().find(|root| root["idiom"] == 2).expect("the lost update");
    let accesses = lost["accesses"].as_array().expect("accesses");
    let printed = |access: &Value| {
        assert_eq!(access["at"], "add at lost_update.c:6");
        access["action"].clone()
    };
    assert_eq!(accesses.iter().map(printed).collect::<Vec<_>>(), ["read", "write", "write"]);
    // Location names are the same in another process, and in two at once.
    assert_eq!(covered(&["maple"]), first);
    let several = covered(&["pos+random-walk", "--jobs", "2"]);
    let exposed = |coverage: &Value| coverage["roots"].as_array().map(Vec::len);
    assert_eq!(exposed(&several), exposed(&first));
    assert_eq!(
        several["saturation"].as_array().and_then(|curve| curve.last().cloned()).map(|last| last[1].clone()),
        Some(json!(6))
    );
}

/// The program is the same in both folders, and so is the meaning of a seed.
#[test]
fn a_search_does_not_depend_on_the_folder() {
    let here = folder("folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks/corpus/carter01.c");
    let source = source.to_str().expect("the path is text");
    let made = raddle(&here, &["cc", "-g", "-O1", "-pthread", source, "-o", "program"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let there = folder("folder/further down");
    copy(&here.join("program"), &there.join("program"));
    let words = ["--fresh", "--coverage", "--keep-going", "--no-minimize", "-s", "maple", "--", "./program"];
    let [first, second] = [&here, &there].map(|folder| run(folder, &words));
    assert!(first["runs"].as_u64() > Some(100), "{first}");
    for field in ["runs", "failures", "first_failure", "partial_orders", "coverage"] {
        assert_eq!(first[field], second[field], "{field}");
    }
}

/// One line that two functions reach.
const SHARED_LINE: &str = "#include <pthread.h>
static int counter;
static __attribute__((noinline)) void add(int by) { counter += by; }
static __attribute__((noinline)) void *one(void *unused) { add(1); return unused; }
static __attribute__((noinline)) void *two(void *unused) { add(2); return unused; }
int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, one, 0);
    pthread_create(&threads[1], 0, two, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
";

#[test]
fn a_location_with_two_callers_is_two_with_callers() {
    let folder = folder("callers");
    std::fs::write(folder.join("shared.c"), SHARED_LINE).expect("it can be written");
    let searched = |words: &[&str]| {
        let common = ["--races", "off", "--no-minimize", "-s", "maple"];
        run(&folder, &[&common[..], words, &["shared.c"]].concat())
    };
    // A read and a write of one line: write => read, read => write, and write => write if both have read
    // before.
    let plain = searched(&["--fresh"])["coverage"].clone();
    assert_eq!(plain["idioms"][0]["exposed"], 3, "{plain}");
    let apart = searched(&["--callers"]);
    let coverage = &apart["coverage"];
    assert_eq!(coverage["idioms"][0]["exposed"], 6, "{coverage}");
    let printed = coverage.to_string();
    assert!(printed.contains("add at shared.c:3, called by one at shared.c:4"), "{printed}");
    // Entries of the store with callers are recognized.
    assert_ne!(coverage["saturation"], json!([]), "{coverage}");
    let again = searched(&["--callers"])["coverage"].clone();
    assert_eq!(again["saturation"], json!([]), "{again}");
    let kept = raddle(&folder, &["coverage", "--list", "--json"]);
    let kept: Value = serde_json::from_slice(&kept.stdout).expect("it is JSON");
    let exposed = |idiom: usize| kept["idioms"][idiom]["exposed"].clone();
    assert_eq!(
        [exposed(0), exposed(1)],
        [0, 1].map(|idiom| coverage["idioms"][idiom]["exposed"].clone()),
        "{kept}"
    );
    assert!(kept.to_string().contains("shared.c:3 < shared.c:5"), "{kept}");
}
