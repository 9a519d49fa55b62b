//! `raddle run --baseline`: programs that are not under control.

use super::{compile, run};

#[test]
fn a_program_is_left_alone_or_delayed() {
    let folder = compile("baseline", "switches", &[]);
    let words = |kind: &'static str| ["--baseline", kind, "--keep-going", "--runs", "20", "--", "./switches"];
    let stress = run(&folder, &words("stress"));
    assert_eq!((&stress["runs"], &stress["failures"]), (&20.into(), &0.into()), "{stress}");
    let delay = run(&folder, &words("delay"));
    assert_eq!((&delay["runs"], &delay["failures"]), (&20.into(), &20.into()), "{delay}");
    assert_eq!((&delay["kind"], &delay["first_failure"]), (&"assertion".into(), &0.into()), "{delay}");
}

#[test]
fn a_run_that_does_not_end_is_a_hang() {
    let folder = compile("baseline_hang", "switches", &[]);
    let report = run(
        &folder,
        &[
            "--baseline",
            "stress",
            "--runs",
            "9",
            "--jobs",
            "1",
            "--run-time",
            "50ms",
            "--",
            "./switches",
            "on",
        ],
    );
    assert_eq!((&report["kind"], &report["runs"]), (&"hang".into(), &1.into()), "{report}");
    assert!(report["failure_file"].is_null(), "nothing can be repeated: {report}");
}
