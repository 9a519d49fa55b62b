//! Streams of stdio as glibc has them in memory, and who has locked them.
#![expect(unsafe_code, reason = "glibc's streams are read")]

use crate::child::runtime::Runtime;
use crate::platform::real::{self, Hidden};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, AtomicUsize};

/// The beginning of a stream, as the header of glibc has it since the first version for this processor.
#[repr(C)]
pub(crate) struct Stream {
    pub(crate) flags: c_int,
    pub(crate) reading: [usize; 3],
    /// What waits to be written lies between the first two.
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
    /// What a stream of wide characters has beside; null if it cannot be one.
    pub(crate) wide: *const Wide,
    pub(crate) last: [usize; 6],
    pub(crate) table: *mut usize,
    /// Only in a stream of `popen`.
    pub(crate) process: c_int,
}

const _: () = assert!(
    std::mem::offset_of!(Stream, file) == 112
        && std::mem::offset_of!(Stream, wide) == 160
        && std::mem::offset_of!(Stream, table) == 216
);

/// What a stream of wide characters has beside.
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

/// All streams, from one to the next.
pub(crate) static LIST: Hidden = Hidden::new("_IO_list_all\0");

/// How many streams are locked: by the program, counted as often as it has done so, or by glibc for a thread that waits.
pub(crate) static LOCKED: AtomicU32 = AtomicU32::new(0);

/// Where the latest call of a function of stdio stands, and the frame of its caller.
pub(crate) static CALLER: AtomicUsize = AtomicUsize::new(0);

pub(crate) static CALLER_FRAME: AtomicUsize = AtomicUsize::new(0);

/// All streams that glibc has in its list.
pub(crate) fn streams() -> impl Iterator<Item = *mut Stream> {
    let list = LIST.find() as *const *mut Stream;
    // SAFETY: the list changes only under a lock of glibc's, inside of which no thread is switched away from.
    let first = if list.is_null() { std::ptr::null_mut() } else { unsafe { *list } };
    std::iter::successors((!first.is_null()).then_some(first), |&stream| {
        // SAFETY: as above.
        let next = unsafe { (*stream).next };
        (!next.is_null()).then_some(next)
    })
}

/// Gives back what threads have locked that will not run any more, so that the output can be written.
pub(crate) fn unlock_all(runtime: &mut Runtime) {
    for (file, _) in runtime.locked_files.drain(..) {
        // SAFETY: a thread of the run has locked the file, and glibc does not ask which.
        unsafe { real::funlockfile(file as *mut c_void) };
    }
    for (stream, _) in runtime.outside.held.drain(..) {
        let stream = stream as *mut Stream;
        // SAFETY: a thread is inside a function on the stream, so it is one. glibc does not ask who gives its lock back, and
        // counts how often it was taken.
        unsafe {
            while (&raw const (*(*stream).lock).owner).read_volatile() != 0 {
                real::funlockfile(stream.cast());
            }
        }
    }
}
