//! Threads that wait for the operating system, and timer files: when they continue.

use crate::child::objects::Class;
use crate::child::outside::{Awaited, FIRST, Wake, What, poll};
use crate::child::runtime::Runtime;
use crate::child::shared_memory;
use crate::child::timer_file::{TimerFile, expire};
use crate::platform::raw::real_now;
use libc::c_int;
use raddle_engine::Next;
use raddle_model::{Access, Kind, ObjectId, Operation, ThreadId};

impl Runtime {
    /// Returns the object of a file, if calls on it may wait.
    pub(crate) fn file(&mut self, descriptor: c_int) -> Option<ObjectId> {
        let known = self.outside.find(descriptor)?;
        let shown = if known.number < FIRST { 0 } else { known.descriptor as u64 };
        let value = shown << 8 | known.what as u64;
        Some(self.object(known.number, Class::Descriptor, || value))
    }

    /// Returns the object of all resources of a kind.
    pub(crate) fn all(&mut self, what: What) -> ObjectId {
        self.object(what as u64, Class::Descriptor, || what as u64)
    }

    /// Wakes threads whose inside conditions hold.
    pub(crate) fn look_inside(&mut self) {
        for index in 0..self.outside.waiters.len() {
            let waiter = &self.outside.waiters[index];
            if !waiter.woken
                && !self.outside.is_outside(waiter)
                && waiter.awaited.is_there(&self.outside.held)
            {
                self.wake(index, false);
            }
        }
    }

    /// Wakes a thread that waits until one of these signals is pending.
    pub(crate) fn wake_signalled(&mut self, thread: ThreadId, signals: u64) {
        let awaits = |awaited: &Awaited| matches!(awaited, Awaited::Signals(set) if set & signals != 0);
        let mut waiters = self.outside.waiters.iter();
        if let Some(index) = waiters.position(|w| w.thread == thread && !w.woken && awaits(&w.awaited)) {
            self.wake(index, false);
        }
    }

    /// Wakes a thread that waits for the operating system, because it was cancelled or handles a signal. Returns true if it
    /// was one.
    pub(crate) fn wake_cancelled(&mut self, thread: ThreadId) -> bool {
        let index = self.outside.waiters.iter().position(|w| w.thread == thread && !w.woken);
        if let Some(index) = index {
            self.wake(index, false);
        }
        index.is_some()
    }

    fn wake(&mut self, index: usize, idle: bool) {
        let waiter = &mut self.outside.waiters[index];
        waiter.woken = true;
        let token = waiter.token;
        self.engine.give_token(token);
        let step = self.engine.step_count() as u32;
        self.outside.wakes.push(Wake { step, token, idle });
    }

    /// Waits for an external event, when no thread can continue, but no longer than until the virtual time
    /// advances, or a moment if there are threads that spin.
    #[cold]
    pub(crate) fn await_outside(&mut self, spinning: bool, until: Option<u64>) {
        const MOMENT: u64 = 1_000_000;
        let awaits_signal =
            self.outside.waiters.iter().any(|w| matches!(w.awaited, Awaited::Signals(_) | Awaited::Handler));
        if awaits_signal && until.is_none() && !spinning && self.end_by_limit(true) {
            return;
        }
        let begun = real_now();
        let span = until.map_or(u64::MAX, |until| until.saturating_sub(self.engine.now()));
        let span = if spinning { span.min(MOMENT) } else { span };
        let mut interrupted = false;
        let chances = self.outside.waiters.iter().any(|waiter| matches!(waiter.awaited, Awaited::Chance(_)));
        let mut eager = false;
        loop {
            if self.wake_all(interrupted, eager) {
                return;
            }
            // Other processes may have sockets of this one.
            if self.outside.shared_files && self.look_at_wires() {
                return;
            }
            let mut files = self.network.quiet_files();
            let mut slice = u64::MAX;
            let mut any = false;
            for waiter in self.outside.waiters.iter().filter(|waiter| self.outside.is_outside(waiter)) {
                any = true;
                match &waiter.awaited {
                    Awaited::Files(awaited) => files.extend_from_slice(awaited),
                    // The kernel cannot wait for these and for files together.
                    _ => slice = MOMENT,
                }
            }
            let left = span.saturating_sub(real_now() - begun);
            if !any || left == 0 || (chances && until.is_some()) {
                return;
            }
            eager = chances;
            if let Some(waiter) = self.outside.waiters.iter().find(|waiter| self.outside.is_outside(waiter)) {
                self.note_running(waiter.thread);
                shared_memory::note_outside(waiter.awaited.code());
            }
            interrupted = poll(&mut files, left.min(slice)) == -(libc::EINTR as isize);
            shared_memory::note_outside(0);
        }
    }

