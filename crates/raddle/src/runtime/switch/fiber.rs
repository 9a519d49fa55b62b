//! Stacks of an OS thread that run task after task.

use super::super::run_task;
use super::Place;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{self, NonNull};

thread_local! {
    /// What runs on this OS thread; null before its first fiber is made and after all are gone.
    static RUNNING: Cell<*const Context> = const { Cell::new(ptr::null()) };
    static STACKS: RefCell<Stacks> = const { RefCell::new(Stacks { all: Vec::new(), idle: Vec::new() }) };
}

/// A computation that can be left and gone on with.
struct Context {
    place: Place,
    /// Whether a task has begun on it and not ended.
    busy: Cell<bool>,
    /// To whom it goes when its task ends, if that is settled.
    back: Cell<Option<Fiber>>,
    /// Whether it has to unwind when it is gone on with.
    thrown: Cell<bool>,
    /// With what; if with nothing, it is to end its task.
    payload: Cell<Option<Box<dyn Any + Send>>>,
    /// Why it was left while its task was to end.
    leaving: Cell<Option<Leaving>>,
    /// How often its task, which has to end, caught what unwinds it.
    caught: Cell<u32>,
}

/// Why a fiber whose task has to end was left before that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Leaving {
    /// Its thread has to wait, and may be resumed to look again.
    Waits,
    /// Its thread has caught the panic that unwound it, and may be unwound again.
    Stops,
    /// It must not be resumed.
    ForGood,
}

/// What a task is unwound with that has to end.
struct Forced;

impl Drop for Forced {
    fn drop(&mut self) {
        let running = RUNNING.get();
        if !running.is_null() {
            // SAFETY: as in `running`.
            let caught = unsafe { &(*running).caught };
            caught.set(caught.get().saturating_add(1));
        }
    }
}

/// Whether a task that has to end is unwound with this.
pub(crate) fn is_forced_end(payload: &(dyn Any + Send)) -> bool {
    payload.is::<Forced>()
}

/// All contexts of an OS thread. They live as long as it does, and are used by it alone.
struct Stacks {
    /// The first one is what runs outside of all fibers.
    all: Vec<NonNull<Context>>,
    /// The fibers without a task.
    idle: Vec<Fiber>,
}

/// A stack that runs one task at a time, or what runs outside of all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fiber(NonNull<Context>);

impl Fiber {
    /// A fiber without a task.
    pub(crate) fn take() -> Fiber {
        STACKS.with_borrow_mut(|stacks| {
            if stacks.all.is_empty() {
                let outside = stacks.add(Place::outside());
                RUNNING.set(outside.0.as_ptr());
            }
            stacks.idle.pop().unwrap_or_else(|| stacks.add(Place::on_stack(stacks.all.len(), run_tasks)))
        })
    }

    /// Lets others have it for their tasks. Its own one has ended, or ends without leaving it once more but for good.
    pub(crate) fn give_back(self) {
        STACKS.with_borrow_mut(|stacks| stacks.idle.push(self));
    }

    /// What runs outside of all fibers.
    pub(crate) fn outside() -> Fiber {
        STACKS.with_borrow(|stacks| Fiber(stacks.all[0]))
    }

    /// Leaves the fiber that runs before its task has ended, and goes to the one who waits for that. Returns false at once if nobody
    /// does, and true when somebody goes on with it.
    pub(crate) fn leave(why: Leaving) -> bool {
        let Some(back) = running().back.take() else { return false };
        running().leaving.set(Some(why));
        back.go();
        true
    }

    /// Whether the fiber that runs can be [left](Fiber::leave).
    pub(crate) fn can_leave() -> bool {
        let back = running().back.take();
        running().back.set(back);
        back.is_some()
    }

    /// Why it was left before its task has ended; none if that has ended.
    pub(crate) fn leaving(self) -> Option<Leaving> {
        self.context().leaving.take()
    }

    /// How often the task of the fiber that runs, which has to end, caught what unwinds it.
    pub(crate) fn caught() -> u32 {
        running().caught.get()
    }

    /// Unwinds the task that runs, which has to end.
    pub(crate) fn end_again() -> ! {
        resume_unwind(Box::new(Forced))
    }

    /// Leaves what runs and goes on with the task of this one, or begins it. Returns when somebody goes on with what was left.
    #[inline(always)] // One place in the code for all operations; see `direct`.
    pub(crate) fn go(self) {
        let from = running();
        // SAFETY: something runs, so the contexts of this OS thread are still there, and the fiber is one of them, for it can
        // not be sent to another one.
        let to = unsafe { self.0.as_ref() };
        assert!(to.place.is_left(), "only one that was left can be gone on with");
        RUNNING.set(to);
        // SAFETY: `from` runs on this OS thread, and `to` was left on it. Both live as long as it does.
        unsafe { from.place.switch(&to.place) };
        if from.thrown.get() {
            from.throw();
        }
    }

    /// As [`Fiber::go`], until it goes [back](Fiber::back) or has ended its task.
    pub(crate) fn go_and_return(self) {
        let me = Fiber(NonNull::from(running()));
        self.context().back.set(Some(me));
        self.go();
    }

    /// Whether a task has begun on it and not ended.
    pub(crate) fn is_busy(self) -> bool {
        self.context().busy.get()
    }

    /// Makes its task, which has begun, end by unwinding when it is gone on with. The task must not be unwinding already: a
    /// second panic in a destructor aborts the process.
    pub(crate) fn throw_next(self) {
        self.context().thrown.set(true);
    }

    fn context(&self) -> &Context {
        _ = running();
        // SAFETY: as in `go`.
        unsafe { self.0.as_ref() }
    }
}

/// What runs on this OS thread.
#[inline(always)] // A part of each switch.
fn running() -> &'static Context {
    let running = RUNNING.get();
    assert!(!running.is_null(), "there are fibers on this OS thread");
    // SAFETY: it is not null as long as the contexts of this OS thread are there. `'static` stands for that: nobody keeps
    // the reference until the end of the OS thread.
    unsafe { &*running }
}

/// The lowest address of the stack that runs; 0 outside of all fibers. May be called in a signal handler.
pub(super) fn running_end() -> usize {
    // The variable needs neither initialisation nor a destructor, so that this is a plain load.
    let running = RUNNING.get();
    // SAFETY: as in `running`.
    if running.is_null() { 0 } else { unsafe { (*running).place.end() } }
}

/// What a fiber does: task after task.
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
                    // No task lets a panic of its own pass: this one is raddle's, and ends the check.
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
    fn add(&mut self, place: Place) -> Fiber {
        let (busy, back) = (Cell::new(false), Cell::new(None));
        let context = Context {
            place,
            busy,
            back,
            thrown: Cell::new(false),
            payload: Cell::new(None),
            leaving: Cell::new(None),
            caught: Cell::new(0),
        };
        let context = NonNull::from(Box::leak(Box::new(context)));
        self.all.push(context);
        Fiber(context)
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        // From now on no fiber can be used.
        RUNNING.set(ptr::null());
        for context in self.all.drain(..) {
            // SAFETY: it came from a box, and nobody refers to it: fibers can not be used, and what runs is the end of the OS
            // thread, outside of all of them.
            let context = unsafe { Box::from_raw(context.as_ptr()) };
            if context.busy.get() {
                // Others may have borrowed from its stack.
                context.place.forget();
            }
        }
    }
}
