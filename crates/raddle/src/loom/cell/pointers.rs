//! Accesses to a cell that last as long as a pointer.

use crate::cell::Memory;
use crate::runtime;
use raddle_model::Access;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

/// The state that a cell and its pointers share. Only one OS thread accesses it during a run.
#[derive(Debug)]
pub(super) struct State {
    memory: Memory,
    /// The number of open reads, or -1 for a write.
    open: AtomicIsize,
}

impl State {
    #[track_caller]
    pub(super) const fn new() -> State {
        State { memory: Memory::new(), open: AtomicIsize::new(0) }
    }
}

/// An open access, which ends when this is dropped.
#[derive(Debug)]
struct Open {
    state: Arc<State>,
    access: Access,
    location: &'static Location<'static>,
    /// The step at which it began.
    begun: u64,
}

impl Open {
    #[track_caller]
    fn new(state: &Arc<State>, access: Access) -> Open {
        let location = Location::caller();
        crate::cell::step(&state.memory, access, location);
        let open = state.open.load(Ordering::Relaxed);
        let (allowed, change) = if access == Access::Read { (open >= 0, 1) } else { (open == 0, -1) };
        if !runtime::is_closing() {
            let what = if open < 0 { "written" } else { "read" };
            assert!(allowed, "causality violation: a cell is accessed while it is being {what}");
        }
        state.open.store(open + change, Ordering::Relaxed);
        Open { state: Arc::clone(state), access, location, begun: runtime::steps() }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // If no thread took a step, the end of the access coincides with its beginning.
        if runtime::epoch().is_some() && !runtime::panicking() && runtime::steps() != self.begun {
            crate::cell::step(&self.state.memory, self.access, self.location);
        }
        let change = if self.access == Access::Read { -1 } else { 1 };
        let open = self.state.open.load(Ordering::Relaxed);
        self.state.open.store(open + change, Ordering::Relaxed);
    }
}

/// A read of a cell that lasts as long as this value.
#[derive(Debug)]
pub struct ConstPtr<T: ?Sized> {
    _open: Open,
    pointer: *const T,
}

/// A write of a cell that lasts as long as this value.
#[derive(Debug)]
pub struct MutPtr<T: ?Sized> {
    _open: Open,
    pointer: *mut T,
}

impl<T: ?Sized> ConstPtr<T> {
    #[track_caller]
    pub(super) fn new(state: &Arc<State>, pointer: *const T) -> ConstPtr<T> {
        ConstPtr { _open: Open::new(state, Access::Read), pointer }
    }

    /// Calls `f` with the pointer, which must not outlive the call.
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        f(self.pointer)
    }

    /// Returns the value.
    ///
    /// # Safety
    ///
    /// The cell must outlive this value, and nothing may write it meanwhile.
    #[expect(unsafe_code, reason = "the caller guarantees that the reference is valid, as in Loom")]
    pub unsafe fn deref(&self) -> &T {
        // SAFETY: per the contract of this function, the cell is alive and nothing writes it.
        unsafe { &*self.pointer }
    }
}

impl<T: ?Sized> MutPtr<T> {
    #[track_caller]
    pub(super) fn new(state: &Arc<State>, pointer: *mut T) -> MutPtr<T> {
        MutPtr { _open: Open::new(state, Access::Write), pointer }
    }

    /// Calls `f` with the pointer, which must not outlive the call.
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        f(self.pointer)
    }

    /// Returns a mutable reference to the value.
    ///
    /// # Safety
    ///
    /// The cell must outlive this value, and nothing else may access it meanwhile.
    #[expect(
        unsafe_code,
        clippy::mut_from_ref,
        reason = "the caller guarantees that the reference is valid, as in Loom"
    )]
    pub unsafe fn deref(&self) -> &mut T {
        // SAFETY: per the contract of this function, the cell is alive and there is no other reference to its
        // value.
        unsafe { &mut *self.pointer }
    }
}
