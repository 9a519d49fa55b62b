//! The threads of a run: what each is about to do, and the set of those that could do it.

use crate::spin::Spin;
use raddle_model::{Name, ObjectId, Operation, ThreadId, mix};

/// No list node, no position.
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
}

#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub(crate) operation: Operation,
    pub(crate) status: Status,
    pub(crate) wake: Wake,
    /// Whether the spinning rule holds it back; then it is in no enabled set.
    pub(crate) resting: bool,
    /// Invariant: its position in `Threads::enabled`, or `NIL`.
    position: u32,
    pub(crate) progress: u32,
    pub(crate) children: u32,
    pub(crate) parent: Option<ThreadId>,
    pub(crate) name: Name,
    /// Invariant: the name plus a constant for each step taken; the thread's part of an event's fingerprint.
    pub(crate) version: u64,
    /// The virtual time at which it stops waiting, or `u64::MAX`.
    pub(crate) deadline: u64,
    /// The run's step count after its last step.
    pub(crate) last_step: u64,
    pub(crate) spin: Spin,
    /// What it adds to the state hash.
    pub(crate) local: u64,
    /// The object that stands for it, once somebody asked for it.
    pub(crate) object: Option<ObjectId>,
}

/// All threads of a run. Tables keep their memory between runs.
#[derive(Default, Debug)]
pub(crate) struct Threads {
    all: Vec<Thread>,
    /// Invariant: the pending threads that can take a step, and no others.
    enabled: Vec<ThreadId>,
    changed: Vec<ThreadId>,
    /// Two list nodes per thread, one for each touched object: previous and next node of that object's list.
    links: Vec<[u32; 2]>,
}

impl Threads {
    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.enabled.clear();
        self.changed.clear();
        self.links.clear();
    }

    pub(crate) fn add(&mut self, name: Name, parent: Option<ThreadId>, idle: Operation) -> ThreadId {
        let id = ThreadId(self.all.len() as u32);
        self.all.push(Thread {
            operation: idle,
            status: Status::Running,
            wake: Wake::None,
            resting: false,
            position: NIL,
            progress: 0,
            children: 0,
            parent,
            name,
            version: mix(name.0),
            deadline: u64::MAX,
            last_step: 0,
            spin: Spin::default(),
            local: 0,
            object: None,
        });
        self.links.push([NIL; 2]);
        self.links.push([NIL; 2]);
        id
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

    #[inline]
    pub(crate) fn enabled(&self) -> &[ThreadId] {
        &self.enabled
    }

    #[inline]
    pub(crate) fn changed(&self) -> &[ThreadId] {
        &self.changed
    }

    #[inline]
    pub(crate) fn forget_changes(&mut self) {
        self.changed.clear();
    }

    #[inline]
    pub(crate) fn note_change(&mut self, thread: ThreadId) {
        self.changed.push(thread);
    }

    #[inline]
    pub(crate) fn is_enabled(&self, thread: ThreadId) -> bool {
        self.all.get(thread.index()).is_some_and(|thread| thread.position != NIL)
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
        let position = self.all[thread.index()].position;
        if (position != NIL) == enabled {
            return false;
        }
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
        true
    }

    /// Adds list node `slot` of `thread` to the list that begins at `head`.
    #[inline]
    pub(crate) fn link(&mut self, thread: ThreadId, slot: usize, head: &mut u32) {
        let node = thread.0 * 2 + slot as u32;
        self.links[node as usize] = [NIL, *head];
        if *head != NIL {
            self.links[*head as usize][0] = node;
        }
        *head = node;
    }

    /// Takes list node `slot` of `thread` out of the list that begins at `head`.
    #[inline]
    pub(crate) fn unlink(&mut self, thread: ThreadId, slot: usize, head: &mut u32) {
        let [previous, next] = self.links[thread.index() * 2 + slot];
        if previous == NIL {
            *head = next;
        } else {
            self.links[previous as usize][1] = next;
        }
        if next != NIL {
            self.links[next as usize][0] = previous;
        }
    }

    /// The threads of the list that begins at `head`.
    #[inline]
    pub(crate) fn pending_on(&self, head: u32) -> impl Iterator<Item = ThreadId> + '_ {
        self.touching(head).map(|(thread, _)| thread)
    }

    /// The threads of the list that begins at `head`, each with whether it writes the object of the list.
    #[inline]
    pub(crate) fn touching(&self, head: u32) -> impl Iterator<Item = (ThreadId, bool)> + '_ {
        let mut node = head;
        std::iter::from_fn(move || {
            if node == NIL {
                return None;
            }
            let thread = ThreadId(node / 2);
            let writes = self.all[thread.index()].operation.touches[node as usize % 2].writes();
            node = self.links[node as usize][1];
            Some((thread, writes))
        })
    }

    /// The list node after `node`, if there is one, and the thread of `node`. For loops that change threads as they go.
    #[inline]
    pub(crate) fn walk(&self, node: u32) -> Option<(ThreadId, u32)> {
        (node != NIL).then(|| (ThreadId(node / 2), self.links[node as usize][1]))
    }
}

/// The head of a list that is empty.
pub(crate) const EMPTY_LIST: u32 = NIL;
