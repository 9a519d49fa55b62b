//! The code of this library, with its constants, on huge pages.
//!
//! A run begins in a forked child, which has no code in its page tables: every sixteen pages of it that a run comes to cost a fault, a
//! fifth of all in a short run. A huge page of the server's own is there in every child, as one entry of the tables. The linker puts
//! what nobody writes to into blocks of that size where nothing else is (`build.rs`).
#![expect(unsafe_code, reason = "code is moved under the feet of those who run it")]

use crate::platform::raw;
use std::ffi::{c_int, c_void};
use std::ops::Range;

const PAGE: usize = 4096;
/// The size of a huge page.
const BLOCK: usize = 2 << 20;

/// Puts the code on huge pages. It stays where it is if the loader has not kept the blocks apart or the system gives no such pages. Called by
/// the server, before its first fork and after the memory map was read, in which that memory has no file any more.
pub(crate) fn settle() {
    let modes = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let mut parts: Vec<Part> = Vec::new();
    // SAFETY: `note_own` is handed what it takes.
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
    // What the loader keeps between the parts is of no use, and would be copied by every fork. It is given back in any case: what the
    // program maps has the same addresses with and without huge pages.
    parts[code].pages = to;
    for pair in parts[code..].windows(2) {
        unmap(pair[0].pages.end..pair[1].pages.start);
    }
}

/// Lets a copy of these parts take their place, on huge pages that fill `to`, if the system lets it.
fn replace(parts: &[Part], to: &Range<usize>) {
    let room = raw::map(to.len() + BLOCK, false, 0) as usize;
    if room == 0 {
        return;
    }
    let copy = room.next_multiple_of(BLOCK);
    let end = copy + to.len();
    let protection = (libc::PROT_READ | libc::PROT_EXEC) as usize;
    let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as usize;
    // SAFETY: the copy is fresh memory with room for the blocks, in which there is nothing but these parts. It takes the place of what
    // it is a copy of at once, so that it does not matter who runs it.
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

/// Gives memory back that nobody uses.
fn unmap(range: Range<usize>) {
    if !range.is_empty() {
        // SAFETY: nothing of ours is there, and no memory of the program is within what the loader has given to this library.
        unsafe { raw::syscall(libc::SYS_munmap, [range.start, range.len(), 0, 0, 0, 0]) };
    }
}

/// Takes note of the parts of this library, if it is the one that is told of; they come in the order of their addresses.
unsafe extern "C" fn note_own(info: *mut libc::dl_phdr_info, _: usize, parts: *mut c_void) -> c_int {
    let me = settle as *const () as usize;
    // SAFETY: the loader hands over what it knows of a library, and `parts` is what `settle` has handed over.
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
