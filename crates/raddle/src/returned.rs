//! Judges the return value of a `#[raddle::test]` function. Only the macro uses it.
//!
//! Both traits have a method of the same name. For a `Result`, the compiler prefers that of [`ByResult`], which needs one reference
//! less.

use std::fmt::Debug;
use std::process::{ExitCode, Termination};

/// The return value of a test.
#[derive(Debug)]
pub struct Returned<T>(Option<T>);

impl<T> Returned<T> {
    /// Wraps the return value of a test.
    pub fn new(value: T) -> Returned<T> {
        Returned(Some(value))
    }
}

/// The case of a `Result`.
pub trait ByResult {
    /// Panics if the test failed, with the error if there is one.
    fn judge(&mut self);
}

impl<T: Termination, E: Debug> ByResult for Returned<Result<T, E>> {
    #[track_caller]
    fn judge(&mut self) {
        if let Some(value) = self.0.take() {
            judge(value.unwrap());
        }
    }
}

/// The case of any other type.
pub trait ByTermination {
    /// Panics if the test failed.
    fn judge(&mut self);
}

impl<T: Termination> ByTermination for &mut Returned<T> {
    #[track_caller]
    fn judge(&mut self) {
        if let Some(value) = self.0.take() {
            judge(value);
        }
    }
}

#[track_caller]
fn judge(value: impl Termination) {
    let code = value.report();
    assert!(code == ExitCode::SUCCESS, "the test returned {code:?}");
}
