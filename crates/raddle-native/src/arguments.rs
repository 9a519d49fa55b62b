//! The arguments and the environment of the program, without what starts this library.
//!
//! The functions of libc for the environment are not used: programs such as bash have their own under the same names.
#![expect(unsafe_code, reason = "reads and replaces lists of the C library")]

use crate::platform::{memory, raw};
use raddle_model::native::{AGAIN, DELAY, SOCKET};
use std::ffi::{CStr, CString, c_char};

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// The variable that preloads libraries; that of the user has the prefix [`OURS`] meanwhile.
const PRELOAD: &str = "LD_PRELOAD";
const OURS: &str = "RADDLE_";
/// The variable that sets how long gcc's OpenMP library spins before it waits, which is useless here.
const SPIN: &str = "GOMP_SPINCOUNT";

/// Iterates over a null-terminated list of zero-terminated strings, or nothing.
///
/// # Safety
/// `list` is such a list or null, and is not changed meanwhile.
unsafe fn texts(list: *const *mut c_char) -> impl Iterator<Item = *mut c_char> + Clone {
    let length = if list.is_null() { 0 } else { usize::MAX };
    // SAFETY: the list ends with a null pointer, beyond which nothing is read.
    (0..length).map(move |index| unsafe { *list.add(index) }).take_while(|text| !text.is_null())
}

/// Returns the name and the value of an entry of the environment.
///
/// # Safety
/// The entry is a zero-terminated string that lives as long as the program.
unsafe fn parts(entry: *const c_char) -> (&'static [u8], &'static [u8]) {
    // SAFETY: per the contract of this function.
    let text = unsafe { CStr::from_ptr(entry) }.to_bytes();
    let end = text.iter().position(|&byte| byte == b'=').unwrap_or(text.len());
    (&text[..end], text.get(end + 1..).unwrap_or_default())
}

/// Returns a number in the environment.
pub(crate) fn number<T: std::str::FromStr>(name: &str) -> Option<T> {
    // SAFETY: the environment is a list of strings, and no other thread changes it.
    let value =
        unsafe { texts(environ).map(|entry| parts(entry)).find(|(known, _)| *known == name.as_bytes()) }?.1;
    str::from_utf8(value).ok()?.parse().ok()
}

/// Returns the environment for the second start of the program, with the same addresses as in every other process.
pub(crate) fn for_second_start() -> Vec<*const c_char> {
    // SAFETY: as in `number`.
    let now: Vec<*mut c_char> = unsafe { texts(environ).collect() };
    // SAFETY: as in `number`.
    let has_spin = now.iter().any(|&entry| unsafe { parts(entry) }.0 == SPIN.as_bytes());
    let mut added = vec![format!("{AGAIN}={}", if has_spin { 1 } else { 2 })];
    if !has_spin {
        added.push(format!("{SPIN}=0"));
    }
    let added = added.into_iter().filter_map(|text| CString::new(text).ok()).map(CString::into_raw);
    now.into_iter().chain(added).map(<*mut c_char>::cast_const).chain([std::ptr::null()]).collect()
}

/// Returns what the program sees of an entry of the environment; nothing if it was made to start this library.
///
/// # Safety
/// The entry is a zero-terminated string that lives as long as the program.
unsafe fn seen(entry: *mut c_char, spin_is_ours: bool) -> Option<*mut c_char> {
    // SAFETY: per the contract of this function.
    let (name, _) = unsafe { parts(entry) };
    let ours = [PRELOAD, SOCKET, DELAY, AGAIN].iter().any(|ours| name == ours.as_bytes());
    if ours || spin_is_ours && name == SPIN.as_bytes() {
        return None;
    }
    let is_saved = name.strip_prefix(OURS.as_bytes()) == Some(PRELOAD.as_bytes());
    // SAFETY: the prefix is part of the string.
    Some(if is_saved { unsafe { entry.add(OURS.len()) } } else { entry })
}

