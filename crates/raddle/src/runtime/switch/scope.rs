//! Tasks that borrow from the stack of another fiber.

use super::super::Task;
use raddle_model::ThreadId;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::{mem, process};

/// Threads that may borrow from data that outlives them, as in std. See [`scope`](crate::thread::scope).
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    /// The threads that have not been joined, in the order in which they were started.
    pub(crate) threads: Mutex<Vec<ThreadId>>,
    /// The number of tasks of the scope that are neither over nor dropped.
    open: Arc<AtomicUsize>,
    /// Invariant in both lifetimes, as in std.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Calls `body` with a scope. `body` must ensure that all tasks of the scope are over or dropped when it
/// returns or unwinds. At the end of a run, when some may be left, this waits for them.
pub(crate) fn lend<'env, R>(body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R) -> R {
    struct Check(Arc<AtomicUsize>);

    impl Drop for Check {
        fn drop(&mut self) {
            while self.0.load(Ordering::Relaxed) != 0 {
                // Waiting threads may be resumed in any order. If the tasks are never over, neither is this,
                // and everything they borrowed stays alive.
                if !super::super::close::wait_in_scope() {
                    process::abort();
                }
            }
        }
    }

    let open = Arc::new(AtomicUsize::new(0));
    let _check = Check(Arc::clone(&open));
    let scope = Scope { threads: Mutex::default(), open, scope: PhantomData, env: PhantomData };
    body(&scope)
}

impl<'scope> Scope<'scope, '_> {
    /// Creates a task from a closure that may borrow for `'scope`.
    pub(crate) fn task(&'scope self, action: Box<dyn FnOnce() + 'scope>) -> Task {
        // SAFETY: only the lifetime is changed. `'scope` includes the call of `body` in `lend`, the only
        // creator of scopes, and everything `action` borrows lives at least until that call has ended, by
        // return or by unwinding. At that moment `Check` reads `open`, before control returns to code that
        // could end a borrow, and does not return, or aborts, unless each `Loan` has been dropped. A `Loan`
        // decrements the count after its action is over or has been dropped. A fiber that is never resumed
        // and never unwound keeps its stack, and so everything that was borrowed from it.
        let action = unsafe { mem::transmute::<Box<dyn FnOnce() + 'scope>, Task>(action) };
        self.open.fetch_add(1, Ordering::Relaxed);
        let loan = Loan { action: Some(action), open: Arc::clone(&self.open) };
        Box::new(move || loan.run())
    }
}

/// A task with borrows.
struct Loan {
    /// Present until it is run.
    action: Option<Task>,
    open: Arc<AtomicUsize>,
}

impl Loan {
    fn run(mut self) {
        if let Some(action) = self.action.take() {
            action();
        }
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        drop(self.action.take());
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}
