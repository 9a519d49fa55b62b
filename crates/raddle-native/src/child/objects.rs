//! The mapping from addresses to objects of the run.

use crate::platform::table::Table;
use raddle_engine::{Engine, MutexKind, Resource};
use raddle_model::{Name, ObjectId, ThreadId};

/// The kind of object at an address. One address may have several, such as a lock and the memory at its
/// beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Class {
    Memory,
    NormalMutex,
    RecursiveMutex,
    CheckingMutex,
    Condition,
    ReadWriteLock,
    Semaphore,
    Barrier,
    Once,
    /// Stands for a thread; its value is the thread's number.
    Thread,
    /// The waiters of a futex, each with its own token; the value distinguishes them.
    Token,
    /// An address that the program annotates for ThreadSanitizer.
    Annotation,
    /// A resource of the operating system; see [`crate::child::outside`]. The value identifies it.
    Descriptor,
    /// The queue of a futex under weak memory.
    Queue,
    /// The order of sequentially consistent operations under weak memory.
    Order,
    /// A mutex that is not one of pthreads.
    SpinLock,
    /// A direction of a simulated connection; see [`crate::child::network`]. The value identifies it.
    Wire,
}

impl Class {
    /// Objects whose classes have the same family cannot be at one address at the same time.
    fn family(self) -> u64 {
        match self {
            Class::RecursiveMutex | Class::CheckingMutex | Class::SpinLock => Class::NormalMutex as u64,
            other => other as u64,
        }
    }
}

/// An object at its first use in the run. Plain data, so that it can be passed to another process.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct ObjectRecord {
    pub(crate) name: Name,
    pub(crate) address: u64,
    pub(crate) value: u64,
    pub(crate) class: Class,
}

impl ObjectRecord {
    /// Adds it to `engine`.
    pub(crate) fn add(&self, engine: &mut Engine) -> ObjectId {
        let resource = match self.class {
            Class::Memory | Class::Annotation | Class::Descriptor | Class::Queue | Class::Order => {
                Resource::Memory
            }
            Class::NormalMutex | Class::SpinLock => Resource::mutex(MutexKind::Normal),
            Class::RecursiveMutex => Resource::mutex(MutexKind::Recursive),
            Class::CheckingMutex => Resource::mutex(MutexKind::ErrorChecking),
            Class::Condition => Resource::condition(),
            Class::ReadWriteLock => Resource::read_write_lock(),
            Class::Semaphore => Resource::semaphore(self.value),
            Class::Barrier => Resource::barrier(self.value as u32),
            Class::Once => Resource::once(),
            Class::Thread => return engine.thread_object(ThreadId(self.value as u32)),
            Class::Token => Resource::token(),
            Class::Wire => Resource::mailbox(),
        };
        engine.add_object(self.name, resource)
    }
}

/// The number of an address that no longer has an object.
const GONE: u32 = u32::MAX;

/// The objects of a run.
#[derive(Default)]
pub(crate) struct Objects {
    places: Table,
    /// Invariant: in the order of their numbers.
    pub(crate) made: Vec<ObjectRecord>,
}

impl Objects {
    /// Returns the object at an address, if the run knows it, and its original class.
    #[inline]
    pub(crate) fn find(&self, address: u64, class: Class) -> Option<(ObjectId, Class)> {
        let number = self.places.get(key(address, class)).filter(|&number| number != GONE)?;
        Some((ObjectId(number), self.made[number as usize].class))
    }

    /// Creates an object at an address.
    pub(crate) fn make(&mut self, engine: &mut Engine, made: ObjectRecord) -> ObjectId {
        let object = made.add(engine);
        debug_assert_eq!(object.index(), self.made.len(), "objects are numbered in order");
        self.made.push(made);
        self.places.set(key(made.address, made.class), object.0);
        object
    }

    /// Forgets the object at an address: the next use there creates a new one.
    pub(crate) fn forget(&mut self, address: u64, class: Class) {
        let key = key(address, class);
        if self.places.get(key).is_some() {
            self.places.set(key, GONE);
        }
    }
}

fn key(address: u64, class: Class) -> u64 {
    address << 8 | class.family()
}

/// A robust mutex that a thread has locked at some time.
pub(crate) struct Robust {
    pub(crate) mutex: usize,
    /// The holder, and how often it has locked it.
    pub(crate) owner: Option<ThreadId>,
    pub(crate) count: u32,
    pub(crate) state: RobustState,
}

/// The state of a robust mutex.
#[derive(PartialEq)]
pub(crate) enum RobustState {
    Sound,
    /// Its owner has ended, and it has not been marked consistent since.
    Orphaned,
    /// It was unlocked in that state, and is unusable forever.
    Lost,
}
