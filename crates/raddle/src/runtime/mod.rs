//! One run of a test: its threads as fibers on one OS thread, controlled by the engine.
//!
//! An operation announces itself and asks the engine for the next step, on the stack of its own fiber. If the
//! same thread continues, nothing is switched. Otherwise the fiber switches to that of the chosen thread.

mod answer;
mod calls;
mod close;
mod halt;
mod judge;
mod locals;
mod locations;
mod object;
mod run;
mod shuttle;
mod step;
mod switch;
mod tracked;
mod values;
mod waits;
mod watchdog;
mod wind_down;
mod workers;

pub(crate) use calls::{Calls, join, join_while_possible, set_background};
pub(crate) use close::{
    aborting, close_others, corrects_panic_count, drop_later, fail_by_abort, fail_by_blocked, make_way,
    survives_abort,
};
pub(crate) use halt::Halt;
pub(crate) use judge::{judge_old_read, judge_race};
pub(crate) use locals::Local;
pub(crate) use locations::Locations;
pub(crate) use object::{Object, Past};
pub(crate) use run::run;
use run::run_task;
pub(crate) use shuttle::{as_shuttle, is_shuttle, pause, take_payload, with_start};
pub(crate) use step::{access_or, pause_after_spawn, step, step_or};
pub use switch::Scope;
pub(crate) use switch::{lend, overflow};
pub(crate) use tracked::{Lasting, store_value, take_stored, track, untrack};
pub(crate) use values::{ValueUses, Word};
use watchdog::Pulse;
pub(crate) use watchdog::{VARIABLE as WATCHDOG, start as start_watchdog};
pub(crate) use workers::Conflict;

use crate::shuttle::scheduler::TaskId;
use answer::Answer;
use close::Closing;
use locals::Locals;
use raddle_engine::{CutOffAt, Engine, Resource, Strategy};
use raddle_model::{Failure, LocationId, Name, ObjectId, ThreadId};
use std::any::Any;
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::Arc;
use switch::Fiber;
use values::Noted;
use workers::Worker;

/// The function of a thread.
pub(crate) type Task = Box<dyn FnOnce()>;

/// The function of the first thread of every run.
pub(crate) type Main = Arc<dyn Fn() + Send + Sync>;

/// One thread of the run.
struct Thread {
    fiber: Option<Fiber>,
    task: Option<Task>,
    /// The location where it was started, if its task begins with a step.
    delayed_at: Option<&'static Location<'static>>,
    name: Option<Arc<str>>,
    /// The number of objects that it was the first to touch.
    first_touched: u32,
    /// While suspended: the thread is unwinding after a panic. While running: the same, but only if a
    /// suspended thread is unwinding too, and false otherwise, because std's answer is then correct.
    panicking: bool,
    /// Its park token, once requested.
    token: Option<ObjectId>,
    /// True if it was woken without a token.
    woken: bool,
    /// Its panic message, until a thread joins it.
    panic: Option<String>,
    locals: Locals,
}

/// The behavior that std leaves open and the strategy chooses in a run. Its number is stored in failure
/// files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Freedom {
    /// None.
    None = 0,
    /// Late starts of threads, wake-ups without a token, readers behind writers.
    Choices = 1,
    /// Also, whether a new thread or its creator comes first where the creator has no operation.
    Pauses = 2,
}

/// The current run on this OS thread.
pub(crate) struct Runtime {
    pub(crate) engine: Engine,
    pub(crate) strategy: Box<dyn Strategy>,
    pub(crate) locations: Locations,
    /// The locations where the objects of the run were created, in the order of first use.
    pub(crate) created: Vec<(ObjectId, &'static Location<'static>)>,
    /// Fails a run if the main thread returns before all others have ended.
    pub(crate) fail_on_leaked_threads: bool,
    /// The values that steps read and wrote, if requested.
    pub(crate) values: Option<Vec<Noted>>,
    /// What happens to the values of atomics in this run besides the access itself.
    pub(crate) value_uses: ValueUses,
    /// True if an atomic access or fence of the run had an order weaker than `SeqCst`.
    pub(crate) has_weak_orders: bool,
    /// Examines old values where they are read, see [`judge`].
    pub(crate) judges_old_reads: bool,
    /// True if an old value was read that cannot be read there.
    pub(crate) has_impossible_read: bool,
    /// The behavior that std leaves open and the strategy chooses.
    pub(crate) free: Freedom,
    /// The ends of threads are operations, because a thread asks whether another one has finished.
    pub(crate) observes_ends: bool,
    /// True if a thread of the run has asked.
    pub(crate) asked_for_end: bool,
    /// Drops tasks only when they can do nothing more, in the run that begins; see [`future`](crate::future).
    pub(crate) exit_last: bool,
    /// Progress, for the watchdog.
    pulse: Arc<Pulse>,
    threads: Vec<Thread>,
    /// The function of the first thread, before it begins.
    main: Option<Main>,
    /// The name of the first thread of every run.
    main_name: Arc<str>,
    current: ThreadId,
    /// The id of this run in the process, for objects that outlive a run.
    epoch: u32,
    /// The source of run numbers.
    worker: Worker,
    /// The run is over and fibers are being unwound: operations have no effect.
    closing: bool,
    /// A thread that halts in this run, and counts of steps.
    halt: Option<Halt>,
    /// True if operations are not simply steps: the run is over, or has a [`Halt`].
    diverts: bool,
    /// The number of suspended threads that are unwinding after a panic.
    panicking: u32,
    /// Continues pruned runs, and the summary of the latest one when it was pruned.
    winds_down: bool,
    cut_off: Option<CutOffAt>,
    /// The state of the end of the run.
    close: Closing,
}

