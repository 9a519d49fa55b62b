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
    /// Whether it does not keep the run going.
    pub(crate) background: bool,
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
    /// The first of its two nodes, one for each object that an operation touches.
    node: u32,
}

impl Thread {
    /// Whether it is in the enabled set.
    #[inline]
    pub(crate) fn is_enabled(&self) -> bool {
        self.position != NIL
    }
}

/// All threads of a run. Tables keep their memory between runs.
#[derive(Default, Debug)]
pub(crate) struct Threads {
    all: Vec<Thread>,
    /// Invariant: the pending threads that can take a step, and no others.
    enabled: Vec<ThreadId>,
    changed: Vec<ThreadId>,
    /// Nodes of doubly linked rings: previous and next. An object has a ring with one node of its own, its head, and one
    /// of each thread whose next operation touches it. A ring needs no branches, whose outcome would be random here.
    links: Vec<[u32; 2]>,
    /// Per node: the thread it belongs to.
    owner: Vec<ThreadId>,
}

impl Threads {
    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.enabled.clear();
        self.changed.clear();
        self.links.clear();
        self.owner.clear();
    }

    /// Adds the ring of an object, and returns its head.
    pub(crate) fn add_ring(&mut self) -> u32 {
        let head = self.links.len() as u32;
        self.links.push([head, head]);
        self.owner.push(ThreadId(NIL));
        head
    }

    pub(crate) fn add(&mut self, name: Name, parent: Option<ThreadId>, idle: Operation) -> ThreadId {
        let id = ThreadId(self.all.len() as u32);
        self.all.push(Thread {
            operation: idle,
            status: Status::Running,
            wake: Wake::None,
            resting: false,
            background: false,
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
            node: self.links.len() as u32,
        });
        for _ in 0..2 {
            self.links.push([NIL; 2]);
            self.owner.push(id);
        }
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

    /// Adds node `slot` of `thread` to the ring of `head`.
    #[inline]
    pub(crate) fn link(&mut self, thread: ThreadId, slot: u32, head: u32) {
        let node = self.all[thread.index()].node + slot;
        let next = self.links[head as usize][1];
        self.links[node as usize] = [head, next];
        self.links[head as usize][1] = node;
        self.links[next as usize][0] = node;
    }

    /// Takes node `slot` of `thread` out of its ring.
    #[inline]
    pub(crate) fn unlink(&mut self, thread: ThreadId, slot: u32) {
        let [previous, next] = self.links[(self.all[thread.index()].node + slot) as usize];
        self.links[previous as usize][1] = next;
        self.links[next as usize][0] = previous;
    }

    /// The threads in the ring of `head`.
    #[inline]
    pub(crate) fn pending_on(&self, head: u32) -> impl Iterator<Item = ThreadId> + '_ {
        self.touching(head).map(|(thread, _)| thread)
    }

    /// The threads in the ring of `head`, each with whether it writes the object of the ring.
    #[inline]
    pub(crate) fn touching(&self, head: u32) -> impl Iterator<Item = (ThreadId, bool)> + '_ {
        let mut node = self.links[head as usize][1];
        std::iter::from_fn(move || {
            if node == head {
                return None;
            }
            let thread = self.owner[node as usize];
            let entry = &self.all[thread.index()];
            let writes = entry.operation.touches[(node - entry.node) as usize & 1].writes();
            node = self.links[node as usize][1];
            Some((thread, writes))
        })
    }

    /// The node after `node`, and whose it is. For loops that change threads as they go.
    #[inline]
    pub(crate) fn after(&self, node: u32) -> (u32, ThreadId) {
        let next = self.links[node as usize][1];
        (next, self.owner[next as usize])
    }
}
