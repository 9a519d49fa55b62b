//! Stdio streams in glibc's memory layout, and their lock holders.
#![expect(unsafe_code, reason = "glibc's streams are read")]

use crate::child::runtime::Runtime;
use crate::platform::real::{self, Hidden};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, AtomicUsize};

/// The beginning of a stream, as in glibc's header since the first version for this processor.
#[repr(C)]
pub(crate) struct Stream {
    pub(crate) flags: c_int,
    pub(crate) reading: [usize; 3],
    /// The unwritten output is between the first two.
    pub(crate) write_base: usize,
    pub(crate) write_pointer: usize,
    pub(crate) others: [usize; 7],
    pub(crate) next: *mut Stream,
    pub(crate) file: c_int,
    pub(crate) more_flags: c_int,
    pub(crate) old_offset: i64,
    pub(crate) column: usize,
    pub(crate) lock: *const Lock,
    pub(crate) offset: i64,
    pub(crate) conversion: usize,
    /// The additional data of a wide-character stream; null if it cannot be one.
    pub(crate) wide: *const Wide,
    pub(crate) last: [usize; 6],
    pub(crate) table: *mut usize,
    /// Only in a `popen` stream.
    pub(crate) process: c_int,
}

const _: () = assert!(
    std::mem::offset_of!(Stream, file) == 112
        && std::mem::offset_of!(Stream, wide) == 160
        && std::mem::offset_of!(Stream, table) == 216
);

/// The additional data of a wide-character stream.
#[repr(C)]
pub(crate) struct Wide {
    pub(crate) parts: [usize; 28],
    pub(crate) table: *mut usize,
}

/// The lock of a stream.
#[repr(C)]
pub(crate) struct Lock {
    pub(crate) word: c_int,
    pub(crate) count: c_int,
    pub(crate) owner: u64,
}

/// The head of the linked list of all streams.
pub(crate) static LIST: Hidden = Hidden::new("_IO_list_all\0");

/// The number of locked streams: by the program, counted once for each time, or by glibc for a thread that
/// waits.
pub(crate) static LOCKED: AtomicU32 = AtomicU32::new(0);

/// The location of the latest call of a stdio function, and the frame of its caller.
pub(crate) static CALLER: AtomicUsize = AtomicUsize::new(0);

pub(crate) static CALLER_FRAME: AtomicUsize = AtomicUsize::new(0);

/// Returns all streams in glibc's list.
pub(crate) fn streams() -> impl Iterator<Item = *mut Stream> {
    let list = LIST.find() as *const *mut Stream;
    // SAFETY: the list changes only under a lock of glibc's, and no thread is suspended while it holds that
    // lock.
    let first = if list.is_null() { std::ptr::null_mut() } else { unsafe { *list } };
    std::iter::successors((!first.is_null()).then_some(first), |&stream| {
        // SAFETY: the stream is in the list, as above.
        let next = unsafe { (*stream).next };
        (!next.is_null()).then_some(next)
    })
}

/// Unlocks the files of threads that will not run any more, so that the output can be written.
pub(crate) fn unlock_all(runtime: &mut Runtime) {
    for (file, _) in runtime.locked_files.drain(..) {
        // SAFETY: a thread of the run has locked the file, and glibc does not check which.
        unsafe { real::funlockfile(file as *mut c_void) };
    }
    for (stream, _) in runtime.outside.held.drain(..) {
        let stream = stream as *mut Stream;
        // SAFETY: a thread is inside a function on the stream, so it is valid. glibc does not check which
        // thread unlocks it, and counts how often it was locked.
        unsafe {
            while (&raw const (*(*stream).lock).owner).read_volatile() != 0 {
                real::funlockfile(stream.cast());
            }
        }
    }
}
