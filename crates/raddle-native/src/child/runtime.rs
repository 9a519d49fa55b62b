//! The state of the current run in this process: its threads, objects and locations, and the engine.
#![expect(unsafe_code, reason = "one OS thread shares a static with itself")]

use crate::child::accesses::Accesses;
use crate::child::atomics::Atomics;
use crate::child::fiber::Fiber;
use crate::child::halt::Halt;
use crate::child::heap::{Action, Heap, MemoryNote};
use crate::child::network::{Network, wire::Birth};
use crate::child::objects::{Class, ObjectRecord, Objects, Robust};
use crate::child::outside::Outside;
use crate::child::pool;
use crate::child::shared_memory;
use crate::child::signals::{Alarm, Signals};
use crate::child::stack::{Callers, Extent};
use crate::child::timer_file::TimerFile;
use crate::child::transactions::Progress;
use crate::child::values::Values;
use crate::platform::modules::Modules;
use crate::platform::signals::mask_signals;
use crate::platform::table::Table;
use raddle_engine::{Engine, Needs, Next, Reply, Rng, Strategy};
use raddle_model::native::Points;
use raddle_model::{Failure, LocationId, LockMode, Name, ObjectId, ThreadId, mix};
use std::cell::UnsafeCell;
use std::ffi::{CString, c_void};
use std::sync::atomic::AtomicU32;
#[cfg(debug_assertions)]
use std::sync::atomic::{AtomicBool, Ordering};

/// One thread of the run.
pub(crate) struct Thread {
    pub(super) fiber: *mut Fiber,
    /// Its handle in the program.
    pub(crate) handle: u64,
    /// The result of its latest operation, for when it is resumed.
    pub(super) reply: Reply,
    /// It is detached: its OS thread is joined at its end.
    pub(crate) detached: bool,
    /// It was joined, so its handle may refer to another thread.
    pub(crate) joined: bool,
    pub(crate) ended: bool,
    /// Its result, for the thread that joins it.
    pub(crate) result: *mut c_void,
    /// The number of objects that it was the first to touch.
    first_touched: u64,
    /// Clock readings since its latest operation.
    pub(crate) readings: u32,
    /// The object it parks on while it waits on a futex, once it has done so.
    pub(crate) token: Option<ObjectId>,
    /// The location of its latest operation.
    pub(crate) place: LocationId,
    /// It was cancelled.
    pub(crate) cancelled: bool,
    /// It has asynchronous cancellation.
    pub(crate) asynchronous: bool,
    /// Cancellation is disabled, or it is already at its end.
    pub(crate) uncancellable: bool,
    /// Its random numbers, once it has requested one.
    pub(crate) random: Option<Rng>,
    /// The name that the program set.
    pub(crate) name: Option<CString>,
    pub(crate) stack: Extent,
    pub(crate) signals: Signals,
    /// The wire of the simulated network whose deliveries it stands for. Such a thread has no fiber, and counts as ended.
    pub(crate) wire: Option<usize>,
}

/// The run of this process.
pub(crate) struct Runtime {
    pub(crate) engine: Engine,
    pub(crate) strategy: Box<dyn Strategy>,
    pub(crate) objects: Objects,
    /// Code addresses in the order in which the run reached them; the first stands for no location.
    pub(crate) places: Vec<u64>,
    numbers: Table,
    /// The callers of each location, if requested.
    pub(crate) callers: Option<Callers>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) current: ThreadId,
    /// The ended thread whose stack the carrier has just left.
    pub(super) leaving: Option<ThreadId>,
    /// The threads that are being created: the program has not returned from creating them.
    pub(super) arriving: Vec<*mut Fiber>,
    /// Virtual nanoseconds that reading the clock has taken.
    pub(crate) ticks: u64,
    /// The files of the program.
    pub(crate) modules: &'static Modules,
    /// The exit status of the program.
    pub(crate) status: i32,
    /// The events that were writes and left the value unchanged.
    pub(crate) unwritten: Vec<u32>,
    /// The threads that were woken to be cancelled, each with the event that did it.
    pub(crate) interrupts: Vec<(u32, ThreadId)>,
    /// True if a thread sent a signal to another one, or cancelled it.
    pub(crate) has_interrupts: bool,
    /// Destructors of thread-specific keys.
    pub(crate) keys: Vec<(u32, usize)>,
    pub(crate) points: Points,
    pub(crate) accesses: Accesses,
    pub(crate) heap: Heap,
    /// The waiters of futexes, in order of arrival: address, bits, thread.
    pub(crate) sleepers: Vec<(u64, u32, ThreadId)>,
    pub(crate) outside: Outside,
    pub(crate) network: Network,
    /// The threads that stand for deliveries.
    pub(crate) births: Vec<Birth>,
    /// The timers of the program that send signals.
    pub(crate) alarms: Vec<Alarm>,
    /// The signals that the carrier blocks: those of the running thread, except inside a handler.
    pub(crate) kernel_mask: u64,
    /// The timer files of the program.
    pub(crate) timers: Vec<TimerFile>,
    /// The robust mutexes that threads have locked.
    pub(crate) robust: Vec<Robust>,
    /// The read-write locks that are locked for writing, and their holders.
    pub(crate) writers: Vec<(usize, ThreadId)>,
    /// The locks that are locked for glibc during a fork: address, class, mode.
    pub(crate) lent_locks: Vec<(u64, Class, LockMode)>,
    /// The stdio files that threads have locked, once for each time.
    pub(crate) locked_files: Vec<(usize, ThreadId)>,
    /// The source of the program's random numbers: a seed and the number of a run.
    pub(crate) random: (u64, u64),
    /// True if the steps of the run are requested even if it passes.
    pub(crate) wants_steps: bool,
    /// The point at which the run must end, if it repeats one that ended there unseen.
    pub(crate) halt: Option<Halt>,
    /// The values that steps read and write, if requested.
    pub(crate) values: Option<Box<Values>>,
    /// The origins of the memory of objects, if the run is shown.
    pub(crate) memory: Vec<MemoryNote>,
    /// The atomics of a run under weak memory.
    pub(crate) atomics: Option<Box<Atomics>>,
    /// The transactions of a run that is divided into some.
    pub(crate) transactions: Option<Box<Progress>>,
}

