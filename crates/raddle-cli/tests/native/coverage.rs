//! `raddle run --coverage`.

use super::{folder, raddle, run};
use serde_json::{Value, json};
use std::path::Path;

/// Two threads read and write a counter in line 6, and the main one reads it twice in the end: five dependencies by place,
/// and one write between the read and the write of another thread.
#[test]
fn iroots_are_told_by_their_places_in_the_source() {
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
    let told = |access: &Value| {
        assert_eq!(access["at"], "add at lost_update.c:6");
        access["deed"].clone()
    };
    assert_eq!(accesses.iter().map(told).collect::<Vec<_>>(), ["read", "write", "write"]);
    // Names of places are the same in another process, and in two at once.
    assert_eq!(covered(&["maple"]), first);
    let several = covered(&["pos+random-walk", "--jobs", "2"]);
    let exposed = |coverage: &Value| coverage["roots"].as_array().map(Vec::len);
    assert_eq!(exposed(&several), exposed(&first));
    assert_eq!(
        several["saturation"].as_array().and_then(|curve| curve.last().cloned()).map(|last| last[1].clone()),
        Some(json!(6))
    );
}

/// The program is the same in both folders, and so is what a seed means.
#[test]
fn a_search_does_not_depend_on_the_folder() {
    let here = folder("folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks/corpus/carter01.c");
    let source = source.to_str().expect("the path is text");
    let made = raddle(&here, &["cc", "-g", "-O1", "-pthread", source, "-o", "program"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let there = folder("folder/further down");
    std::fs::copy(here.join("program"), there.join("program")).expect("the program can be copied");
    let words = ["--fresh", "--coverage", "--keep-going", "--no-minimize", "-s", "maple", "--", "./program"];
    let [first, second] = [&here, &there].map(|folder| run(folder, &words));
    assert!(first["runs"].as_u64() > Some(100), "{first}");
    for field in ["runs", "failures", "first_failure", "partial_orders", "coverage"] {
        assert_eq!(first[field], second[field], "{field}");
    }
}
