//! The functions that this library hides; no other module calls them. They are looked up before the program's
//! first constructor runs, because a lookup may allocate.
#![expect(unsafe_code, reason = "finds C functions by name")]

use libc::{fd_set, iovec, itimerspec, pollfd, sigset_t, timespec, timeval};
use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_ulong, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// `pthread_exit`, as a jump target.
static EXIT: Hidden = Hidden::new("pthread_exit\0");

/// Returns the address of `pthread_exit`, for a call that leaves no frame of ours.
pub(crate) fn pthread_exit() -> usize {
    EXIT.find()
}

/// A C function that this library may hide. The assembly knows that the address is the first field: 0 until
/// it was found.
#[repr(C)]
pub(crate) struct Hidden {
    address: AtomicUsize,
    name: &'static CStr,
}

impl Hidden {
    /// Creates the entry of the function with this zero-terminated name.
    pub(crate) const fn new(name: &'static str) -> Hidden {
        let Ok(name) = CStr::from_bytes_with_nul(name.as_bytes()) else {
            panic!("a name is zero-terminated")
        };
        Hidden { address: AtomicUsize::new(0), name }
    }

    /// Returns its address; 0 if there is no such function.
    pub(crate) fn find(&self) -> usize {
        let known = self.address.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        // SAFETY: the name is zero-terminated.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } as usize;
        self.address.store(found, Ordering::Relaxed);
        found
    }
}

/// Defines, for each C function, its type in [`signature`] and a function of ours that calls it. The entry points that hide it are
/// checked against the same type.
macro_rules! hidden {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        #[expect(non_upper_case_globals, reason = "named after the functions")]
        mod found {
            use super::Hidden;
            $(pub(super) static $name: Hidden = Hidden::new(concat!(stringify!($name), "\0"));)*
        }

        /// The types of the functions.
        #[expect(non_camel_case_types, reason = "named after the functions")]
        pub(crate) mod signature {
            use super::*;
            $(pub(crate) type $name = unsafe extern "C" fn($($type),*) $(-> $result)?;)*
        }

        /// Looks all functions up.
        pub(crate) fn find_all() {
            $(found::$name.find();)*
        }

        $(
            /// Calls the C function of that name.
            ///
            /// # Safety
            /// As for that function.
            #[inline]
            pub(crate) unsafe fn $name($($argument: $type),*) $(-> $result)? {
                let address = found::$name.find();
                if address == 0 {
                    crate::platform::raw::complain(concat!("the C library has no function ", stringify!($name)));
                    crate::platform::raw::exit(127);
                }
                // SAFETY: the C library's function of this name is at the address, and has this type by its
                // documentation.
                let function = unsafe { std::mem::transmute::<usize, signature::$name>(address) };
                // SAFETY: per the contract of this function, the arguments fulfil the requirements of the C
                // function.
                unsafe { function($($argument),*) }
            }
        )*

    };
}

