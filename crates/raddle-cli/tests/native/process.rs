//! What a program is to the system: its status, its start, its user.

use super::{compile, raddle, refused, replays, run};

/// A status other than 0 is a failure only if that is asked for.
#[test]
fn a_status_is_a_failure_if_asked_for() {
    let folder = compile("status", "status", &[]);
    let words = ["--fail-on-exit", "--runs", "200", "--", "./status"];
    for end in [&["5"][..], &["5", "_exit"]] {
        let plain = run(&folder, &[&words[1..], end].concat());
        assert_eq!((&plain["verdict"], &plain["runs"]), (&"passed".into(), &200.into()), "{plain}");
        let report = run(&folder, &[&words[..], end].concat());
        assert_eq!(report["kind"], "exit", "{report}");
        let message = report["message"].as_str().expect("a failure has a message");
        assert_eq!(message, "exit: the program ended with status 5");
        replays(&folder, &report, 3);
        let every = run(&folder, &[&["--keep-going"], &words[..], end].concat());
        assert!(every["failures"].as_u64() < Some(200), "some runs end with 0: {every}");
    }
    // Whoever waits for it sees a 0.
    let report = run(&folder, &[&words[..], &["256"]].concat());
    assert_eq!(report["verdict"], "passed", "{report}");
    let bare =
        raddle(&folder, &["run", "--baseline", "stress", "--fail-on-exit", "--runs", "1", "./status", "0"]);
    assert_eq!(bare.status.code(), Some(0), "{}", String::from_utf8_lossy(&bare.stdout));
}

/// Where the kernel does not keep addresses the same, the program is started again once and not for ever.
#[test]
fn a_program_is_started_again_once() {
    let folder = compile("forgets", "forgets", &["-rdynamic"]);
    let report = run(&folder, &["--fail-on-exit", "--jobs", "1", "--runs", "3", "--", "./forgets"]);
    assert_eq!(report["verdict"], "passed", "{report}");
    let starts = std::fs::read(folder.join("starts")).expect("it was asked for the same addresses");
    assert_eq!(starts.len(), 1);
}

/// The C library would wait for threads that are parked.
#[test]
fn the_user_changes_while_threads_are_alive() {
    let folder = compile("identity", "identity", &[]);
    for way in [&[][..], &["late"]] {
        let report = run(&folder, &[&["--runs", "30", "--", "./identity"], way].concat());
        assert_eq!((&report["verdict"], &report["runs"]), (&"passed".into(), &30.into()), "{report}");
    }
    let words = ["run", "--threads", "os", "--runs", "1", "--", "./identity"];
    refused(&folder, &words, &["seteuid is called while other threads are alive", "--threads fibers"]);
}
