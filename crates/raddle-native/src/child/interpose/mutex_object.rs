//! Mutexes in glibc's memory layout, and as objects of the run.

use super::time::FOREVER;
use crate::child::objects::Class;
use crate::child::pending::Limit;
use crate::child::runtime::Runtime;
use crate::child::scheduling::step;
use raddle_engine::Reply;
use raddle_model::{Access, Kind, ObjectId, Operation};
use std::ffi::c_void;

/// The offset of the kind in glibc's mutex, the value that `pthread_mutex_destroy` stores there, and the bits
/// of the kind.
const KIND_AT: usize = 16;
const DESTROYED: i32 = -1;
const KIND_BITS: i32 = 3;

/// Returns the kind that glibc stores at `mutex`.
pub(super) unsafe fn kind(mutex: *const c_void) -> i32 {
    // SAFETY: per the contract of this function, `mutex` points to a mutex, and the offset is inside it.
    unsafe { mutex.byte_add(KIND_AT).cast::<i32>().read_unaligned() }
}

/// Returns the object of a mutex. One that was initialized again, even by plain memory writes, is a new
/// object.
pub(super) fn object(runtime: &mut Runtime, mutex: usize) -> ObjectId {
    // SAFETY: the mutex functions of POSIX require a valid mutex.
    let kind = unsafe { kind(mutex as *const c_void) };
    let known = runtime.objects.find(mutex as u64, Class::NormalMutex);
    if let Some((object, _)) = known
        && kind == DESTROYED
    {
        return object;
    }
    let class = match kind & KIND_BITS {
        1 => Class::RecursiveMutex,
        2 => Class::CheckingMutex,
        _ => Class::NormalMutex,
    };
    runtime.object(mutex as u64, class, || 0)
}

/// Announces an operation on a mutex, with a time limit.
pub(super) fn announce(kind: Kind, mutex: *mut c_void, span: u64, place: usize) -> Reply {
    Limit::begin(span).repeat(|limit| {
        step(|runtime| {
            let object = object(runtime, mutex as usize);
            Operation::new(kind, runtime.place(place))
                .on(object, Access::Write)
                .with_argument(limit.left(runtime))
        })
    })
}

/// Unlocks a mutex that the current thread holds.
pub(super) fn unlock(mutex: *mut c_void, place: usize) {
    announce(Kind::Unlock, mutex, FOREVER, place);
}
