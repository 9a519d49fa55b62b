//! The signals and timers of a run. Plain data: [`pending`](super::pending) and [`alarms`](super::alarms) act on it.
#![expect(unsafe_code, reason = "asks the system for the numbers of the process")]

use crate::platform::raw;
use libc::c_int;
use raddle_model::ThreadId;

/// The kernel's description of a signal (`siginfo_t`).
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Info {
    pub(crate) signal: c_int,
    error: c_int,
    code: c_int,
    unused: c_int,
    /// The sender's process and user, or the number and the overrun count of a timer.
    pub(crate) source: [u32; 2],
    pub(crate) value: usize,
    rest: [u64; 12],
}

const _: () = assert!(size_of::<Info>() == size_of::<libc::siginfo_t>(), "the kernel defines the size");

impl Info {
    /// Creates the description of a signal that the program sends to itself.
    pub(crate) fn new(signal: c_int, code: c_int, value: usize) -> Info {
        // SAFETY: the system calls touch no memory.
        let [process, user] =
            [libc::SYS_getpid, libc::SYS_getuid].map(|call| unsafe { raw::syscall(call, [0; 6]) } as u32);
        Info { signal, error: 0, code, unused: 0, source: [process, user], value, rest: [0; 12] }
    }
}

/// Returns the bit of a signal in a set.
pub(crate) fn bit(signal: c_int) -> u64 {
    if (1..=64).contains(&signal) { 1 << (signal - 1) } else { 0 }
}

/// The signals of one thread.
#[derive(Default)]
pub(crate) struct Signals {
    /// The signals that it blocks.
    pub(crate) mask: u64,
    /// The mask during a call that replaces it, such as `sigsuspend`.
    pub(crate) replaced: Option<u64>,
    /// The signals for this thread that it has not handled, in the order of arrival.
    pub(crate) pending: Vec<Info>,
    /// The number of handlers that it is inside of.
    pub(super) running: u32,
    /// The number of handlers that it has run, and of those with `SA_RESTART`.
    pub(super) handled: u32,
    pub(super) restarting: u32,
    /// Its stack for handlers, if it has one.
    pub(crate) stack: Option<libc::stack_t>,
}

impl Signals {
    /// Creates those of a thread with this mask.
    pub(crate) fn new(mask: u64) -> Signals {
        Signals { mask, ..Signals::default() }
    }

    /// Returns the signals that it blocks now.
    pub(crate) fn blocked(&self) -> u64 {
        self.replaced.unwrap_or(self.mask)
    }

    /// Returns the index of the next pending signal of a set: the one with the smallest number.
    pub(super) fn next(&self, set: u64) -> Option<usize> {
        let wanted = self.pending.iter().enumerate().filter(|(_, info)| bit(info.signal) & set != 0);
        wanted.min_by_key(|(_, info)| info.signal).map(|(index, _)| index)
    }

    /// Removes a pending signal of a set.
    pub(crate) fn take(&mut self, set: u64) -> Option<Info> {
        self.next(set).map(|index| self.pending.remove(index))
    }

    /// Adds a pending signal, unless it is not queued and pending already.
    pub(crate) fn add(&mut self, info: Info) {
        let is_queued = info.signal >= libc::SIGRTMIN();
        if is_queued || self.pending.iter().all(|pending| pending.signal != info.signal) {
            self.pending.push(info);
        }
    }
}

/// The effect of an expired timer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notice {
    /// None.
    Nothing,
    /// This signal to any thread, or to one.
    Signal(c_int, Option<ThreadId>),
    /// A new thread calls this function.
    Thread(usize),
}

/// A timer of the program.
pub(crate) struct Alarm {
    pub(crate) notice: Notice,
    pub(crate) value: usize,
    /// True if its times refer to the real-time clock, not to the monotonic one.
    pub(crate) is_real: bool,
    /// The expiry time in virtual nanoseconds since the start; `None` if it does not run.
    pub(crate) due: Option<u64>,
    /// The interval; 0 for none.
    pub(crate) interval: u64,
    /// The number of expirations since the latest signal, which was pending, so that they sent none.
    pub(crate) overrun: u32,
    /// The number of times that it was set. A thread of an earlier time ends.
    pub(crate) era: u32,
    /// Its thread.
    pub(crate) thread: Option<ThreadId>,
    /// Where it was set.
    pub(crate) place: usize,
    /// False once it was deleted.
    pub(crate) exists: bool,
    /// The code of its signals, in `si_code`.
    pub(crate) code: c_int,
}

impl Alarm {
    /// Creates a timer that does not run.
    pub(crate) fn new(notice: Notice, value: usize, is_real: bool, code: c_int) -> Alarm {
        let (thread, place, exists) = (None, 0, true);
        Alarm {
            notice,
            value,
            is_real,
            due: None,
            interval: 0,
            overrun: 0,
            era: 0,
            thread,
            place,
            exists,
            code,
        }
    }

    /// Returns the remaining time and the interval.
    pub(crate) fn state(&self, now: u64) -> (u64, u64) {
        (self.due.map_or(0, |due| due.saturating_sub(now).max(1)), self.interval)
    }

    /// Returns the signal that it sends.
    pub(super) fn signal(&self) -> Option<c_int> {
        if let Notice::Signal(signal, _) = self.notice { Some(signal) } else { None }
    }
}
