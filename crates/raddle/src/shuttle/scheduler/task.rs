//! A scheduler's view of a task.

use crate::shuttle::current;
use crate::thread::ThreadId;
use std::fmt;

/// The number of a task: 0 for the main thread, and so on in the order in which threads and tasks were
/// started.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(usize);

impl TaskId {
    pub(crate) fn of(thread: raddle_model::ThreadId) -> TaskId {
        TaskId(thread.index())
    }

    pub(crate) fn thread(self) -> raddle_model::ThreadId {
        raddle_model::ThreadId(u32::try_from(self.0).unwrap_or(u32::MAX))
    }
}

impl From<usize> for TaskId {
    fn from(number: usize) -> TaskId {
        TaskId(number)
    }
}

impl From<TaskId> for usize {
    fn from(id: TaskId) -> usize {
        id.0
    }
}

impl From<ThreadId> for TaskId {
    fn from(id: ThreadId) -> TaskId {
        TaskId(id.into())
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match current::get_name_for_task(*self) {
            Some(name) => write!(f, "{name:?}({})", self.0),
            None => write!(f, "TaskId({})", self.0),
        }
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A task that can take the next step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    pub(crate) id: TaskId,
    pub(crate) parent: Option<TaskId>,
}

impl Task {
    /// Returns its number.
    pub fn id(&self) -> TaskId {
        self.id
    }

    /// Returns the task that started it; `None` for the main thread.
    pub fn parent_task_id(&self) -> Option<TaskId> {
        self.parent
    }

    /// Returns its name, if it has one.
    pub fn name(&self) -> Option<String> {
        current::get_name_for_task(self.id).map(String::from)
    }

    /// Returns true if it can take the next step, as all tasks that a scheduler sees.
    pub fn runnable(&self) -> bool {
        true
    }
}
