//! Tasks that borrow from the stack of another fiber.

use super::super::Task;
use raddle_model::ThreadId;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::{mem, process};

/// Threads that may borrow what lives longer than they do, as in std. See [`scope`](crate::thread::scope).
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    /// The threads that nobody has joined yet, in the order in which they were started.
    pub(crate) threads: Mutex<Vec<ThreadId>>,
    /// How many tasks of the scope are neither over nor dropped.
    open: Arc<AtomicUsize>,
    /// Invariant in both lifetimes, as in std.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Calls `body` with a scope. It has to see to it that all tasks of the scope are over or dropped when it returns or
/// unwinds. At the end of a run, when some may be left, this waits for them.
pub(crate) fn lend<'env, R>(body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R) -> R {
    struct Check(Arc<AtomicUsize>);

    impl Drop for Check {
        fn drop(&mut self) {
            while self.0.load(Ordering::Relaxed) != 0 {
                // Those who wait may be resumed in any order. If the tasks are never over, neither is this, and all that they
                // have borrowed stays.
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
    /// Makes a task of what may borrow for `'scope`.
    pub(crate) fn task(&'scope self, action: Box<dyn FnOnce() + 'scope>) -> Task {
        // SAFETY: only the lifetime is changed. `'scope` includes the call of `body` in `lend`, the only maker of scopes, and
        // all that `action` borrows lives at least until that call has ended, by return or by unwinding. Right then `Check`
        // looks at `open`, before control goes back to code that could end a borrow, and does not return, or aborts, unless
        // each `Loan` has been dropped. A `Loan` counts itself out after its action is over or has been dropped. A fiber that is never resumed
        // and never unwound keeps its stack, and so all that was borrowed from it.
        let action = unsafe { mem::transmute::<Box<dyn FnOnce() + 'scope>, Task>(action) };
        self.open.fetch_add(1, Ordering::Relaxed);
        let loan = Loan { action: Some(action), open: Arc::clone(&self.open) };
        Box::new(move || loan.run())
    }
}

/// A task that has borrowed.
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
