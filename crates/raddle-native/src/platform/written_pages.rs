//! The pages of memory that were written since a moment, as the kernel knows them.
//!
//! Pages are write-protected for a `userfaultfd` in asynchronous mode: the kernel removes the protection of a page at the
//! first write, also if it writes itself, and the writer does not notice. `PAGEMAP_SCAN` lists the unprotected pages.
//! Both need Linux 6.7 and no privileges. A block of memory without any page at that moment is not protected, which
//! would need page tables; there, every page that exists later counts as written.
#![expect(unsafe_code, reason = "the kernel is asked by system calls")]

use crate::platform::raw;
use std::ops::Range;

pub(crate) const PAGE: usize = 4096;
/// The memory that one page table describes.
const BLOCK: usize = 2 << 20;

/// `userfaultfd` for faults in user mode only, which needs no privileges. Asynchronous faults are not reported at all.
const USER_MODE_ONLY: usize = 1;
const UFFDIO_API: usize = 0xc018_aa3f;
const UFFDIO_REGISTER: usize = 0xc020_aa00;
const API: u64 = 0xaa;
/// The features: write protection of pages that do not exist yet, and asynchronous write protection.
const FEATURES: u64 = 1 << 13 | 1 << 15;
const MODE_WRITE_PROTECT: u64 = 2;

const PAGEMAP_SCAN: usize = 0xc060_6610;
const WRITE_PROTECT_MATCHING: u64 = 1;
const REQUIRE_PROTECTION: u64 = 2;
const IS_WATCHED: u64 = 1 << 0;
const IS_WRITTEN: u64 = 1 << 1;
const IS_PRESENT: u64 = 1 << 3;
const IS_SWAPPED: u64 = 1 << 4;

/// The arguments of `UFFDIO_API`.
#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    calls: u64,
}

/// The arguments of `UFFDIO_REGISTER`.
#[repr(C)]
struct Register {
    begin: u64,
    length: u64,
    mode: u64,
    calls: u64,
}

/// A result of `PAGEMAP_SCAN`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Region {
    begin: u64,
    end: u64,
    categories: u64,
}

/// The arguments of `PAGEMAP_SCAN`.
#[derive(Default)]
#[repr(C)]
struct Scan {
    size: u64,
    flags: u64,
    begin: u64,
    end: u64,
    walk_end: u64,
    results: u64,
    length: u64,
    most_pages: u64,
    inverted: u64,
    all_of: u64,
    any_of: u64,
    returned: u64,
}

/// A range of memory in which pages are found in one way.
struct Span {
    memory: Range<usize>,
    /// True if all its pages were write-protected; otherwise none existed.
    is_protected: bool,
}

/// A private, writable mapping of this process.
pub(crate) struct Mapping {
    pub(crate) memory: Range<usize>,
    pub(crate) is_file: bool,
}

/// Finds pages that were written.
pub(crate) struct WrittenPages {
    pagemap: i32,
    /// Invariant: sorted by address.
    spans: Vec<Span>,
}

impl WrittenPages {
    /// Starts to watch these mappings, which are sorted by address; files get numbers of at least `from`. Returns
    /// `None` if the system does not support it.
    ///
    /// `below` is memory below a mapping into which the kernel may extend it, as it does for a stack.
    pub(crate) fn watch(
        mappings: &[Mapping],
        below: Option<Range<usize>>,
        from: i32,
    ) -> Option<WrittenPages> {
        let flags = libc::O_CLOEXEC as usize | USER_MODE_ONLY;
        let faults = above(call(libc::SYS_userfaultfd, [flags, 0, 0])?, from)?;
        let mut api = Api { api: API, features: FEATURES, calls: 0 };
        control(faults, UFFDIO_API, &mut api)?;
        let path = c"/proc/self/pagemap".as_ptr() as usize;
        let pagemap = call(libc::SYS_open, [path, (libc::O_RDONLY | libc::O_CLOEXEC) as usize, 0])?;
        let mut watched = WrittenPages { pagemap: above(pagemap, from)?, spans: Vec::new() };
        watched.spans.extend(below.map(|memory| Span { memory, is_protected: false }));
        for Mapping { memory, is_file } in mappings {
            let (begin, length) = (memory.start as u64, memory.len() as u64);
            let mut register = Register { begin, length, mode: MODE_WRITE_PROTECT, calls: 0 };
            control(faults, UFFDIO_REGISTER, &mut register)?;
            watched.divide(memory, *is_file)?;
        }
        watched.spans.sort_by_key(|span| span.memory.start);
        for span in watched.spans.iter().filter(|span| span.is_protected) {
            watched.scan(
                &span.memory,
                WRITE_PROTECT_MATCHING | REQUIRE_PROTECTION,
                (IS_WRITTEN, 0),
                &mut |_| (),
            )?;
        }
        Some(watched)
    }

