//! The start and the end of the program.
//!
//! ```text
//! ld.so: constructors of libraries -> _start -> __libc_start_main (ours) -> libc's: constructors of the program
//!   -> `before_main` (ours): the fork server; in each child: main -> exit: handlers, destructors -> `at_the_end` (ours)
//! ```
#![expect(unsafe_code, reason = "replaces the C library's start-up")]

use crate::child::interpose::{robust, stdio, stream, subprocess, syscall};
use crate::child::stack::{self, Extent};
use crate::child::{
    control, crash, delay, fiber, loss, results, runtime, scheduling, streams, switching, trap,
};
use crate::platform::{memory, raw, real};
use crate::server::{self, bind};
use raddle_model::native::{self, AGAIN, DELAY};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

static MAIN: AtomicUsize = AtomicUsize::new(0);
/// The socket to the command line. A constructor of the program may clear the environment variable that names
/// it.
static SOCKET: AtomicI32 = AtomicI32::new(-1);
static LOADER_END: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// Replaces the C library's function, and inserts the fork server between it and `main`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __libc_start_main(
    main: *const c_void,
    argc: c_int,
    argv: *mut c_void,
    init: *mut c_void,
    fini: *mut c_void,
    rtld_fini: *const c_void,
    stack: *mut c_void,
) -> c_int {
    real::find_all();
    let (mut main, mut rtld_fini) = (main, rtld_fini);
    if let Some(seed) = from_environment(DELAY) {
        clean_environment();
        delay::begin(seed);
    }
    if let Some(socket) = from_environment(native::SOCKET) {
        start_without_randomisation(argv);
        control::set_starting(true);
        bind::note_objects();
        // SAFETY: the function can be called in any new process.
        unsafe { libc::pthread_atfork(None, None, Some(subprocess::begin_foreign)) };
        SOCKET.store(socket, Ordering::Relaxed);
        MAIN.store(main as usize, Ordering::Relaxed);
        LOADER_END.store(rtld_fini as usize, Ordering::Relaxed);
        main = before_main as *const c_void;
        rtld_fini = at_the_end as *const c_void;
    }
    // SAFETY: the arguments are those of the C library's start code, except for two functions that call the
    // ones they replace.
    unsafe { real::__libc_start_main(main, argc, argv, init, fini, rtld_fini, stack) }
}

const _: real::signature::__libc_start_main = __libc_start_main;

/// Restarts the program with the same addresses in every process, unless it has them. If that has no effect,
/// as in a container that forbids it or a kernel that reverts it, it continues unchanged.
fn start_without_randomisation(argv: *mut c_void) {
    const QUERY: u64 = 0xffff_ffff;
    // SAFETY: the arguments and the environment are those that the program was started with. If the second
    // start is refused, the program continues unchanged.
    unsafe {
        let now = libc::personality(QUERY);
        if now < 0 || now & libc::ADDR_NO_RANDOMIZE != 0 || from_environment::<u32>(AGAIN).is_some() {
            return;
        }
        // The OpenMP library of gcc spins before it waits, which is useless here.
        let spins =
            libc::getenv(SPIN.as_ptr()).is_null() && libc::setenv(SPIN.as_ptr(), c"0".as_ptr(), 0) == 0;
        let times = if spins { c"2" } else { c"1" };
        if libc::setenv(c"RADDLE_NATIVE_AGAIN".as_ptr(), times.as_ptr(), 1) != 0 {
            return;
        }
        if libc::personality((now | libc::ADDR_NO_RANDOMIZE) as u64) >= 0 {
            libc::execve(c"/proc/self/exe".as_ptr(), argv.cast(), environ.cast());
        }
    }
}

/// Moves the socket to a number that the program does not use, and replaces it by an empty standard input.
fn move_socket(socket: i32) -> i32 {
    const FIRST: i32 = 900;
    // SAFETY: only this function knows the file numbers that are created and closed here.
    unsafe {
        let moved = libc::fcntl(socket, libc::F_DUPFD_CLOEXEC, FIRST);
        let empty = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY);
        if moved < 0 || empty < 0 {
            return socket;
        }
        libc::close(socket);
        if empty != 0 {
            libc::dup2(empty, 0);
            libc::close(empty);
        }
        moved
    }
}

/// Returns a number in the environment.
fn from_environment<T: std::str::FromStr>(name: &str) -> Option<T> {
    let name = std::ffi::CString::new(name).ok()?;
    // SAFETY: the name is zero-terminated; no other thread changes the environment meanwhile.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: values of the environment are zero-terminated.
    unsafe { CStr::from_ptr(value) }.to_str().ok()?.parse().ok()
}

unsafe extern "C" fn before_main(argc: usize, argv: *mut c_void, _: *mut c_void) -> c_int {
    let socket = move_socket(SOCKET.load(Ordering::Relaxed));
    std::panic::set_hook(Box::new(|panic| {
        loss::lose(&format!("internal error: {panic}"));
    }));
    clean_environment();
    // SAFETY: both are lists created by the C library, and the program has no other thread yet.
    let argv = unsafe {
        environ = settle(environ, ENVIRONMENT_AT, |_| 0);
        settle(argv.cast(), ENVIRONMENT_AT - ROOM, |size| ROOM.saturating_sub(size)).cast()
    };
    bind::bind_all();
    stream::take_over();
    trap::prepare(syscall::by_instruction);
    // Children inherit this.
    crash::watch();
    // SAFETY: `note_status` can be called at the end of the program.
    unsafe { on_exit(note_status, std::ptr::null_mut()) };
    server::serve(socket);
    // This is a child that executes one run. SAFETY: `run_main` takes the arguments of `main`, and the stack
    // of the main thread grows on demand.
    unsafe { fiber::call_further_down(run_main, argc, argv) }
}

