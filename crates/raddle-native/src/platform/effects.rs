//! The effects of system calls on the kernel's state of this process, so that a run can be undone.
//!
//! Every system call has no effect that a later run could notice, or its effect is recorded here and undone after the
//! run ([`Effects`]), or it leaves a *trace*: then the process ends after the run. A call that is not listed leaves a
//! trace.
#![expect(unsafe_code, reason = "one OS thread shares a static with itself")]

use libc::c_int;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// The recorded effects of a run.
#[derive(Default)]
pub(crate) struct Effects {
    /// Mappings that it created: address and length. Some may have been removed.
    pub(crate) mappings: Vec<(usize, usize)>,
    /// Open files that it created.
    pub(crate) files: Vec<File>,
    /// The signals whose actions it changed, with the previous action.
    pub(crate) actions: Vec<(c_int, Action)>,
    /// True if it changed the flags of the files for output.
    pub(crate) has_flags: bool,
    /// True if it moved the end of the heap, or asked for it.
    pub(crate) has_break: bool,
    /// True if it printed, or moved in its output.
    pub(crate) has_output: bool,
}

/// An open file of the run.
#[derive(Clone, Copy)]
pub(crate) struct File {
    pub(crate) number: usize,
    /// True if reading it does not wait.
    is_regular: bool,
}

/// The action of a signal, as the kernel takes it: handler, flags, restorer and mask.
pub(crate) type Action = [u64; 4];

struct Slot(UnsafeCell<Option<Effects>>);

// SAFETY: only the carrier uses it; other OS threads of a process that records effects do not make system calls through
// this library.
unsafe impl Sync for Slot {}

static EFFECTS: Slot = Slot(UnsafeCell::new(None));

/// True while effects are recorded.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// True if the run has left a trace.
static HAS_TRACE: AtomicBool = AtomicBool::new(false);

/// Starts to record, without effects so far.
pub(crate) fn begin() {
    // SAFETY: only the carrier comes here, and no reference exists.
    unsafe { *EFFECTS.0.get() = Some(Effects::default()) };
    HAS_TRACE.store(false, Ordering::Relaxed);
    IS_ON.store(true, Ordering::Relaxed);
}

/// Stops recording. Returns the effects, or `None` if there is a trace or nothing was recorded.
pub(crate) fn end() -> Option<Effects> {
    IS_ON.store(false, Ordering::Relaxed);
    // SAFETY: as above.
    let effects = unsafe { (*EFFECTS.0.get()).take() };
    effects.filter(|_| !HAS_TRACE.load(Ordering::Relaxed))
}

/// Returns true while effects are recorded.
#[inline]
pub(crate) fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// Records that the run leaves a trace.
#[cold]
pub(crate) fn leave_trace() {
    HAS_TRACE.store(true, Ordering::Relaxed);
}

/// Calls `action` with the effects, if they are recorded.
fn with<R>(action: impl FnOnce(&mut Effects) -> R) -> Option<R> {
    if !is_on() {
        return None;
    }
    // SAFETY: only the carrier comes here, and `action` does not come here again.
    unsafe { (*EFFECTS.0.get()).as_mut() }.map(action)
}

/// The effect of a system call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    None,
    /// None if the file belongs to the run, or is one of the first three; may wait unless it is regular.
    OnFile,
    /// Writes output, or moves in it; the server truncates the file before the next run.
    Output,
    /// Changes the flags of an output file.
    OutputFlags,
    Opens,
    Creates,
    /// Creates two files, whose numbers are written to this argument.
    CreatesTwo(usize),
    /// Duplicates a file.
    Copies,
    Closes,
    Maps,
    /// Changes memory that the run has mapped.
    OnMapping,
    /// Moves memory that the run has mapped.
    Moves,
    Break,
    Mask,
    SetsAction,
    Trace,
}

