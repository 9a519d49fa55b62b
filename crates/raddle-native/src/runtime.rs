//! The run that is going on in this process: its threads as fibers, steered by the engine.
//!
//! An operation announces itself and asks the engine what comes next, on the stack of its own thread. If another thread
//! goes on, the carrier switches to it from there.
#![expect(unsafe_code, reason = "one OS thread shares a static with itself, and fibers are switched")]

use crate::fiber::{self, Fiber};
use crate::halt::{Halt, halt_if_due};
use crate::heap::Heap;
use crate::interpose::robust::Robust;
use crate::interpose::stdio;
use crate::objects::{Class, Made, Objects};
use crate::outside::Outside;
use crate::record::Modules;
use crate::stack::{self, Callers, Extent};
use crate::table::Table;
use crate::timer_file::TimerFile;
use crate::values::Values;
use crate::{control, doubt, pool, raw, real, results};
use raddle_engine::{Engine, Next, Reply, Rng, Strategy};
use raddle_model::native::Points;
use raddle_model::{Access, Failure, Kind, LocationId, Name, ObjectId, Operation, ThreadId, Verdict, mix};
use std::cell::UnsafeCell;
use std::ffi::{CString, c_void};
use std::sync::atomic::AtomicU32;

/// One thread of the run.
pub(crate) struct Thread {
    fiber: *mut Fiber,
    /// What the program calls it.
    pub(crate) handle: u64,
    /// What its latest operation brought, for when it is resumed.
    reply: Reply,
    /// Nobody will join it: its OS thread is joined at its end.
    pub(crate) detached: bool,
    /// Somebody has joined it, so its handle may mean another thread.
    pub(crate) joined: bool,
    pub(crate) ended: bool,
    /// What it gives to whoever joins it.
    pub(crate) result: *mut c_void,
    /// How many objects it was the first to touch.
    first_touched: u64,
    /// Clock readings since its latest operation.
    pub(crate) readings: u32,
    /// What it parks on while it waits on a futex, once it has done so.
    pub(crate) token: Option<ObjectId>,
    /// Where its latest operation stands.
    place: LocationId,
    /// Somebody has cancelled it.
    pub(crate) cancelled: bool,
    /// It wants to be cancelled wherever it is.
    pub(crate) asynchronous: bool,
    /// It does not want to be cancelled, or is at its end already.
    pub(crate) uncancellable: bool,
    /// Its random numbers, once it has asked for one.
    pub(crate) random: Option<Rng>,
    /// What the program named it.
    pub(crate) name: Option<CString>,
    pub(crate) stack: Extent,
}

/// The run of this process.
pub(crate) struct Runtime {
    pub(crate) engine: Engine,
    pub(crate) strategy: Box<dyn Strategy>,
    pub(crate) objects: Objects,
    /// Code addresses in the order in which the run came to them; the first stands for no place.
    pub(crate) places: Vec<u64>,
    numbers: Table,
    /// Who called each place, if that is wanted.
    pub(crate) callers: Option<Callers>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) current: ThreadId,
    /// The thread whose stack the carrier has just left for good.
    leaving: Option<ThreadId>,
    /// Virtual nanoseconds that reading the clock has taken.
    pub(crate) ticks: u64,
    /// The files that the program is made of.
    modules: &'static Modules,
    /// With what status the program ends.
    pub(crate) status: i32,
    /// The events that were writes and left the value as it was.
    pub(crate) unwritten: Vec<u32>,
    /// Which threads were woken to be cancelled, each with the event that did it.
    pub(crate) interrupts: Vec<(u32, ThreadId)>,
    /// Destructors of thread-specific keys.
    pub(crate) keys: Vec<(u32, usize)>,
    pub(crate) points: Points,
    pub(crate) accesses: Accesses,
    pub(crate) heap: Heap,
    /// Who waits on which futex, in order of arrival: address, bits, thread.
    pub(crate) sleepers: Vec<(u64, u32, ThreadId)>,
    pub(crate) outside: Outside,
    /// The timers of the program that are files.
    pub(crate) timers: Vec<TimerFile>,
    /// The robust mutexes that threads have locked.
    pub(crate) robust: Vec<Robust>,
    /// The read-write locks that are locked for writing, and by whom.
    pub(crate) writers: Vec<(usize, ThreadId)>,
    /// The files of stdio that threads have locked, as often as they have.
    pub(crate) locked_files: Vec<(usize, ThreadId)>,
    /// What the random numbers of the program follow from: a seed and the number of a run.
    pub(crate) random: (u64, u64),
    /// Somebody wants to know the steps of the run even if it passes.
    pub(crate) wants_steps: bool,
    /// Where the run is to end, if it is one that ended there unseen when it was made before.
    pub(crate) halt: Option<Halt>,
    /// What steps read and write, if somebody wants to know.
    pub(crate) values: Option<Box<Values>>,
}