/// Aligned to its size, so that it never spans two pages, both of which every run would have to copy.
#[repr(align(4096))]
struct Slot(UnsafeCell<Option<Runtime>>);

const _: () = assert!(size_of::<Slot>() == align_of::<Slot>(), "a larger slot needs a larger alignment");

// SAFETY: only the carrier uses it; other OS threads run no code that does.
unsafe impl Sync for Slot {}

static RUNTIME: Slot = Slot(UnsafeCell::new(None));

/// Makes `runtime` the run of this process.
pub(crate) fn install(runtime: Runtime) {
    let _access = Exclusive::begin();
    // SAFETY: only the carrier comes here, and nothing uses the previous run, which is over.
    unsafe { *RUNTIME.0.get() = Some(runtime) };
}

/// Removes the run of this process, which is over and has no OS threads, and returns its strategy.
pub(crate) fn take() -> Option<Box<dyn Strategy>> {
    let _access = Exclusive::begin();
    // SAFETY: only the carrier comes here, and nothing uses the run any more.
    let runtime = unsafe { (*RUNTIME.0.get()).take() }?;
    let threads = runtime.threads.iter().filter(|thread| thread.wire.is_none());
    for (index, thread) in threads.enumerate() {
        // SAFETY: nothing switches to the fibers any more. `Runtime::new` has allocated that of the main thread, and the
        // others are those of tasks.
        unsafe { if index == 0 { drop(Box::from_raw(thread.fiber)) } else { pool::free(thread.fiber) } }
    }
    // SAFETY: as above.
    runtime.arriving.iter().for_each(|&fiber| unsafe { pool::free(fiber) });
    Some(runtime.strategy)
}

/// Calls `action` with the run. It must neither call code of the program, nor switch threads, nor call this
/// again: a debug build detects the latter and ends the run with a message.
#[inline]
pub(crate) fn with<R>(action: impl FnOnce(&mut Runtime) -> R) -> R {
    let _access = Exclusive::begin();
    // SAFETY: only the carrier comes here, and `action` does not come here again, so this is the only
    // reference.
    let slot = unsafe { &mut *RUNTIME.0.get() };
    action(slot.as_mut().expect("there is a current run"))
}

/// An exclusive access to the run, for as long as it exists. Checked only in debug builds.
struct Exclusive;

/// True during an access.
#[cfg(debug_assertions)]
static ACCESSED: AtomicBool = AtomicBool::new(false);

impl Exclusive {
    #[inline]
    fn begin() -> Exclusive {
        #[cfg(debug_assertions)]
        assert!(!ACCESSED.swap(true, Ordering::Relaxed), "`with` is not reentrant");
        Exclusive
    }
}

#[cfg(debug_assertions)]
impl Drop for Exclusive {
    fn drop(&mut self) {
        ACCESSED.store(false, Ordering::Relaxed);
    }
}

