//! Accesses to a cell that last as long as a pointer.

use crate::runtime::{self, Object};
use raddle_model::Access;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

/// What a cell and the pointers to it share. Only one OS thread works at it during a run.
#[derive(Debug)]
pub(super) struct State {
    object: Object,
    /// How many reads have not ended, or -1 for a write.
    open: AtomicIsize,
}

impl State {
    #[track_caller]
    pub(super) const fn new() -> State {
        State { object: Object::new(), open: AtomicIsize::new(0) }
    }
}

/// An access that has begun, and ends when it is dropped.
#[derive(Debug)]
struct Open {
    state: Arc<State>,
    access: Access,
    place: &'static Location<'static>,
    /// The step that it began with.
    begun: u64,
}

impl Open {
    #[track_caller]
    fn new(state: &Arc<State>, access: Access) -> Open {
        let place = Location::caller();
        crate::cell::step(&state.object, access, place);
        let open = state.open.load(Ordering::Relaxed);
        let (allowed, change) = if access == Access::Read { (open >= 0, 1) } else { (open == 0, -1) };
        if !runtime::is_closing() {
            let what = if open < 0 { "written" } else { "read" };
            assert!(allowed, "causality violation: a cell is accessed while it is being {what}");
        }
        state.open.store(open + change, Ordering::Relaxed);
        Open { state: Arc::clone(state), access, place, begun: runtime::steps() }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // If nobody took a step, the end of the access is its beginning.
        if runtime::epoch().is_some() && !runtime::panicking() && runtime::steps() != self.begun {
            crate::cell::step(&self.state.object, self.access, self.place);
        }
        let change = if self.access == Access::Read { -1 } else { 1 };
        let open = self.state.open.load(Ordering::Relaxed);
        self.state.open.store(open + change, Ordering::Relaxed);
    }
}

/// A read of a cell that lasts as long as this.
#[derive(Debug)]
pub struct ConstPtr<T: ?Sized> {
    _open: Open,
    pointer: *const T,
}

/// A write of a cell that lasts as long as this.
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

    /// Calls `f` with the pointer, which it must not keep.
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
    /// The cell must outlive this, and nobody may write it meanwhile.
    #[expect(unsafe_code, reason = "the caller promises what the reference needs, as in Loom")]
    pub unsafe fn deref(&self) -> &T {
        // SAFETY: the caller promises that the cell is there and not written.
        unsafe { &*self.pointer }
    }
}

impl<T: ?Sized> MutPtr<T> {
    #[track_caller]
    pub(super) fn new(state: &Arc<State>, pointer: *mut T) -> MutPtr<T> {
        MutPtr { _open: Open::new(state, Access::Write), pointer }
    }

    /// Calls `f` with the pointer, which it must not keep.
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        f(self.pointer)
    }

    /// Returns the value, to change it.
    ///
    /// # Safety
    ///
    /// The cell must outlive this, and nobody else may access it meanwhile.
    #[expect(
        unsafe_code,
        clippy::mut_from_ref,
        reason = "the caller promises what the reference needs, as in Loom"
    )]
    pub unsafe fn deref(&self) -> &mut T {
        // SAFETY: the caller promises that the cell is there and that there is no other reference to its value.
        unsafe { &mut *self.pointer }
    }
}
