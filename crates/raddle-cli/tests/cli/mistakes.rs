//! Mistakes of the user: a message with place, cause and remedy, and exit status 2.

use crate::common::{figure, raddle, scratch};

fn file(name: &str, text: &str) -> String {
    let path = scratch(name);
    std::fs::write(&path, text).expect("the target folder can be written to");
    path
}

#[test]
fn a_bad_program() {
    let path = file("bad.rdl", "shared x = 0\nthread A {\n    x = y + 1\n}\n");
    raddle(&["lab", "run", &path]).is_mistake(&["bad.rdl: line 3, column 9", "`y`"]);
    let path = file("cut.rdl", "shared x = 0\nthread A {\n    x = 1\n");
    raddle(&["lab", "run", &path]).is_mistake(&["cut.rdl: line "]);
    raddle(&["lab", "run", &file("empty.rdl", "")]).is_mistake(&["empty.rdl: line "]);
}

#[test]
fn a_missing_file() {
    raddle(&["lab", "run", "no/such.rdl"]).is_mistake(&["cannot read no/such.rdl", "No such file"]);
    raddle(&["replay", "no/such.json"]).is_mistake(&["cannot read no/such.json"]);
    raddle(&["lab", "micro", "no/such.json"]).is_mistake(&["cannot read no/such.json"]);
    let words = ["lab", "run", &figure("abba"), "--runs", "100", "--record", "no/such/folder/bug.json"];
    raddle(&words).is_mistake(&["cannot write the failing run to no/such/folder/bug.json"]);
}

#[test]
fn an_unknown_strategy_or_parameter() {
    let with = |spec: &str| raddle(&["lab", "run", &figure("abba"), "--strategy", spec]);
    with("psos").is_mistake(&["no strategy is called `psos`", "random-walk, pct,", "dpor"]);
    with("pct:dept=3").is_mistake(&["`pct` has no parameter `dept`", "depth, steps"]);
    with("pct:depth=x").is_mistake(&["`depth=x`"]);
    with("").is_mistake(&["no strategy is called ``"]);
    with("conflict:dfs").is_mistake(&["conflict:pos"]);
    raddle(&["lab", "micro", "-s", "psos"]).is_mistake(&["no strategy is called `psos`"]);
    raddle(&["strategies", "psos"]).is_mistake(&["no strategy is called `psos`", "dpor"]);
}

#[test]
fn an_unknown_parameter_of_a_program() {
    let with = |set: &str| raddle(&["lab", "run", &figure("reorder"), "--set", set]);
    with("m=3").is_mistake(&["reorder.rdl: ", "`m`", "n"]);
    with("n").is_mistake(&["such as n=5"]);
    with("n=x").is_mistake(&["such as n=5"]);
}

#[test]
fn numbers_out_of_range() {
    for words in [
        ["--runs", "0"],
        ["--runs", "1e99"],
        ["--runs", "1e11"],
        ["--jobs", "0"],
        ["--step-limit", "0"],
        ["--patience", "many"],
        ["--timeouts", "never"],
    ] {
        raddle(&[&["lab", "run", &figure("abba")][..], &words].concat()).is_mistake(&[words[0]]);
    }
    let bound = |depth: &str| {
        raddle(&["lab", "bound", "--threads", "2", "--steps", "5", "--runs", "9", "--depth", depth])
    };
    bound("6").is_mistake(&["depth"]);
    bound("0").is_mistake(&["depth"]);
    assert_eq!(bound("5").status, 0);
}

#[test]
fn a_bad_benchmark() {
    let path = file("bad_micro.json", "{\n \"programs\": [\n  {\"name\": 3}\n ]\n}");
    raddle(&["lab", "micro", &path]).is_mistake(&["bad_micro.json: line 3"]);
    raddle(&["lab", "micro", "--program", "uniform-99"]).is_mistake(&["`uniform-99`", "uniform-0"]);
}
