//! `exec`: the process would become another program, without this library.
//!
//! Some of these functions have any number of arguments, so an entry keeps all registers and jumps to the C library.

use crate::child::control::enter;
use crate::child::loss;
use crate::platform::raw::is_readable;
use crate::platform::real::Hidden;
use std::ffi::{CStr, c_char};

/// Ends the run, unless the call comes from a process that the program has forked, or fails because of its path.
fn refuse(name: &str, path: Option<*const c_char>) {
    enter(|| {
        if path.is_some_and(|path| !is_readable(path as usize, 1)) {
            return;
        }
        // SAFETY: the function requires a zero-terminated path, and its memory is mapped.
        let path =
            path.map_or_else(|| "a file".into(), |path| unsafe { CStr::from_ptr(path) }.to_string_lossy());
        loss::lose(&format!(
            "it becomes another program ({name} of {path}), which raddle does not control\nhelp: run that program instead, or \
             start it in a new process"
        ))
    });
}

macro_rules! execs {
    ($($name:ident $has_path:literal;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            extern "C" fn note(first: *const c_char) -> usize {
                static HIDDEN: Hidden = Hidden::new(concat!(stringify!($name), "\0"));
                refuse(stringify!($name), $has_path.then_some(first));
                HIDDEN.find()
            }
            std::arch::naked_asm!(
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                // The number of vector registers, for functions with any number of arguments.
                "push rax",
                "call {}",
                "mov r11, rax",
                "pop rax",
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "jmp r11",
                sym note,
            )
        }
    )*};
}

execs! {
    execve true;
    execv true;
    execvp true;
    execvpe true;
    execl true;
    execlp true;
    execle true;
    fexecve false;
}
