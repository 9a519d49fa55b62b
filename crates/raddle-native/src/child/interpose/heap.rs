//! Allocation. The memory is glibc's; a run takes note of what the program has and keeps what it frees.
//!
//! glibc's functions are called by their second names, which nobody hides, so that they need not be looked up: looking up
//! may allocate. They are called with the phase unchanged, because they call nothing of ours.

use super::access::note_free;
use super::entry::entries;
use crate::child::control::enter;
use crate::child::heap::Fate;
use crate::child::heap_checks;
use crate::child::runtime::{self, with};
use libc::{EINVAL, ENOMEM};
use std::cell::Cell;
use std::ffi::{c_int, c_void};

entries! {
    malloc(size: usize) -> *mut c_void => allocate;
    calloc(count: usize, size: usize) -> *mut c_void => allocate_zeroed;
    realloc(block: *mut c_void, size: usize) -> *mut c_void => resize;
    reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void => resize_array;
    free(block: *mut c_void) => free_block;
    aligned_alloc(alignment: usize, size: usize) -> *mut c_void => allocate_aligned;
    memalign(alignment: usize, size: usize) -> *mut c_void => allocate_aligned;
    posix_memalign(result: *mut *mut c_void, alignment: usize, size: usize) -> c_int => allocate_at;
}

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
}

/// What freed memory is filled with, and how much of a large block.
const PATTERN: u8 = 0xdb;
const FILLED: usize = 1 << 16;

thread_local! {
    /// Whether the thread runs on its own OS thread, at its end, while the carrier is elsewhere.
    static ENDED: Cell<bool> = const { Cell::new(false) };
    /// Whether the thread may have left something with glibc that is to be taken down at its end.
    static USED: Cell<bool> = const { Cell::new(false) };
}

/// Takes note that the thread that runs may leave something with glibc: memory that is kept for it, or a value by a key.
pub(super) fn note_use() {
    USED.set(true);
}

/// Whether the thread that runs may have left something with glibc.
pub(super) fn was_used() -> bool {
    USED.get()
}

/// From now on this thread is not under control: glibc takes it down beside the run.
pub(super) fn note_end_of_thread() {
    ENDED.set(true);
}

/// Does `action` in the runtime, if the call comes from a program under control.
fn controlled<R>(action: impl FnOnce() -> R) -> Option<R> {
    if ENDED.get() { None } else { enter(action) }
}

/// Takes note of a new block.
fn note(block: *mut c_void, size: usize, place: usize) -> *mut c_void {
    note_use();
    if !block.is_null() {
        controlled(|| {
            with(|runtime| {
                let thread = runtime.current;
                runtime.heap.add(block as usize, size, thread, place);
            });
        });
    }
    block
}

unsafe extern "C" fn allocate(size: usize, place: usize) -> *mut c_void {
    // SAFETY: it has no condition.
    note(unsafe { __libc_malloc(size) }, size, place)
}

unsafe extern "C" fn allocate_zeroed(count: usize, size: usize, place: usize) -> *mut c_void {
    // SAFETY: it has no condition.
    note(unsafe { __libc_calloc(count, size) }, count.wrapping_mul(size), place)
}

unsafe extern "C" fn allocate_aligned(alignment: usize, size: usize, place: usize) -> *mut c_void {
    // SAFETY: it has no condition.
    note(unsafe { __libc_memalign(alignment, size) }, size, place)
}

unsafe extern "C" fn allocate_at(
    result: *mut *mut c_void,
    alignment: usize,
    size: usize,
    place: usize,
) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) {
        return EINVAL;
    }
    // SAFETY: it has no condition.
    let block = note(unsafe { __libc_memalign(alignment, size) }, size, place);
    if block.is_null() {
        return ENOMEM;
    }
    // SAFETY: our caller promises room for the address.
    unsafe { *result = block };
    0
}

unsafe extern "C" fn free_block(block: *mut c_void, place: usize) {
    if block.is_null() {
        return;
    }
    note_use();
    let fate = controlled(|| {
        // What was written to it last is there now, and is not afterwards.
        runtime::settle_value();
        let fate = heap_checks::free(block as usize, place);
        if let Fate::Kept { size, .. } = fate {
            note_free(block as usize, size);
        }
        fate
    });
    match fate {
        Some(Fate::Kept { size, evicted }) => {
            // SAFETY: the block has so many bytes, and the program has given it up.
            unsafe { std::ptr::write_bytes(block.cast::<u8>(), PATTERN, size.min(FILLED)) };
            for block in &evicted {
                // SAFETY: the program has freed it, and glibc has not heard of that.
                unsafe { __libc_free(*block as *mut c_void) };
            }
        }
        // SAFETY: the program has called `free` with this block, which is glibc's as it is.
        Some(Fate::Given) | None => unsafe { __libc_free(block) },
    }
}

unsafe extern "C" fn resize(block: *mut c_void, size: usize, place: usize) -> *mut c_void {
    if block.is_null() {
        // SAFETY: it has no condition.
        return unsafe { allocate(size, place) };
    }
    if size == 0 {
        // SAFETY: the program has called `realloc` with a block that it gives up.
        unsafe { free_block(block, place) };
        return std::ptr::null_mut();
    }
    let known = controlled(|| {
        runtime::settle_value();
        with(|runtime| runtime.heap.knows(block as usize).then(|| runtime.heap.size(block as usize)))
    });
    let Some(known) = known.flatten() else {
        // SAFETY: the program has called `realloc` with a block that the run does not know, which is glibc's as it is.
        return note(unsafe { __libc_realloc(block, size) }, size, place);
    };
    // A block that was freed has no size; that it is freed again is found out below.
    // SAFETY: it has no condition.
    let new = unsafe { allocate(size, place) };
    if !new.is_null() {
        // SAFETY: both have so many bytes; the old one is given up as our caller wants.
        unsafe {
            std::ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast::<u8>(), known.unwrap_or(0).min(size));
            free_block(block, place);
        }
    }
    new
}

unsafe extern "C" fn resize_array(
    block: *mut c_void,
    count: usize,
    size: usize,
    place: usize,
) -> *mut c_void {
    let Some(size) = count.checked_mul(size) else {
        // SAFETY: every thread has an error number.
        unsafe { *libc::__errno_location() = ENOMEM };
        return std::ptr::null_mut();
    };
    // SAFETY: `reallocarray` asks for what `realloc` asks for.
    unsafe { resize(block, size, place) }
}
