//! The start of the program and its end.
//!
//! ```text
//! ld.so: constructors of libraries -> _start -> __libc_start_main (ours) -> libc's: constructors of the program
//!   -> `before_main` (ours): the fork server; in each child: main -> exit: handlers, destructors -> `at_the_end` (ours)
//! ```
#![expect(unsafe_code, reason = "the C library's start-up is taken over")]

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
/// The socket to the command line. A constructor of the program may clear the environment, in which it is told.
static SOCKET: AtomicI32 = AtomicI32::new(-1);
static LOADER_END: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// Takes the place of the C library's function, and puts the fork server between it and `main`.
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
    // SAFETY: as our caller called us, but for two functions that call the ones they replace.
    unsafe { real::__libc_start_main(main, argc, argv, init, fini, rtld_fini, stack) }
}

const _: real::signature::__libc_start_main = __libc_start_main;

/// Starts the program again with the same addresses in every process, unless it has them. Where that has no effect, as in
/// a container that forbids it or a kernel that takes it back, it goes on as it is.
fn start_without_randomisation(argv: *mut c_void) {
    const QUERY: u64 = 0xffff_ffff;
    // SAFETY: the arguments and the environment are those that the program was started with. If the second start is
    // refused, the program goes on as it is.
    unsafe {
        let now = libc::personality(QUERY);
        if now < 0 || now & libc::ADDR_NO_RANDOMIZE != 0 || from_environment::<u32>(AGAIN).is_some() {
            return;
        }
        // The OpenMP library of gcc spins before it waits, which helps nobody here.
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

/// Puts the socket where the program does not stumble over it, and an empty standard input in its place.
fn move_socket(socket: i32) -> i32 {
    const FIRST: i32 = 900;
    // SAFETY: numbers of files are made and closed that only this function knows.
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

/// A number in the environment.
fn from_environment<T: std::str::FromStr>(name: &str) -> Option<T> {
    let name = std::ffi::CString::new(name).ok()?;
    // SAFETY: the name ends with a zero; nobody changes the environment meanwhile.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: values of the environment end with a zero.
    unsafe { CStr::from_ptr(value) }.to_str().ok()?.parse().ok()
}

unsafe extern "C" fn before_main(argc: usize, argv: *mut c_void, _: *mut c_void) -> c_int {
    let socket = move_socket(SOCKET.load(Ordering::Relaxed));
    std::panic::set_hook(Box::new(|panic| {
        loss::lose(&format!("a mistake of raddle: {panic}"));
    }));
    clean_environment();
    // SAFETY: both are lists as the C library makes them, and the program has no other thread yet.
    let argv = unsafe {
        environ = settle(environ, ENVIRONMENT_AT, |_| 0);
        settle(argv.cast(), ENVIRONMENT_AT - ROOM, |size| ROOM.saturating_sub(size)).cast()
    };
    bind::bind_all();
    stream::take_over();
    trap::prepare(syscall::by_instruction);
    // What children inherit they need not do.
    crash::watch();
    // SAFETY: `note_status` can be called at the end of the program.
    unsafe { on_exit(note_status, std::ptr::null_mut()) };
    server::serve(socket);
    // This is a child that makes one run.
    // SAFETY: `run_main` takes what `main` takes, and the stack of the main thread grows as far as it is used.
    unsafe { fiber::call_further_down(run_main, argc, argv) }
}

/// Where the environment of the program is, and before it its arguments: before the memory of this library, with which they are one mapping
/// for every fork to copy. They meet in the middle of what one page table is for.
const ENVIRONMENT_AT: usize = memory::REGION - ROOM;
/// No kernel hands over more of either.
const ROOM: usize = 15 << 20;

/// Copies a list of texts to a place that does not depend on how much lies before it. What the kernel has put on the stack is
/// shifted by the length of the environment, and texts of two threads may then share a unit of memory or not. Here each
/// has units of its own. `offset` tells by their size how far after `place` they begin.
///
/// # Safety
/// `list` is a list of texts that end with a zero, and ends with a null, or there is none.
unsafe fn settle(list: *mut *mut c_char, place: usize, offset: fn(usize) -> usize) -> *mut *mut c_char {
    const UNIT: usize = size_of::<u64>();
    if list.is_null() {
        return list;
    }
    // SAFETY: `list` ends with a null, which is not passed.
    let texts = || (0..).map(|index| unsafe { *list.add(index) }).take_while(|text| !text.is_null());
    // SAFETY: the texts of the list end with a zero.
    let bytes = |text: *mut c_char| unsafe { CStr::from_ptr(text) }.to_bytes_with_nul();
    let pointers = texts().count() + 1;
    let size = texts().map(|text| bytes(text).len().next_multiple_of(UNIT)).sum::<usize>();
    let size = pointers * size_of::<*mut c_char>() + size;
    let block = raw::map(size.max(ROOM), false, place);
    if block.is_null() {
        return list;
    }
    // SAFETY: the block is fresh, zeroed and has room for the pointers and for the texts after them, also if they begin further on.
    let copies: *mut *mut c_char = unsafe { block.add(offset(size)) }.cast();
    // SAFETY: as above.
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

/// Makes the run of this process.
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
    // SAFETY: this is how the C library calls `main`, and `environ` is what it would pass.
    let status = unsafe { fiber::guard(main, argc as *mut c_void, argv, environ.cast(), &raw mut unwound) };
    if unwound != 0 {
        // The main thread has called `pthread_exit`; the others go on.
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

/// The last function that `exit` calls before it writes what is left of the output. In a run it is the point at which the
/// other threads, if any are left, end.
unsafe extern "C" fn at_the_end() {
    let end = LOADER_END.load(Ordering::Relaxed);
    if end != 0 {
        // SAFETY: the loader handed this function over to be called once, at the end, without arguments.
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

/// The variable that says how long the OpenMP library of gcc spins.
const SPIN: &CStr = c"GOMP_SPINCOUNT";

/// Takes the library out of the environment: programs that this one starts are not under control.
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
    // SAFETY: as above; the value is copied by `setenv`.
    unsafe {
        let value = libc::getenv(saved.as_ptr());
        if !value.is_null() {
            libc::setenv(c"LD_PRELOAD".as_ptr(), value, 1);
            libc::unsetenv(saved.as_ptr());
        }
    }
}
