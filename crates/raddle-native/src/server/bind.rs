//! Binds the calls of the program to functions of libraries before the first fork.
//!
//! Most programs leave it to the loader to look a function up when it is first called. In a child that would be done again in every run,
//! on a dozen pages of tables that nothing else touches: a tenth of a short run. Here it is done as the loader would do it. Where
//! that is not certain the call is left as it is.
#![expect(unsafe_code, reason = "tables of the loader are read and written")]

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

/// In [`tag::FLAGS`]: the object's own functions come first, or all is bound.
const SYMBOLIC_OR_NOW: u64 = 2 | 8;
/// In [`tag::FLAGS_1`]: all is bound.
const NOW: u64 = 1;
/// The kind of relocation that is bound late.
const CALL: u64 = 7;

/// An entry of a dynamic section.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: u64,
}

/// A file of which versions are needed, and such a version; each says how far away the next one is.
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

/// How many objects there were before the program's own code began.
static FIRST: AtomicUsize = AtomicUsize::new(0);

/// Takes note of the objects of now. One that the program loads by itself may look for functions elsewhere first, and what it finds
/// is not to be kept when it is unloaded.
pub(crate) fn note_objects() {
    // SAFETY: `count` is a function as the loader wants it.
    unsafe { libc::dl_iterate_phdr(Some(count), std::ptr::null_mut()) };
}

unsafe extern "C" fn count(_: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
    FIRST.fetch_add(1, Ordering::Relaxed);
    0
}

/// Binds what is certain, in all objects that were noted but this library, which is bound. Called before there is a second thread.
pub(crate) fn bind_all() {
    let mut left = FIRST.load(Ordering::Relaxed);
    // SAFETY: the name ends with a zero; `bind` is a function as the loader wants it, and is handed what it takes.
    unsafe {
        // Who looks at every binding wants to see it when it is made.
        if libc::getenv(c"LD_AUDIT".as_ptr()).is_null() {
            libc::dl_iterate_phdr(Some(bind), (&raw mut left).cast());
        }
    }
}

/// Binds the calls of one object, if it is among those that are `left`. New ones come last.
unsafe extern "C" fn bind(info: *mut libc::dl_phdr_info, _: usize, left: *mut c_void) -> c_int {
    // SAFETY: `bind_all` has handed it over.
    let left = unsafe { &mut *left.cast::<usize>() };
    if *left == 0 {
        return 1;
    }
    *left -= 1;
    // SAFETY: the loader hands over what it knows of an object.
    if let Some(object) = unsafe { Object::of(&*info) } {
        for index in 0..object.calls.len() {
            object.bind(index);
        }
    }
    0
}

/// What the loader knows of an object with calls that are not bound.
struct Object {
    /// Where it is in memory.
    memory: Range<usize>,
    base: usize,
    calls: &'static [Elf64_Rela],
    symbols: *const Elf64_Sym,
    texts: *const c_char,
    /// By symbol: the number of its version.
    versions: *const u16,
    needed: *const NeededFile,
}

impl Object {
    /// # Safety
    /// `info` is what the loader tells.
    unsafe fn of(info: &libc::dl_phdr_info) -> Option<Object> {
        let base = info.dlpi_addr as usize;
        // SAFETY: the loader says so.
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
        // The loader has made addresses of some of them.
        let table = |wanted: i64| {
            let value = entry(wanted)? as usize;
            let address = if memory.contains(&value) { value } else { base + value };
            memory.contains(&address).then_some(address)
        };
        let count = entry(tag::SIZE_OF_CALLS)? as usize / size_of::<Elf64_Rela>();
        // SAFETY: the table has that many entries, and stays as long as the object.
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
        // SAFETY: the place of a call is an address that can be written to, as all are not bound at once.
        if kind != CALL || !self.asks_loader(unsafe { *place }, index) {
            return;
        }
        // SAFETY: the loader finds the name and the version of a function in the same way.
        let found = unsafe {
            let name = self.texts.add((*self.symbols.add(symbol)).st_name as usize);
            self.version(symbol).map_or(std::ptr::null_mut(), |version| look_up(name, version))
        };
        // A program at a fixed address stands for a function whose address it takes by the code that makes this very call.
        if !found.is_null() && !self.memory.contains(&(found as usize)) {
            // SAFETY: see above.
            unsafe { *place = found as usize };
        }
    }

    /// Whether there is code of the object that asks the loader for the function of a call. It begins with the number of the call. Anything
    /// else may be what the program has put there.
    fn asks_loader(&self, code: usize, index: usize) -> bool {
        const LANDING: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
        const PUSH: u8 = 0x68;
        let mut wanted = [PUSH, 0, 0, 0, 0];
        wanted[1..].copy_from_slice(&(index as u32).to_le_bytes());
        let is_at = |code: usize, wanted: &[u8]| {
            let end = code.saturating_add(wanted.len());
            // SAFETY: a call leads to code, which can be read; it is within the object.
            let byte = |at: usize| unsafe { *((code + at) as *const u8) };
            self.memory.contains(&code)
                && end <= self.memory.end
                && wanted.iter().enumerate().all(|(at, &one)| byte(at) == one)
        };
        is_at(code, &wanted) || is_at(code, &LANDING) && is_at(code + LANDING.len(), &wanted)
    }

    /// The version of a function in another object, by the number of its symbol.
    ///
    /// # Safety
    /// There is such a symbol.
    unsafe fn version(&self, symbol: usize) -> Option<*const c_char> {
        // SAFETY: there is such a symbol, so the table has its version; each entry of the list says where the next one is.
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

/// The function that a call means; null if it is not certain.
///
/// The loader takes the first function of the name that has the version or none at all. Those of this library have none. Nobody can be
/// asked just that: without a version the one that a library offers to new programs is found, and with a version none without. Where both
/// find the same there is no other.
///
/// # Safety
/// Both texts end with a zero.
unsafe fn look_up(name: *const c_char, version: *const c_char) -> *mut c_void {
    // SAFETY: both texts end with a zero.
    unsafe {
        let first = libc::dlsym(libc::RTLD_DEFAULT, name);
        // Where an address is takes the loader longer to say than where a name is.
        if first == dlvsym(libc::RTLD_DEFAULT, name, version) || is_own(first) {
            first
        } else {
            std::ptr::null_mut()
        }
    }
}

/// Whether this is in this library.
fn is_own(address: *const c_void) -> bool {
    let object = |address: *const c_void| {
        let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: the loader looks for the address, and fills in what there is room for.
        let found = unsafe { libc::dladdr(address, info.as_mut_ptr()) };
        // SAFETY: it is filled in, and zeros would do.
        (found != 0).then(|| unsafe { info.assume_init() }.dli_fbase)
    };
    !address.is_null() && object(address) == object(bind_all as *const () as *const c_void)
}
