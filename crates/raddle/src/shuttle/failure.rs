//! Reports of failing runs.

use super::FailurePersistence;
use super::scheduler::Schedule;
use crate::Failed;
use raddle_model::{BlockReason, Blocked, Failure as Verdict};
use std::any::Any;
use std::panic::resume_unwind;

/// The reason why the runs of a scheduler ended.
pub(super) enum Failure {
    /// A run failed, with the payload if it was a panic.
    Run(Box<Failed>, Option<Box<dyn Any + Send>>),
    /// The scheduler panicked.
    Scheduler(Box<dyn Any + Send>),
}

/// Prints the report of a failure and panics.
#[track_caller]
pub(super) fn raise(failure: Failure, persistence: &FailurePersistence) -> ! {
    let (failed, payload) = match failure {
        Failure::Run(failed, payload) => (failed, payload),
        Failure::Scheduler(payload) => resume_unwind(payload),
    };
    if *persistence != FailurePersistence::None {
        eprintln!("{failed}");
    }
    if *persistence == FailurePersistence::Print {
        let schedule = Schedule::of(&failed.trace).encode();
        eprintln!("failing schedule:\n\"\n{schedule}\n\"\npass it to `shuttle::replay` to replay it");
    }
    if let Some(payload) = payload {
        resume_unwind(payload);
    }
    match failed.trace.verdict.failure() {
        Some(Verdict::Assertion { message, .. }) => panic!("{message}"),
        Some(Verdict::Deadlock { blocked, .. }) => match blocked.iter().find_map(own_lock) {
            Some(lock) => panic!("deadlock! a task tried to acquire a {lock} it already holds"),
            None => panic!("deadlock! {}", failed.headline()),
        },
        Some(Verdict::StepLimit { limit, .. }) => {
            panic!("exceeded max_steps bound {}", limit.saturating_add(1))
        }
        _ => panic!("{}", failed.headline()),
    }
}

/// Returns the kind of lock that a thread both holds and waits for, if any.
fn own_lock(blocked: &Blocked) -> Option<&'static str> {
    let name = match blocked.reason {
        BlockReason::Mutex => "Mutex",
        BlockReason::ReadWriteLock => "RwLock",
        _ => return None,
    };
    blocked.held_by.contains(&blocked.thread).then_some(name)
}