/// Returns the effect of a call, apart from files and mappings, which [`is_contained`] checks.
pub(crate) fn effect(number: i64, arguments: &[usize; 6]) -> Effect {
    let [first, second, third, fourth, ..] = *arguments;
    match number {
        libc::SYS_futex
        | libc::SYS_getpid
        | libc::SYS_gettid
        | libc::SYS_getppid
        | libc::SYS_getuid
        | libc::SYS_geteuid
        | libc::SYS_getgid
        | libc::SYS_getegid
        | libc::SYS_getpgrp
        | libc::SYS_getpgid
        | libc::SYS_getsid
        | libc::SYS_sched_yield
        | libc::SYS_sched_getaffinity
        | libc::SYS_sched_getscheduler
        | libc::SYS_sched_getparam
        | libc::SYS_getpriority
        | libc::SYS_getcpu
        | libc::SYS_clock_gettime
        | libc::SYS_clock_getres
        | libc::SYS_gettimeofday
        | libc::SYS_time
        | libc::SYS_times
        | libc::SYS_getrusage
        | libc::SYS_getrandom
        | libc::SYS_uname
        | libc::SYS_sysinfo
        | libc::SYS_rt_sigpending
        | libc::SYS_process_vm_readv
        | libc::SYS_stat
        | libc::SYS_lstat
        | libc::SYS_fstat
        | libc::SYS_newfstatat
        | libc::SYS_statx
        | libc::SYS_statfs
        | libc::SYS_fstatfs
        | libc::SYS_access
        | libc::SYS_faccessat
        | libc::SYS_faccessat2
        | libc::SYS_readlink
        | libc::SYS_readlinkat
        | libc::SYS_getcwd
        | libc::SYS_getrlimit
        | libc::SYS_get_robust_list
        | libc::SYS_poll
        | libc::SYS_ppoll
        | libc::SYS_select
        | libc::SYS_pselect6
        | libc::SYS_nanosleep
        | libc::SYS_clock_nanosleep => Effect::None,
        libc::SYS_prlimit64 if third == 0 => Effect::None,
        libc::SYS_tgkill if third == 0 => Effect::None,
        libc::SYS_prctl
            if matches!(first as c_int, libc::PR_GET_NAME | libc::PR_GET_DUMPABLE | PR_GET_TID_ADDRESS) =>
        {
            Effect::None
        }
        libc::SYS_write | libc::SYS_writev | libc::SYS_lseek if first == 1 || first == 2 => Effect::Output,
        libc::SYS_read
        | libc::SYS_readv
        | libc::SYS_pread64
        | libc::SYS_write
        | libc::SYS_writev
        | libc::SYS_lseek
        | libc::SYS_getdents64
        | libc::SYS_epoll_ctl
        | libc::SYS_epoll_wait
        | libc::SYS_epoll_pwait
        | libc::SYS_timerfd_settime
        | libc::SYS_timerfd_gettime
        | libc::SYS_shutdown
        | libc::SYS_sendto
        | libc::SYS_recvfrom
        | libc::SYS_getsockopt => Effect::OnFile,
        libc::SYS_fcntl if matches!(second as c_int, libc::F_GETFL | libc::F_GETFD) => Effect::None,
        libc::SYS_fcntl if matches!(second as c_int, libc::F_SETFD) => Effect::OnFile,
        libc::SYS_fcntl if second as c_int == libc::F_SETFL && (first == 1 || first == 2) => {
            Effect::OutputFlags
        }
        libc::SYS_fcntl if second as c_int == libc::F_SETFL && first > 2 => Effect::OnFile,
        libc::SYS_fcntl if matches!(second as c_int, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) => Effect::Copies,
        libc::SYS_ioctl if second as libc::c_ulong == libc::TCGETS => Effect::None,
        libc::SYS_ioctl if matches!(second as libc::c_ulong, libc::FIONBIO | libc::FIONREAD) => {
            Effect::OnFile
        }
        libc::SYS_open if only_reads(second) => Effect::Opens,
        libc::SYS_openat if only_reads(third) => Effect::Opens,
        libc::SYS_eventfd2 | libc::SYS_epoll_create1 | libc::SYS_timerfd_create => Effect::Creates,
        libc::SYS_pipe | libc::SYS_pipe2 => Effect::CreatesTwo(first),
        libc::SYS_socketpair => Effect::CreatesTwo(fourth),
        libc::SYS_close => Effect::Closes,
        libc::SYS_mmap => Effect::Maps,
        libc::SYS_munmap | libc::SYS_mprotect => Effect::OnMapping,
        libc::SYS_madvise if third as c_int != libc::MADV_FREE => Effect::OnMapping,
        libc::SYS_mremap => Effect::Moves,
        libc::SYS_brk => Effect::Break,
        libc::SYS_rt_sigprocmask => Effect::Mask,
        libc::SYS_rt_sigaction if second == 0 => Effect::None,
        libc::SYS_rt_sigaction if first != libc::SIGSYS as usize => Effect::SetsAction,
        _ => Effect::Trace,
    }
}

