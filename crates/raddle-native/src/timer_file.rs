//! Timers that are files (`timerfd`), on the virtual clock.
//!
//! The kernel's timer behind the file never runs by itself. When the virtual time has come, it is made to expire at once, and so the file
//! is ready to whoever reads, polls or has it in a set. A thread that waits for such a file, or for a set, waits no longer than
//! until the next timer is due.

#![expect(unsafe_code, reason = "the kernel's timers are set")]

use crate::outside::{Awaited, What, poll_now};
use crate::raw;
use crate::runtime::Runtime;
use libc::{c_int, itimerspec, timespec};

/// A timer of the program.
pub(crate) struct TimerFile {
    /// What copies of the file have in common.
    number: u64,
    file: c_int,
    /// Whether its times are of the real clock, not of the monotonic one.
    is_real: bool,
    /// When it is due, in virtual nanoseconds since the start; nothing if it does not run.
    due: Option<u64>,
    /// After how long it is due again; 0 for never.
    interval: u64,
    /// How often it was due since somebody has read it.
    count: u64,
}

const SECOND: u64 = 1_000_000_000;

fn time(span: u64) -> timespec {
    timespec { tv_sec: (span / SECOND) as i64, tv_nsec: (span % SECOND) as i64 }
}

/// Has the kernel's timer behind a file expire at once, or not at all.
fn expire(file: c_int, expires: bool) {
    let value = itimerspec { it_interval: time(0), it_value: time(u64::from(expires)) };
    let arguments = [file as usize, libc::TFD_TIMER_ABSTIME as usize, &raw const value as usize, 0, 0, 0];
    // SAFETY: there is a time to be read.
    unsafe { raw::syscall(libc::SYS_timerfd_settime, arguments) };
    if expires {
        poll_now(file);
    }
}

impl Runtime {
    /// Takes note of a new timer.
    pub(crate) fn add_timer(&mut self, file: c_int, is_real: bool) {
        self.outside.note_made(What::Timer, &[file]);
        if let Some(number) = self.outside.number_of_timer(file) {
            self.timers.push(TimerFile { number, file, is_real, due: None, interval: 0, count: 0 });
        }
    }

    fn timer(&mut self, file: c_int) -> Option<&mut TimerFile> {
        let number = self.outside.number_of_timer(file)?;
        self.timers.iter_mut().find(|timer| timer.number == number)
    }

    /// Whether the times of the timer of `file` are of the real clock.
    pub(crate) fn timer_is_real(&mut self, file: c_int) -> bool {
        self.timer(file).is_some_and(|timer| timer.is_real)
    }

    /// How long the timer of `file` still runs, and its interval.
    pub(crate) fn timer_state(&mut self, file: c_int) -> Option<(u64, u64)> {
        let now = self.now();
        let timer = self.timer(file)?;
        Some((timer.due.map_or(0, |due| due.saturating_sub(now).max(1)), timer.interval))
    }

    /// Starts the timer of `file` anew.
    pub(crate) fn set_timer(&mut self, file: c_int, due: Option<u64>, interval: u64) {
        if let Some(timer) = self.timer(file) {
            (timer.due, timer.interval, timer.count) = (due, interval, 0);
            expire(timer.file, false);
        }
        self.expire_timers();
    }

    /// Makes files ready whose timers are due.
    #[inline]
    pub(crate) fn expire_timers(&mut self) {
        if !self.timers.is_empty() {
            self.expire_due();
        }
    }

    #[cold]
    fn expire_due(&mut self) {
        let now = self.now();
        for timer in &mut self.timers {
            let Some(due) = timer.due.filter(|&due| due <= now) else { continue };
            let further = (now - due).checked_div(timer.interval).unwrap_or(0);
            timer.count += 1 + further;
            timer.due = (timer.interval > 0).then(|| due + (1 + further) * timer.interval);
            expire(timer.file, true);
        }
    }

    /// How often the timer of `file` was due; whoever asks has read it.
    pub(crate) fn take_expirations(&mut self, file: c_int) -> Option<u64> {
        if self.timers.is_empty() {
            return None;
        }
        self.timer(file).map(|timer| std::mem::take(&mut timer.count))
    }

    /// How long a thread that waits for so long may wait before a timer is due that it may be waiting for.
    pub(crate) fn until_timer(&mut self, awaited: &Awaited, span: u64) -> u64 {
        let Awaited::Files(files) = awaited else { return span };
        if self.timers.is_empty() || !files.iter().any(|file| self.outside.may_have_timer(file.fd)) {
            return span;
        }
        let due = self.timers.iter().filter_map(|timer| timer.due).min();
        due.map_or(span, |due| span.min(due.saturating_sub(self.now())))
    }

    /// Takes note that a file is closed, which may have been the last one of a timer.
    pub(crate) fn forget_timers(&mut self) {
        if !self.timers.is_empty() {
            let outside = &self.outside;
            self.timers.retain_mut(|timer| {
                let left = outside.with_number(timer.number);
                timer.file = left.unwrap_or(timer.file);
                left.is_some()
            });
        }
    }
}
