//! The library's own allocator. The program's `malloc` may be waiting for one of the locks that this library
//! models.
//!
//! Blocks are powers of two. All come from one region that is reserved once, so that the library's needs,
//! which grow from run to run, do not move the program's mappings. Freed blocks are kept in a list for each
//! size.
//!
//! A strategy that learns may have tables of a hundred megabytes, and every run is a fork. So large blocks
//! use huge pages, and their free parts are returned to the system.
#![expect(unsafe_code, reason = "an allocator hands out raw memory")]

use crate::platform::raw;
use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The reserved address space. Only touched memory is allocated.
const RESERVED: usize = 64 << 30;
/// The requested address, far from those that the kernel chooses by itself.
pub(crate) const REGION: usize = 0x1000_0200_0000;
const SIZES: usize = 40;
/// The size of a huge page. Blocks of this size or more are large.
const HUGE: usize = 2 << 20;

struct Own {
    busy: AtomicBool,
    next: AtomicUsize,
    end: AtomicUsize,
    /// Blocks before this one belong to another process and are not reused.
    begin: AtomicUsize,
    /// The first free block of each size; a free block begins with the address of the next one.
    free: [AtomicUsize; SIZES],
}

#[global_allocator]
static OWN: Own = Own {
    busy: AtomicBool::new(false),
    next: AtomicUsize::new(0),
    end: AtomicUsize::new(0),
    begin: AtomicUsize::new(0),
    free: [const { AtomicUsize::new(0) }; SIZES],
};

impl Own {
    /// Excludes other OS threads during `action`. No thread waits inside it.
    fn alone<R>(&self, action: impl FnOnce() -> R) -> R {
        while self.busy.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        let result = action();
        self.busy.store(false, Ordering::Release);
        result
    }

    fn take(&self, class: usize) -> *mut u8 {
        let Some(list) = self.free.get(class) else { return std::ptr::null_mut() };
        let first = list.load(Ordering::Relaxed);
        if first != 0 {
            // SAFETY: a free block begins with the address of the next one, and no other code uses it.
            list.store(unsafe { *(first as *const usize) }, Ordering::Relaxed);
            return first as *mut u8;
        }
        if self.end.load(Ordering::Relaxed) == 0 {
            let region = raw::map(RESERVED, false, REGION) as usize;
            if region == 0 {
                return std::ptr::null_mut();
            }
            self.next.store(region, Ordering::Relaxed);
            self.end.store(region + RESERVED, Ordering::Relaxed);
        }
        let size = 1 << class;
        let align = if size < HUGE { size.min(4096) } else { HUGE };
        let begin = (self.next.load(Ordering::Relaxed) + align - 1) & !(align - 1);
        if begin + size > self.end.load(Ordering::Relaxed) {
            return std::ptr::null_mut();
        }
        self.next.store(begin + size, Ordering::Relaxed);
        if size >= HUGE {
            // SAFETY: the memory is mapped, and not used yet.
            unsafe { raw::advise(begin, size, libc::MADV_HUGEPAGE) };
        }
        begin as *mut u8
    }
}

/// Returns the memory of this allocator.
pub(crate) fn region() -> std::ops::Range<usize> {
    let end = OWN.end.load(Ordering::Relaxed);
    end - RESERVED..end
}

/// Stops reusing the current free blocks and the rest of the last page. Later allocations then have their own
/// consecutive pages. The free blocks are scattered, and each page that is written after a fork must be
/// copied.
pub(crate) fn settle() {
    OWN.alone(|| {
        OWN.free.iter().for_each(|list| list.store(0, Ordering::Relaxed));
        OWN.next.store(OWN.next.load(Ordering::Relaxed).next_multiple_of(4096), Ordering::Relaxed);
    });
}

/// Does the same in a forked process, which also does not write to older blocks that it frees.
pub(crate) fn begin_run() {
    settle();
    OWN.begin.store(OWN.next.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Returns the power of two that holds `layout`, which is aligned to at most a page.
fn class(layout: Layout) -> usize {
    layout.size().max(layout.align()).max(16).next_power_of_two().trailing_zeros() as usize
}

// SAFETY: blocks are as large as their class, aligned to it up to a page, and have one owner at a time.
unsafe impl GlobalAlloc for Own {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.alone(|| self.take(class(layout)))
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        self.alone(|| {
            if (block as usize) < self.begin.load(Ordering::Relaxed) {
                return;
            }
            let class = class(layout);
            let (list, size) = (&self.free[class], 1 << class);
            if size > HUGE {
                // SAFETY: the block is no longer used.
                unsafe { raw::advise(block as usize + HUGE, size - HUGE, libc::MADV_DONTNEED) };
            }
            // SAFETY: the block is no longer used and holds at least an address.
            unsafe { *block.cast::<usize>() = list.load(Ordering::Relaxed) };
            list.store(block as usize, Ordering::Relaxed);
        });
    }
}
