//! Allocation. The memory is glibc's; a run records the program's blocks and quarantines freed ones.
//!
//! glibc's functions are called by their alternative names, which are not interposed, so that they need no
//! symbol lookup: a lookup may allocate. They are called with the phase unchanged, because they call nothing
//! of ours.

use super::access::note_free;
use super::entry::entries;
use crate::child::control::enter;
use crate::child::heap::Fate;
use crate::child::runtime::{self, with};
use crate::child::{heap_checks, weak};
use crate::platform::raw;
use libc::{EINVAL, ENOMEM};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

entries! {
    malloc(size: usize) -> *mut c_void => allocate;
    calloc(count: usize, size: usize) -> *mut c_void => allocate_zeroed;
    realloc(block: *mut c_void, size: usize) -> *mut c_void => resize;
    reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void => resize_array;
    free(block: *mut c_void) => free_block;
    aligned_alloc(alignment: usize, size: usize) -> *mut c_void => allocate_aligned;
    memalign(alignment: usize, size: usize) -> *mut c_void => allocate_aligned;
    munmap(memory: *mut c_void, size: usize) -> c_int => unmap;
    valloc(size: usize) -> *mut c_void => allocate_on_page;
    pvalloc(size: usize) -> *mut c_void => allocate_pages;
    malloc_usable_size(block: *mut c_void) -> usize => usable_size;
    posix_memalign(result: *mut *mut c_void, alignment: usize, size: usize) -> c_int => allocate_at;
}

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
}

/// The fill byte of freed memory, and the number of bytes filled in a large block.
const PATTERN: u8 = 0xdb;
const FILLED: usize = 1 << 16;

thread_local! {
    /// True if the thread runs on its own OS thread, at its end, while the carrier is elsewhere.
    static ENDED: Cell<bool> = const { Cell::new(false) };
    /// True if glibc may have to release resources of the thread at its end.
    static USED: Cell<bool> = const { Cell::new(false) };
}

/// Records that the current thread may use glibc resources: cached memory, or a value under a key.
pub(super) fn note_use() {
    USED.set(true);
}

/// Returns true if the current thread may have used glibc resources.
pub(super) fn was_used() -> bool {
    USED.get()
}

/// Ends control of this thread: glibc ends it in parallel to the run.
pub(super) fn note_end_of_thread() {
    ENDED.set(true);
}

/// Calls `action` in the runtime, if the call comes from a program under control.
fn controlled<R>(action: impl FnOnce() -> R) -> Option<R> {
    if ENDED.get() { None } else { enter(action) }
}

/// Records a new block.
fn note(block: *mut c_void, size: usize, place: usize) -> *mut c_void {
    note_use();
    if !block.is_null() {
        controlled(|| {
            with(|runtime| {
                let allocated = runtime.heap_action(place);
                runtime.heap.add(block as usize, size, allocated);
            });
        });
    }
    block
}

unsafe extern "C" fn allocate(size: usize, place: usize) -> *mut c_void {
    // SAFETY: the function has no preconditions.
    note(unsafe { __libc_malloc(size) }, size, place)
}

unsafe extern "C" fn allocate_zeroed(count: usize, size: usize, place: usize) -> *mut c_void {
    // SAFETY: the function has no preconditions.
    note(unsafe { __libc_calloc(count, size) }, count.wrapping_mul(size), place)
}

unsafe extern "C" fn allocate_aligned(alignment: usize, size: usize, place: usize) -> *mut c_void {
    // SAFETY: the function has no preconditions.
    note(unsafe { __libc_memalign(alignment, size) }, size, place)
}

const PAGE: usize = 4096;

unsafe extern "C" fn allocate_on_page(size: usize, place: usize) -> *mut c_void {
    // SAFETY: the function has no preconditions.
    unsafe { allocate_aligned(PAGE, size, place) }
}

unsafe extern "C" fn allocate_pages(size: usize, place: usize) -> *mut c_void {
    // SAFETY: the function has no preconditions.
    unsafe { allocate_aligned(PAGE, size.next_multiple_of(PAGE), place) }
}

/// Returns the size that the program has requested, which is what a new block for it would keep.
unsafe extern "C" fn usable_size(block: *mut c_void, _: usize) -> usize {
    if block.is_null() {
        return 0;
    }
    let known = controlled(|| {
        with(|runtime| runtime.heap.knows(block as usize).then(|| runtime.heap.size(block as usize)))
    });
    if let Some(size) = known.flatten().flatten() {
        return size;
    }
    let function = usable_size_of_glibc();
    // SAFETY: the program has called `malloc_usable_size` with this block, which is glibc's.
    unsafe { std::mem::transmute::<usize, extern "C" fn(*mut c_void) -> usize>(function)(block) }
}

