//! Events: the action of a scheduling point and the objects it touches.

use super::atomic::{AtomicAction, AtomicChange};
use super::expression::{Element, Expr, Fault};
use raddle_model::MemoryOrder;

/// An event and the objects it touches.
#[derive(Debug, Clone)]
pub struct Event {
    /// The action.
    pub action: Action,
    touches: Vec<(ObjectRef, Mode)>,
    fixed: Option<Accesses>,
}

/// The way an object is touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Memory is read.
    Read,
    /// Memory is written.
    Write,
    /// Memory is read and written in one step.
    ReadWrite,
    /// A synchronisation object is operated on.
    Sync,
}

/// A reference to an object, at compile time or by an index computed from locals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectRef {
    /// This object.
    Fixed(u32),
    /// An element of an array.
    Element(Box<Element>),
}

/// At most two objects with their modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accesses {
    list: [(u32, Mode); 2],
    count: u8,
}

/// The action of an event.
#[derive(Debug, Clone)]
pub enum Action {
    /// Reads or writes shared variables.
    Memory(MemoryAction),
    /// Accesses a shared variable in a memory order.
    Atomic(AtomicAction),
    /// A fence.
    Fence(MemoryOrder),
    /// `step`: touches nothing.
    Step,
    /// `yield`.
    Yield,
    /// `sleep`, with the time.
    Sleep(Expr),
    /// `v = choose e`: any value from 0 to e - 1.
    Choose {
        /// The local that receives it.
        target: u16,
        /// Number of values; below 1 is [`Fault::EmptyChoice`].
        count: Expr,
    },
    /// `lock m`, with the time limit and the local that is 1 if locked, 0 if timed out.
    Lock {
        /// The mutex.
        mutex: ObjectRef,
        /// The time limit.
        timeout: Option<Expr>,
        /// Receives the result.
        target: Option<u16>,
    },
    /// `v = trylock m`.
    TryLock {
        /// The mutex.
        mutex: ObjectRef,
        /// Receives 1 if locked, 0 if not.
        target: u16,
    },
    /// `unlock m`.
    Unlock(ObjectRef),
    /// `rdlock l`.
    ReadLock(ObjectRef),
    /// `wrlock l`.
    WriteLock(ObjectRef),
    /// `rwunlock l`.
    RwUnlock(ObjectRef),
    /// `wait s` on a semaphore.
    SemaphoreWait {
        /// The semaphore.
        semaphore: ObjectRef,
        /// The time limit.
        timeout: Option<Expr>,
        /// Receives 1 if taken, 0 if timed out.
        target: Option<u16>,
    },
    /// `signal s` on a semaphore.
    SemaphoreSignal(ObjectRef),
    /// `wait cv m`: releases the mutex, waits, takes the mutex again.
    ConditionWait {
        /// The condition.
        condition: ObjectRef,
        /// The mutex, held by the caller.
        mutex: ObjectRef,
        /// The time limit.
        timeout: Option<Expr>,
        /// Receives 1 if woken, 0 if timed out.
        target: Option<u16>,
    },
    /// `signal cv`.
    ConditionSignal(ObjectRef),
    /// `broadcast cv`.
    ConditionBroadcast(ObjectRef),
    /// `barrier b`.
    Barrier {
        /// The barrier.
        barrier: ObjectRef,
        /// Receives 1 in one of the threads, 0 in the others.
        target: Option<u16>,
    },
    /// Start of `once o { .. }`: waits while another thread is inside, then enters or skips.
    OnceBegin {
        /// The guard.
        once: ObjectRef,
        /// The instruction to continue at if the block has been run already.
        done: u32,
    },
    /// End of the block.
    OnceEnd(ObjectRef),
    /// `spawn T`.
    Spawn {
        /// Index into [`Program::threads`](super::Program::threads).
        thread: usize,
        /// The value of the child's local 0.
        argument: Expr,
        /// Receives a number that `join` accepts; the interpreter chooses it.
        target: Option<u16>,
    },
    /// `join h`: the local holds the number from `spawn`.
    JoinHandle(u16),
    /// `join T`: the only thread spawned from that block (an index into [`Program::threads`](super::Program::threads)); joining it
    /// before it was spawned is [`Fault::NotAThread`].
    JoinThread(usize),
    /// `destroy m`.
    Destroy(ObjectRef),
    /// `exit`: the whole program ends.
    Exit,
}

/// An event on shared variables.
#[derive(Debug, Clone)]
pub enum MemoryAction {
    /// `x = e`, or `t = e` where e reads a shared variable.
    Assign {
        /// The target.
        place: Place,
        /// Its new value.
        value: Expr,
    },
    /// `x += e`; `old` receives the value before.
    Add {
        /// The shared variable that changes.
        place: ObjectRef,
        /// The added value.
        amount: Expr,
        /// Receives the value before the change.
        old: Option<u16>,
    },
    /// `assert e`.
    Assert(Expr),
    /// The condition of `if` or `while`.
    Branch {
        /// The condition.
        condition: Expr,
        /// The instruction to continue at if it is zero.
        otherwise: u32,
    },
}

/// The target of an assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A local.
    Local(u16),
    /// A shared variable.
    Shared(ObjectRef),
}

/// The next instruction of a thread after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// At the next instruction.
    Next,
    /// At this instruction.
    Jump(u32),
}

impl ObjectRef {
    /// Returns the object's number, given the locals.
    #[inline]
    pub fn resolve(&self, locals: &[i64]) -> Result<u32, Fault> {
        match self {
            ObjectRef::Fixed(object) => Ok(*object),
            ObjectRef::Element(element) => element.resolve(locals),
        }
    }
}