thread_local! {
    /// Never dropped at the end of the OS thread, when there is no run: a variable with a destructor has a state that every
    /// access would check.
    static RUNTIME: RefCell<Option<ManuallyDrop<Box<Runtime>>>> = const { RefCell::new(None) };
    /// The result of the operation of the thread that continues now.
    static REPLY: Answer = const { Answer::new() };
}

/// The name of the first thread of every run.
const MAIN_NAME: &str = "main";

const OUTSIDE: &str = "raddle's types work only inside raddle::check, on threads of raddle::thread\nhelp: run the code in such a thread, or use std's types";

/// Calls `action` with the run of this OS thread. Must not run user code.
#[track_caller]
#[inline]
pub(crate) fn with<R>(action: impl FnOnce(&mut Runtime) -> R) -> R {
    match RUNTIME.with_borrow_mut(|slot| slot.as_mut().map(|runtime| action(runtime))) {
        Some(result) => result,
        None => panic_outside(),
    }
}

/// Panics at the line that uses a type of this crate outside a check.
#[cold]
#[track_caller]
fn panic_outside() -> ! {
    panic!("{OUTSIDE}");
}

/// Returns true if the current thread is unwinding after a panic. All threads of a run share one OS thread,
/// and std's answer is about all of them. So while a suspended thread is unwinding, this uses what the panic
/// hook has seen. Limitation: a panic that the test itself catches meanwhile, with std's `catch_unwind`,
/// counts until no suspended thread is unwinding.
pub(crate) fn panicking() -> bool {
    std::thread::panicking() && with(|runtime| runtime.is_panicking())
}

/// Records that the current thread begins to panic; called by the hook.
pub(crate) fn begin_panic() {
    let note = |slot: &RefCell<Option<ManuallyDrop<Box<Runtime>>>>| {
        if let Ok(mut slot) = slot.try_borrow_mut()
            && let Some(runtime) = slot.as_mut()
        {
            runtime.note_panicking(true);
        }
    };
    // After the OS thread's variables are destroyed there is no run.
    _ = RUNTIME.try_with(note);
}

/// Calls `f` and catches its panic.
pub(crate) fn catch<R>(f: impl FnOnce() -> R) -> std::thread::Result<R> {
    let before = panicking();
    let result = catch_unwind(AssertUnwindSafe(f));
    if result.is_err() {
        with(|runtime| runtime.note_panicking(before));
    }
    result
}

/// Resumes a panic that was caught.
pub(crate) fn resume(payload: Box<dyn Any + Send>) -> ! {
    begin_panic();
    resume_unwind(payload)
}

/// Returns the number of steps of the run, including operations during closing.
pub(crate) fn steps() -> u64 {
    with(|runtime| runtime.engine.step_count() + if runtime.closing { runtime.close.total } else { 0 })
}

/// Fails the run for a panic of the current thread.
pub(crate) fn fail_by_panic(payload: Box<dyn Any + Send>) {
    with(|runtime| runtime.fail_by_panic(&*payload));
    shuttle::keep_payload(payload);
}

/// Returns the number of the current run on this OS thread.
pub(crate) fn epoch() -> Option<u32> {
    RUNTIME.try_with(|slot| slot.borrow().as_ref().map(|runtime| runtime.epoch)).ok().flatten()
}

/// Returns true if the run is over and its threads are unwound. Also true outside runs, where values that
/// outlived their run are dropped.
pub(crate) fn is_closing() -> bool {
    RUNTIME.try_with(|slot| slot.borrow().as_ref().is_none_or(|runtime| runtime.is_closing())).unwrap_or(true)
}

