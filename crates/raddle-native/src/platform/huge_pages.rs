//! The code of this library, with its constants, on huge pages.
//!
//! A run begins in a forked child, which has no code in its page tables: every sixteen pages of code that a
//! run executes cost a fault, a fifth of all faults in a short run. A huge page of the server's own is
//! present in every child, as one entry of the tables. The linker puts read-only data into separate blocks of
//! that size (`build.rs`).
#![expect(unsafe_code, reason = "moves code that is being executed")]

use crate::platform::raw;
use std::ffi::{c_int, c_void};
use std::ops::Range;

const PAGE: usize = 4096;
/// The size of a huge page.
const BLOCK: usize = 2 << 20;

/// Moves the code to huge pages. It stays where it is if the loader has not separated the blocks or the
/// system has no such pages. Called by the server, before its first fork and after reading the memory map, in
/// which that memory has no file any more.
pub(crate) fn settle() {
    let modes = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let mut parts: Vec<Part> = Vec::new();
    // SAFETY: `note_own` casts its argument back to the type passed here.
    unsafe { libc::dl_iterate_phdr(Some(note_own), (&raw mut parts).cast()) };
    let Some(code) = parts.iter().position(|part| part.has_code) else { return };
    let to = aligned(&(parts[0].pages.start..parts[code].pages.end), BLOCK);
    let after = parts.get(code + 1).map_or(usize::MAX, |after| after.pages.start);
    if to.start < parts[0].pages.start || to.end > after {
        return;
    }
    if !modes.contains("[never]") {
        replace(&parts[..=code], &to);
    }
    // The loader's padding between the parts is useless, and every fork would copy it. It is unmapped in any
    // case: the program's mappings have the same addresses with and without huge pages.
    parts[code].pages = to;
    for pair in parts[code..].windows(2) {
        unmap(pair[0].pages.end..pair[1].pages.start);
    }
}

/// Replaces these parts by a copy on huge pages that fill `to`, if the system allows it.
fn replace(parts: &[Part], to: &Range<usize>) {
    let room = raw::map(to.len() + BLOCK, false, 0) as usize;
    if room == 0 {
        return;
    }
    let copy = room.next_multiple_of(BLOCK);
    let end = copy + to.len();
    let protection = (libc::PROT_READ | libc::PROT_EXEC) as usize;
    let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as usize;
    // SAFETY: the copy is fresh memory with room for the blocks, which contain nothing but these parts. It
    // replaces the identical original atomically, so executing code is unaffected.
    let moved = unsafe {
        raw::advise(copy, to.len(), libc::MADV_HUGEPAGE);
        for Part { pages, .. } in parts {
            let target = copy + pages.start - to.start;
            std::ptr::copy_nonoverlapping(pages.start as *const u8, target as *mut u8, pages.len());
        }
        raw::syscall(libc::SYS_mprotect, [copy, to.len(), protection, 0, 0, 0]) == 0
            && raw::syscall(libc::SYS_mremap, [copy, to.len(), to.len(), flags, to.start, 0]) > 0
    };
    unmap(room..copy);
    unmap(end..room + to.len() + BLOCK);
    if !moved {
        unmap(copy..end);
    }
}

/// A part of the library in memory.
struct Part {
    pages: Range<usize>,
    has_code: bool,
}

fn aligned(range: &Range<usize>, unit: usize) -> Range<usize> {
    range.start / unit * unit..range.end.next_multiple_of(unit)
}

/// Unmaps unused memory.
fn unmap(range: Range<usize>) {
    if !range.is_empty() {
        // SAFETY: nothing of ours is there, and no memory of the program is within the range that the loader
        // reserved for this library.
        unsafe { raw::syscall(libc::SYS_munmap, [range.start, range.len(), 0, 0, 0, 0]) };
    }
}

/// Records the parts of this library, if `info` describes it; they come in the order of their addresses.
unsafe extern "C" fn note_own(info: *mut libc::dl_phdr_info, _: usize, parts: *mut c_void) -> c_int {
    let me = settle as *const () as usize;
    // SAFETY: the loader passes the description of a library, and `parts` is the pointer that `settle`
    // passed.
    let (base, headers, parts) = unsafe {
        let (headers, count) = ((*info).dlpi_phdr, usize::from((*info).dlpi_phnum));
        (
            (*info).dlpi_addr as usize,
            std::slice::from_raw_parts(headers, count),
            &mut *parts.cast::<Vec<Part>>(),
        )
    };
    for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD) {
        let begin = base + header.p_vaddr as usize;
        let pages = aligned(&(begin..begin + header.p_memsz as usize), PAGE);
        parts.push(Part { has_code: pages.contains(&me), pages });
    }
    let found = parts.iter().any(|part| part.has_code);
    if !found {
        parts.clear();
    }
    c_int::from(found)
}
