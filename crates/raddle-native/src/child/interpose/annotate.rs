//! ThreadSanitizer annotations of programs: accesses that are ordered by means that no hook sees. They matter
//! only if data races are tracked; otherwise they are not even scheduling points.
//!
//! An annotated address is an object of its own, separate from the memory at that address.

use super::entry::entries;
use crate::child::control::enter;
use crate::child::objects::Class;
use crate::child::runtime::with;
use crate::child::scheduling::step;
use raddle_model::{Access, Kind, MemoryOrder, Operation};
use std::ffi::{c_char, c_int, c_void};

entries! {
    __tsan_acquire(address: *const c_void) => acquire;
    __tsan_release(address: *const c_void) => release;
    AnnotateHappensBefore(unused: *const c_char, unused: c_int, address: *const c_void) => happens_before;
    AnnotateHappensAfter(unused: *const c_char, unused: c_int, address: *const c_void) => happens_after;
    __tsan_mutex_post_lock(address: *const c_void, flags: u32, unused: c_int) => post_lock;
    __tsan_mutex_pre_unlock(address: *const c_void, unused: u32) -> c_int => pre_unlock;
}

/// The flag of a failed attempt to lock.
const TRY_LOCK_FAILED: u32 = 1 << 5;

fn announce(address: *const c_void, kind: Kind, order: MemoryOrder, place: usize) {
    enter(|| {
        if !with(|runtime| runtime.accesses.races && runtime.threads.len() > 1) {
            return;
        }
        step(|runtime| {
            let object = runtime.object(address as u64, Class::Annotation, || 0);
            let access = if kind == Kind::Read { Access::Read } else { Access::Write };
            Operation::new(kind, runtime.place(place)).on(object, access).ordered(order)
        });
    });
}

/// Orders what any thread released at this address before what follows.
unsafe extern "C" fn acquire(address: *const c_void, place: usize) {
    announce(address, Kind::Read, MemoryOrder::Acquire, place);
}

/// Acts as an exchange, so that earlier releases of other threads remain in effect.
unsafe extern "C" fn release(address: *const c_void, place: usize) {
    announce(address, Kind::ReadModifyWrite, MemoryOrder::Release, place);
}

unsafe extern "C" fn happens_before(_: *const c_char, _: c_int, address: *const c_void, place: usize) {
    announce(address, Kind::ReadModifyWrite, MemoryOrder::Release, place);
}

unsafe extern "C" fn happens_after(_: *const c_char, _: c_int, address: *const c_void, place: usize) {
    announce(address, Kind::Read, MemoryOrder::Acquire, place);
}

/// Records that the program has taken a custom lock.
unsafe extern "C" fn post_lock(address: *const c_void, flags: u32, _: c_int, place: usize) {
    if flags & TRY_LOCK_FAILED == 0 {
        announce(address, Kind::Read, MemoryOrder::Acquire, place);
    }
}

unsafe extern "C" fn pre_unlock(address: *const c_void, _: u32, place: usize) -> c_int {
    announce(address, Kind::ReadModifyWrite, MemoryOrder::Release, place);
    0
}