/// What the run knows of memory that instrumented code touches.
#[derive(Default)]
pub(crate) struct Accesses {
    /// By address in units: one more than the number of the thread that touched it, or [`SHARED`], or [`CONSTANT`].
    pub(crate) touched: Table,
    /// If data races count: the four-byte parts of memory, by address, that are told apart by bytes.
    pub(crate) parts: Option<Table>,
    /// How many accesses there were.
    pub(crate) count: u64,
    /// How many atomic ones in a row were no points.
    pub(crate) unseen: u32,
}

/// Memory that several threads have touched, in [`Accesses::touched`].
pub(crate) const SHARED: u32 = u32::MAX;
/// Memory that several threads have touched, but nobody can write to.
pub(crate) const CONSTANT: u32 = u32::MAX - 1;

/// Aligned to as much as it takes, so that it never lies across two pages, both of which every run would have to copy.
#[repr(align(2048))]
struct Slot(UnsafeCell<Option<Runtime>>);

const _: () = assert!(size_of::<Slot>() == align_of::<Slot>(), "a larger slot needs a larger alignment");

// SAFETY: only the carrier uses it; other OS threads run no code that does.
unsafe impl Sync for Slot {}

static RUNTIME: Slot = Slot(UnsafeCell::new(None));

/// Makes `runtime` the run of this process.
pub(crate) fn install(runtime: Runtime) {
    // SAFETY: nobody uses the run of before, which is over.
    unsafe { *RUNTIME.0.get() = Some(runtime) };
}

/// Does something with the run. Must neither call code of the program nor switch threads.
#[inline]
pub(crate) fn with<R>(action: impl FnOnce(&mut Runtime) -> R) -> R {
    // SAFETY: only the carrier comes here, and `action` does not come here again, so this is the only reference.
    let slot = unsafe { &mut *RUNTIME.0.get() };
    action(slot.as_mut().expect("a run is going on"))
}

impl Runtime {
    /// A run with only the main thread, which is the current one and running. The program calls it `handle`.
    pub(crate) fn new(
        mut engine: Engine,
        strategy: Box<dyn Strategy>,
        modules: &'static Modules,
        handle: u64,
    ) -> Runtime {
        engine.begin(strategy.needs());
        engine.add_thread();
        let mut runtime = Runtime {
            engine,
            strategy,
            objects: Objects::default(),
            places: vec![0],
            numbers: Table::default(),
            callers: None,
            threads: Vec::new(),
            current: ThreadId(0),
            leaving: None,
            ticks: 0,
            modules,
            status: 0,
            unwritten: Vec::new(),
            interrupts: Vec::new(),
            keys: Vec::new(),
            points: Points::default(),
            accesses: Accesses::default(),
            heap: Heap::default(),
            sleepers: Vec::new(),
            outside: Outside::default(),
            timers: Vec::new(),
            robust: Vec::new(),
            writers: Vec::new(),
            locked_files: Vec::new(),
            random: (0, 0),
            wants_steps: false,
            halt: None,
            values: None,
        };
        runtime.add_thread(Box::into_raw(Box::new(Fiber::new())), handle, false);
        let first = runtime.engine.next(&mut *runtime.strategy);
        debug_assert_eq!(first, Next::Resume { thread: ThreadId(0), reply: Reply::Go });
        runtime
    }

    /// Gives the newest thread of the engine its fiber.
    pub(crate) fn add_thread(&mut self, fiber: *mut Fiber, handle: u64, detached: bool) {
        self.threads.push(Thread {
            fiber,
            handle,
            reply: Reply::Go,
            detached,
            joined: false,
            ended: false,
            result: std::ptr::null_mut(),
            first_touched: 0,
            readings: 0,
            token: None,
            place: LocationId(0),
            cancelled: false,
            asynchronous: false,
            uncancellable: false,
            random: None,
            name: None,
            stack: Extent::default(),
        });
    }

    /// The thread that runs.
    pub(crate) fn me(&mut self) -> &mut Thread {
        &mut self.threads[self.current.index()]
    }

    /// The thread that the program calls `handle`.
    pub(crate) fn find_thread(&self, handle: u64) -> Option<ThreadId> {
        let found = self.threads.iter().rposition(|thread| thread.handle == handle && !thread.joined)?;
        Some(ThreadId(found as u32))
    }

