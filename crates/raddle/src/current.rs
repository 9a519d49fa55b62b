//! What a test can ask about its own run, under the names that Shuttle gives it.

use crate::runtime;
use crate::scheduler::TaskId;
use crate::thread;

/// How many steps the run has taken, also those that did not switch; 0 while it is being closed.
pub fn context_switches() -> usize {
    runtime::steps() as usize
}

/// The thread or task that runs.
pub fn me() -> TaskId {
    thread::current().id()
}

/// The thread or task that runs, if this is called by one: not outside of a check.
pub fn get_current_task() -> Option<TaskId> {
    runtime::epoch().map(|_| me())
}
