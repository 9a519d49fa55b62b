//! User errors: a message with location, cause and remedy, and exit status 2.

use crate::common::{figure, raddle, scratch};

fn file(name: &str, text: &str) -> String {
    let path = scratch(name);
    std::fs::write(&path, text).expect("the target folder can be written to");
    path
}

#[test]
fn a_bad_program() {
    let path = file("bad.rdl", "shared x = 0\nthread A {\n    x = y + 1\n}\n");
    raddle(&["lab", "run", &path]).is_user_error(&["bad.rdl: line 3, column 9", "`y`"]);
    let path = file("cut.rdl", "shared x = 0\nthread A {\n    x = 1\n");
    raddle(&["lab", "run", &path]).is_user_error(&["cut.rdl: line "]);
    raddle(&["lab", "run", &file("empty.rdl", "")]).is_user_error(&["empty.rdl: line "]);
}

#[test]
fn a_missing_file() {
    raddle(&["lab", "run", "no/such.rdl"]).is_user_error(&["cannot read no/such.rdl", "No such file"]);
    raddle(&["replay", "no/such.json"]).is_user_error(&["cannot read no/such.json"]);
    raddle(&["lab", "micro", "no/such.json"]).is_user_error(&["cannot read no/such.json"]);
    let words = ["lab", "run", &figure("abba"), "--runs", "100", "--record", "no/such/folder/bug.json"];
    raddle(&words).is_user_error(&["cannot write the failing run to no/such/folder/bug.json"]);
}

#[test]
fn an_unknown_strategy_or_parameter() {
    let with = |spec: &str| raddle(&["lab", "run", &figure("abba"), "--strategy", spec]);
    with("psos").is_user_error(&["unknown strategy `psos`", "random-walk, pct,", "dpor"]);
    with("pct:dept=3").is_user_error(&["`pct` has no parameter `dept`", "depth, steps"]);
    with("pct:depth=x").is_user_error(&["invalid value `x` for parameter `depth`"]);
    with("").is_user_error(&["unknown strategy ``"]);
    with("conflict:dfs").is_user_error(&["conflict:pos"]);
    raddle(&["lab", "micro", "-s", "psos"]).is_user_error(&["unknown strategy `psos`"]);
    raddle(&["strategies", "psos"]).is_user_error(&["unknown strategy `psos`", "dpor"]);
}

#[test]
fn an_unknown_parameter_of_a_program() {
    let with = |set: &str| raddle(&["lab", "run", &figure("reorder"), "--set", set]);
    with("m=3").is_user_error(&["reorder.rdl: ", "`m`", "n"]);
    with("n").is_user_error(&["such as n=5"]);
    with("n=x").is_user_error(&["such as n=5"]);
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
        raddle(&[&["lab", "run", &figure("abba")][..], &words].concat()).is_user_error(&[words[0]]);
    }
    let bound = |depth: &str| {
        raddle(&["lab", "bound", "--threads", "2", "--steps", "5", "--runs", "9", "--depth", depth])
    };
    bound("6").is_user_error(&["depth"]);
    bound("0").is_user_error(&["depth"]);
    assert_eq!(bound("5").status, 0);
}

#[test]
fn a_bad_benchmark() {
    let path = file("bad_micro.json", "{\n \"programs\": [\n  {\"name\": 3}\n ]\n}");
    raddle(&["lab", "micro", &path]).is_user_error(&["bad_micro.json: line 3"]);
    raddle(&["lab", "micro", "--program", "uniform-99"]).is_user_error(&["`uniform-99`", "uniform-0"]);
}