    /// The word that holds glibc's number of a thread which has no OS thread and lives.
    pub(crate) fn number_of_none(&self, handle: u64) -> Option<&'static AtomicU32> {
        let thread = &self.threads[self.find_thread(handle)?.index()];
        // SAFETY: fibers are never freed.
        let fiber = unsafe { &*thread.fiber };
        fiber.word().filter(|_| fiber.was_left_behind() && !thread.ended)
    }

    /// The number of a place in the code, to which the latest call into the runtime belongs; 0 is no place.
    pub(crate) fn place(&mut self, address: usize) -> LocationId {
        let address = address as u64;
        if address == 0 {
            return LocationId(0);
        }
        let stack = self.me().stack;
        let key = self.callers.as_mut().map_or(address, |callers| callers.look(address, stack));
        if let Some(number) = self.numbers.get(key) {
            return LocationId(number);
        }
        let number = self.places.len() as u32;
        self.places.push(address);
        self.numbers.set(key, number);
        if self.engine.wants_places() {
            let callers = self.callers.as_ref().map_or(&[][..], |callers| &callers.latest);
            self.engine.name_place(LocationId(number), self.modules.name(address, callers));
        }
        if let Some(callers) = &mut self.callers {
            callers.keep();
        }
        LocationId(number)
    }

    /// The object of `class` at `address`; made if the run does not know it, with a first value.
    #[inline]
    pub(crate) fn object(&mut self, address: u64, class: Class, value: impl FnOnce() -> u64) -> ObjectId {
        match self.objects.find(address, class) {
            Some((object, known)) if known == class => object,
            _ => self.make(address, class, value()),
        }
    }

    /// Makes a new object at `address`.
    pub(crate) fn make(&mut self, address: u64, class: Class, value: u64) -> ObjectId {
        let name = self.name(address, class);
        self.objects.make(&mut self.engine, Made { name, address, value, class })
    }

    /// The object that stands for a thread.
    pub(crate) fn thread_object(&mut self, thread: ThreadId) -> ObjectId {
        let address = u64::from(thread.0);
        self.object(address, Class::Thread, || address)
    }

    /// A name for a new object: its address if that is the same in all runs, otherwise who is the first to touch it and how
    /// many objects that thread has touched first before.
    fn name(&mut self, address: u64, class: Class) -> Name {
        if self.modules.contain(address) {
            return Name(mix(address << 8 | class as u64));
        }
        let owner = self.engine.thread_name(self.current);
        let me = self.me();
        me.first_touched += 1;
        owner.child(class as u64).child(me.first_touched)
    }

    /// What memory is that a second thread touches.
    pub(crate) fn meeting(&self, address: u64) -> u32 {
        if self.modules.is_constant(address) { CONSTANT } else { SHARED }
    }

    /// The virtual time in nanoseconds since the start of the run.
    pub(crate) fn now(&self) -> u64 {
        self.engine.now().saturating_add(self.ticks)
    }

    /// Takes note of a thread and of its place, in case that nothing is heard of the run any more.
    #[inline]
    pub(crate) fn note_running(&self, thread: ThreadId) {
        let place = self.threads[thread.index()].place;
        results::note_running(thread.0, self.places[place.index()]);
        results::note_steps(self.engine.step_count());
    }

    /// What the engine says is next, after having waited for the outside where nothing else is left to do.
    #[inline]
    pub(crate) fn next(&mut self) -> Next {
        loop {
            match self.engine.next(&mut *self.strategy) {
                Next::Idle { spinning, until } => self.await_outside(spinning, until),
                next => return next,
            }
        }
    }

    /// Ends the run with a failure of the thread that runs, at a place in its code.
    pub(crate) fn fail(&mut self, place: usize, failure: impl FnOnce(ThreadId, LocationId) -> Failure) {
        let location = self.place(place);
        self.engine.fail(failure(self.current, location));
        // Takes note of what the other threads were about to do.
        let _ = self.engine.next(&mut *self.strategy);
    }
}

