//! The kernel calls of stdio functions: read, write and close.
//!
//! glibc stores them as addresses in a table that all its streams on files share, and calls them through it
//! from any function that the program called: `fgets`, `scanf`, `exit`. The runtime replaces the addresses in
//! the table by its own functions. So a thread that reads from an empty pipe through a stream parks like one
//! in `read`, but inside glibc, which has locked the stream for it. Meanwhile other threads wait before they
//! call a function on the stream ([`super::stdio`]); otherwise they would block on a lock whose holder does
//! not run.
//!
//! Streams on regular files are forwarded. Those without a file, as created by `fmemopen` and `fopencookie`,
//! have other tables.

use super::entry::{PLACE, place};
use super::time::FOREVER;
use super::transfer::{Use, attempt, await_end, change, transfer, transfer_all, wait};
use super::{random, unwind};
use crate::child::control::{self, enter};
use crate::child::objects::Class;
use crate::child::outside::{self, Awaited, What};
use crate::child::runtime::{Runtime, with};
use crate::child::stack::FRAME;
use crate::child::streams::{CALLER, CALLER_FRAME, LIST, LOCKED, Stream, streams};
use crate::platform::raw::{self, errno_result};
use crate::platform::real::Hidden;
use libc::c_int;
use raddle_model::ObjectId;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The error flag of a stream.
const FAILED: c_int = 0x20;

unsafe extern "C" {
    static stdout: *mut Stream;
}

/// The indices of the functions in the table.
const READ: usize = 14;
const WRITE: usize = 15;
const CLOSE: usize = 17;

/// An upper bound on the size of all tables together.
const NEAR: usize = 1 << 14;

static REAL_READ: Hidden = Hidden::new("_IO_file_read\0");
static REAL_WRITE: Hidden = Hidden::new("_IO_file_write\0");
static REAL_CLOSE: Hidden = Hidden::new("_IO_file_close\0");
/// The function that closes streams of `popen`; 0 before there is one.
static REAL_CLOSE_CHILD: AtomicUsize = AtomicUsize::new(0);

type Transfer = unsafe extern "C" fn(*mut Stream, *mut c_void, isize) -> isize;
type Close = unsafe extern "C" fn(*mut Stream) -> c_int;

/// Installs our functions in the tables of all streams on files. A table with unexpected contents is left
/// unchanged, and a call that waits then blocks all threads.
pub(crate) fn take_over() {
    LIST.find();
    // SAFETY: the standard output is a stream on a file, for wide or other characters, and has a table for
    // each of the two.
    let (mine, wide) = unsafe { ((*stdout).table, (*stdout).wide.as_ref().map(|wide| wide.table)) };
    // glibc stores its tables next to each other. An address elsewhere is not a table: another version has
    // something else there.
    let wide = wide.filter(|&wide| (wide as usize).abs_diff(mine as usize) < NEAR);
    for table in [Some(mine), wide].into_iter().flatten() {
        // SAFETY: tables have more than this many entries in all versions of glibc.
        if unsafe { *table.add(CLOSE) } == REAL_CLOSE.find() {
            // SAFETY: the table is one of glibc's, as above.
            unsafe { replace(table, close as *const () as usize) };
        }
    }
}

/// Installs our functions in the table of streams of `popen`, of which this is one.
pub(super) fn take_over_child(stream: *mut c_void) {
    if stream.is_null() || REAL_CLOSE_CHILD.load(Ordering::Relaxed) != 0 || !control::is_running() {
        return;
    }
    // SAFETY: `popen` has created the stream, and its table is as long as the others.
    unsafe {
        let table = (*stream.cast::<Stream>()).table;
        let found = *table.add(CLOSE);
        if replace(table, close_child as *const () as usize) {
            REAL_CLOSE_CHILD.store(found, Ordering::Relaxed);
        }
    }
}

/// Installs our functions in a table if it contains the known ones. Returns true if it did.
///
/// # Safety
/// `table` is one of glibc's.
unsafe fn replace(table: *mut usize, close: usize) -> bool {
    const PAGE: usize = 4096;
    let ours = [(READ, read as *const () as usize), (WRITE, write as *const () as usize), (CLOSE, close)];
    // SAFETY: per the contract of this function, `table` is one of glibc's, which have more entries.
    let known = unsafe { *table.add(READ) == REAL_READ.find() && *table.add(WRITE) == REAL_WRITE.find() };
    if !known {
        return false;
    }
    let begin = table as usize & !(PAGE - 1);
    let end = (table as usize + (CLOSE + 1) * size_of::<usize>()).next_multiple_of(PAGE);
    let protect = |protection: c_int| {
        // SAFETY: the pages belong to the loader, which has made them read-only, and no code relies on that.
        unsafe { raw::syscall(libc::SYS_mprotect, [begin, end - begin, protection as usize, 0, 0, 0]) == 0 }
    };
    if !protect(libc::PROT_READ | libc::PROT_WRITE) {
        return false;
    }
    for (entry, function) in ours {
        // SAFETY: the table has the entry, and its page is writable. Only one thread runs code of the
        // program.
        unsafe { *table.add(entry) = function };
    }
    protect(libc::PROT_READ);
    true
}

