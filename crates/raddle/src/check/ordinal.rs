//! Distinguishes the checks of one test.

use std::cell::RefCell;
use std::collections::BTreeMap;

thread_local! {
    /// The number of checks that the tests of this OS thread have begun, by test name.
    static BEGUN: RefCell<BTreeMap<String, u64>> = const { RefCell::new(BTreeMap::new()) };
}

/// Returns the name of the next check of a test: the first has the name of the test, later ones have their
/// number appended, as in `test#2`. If the test name is unknown, it is `main` for all.
pub(super) fn next(test: &str) -> String {
    if test == "main" {
        return test.to_owned();
    }
    let number = BEGUN.with_borrow_mut(|begun| {
        let number = begun.entry(test.to_owned()).or_insert(0);
        *number += 1;
        *number
    });
    if number == 1 { test.to_owned() } else { format!("{test}#{number}") }
}

/// Returns the test of a check.
pub(super) fn test(check: &str) -> &str {
    match check.rsplit_once('#') {
        Some((test, number)) if number.parse::<u64>().is_ok() => test,
        _ => check,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_check_has_the_name_of_its_test() {
        let names: Vec<String> = (0..3).map(|_| next("a::r#try")).collect();
        assert_eq!(names, ["a::r#try", "a::r#try#2", "a::r#try#3"]);
        assert!(names.iter().all(|name| test(name) == "a::r#try"));
        assert_eq!([next("main"), next("main")], ["main", "main"]);
    }
}