    /// Adds the spans of a mapping.
    fn divide(&mut self, memory: &Range<usize>, is_file: bool) -> Option<()> {
        let mut begin = memory.start;
        while begin < memory.end {
            let end = ((begin / BLOCK + 1) * BLOCK).min(memory.end);
            let mut has_pages = is_file;
            if !is_file {
                self.scan(&(begin..end), 0, (0, IS_PRESENT | IS_SWAPPED), &mut |_| has_pages = true)?;
            }
            match self.spans.last_mut() {
                Some(last) if last.memory.end == begin && last.is_protected == has_pages => {
                    last.memory.end = end
                }
                _ => self.spans.push(Span { memory: begin..end, is_protected: has_pages }),
            }
            begin = end;
        }
        Some(())
    }

    /// Calls `action` with ranges of pages that were written, in order. Pages stay written. Returns `None` if the
    /// system refuses.
    pub(crate) fn each(&self, mut action: impl FnMut(Range<usize>)) -> Option<()> {
        let (Some(first), Some(last)) = (self.spans.first(), self.spans.last()) else { return Some(()) };
        // The kernel skips mappings that are not watched. A page that is not protected and exists is written.
        let wanted = (IS_WATCHED | IS_WRITTEN, IS_PRESENT | IS_SWAPPED);
        self.scan(&(first.memory.start..last.memory.end), 0, wanted, &mut action)
    }

    /// Returns true if a page did not exist when watching began, so that it was zero.
    pub(crate) fn was_zero(&self, page: usize) -> bool {
        let after = self.spans.partition_point(|span| span.memory.start <= page);
        self.spans[..after].last().is_some_and(|span| !span.is_protected && span.memory.contains(&page))
    }

    /// Calls `action` with the ranges of pages that are in all or any of these categories.
    fn scan(
        &self,
        memory: &Range<usize>,
        flags: u64,
        (all_of, any_of): (u64, u64),
        action: &mut impl FnMut(Range<usize>),
    ) -> Option<()> {
        const MOST: usize = 128;
        let mut regions = [Region::default(); MOST];
        let mut begin = memory.start as u64;
        while begin < memory.end as u64 {
            let mut scan = Scan {
                size: size_of::<Scan>() as u64,
                flags,
                begin,
                end: memory.end as u64,
                results: regions.as_mut_ptr() as u64,
                length: MOST as u64,
                all_of,
                any_of,
                returned: all_of | any_of,
                ..Scan::default()
            };
            let count = control(self.pagemap, PAGEMAP_SCAN, &mut scan)?;
            for region in &regions[..count as usize] {
                action(region.begin as usize..region.end as usize);
            }
            if scan.walk_end <= begin {
                return None;
            }
            begin = scan.walk_end;
        }
        Some(())
    }
}

/// Makes a system call without effects on memory, or on a file that is given by `argument`.
fn call(number: i64, [a, b, c]: [usize; 3]) -> Option<i32> {
    // SAFETY: the calls here create files, and read nothing but a path, which is zero-terminated.
    let result = unsafe { raw::syscall(number, [a, b, c, 0, 0, 0]) };
    i32::try_from(result).ok().filter(|&result| result >= 0)
}

/// Calls `ioctl` with a structure that fits `request`.
fn control<T>(file: i32, request: usize, argument: &mut T) -> Option<i32> {
    call(libc::SYS_ioctl, [file as usize, request, std::ptr::from_mut(argument) as usize])
}

/// Moves a file to a number of at least `from`.
fn above(file: i32, from: i32) -> Option<i32> {
    let moved = call(libc::SYS_fcntl, [file as usize, libc::F_DUPFD_CLOEXEC as usize, from as usize]);
    call(libc::SYS_close, [file as usize, 0, 0]);
    moved
}
