//! Values that a test attaches to its tasks.

use super::scheduler::TaskId;
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

thread_local! {
    /// The labels of the tasks of the run on this OS thread, by number.
    static LABELS: RefCell<Vec<Labels>> = const { RefCell::new(Vec::new()) };
}

/// Forgets the labels of a run that is over.
pub(crate) fn forget() {
    // The destructors of labels may access other labels.
    drop(LABELS.take());
}

/// Copies the labels of the parent to a new task, with its own name and those that the parent's
/// [`ChildLabelFn`] sets.
pub(crate) fn inherit(parent: TaskId, child: TaskId, name: Option<&str>) {
    let mut labels = with(parent, |labels| labels.clone());
    labels.remove::<TaskName>();
    if let Some(name) = name {
        labels.insert(TaskName::from(name));
    }
    if let Some(ChildLabelFn(set)) = labels.get().cloned() {
        set(child, &mut labels);
    }
    let before = with(child, |slot| std::mem::replace(slot, labels));
    drop(before);
}

/// Calls `f` with the labels of a task.
pub(super) fn with<R>(task: TaskId, f: impl FnOnce(&mut Labels) -> R) -> R {
    LABELS.with_borrow_mut(|tasks| {
        let index = usize::from(task);
        if tasks.len() <= index {
            tasks.resize_with(index + 1, Labels::new);
        }
        f(&mut tasks[index])
    })
}

/// The labels of a task: at most one value of each type.
#[derive(Clone, Default)]
pub struct Labels {
    values: BTreeMap<TypeId, Box<dyn Label>>,
}

impl Labels {
    /// Creates an empty set of labels.
    pub fn new() -> Labels {
        Labels::default()
    }

    /// Sets the value of its type, and returns the previous one.
    pub fn insert<T: Clone + 'static>(&mut self, value: T) -> Option<T> {
        self.values.insert(TypeId::of::<T>(), Box::new(value)).and_then(taken)
    }

    /// Returns the value of type `T`.
    pub fn get<T: 'static>(&self) -> Option<&T> {
        (**self.values.get(&TypeId::of::<T>())?).as_any().downcast_ref()
    }

    /// Returns a mutable reference to the value of type `T`.
    pub fn get_mut<T: 'static>(&mut self) -> Option<&mut T> {
        (**self.values.get_mut(&TypeId::of::<T>())?).as_any_mut().downcast_mut()
    }

    /// Removes the value of type `T`, and returns it.
    pub fn remove<T: 'static>(&mut self) -> Option<T> {
        self.values.remove(&TypeId::of::<T>()).and_then(taken)
    }

    /// Returns the value of its type, and inserts `value` first if there was none.
    pub fn get_or_insert<T: Clone + 'static>(&mut self, value: T) -> &mut T {
        self.get_or_insert_with(|| value)
    }

    /// Returns the value of its type, and inserts the result of `make` first if there was none.
    pub fn get_or_insert_with<T: Clone + 'static>(&mut self, make: impl FnOnce() -> T) -> &mut T {
        let value = self.values.entry(TypeId::of::<T>()).or_insert_with(|| Box::new(make()));
        (**value).as_any_mut().downcast_mut().expect("a value is kept under its own type")
    }

    /// Returns the value of its type, and inserts the default first if there was none.
    pub fn get_or_insert_default<T: Default + Clone + 'static>(&mut self) -> &mut T {
        self.get_or_insert_with(T::default)
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.values.clear();
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Adds the values of `other`, which replace those of their types.
    pub fn extend(&mut self, other: Labels) {
        self.values.extend(other.values);
    }
}

fn taken<T: 'static>(value: Box<dyn Label>) -> Option<T> {
    value.into_any().downcast().ok().map(|value| *value)
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Labels").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// A value that can be cloned without knowing its type.
trait Label: Any {
    fn copy(&self) -> Box<dyn Label>;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<T: Clone + 'static> Label for T {
    fn copy(&self) -> Box<dyn Label> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn into_any(self: Box<T>) -> Box<dyn Any> {
        self
    }
}

impl Clone for Box<dyn Label> {
    fn clone(&self) -> Box<dyn Label> {
        (**self).copy()
    }
}

/// The label with the name of a task.
#[derive(Clone, PartialEq, Eq)]
pub struct TaskName(String);

impl From<String> for TaskName {
    fn from(name: String) -> TaskName {
        TaskName(name)
    }
}

impl From<&str> for TaskName {
    fn from(name: &str) -> TaskName {
        TaskName(name.to_owned())
    }
}

impl From<TaskName> for String {
    fn from(name: TaskName) -> String {
        name.0
    }
}

impl<'a> From<&'a TaskName> for &'a String {
    fn from(name: &'a TaskName) -> &'a String {
        &name.0
    }
}

impl fmt::Debug for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The label that sets labels of tasks started by its task.
#[derive(Clone)]
pub struct ChildLabelFn(pub Arc<ChildLabels>);

/// The function in [`ChildLabelFn`], called with the new task and its labels.
pub type ChildLabels = dyn Fn(TaskId, &mut Labels) + 'static;

impl fmt::Debug for ChildLabelFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildLabelFn").finish_non_exhaustive()
    }
}
