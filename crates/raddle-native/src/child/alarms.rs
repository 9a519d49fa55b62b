//! Timers that send signals (`alarm`, `setitimer`, `timer_create`), on the virtual clock.
//!
//! A running timer is a thread of the run that sleeps and then sends the signal, so that the strategy chooses when it
//! arrives, as with any other sleep. If the signal would end the process, the timer is a limit for a program that hangs: it has no thread, and fires
//! only when the clock has passed its time or the program waits for a signal.

use crate::child::pending;
use crate::child::runtime::{Runtime, with};
use crate::child::scheduling::end_run;
use crate::child::signals::{Alarm, Info, Notice, Signals, bit};
use crate::platform::signals::name;
use libc::c_int;
use raddle_model::{Failure, ThreadId};

/// The timers of `setitimer`, by their numbers in C; the others follow.
const OF_PROCESS: [c_int; 3] = [libc::SIGALRM, libc::SIGVTALRM, libc::SIGPROF];

/// Ends the program by the signal of a timer whose time is over.
#[inline]
pub(crate) fn end_if_over() {
    if with(|runtime| runtime.end_by_limit(false)) {
        end_run();
    }
}

/// The effect of an expiry.
pub(crate) enum Expiry {
    /// None: the signal of the previous one is pending.
    Nothing,
    /// A signal is sent.
    Signal(Option<ThreadId>, Info),
    /// A new thread calls this function with the value.
    Thread(usize, usize),
}

impl Runtime {
    /// Returns a timer that was not deleted; creates those of `setitimer`.
    pub(crate) fn alarm(&mut self, number: usize) -> Option<&mut Alarm> {
        /// The code of signals from the kernel, `SI_KERNEL`.
        const KERNEL: c_int = 0x80;
        if self.alarms.is_empty() {
            let of = |&signal| Alarm::new(Notice::Signal(signal, None), 0, false, KERNEL);
            self.alarms.extend(OF_PROCESS.iter().map(of));
        }
        self.alarms.get_mut(number).filter(|alarm| alarm.exists)
    }

    /// Adds a timer and returns its number.
    pub(crate) fn add_alarm(&mut self, alarm: Alarm) -> usize {
        self.alarm(0);
        self.alarms.push(alarm);
        self.alarms.len() - 1
    }

    /// Restarts or stops a timer: ends its thread, as part of a step of the current one. Returns true if it needs a new
    /// one.
    pub(crate) fn set_alarm(&mut self, number: usize, due: Option<u64>, interval: u64, place: usize) -> bool {
        let Some(alarm) = self.alarm(number) else { return false };
        (alarm.due, alarm.interval, alarm.overrun, alarm.place) = (due, interval, 0, place);
        alarm.era += 1;
        if let Some(thread) = alarm.thread.take() {
            self.interrupt(thread);
        }
        due.is_some() && !self.is_limit(number)
    }

    /// Returns true if the signal of a timer would end the process.
    fn is_limit(&self, number: usize) -> bool {
        let Some(signal) = self.alarms[number].signal() else { return false };
        let accepts = |signals: &Signals| signals.blocked() & bit(signal) == 0;
        let mut live = self.threads.iter().filter(|thread| !thread.ended);
        pending::is_fatal(signal) && live.any(|thread| accepts(&thread.signals))
    }

    /// Returns the timers that have no thread and need one, since the program has changed the action of their signal.
    pub(crate) fn alarms_without_thread(&mut self) -> Vec<usize> {
        let numbers = 0..self.alarms.len();
        let waits = |alarm: &Alarm| alarm.exists && alarm.due.is_some() && alarm.thread.is_none();
        numbers.filter(|&number| waits(&self.alarms[number]) && !self.is_limit(number)).collect()
    }

    /// Ends the run by the signal of a timer without a thread that has expired, or if the program waits for a signal
    /// and nothing else can happen. Returns true if it did.
    pub(crate) fn end_by_limit(&mut self, awaits: bool) -> bool {
        if self.alarms.is_empty() {
            return false;
        }
        let now = self.now();
        let is_over = |number: &usize| {
            let alarm = &self.alarms[*number];
            alarm.thread.is_none()
                && alarm.due.is_some_and(|due| awaits || due <= now)
                && self.is_limit(*number)
        };
        let Some(number) = (0..self.alarms.len()).find(is_over) else { return false };
        let alarm = &self.alarms[number];
        let (place, signal) = (alarm.place, alarm.signal().map(name).unwrap_or_default());
        self.fail(place, |thread, location| Failure::Signal { thread, location, signal, address: None });
        true
    }

    /// Returns the time until the expiry of a timer; `None` if its thread is of an earlier era or it is over.
    pub(crate) fn until_alarm(&mut self, number: usize, era: u32) -> Option<u64> {
        let now = self.now();
        let me = self.current;
        let alarm = self.alarm(number).filter(|alarm| alarm.era == era)?;
        alarm.thread = Some(me);
        alarm.due.map(|due| due.saturating_sub(now))
    }

    /// Ends a period of a timer whose thread is the current one.
    pub(crate) fn expire_alarm(&mut self, number: usize) -> Expiry {
        let now = self.now();
        // A timer that repeats ends with the other threads.
        let others = self.threads.iter().enumerate().filter(|(_, thread)| !thread.ended);
        let is_alarm = |index: usize| self.alarms.iter().any(|a| a.thread == Some(ThreadId(index as u32)));
        let is_alone = others.map(|(index, _)| index).all(is_alarm);
        let alarm = &mut self.alarms[number];
        let interval = alarm.interval;
        alarm.due = (interval > 0 && !is_alone).then(|| now.saturating_add(interval));
        if alarm.due.is_none() {
            alarm.thread = None;
        }
        match alarm.notice {
            Notice::Nothing => Expiry::Nothing,
            Notice::Thread(function) => Expiry::Thread(function, alarm.value),
            Notice::Signal(signal, target) => {
                let mut info = Info::new(signal, alarm.code, alarm.value);
                let of_timer = number >= OF_PROCESS.len();
                let is_pending = of_timer
                    && self
                        .threads
                        .iter()
                        .flat_map(|thread| &thread.signals.pending)
                        .any(|info| info.signal == signal && info.source[0] == number as u32);
                if is_pending {
                    self.alarms[number].overrun += 1;
                    return Expiry::Nothing;
                }
                self.alarms[number].overrun = 0;
                if of_timer {
                    info.source = [number as u32, 0];
                }
                Expiry::Signal(target, info)
            }
        }
    }
}
