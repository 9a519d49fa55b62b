//! Stacks of an OS thread that run task after task.

use super::super::run_task;
use super::Computation;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{self, NonNull};

thread_local! {
    /// The computation that runs on this OS thread; null before its first fiber is created and after all are
    /// destroyed.
    static RUNNING: Cell<*const Context> = const { Cell::new(ptr::null()) };
    static STACKS: RefCell<Stacks> = const { RefCell::new(Stacks { all: Vec::new(), idle: Vec::new() }) };
}

/// A computation that can be suspended and continued.
struct Context {
    computation: Computation,
    /// True while a task runs or is suspended on it.
    busy: Cell<bool>,
    /// The fiber to continue when its task ends, if already known.
    back: Cell<Option<Fiber>>,
    /// True if it must unwind when it is continued.
    thrown: Cell<bool>,
    /// The panic payload to unwind with; if `None`, the task must end.
    payload: Cell<Option<Box<dyn Any + Send>>>,
    /// The reason for which it was suspended while its task had to end.
    suspend_reason: Cell<Option<SuspendReason>>,
    /// The number of times its task, which must end, caught the unwinding.
    caught: Cell<u32>,
}

/// The reason for which a fiber was suspended before the end of a task that must end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SuspendReason {
    /// Its thread must wait, and may be resumed to check again.
    Waits,
    /// Its thread has caught the panic that unwound it, and may be unwound again.
    Stops,
    /// It must not be resumed.
    Abandoned,
}

/// The payload with which a task that must end is unwound.
struct Forced;

impl Drop for Forced {
    fn drop(&mut self) {
        let running = RUNNING.get();
        if !running.is_null() {
            // SAFETY: as in `running`: `RUNNING` is not null, so the contexts of this OS thread are alive.
            let caught = unsafe { &(*running).caught };
            caught.set(caught.get().saturating_add(1));
        }
    }
}

/// Returns true if `payload` unwinds a task that must end.
pub(crate) fn is_forced_end(payload: &(dyn Any + Send)) -> bool {
    payload.is::<Forced>()
}

/// All contexts of an OS thread. They live as long as the thread, and only it uses them.
struct Stacks {
    /// The first one is the computation outside all fibers.
    all: Vec<NonNull<Context>>,
    /// The fibers without a task.
    idle: Vec<Fiber>,
}

/// A stack that runs one task at a time, or the computation outside all stacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fiber(NonNull<Context>);

impl Fiber {
    /// Returns a fiber without a task.
    pub(crate) fn take() -> Fiber {
        STACKS.with_borrow_mut(|stacks| {
            if stacks.all.is_empty() {
                let outside = stacks.add(Computation::outside());
                RUNNING.set(outside.0.as_ptr());
            }
            stacks
                .idle
                .pop()
                .unwrap_or_else(|| stacks.add(Computation::on_stack(stacks.all.len(), run_tasks)))
        })
    }

    /// Releases the fiber for other tasks. Its own task has ended, or ends without another suspension except
    /// abandonment.
    pub(crate) fn give_back(self) {
        STACKS.with_borrow_mut(|stacks| stacks.idle.push(self));
    }

    /// Returns the computation outside all fibers.
    pub(crate) fn outside() -> Fiber {
        STACKS.with_borrow(|stacks| Fiber(stacks.all[0]))
    }

    /// Suspends the current fiber before its task has ended, and continues the one that waits for it. Returns
    /// false at once if none waits, and true when the fiber is continued.
    pub(crate) fn suspend(why: SuspendReason) -> bool {
        let Some(back) = running().back.take() else { return false };
        running().suspend_reason.set(Some(why));
        back.go();
        true
    }

    /// Makes `fiber` continue when the current fiber is [suspended](Fiber::suspend) or its task has ended.
    pub(crate) fn return_to(fiber: Fiber) {
        running().back.set(Some(fiber));
    }

    /// Returns true if the current fiber can be [suspended](Fiber::suspend).
    pub(crate) fn can_suspend() -> bool {
        let back = running().back.take();
        running().back.set(back);
        back.is_some()
    }

    /// Returns the reason for which it was suspended before the end of its task; `None` if that has ended.
    pub(crate) fn suspend_reason(self) -> Option<SuspendReason> {
        self.context().suspend_reason.take()
    }

    /// Returns the number of times the task of the current fiber, which must end, caught the unwinding.
    pub(crate) fn caught() -> u32 {
        running().caught.get()
    }