/// Asks the kernel for the word that it clears at the end of the calling thread.
const PR_GET_TID_ADDRESS: c_int = 40;

fn only_reads(flags: usize) -> bool {
    let changes = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | libc::O_APPEND | libc::O_PATH;
    flags as c_int & changes == libc::O_RDONLY
}

/// Returns true if a call with this effect touches only files and mappings of the run. `may_wait` is false if it must
/// not wait either.
pub(crate) fn is_contained(effect: Effect, arguments: &[usize; 6], may_wait: bool) -> bool {
    let [first, second, _, fourth, ..] = *arguments;
    let file = |effects: &Effects| effects.files.iter().find(|file| file.number == first).copied();
    let contained = with(|effects| match effect {
        Effect::None | Effect::Output | Effect::OutputFlags | Effect::Mask | Effect::SetsAction => true,
        Effect::Opens | Effect::Creates | Effect::CreatesTwo(_) | Effect::Break => true,
        Effect::OnFile => file(effects).map_or(first <= 2, |file| may_wait || file.is_regular),
        Effect::Closes | Effect::Copies => file(effects).is_some(),
        Effect::Maps => fourth as c_int & libc::MAP_FIXED == 0 || effects.has_mapped(first, second),
        Effect::OnMapping | Effect::Moves => effects.has_mapped(first, second),
        Effect::Trace => false,
    });
    contained == Some(true)
}

impl Effects {
    /// Returns true if the run has mapped all of this memory.
    fn has_mapped(&self, begin: usize, length: usize) -> bool {
        let end = begin.saturating_add(length);
        let mut reached = begin;
        // Adjacent mappings may be changed in one call.
        while reached < end {
            let holds = |&&(from, length): &&(usize, usize)| (from..from + length).contains(&reached);
            let Some(&(from, length)) = self.mappings.iter().find(holds) else { return false };
            reached = from + length;
        }
        true
    }
}

/// Records a call that was made, with its result. `is_regular` tells whether a file that it opened is a regular file.
#[cold]
pub(crate) fn note(number: i64, arguments: &[usize; 6], result: isize, is_regular: impl Fn(usize) -> bool) {
    const PAGE: usize = 4096;
    let effect = effect(number, arguments);
    if !is_contained(effect, arguments, true) {
        return leave_trace();
    }
    if result < 0 {
        return;
    }
    let [first, second, third, fourth, ..] = *arguments;
    let result = result as usize;
    with(|effects| match effect {
        Effect::Output => effects.has_output = true,
        Effect::OutputFlags => effects.has_flags = true,
        Effect::Break => effects.has_break = true,
        Effect::Opens if is_regular(result) => effects.files.push(File { number: result, is_regular: true }),
        // Reading a pipe or a terminal takes data away.
        Effect::Opens => leave_trace(),
        Effect::Creates | Effect::Copies => effects.files.push(File { number: result, is_regular: false }),
        Effect::CreatesTwo(_) => {
            let at = if number == libc::SYS_socketpair { fourth } else { first };
            // SAFETY: the kernel has written two numbers there.
            let pair = unsafe { (at as *const [u32; 2]).read_unaligned() };
            effects.files.extend(pair.map(|number| File { number: number as usize, is_regular: false }));
        }
        Effect::Closes => effects.files.retain(|file| file.number != first),
        Effect::Maps => effects.mappings.push((result, second.next_multiple_of(PAGE))),
        Effect::Moves => effects.mappings.push((result, third.next_multiple_of(PAGE))),
        // The actions are recorded before the call, by `note_action`.
        _ => {}
    });
}

/// Records a file that the library has created for the run.
pub(crate) fn note_created(file: usize) {
    with(|effects| effects.files.push(File { number: file, is_regular: false }));
}

/// Records that the library has closed such a file.
pub(crate) fn note_closed(file: usize) {
    with(|effects| effects.files.retain(|known| known.number != file));
}

/// Records the action that a signal had before it is changed.
pub(crate) fn note_action(signal: c_int, before: Action) {
    with(|effects| {
        if effects.actions.iter().all(|&(changed, _)| changed != signal) {
            effects.actions.push((signal, before));
        }
    });
}