/// Announces the next operation of the current thread and returns when it has been executed.
#[inline]
pub(crate) fn step(operation: impl FnOnce(&mut Runtime) -> Operation) -> Reply {
    let frame = stack::frame();
    let next = with(|runtime| {
        let operation = operation(runtime);
        runtime.settle_values();
        runtime.accesses.unseen = 0;
        let me = runtime.current;
        if runtime.engine.go_on(me, operation) {
            return Ok(Reply::Go);
        }
        if !operation.kind.is_memory() {
            runtime.me().readings = 0;
        }
        runtime.me().place = operation.location;
        runtime.engine.announce(me, operation);
        match runtime.next() {
            Next::Resume { thread, reply } if thread == me => Ok(reply),
            next => Err((me, next)),
        }
    });
    let reply = match next {
        Ok(reply) => reply,
        Err((me, next)) => {
            hand_over(me, next);
            stack::set_frame(frame);
            with(|runtime| runtime.me().reply)
        }
    };
    with(|runtime| runtime.note_running(runtime.current));
    halt_if_due();
    reply
}

/// Announces an operation on one object.
pub(crate) fn step_on(
    kind: Kind,
    place: usize,
    access: Access,
    object: impl FnOnce(&mut Runtime) -> ObjectId,
) -> Reply {
    step(|runtime| {
        let object = object(runtime);
        Operation::new(kind, runtime.place(place)).on(object, access)
    })
}

/// Switches from thread `me` to the one that the engine names; returns when `me` is switched to. If the run is over, does
/// not return.
fn hand_over(me: ThreadId, next: Next) {
    let Next::Resume { thread, reply } = next else { end_run() };
    let (from, to) = with(|runtime| {
        runtime.current = thread;
        runtime.threads[thread.index()].reply = reply;
        (runtime.threads[me.index()].fiber, runtime.threads[thread.index()].fiber)
    });
    // SAFETY: this is the carrier, and a thread that is resumed and does not run is suspended.
    unsafe { fiber::switch(from, to) };
    arrive();
}

/// Lets go of the thread that the carrier came from, if it has ended. Called whenever a thread was switched to.
pub(crate) fn arrive() {
    let Some(thread) = with(|runtime| runtime.leaving.take()) else { return };
    let (fiber, handle, detached) = with(|runtime| {
        let thread = &runtime.threads[thread.index()];
        (thread.fiber, thread.handle, thread.detached)
    });
    // SAFETY: the carrier has left it, and its OS thread is parked; fibers are never freed.
    unsafe { (*fiber).release() };
    if detached {
        // SAFETY: to glibc all threads are joinable, and nobody else joins this one.
        unsafe { real::pthread_join(handle, std::ptr::null_mut()) };
        pool::note_join();
        with(|runtime| runtime.threads[thread.index()].joined = true);
    }
}

/// Ends the current thread, which is not the main one: its fiber is left for good, and its OS thread goes on from this call.
pub(crate) fn end_thread(result: *mut c_void) {
    let (me, next) = with(|runtime| {
        let me = runtime.current;
        runtime.me().ended = true;
        runtime.me().result = result;
        runtime.settle_values();
        runtime.leaving = Some(me).filter(|&me| me != ThreadId(0));
        runtime.engine.finish(me);
        (me, runtime.next())
    });
    let Next::Resume { thread, reply } = next else { end_run() };
    let (from, to) = with(|runtime| {
        runtime.current = thread;
        runtime.threads[thread.index()].reply = reply;
        (runtime.threads[me.index()].fiber, runtime.threads[thread.index()].fiber)
    });
    // SAFETY: as in `hand_over`. Nothing of the runtime is touched after this, which is on another OS thread.
    unsafe { fiber::switch(from, to) };
}

/// Ends the process after the run, whose verdict is known.
pub(crate) fn end_run() -> ! {
    if let Some(doubt) = with(doubt::about) {
        lose(doubt);
    }
    let exits = with(|runtime| {
        let summary = runtime.engine.summary();
        *summary.verdict == Verdict::Passed
            && summary.trace.events.last().is_none_or(|event| event.operation.kind != Kind::Exit)
    });
    control::end();
    if exits {
        // The last thread has ended, after the main one: the program ends with status 0, as if it had called `exit`.
        // SAFETY: nothing is under control any more; what is registered to run at the end runs here.
        unsafe { libc::exit(0) }
    }
    with(results::write);
    with(stdio::unlock_all);
    // SAFETY: the results are written; at worst this waits for ever and the server ends the process.
    unsafe { real::fflush(std::ptr::null_mut()) };
    raw::exit(0)
}

/// Ends the process because its run cannot be controlled.
pub(crate) fn lose(message: &str) -> ! {
    control::end();
    results::write_loss(message);
    raw::exit(0)
}

/// Ends the process because the system does not give what the run needs.
pub(crate) fn refuse(message: &str) -> ! {
    control::end();
    results::write_refusal(message);
    raw::exit(0)
}
