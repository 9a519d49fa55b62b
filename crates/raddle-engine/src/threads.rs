//! The threads of a run: their announced operations, and the enabled set.

use crate::pending::{FEW, ThreadSet, bit, bits};
use crate::spin::Spin;
use raddle_model::{Kind, LocationId, Name, ObjectId, Operation, ThreadId, mix};

/// No position.
const NIL: u32 = u32::MAX;

/// The protocol state of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    /// It was resumed and has not announced its next operation.
    Running,
    /// It has announced an operation.
    Pending,
    /// It waits inside an operation that is already executed (a barrier).
    Inside,
    /// It has ended.
    Done,
}

/// The reason why a waiting thread may continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wake {
    /// None: it waits until its condition holds.
    None,
    /// A signal came.
    Signalled,
    /// Its time limit expired.
    TimedOut,
    /// None until nothing else can run.
    Delayed,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Thread {
    pub(crate) operation: Operation,
    /// Its bit; 0 if it is in lists. See [`bit`].
    pub(crate) bit: u64,
    pub(crate) status: Status,
    pub(crate) wake: Wake,
    /// True if the spinning rule has descheduled it; then it is in no enabled set.
    pub(crate) resting: bool,
    /// True if it is a background thread.
    pub(crate) background: bool,
    /// Invariant in runs with many threads: its position in `Threads::enabled`, or `NIL`.
    position: u32,
    pub(crate) progress: u32,
    pub(crate) children: u32,
    pub(crate) parent: Option<ThreadId>,
    /// Number of events when it appeared.
    pub(crate) born: u32,
    pub(crate) name: Name,
    /// Invariant: the name plus a constant for each step taken; the thread's part of an event's fingerprint.
    pub(crate) version: u64,
    /// The virtual time at which it stops waiting, or `u64::MAX`.
    pub(crate) deadline: u64,
    /// The run's step count after its last step.
    pub(crate) last_step: u64,
    /// The step count of the run when it was last descheduled, and the time before.
    pub(crate) rested: [u64; 2],
    pub(crate) spin: Spin,
    /// True if the wait that it is about to begin has to end at once; see
    /// [`Engine::interrupt`](crate::Engine::interrupt).
    pub(crate) interrupted: bool,
    /// Its contribution to the state hash.
    pub(crate) local: u64,
    /// The object that represents it, once it was requested.
    pub(crate) object: Option<ObjectId>,
}

/// Added to a thread's version at each of its steps.
const STEP: u64 = 0xd6e8_feb8_6659_fd93;

impl Thread {
    /// Records that it executes its operation, a memory access, which is step number `steps` of the run. Returns its part of
    /// the fingerprint.
    #[inline(always)] // Twice in the hot path.
    pub(crate) fn advance(&mut self, steps: u64) -> u64 {
        self.spin.note_memory(&self.operation);
        self.advance_synchronisation(steps)
    }

    /// Does [`Thread::advance`] for an operation other than a memory access, whose effect on spinning is not known yet.
    #[inline(always)] // A handful of instructions.
    pub(crate) fn advance_synchronisation(&mut self, steps: u64) -> u64 {
        self.progress += 1;
        self.last_step = steps;
        self.version = self.version.wrapping_add(STEP);
        self.version
    }
}

impl Thread {
    /// Removes its latest step from its version. Returns the step's part of the fingerprint.
    pub(crate) fn retreat(&mut self) -> u64 {
        let version = self.version;
        self.version = version.wrapping_sub(STEP);
        version
    }
}

/// All threads of a run. Tables keep their memory between runs.
#[derive(Debug)]
pub(crate) struct Threads {
    all: Vec<Thread>,
    /// Invariant: the bits of the pending threads among the first 64 that can take a step, and no others.
    enabled_few: u64,
    /// Invariant in runs with many threads (more than bits): its first `listed` entries are the pending threads that can take
    /// a step, and no others. In runs with few threads, [`Threads::settle`] rebuilds these from the bits. There are at least as
    /// many entries as bits.
    enabled: Vec<ThreadId>,
    listed: usize,
    /// True if `enabled` has to be rebuilt.
    stale: bool,
    changed: ThreadSet,
    /// The names of the initial threads, and their hashes. Kept across runs.
    first: Vec<(Name, u64)>,
}

impl Default for Threads {
    fn default() -> Threads {
        Threads {
            all: Vec::new(),
            enabled_few: 0,
            enabled: vec![ThreadId(0); FEW as usize],
            listed: 0,
            stale: false,
            changed: ThreadSet::default(),
            first: Vec::new(),
        }
    }
}