hidden! {
    fn __libc_start_main(main: *const c_void, argc: c_int, argv: *mut c_void, init: *mut c_void, fini: *mut c_void, rtld_fini: *const c_void, stack: *mut c_void) -> c_int;
    fn __call_tls_dtors();
    fn fflush(file: *mut c_void) -> c_int;
    fn pthread_create(thread: *mut u64, attributes: *const c_void, start: *const c_void, argument: *mut c_void) -> c_int;
    fn pthread_join(thread: u64, result: *mut *mut c_void) -> c_int;
    fn pthread_tryjoin_np(thread: u64, result: *mut *mut c_void) -> c_int;
    fn pthread_timedjoin_np(thread: u64, result: *mut *mut c_void, time: *const timespec) -> c_int;
    fn pthread_clockjoin_np(thread: u64, result: *mut *mut c_void, clock: c_int, time: *const timespec) -> c_int;
    fn pthread_detach(thread: u64) -> c_int;
    fn pthread_cancel(thread: u64) -> c_int;
    fn pthread_testcancel();
    fn pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int;
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
    fn pthread_key_create(key: *mut u32, destructor: *const c_void) -> c_int;
    fn pthread_key_delete(key: u32) -> c_int;
    fn pthread_getspecific(key: u32) -> *mut c_void;
    fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
    fn pthread_setattr_default_np(attributes: *const c_void) -> c_int;
    fn pthread_getattr_np(thread: u64, attributes: *mut c_void) -> c_int;
    fn pthread_setaffinity_np(thread: u64, size: usize, set: *const c_void) -> c_int;
    fn pthread_getaffinity_np(thread: u64, size: usize, set: *mut c_void) -> c_int;
    fn pthread_setschedparam(thread: u64, policy: c_int, parameters: *const c_void) -> c_int;
    fn pthread_getschedparam(thread: u64, policy: *mut c_int, parameters: *mut c_void) -> c_int;
    fn pthread_setschedprio(thread: u64, priority: c_int) -> c_int;
    fn pthread_getcpuclockid(thread: u64, clock: *mut c_int) -> c_int;
    fn __ctype_init();
    fn tss_set(key: u32, value: *const c_void) -> c_int;
    fn pthread_setname_np(thread: u64, name: *const c_char) -> c_int;
    fn pthread_getname_np(thread: u64, name: *mut c_char, room: usize) -> c_int;
    fn mtx_init(mutex: *mut c_void, kind: c_int) -> c_int;
    fn pthread_mutex_init(mutex: *mut c_void, attributes: *const c_void) -> c_int;
    fn pthread_mutex_destroy(mutex: *mut c_void) -> c_int;
    fn pthread_mutex_lock(mutex: *mut c_void) -> c_int;
    fn pthread_mutex_trylock(mutex: *mut c_void) -> c_int;
    fn pthread_mutex_timedlock(mutex: *mut c_void, time: *const timespec) -> c_int;
    fn pthread_mutex_clocklock(mutex: *mut c_void, clock: c_int, time: *const timespec) -> c_int;
    fn pthread_mutex_consistent(mutex: *mut c_void) -> c_int;
    fn pthread_mutex_unlock(mutex: *mut c_void) -> c_int;
    fn pthread_cond_init(condition: *mut c_void, attributes: *const c_void) -> c_int;
    fn pthread_cond_destroy(condition: *mut c_void) -> c_int;
    fn pthread_cond_wait(condition: *mut c_void, mutex: *mut c_void) -> c_int;
    fn pthread_cond_timedwait(condition: *mut c_void, mutex: *mut c_void, time: *const timespec) -> c_int;
    fn pthread_cond_clockwait(condition: *mut c_void, mutex: *mut c_void, clock: c_int, time: *const timespec) -> c_int;
    fn pthread_cond_signal(condition: *mut c_void) -> c_int;
    fn pthread_cond_broadcast(condition: *mut c_void) -> c_int;
    fn pthread_rwlock_init(lock: *mut c_void, attributes: *const c_void) -> c_int;
    fn pthread_rwlock_destroy(lock: *mut c_void) -> c_int;
    fn pthread_rwlock_rdlock(lock: *mut c_void) -> c_int;
    fn pthread_rwlock_wrlock(lock: *mut c_void) -> c_int;
    fn pthread_rwlock_tryrdlock(lock: *mut c_void) -> c_int;
    fn pthread_rwlock_trywrlock(lock: *mut c_void) -> c_int;
    fn pthread_rwlock_timedrdlock(lock: *mut c_void, time: *const timespec) -> c_int;
    fn pthread_rwlock_timedwrlock(lock: *mut c_void, time: *const timespec) -> c_int;
    fn pthread_rwlock_clockrdlock(lock: *mut c_void, clock: c_int, time: *const timespec) -> c_int;
    fn pthread_rwlock_clockwrlock(lock: *mut c_void, clock: c_int, time: *const timespec) -> c_int;
    fn pthread_rwlock_unlock(lock: *mut c_void) -> c_int;
    fn pthread_barrier_init(barrier: *mut c_void, attributes: *const c_void, count: u32) -> c_int;
    fn pthread_barrier_destroy(barrier: *mut c_void) -> c_int;
    fn pthread_barrier_wait(barrier: *mut c_void) -> c_int;
    fn __cxa_guard_acquire(guard: *mut c_void) -> c_int;
    fn __cxa_guard_release(guard: *mut c_void);
    fn __cxa_guard_abort(guard: *mut c_void);
    fn pthread_once(once: *mut c_void, routine: extern "C-unwind" fn()) -> c_int;
    fn pthread_spin_init(lock: *mut c_void, shared: c_int) -> c_int;
    fn pthread_spin_destroy(lock: *mut c_void) -> c_int;
    fn pthread_spin_lock(lock: *mut c_void) -> c_int;
    fn pthread_spin_trylock(lock: *mut c_void) -> c_int;
    fn pthread_spin_unlock(lock: *mut c_void) -> c_int;
    fn sem_init(semaphore: *mut c_void, shared: c_int, value: u32) -> c_int;
    fn sem_destroy(semaphore: *mut c_void) -> c_int;
    fn sem_wait(semaphore: *mut c_void) -> c_int;
    fn sem_trywait(semaphore: *mut c_void) -> c_int;
    fn sem_timedwait(semaphore: *mut c_void, time: *const timespec) -> c_int;
    fn sem_clockwait(semaphore: *mut c_void, clock: c_int, time: *const timespec) -> c_int;
    fn sem_post(semaphore: *mut c_void) -> c_int;
    fn sched_yield() -> c_int;
    fn sleep(seconds: u32) -> u32;
    fn usleep(microseconds: u32) -> c_int;
    fn nanosleep(span: *const timespec, rest: *mut c_void) -> c_int;
    fn clock_nanosleep(clock: c_int, flags: c_int, span: *const timespec, rest: *mut c_void) -> c_int;
    fn clock_gettime(clock: c_int, time: *mut timespec) -> c_int;
    fn clock() -> c_long;
    fn gettimeofday(time: *mut timeval, zone: *mut c_void) -> c_int;
    fn time(time: *mut c_long) -> c_long;
    fn fork() -> c_int;
    fn daemon(stays: c_int, keeps_files: c_int) -> c_int;
    fn getrandom(buffer: *mut c_void, length: usize, flags: c_uint) -> isize;
    fn getentropy(buffer: *mut c_void, length: usize) -> c_int;
    fn getauxval(kind: c_ulong) -> c_ulong;
    fn flockfile(file: *mut c_void);
    fn ftrylockfile(file: *mut c_void) -> c_int;
    fn funlockfile(file: *mut c_void);
    fn system(command: *const c_char) -> c_int;
    fn popen(command: *const c_char, kind: *const c_char) -> *mut c_void;
    fn posix_spawn(process: *mut c_int, path: *const c_char, actions: *const c_void, attributes: *const c_void, arguments: *const c_void, environment: *const c_void) -> c_int;
    fn posix_spawnp(process: *mut c_int, file: *const c_char, actions: *const c_void, attributes: *const c_void, arguments: *const c_void, environment: *const c_void) -> c_int;
    fn wait4(process: c_int, status: *mut c_int, options: c_int, usage: *mut c_void) -> c_int;
    fn waitid(kind: c_int, id: u32, info: *mut libc::siginfo_t, options: c_int) -> c_int;
    fn read(file: c_int, buffer: *mut c_void, length: usize) -> isize;
    fn readv(file: c_int, parts: *const iovec, count: c_int) -> isize;
    fn write(file: c_int, buffer: *const c_void, length: usize) -> isize;
    fn writev(file: c_int, parts: *const iovec, count: c_int) -> isize;
    fn close(file: c_int) -> c_int;
    fn pipe2(ends: *mut c_int, flags: c_int) -> c_int;
    fn socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int;
    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    fn bind(file: c_int, address: *const c_void, size: u32) -> c_int;
    fn listen(file: c_int, backlog: c_int) -> c_int;
    fn getsockname(file: c_int, address: *mut c_void, size: *mut c_void) -> c_int;
    fn getpeername(file: c_int, address: *mut c_void, size: *mut c_void) -> c_int;
    fn setsockopt(file: c_int, level: c_int, name: c_int, value: *const c_void, size: u32) -> c_int;
    fn getsockopt(file: c_int, level: c_int, name: c_int, value: *mut c_void, size: *mut c_void) -> c_int;
    fn eventfd(value: u32, flags: c_int) -> c_int;
    fn epoll_create(size: c_int) -> c_int;
    fn epoll_create1(flags: c_int) -> c_int;
    fn dup(file: c_int) -> c_int;
    fn dup2(file: c_int, copy: c_int) -> c_int;
    fn dup3(file: c_int, copy: c_int, flags: c_int) -> c_int;
    fn fcntl(file: c_int, command: c_int, argument: usize) -> c_int;
    fn fcntl64(file: c_int, command: c_int, argument: usize) -> c_int;
    fn flock(file: c_int, operation: c_int) -> c_int;
    fn lockf(file: c_int, command: c_int, length: i64) -> c_int;
    fn msgrcv(queue: c_int, message: *mut c_void, room: usize, kind: c_long, flags: c_int) -> isize;
    fn msgsnd(queue: c_int, message: *const c_void, length: usize, flags: c_int) -> c_int;
    fn semtimedop(set: c_int, operations: *mut libc::sembuf, count: usize, time: *const timespec) -> c_int;
    fn mq_timedreceive(queue: c_int, message: *mut c_void, room: usize, priority: *mut c_void, time: *const timespec) -> isize;
    fn mq_timedsend(queue: c_int, message: *const c_void, length: usize, priority: u32, time: *const timespec) -> c_int;
    fn recvfrom(file: c_int, buffer: *mut c_void, length: usize, flags: c_int, address: *mut c_void, size: *mut c_void) -> isize;
    fn recvmsg(file: c_int, message: *mut c_void, flags: c_int) -> isize;
    fn sendto(file: c_int, buffer: *const c_void, length: usize, flags: c_int, address: *const c_void, size: u32) -> isize;
    fn sendmsg(file: c_int, message: *const c_void, flags: c_int) -> isize;
    fn accept4(file: c_int, address: *mut c_void, size: *mut c_void, flags: c_int) -> c_int;
    fn connect(file: c_int, address: *const c_void, size: u32) -> c_int;
    fn shutdown(file: c_int, how: c_int) -> c_int;
    fn poll(files: *mut pollfd, count: u64, limit: c_int) -> c_int;
    fn ppoll(files: *mut pollfd, count: u64, time: *const timespec, mask: *const c_void) -> c_int;
    fn select(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, time: *mut timeval) -> c_int;
    fn pselect(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, time: *const timespec, mask: *const c_void) -> c_int;
    fn epoll_wait(set: c_int, events: *mut c_void, most: c_int, limit: c_int) -> c_int;
    fn epoll_pwait(set: c_int, events: *mut c_void, most: c_int, limit: c_int, mask: *const c_void) -> c_int;
    fn epoll_ctl(set: c_int, operation: c_int, file: c_int, event: *mut c_void) -> c_int;
    fn sigwait(set: *const u64, signal: *mut c_int) -> c_int;
    fn sigwaitinfo(set: *const u64, info: *mut c_void) -> c_int;
    fn sigtimedwait(set: *const u64, info: *mut c_void, time: *const timespec) -> c_int;
    fn sigsuspend(mask: *const u64) -> c_int;
    fn pause() -> c_int;
    fn kill(process: c_int, signal: c_int) -> c_int;
    fn raise(signal: c_int) -> c_int;
    fn setuid(id: u32) -> c_int;
    fn setgid(id: u32) -> c_int;
    fn seteuid(id: u32) -> c_int;
    fn setegid(id: u32) -> c_int;
    fn setreuid(id: u32, effective: u32) -> c_int;
    fn setregid(id: u32, effective: u32) -> c_int;
    fn setresuid(id: u32, effective: u32, saved: u32) -> c_int;
    fn setresgid(id: u32, effective: u32, saved: u32) -> c_int;
    fn setgroups(count: usize, groups: *const u32) -> c_int;
    fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut c_void) -> c_int;
    fn signal(signal: c_int, handler: usize) -> usize;
    fn sigprocmask(how: c_int, new: *const sigset_t, old: *mut c_void) -> c_int;
    fn pthread_sigmask(how: c_int, new: *const sigset_t, old: *mut c_void) -> c_int;
    fn sigpending(set: *mut u64) -> c_int;
    fn signalfd(file: c_int, set: *const c_void, flags: c_int) -> c_int;
    fn sigqueue(process: c_int, signal: c_int, value: usize) -> c_int;
    fn pthread_sigqueue(thread: u64, signal: c_int, value: usize) -> c_int;
    fn tgkill(process: c_int, thread: c_int, signal: c_int) -> c_int;
    fn pthread_kill(thread: u64, signal: c_int) -> c_int;
    fn alarm(seconds: u32) -> u32;
    fn ualarm(span: u32, interval: u32) -> u32;
    fn setitimer(which: c_int, new: *const libc::itimerval, old: *mut libc::itimerval) -> c_int;
    fn getitimer(which: c_int, value: *mut libc::itimerval) -> c_int;
    fn timerfd_create(clock: c_int, flags: c_int) -> c_int;
    fn timerfd_settime(file: c_int, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> c_int;
    fn timerfd_gettime(file: c_int, value: *mut itimerspec) -> c_int;
    fn timer_create(clock: c_int, event: *const libc::sigevent, timer: *mut *mut c_void) -> c_int;
    fn timer_settime(timer: *mut c_void, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> c_int;
    fn timer_gettime(timer: *mut c_void, value: *mut itimerspec) -> c_int;
    fn timer_getoverrun(timer: *mut c_void) -> c_int;
    fn timer_delete(timer: *mut c_void) -> c_int;
    fn mq_notify(queue: c_int, event: *const libc::sigevent) -> c_int;
    fn _exit(status: c_int);
    fn quick_exit(status: c_int);
    fn abort();
    fn __assert_fail(text: *const c_char, file: *const c_char, line: u32, function: *const c_char);
    fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int;
    fn syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long;
}
