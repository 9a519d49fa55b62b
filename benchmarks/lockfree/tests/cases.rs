//! Every wrong structure is refuted, and the right ones are verified for all scenarios with one call of each of two threads.

use lockfree::{CASES, Effort};

#[test]
fn wrong_structures_are_refuted() {
    for case in CASES.iter().filter(|case| case.mistake.is_some()) {
        let refuted = case.search();
        assert!(refuted.is_err(), "{}: {:?} was not found", case.name, case.mistake);
    }
}

#[test]
fn right_structures_are_verified() {
    for case in CASES.iter().filter(|case| case.mistake.is_none()) {
        let summary =
            (case.check)(Effort::Verify { calls: 1 }, false).unwrap_or_else(|refuted| panic!("{refuted}"));
        assert_eq!(summary.verified, summary.scenarios, "{}", case.name);
    }
}

#[test]
fn right_structures_are_verified_under_weak_memory() {
    for case in CASES.iter().filter(|case| case.mistake.is_none()) {
        let summary = (case.check)(Effort::VerifyWeak, false)
            .unwrap_or_else(|refuted| panic!("{}: {refuted}", case.name));
        assert_eq!(summary.verified, summary.scenarios, "{}", case.name);
    }
}

#[test]
fn structures_are_lock_free_unless_they_wait() {
    for case in CASES.iter().filter(|case| case.mistake.is_none()) {
        let result = (case.check)(Effort::Verify { calls: 1 }, true);
        assert_eq!(result.is_err(), case.is_blocking, "{}: {result:?}", case.name);
    }
}