impl Clone for Threads {
    fn clone(&self) -> Threads {
        let mut copy = Threads::default();
        copy.clone_from(self);
        copy
    }

    /// Keeps the memory, and the names that are kept across runs.
    #[inline]
    fn clone_from(&mut self, source: &Threads) {
        let Threads { all, enabled_few, enabled, listed, stale, changed, first: _ } = source;
        self.all.clone_from(all);
        self.enabled_few = *enabled_few;
        if self.enabled.len() < enabled.len() {
            self.enabled.resize(enabled.len(), ThreadId(0));
        }
        self.enabled[..*listed].copy_from_slice(&enabled[..*listed]);
        self.listed = *listed;
        self.stale = *stale;
        self.changed.clone_from(changed);
    }
}

impl Threads {
    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.listed = 0;
        self.changed.clear();
        self.enabled_few = 0;
        self.stale = false;
    }

    /// Adds a thread with a name, whose hash is its initial version.
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

    /// Returns the name of initial thread number `index`, and its hash.
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

    /// Returns true if there are more threads than bits.
    #[inline]
    pub(crate) fn is_wide(&self) -> bool {
        self.all.len() > FEW as usize
    }

    /// Switches from bits to the list of enabled threads.
    #[cold]
    fn widen(&mut self) {
        self.make_list();
        for (position, thread) in (0..).zip(&self.enabled[..self.listed]) {
            self.all[thread.index()].position = position;
        }
    }

    /// Rebuilds the list of enabled threads from the bits, if necessary.
    #[inline]
    pub(crate) fn settle(&mut self) {
        if self.stale {
            self.make_list();
        }
    }

    #[inline(never)] // Nothing has changed after most steps.
    fn make_list(&mut self) {
        self.stale = false;
        self.listed = 0;
        for (slot, thread) in self.enabled.iter_mut().zip(bits(self.enabled_few)) {
            *slot = thread;
            self.listed += 1;
        }
    }

    /// Returns the enabled threads; in a run with few threads they are current after [`Threads::settle`].
    #[inline]
    pub(crate) fn enabled(&self) -> &[ThreadId] {
        debug_assert!(!self.stale, "the list is current");
        &self.enabled[..self.listed]
    }

    /// Returns true if any thread is enabled.
    #[inline]
    pub(crate) fn any_enabled(&self) -> bool {
        if self.is_wide() { self.listed > 0 } else { self.enabled_few != 0 }
    }

    /// Returns the enabled threads that have bits.
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

    /// Returns true if a change was noted since they were last forgotten.
    #[inline]
    pub(crate) fn has_changes(&self) -> bool {
        !self.changed.is_empty()
    }

    #[inline]
    pub(crate) fn note_change(&mut self, thread: ThreadId) {
        self.changed.insert(thread);
    }

    /// Does [`Threads::note_change`] for a thread that has a bit.
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

    /// Adds `thread`, whose bit is `bit`, to the enabled set or removes it, and records that it may have changed.
    #[inline]
    pub(crate) fn update(&mut self, thread: ThreadId, bit: u64, enabled: bool) {
        if self.is_wide() {
            self.set_enabled(thread, enabled);
            return self.note_change(thread);
        }
        let moved = (self.enabled_few & bit) ^ if enabled { bit } else { 0 };
        self.stale |= moved != 0;
        self.enabled_few ^= moved;
        self.changed.insert_few(bit);
    }

    /// Adds `thread` to the enabled set or removes it. Returns true if that changed the set.
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

    /// Adds a set of bits to the enabled set or removes it, and records the changes. Only for runs with few
    /// threads.
    #[inline]
    pub(crate) fn set_enabled_few(&mut self, set: u64, enabled: bool) {
        debug_assert!(!self.is_wide(), "the list is used if there are many threads");
        let moved = if enabled { set & !self.enabled_few } else { set & self.enabled_few };
        self.enabled_few ^= moved;
        self.stale |= moved != 0;
        self.changed.insert_few(moved);
    }

    #[inline(never)] // Keeps the path of programs with few threads short.
    fn set_listed(&mut self, thread: ThreadId, enabled: bool) {
        let position = self.all[thread.index()].position;
        if enabled {
            self.all[thread.index()].position = self.listed as u32;
            match self.enabled.get_mut(self.listed) {
                Some(slot) => *slot = thread,
                None => self.enabled.push(thread),
            }
            self.listed += 1;
        } else {
            self.all[thread.index()].position = NIL;
            self.listed -= 1;
            if position as usize != self.listed {
                let moved = self.enabled[self.listed];
                self.enabled[position as usize] = moved;
                self.all[moved.index()].position = position;
            }
        }
    }
}
