//! Returns the memory of the program to its contents at an earlier moment.
//!
//! A copy of this process, the *twin*, keeps the contents of that moment. Pages that the program writes later are found
//! after each run ([`WrittenPages`]), read from the twin once, and copied back after that run and all later ones. So
//! the cost of a run depends on the pages that runs write, and hardly on the size of the program. The memory of this
//! library, and memory that is shared with other processes, is not put back.
#![expect(unsafe_code, reason = "overwrites memory of the program")]

use crate::child::shared_memory;
use crate::platform::effects::Effects;
use crate::platform::memory;
use crate::platform::raw;
use crate::platform::written_pages::{Mapping, PAGE, WrittenPages};
use std::ops::Range;

/// The maximum number of pages that are put back: copying more takes as long as a fork.
const MOST: usize = 1 << 14;

/// The memory of the program at the moment to which it returns.
pub(crate) struct PutBack {
    pages: WrittenPages,
    twin: i32,
    /// Invariant: the pages that runs have written, sorted by address, each with the position of its copy.
    written: Vec<(usize, usize)>,
    /// The contents of these pages at that moment.
    saved: Vec<u8>,
    heap_end: usize,
    /// The number of page faults of this process when the written pages were last listed.
    faults: Option<u64>,
}

impl PutBack {
    /// Remembers the current contents of the memory, except for `own`. Returns `None` if the system does not support
    /// it.
    pub(crate) fn remember(own: Range<usize>) -> Option<PutBack> {
        /// The numbers of files of our own: above those that programs use.
        const FILES: i32 = 900;
        let text = std::fs::read_to_string("/proc/self/maps").ok()?;
        let mappings = mappings(&text, &[own, memory::region()]);
        let stack = text.lines().find(|line| line.ends_with("[stack]")).and_then(range)?;
        let below = stack.start.saturating_sub(stack_limit())..stack.start;
        let pages = WrittenPages::watch(&mappings, Some(below), FILES)?;
        let twin = twin()?;
        shared_memory::note_twin(twin);
        let (written, saved) = (Vec::new(), Vec::new());
        Some(PutBack { pages, twin, written, saved, heap_end: heap_end(), faults: None })
    }

    /// Returns true if a run with these effects has not returned memory to the system that the program had then.
    pub(crate) fn is_whole(&self, effects: &Effects) -> bool {
        !effects.has_break || heap_end() >= self.heap_end
    }

    /// Puts the memory back, and removes the mappings of a run with these effects. Returns `None` if it cannot.
    pub(crate) fn put_back(&mut self, effects: &Effects) -> Option<()> {
        for &(begin, length) in &effects.mappings {
            // SAFETY: the run, which is over, created the mapping.
            unsafe { raw::syscall(libc::SYS_munmap, [begin, length, 0, 0, 0, 0]) };
        }
        if effects.has_break {
            // SAFETY: the run, which is over, added the memory after this address.
            unsafe { raw::syscall(libc::SYS_brk, [self.heap_end, 0, 0, 0, 0, 0]) };
        }
        // A page is written for the first time with a page fault of this process, also by the kernel.
        let faults = faults();
        if faults.is_none() || faults != self.faults {
            self.save_new()?;
            self.faults = faults;
        }
        for &(page, copy) in &self.written {
            // SAFETY: the page is memory of the program that it has written, and the run is over; the copy is a page.
            unsafe { std::ptr::copy_nonoverlapping(self.saved.as_ptr().add(copy), page as *mut u8, PAGE) };
        }
        Some(())
    }

    /// Reads the pages that were written for the first time from the twin.
    fn save_new(&mut self) -> Option<()> {
        let PutBack { pages, written, .. } = self;
        let mut new = Vec::new();
        pages.each(|range| {
            let unknown = range
                .step_by(PAGE)
                .filter(|page| written.binary_search_by_key(page, |known| known.0).is_err());
            new.extend(unknown);
        })?;
        if new.is_empty() {
            return Some(());
        }
        if written.len() + new.len() > MOST {
            return None;
        }
        for page in new {
            let copy = self.saved.len();
            self.saved.resize(copy + PAGE, 0);
            if !self.pages.was_zero(page) {
                self.read(page, copy)?;
            }
            self.written.push((page, copy));
        }
        self.written.sort_unstable();
        Some(())
    }

