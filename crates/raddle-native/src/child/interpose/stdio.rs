//! Locks of stdio. Every call that prints or reads holds the lock of its stream. The runtime switches away
//! from a thread inside such a call only where it reads or writes a file that may wait ([`stream`]); and the
//! program itself may take the lock with `flockfile`, which is a mutex for the run. A call on a stream first
//! waits until no other thread holds it in one of the two ways.
//!
//! The functions that wait are those of glibc's `stdio.h` and `wchar.h`; any other function on a stream that
//! another thread has locked blocks all threads, and the run is abandoned with a message.

use super::entry::entries;
use super::stream;
use crate::child::control::enter;
use crate::child::objects::Class;
use crate::child::runtime::{Runtime, with};
use crate::child::scheduling::step;
use crate::child::streams::{CALLER, CALLER_FRAME, LOCKED, Stream, streams};
use crate::platform::real::{self, Hidden};
use raddle_engine::Reply;
use raddle_model::{Access, Kind, Operation};
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

entries! {
    flockfile => lock;
    ftrylockfile => try_lock;
    funlockfile => unlock;
}

unsafe extern "C" {
    static stdin: *mut c_void;
    static stdout: *mut c_void;
}

fn act(kind: Kind, file: *mut c_void, place: usize) -> Reply {
    step(|runtime| {
        let object = runtime.object(file as u64, Class::RecursiveMutex, || 0);
        Operation::new(kind, runtime.place(place)).on(object, Access::Write)
    })
}

fn note_lock(runtime: &mut Runtime, file: *mut c_void) {
    runtime.locked_files.push((file as usize, runtime.current));
    LOCKED.fetch_add(1, Ordering::Relaxed);
}

unsafe extern "C" fn lock(file: *mut c_void, place: usize) {
    enter(|| {
        act(Kind::Lock, file, place);
        with(|runtime| note_lock(runtime, file));
        stream::wait_for(file, place);
    });
    // SAFETY: the program has called `flockfile` with these arguments.
    unsafe { real::flockfile(file) }
}

unsafe extern "C" fn try_lock(file: *mut c_void, place: usize) -> c_int {
    let busy = enter(|| {
        if act(Kind::TryLock, file, place) == Reply::Busy {
            return true;
        }
        let busy = with(|runtime| stream::foreign(runtime, file)).is_some();
        if busy {
            act(Kind::Unlock, file, place);
        } else {
            with(|runtime| note_lock(runtime, file));
        }
        busy
    });
    match busy {
        Some(true) => 1,
        // SAFETY: the program has called `ftrylockfile` with these arguments.
        _ => unsafe { real::ftrylockfile(file) },
    }
}

unsafe extern "C" fn unlock(file: *mut c_void, place: usize) {
    enter(|| {
        act(Kind::Unlock, file, place);
        with(|runtime| {
            let mine = (file as usize, runtime.current);
            if let Some(index) = runtime.locked_files.iter().rposition(|&entry| entry == mine) {
                runtime.locked_files.remove(index);
                LOCKED.fetch_sub(1, Ordering::Relaxed);
            }
        });
    });
    // SAFETY: the program has called `funlockfile` with these arguments.
    unsafe { real::funlockfile(file) }
}

/// Waits until no other thread has locked `file` (null: any file), and none is inside a function on it.
pub(super) fn wait_for(file: *mut c_void, place: usize) {
    let foreign = |runtime: &mut Runtime| {
        let me = runtime.current;
        let is_foreign =
            |&&(locked, by): &&(usize, _)| (file.is_null() || locked == file as usize) && by != me;
        runtime.locked_files.iter().find(is_foreign).map(|&(locked, _)| locked as *mut c_void)
    };
    loop {
        if let Some(locked) = with(foreign) {
            act(Kind::Lock, locked, place);
            act(Kind::Unlock, locked, place);
        } else if !stream::wait_for(file, place) {
            return;
        }
    }
}