    /// Wakes every thread whose condition holds. Returns true if there was one.
    fn wake_all(&mut self, interrupted: bool, eager: bool) -> bool {
        let mut any = false;
        let steps = self.engine.step_count();
        for index in 0..self.outside.waiters.len() {
            let waiter = &self.outside.waiters[index];
            let is_due = match waiter.awaited {
                Awaited::Handler => interrupted,
                Awaited::Chance(tried) => eager || steps > tried,
                _ => false,
            };
            if !waiter.woken && (is_due || waiter.awaited.is_there(&self.outside.held)) {
                any = true;
                self.outside.waits += u64::from(self.outside.is_outside(waiter));
                self.wake(index, true);
            }
        }
        any
    }

    /// Returns the operation of waiting for `object` with a time limit.
    pub(crate) fn wait_operation(
        &mut self,
        token: ObjectId,
        object: ObjectId,
        place: usize,
        span: u64,
    ) -> Operation {
        let place = self.place(place);
        let park = Operation::new(Kind::Park, place).on(token, Access::Write);
        park.on(object, Access::Read).with_argument(span)
    }

    /// Returns the engine's next step, after waiting for external events if nothing else can run.
    #[inline]
    pub(crate) fn next(&mut self) -> Next {
        loop {
            match self.engine.next(&mut *self.strategy) {
                Next::Idle { spinning, until } => {
                    if !self.look_at_wires() {
                        self.await_outside(spinning, until);
                    }
                }
                Next::Resume { thread, reply } if self.threads[thread.index()].wire.is_some() => {
                    self.act_for(thread, reply);
                }
                next => return next,
            }
        }
    }
}

impl Runtime {
    /// Records a new timer.
    pub(crate) fn add_timer(&mut self, file: c_int, is_real: bool) {
        self.outside.note_created(What::Timer, &[file]);
        if let Some(number) = self.outside.number_of_timer(file) {
            self.timers.push(TimerFile { number, file, is_real, due: None, interval: 0, count: 0 });
        }
    }

    fn timer(&mut self, file: c_int) -> Option<&mut TimerFile> {
        let number = self.outside.number_of_timer(file)?;
        self.timers.iter_mut().find(|timer| timer.number == number)
    }

    /// Returns true if the times of a timer file refer to the real-time clock.
    pub(crate) fn timer_is_real(&mut self, file: c_int) -> bool {
        self.timer(file).is_some_and(|timer| timer.is_real)
    }

    /// Returns the remaining time of a timer file, and its interval.
    pub(crate) fn timer_state(&mut self, file: c_int) -> Option<(u64, u64)> {
        let now = self.now();
        let timer = self.timer(file)?;
        Some((timer.due.map_or(0, |due| due.saturating_sub(now).max(1)), timer.interval))
    }

    /// Restarts a timer file.
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

    /// Returns and resets the number of expirations of a timer file.
    pub(crate) fn take_expirations(&mut self, file: c_int) -> Option<u64> {
        if self.timers.is_empty() {
            return None;
        }
        self.timer(file).map(|timer| std::mem::take(&mut timer.count))
    }

    /// Returns the time limit of a wait, reduced to the next expiry of a timer that it may be waiting for.
    pub(crate) fn until_timer(&mut self, awaited: &Awaited, span: u64) -> u64 {
        let Awaited::Files(files) = awaited else { return span };
        if self.timers.is_empty() || !files.iter().any(|file| self.outside.may_have_timer(file.fd)) {
            return span;
        }
        let due = self.timers.iter().filter_map(|timer| timer.due).min();
        due.map_or(span, |due| span.min(due.saturating_sub(self.now())))
    }

    /// Records that a file is closed, which may have been the last one of a timer.
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
