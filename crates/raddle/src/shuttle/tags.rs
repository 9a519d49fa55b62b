//! Shuttle's older API for attaching a value to a task.

use super::current::{get_label_for_task, me, set_label_for_task};
use super::scheduler::TaskId;
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// A value attached to a task. Every [`Taggable`] type is one.
pub trait Tag: Taggable {
    /// Returns it as `Any`, for downcasting.
    fn as_any(&self) -> &dyn Any;
}

/// A type whose values are tags.
pub trait Taggable: Debug {}

impl<T: Taggable + Any> Tag for T {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A tag is a label, and inherited as one.
#[derive(Clone, Debug)]
struct Tagged(Arc<dyn Tag>);

/// Tags a task, and returns the previous tag.
#[deprecated(note = "use set_label_for_task")]
pub fn set_tag_for_task(task: TaskId, tag: Arc<dyn Tag>) -> Option<Arc<dyn Tag>> {
    set_label_for_task(task, Tagged(tag)).map(|Tagged(tag)| tag)
}

/// Returns the tag of a task.
#[deprecated(note = "use get_label_for_task")]
pub fn get_tag_for_task(task: TaskId) -> Option<Arc<dyn Tag>> {
    get_label_for_task(task).map(|Tagged(tag)| tag)
}

/// Tags the current task, and returns the previous tag.
#[deprecated(note = "use set_label_for_task")]
pub fn set_tag_for_current_task(tag: Arc<dyn Tag>) -> Option<Arc<dyn Tag>> {
    set_label_for_task(me(), Tagged(tag)).map(|Tagged(tag)| tag)
}

/// Returns the tag of the current task.
#[deprecated(note = "use get_label_for_task")]
pub fn get_tag_for_current_task() -> Option<Arc<dyn Tag>> {
    get_label_for_task(me()).map(|Tagged(tag)| tag)
}