/// Returns true if there is a run that is over and whose threads are unwound.
fn is_in_closing() -> bool {
    let closing = |slot: &RefCell<Option<ManuallyDrop<Box<Runtime>>>>| {
        slot.try_borrow().is_ok_and(|slot| slot.as_ref().is_some_and(|runtime| runtime.closing))
    };
    RUNTIME.try_with(closing).unwrap_or(false)
}

impl Runtime {
    /// Creates the runs of one worker of a check, whose workers share `conflict`.
    pub(crate) fn new(engine: Engine, strategy: Box<dyn Strategy>, conflict: Conflict) -> Box<Runtime> {
        Box::new(Runtime {
            engine,
            strategy,
            locations: Locations::default(),
            created: Vec::new(),
            fail_on_leaked_threads: false,
            values: None,
            value_uses: ValueUses::NONE,
            has_weak_orders: false,
            judges_old_reads: false,
            has_impossible_read: false,
            free: Freedom::None,
            observes_ends: false,
            asked_for_end: false,
            exit_last: false,
            pulse: Pulse::new(),
            threads: Vec::new(),
            main: None,
            main_name: MAIN_NAME.into(),
            current: ThreadId(0),
            epoch: 0,
            worker: Worker::new(conflict),
            closing: false,
            halt: None,
            diverts: false,
            panicking: 0,
            winds_down: false,
            cut_off: None,
            close: Closing::default(),
        })
    }

    /// Registers the runs on this OS thread with the watchdog, as those of the test `name`.
    pub(crate) fn watch(&self, name: &str) {
        self.pulse.watch(name);
    }

    /// Releases statics and other objects that outlive runs, for other workers. Further runs may follow.
    pub(crate) fn let_go(&mut self) {
        self.worker = Worker::new(Conflict::default());
    }

    /// Returns the number of a source location.
    #[inline]
    pub(crate) fn location(&mut self, location: &'static Location<'static>) -> LocationId {
        self.locations.number(location)
    }

    /// Returns the current thread.
    pub(crate) fn current(&self) -> ThreadId {
        self.current
    }

    /// Returns true if the run is over and its threads are unwound.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing
    }

    /// Returns true if the run is over and the current thread is forced to unwind; then nothing may catch the
    /// unwinding.
    pub(crate) fn is_forced(&self) -> bool {
        self.closing && self.close.draining != Some(self.current)
    }

    fn is_panicking(&self) -> bool {
        std::thread::panicking() && (self.panicking == 0 || self.threads[self.current.index()].panicking)
    }

    fn note_panicking(&mut self, panicking: bool) {
        let others = self.panicking > 0;
        if let Some(thread) = self.threads.get_mut(self.current.index()) {
            thread.panicking = panicking && others;
        }
    }

    /// Returns the name of a thread, if it has one.
    pub(crate) fn thread_name(&self, thread: ThreadId) -> Option<&str> {
        let name = &self.threads.get(thread.index())?.name;
        name.as_deref().or_else(|| (thread == ThreadId(0)).then_some(MAIN_NAME))
    }

    /// Returns the shared name of a thread, if it has one.
    pub(crate) fn shared_name(&self, thread: ThreadId) -> Option<Arc<str>> {
        let name = &self.threads.get(thread.index())?.name;
        name.clone().or_else(|| (thread == ThreadId(0)).then(|| Arc::clone(&self.main_name)))
    }

    /// Returns the id of this run in the process.
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Returns true if a thread has ended.
    pub(crate) fn has_ended(&self, thread: ThreadId) -> bool {
        self.threads.get(thread.index()).is_none_or(|thread| thread.fiber.is_none())
    }

    /// Returns the token of a thread.
    pub(crate) fn token(&mut self, thread: ThreadId) -> ObjectId {
        if let Some(token) = self.threads[thread.index()].token {
            return token;
        }
        // The object that stands for the thread has the highest number.
        let name = self.engine.thread_name(thread).child(u64::MAX - 1);
        let token = self.engine.add_object(name, Resource::token());
        self.threads[thread.index()].token = Some(token);
        token
    }

    /// Returns true if the current thread may be woken without a token. Once in a run, so that a loop around
    /// [`park`](crate::thread::park) ends.
    pub(crate) fn may_wake(&self) -> bool {
        self.free != Freedom::None && !self.closing && !self.threads[self.current.index()].woken
    }

    /// Records that the current thread was woken without a token.
    pub(crate) fn note_wake(&mut self) {
        self.threads[self.current.index()].woken = true;
    }

    /// Records that the current thread ends with a panic. Unless a thread joins it, the run fails.
    pub(crate) fn note_panic(&mut self, message: String) {
        self.threads[self.current.index()].panic = Some(message);
    }

    /// Takes the panic with which `thread` ended; returns true if there was one that no thread had taken.
    pub(crate) fn take_panic(&mut self, thread: ThreadId) -> bool {
        self.threads.get_mut(thread.index()).is_some_and(|thread| thread.panic.take().is_some())
    }

    /// Returns the thread-local variables of the current thread.
    pub(crate) fn locals(&mut self) -> &mut Locals {
        &mut self.threads[self.current.index()].locals
    }

    /// Sets the task of the new thread `thread`.
    pub(crate) fn start(&mut self, thread: ThreadId, name: Option<Arc<str>>, task: Task) {
        self.add(thread, name, Some(task));
    }

    fn add(&mut self, thread: ThreadId, name: Option<Arc<str>>, task: Option<Task>) {
        debug_assert_eq!(thread.index(), self.threads.len(), "threads are numbered in order of creation");
        let fiber = Fiber::take();
        if is_shuttle() && thread != self.current {
            let (parent, child) = (TaskId::of(self.current), TaskId::of(thread));
            crate::shuttle::inherit(parent, child, name.as_deref());
        }
        self.threads.push(Thread {
            fiber: Some(fiber),
            task,
            delayed_at: None,
            name,
            first_touched: 0,
            panicking: false,
            token: None,
            woken: false,
            panic: None,
            locals: Locals::default(),
        });
    }

    /// Makes the task of `thread`, which was started at `location`, begin with a step, so that the code before
    /// its first operation can be delayed.
    pub(crate) fn delay_start(&mut self, thread: ThreadId, location: &'static Location<'static>) {
        self.threads[thread.index()].delayed_at = Some(location);
    }

    /// Returns the object that stands for `thread`.
    pub(crate) fn thread_object(&mut self, thread: ThreadId) -> ObjectId {
        self.engine.thread_object(thread)
    }

    /// Returns a name for an object that the current thread is the first to touch: where it was created,
    /// which thread touches it, and how many objects that thread has touched first before.
    fn object_name(&mut self, location: &'static Location<'static>) -> Name {
        let thread = &mut self.threads[self.current.index()];
        thread.first_touched += 1;
        let ordinal = u64::from(thread.first_touched);
        let location = u64::from(location.line()) << 32 | u64::from(location.column());
        self.engine.thread_name(self.current).child(location).child(ordinal)
    }
}

