//! Texts for people, word for word. `cargo xtask bless` rewrites the files after a wanted change.

use crate::common::{figure, raddle, root};

#[track_caller]
pub(crate) fn golden(name: &str, found: &str) {
    let path = root().join("crates/raddle-cli/tests/golden").join(name);
    #[expect(clippy::disallowed_methods, reason = "the test itself is told to rewrite its files")]
    let bless = std::env::var("RADDLE_BLESS").is_ok();
    if bless {
        std::fs::write(&path, found).expect("the golden file can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{name} differs; found:\n{found}\nexpected:\n{expected}");
}

#[test]
fn an_assertion() {
    golden("pos_fig2.txt", &raddle(&["lab", "run", &figure("pos_fig2"), "--exact"]).out);
}

#[test]
fn a_deadlock() {
    golden("philosophers.txt", &raddle(&["lab", "run", &figure("philosophers"), "--runs", "1000"]).out);
}

#[test]
fn several_strategies() {
    let words =
        ["lab", "run", &figure("store_buffering"), "-s", "pos", "-s", "upo", "-s", "dpor", "--runs", "100"];
    golden("several.txt", &raddle(&words).out);
}

#[test]
fn a_bound() {
    let words = ["--threads", "2", "--steps", "10", "--depth", "3", "--conflicts", "4", "--runs", "1000"];
    golden("bound.txt", &raddle(&[&["lab", "bound"][..], &words].concat()).out);
}

#[test]
fn one_strategy() {
    golden("strategy_pct.txt", &raddle(&["strategies", "pct"]).out);
}