/// Prepares a function on `file` (null: all files), while some file is locked, before the function was
/// resolved, or before it flushes. Waits until no other thread has locked the file, and returns the function.
unsafe extern "C" fn prepare(function: &Function, file: *mut c_void, place: usize) -> usize {
    let file = match function.manner {
        Manner::Unlocked => return function.hidden.find(),
        // SAFETY: glibc initializes its variables before any code runs.
        Manner::Output => unsafe { stdout },
        // SAFETY: glibc initializes its variables before any code runs, as above.
        Manner::Input => unsafe { stdin },
        _ => file,
    };
    enter(|| wait_for(file, place));
    if function.manner == Manner::Flushes {
        if file.is_null() {
            flush_waiting(place, false);
        }
        // The address of the function is not stored, so that the next call comes here, too.
        return FLUSH.find();
    }
    // Closing a file releases its lock, and its memory may become another file.
    let is_mine = |runtime: &mut Runtime| runtime.locked_files.contains(&(file as usize, runtime.current));
    while function.manner == Manner::Closes && enter(|| with(is_mine)) == Some(true) {
        // SAFETY: this thread has locked the file, and the call that closes it has not happened yet.
        unsafe { unlock(file, place) };
    }
    function.hidden.find()
}

/// A function of stdio. The assembly knows the offset of its address.
#[repr(C)]
struct Function {
    hidden: Hidden,
    manner: Manner,
}

/// The effect of a function on a file.
#[derive(PartialEq)]
enum Manner {
    /// Uses its argument.
    Plain,
    /// Uses the standard output.
    Output,
    /// Uses the standard input.
    Input,
    /// Flushes its argument.
    Flushes,
    /// Closes its argument.
    Closes,
    /// Does not take the lock.
    Unlocked,
}

/// Defines functions that wait for the lock of the file in the named register, or of the standard output.
/// They continue with the hidden function, with all arguments unchanged, including floating-point ones.
macro_rules! functions {
    ($($manner:ident $file:literal: $($name:ident)+;)*) => {
        #[expect(non_upper_case_globals, reason = "named after the functions")]
        mod found {
            use super::{Function, Hidden, Manner};
            $($(pub(super) static $name: Function = Function {
                hidden: Hidden::new(concat!(stringify!($name), "\0")),
                manner: Manner::$manner,
            };)+)*
        }

        $($(
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name() {
                std::arch::naked_asm!(
                    "mov r11, [rsp]",
                    "mov qword ptr [rip + {caller}], r11",
                    "mov qword ptr [rip + {caller_frame}], rbp",
                    "mov r11, [rip + {function}]",
                    "test r11, r11",
                    "jz 2f",
                    "cmp dword ptr [rip + {locked}], 0",
                    "jne 2f",
                    "jmp r11",
                    "2:",
                    "mov qword ptr [rip + {frame}], rbp",
                    "push rdi",
                    "push rsi",
                    "push rdx",
                    "push rcx",
                    "push r8",
                    "push r9",
                    "push rax",
                    "sub rsp, 128",
                    "movups [rsp], xmm0",
                    "movups [rsp + 16], xmm1",
                    "movups [rsp + 32], xmm2",
                    "movups [rsp + 48], xmm3",
                    "movups [rsp + 64], xmm4",
                    "movups [rsp + 80], xmm5",
                    "movups [rsp + 96], xmm6",
                    "movups [rsp + 112], xmm7",
                    concat!("mov rsi, ", $file),
                    "lea rdi, [rip + {function}]",
                    "mov rdx, [rsp + 184]",
                    "call {prepare}",
                    "mov r11, rax",
                    "movups xmm0, [rsp]",
                    "movups xmm1, [rsp + 16]",
                    "movups xmm2, [rsp + 32]",
                    "movups xmm3, [rsp + 48]",
                    "movups xmm4, [rsp + 64]",
                    "movups xmm5, [rsp + 80]",
                    "movups xmm6, [rsp + 96]",
                    "movups xmm7, [rsp + 112]",
                    "add rsp, 128",
                    "pop rax",
                    "pop r9",
                    "pop r8",
                    "pop rcx",
                    "pop rdx",
                    "pop rsi",
                    "pop rdi",
                    // Other threads may have run meanwhile.
                    "mov r10, [rsp]",
                    "mov qword ptr [rip + {caller}], r10",
                    "mov qword ptr [rip + {caller_frame}], rbp",
                    "jmp r11",
                    function = sym found::$name,
                    locked = sym LOCKED,
                    caller = sym CALLER,
                    caller_frame = sym CALLER_FRAME,
                    frame = sym crate::child::stack::FRAME,
                    prepare = sym prepare,
                )
            }
        )+)*
    };
}

