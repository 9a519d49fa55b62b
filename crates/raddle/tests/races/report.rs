//! The report of a race, and its replay.

use crate::plain::Plain;
use crate::recorded::trace;
use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicBool, Ordering::Relaxed};
use raddle::{Config, Failure, FailureFile, ReplayError, check_with, thread, try_replay};
use raddle_model::{Access, MemoryOrder, TraceFile, Verdict};
use std::path::PathBuf;

fn relaxed_message() {
    let shared = Arc::new((Plain::default(), AtomicBool::new(false)));
    let other = shared.clone();
    thread::Builder::new()
        .name("writer".to_owned())
        .spawn(move || {
            other.0.set(7);
            other.1.store(true, Relaxed);
        })
        .unwrap();
    if shared.1.load(Relaxed) {
        shared.0.get();
    }
}

/// The line of the plain write of [`relaxed_message`]; the store is one below, the load four and the read five.
const WRITE: u32 = line!() - 10;

#[test]
fn a_race_is_reported_with_locations_and_replays() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("races");
    let config = Config::new().with_failures(directory);
    let failed = check_with(&config, relaxed_message).unwrap_err();
    let Verdict::Failed { failure: raddle_model::Failure::DataRace { first, second, .. } } =
        trace(&failed).verdict
    else {
        panic!("{failed}")
    };
    assert_eq!((first.access, second.access), (Access::Write, Access::Read));
    assert_eq!((first.order, second.order), (MemoryOrder::Plain, MemoryOrder::Plain));
    // Long lines are wrapped.
    let text = failed.to_string().replace("\n     ", " ");
    let location = |below: u32| format!("{}:{}:", file!(), WRITE + below);
    let Failure::DataRace { threads, locations, .. } = &failed.failure else { panic!("{failed}") };
    assert_eq!(threads, &["writer", "main"]);
    assert!(
        locations[0].starts_with(&location(0)) && locations[1].starts_with(&location(5)),
        "{locations:?}"
    );
    for part in [
        "data race on #".to_owned(),
        format!("step {}: writer writes it; {}", first.step + 1, location(0)),
        format!("step {}: main reads it; {}", second.step + 1, location(5)),
        format!("(relaxed; {}", location(4)),
        format!(") reads what step {} (relaxed; {}", first.step + 2, location(1)),
        "orders nothing without a release there and an acquire here".to_owned(),
    ] {
        assert!(text.contains(&part), "`{part}` is not in:\n{text}");
    }
    let FailureFile::At(path) = &failed.file else { panic!("{text}") };
    let written = TraceFile::from_json(&std::fs::read_to_string(path).unwrap()).unwrap();
    let written = TraceFile { signature: None, ..written };
    assert_eq!(written, trace(&failed));
    for _ in 0..100 {
        match try_replay(relaxed_message, path) {
            Err(ReplayError::Failed(again)) => assert_eq!(trace(&again), written),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn any_number_of_jobs_finds_the_same_race() {
    let found = [1, 2, 3].map(|jobs| {
        let config = Config::new().with_jobs(jobs).without_failure_files();
        let mut trace = trace(&check_with(&config, relaxed_message).unwrap_err());
        // Each is its own check in this test.
        trace.program.clear();
        trace.id.clear();
        trace
    });
    assert!(found.iter().all(|trace| *trace == found[0]));
}
