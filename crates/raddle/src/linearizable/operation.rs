//! Operations with their types erased.

use super::Arguments;
use std::any::{Any, type_name};
use std::fmt::Debug;
use std::panic::Location;
use std::sync::Arc;

/// A result of an operation.
pub(super) trait Value: Any + Send {
    fn equals(&self, other: &dyn Value) -> bool;
    fn text(&self) -> String;
    fn as_any(&self) -> &dyn Any;
}

impl<R: Any + Send + PartialEq + Debug> Value for R {
    fn equals(&self, other: &dyn Value) -> bool {
        other.as_any().downcast_ref::<R>() == Some(self)
    }

    /// Returns nothing for the result of an operation without one.
    fn text(&self) -> String {
        if self.as_any().is::<()>() { String::new() } else { format!("= {self:?}") }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// An operation of the structure `S`.
pub(super) struct Operation<S> {
    /// The line of the test that defines it.
    pub(super) location: &'static Location<'static>,
    /// The number of arguments.
    pub(super) arguments: u64,
    /// Operations of one group are called by one thread only.
    pub(super) group: Option<String>,
    /// True if it may wait.
    pub(super) waits: bool,
    /// Returns the text of a call with the argument of this number.
    pub(super) text: Box<dyn Fn(u64) -> String + Send + Sync>,
    pub(super) run: Run<S>,
}

type Run<S> = Box<dyn Fn(&S, u64) -> Box<dyn Value> + Send + Sync>;

impl<S: 'static> Operation<S> {
    #[track_caller]
    pub(super) fn new<A, X, R>(
        name: &str,
        arguments: &Arc<A>,
        run: impl Fn(&S, X) -> R + Send + Sync + 'static,
    ) -> Operation<S>
    where
        A: Arguments<X>,
        X: Debug + 'static,
        R: PartialEq + Debug + Send + 'static,
    {
        let (title, shown, used) = (name.to_owned(), Arc::clone(arguments), Arc::clone(arguments));
        assert!(arguments.count() > 0, "the operation `{name}` has no arguments to be called with");
        Operation {
            location: Location::caller(),
            arguments: arguments.count(),
            group: None,
            waits: false,
            text: Box::new(move |index| {
                let text = format!("{:?}", shown.get(index));
                // A tuple is a list of arguments.
                if type_name::<X>().starts_with('(') {
                    format!("{title}{text}")
                } else {
                    format!("{title}({text})")
                }
            }),
            run: Box::new(move |structure, index| Box::new(run(structure, used.get(index)))),
        }
    }
}

/// The same operation of a sequential model. `None`: it waits.
pub(super) type ModelOperation<M> = Box<dyn Fn(&mut M, u64) -> Option<Box<dyn Value>> + Send + Sync>;
