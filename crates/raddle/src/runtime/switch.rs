//! Switching stacks: the unsafe code of this crate, but for a function that `LazyLock` needs.
//!
//! A [`Fiber`] is a coroutine that runs task after task, so that its stack is set up once and used in many runs.
//! A [`Scope`] lets a task borrow from the stack of another fiber.

#![expect(
    unsafe_code,
    reason = "a fiber finds its yielder through a pointer, and a scope forgets a lifetime"
)]

#[cfg(target_os = "linux")]
pub(crate) mod overflow;
#[cfg(not(target_os = "linux"))]
#[path = "switch/overflow_unknown.rs"]
pub(crate) mod overflow;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use raddle_model::ThreadId;
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::{mem, process, ptr};

use super::Task;

thread_local! {
    /// The yielder of the fiber that runs on this OS thread; null outside of fibers.
    static YIELDER: Cell<*const Yielder<(), ()>> = const { Cell::new(ptr::null()) };
}

/// The size of a stack, without the page that guards its end.
const STACK: usize = 1024 * 1024;

/// A stack that runs one task at a time. A pointer, because it is handed from owner to owner at every switch.
pub(super) struct Fiber(Box<Inner>);

struct Inner {
    coroutine: Coroutine<(), (), (), DefaultStack>,
    /// Whether a task has begun on it and not ended.
    busy: bool,
}

impl Fiber {
    pub(super) fn new() -> Fiber {
        Fiber::on(DefaultStack::new(STACK).expect("there is memory for a stack"))
    }

    fn on(stack: DefaultStack) -> Fiber {
        let coroutine = Coroutine::with_stack(stack, |yielder: &Yielder<(), ()>, ()| {
            loop {
                YIELDER.set(ptr::from_ref(yielder));
                super::run_task();
                yielder.suspend(());
            }
        });
        Fiber(Box::new(Inner { coroutine, busy: false }))
    }

    /// Goes on with the task, or begins the next one, until it suspends or ends. Called on the stack of another fiber or
    /// outside of all.
    #[inline]
    pub(super) fn resume(&mut self) {
        let yielder = YIELDER.get();
        self.0.busy = true;
        self.0.coroutine.resume(());
        YIELDER.set(yielder);
    }

    /// Ends the task, if one has begun, by unwinding it; the stack can then be used again. The task must not be unwinding
    /// already: a second panic in a destructor aborts the process.
    pub(super) fn unwind(mut self) -> Fiber {
        if !self.0.busy {
            return self;
        }
        let yielder = YIELDER.get();
        self.0.coroutine.force_unwind();
        YIELDER.set(yielder);
        Fiber::on(self.0.coroutine.into_stack())
    }
}

/// Suspends the fiber that runs, until it is resumed.
#[inline]
pub(super) fn suspend() {
    let yielder = YIELDER.get();
    assert!(!yielder.is_null(), "only a fiber can be suspended");
    // SAFETY: the pointer was set by the fiber that is running: at its start, or below when it was resumed last. Its
    // yielder lives on its own stack for as long as the fiber does, and a fiber that runs has not been dropped.
    unsafe { (*yielder).suspend(()) };
    YIELDER.set(yielder);
}

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
/// unwinds; otherwise the process is aborted, for they may use what no longer exists.
pub(crate) fn lend<'env, R>(body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R) -> R {
    struct Check(Arc<AtomicUsize>);

    impl Drop for Check {
        fn drop(&mut self) {
            if self.0.load(Ordering::Relaxed) != 0 {
                eprintln!(
                    "raddle: a run has ended, and a destructor on a scoped thread waits for a lock that the thread around \
                     the scope holds. What the scope lends would be gone before the thread, so the process is aborted. \
                     Release the lock before the scope ends, or take no lock in the destructor."
                );
                process::abort();
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
        // looks at `open`, before control goes back to code that could end a borrow, and aborts unless each `Loan` has been
        // dropped. A `Loan` counts itself out after its action is over or has been dropped. A fiber that is never resumed
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