impl Runtime {
    /// Creates a run with only the main thread, which is the current one and running. Its handle in the
    /// program is `handle`.
    pub(crate) fn new(
        mut engine: Engine,
        strategy: Box<dyn Strategy>,
        modules: &'static Modules,
        handle: u64,
    ) -> Runtime {
        // The settings of the engine say whether the run is under weak memory.
        engine.begin(Needs { weak_memory: false, ..strategy.needs() });
        engine.set_stronger_orders(&*strategy);
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
            arriving: Vec::new(),
            ticks: 0,
            modules,
            status: 0,
            unwritten: Vec::new(),
            interrupts: Vec::new(),
            has_interrupts: false,
            keys: Vec::new(),
            points: Points::default(),
            accesses: Accesses::default(),
            heap: Heap::default(),
            sleepers: Vec::new(),
            outside: Outside::default(),
            network: Network::default(),
            births: Vec::new(),
            alarms: Vec::new(),
            kernel_mask: mask_signals(libc::SIG_BLOCK, 0),
            timers: Vec::new(),
            robust: Vec::new(),
            writers: Vec::new(),
            lent_locks: Vec::new(),
            locked_files: Vec::new(),
            random: (0, 0),
            wants_steps: false,
            halt: None,
            values: None,
            memory: Vec::new(),
            atomics: None,
            transactions: None,
        };
        runtime.add_thread(Box::into_raw(Box::new(Fiber::new())), handle, false);
        let first = runtime.engine.next(&mut *runtime.strategy);
        debug_assert_eq!(first, Next::Resume { thread: ThreadId(0), reply: Reply::Go });
        runtime
    }

    /// Sets the fiber of the newest thread of the engine.
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
            // A new thread inherits the mask of its creator.
            signals: Signals::new(
                self.threads.get(self.current.index()).map_or(self.kernel_mask, |me| me.signals.mask),
            ),
            wire: None,
        });
    }

    /// Returns the current thread.
    pub(crate) fn me(&mut self) -> &mut Thread {
        &mut self.threads[self.current.index()]
    }

    /// Returns the thread with this handle in the program.
    pub(crate) fn find_thread(&self, handle: u64) -> Option<ThreadId> {
        let found = self.threads.iter().rposition(|thread| thread.handle == handle && !thread.joined)?;
        Some(ThreadId(found as u32))
    }

    /// Ends the OS threads of all threads, after the run.
    pub(crate) fn abandon_os_threads(&self) {
        let threads = self.threads.iter().enumerate().filter(|(_, thread)| thread.wire.is_none());
        for (index, thread) in threads.skip(1) {
            // SAFETY: fibers are never freed during a run.
            let fiber = unsafe { &*thread.fiber };
            let is_parked = !thread.ended || self.leaving == Some(ThreadId(index as u32));
            if is_parked && !fiber.was_left_behind() {
                fiber.abandon();
            }
        }
        for &fiber in &self.arriving {
            // SAFETY: as above.
            let fiber = unsafe { &*fiber };
            if !fiber.was_left_behind() {
                fiber.abandon();
            }
        }
    }

    /// Returns the word with glibc's id of a live thread without an OS thread.
    pub(crate) fn number_of_none(&self, handle: u64) -> Option<&'static AtomicU32> {
        let thread = &self.threads[self.find_thread(handle)?.index()];
        // SAFETY: fibers are never freed.
        let fiber = unsafe { &*thread.fiber };
        fiber.word().filter(|_| fiber.was_left_behind() && !thread.ended)
    }

    /// Returns the number of a code location, to which the latest call into the runtime belongs; 0 is no
    /// location.
    pub(crate) fn place(&mut self, address: usize) -> LocationId {
        let address = address as u64;
        if address == 0 {
            return LocationId(0);
        }
        let stack = self.me().stack;
        let thread = self.current.index();
        let key = self.callers.as_mut().map_or(address, |callers| callers.look_at(thread, address, stack));
        self.place_by(key, address)
    }

    /// The number of a place in the code that the thread which runs has been to before: who called it then is not known.
    pub(crate) fn former_place(&mut self, address: usize) -> LocationId {
        if let Some(callers) = &mut self.callers {
            callers.latest.clear();
        }
        self.place_by(address as u64, address as u64)
    }

    /// An allocation or a free by the thread that runs.
    pub(crate) fn heap_action(&mut self, place: usize) -> Action {
        let location = if self.shows_stacks() { self.place(place) } else { LocationId(0) };
        Action { thread: self.current, place, location }
    }

    /// True if the stacks of the run are shown.
    pub(crate) fn shows_stacks(&self) -> bool {
        self.callers.as_ref().is_some_and(|callers| callers.shown.is_some())
    }

    /// The number of a place that `key` tells from others.
    fn place_by(&mut self, key: u64, address: u64) -> LocationId {
        if let Some(number) = self.numbers.get(key) {
            return LocationId(number);
        }
        let number = self.places.len() as u32;
        self.places.push(address);
        self.numbers.set(key, number);
        if self.engine.wants_location_names() {
            let callers = self.callers.as_ref().map_or(&[][..], |callers| &callers.latest);
            self.engine.name_location(LocationId(number), self.modules.name(address, callers));
        }
        if let Some(callers) = &mut self.callers {
            callers.keep();
        }
        LocationId(number)
    }

    /// Returns the object of `class` at `address`; creates it with an initial value if the run does not know
    /// it.
    #[inline]
    pub(crate) fn object(&mut self, address: u64, class: Class, value: impl FnOnce() -> u64) -> ObjectId {
        match self.objects.find(address, class) {
            Some((object, known)) if known == class => object,
            _ => self.make(address, class, value()),
        }
    }

    /// Creates an object at `address`.
    pub(crate) fn make(&mut self, address: u64, class: Class, value: u64) -> ObjectId {
        let name = self.name(address, class);
        if self.shows_stacks() {
            self.note_memory(address, class);
        }
        self.objects.make(&mut self.engine, ObjectRecord { name, address, value, class })
    }

    /// Takes note of where the memory of a new object comes from.
    fn note_memory(&mut self, address: u64, class: Class) {
        if matches!(class, Class::Thread | Class::Token | Class::Descriptor | Class::Wire) {
            return;
        }
        let object = self.objects.made.len() as u32;
        if let Some(block) = self.heap.holder(address as usize) {
            let place = u64::from(block.allocated.location.0);
            let offset = address as i64 - block.address as i64;
            self.memory.push(MemoryNote { place, offset, size: block.size as u64, object, is_heap: 1 });
            return;
        }
        let owner = self.threads.iter().position(|thread| thread.stack.holds(address as usize));
        let stacks = self.callers.as_ref().and_then(|callers| callers.shown.as_ref());
        let frames = owner.zip(stacks).and_then(|(owner, stacks)| stacks.threads.get(owner));
        let Some(frame) = frames.and_then(|frames| frames.iter().find(|frame| frame.pointer > address))
        else {
            return;
        };
        // The canonical frame address is above the frame pointer and the return address.
        let offset = address as i64 - (frame.pointer as i64 + 16);
        self.memory.push(MemoryNote { place: frame.address, offset, size: 0, object, is_heap: 0 });
    }

    /// Returns the object that stands for a thread.
    pub(crate) fn thread_object(&mut self, thread: ThreadId) -> ObjectId {
        let address = u64::from(thread.0);
        self.object(address, Class::Thread, || address)
    }

    /// Returns a name for a new object: its address if that is the same in all runs, otherwise the first
    /// thread to touch it and the number of objects that this thread has touched first before.
    fn name(&mut self, address: u64, class: Class) -> Name {
        if self.modules.contain(address) {
            return Name(mix(address << 8 | class as u64));
        }
        let owner = self.engine.thread_name(self.current);
        let me = self.me();
        me.first_touched += 1;
        owner.child(class as u64).child(me.first_touched)
    }

    /// Returns the virtual time in nanoseconds since the start of the run.
    pub(crate) fn now(&self) -> u64 {
        self.engine.now().saturating_add(self.ticks)
    }

    /// Records the running thread and its location, in case the run ends without results.
    #[inline]
    pub(crate) fn note_running(&self, thread: ThreadId) {
        let place = self.threads[thread.index()].place;
        shared_memory::note_running(thread.0, self.places[place.index()]);
        shared_memory::note_steps(self.engine.step_count());
    }

    /// Ends the run with a failure of the current thread, at a code location.
    pub(crate) fn fail(&mut self, place: usize, failure: impl FnOnce(ThreadId, LocationId) -> Failure) {
        let location = self.place(place);
        self.engine.fail(failure(self.current, location));
        // Record the next operations of the other threads.
        let _ = self.engine.next(&mut *self.strategy);
    }
}

impl Runtime {
    /// Reads the value that the current thread has written since it left the runtime, if requested.
    #[inline]
    pub(crate) fn settle_values(&mut self) {
        if let Some(values) = &mut self.values {
            values.settle(self.current);
        }
    }
}

/// Records that the current thread is about to execute its announced operation.
pub(crate) fn begin_value() {
    with(|runtime| {
        let step = runtime.engine.step_count() as u32 - 1;
        if let Some(values) = &mut runtime.values {
            values.begin(runtime.current, step);
        }
    });
}

/// Records that the current thread has executed it.
pub(crate) fn settle_value() {
    with(Runtime::settle_values);
}

/// Records that the latest step has written nothing.
pub(crate) fn unwrite_value() {
    with(|runtime| {
        if let Some(noted) = runtime.values.as_mut().and_then(|values| values.noted.last_mut()) {
            noted.set_written(None);
        }
    });
}
