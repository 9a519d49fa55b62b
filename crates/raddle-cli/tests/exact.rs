//! Compares the strategies with an enumerator that shares no code with the engine, on generated programs. `tools/exact.sh` is
//! the long form.

use std::path::PathBuf;

#[test]
fn strategies_do_what_their_definitions_say() {
    let check = exact::Check {
        raddle: PathBuf::from(env!("CARGO_BIN_EXE_raddle")),
        folder: PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("exact"),
        seed: 1,
        first: 0,
        programs: 40,
    };
    let report = exact::run(&check, &mut |_| ()).expect("the programs are compared");
    assert!(report.mismatches.is_empty(), "{}\n\n{report}", report.mismatches.join("\n"));
    // The programs have the compared features.
    for (feature, programs) in &report.features {
        assert!(*programs > 0, "no program {feature}");
    }
    let compared = |row: &exact::Row| row.compared * 10 >= 9 * check.programs;
    assert!(report.rows.values().all(compared), "most programs are small enough\n{report}");
}
