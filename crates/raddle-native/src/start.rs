//! The start and the end of the program.
//!
//! ```text
//! ld.so: constructors of libraries -> _start -> __libc_start_main (ours) -> libc's: constructors of the program
//!   -> `before_main` (ours): the fork server; in each child: main -> exit: handlers, destructors -> `at_the_end` (ours)
//! ```
#![expect(unsafe_code, reason = "replaces the C library's start-up")]

use crate::arguments;
use crate::child::interpose::{robust, stdio, stream, subprocess, syscall};
use crate::child::stack::{self, Extent};
use crate::child::{
    control, crash, delay, fiber, loss, resident, results, runtime, scheduling, streams, switching, trap,
};
use crate::platform::{raw, real};
use crate::server::{self, bind};
use raddle_model::native::{self, AGAIN, DELAY};
use std::ffi::{c_char, c_int, c_void};
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
    if let Some(seed) = arguments::number(DELAY) {
        arguments::clean_environment();
        delay::begin(seed);
    }
    if let Some(socket) = arguments::number(native::SOCKET) {
        start_without_randomisation(argv);
        control::set_starting(true);
        bind::note_objects();
        // SAFETY: the function can be called in any new process.
        unsafe {
            libc::pthread_atfork(
                Some(subprocess::lend_locks),
                Some(subprocess::take_back_locks),
                Some(subprocess::begin_foreign),
            )
        };
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
        if now < 0 || now & libc::ADDR_NO_RANDOMIZE != 0 || arguments::number::<u32>(AGAIN).is_some() {
            return;
        }
        if libc::personality((now | libc::ADDR_NO_RANDOMIZE) as u64) >= 0 {
            let environment = arguments::for_second_start();
            // The program may ask by which name it was started.
            let name = libc::getauxval(libc::AT_EXECFN) as *const c_char;
            if !name.is_null() {
                libc::execve(name, argv.cast(), environment.as_ptr());
            }
            libc::execve(c"/proc/self/exe".as_ptr(), argv.cast(), environment.as_ptr());
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

unsafe extern "C" fn before_main(argc: usize, argv: *mut c_void, _: *mut c_void) -> c_int {
    let socket = move_socket(SOCKET.load(Ordering::Relaxed));
    std::panic::set_hook(Box::new(|panic| {
        loss::lose(&format!("internal error: {panic}"));
    }));
    // SAFETY: these are the arguments of the program, which has no other thread yet.
    let argv = unsafe { arguments::settle(argv.cast()) }.cast();
    bind::bind_all();
    stream::take_over();
    trap::prepare(syscall::by_instruction);
    // Children inherit this.
    crash::watch();
    // SAFETY: `note_status` can be called at the end of the program.
    unsafe { on_exit(note_status, std::ptr::null_mut()) };
    server::serve(socket);
    // This is a child that executes a run. If it executes many, each begins here.
    resident::stay();
    // SAFETY: `run_main` takes the arguments of `main`, and the stack
    // of the main thread grows on demand.
    unsafe { fiber::call_further_down(run_main, argc, argv) }
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
        resident::end_run();
    }
}