impl Accesses {
    /// Touches nothing.
    pub const NONE: Accesses = Accesses { list: [(0, Mode::Read); 2], count: 0 };

    /// Returns the objects with their modes, without duplicates.
    #[inline]
    pub fn as_slice(&self) -> &[(u32, Mode)] {
        &self.list[..usize::from(self.count)]
    }

    /// Adds an access; one to an object already listed widens that entry.
    fn push(&mut self, object: u32, mode: Mode) {
        let count = usize::from(self.count);
        if let Some(entry) = self.list[..count].iter_mut().find(|entry| entry.0 == object) {
            if entry.1 != mode {
                entry.1 = Mode::ReadWrite;
            }
        } else if count < self.list.len() {
            self.list[count] = (object, mode);
            self.count += 1;
        }
    }
}

impl Event {
    pub(crate) fn new(action: Action, touches: Vec<(ObjectRef, Mode)>) -> Self {
        let is_fixed = touches.iter().all(|(object, _)| matches!(object, ObjectRef::Fixed(_)));
        let mut event = Event { action, touches, fixed: None };
        if is_fixed {
            event.fixed = Some(event.accesses(&[]));
        }
        event
    }

    /// Returns the objects that the event touches, given the locals. An element outside its array is left
    /// out: running the event reports the fault, if it gets as far as evaluating the element.
    #[inline]
    pub fn accesses(&self, locals: &[i64]) -> Accesses {
        if let Some(fixed) = self.fixed {
            return fixed;
        }
        let mut accesses = Accesses::NONE;
        for (object, mode) in &self.touches {
            if let Ok(object) = object.resolve(locals) {
                accesses.push(object, *mode);
            }
        }
        accesses
    }

    /// Returns the accesses, if they do not depend on locals.
    pub fn fixed_accesses(&self) -> Option<&Accesses> {
        self.fixed.as_ref()
    }

    /// Returns the name of the event in reports.
    pub fn name(&self) -> &'static str {
        self.action.name()
    }
}

impl MemoryAction {
    /// Runs the event. Nothing changes on a fault.
    #[inline]
    pub fn run(&self, locals: &mut [i64], shared: &mut [i64]) -> Result<Flow, Fault> {
        match self {
            MemoryAction::Assign { place, value } => {
                let value = value.eval(locals, shared)?;
                match place {
                    Place::Local(slot) => locals[usize::from(*slot)] = value,
                    Place::Shared(object) => shared[object.resolve(locals)? as usize] = value,
                }
            }
            MemoryAction::Add { place, amount, old } => {
                let amount = amount.eval(locals, shared)?;
                let variable = &mut shared[place.resolve(locals)? as usize];
                let before = *variable;
                *variable = before.wrapping_add(amount);
                if let Some(slot) = old {
                    locals[usize::from(*slot)] = before;
                }
            }
            MemoryAction::Assert(condition) => {
                if condition.eval(locals, shared)? == 0 {
                    return Err(Fault::Assertion);
                }
            }
            MemoryAction::Branch { condition, otherwise } => {
                if condition.eval(locals, shared)? == 0 {
                    return Ok(Flow::Jump(*otherwise));
                }
            }
        }
        Ok(Flow::Next)
    }
}

impl Action {
    /// Returns the memory orders of the action: that of an access or fence, and that of an exchange that fails.
    pub fn orders(&self) -> [Option<MemoryOrder>; 2] {
        match self {
            Action::Fence(order) => [Some(*order), None],
            Action::Atomic(AtomicAction {
                order, change: AtomicChange::Exchange { failure, .. }, ..
            }) => [Some(*order), Some(*failure)],
            Action::Atomic(atomic) => [Some(atomic.order), None],
            _ => [None, None],
        }
    }

    /// Returns the name of the action in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Action::Memory(MemoryAction::Assign { .. }) => "assign",
            Action::Memory(MemoryAction::Add { .. }) => "add",
            Action::Memory(MemoryAction::Assert(_)) => "assert",
            Action::Memory(MemoryAction::Branch { .. }) => "branch",
            Action::Atomic(atomic) => match atomic.change {
                AtomicChange::Load => "load",
                AtomicChange::Store(_) => "store",
                AtomicChange::Swap(_) => "swap",
                AtomicChange::Add(_) => "fetch_add",
                AtomicChange::Exchange { .. } => "compare_exchange",
            },
            Action::Fence(_) => "fence",
            Action::Step => "step",
            Action::Yield => "yield",
            Action::Sleep(_) => "sleep",
            Action::Choose { .. } => "choose",
            Action::Lock { .. } => "lock",
            Action::TryLock { .. } => "trylock",
            Action::Unlock(_) => "unlock",
            Action::ReadLock(_) => "rdlock",
            Action::WriteLock(_) => "wrlock",
            Action::RwUnlock(_) => "rwunlock",
            Action::SemaphoreWait { .. } | Action::ConditionWait { .. } => "wait",
            Action::SemaphoreSignal(_) | Action::ConditionSignal(_) => "signal",
            Action::ConditionBroadcast(_) => "broadcast",
            Action::Barrier { .. } => "barrier",
            Action::OnceBegin { .. } => "once",
            Action::OnceEnd(_) => "once end",
            Action::Spawn { .. } => "spawn",
            Action::JoinHandle(_) | Action::JoinThread(_) => "join",
            Action::Destroy(_) => "destroy",
            Action::Exit => "exit",
        }
    }
}
