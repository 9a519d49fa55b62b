//! Locks of stdio. Every call that prints or reads holds the lock of its file, but no thread is switched away from inside: the
//! system calls of libc are not seen. So nobody ever finds the lock taken, unless the program itself takes it by `flockfile`.
//! That is a mutex to the run, and a call on such a file first waits until its holder gives it back.
//!
//! The functions that wait are those that programs use most; any other one on a file that another thread has locked stops all
//! threads, and the run is given up with a message.

use super::entries;
use crate::control::enter;
use crate::objects::Class;
use crate::real::{self, Hidden};
use crate::runtime::{Runtime, step, with};
use raddle_engine::Reply;
use raddle_model::{Access, Kind, Operation};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

entries! {
    flockfile + "rsi" => lock;
    ftrylockfile + "rsi" => try_lock;
    funlockfile + "rsi" => unlock;
}

/// How many files the program has locked, counted as often as it has done so.
static LOCKED: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" {
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
    });
    // SAFETY: our caller's promise.
    unsafe { real::flockfile(file) }
}

unsafe extern "C" fn try_lock(file: *mut c_void, place: usize) -> c_int {
    let busy = enter(|| {
        let busy = act(Kind::TryLock, file, place) == Reply::Busy;
        if !busy {
            with(|runtime| note_lock(runtime, file));
        }
        busy
    });
    match busy {
        Some(true) => 1,
        // SAFETY: our caller's promise.
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
    // SAFETY: our caller's promise.
    unsafe { real::funlockfile(file) }
}

/// Gives back what threads have locked that will not run any more, so that the output can be written.
pub(crate) fn unlock_all(runtime: &mut Runtime) {
    for (file, _) in runtime.locked_files.drain(..) {
        // SAFETY: a thread of the run has locked the file, and glibc does not ask which.
        unsafe { real::funlockfile(file as *mut c_void) };
    }
}

/// Called before a function on `file`, which is all files for null, while some file is locked or before the function was found.
/// Waits until no other thread has locked the file, and gives the function.
unsafe extern "C" fn prepare(function: &Function, file: *mut c_void, place: usize) -> usize {
    // SAFETY: glibc's variable is set before any code runs.
    let file = if function.manner == Manner::Output { unsafe { stdout } } else { file };
    enter(|| {
        let foreign = |runtime: &mut Runtime| {
            let me = runtime.current;
            let is_foreign =
                |&&(locked, by): &&(usize, _)| (file.is_null() || locked == file as usize) && by != me;
            runtime.locked_files.iter().find(is_foreign).map(|&(locked, _)| locked as *mut c_void)
        };
        while let Some(locked) = with(foreign) {
            act(Kind::Lock, locked, place);
            act(Kind::Unlock, locked, place);
        }
    });
    // A file that is closed takes its lock with it, and its memory may become another file.
    let is_mine = |runtime: &mut Runtime| runtime.locked_files.contains(&(file as usize, runtime.current));
    while function.manner == Manner::Closes && enter(|| with(is_mine)) == Some(true) {
        // SAFETY: this thread has locked the file, and our caller has not closed it yet.
        unsafe { unlock(file, place) };
    }
    function.hidden.find()
}

/// A function of stdio. The assembly knows where its address is.
#[repr(C)]
struct Function {
    hidden: Hidden,
    manner: Manner,
}

/// What a function does with which file.
#[derive(PartialEq)]
enum Manner {
    /// Something with the one it is given.
    Plain,
    /// Something with the standard output.
    Output,
    /// Closes the one it is given.
    Closes,
}

/// Defines functions that wait for the lock of the file in the named register, or of the standard output. They go on with the
/// hidden function, all arguments as they were, also those that are numbers with a point.
macro_rules! functions {
    ($($name:ident($file:literal, $manner:ident);)*) => {
        #[expect(non_upper_case_globals, reason = "they are named as the functions are")]
        mod found {
            use super::{Function, Hidden, Manner};
            $(pub(super) static $name: Function = Function {
                hidden: Hidden::new(concat!(stringify!($name), "\0")),
                manner: Manner::$manner,
            };)*
        }

        $(
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name() {
                std::arch::naked_asm!(
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
                    "jmp r11",
                    function = sym found::$name,
                    locked = sym LOCKED,
                    frame = sym crate::stack::FRAME,
                    prepare = sym prepare,
                )
            }
        )*
    };
}

functions! {
    printf("rdi", Output);
    vprintf("rdi", Output);
    __printf_chk("rdi", Output);
    puts("rdi", Output);
    putchar("rdi", Output);
    fprintf("rdi", Plain);
    vfprintf("rdi", Plain);
    __fprintf_chk("rdi", Plain);
    fputs("rsi", Plain);
    fputc("rsi", Plain);
    putc("rsi", Plain);
    fwrite("rcx", Plain);
    fflush("rdi", Plain);
    fclose("rdi", Closes);
    fgetc("rdi", Plain);
    getc("rdi", Plain);
    fgets("rdx", Plain);
    fread("rcx", Plain);
}
