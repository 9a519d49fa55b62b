//! The output of a test, without that of its harness.

/// Returns the part of `output` that belongs to `test` itself.
pub fn without_harness(output: &str, test: &str) -> String {
    let begin = format!("test {test} ... ");
    // The mark of a test that must panic follows its name.
    let marked = format!("test {test} - should panic ... ");
    let from = [begin, marked].into_iter().find_map(|begin| Some(output.find(&begin)? + begin.len()));
    let own = &output[from.unwrap_or(0)..];
    let ends = ["FAILED\n\nfailures:\n", "ok\n\ntest result: ok."];
    let to = ends.into_iter().filter_map(|end| own.rfind(end)).min();
    own[..to.unwrap_or(own.len())].trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harness_is_taken_away() {
        let failed = "\nrunning 1 test\ntest a::b ... one\ntwo\nFAILED\n\nfailures:\n\nfailures:\n    a::b\n\ntest result: \
                      FAILED. 0 passed\n\n";
        assert_eq!(without_harness(failed, "a::b"), "one\ntwo");
        let passed = "\nrunning 1 test\ntest a - should panic ... ok\n\ntest result: ok. 1 passed\n\n";
        assert_eq!(without_harness(passed, "a"), "");
        assert_eq!(without_harness("of another harness\n", "a"), "of another harness");
    }
}
