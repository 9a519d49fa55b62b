//! The threads of a run: what each is about to do, and the set of those that could do it.

use crate::pending::{FEW, ThreadSet, bit, bits};
use crate::spin::Spin;
use raddle_model::{Kind, LocationId, Name, ObjectId, Operation, ThreadId, mix};

/// No position.
const NIL: u32 = u32::MAX;

/// Where a thread stands with the front end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    /// It was told to run and has not announced its next operation.
    Running,
    /// It has announced an operation.
    Pending,
    /// It waits inside an operation that is already executed (a barrier).
    Inside,
    /// It has ended.
    Done,
}

/// Why a thread that waits may go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wake {
    /// It may not, unless what it waits for is there.
    None,
    /// A signal came.
    Signalled,
    /// Its time is over.
    TimedOut,
    /// It may not, before nothing else can run.
    Delayed,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Thread {
    pub(crate) operation: Operation,
    /// Its bit; none if it is in lists. See [`bit`].
    pub(crate) bit: u64,
    pub(crate) status: Status,
    pub(crate) wake: Wake,
    /// Whether the spinning rule holds it back; then it is in no enabled set.
    pub(crate) resting: bool,
    /// Whether it does not keep the run going.
    pub(crate) background: bool,
    /// Invariant in runs with many threads: its position in `Threads::enabled`, or `NIL`.
    position: u32,
    pub(crate) progress: u32,
    pub(crate) children: u32,
    pub(crate) parent: Option<ThreadId>,
    /// How many events there were when it appeared.
    pub(crate) born: u32,
    pub(crate) name: Name,
    /// Invariant: the name plus a constant for each step taken; the thread's part of an event's fingerprint.
    pub(crate) version: u64,
    /// The virtual time at which it stops waiting, or `u64::MAX`.
    pub(crate) deadline: u64,
    /// The run's step count after its last step.
    pub(crate) last_step: u64,
    /// How many steps the run had taken when it was held back last, and the time before.
    pub(crate) rested: [u64; 2],
    pub(crate) spin: Spin,
    /// Whether the wait that it is about to begin is to end at once; see [`Engine::interrupt`](crate::Engine::interrupt).
    pub(crate) interrupted: bool,
    /// What it adds to the state hash.
    pub(crate) local: u64,
    /// The object that stands for it, once somebody asked for it.
    pub(crate) object: Option<ObjectId>,
}

/// Added to a thread's version at each of its steps.
const STEP: u64 = 0xd6e8_feb8_6659_fd93;

impl Thread {
    /// Takes note that it executes its operation, which is step number `steps` of the run; tells its part of the fingerprint.
    #[inline(always)] // Twice in the hot path.
    pub(crate) fn advance(&mut self, steps: u64) -> u64 {
        self.progress += 1;
        self.last_step = steps;
        self.version = self.version.wrapping_add(STEP);
        if self.operation.kind.is_memory() {
            self.spin.note_memory(&self.operation);
        }
        self.version
    }
}

impl Thread {
    /// Takes its latest step out of its version; tells the part of the fingerprint that the step had.
    pub(crate) fn retreat(&mut self) -> u64 {
        let version = self.version;
        self.version = version.wrapping_sub(STEP);
        version
    }
}

/// All threads of a run. Tables keep their memory between runs.
#[derive(Default, Debug)]
pub(crate) struct Threads {
    all: Vec<Thread>,
    /// Invariant: the bits of the pending threads among the first 64 that can take a step, and no others.
    enabled_few: u64,
    /// Invariant in runs with many threads (more than bits): the pending threads that can take a step, and no others. In
    /// runs with few it is made from the bits by [`Threads::settle`].
    enabled: Vec<ThreadId>,
    /// Whether `enabled` has to be made anew.
    stale: bool,
    changed: ThreadSet,
    /// The names of the threads that runs begin with, and their hashes. Outlasts runs.
    first: Vec<(Name, u64)>,
}

impl Clone for Threads {
    fn clone(&self) -> Threads {
        let mut copy = Threads::default();
        copy.clone_from(self);
        copy
    }

    /// Keeps the memory, and the names that outlast runs.
    #[inline]
    fn clone_from(&mut self, source: &Threads) {
        let Threads { all, enabled_few, enabled, stale, changed, first: _ } = source;
        self.all.clone_from(all);
        self.enabled_few = *enabled_few;
        self.enabled.clone_from(enabled);
        self.stale = *stale;
        self.changed.clone_from(changed);
    }
}

