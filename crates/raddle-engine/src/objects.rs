//! The shared objects of a run and the state of each.

use raddle_model::{Name, ObjectId, ThreadId};
use std::collections::VecDeque;

/// The response of a mutex to a thread that already holds it, and to an unlock by a thread that does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MutexKind {
    /// Locking it again waits forever; unlocking it without holding it is misuse.
    Normal,
    /// Locking it again increments a count; unlocking it without holding it fails.
    Recursive,
    /// Both fail.
    ErrorChecking,
}

/// The type and state of an object.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Resource {
    /// Memory. The engine keeps no value; the front end does.
    Memory,
    /// A mutex.
    Mutex {
        /// Its kind.
        kind: MutexKind,
        /// The thread that holds it.
        owner: Option<ThreadId>,
        /// Number of times the owner has locked it.
        depth: u32,
    },
    /// A read-write lock.
    ReadWriteLock {
        /// The thread that holds it for writing.
        writer: Option<ThreadId>,
        /// The threads that hold it for reading, once per acquisition.
        readers: Vec<ThreadId>,
    },
    /// A condition variable with its waiters in order of arrival.
    Condition {
        /// The waiting threads.
        waiters: VecDeque<ThreadId>,
    },
    /// A semaphore.
    Semaphore {
        /// Its value.
        value: u64,
    },
    /// A barrier.
    Barrier {
        /// Number of threads that open it.
        needed: u32,
        /// The threads that have arrived since it last opened.
        arrived: Vec<ThreadId>,
    },
    /// A one-time initialisation.
    Once {
        /// The thread that runs it now.
        runner: Option<ThreadId>,
        /// True if it is over.
        done: bool,
        /// True if the latest attempt was abandoned.
        abandoned: bool,
    },
    /// A channel with one receiver. The engine counts values; the front end keeps them.
    Channel {
        /// Number of values sent and not received.
        queued: u64,
        /// Number of values received.
        received: u64,
        /// Number of values it holds before a sender has to wait. With 0, a sender waits until its value is
        /// taken.
        capacity: u64,
        /// Number of senders.
        senders: u64,
        /// True if there is a receiver.
        receiver: bool,
        /// True if the receiver of a channel without a buffer is waiting.
        waiting: bool,
    },
    /// Represents a thread, for joins.
    Thread(ThreadId),
    /// A destroyed synchronisation object.
    Destroyed,
    /// The token of a thread, for [`Kind::Park`](raddle_model::Kind::Park).
    Token {
        /// True if it is available.
        available: bool,
    },
    /// The mailbox of one thread. The front end keeps the messages and knows which of them its owner is ready to take.
    Mailbox {
        /// True if a message has come since the owner last looked.
        news: bool,
    },
}

impl Resource {
    /// Creates a mutex that is not locked.
    pub fn mutex(kind: MutexKind) -> Resource {
        Resource::Mutex { kind, owner: None, depth: 0 }
    }

    /// Creates a read-write lock that is not locked.
    pub fn read_write_lock() -> Resource {
        Resource::ReadWriteLock { writer: None, readers: Vec::new() }
    }

    /// Creates a condition variable without waiters.
    pub fn condition() -> Resource {
        Resource::Condition { waiters: VecDeque::new() }
    }

    /// Creates a semaphore with an initial value.
    pub fn semaphore(value: u64) -> Resource {
        Resource::Semaphore { value }
    }

    /// Creates a barrier for `needed` threads, which must be positive.
    pub fn barrier(needed: u32) -> Resource {
        Resource::Barrier { needed: needed.max(1), arrived: Vec::new() }
    }

    /// Creates an initialisation that has not begun.
    pub fn once() -> Resource {
        Resource::Once { runner: None, done: false, abandoned: false }
    }

    /// Creates an empty channel with a receiver and `senders` senders. `u64::MAX` is an unbounded capacity.
    pub fn channel(capacity: u64, senders: u64) -> Resource {
        Resource::Channel { queued: 0, received: 0, capacity, senders, receiver: true, waiting: false }
    }

    /// Creates an empty mailbox.
    pub fn mailbox() -> Resource {
        Resource::Mailbox { news: false }
    }

    /// Creates a token that is not available.
    pub fn token() -> Resource {
        Resource::Token { available: false }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) name: Name,
    pub(crate) resource: Resource,
    /// Its contribution to the state hash.
    pub(crate) value: u64,
}

/// All objects of a run.
#[derive(Default, Debug)]
pub(crate) struct Objects {
    /// The first `count` are objects of this run; the others are left from an earlier one: most programs have
    /// the same kinds of objects in every run.
    all: Vec<Object>,
    count: usize,
}

impl Clone for Objects {
    fn clone(&self) -> Objects {
        Objects { all: self.all[..self.count].to_vec(), count: self.count }
    }

    /// Reuses the allocated memory, also that of the objects.
    #[inline]
    fn clone_from(&mut self, source: &Objects) {
        self.clear();
        for object in &source.all[..source.count] {
            match self.all.get_mut(self.count) {
                Some(old) => old.become_like(object),
                None => self.all.push(object.clone()),
            }
            self.count += 1;
        }
    }
}

impl Object {
    #[inline]
    fn become_like(&mut self, other: &Object) {
        (self.name, self.value) = (other.name, other.value);
        if !matches!((&self.resource, &other.resource), (Resource::Memory, Resource::Memory)) {
            self.resource.clone_from(&other.resource);
        }
    }
}

impl Objects {
    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }

    #[inline]
    pub(crate) fn add(&mut self, name: Name, resource: Resource) -> ObjectId {
        let id = ObjectId(self.count as u32);
        self.count += 1;
        match self.all.get_mut(id.index()) {
            Some(old) => {
                (old.name, old.value) = (name, 0);
                if !matches!((&old.resource, &resource), (Resource::Memory, Resource::Memory)) {
                    old.resource = resource;
                }
            }
            None => self.all.push(Object { name, resource, value: 0 }),
        }
        id
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    #[inline]
    pub(crate) fn get(&self, object: ObjectId) -> &Object {
        &self.all[object.index()]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, object: ObjectId) -> &mut Object {
        &mut self.all[object.index()]
    }

    #[inline]
    pub(crate) fn name(&self, object: ObjectId) -> Name {
        self.all[object.index()].name
    }

    pub(crate) fn counts_again(&self, object: ObjectId) -> Option<bool> {
        match self.all[object.index()].resource {
            Resource::Mutex { kind, .. } => Some(kind == MutexKind::Recursive),
            Resource::Destroyed => None,
            _ => Some(false),
        }
    }

    pub(crate) fn is_lock(&self, object: ObjectId) -> bool {
        matches!(self.all[object.index()].resource, Resource::Mutex { .. } | Resource::ReadWriteLock { .. })
    }
}