/// The address of the program's environment, after its arguments: directly before the memory of this library,
/// so that every fork copies one mapping. They meet in the middle of the range of one page table.
const ENVIRONMENT_AT: usize = memory::REGION - ROOM;
/// The kernel limits both to less than this.
const ROOM: usize = 15 << 20;

/// Copies a list of strings to an address that does not depend on the size of what precedes it. The kernel's
/// copy on the stack is shifted by the length of the environment, and strings of two threads may then share a
/// unit of memory or not. Here each has its own units. `offset` computes from their size how far after
/// `place` they begin.
///
/// # Safety
/// `list` is null, or a null-terminated list of zero-terminated strings.
unsafe fn settle(list: *mut *mut c_char, place: usize, offset: fn(usize) -> usize) -> *mut *mut c_char {
    const UNIT: usize = size_of::<u64>();
    if list.is_null() {
        return list;
    }
    // SAFETY: `list` ends with a null pointer, beyond which nothing is read.
    let texts = || (0..).map(|index| unsafe { *list.add(index) }).take_while(|text| !text.is_null());
    // SAFETY: the strings of the list are zero-terminated.
    let bytes = |text: *mut c_char| unsafe { CStr::from_ptr(text) }.to_bytes_with_nul();
    let pointers = texts().count() + 1;
    let size = texts().map(|text| bytes(text).len().next_multiple_of(UNIT)).sum::<usize>();
    let size = pointers * size_of::<*mut c_char>() + size;
    let block = raw::map(size.max(ROOM), false, place);
    if block.is_null() {
        return list;
    }
    // SAFETY: the block is fresh, zeroed and has room for the pointers and for the strings after them, even
    // if they begin at an offset.
    let copies: *mut *mut c_char = unsafe { block.add(offset(size)) }.cast();
    // SAFETY: the block has room for the pointers and the strings, as above.
    unsafe {
        let mut free: *mut c_char = copies.add(pointers).cast();
        for (index, text) in texts().enumerate() {
            *copies.add(index) = free;
            free.copy_from_nonoverlapping(text, bytes(text).len());
            free = free.add(bytes(text).len().next_multiple_of(UNIT));
        }
    }
    copies
}

/// Executes the run of this process.
unsafe extern "C" fn run_main(argc: usize, argv: *mut c_void) -> c_int {
    let mut unwound = 0;
    let stack = Extent::below(&raw const unwound, stack::USUAL);
    runtime::with(|runtime| runtime.me().stack = stack);
    if !switching::uses_os_threads() {
        trap::begin();
    }
    control::begin();
    control::enter(scheduling::halt_if_due);
    let main = MAIN.load(Ordering::Relaxed) as *const c_void;
    // SAFETY: the C library calls `main` in this way, and `environ` is what it would pass.
    let status = unsafe { fiber::guard(main, argc as *mut c_void, argv, environ.cast(), &raw mut unwound) };
    if unwound != 0 {
        // The main thread has called `pthread_exit`; the others continue.
        control::inside();
        robust::release();
        scheduling::end_thread(std::ptr::null_mut());
        raw::complain("the main thread was resumed after its end");
        raw::exit(127);
    }
    status as usize as c_int
}

unsafe extern "C" {
    fn on_exit(function: unsafe extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

unsafe extern "C" fn note_status(status: c_int, _: *mut c_void) {
    control::enter(|| runtime::with(|runtime| runtime.status = status));
}

/// Runs last in `exit`, before the remaining output is written. In a run it is the point at which the other
/// threads, if any are left, end.
unsafe extern "C" fn at_the_end() {
    let end = LOADER_END.load(Ordering::Relaxed);
    if end != 0 {
        // SAFETY: the loader passed this function to be called once, at the end, without arguments.
        unsafe { std::mem::transmute::<usize, extern "C" fn()>(end)() };
    }
    stdio::flush_waiting(0, true);
    control::enter(scheduling::end_program);
    if control::is_run() {
        // The last thread had ended before; this is the end of `exit`.
        runtime::with(streams::unlock_all);
        // SAFETY: nothing is under control.
        unsafe { real::fflush(std::ptr::null_mut()) };
        runtime::with(results::write);
        raw::exit(0);
    }
}

/// The variable that sets how long gcc's OpenMP library spins.
const SPIN: &CStr = c"GOMP_SPINCOUNT";

/// Removes the library from the environment: programs that this one starts are not under control.
fn clean_environment() {
    if from_environment(AGAIN) == Some(2) {
        // SAFETY: the program has no other thread yet.
        unsafe { libc::unsetenv(SPIN.as_ptr()) };
    }
    for name in [c"LD_PRELOAD", c"RADDLE_NATIVE_SOCKET", c"RADDLE_NATIVE_DELAY", c"RADDLE_NATIVE_AGAIN"] {
        // SAFETY: the program has no other thread yet.
        unsafe { libc::unsetenv(name.as_ptr()) };
    }
    let saved = c"RADDLE_LD_PRELOAD";
    // SAFETY: the program has no other thread yet, as above; `setenv` copies the value.
    unsafe {
        let value = libc::getenv(saved.as_ptr());
        if !value.is_null() {
            libc::setenv(c"LD_PRELOAD".as_ptr(), value, 1);
            libc::unsetenv(saved.as_ptr());
        }
    }
}