functions! {
    Output "rdi": printf vprintf __printf_chk __vprintf_chk puts putchar wprintf vwprintf __wprintf_chk
        __vwprintf_chk putwchar;
    Input "rdi": scanf vscanf __isoc99_scanf __isoc99_vscanf __isoc23_scanf __isoc23_vscanf getchar __gets_chk gets
        wscanf vwscanf __isoc99_wscanf __isoc99_vwscanf __isoc23_wscanf __isoc23_vwscanf getwchar;
    Plain "rdi": fprintf vfprintf __fprintf_chk __vfprintf_chk fwprintf vfwprintf __fwprintf_chk __vfwprintf_chk
        fscanf vfscanf __isoc99_fscanf __isoc99_vfscanf __isoc23_fscanf __isoc23_vfscanf fwscanf vfwscanf
        __isoc99_fwscanf __isoc99_vfwscanf __isoc23_fwscanf __isoc23_vfwscanf fgetc getc _IO_getc fgetwc getwc getw
        fseek fseeko fseeko64 ftell ftello ftello64 rewind fgetpos fgetpos64 fsetpos fsetpos64 setbuf setbuffer
        setlinebuf setvbuf fwide feof ferror clearerr;
    Plain "rsi": fputs fputc putc _IO_putc putw ungetc fputws fputwc putwc ungetwc;
    Plain "rdx": fgets fgetws getline freopen freopen64;
    Plain "rcx": fread fwrite getdelim __getdelim __fgets_chk __fgetws_chk;
    Plain "r8": __fread_chk;
    Flushes "rdi": fflush;
    Closes "rdi": fclose pclose;
    Unlocked "rdi": fgetc_unlocked getc_unlocked getchar_unlocked fgets_unlocked __fgets_unlocked_chk fread_unlocked
        __fread_unlocked_chk fputc_unlocked putc_unlocked putchar_unlocked fputs_unlocked fwrite_unlocked
        fflush_unlocked fgetwc_unlocked getwc_unlocked getwchar_unlocked fgetws_unlocked fputwc_unlocked
        putwc_unlocked putwchar_unlocked fputws_unlocked __underflow __uflow __overflow __wunderflow __wuflow
        __woverflow;
}

/// `fflush`, and the flush at `exit`, which ignores locks.
static FLUSH: Hidden = Hidden::new("fflush\0");

static FLUSH_UNLOCKED: Hidden = Hidden::new("fflush_unlocked\0");

/// Writes the buffers of streams to files for which calls may wait. glibc would do that for all streams at
/// once and under one lock. Waits for a stream that another thread is inside of, and for one that the program
/// has locked itself, unless it `exits`.
pub(crate) fn flush_waiting(place: usize, exits: bool) {
    let flush = if exits { &FLUSH_UNLOCKED } else { &FLUSH };
    let mut done: Vec<*mut Stream> = Vec::new();
    // Nothing is unwound through this.
    let Some(before) = enter(|| with(|runtime| std::mem::replace(&mut runtime.me().uncancellable, true)))
    else {
        return;
    };
    loop {
        let due = enter(|| {
            with(|runtime| {
                streams().find(|stream| {
                    // SAFETY: the stream is in glibc's list, so it is valid.
                    let stream_now = unsafe { &**stream };
                    stream_now.write_pointer > stream_now.write_base
                        && stream::is_ours(stream_now)
                        && !done.contains(stream)
                        && runtime.file(stream_now.file).is_some()
                })
            })
        });
        let Some(Some(stream)) = due else { break };
        done.push(stream);
        let is_there = enter(|| {
            if exits {
                stream::wait_for(stream.cast(), place);
            } else {
                wait_for(stream.cast(), place);
            }
            // Another thread may have closed it meanwhile.
            streams().any(|other| other == stream)
        });
        if is_there != Some(true) {
            continue;
        }
        CALLER.store(place, Ordering::Relaxed);
        // SAFETY: the function is glibc's, and the stream is in its list.
        unsafe {
            std::mem::transmute::<usize, unsafe extern "C" fn(*mut Stream) -> c_int>(flush.find())(stream)
        };
    }
    enter(|| with(|runtime| runtime.me().uncancellable = before));
}