impl Runtime {
    /// Fails the run for a panic of the current thread.
    fn fail_by_panic(&mut self, payload: &(dyn Any + Send)) {
        let message = panic_message(payload);
        let thread = self.current;
        self.engine.fail(Failure::Assertion { thread, location: LocationId(0), message });
    }

    /// Fails the run, if it has passed so far, for a panic that no thread took.
    fn fail_by_unnoticed_panic(&mut self) {
        let unnoticed =
            self.threads.iter_mut().enumerate().find_map(|(index, thread)| {
                thread.panic.take().map(|message| (ThreadId(index as u32), message))
            });
        if let Some((thread, message)) = unnoticed {
            self.engine.fail(Failure::Assertion { thread, location: LocationId(0), message });
        }
    }
}

impl Runtime {
    /// Fails the run if a thread is left after the main thread has ended.
    fn fail_by_leak(&mut self) {
        let left = (0..self.threads.len() as u32).map(ThreadId).filter(|&thread| {
            self.threads[thread.index()].fiber.is_some() && !self.engine.is_background(thread)
        });
        let left: Vec<String> = left.map(|thread| self.shown_name(thread)).collect();
        if !left.is_empty() {
            let message = format!("the main thread returned and left behind: {}", left.join(", "));
            self.engine.fail(Failure::Assertion { thread: ThreadId(0), location: LocationId(0), message });
        }
    }

    /// Fails the run, if it has passed so far, for a leaked value that had to be dropped.
    fn fail_by_leaked_value(&mut self) {
        if let Some(message) = tracked::leaked() {
            self.engine.fail(Failure::Assertion { thread: ThreadId(0), location: LocationId(0), message });
        }
    }

    /// Returns the name of a thread, or its number.
    pub(crate) fn shown_name(&self, thread: ThreadId) -> String {
        self.thread_name(thread).map_or_else(|| format!("thread {}", thread.0), str::to_owned)
    }
}

/// Returns the thread that runs on this OS thread, if it belongs to a run and executes user code.
pub(crate) fn running() -> Option<ThreadId> {
    RUNTIME
        .try_with(|slot| {
            let slot = slot.try_borrow().ok()?;
            slot.as_ref().filter(|runtime| !runtime.closing).map(|runtime| runtime.current())
        })
        .ok()?
}

/// Like [`running`], but also while the thread is unwound after the end of the run.
pub(crate) fn unwound_or_running() -> Option<ThreadId> {
    RUNTIME.try_with(|slot| slot.try_borrow().ok()?.as_ref().map(|runtime| runtime.current())).ok()?
}

/// Returns the text of a panic.
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
