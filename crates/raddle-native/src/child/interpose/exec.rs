//! `exec`: the process would become another program, without this library.
//!
//! Some of these functions have any number of arguments, so an entry keeps all registers and jumps to the C library.

use crate::child::control::enter;
use crate::child::loss;
use crate::platform::real::Hidden;
use std::ffi::{CStr, c_char};

/// Ends the run, unless the call comes from a process that the program has forked.
fn refuse(name: &str, path: Option<&CStr>) {
    enter(|| {
        let path = path.map_or_else(|| "a file".into(), CStr::to_string_lossy);
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
                // SAFETY: the function requires a zero-terminated path.
                let path = $has_path.then(|| unsafe { CStr::from_ptr(first) });
                refuse(stringify!($name), path);
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
