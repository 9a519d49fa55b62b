//! Binds the calls of the program to functions of libraries before the first fork.
//!
//! Most programs let the loader look up a function when it is first called. In a child that would be repeated
//! in every run, on a dozen pages of tables that nothing else touches: a tenth of a short run. This module
//! does it as the loader would. Calls whose target is not certain are left unchanged.
#![expect(unsafe_code, reason = "reads and writes tables of the loader")]

use libc::{Elf64_Rela, Elf64_Sym};
use std::ffi::{c_char, c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Tags of entries of a dynamic section.
mod tag {
    pub(super) const SIZE_OF_CALLS: i64 = 2;
    pub(super) const TEXTS: i64 = 5;
    pub(super) const SYMBOLS: i64 = 6;
    pub(super) const SYMBOLIC: i64 = 16;
    pub(super) const CALLS: i64 = 23;
    pub(super) const BIND_NOW: i64 = 24;
    pub(super) const FLAGS: i64 = 30;
    pub(super) const VERSIONS: i64 = 0x6fff_fff0;
    pub(super) const FLAGS_1: i64 = 0x6fff_fffb;
    pub(super) const NEEDED_VERSIONS: i64 = 0x6fff_fffe;
}

/// In [`tag::FLAGS`]: the object's own functions come first, or everything is bound.
const SYMBOLIC_OR_NOW: u64 = 2 | 8;
/// In [`tag::FLAGS_1`]: everything is bound.
const NOW: u64 = 1;
/// The relocation type that is bound lazily.
const CALL: u64 = 7;

/// An entry of a dynamic section.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: u64,
}

/// A file of which versions are needed, and such a version; each has the distance to the next one.
#[repr(C)]
struct NeededFile {
    version: u16,
    count: u16,
    file: u32,
    first: u32,
    next: u32,
}

#[repr(C)]
struct NeededVersion {
    hash: u32,
    flags: u16,
    number: u16,
    name: u32,
    next: u32,
}

unsafe extern "C" {
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
}

/// The number of objects before the program's own code began.
static FIRST: AtomicUsize = AtomicUsize::new(0);

/// Records the current objects. One that the program loads itself may search for functions elsewhere first,
/// and its results must not be kept when it is unloaded.
pub(crate) fn note_objects() {
    // SAFETY: `count` has the type that the loader requires.
    unsafe { libc::dl_iterate_phdr(Some(count), std::ptr::null_mut()) };
}

unsafe extern "C" fn count(_: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
    FIRST.fetch_add(1, Ordering::Relaxed);
    0
}

/// Binds all certain calls, in all recorded objects except this library, which is bound. Called before there
/// is a second thread.
pub(crate) fn bind_all() {
    let mut left = FIRST.load(Ordering::Relaxed);
    // SAFETY: the name is zero-terminated; `bind` has the type that the loader requires, and casts its
    // argument back to the type passed here.
    unsafe {
        // An auditor expects to see every binding when it is made.
        if libc::getenv(c"LD_AUDIT".as_ptr()).is_null() {
            libc::dl_iterate_phdr(Some(bind), (&raw mut left).cast());
        }
    }
}

/// Binds the calls of one object, if it is among those that are `left`. New ones come last.
unsafe extern "C" fn bind(info: *mut libc::dl_phdr_info, _: usize, left: *mut c_void) -> c_int {
    // SAFETY: `bind_all` passed this pointer.
    let left = unsafe { &mut *left.cast::<usize>() };
    if *left == 0 {
        return 1;
    }
    *left -= 1;
    // SAFETY: the loader passes the description of an object.
    if let Some(object) = unsafe { Object::of(&*info) } {
        for index in 0..object.calls.len() {
            object.bind(index);
        }
    }
    0
}

/// The loader's data about an object with unbound calls.
struct Object {
    /// Its address range.
    memory: Range<usize>,
    base: usize,
    calls: &'static [Elf64_Rela],
    symbols: *const Elf64_Sym,
    texts: *const c_char,
    /// The version number of each symbol.
    versions: *const u16,
    needed: *const NeededFile,
}

impl Object {
    /// # Safety
    /// `info` is a description from the loader.
    unsafe fn of(info: &libc::dl_phdr_info) -> Option<Object> {
        let base = info.dlpi_addr as usize;
        // SAFETY: the loader gives the pointer and the number of the headers.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let loaded = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        let begin = loaded().map(|header| header.p_vaddr as usize).min()?;
        let end = loaded().map(|header| (header.p_vaddr + header.p_memsz) as usize).max()?;
        let memory = base + begin..base + end;
        let section = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
        let first = (base + section.p_vaddr as usize) as *const Dynamic;
        let entry = |wanted: i64| {
            // SAFETY: the section ends with an entry of tag 0.
            (0..)
                .map(|index| unsafe { &*first.add(index) })
                .take_while(|entry| entry.tag != 0)
                .find(|entry| entry.tag == wanted)
                .map(|entry| entry.value)
        };
        let flags = entry(tag::FLAGS).unwrap_or(0) & SYMBOLIC_OR_NOW | entry(tag::FLAGS_1).unwrap_or(0) & NOW;
        if flags != 0 || entry(tag::SYMBOLIC).is_some() || entry(tag::BIND_NOW).is_some() {
            return None;
        }
        // The loader has converted some of them to addresses.
        let table = |wanted: i64| {
            let value = entry(wanted)? as usize;
            let address = if memory.contains(&value) { value } else { base + value };
            memory.contains(&address).then_some(address)
        };
        let count = entry(tag::SIZE_OF_CALLS)? as usize / size_of::<Elf64_Rela>();
        // SAFETY: the table has that many entries, and lives as long as the object.
        let calls = unsafe { std::slice::from_raw_parts(table(tag::CALLS)? as *const Elf64_Rela, count) };
        Some(Object {
            base,
            calls,
            symbols: table(tag::SYMBOLS)? as *const Elf64_Sym,
            texts: table(tag::TEXTS)? as *const c_char,
            versions: table(tag::VERSIONS)? as *const u16,
            needed: table(tag::NEEDED_VERSIONS)? as *const NeededFile,
            memory,
        })
    }