impl Threads {
    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.enabled.clear();
        self.changed.clear();
        self.enabled_few = 0;
        self.stale = false;
    }

    /// Adds a thread with a name, whose hash is the version that it begins with.
    pub(crate) fn add(&mut self, (name, version): (Name, u64), parent: Option<ThreadId>) -> ThreadId {
        let id = ThreadId(self.all.len() as u32);
        self.all.push(Thread {
            operation: Operation::new(Kind::Local, LocationId(0)),
            bit: bit(id),
            status: Status::Running,
            wake: Wake::None,
            resting: false,
            background: false,
            position: NIL,
            progress: 0,
            children: 0,
            parent,
            born: 0,
            name,
            version,
            deadline: u64::MAX,
            last_step: 0,
            rested: [0; 2],
            spin: Spin::default(),
            interrupted: false,
            local: 0,
            object: None,
        });
        if self.all.len() == FEW as usize + 1 {
            self.widen();
        }
        id
    }

    /// The name, and the hash of it, of the thread that is number `index` of those that the run begins with.
    #[inline]
    pub(crate) fn first(&mut self, index: usize) -> (Name, u64) {
        while self.first.len() <= index {
            let name = Name::PROGRAM.child(self.first.len() as u64);
            self.first.push((name, mix(name.0)));
        }
        self.first[index]
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    #[inline]
    pub(crate) fn get(&self, thread: ThreadId) -> &Thread {
        &self.all[thread.index()]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, thread: ThreadId) -> &mut Thread {
        &mut self.all[thread.index()]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ThreadId, &Thread)> {
        self.all.iter().enumerate().map(|(index, thread)| (ThreadId(index as u32), thread))
    }

    /// Whether there are more threads than bits.
    #[inline]
    pub(crate) fn is_wide(&self) -> bool {
        self.all.len() > FEW as usize
    }

    /// From now on the list of the enabled threads is what counts.
    #[cold]
    fn widen(&mut self) {
        self.stale = true;
        self.make_list();
        for (position, thread) in (0..).zip(&self.enabled) {
            self.all[thread.index()].position = position;
        }
    }

    /// Makes the list of the enabled threads agree with the bits.
    #[inline]
    pub(crate) fn settle(&mut self) {
        if self.stale {
            self.make_list();
        }
    }

    #[inline(never)] // Nothing has changed after most steps.
    fn make_list(&mut self) {
        self.stale = false;
        self.enabled.clear();
        self.enabled.extend(bits(self.enabled_few));
    }

    /// The enabled threads; those of a run with few threads are up to date after [`Threads::settle`].
    #[inline]
    pub(crate) fn enabled(&self) -> &[ThreadId] {
        debug_assert!(!self.stale, "the list was made");
        &self.enabled
    }

    /// Whether any thread is enabled.
    #[inline]
    pub(crate) fn any_enabled(&self) -> bool {
        if self.is_wide() { !self.enabled.is_empty() } else { self.enabled_few != 0 }
    }

    /// The enabled threads that are bits.
    #[inline]
    pub(crate) fn enabled_few(&self) -> u64 {
        self.enabled_few
    }

    #[inline]
    pub(crate) fn changed(&self) -> &ThreadSet {
        &self.changed
    }

    #[inline]
    pub(crate) fn forget_changes(&mut self) {
        self.changed.clear();
    }

    #[inline]
    pub(crate) fn note_change(&mut self, thread: ThreadId) {
        self.changed.insert(thread);
    }

    /// As [`Threads::note_change`], for a thread that is a bit.
    #[inline]
    pub(crate) fn note_change_of_few(&mut self, bit: u64) {
        self.changed.insert_few(bit);
    }

    #[inline]
    pub(crate) fn is_enabled(&self, thread: ThreadId) -> bool {
        if thread.0 < FEW {
            self.enabled_few & bit(thread) != 0
        } else {
            self.all.get(thread.index()).is_some_and(|thread| thread.position != NIL)
        }
    }

    #[inline]
    pub(crate) fn operation(&self, thread: ThreadId) -> &Operation {
        &self.all[thread.index()].operation
    }

    #[inline]
    pub(crate) fn name(&self, thread: ThreadId) -> Name {
        self.all[thread.index()].name
    }

    #[inline]
    pub(crate) fn parent(&self, thread: ThreadId) -> Option<ThreadId> {
        self.all[thread.index()].parent
    }

    #[inline]
    pub(crate) fn progress(&self, thread: ThreadId) -> u32 {
        self.all[thread.index()].progress
    }

    /// Puts `thread` into the enabled set or takes it out; tells whether that changed anything.
    #[inline]
    pub(crate) fn set_enabled(&mut self, thread: ThreadId, enabled: bool) -> bool {
        if self.is_enabled(thread) == enabled {
            return false;
        }
        self.enabled_few ^= bit(thread);
        if self.is_wide() {
            self.set_listed(thread, enabled);
        } else {
            self.stale = true;
        }
        true
    }

    /// Puts a set of bits into the enabled set or takes it out, and notes the changes. Only for runs with few threads.
    #[inline]
    pub(crate) fn set_enabled_few(&mut self, set: u64, enabled: bool) {
        debug_assert!(!self.is_wide(), "the list counts if there are many threads");
        let moved = if enabled { set & !self.enabled_few } else { set & self.enabled_few };
        self.enabled_few ^= moved;
        self.stale |= moved != 0;
        self.changed.insert_few(moved);
    }

    #[inline(never)] // Keeps the path of programs with few threads short.
    fn set_listed(&mut self, thread: ThreadId, enabled: bool) {
        let position = self.all[thread.index()].position;
        if enabled {
            self.all[thread.index()].position = self.enabled.len() as u32;
            self.enabled.push(thread);
        } else {
            self.all[thread.index()].position = NIL;
            self.enabled.swap_remove(position as usize);
            if let Some(&moved) = self.enabled.get(position as usize) {
                self.all[moved.index()].position = position;
            }
        }
    }
}