    /// Unwinds the current task, which must end.
    pub(crate) fn end_again() -> ! {
        resume_unwind(Box::new(Forced))
    }

    /// Suspends the current computation and continues or begins the task of this fiber. Returns when the
    /// suspended computation is continued.
    #[inline(always)] // One copy for all operations; see `direct`.
    pub(crate) fn go(self) {
        let from = running();
        // SAFETY: a computation runs, so the contexts of this OS thread are alive, and the fiber is one of
        // them, because it is not `Send`.
        let to = unsafe { self.0.as_ref() };
        assert!(to.computation.is_suspended(), "only a suspended fiber can be continued");
        RUNNING.set(to);
        // SAFETY: `from` runs on this OS thread, and `to` was suspended on it. Both live as long as it does.
        unsafe { from.computation.switch(&to.computation) };
        if from.thrown.get() {
            from.throw();
        }
    }

    /// Like [`Fiber::go`], but returns when it goes [back](Fiber::back) or its task has ended.
    pub(crate) fn go_and_return(self) {
        let me = Fiber(NonNull::from(running()));
        self.context().back.set(Some(me));
        self.go();
    }

    /// Returns true while a task runs or is suspended on it.
    pub(crate) fn is_busy(self) -> bool {
        self.context().busy.get()
    }

    /// Makes its task, which has begun, unwind when it is continued. The task must not be unwinding already:
    /// a second panic in a destructor aborts the process.
    pub(crate) fn throw_next(self) {
        self.context().thrown.set(true);
    }

    fn context(&self) -> &Context {
        _ = running();
        // SAFETY: as in `go`: the contexts of this OS thread are alive, and the fiber is one of them.
        unsafe { self.0.as_ref() }
    }
}

/// Returns the computation that runs on this OS thread.
#[inline(always)] // On the path of every switch.
fn running() -> &'static Context {
    let running = RUNNING.get();
    assert!(!running.is_null(), "there are fibers on this OS thread");
    // SAFETY: the pointer is not null as long as the contexts of this OS thread are alive. `'static` stands
    // for that: no caller keeps the reference until the end of the OS thread.
    unsafe { &*running }
}

/// Returns the lowest address of the current stack; 0 outside all fibers. May be called in a signal handler.
pub(super) fn running_end() -> usize {
    // The variable needs neither initialization nor a destructor, so this is a plain load.
    let running = RUNNING.get();
    // SAFETY: as in `running`: a non-null pointer refers to a context of this OS thread, which is alive.
    if running.is_null() { 0 } else { unsafe { (*running).computation.end() } }
}

/// Runs task after task on a fiber.
extern "C" fn run_tasks() -> ! {
    loop {
        let me = running();
        me.busy.set(true);
        me.caught.set(0);
        let ended = catch_unwind(AssertUnwindSafe(run_task));
        me.busy.set(false);
        let next = match ended {
            Ok(next) => next,
            Err(payload) => {
                let outside = Fiber::outside();
                if !is_forced_end(&*payload) {
                    // Tasks catch their own panics: this one is an internal error of raddle, and ends the
                    // check.
                    outside.context().payload.set(Some(payload));
                    outside.context().thrown.set(true);
                }
                outside
            }
        };
        me.back.take().unwrap_or(next).go();
    }
}

impl Context {
    #[cold]
    fn throw(&self) -> ! {
        self.thrown.set(false);
        resume_unwind(self.payload.take().unwrap_or_else(|| Box::new(Forced)))
    }
}

impl Stacks {
    fn add(&mut self, computation: Computation) -> Fiber {
        let (busy, back) = (Cell::new(false), Cell::new(None));
        let context = Context {
            computation,
            busy,
            back,
            thrown: Cell::new(false),
            payload: Cell::new(None),
            suspend_reason: Cell::new(None),
            caught: Cell::new(0),
        };
        let context = NonNull::from(Box::leak(Box::new(context)));
        self.all.push(context);
        Fiber(context)
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        // No fiber can be used from here on.
        RUNNING.set(ptr::null());
        for context in self.all.drain(..) {
            // SAFETY: it came from a box, and nothing refers to it: fibers can no longer be used, and the
            // current code is the end of the OS thread, outside all of them.
            let context = unsafe { Box::from_raw(context.as_ptr()) };
            if context.busy.get() {
                // Other fibers may have borrowed from its stack.
                context.computation.forget();
            }
        }
    }
}