    /// Binds a call if it is not bound and the function is certain.
    fn bind(&self, index: usize) {
        let call = &self.calls[index];
        let (symbol, kind) = ((call.r_info >> 32) as usize, call.r_info & 0xffff_ffff);
        let place = (self.base + call.r_offset as usize) as *mut usize;
        // SAFETY: the slot of a lazily bound call is a writable address.
        if kind != CALL || !self.asks_loader(unsafe { *place }, index) {
            return;
        }
        // SAFETY: the loader finds the name and the version of a function in the same way.
        let found = unsafe {
            let name = self.texts.add((*self.symbols.add(symbol)).st_name as usize);
            self.version(symbol).map_or(std::ptr::null_mut(), |version| look_up(name, version))
        };
        // A program at a fixed address represents a function whose address it takes by the code that makes
        // this very call.
        if !found.is_null() && !self.memory.contains(&(found as usize)) {
            // SAFETY: the slot is writable, as above.
            unsafe { *place = found as usize };
        }
    }

    /// Returns true if `code` is code of the object that asks the loader for the function of a call. It
    /// begins with the number of the call. Anything else may come from the program.
    fn asks_loader(&self, code: usize, index: usize) -> bool {
        const LANDING: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
        const PUSH: u8 = 0x68;
        let mut wanted = [PUSH, 0, 0, 0, 0];
        wanted[1..].copy_from_slice(&(index as u32).to_le_bytes());
        let is_at = |code: usize, wanted: &[u8]| {
            let end = code.saturating_add(wanted.len());
            // SAFETY: a call leads to readable code, and it is within the object.
            let byte = |at: usize| unsafe { *((code + at) as *const u8) };
            self.memory.contains(&code)
                && end <= self.memory.end
                && wanted.iter().enumerate().all(|(at, &one)| byte(at) == one)
        };
        is_at(code, &wanted) || is_at(code, &LANDING) && is_at(code + LANDING.len(), &wanted)
    }

    /// Returns the version of a function in another object, by the number of its symbol.
    ///
    /// # Safety
    /// There is such a symbol.
    unsafe fn version(&self, symbol: usize) -> Option<*const c_char> {
        // SAFETY: per the contract of this function, there is such a symbol, so the table has its version;
        // each entry of the list has the distance to the next one.
        unsafe {
            let number = *self.versions.add(symbol);
            let mut file = self.needed;
            loop {
                let mut version = file.byte_add((*file).first as usize).cast::<NeededVersion>();
                for _ in 0..(*file).count {
                    if (*version).number == number {
                        return Some(self.texts.add((*version).name as usize));
                    }
                    version = version.byte_add((*version).next as usize);
                }
                if (*file).next == 0 {
                    return None;
                }
                file = file.byte_add((*file).next as usize);
            }
        }
    }
}

/// Returns the target of a call; null if it is not certain.
///
/// The loader takes the first function of the name that has the version or none at all. Those of this library
/// have none. There is no API for exactly that: without a version, `dlsym` finds the default one for new
/// programs, and with a version, `dlvsym` finds none without. If both find the same, there is no other.
///
/// # Safety
/// Both strings are zero-terminated.
unsafe fn look_up(name: *const c_char, version: *const c_char) -> *mut c_void {
    // SAFETY: per the contract of this function, both strings are zero-terminated.
    unsafe {
        let first = libc::dlsym(libc::RTLD_DEFAULT, name);
        // Looking up an address takes the loader longer than looking up a name.
        if first == dlvsym(libc::RTLD_DEFAULT, name, version) || is_own(first) {
            first
        } else {
            std::ptr::null_mut()
        }
    }
}

/// Returns true if the address is in this library.
fn is_own(address: *const c_void) -> bool {
    let object = |address: *const c_void| {
        let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: the loader looks up the address, and fills in the given structure.
        let found = unsafe { libc::dladdr(address, info.as_mut_ptr()) };
        // SAFETY: it is filled in, and all-zero bits are valid.
        (found != 0).then(|| unsafe { info.assume_init() }.dli_fbase)
    };
    !address.is_null() && object(address) == object(bind_all as *const () as *const c_void)
}