/// Defines the functions for the tables. The location of the operation is that of the program's call. A
/// cancelled thread is unwound from here, through glibc, which releases the lock of the stream.
macro_rules! entries_of_tables {
    ($($name:ident: $type:ty => $target:path;)*) => {$(
        const _: $type = $target;

        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "mov rax, [rip + {}]",
                "mov qword ptr [rip + {}], rax",
                "mov rax, [rip + {}]",
                "mov qword ptr [rip + {}], rax",
                "sub rsp, 8",
                "call {}",
                "add rsp, 8",
                "cmp byte ptr [rip + {}], 0",
                "jne 2f",
                "ret",
                "2:",
                "jmp {}",
                sym CALLER,
                sym PLACE,
                sym CALLER_FRAME,
                sym FRAME,
                sym $target,
                sym unwind::DUE,
                sym unwind::leave,
            )
        }
    )*};
}

entries_of_tables! {
    read: Transfer => read_stream;
    write: Transfer => write_stream;
    close: Close => close_stream;
    close_child: Close => close_stream_of_child;
}

/// Calls `action` if calls on the file of `stream` may wait. No other thread uses a stream that this thread
/// has locked.
fn waiting<R>(stream: *mut Stream, action: impl FnOnce(c_int) -> R) -> Option<R> {
    // SAFETY: glibc passes a valid stream.
    let file = unsafe { (*stream).file };
    enter(|| {
        with(|runtime| runtime.file(file))?;
        // SAFETY: the function has no preconditions.
        let me = unsafe { libc::pthread_self() };
        let mut count = 0;
        with(|runtime| {
            let thread = runtime.current;
            let mut hold = |stream: *mut Stream| {
                // SAFETY: streams are valid as long as they are in the list, and so are their locks.
                let lock = unsafe { (*stream).lock };
                // SAFETY: the lock is not null and valid, as above.
                if !lock.is_null() && unsafe { (*lock).owner } == me {
                    runtime.outside.held.push((stream as usize, thread));
                    count += 1;
                }
            };
            hold(stream);
            streams().filter(|&other| other != stream).for_each(hold);
        });
        LOCKED.fetch_add(count, Ordering::Relaxed);
        let result = action(file);
        LOCKED.fetch_sub(count, Ordering::Relaxed);
        with(|runtime| {
            let thread = runtime.current;
            runtime.outside.held.retain(|&(_, by)| by != thread);
            runtime.look_inside();
        });
        Some(result)
    })?
}

/// Returns the stream (null: any stream), if another thread is inside a function on it.
pub(super) fn foreign(runtime: &mut Runtime, stream: *mut c_void) -> Option<usize> {
    let me = runtime.current;
    let is_foreign = |&&(held, by): &&(usize, _)| (stream.is_null() || held == stream as usize) && by != me;
    runtime.outside.held.iter().find(is_foreign).map(|&(held, _)| held)
}

/// Waits until no other thread is inside a function on `stream` (null: any stream). Returns true if there was
/// one.
pub(super) fn wait_for(stream: *mut c_void, place: usize) -> bool {
    let mut waited = false;
    while let Some(held) = with(|runtime| foreign(runtime, stream)) {
        waited = true;
        wait(Awaited::Stream(held), true, place, FOREVER, |runtime| object(runtime, held));
    }
    waited
}

fn object(runtime: &mut Runtime, stream: usize) -> ObjectId {
    // SAFETY: a thread is inside a function on the stream, so it is valid.
    let file = unsafe { (*(stream as *const Stream)).file };
    runtime.object(stream as u64, Class::Descriptor, || (file as u64) << 8 | What::Stream as u64)
}

unsafe extern "C" fn read_stream(stream: *mut Stream, buffer: *mut c_void, length: isize) -> isize {
    let place = place();
    // SAFETY: glibc passes a valid stream.
    let file = unsafe { (*stream).file };
    if control::is_running() && outside::is_random(file) {
        enter(|| random::fill_inside(buffer, length as usize));
        return length;
    }
    let result = waiting(stream, |file| {
        transfer(Use::new(file, libc::POLLIN, place), || {
            let arguments = [file as usize, buffer as usize, length as usize, 0, 0, 0];
            // SAFETY: glibc passes room for this many bytes.
            unsafe { raw::syscall(libc::SYS_read, arguments) }
        })
    });
    match result {
        Some(result) => errno_result(result),
        // SAFETY: glibc's own function is called with the arguments that glibc passed.
        None => unsafe { std::mem::transmute::<usize, Transfer>(REAL_READ.find())(stream, buffer, length) },
    }
}