    /// Reads a page of the twin.
    fn read(&mut self, page: usize, copy: usize) -> Option<()> {
        let into = libc::iovec { iov_base: self.saved[copy..].as_mut_ptr().cast(), iov_len: PAGE };
        let from = libc::iovec { iov_base: page as *mut _, iov_len: PAGE };
        let [into, from] = [&raw const into, &raw const from].map(|vector| vector as usize);
        let arguments = [self.twin as usize, into, 1, from, 1, 0];
        // SAFETY: the copy has room for a page; the kernel checks what it reads.
        let count = unsafe { raw::syscall(libc::SYS_process_vm_readv, arguments) };
        (count == PAGE as isize).then_some(())
    }
}

/// Returns the address range at the beginning of a line of a memory map.
fn range(line: &str) -> Option<Range<usize>> {
    let (begin, end) = line.split(' ').next()?.split_once('-')?;
    Some(usize::from_str_radix(begin, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
}

/// Returns the mappings of a memory map that the program may write and that are its own; `others` are not.
fn mappings(text: &str, others: &[Range<usize>]) -> Vec<Mapping> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(memory), Some(rights)) = (range(line), words.nth(1)) else { continue };
        // Others cannot be changed without a system call that leaves a trace.
        if !rights.starts_with("rw") || !rights.ends_with('p') {
            continue;
        }
        let is_file = words.nth(2).is_some_and(|inode| inode != "0");
        let mut rest = vec![memory];
        for other in others {
            let parts = rest.into_iter().flat_map(|part| {
                [part.start..part.end.min(other.start), part.start.max(other.end)..part.end]
            });
            rest = parts.filter(|part| !part.is_empty()).collect();
        }
        found.extend(rest.into_iter().map(|memory| Mapping { memory, is_file }));
    }
    found
}

/// Returns how far the stack of the main thread may grow.
fn stack_limit() -> usize {
    const MOST: usize = 1 << 30;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the argument has room for a limit.
    let error = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) };
    if error == 0 { usize::try_from(limit.rlim_cur).unwrap_or(MOST).min(MOST) } else { MOST }
}

/// Returns the end of the heap that grows with `brk`.
fn heap_end() -> usize {
    // SAFETY: an invalid address changes nothing.
    unsafe { raw::syscall(libc::SYS_brk, [0; 6]) as usize }
}

/// Returns the number of page faults of all threads of this process so far.
fn faults() -> Option<u64> {
    // SAFETY: an all-zero usage is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let into = &raw mut usage as usize;
    // SAFETY: the argument has room for a usage.
    let error = unsafe { raw::syscall(libc::SYS_getrusage, [libc::RUSAGE_SELF as usize, into, 0, 0, 0, 0]) };
    (error == 0).then_some((usage.ru_minflt + usage.ru_majflt) as u64)
}

/// Creates a copy of this process that does nothing, as a child of the server: the program must not find a child of its
/// own. It ends with the server, which also ends it after this process.
fn twin() -> Option<i32> {
    /// Lets a process read the memory of the calling one where the system restricts that to ancestors.
    const PR_SET_PTRACER: i32 = 0x5961_6d61;
    // SAFETY: the system calls touch no memory.
    let call = |number, [a, b]: [usize; 2]| unsafe { raw::syscall(number, [a, b, 0, 0, 0, 0]) };
    let (reader, parent) = (call(libc::SYS_getpid, [0; 2]), call(libc::SYS_getppid, [0; 2]));
    let flags = (libc::CLONE_PARENT | libc::SIGCHLD) as usize;
    let twin = call(libc::SYS_clone, [flags, 0]);
    if twin == 0 {
        call(libc::SYS_prctl, [libc::PR_SET_PDEATHSIG as usize, libc::SIGKILL as usize]);
        call(libc::SYS_prctl, [PR_SET_PTRACER as usize, reader as usize]);
        while call(libc::SYS_getppid, [0; 2]) == parent {
            call(libc::SYS_pause, [0; 2]);
        }
        raw::exit(0);
    }
    i32::try_from(twin).ok().filter(|&twin| twin > 0)
}
