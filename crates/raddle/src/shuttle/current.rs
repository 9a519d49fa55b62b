//! Queries of a test about its own run.

pub use super::labels::{ChildLabelFn, ChildLabels, Labels, TaskName};
pub use super::scheduler::TaskId;
#[expect(deprecated, reason = "Shuttle's names are deprecated too")]
pub use super::tags::{
    Tag, Taggable, get_tag_for_current_task, get_tag_for_task, set_tag_for_current_task, set_tag_for_task,
};

use super::{labels, runner};
use crate::runtime;
use std::cmp::Ordering;
use std::fmt::Debug;
use std::ops::Deref;

/// Returns the number of steps of the run, including those without a switch, and one for its start.
///
/// # Panics
///
/// Outside a check.
pub fn context_switches() -> usize {
    runtime::steps() as usize + 1
}

/// Returns the current task.
///
/// # Panics
///
/// Outside a check.
pub fn me() -> TaskId {
    TaskId::of(runtime::with(|runtime| runtime.current()))
}

/// Returns the current task.
///
/// # Panics
///
/// Outside a check; see [`try_get_current_task`].
pub fn get_current_task() -> Option<TaskId> {
    Some(me())
}

/// Returns the current task, if a task calls this: `None` outside a check and in a scheduler.
pub fn try_get_current_task() -> Option<TaskId> {
    runtime::unwound_or_running().map(TaskId::of)
}

/// Restarts the step count of the run for [`MaxSteps`](super::MaxSteps).
pub fn reset_step_count() {
    runtime::with(|runtime| {
        runtime.engine.restart_step_limit();
        runner::count_from(runtime.engine.step_count());
    });
}

/// Returns the vector clock of the current task, or an empty one outside a check.
pub fn clock() -> VectorClock {
    try_get_current_task().map_or_else(VectorClock::new, clock_for)
}

/// Returns the vector clock of a task: for each task, the number of its steps that happen before the next one
/// of `task`. Happens-before is that of data races: the order of locks, joins, channels and so on, and of
/// atomics as their memory orders specify.
///
/// # Panics
///
/// Outside a check.
pub fn clock_for(task: TaskId) -> VectorClock {
    runtime::with(|runtime| {
        let mut time = runtime.engine.clock(task.thread()).to_vec();
        // The start of a task is a step, but not an event of its own.
        time.iter_mut().skip(1).for_each(|steps| *steps = steps.saturating_sub(1));
        VectorClock { time }
    })
}

/// The number of steps of each task that happen before an event.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VectorClock {
    time: Vec<u32>,
}

impl VectorClock {
    /// Creates a clock before which nothing happens.
    pub const fn new() -> VectorClock {
        VectorClock { time: Vec::new() }
    }

    /// Returns the number of steps of a task.
    pub fn get(&self, task: usize) -> u32 {
        self.time.get(task).copied().unwrap_or(0)
    }
}

impl Deref for VectorClock {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.time
    }
}

impl From<&[u32]> for VectorClock {
    fn from(time: &[u32]) -> VectorClock {
        VectorClock { time: time.to_vec() }
    }
}

impl<const N: usize> From<&[u32; N]> for VectorClock {
    fn from(time: &[u32; N]) -> VectorClock {
        VectorClock { time: time.to_vec() }
    }
}

impl PartialOrd for VectorClock {
    fn partial_cmp(&self, other: &VectorClock) -> Option<Ordering> {
        let tasks = self.time.len().max(other.time.len());
        let mut orders = (0..tasks).map(|task| self.get(task).cmp(&other.get(task)));
        orders.try_fold(Ordering::Equal, |all, order| match (all, order) {
            (Ordering::Equal, order) => Some(order),
            (all, order) => (order == Ordering::Equal || order == all).then_some(all),
        })
    }
}

/// Calls `f` with the labels of a task. `f` must not access labels itself.
pub fn with_labels_for_task<R>(task_id: TaskId, f: impl FnOnce(&mut Labels) -> R) -> R {
    labels::with(task_id, f)
}

/// Returns the label of type `T` of a task.
pub fn get_label_for_task<T: Clone + Debug + 'static>(task_id: TaskId) -> Option<T> {
    labels::with(task_id, |labels| labels.get().cloned())
}

/// Sets a label of a task, and returns the previous one of its type.
pub fn set_label_for_task<T: Clone + Debug + 'static>(task_id: TaskId, value: T) -> Option<T> {
    labels::with(task_id, |labels| labels.insert(value))
}

/// Removes the label of type `T` of a task, and returns it.
pub fn remove_label_for_task<T: Clone + Debug + 'static>(task_id: TaskId) -> Option<T> {
    labels::with(task_id, Labels::remove)
}

/// Returns the name of a task, if it has one.
pub fn get_name_for_task(task_id: TaskId) -> Option<TaskName> {
    get_label_for_task(task_id)
}

/// Sets the name of a task, and returns the previous one.
pub fn set_name_for_task(task_id: TaskId, task_name: impl Into<TaskName>) -> Option<TaskName> {
    set_label_for_task(task_id, task_name.into())
}