/// Removes the library from the environment in place: programs that this one starts are not under control.
pub(crate) fn clean_environment() {
    let spin_is_ours = number(AGAIN) == Some(2);
    // SAFETY: as in `number`; the list gets no longer.
    unsafe {
        let kept: Vec<_> = texts(environ).filter_map(|entry| seen(entry, spin_is_ours)).collect();
        for (index, entry) in kept.iter().copied().chain([std::ptr::null_mut()]).enumerate() {
            if !environ.is_null() {
                *environ.add(index) = entry;
            }
        }
    }
}

/// The address of the list of the environment: directly before the memory of this library, so that every fork copies
/// one mapping. They meet in the middle of the range of one page table.
const ENVIRONMENT_AT: usize = memory::REGION - ROOM;
/// The kernel limits arguments and environment to less than this.
const ROOM: usize = 15 << 20;
/// Strings of two threads do not share a unit of memory.
const UNIT: usize = size_of::<u64>();

/// The room for a string, or an end of it.
///
/// # Safety
/// The text is zero-terminated.
unsafe fn room(text: *const c_char) -> usize {
    // SAFETY: per the contract of this function.
    unsafe { CStr::from_ptr(text) }.to_bytes_with_nul().len().next_multiple_of(UNIT)
}

/// Copies arguments, environment and auxiliary vector to addresses that do not depend on the size of what precedes
/// them, and replaces `environ`. Returns the list of arguments.
///
/// ```text
/// strings of arguments | their list, null | list of the environment, null | auxiliary vector | strings of the environment
///                                         ^ ENVIRONMENT_AT
/// ```
///
/// The lists follow each other as on the stack, because some runtimes, such as Go's, read beyond the first one.
///
/// # Safety
/// `arguments` is a null-terminated list of strings, and the program has no other thread yet.
pub(crate) unsafe fn settle(arguments: *mut *mut c_char) -> *mut *mut c_char {
    let spin_is_ours = number(AGAIN) == Some(2);
    // SAFETY: both are lists of strings.
    let (words, variables): (Vec<_>, Vec<_>) = unsafe {
        (texts(arguments).collect(), texts(environ).filter_map(|entry| seen(entry, spin_is_ours)).collect())
    };
    let vector = std::fs::read("/proc/self/auxv").unwrap_or_default();
    // SAFETY: the strings are zero-terminated.
    let size = |texts: &[*mut c_char]| texts.iter().map(|&text| unsafe { room(text) }).sum::<usize>();
    let pointers = |texts: &[*mut c_char]| (texts.len() + 1) * UNIT;
    let before = pointers(&words) + size(&words);
    let after = pointers(&variables) + vector.len() + size(&variables);
    let block = raw::map(2 * ROOM, false, ENVIRONMENT_AT - ROOM);
    if block.is_null() || before > ROOM || after > ROOM {
        clean_environment();
        return arguments;
    }
    // SAFETY: the block is fresh, and has room for the lists and the strings on both sides of its middle.
    unsafe {
        let middle = block.add(ROOM);
        let list: *mut *mut c_char = middle.sub(pointers(&words)).cast();
        copy(&words, list, middle.sub(before).cast());
        let variables_at = middle.add(pointers(&variables));
        copy(&variables, middle.cast(), variables_at.add(vector.len()).cast());
        variables_at.copy_from_nonoverlapping(vector.as_ptr(), vector.len());
        if !environ.is_null() {
            environ = middle.cast();
        }
        list
    }
}

/// Copies strings to `free`, and their addresses to `list`.
///
/// # Safety
/// The strings are zero-terminated, and there is zeroed room for them and for the list with its end.
unsafe fn copy(texts: &[*mut c_char], list: *mut *mut c_char, mut free: *mut c_char) {
    for (index, &text) in texts.iter().enumerate() {
        // SAFETY: per the contract of this function.
        unsafe {
            let length = CStr::from_ptr(text).to_bytes_with_nul().len();
            free.copy_from_nonoverlapping(text, length);
            *list.add(index) = free;
            free = free.add(room(text));
        }
    }
}