/// Returns the address of glibc's function. Another allocator that the program is linked with has one too.
fn usable_size_of_glibc() -> usize {
    static FOUND: AtomicUsize = AtomicUsize::new(0);
    let mut found = FOUND.load(Ordering::Relaxed);
    if found == 0 {
        // SAFETY: the names are zero-terminated, and the library is loaded.
        found = unsafe {
            let library = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            libc::dlsym(library, c"malloc_usable_size".as_ptr()) as usize
        };
        FOUND.store(found, Ordering::Relaxed);
    }
    found
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
    // SAFETY: the function has no preconditions.
    let block = note(unsafe { __libc_memalign(alignment, size) }, size, place);
    if block.is_null() {
        return ENOMEM;
    }
    // SAFETY: POSIX requires room for the address.
    unsafe { *result = block };
    0
}

unsafe extern "C" fn free_block(block: *mut c_void, place: usize) {
    if block.is_null() {
        return;
    }
    note_use();
    let fate = controlled(|| {
        // The last value written to it is still there now, and not afterwards.
        runtime::settle_value();
        let fate = heap_checks::free(block as usize, place);
        match fate {
            Fate::Kept { size, .. } => note_free(block as usize, size),
            Fate::Returned { size } => with(|runtime| weak::forget(runtime, block as usize, size)),
        }
        fate
    });
    match fate {
        Some(Fate::Kept { size, evicted }) => {
            // SAFETY: the block has at least this many bytes, and the program has freed it.
            unsafe { std::ptr::write_bytes(block.cast::<u8>(), PATTERN, size.min(FILLED)) };
            for block in &evicted {
                // SAFETY: the program has freed the block, and glibc has not been called for it.
                unsafe { __libc_free(*block as *mut c_void) };
            }
        }
        // SAFETY: the program has called `free` with this block, which is glibc's and unmodified.
        Some(Fate::Returned { .. }) | None => unsafe { __libc_free(block) },
    }
}

unsafe extern "C" fn resize(block: *mut c_void, size: usize, place: usize) -> *mut c_void {
    if block.is_null() {
        // SAFETY: the function has no preconditions.
        return unsafe { allocate(size, place) };
    }
    if size == 0 {
        // SAFETY: the program has called `realloc` with a block that it releases.
        unsafe { free_block(block, place) };
        return std::ptr::null_mut();
    }
    let known = controlled(|| {
        runtime::settle_value();
        with(|runtime| runtime.heap.knows(block as usize).then(|| runtime.heap.size(block as usize)))
    });
    let Some(known) = known.flatten() else {
        // SAFETY: the program has called `realloc` with a block that the run does not know, which is glibc's
        // and unmodified.
        return note(unsafe { __libc_realloc(block, size) }, size, place);
    };
    // A freed block has no size; the check below detects that it is freed again. SAFETY: the function has no
    // preconditions.
    let new = unsafe { allocate(size, place) };
    if !new.is_null() {
        // SAFETY: both blocks have this many bytes; the old one is freed, as `realloc` requires.
        unsafe {
            std::ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast::<u8>(), known.unwrap_or(0).min(size));
            free_block(block, place);
        }
    }
    new
}

unsafe extern "C" fn unmap(memory: *mut c_void, size: usize, _: usize) -> c_int {
    controlled(|| {
        runtime::settle_value();
        with(|runtime| weak::forget_memory(runtime, memory as usize, size));
    });
    // SAFETY: the program calls it with these arguments.
    let result = unsafe { raw::syscall(libc::SYS_munmap, [memory as usize, size, 0, 0, 0, 0]) };
    raw::errno_result(result) as c_int
}

unsafe extern "C" fn resize_array(
    block: *mut c_void,
    count: usize,
    size: usize,
    place: usize,
) -> *mut c_void {
    let Some(size) = count.checked_mul(size) else {
        // SAFETY: `__errno_location` returns a valid pointer for every thread.
        unsafe { *libc::__errno_location() = ENOMEM };
        return std::ptr::null_mut();
    };
    // SAFETY: `reallocarray` has the requirements of `realloc`.
    unsafe { resize(block, size, place) }
}