/// Returns the number of bytes written; if that is not all, sets the error flag of the stream.
unsafe extern "C" fn write_stream(stream: *mut Stream, buffer: *mut c_void, length: isize) -> isize {
    let place = place();
    let result = waiting(stream, |file| {
        let mut written = 0;
        while written < length as usize {
            let rest = length as usize - written;
            let result = transfer_all(Use::new(file, libc::POLLOUT, place), rest, |more| {
                let arguments = [file as usize, buffer as usize + written + more, rest - more, 0, 0, 0];
                // SAFETY: glibc passes this many bytes, and no more are written.
                unsafe { raw::syscall(libc::SYS_write, arguments) }
            });
            if result < 0 {
                errno_result(result);
                // SAFETY: glibc passes a valid stream, which this thread has locked.
                unsafe { (*stream).flags |= FAILED };
                break;
            }
            written += result as usize;
        }
        written as isize
    });
    let over = control::is_run() && control::is_over();
    let Some(written) = result.or_else(|| over.then(|| write_at_once(stream, buffer, length))) else {
        // SAFETY: glibc's own function is called with the arguments that glibc passed.
        return unsafe { std::mem::transmute::<usize, Transfer>(REAL_WRITE.find())(stream, buffer, length) };
    };
    // SAFETY: the stream is valid and locked, as above.
    unsafe {
        if (*stream).offset >= 0 {
            (*stream).offset += written as i64;
        }
    }
    written
}

/// Writes as much as possible without waiting: the run is over, and the reader may never run.
fn write_at_once(stream: *mut Stream, buffer: *mut c_void, length: isize) -> isize {
    // SAFETY: glibc passes a valid, locked stream and this many bytes.
    unsafe {
        let file = (*stream).file;
        let arguments = [file as usize, buffer as usize, length as usize, 0, 0, 0];
        let written = attempt(file, || raw::syscall(libc::SYS_write, arguments)).0;
        (*stream).flags |= if written < length { FAILED } else { 0 };
        errno_result(written).max(0)
    }
}

unsafe extern "C" fn close_stream(stream: *mut Stream) -> c_int {
    let place = place();
    let result = waiting(stream, |file| {
        change(file, place, || {
            with(|runtime| runtime.outside.note_closed(file));
            // SAFETY: glibc closes the file with its stream.
            unsafe { raw::syscall(libc::SYS_close, [file as usize, 0, 0, 0, 0, 0]) }
        })
    });
    match result {
        Some(result) => errno_result(result) as c_int,
        // SAFETY: glibc's own function is called with the argument that glibc passed.
        None => unsafe { std::mem::transmute::<usize, Close>(REAL_CLOSE.find())(stream) },
    }
}

/// Closes the pipe to a process, replaces it, and waits for the end of the process; glibc then does the same
/// and does not have to wait.
unsafe extern "C" fn close_stream_of_child(stream: *mut Stream) -> c_int {
    let place = place();
    // SAFETY: only streams of `popen` have this function in their tables.
    let process = unsafe { (*stream).process };
    waiting(stream, |file| {
        change(file, place, || {
            // SAFETY: the file number is not free meanwhile, and the other one is ours.
            unsafe {
                let none = c"/dev/null".as_ptr() as usize;
                let flags = libc::O_RDWR | libc::O_CLOEXEC;
                let empty = raw::syscall(libc::SYS_open, [none, flags as usize, 0, 0, 0, 0]);
                if empty >= 0 {
                    let arguments = [empty as usize, file as usize, libc::O_CLOEXEC as usize, 0, 0, 0];
                    raw::syscall(libc::SYS_dup3, arguments);
                    raw::syscall(libc::SYS_close, [empty as usize, 0, 0, 0, 0, 0]);
                }
                empty
            }
        });
        await_end(process, place);
    });
    // SAFETY: the previous function of the table is called with the argument that glibc passed.
    unsafe { std::mem::transmute::<usize, Close>(REAL_CLOSE_CHILD.load(Ordering::Relaxed))(stream) }
}

/// Returns true if a stream calls our functions for its kernel calls.
pub(super) fn is_ours(stream: &Stream) -> bool {
    // SAFETY: every stream has a table with more than this many entries.
    unsafe { *stream.table.add(WRITE) == write as *const () as usize }
}
