//! The signals of the program's threads: masks, pending signals, and when handlers run.
//!
//! All threads share one OS thread, the carrier. Each has its own mask here, and the kernel's mask is that of the
//! running thread. A signal from one thread to another is kept here until the other one runs: its handler is then
//! called before the next operation of that thread, or in the call in which it waits, which the signal ends.
//! Signals that all threads block, and those from outside, are the kernel's.
#![expect(unsafe_code, reason = "signals are sent by system calls")]

use crate::child::control::leave;
use crate::child::outside::pending_signals;
use crate::child::runtime::{Runtime, with};
use crate::child::signals::{Info, Signals, bit};
use crate::child::{crash, shared_memory, switching};
use crate::platform::{raw, real, signals as kernel};
use libc::c_int;
use raddle_engine::Reply;
use raddle_model::{Operation, ThreadId};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// True if a thread has a pending signal that it does not block.
static DUE: AtomicBool = AtomicBool::new(false);

/// Forgets the state of the previous run.
pub(crate) fn forget() {
    DUE.store(false, Ordering::Relaxed);
}

/// Returns true if a thread has a pending signal that it does not block.
#[inline]
pub(crate) fn are_due() -> bool {
    DUE.load(Ordering::Relaxed)
}

/// The way in which a signal takes effect.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// It is ignored.
    Nowhere,
    /// It takes its default action, which ends or stops the process.
    Default,
    /// No thread accepts it now, so the kernel keeps it for the process.
    Kernel,
    /// This thread keeps it until it no longer blocks it.
    Kept(ThreadId),
    /// This thread runs the handler.
    Handler(ThreadId),
}

/// Returns the action that the program has set for a signal.
fn action(signal: c_int) -> libc::sigaction {
    // SAFETY: an all-zero action is valid, and room for the current one; no new one is set.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        real::sigaction(signal, std::ptr::null(), (&raw mut action).cast());
        action
    }
}

/// Returns true if the default action of a signal ends or stops the process, and the program has not changed it.
pub(crate) fn is_fatal(signal: c_int) -> bool {
    let handler = action(signal).sa_sigaction;
    let is_harmless = matches!(signal, libc::SIGCHLD | libc::SIGURG | libc::SIGWINCH | libc::SIGCONT);
    crash::is_own(handler) || handler == libc::SIG_DFL && !is_harmless
}

impl Runtime {
    /// Returns the way of a signal to `target`, or to any thread of the process. As in Linux, the main thread comes
    /// before the others.
    pub(crate) fn route(&self, target: Option<ThreadId>, signal: c_int) -> Route {
        let accepts = |index: usize| {
            let thread = &self.threads[index];
            !thread.ended && thread.signals.blocked() & bit(signal) == 0
        };
        let accepting = match target {
            Some(target) if accepts(target.index()) => Some(target),
            Some(target) if self.outside.signal_files == 0 => return Route::Kept(target),
            Some(_) => None,
            None => std::iter::once(0)
                .chain([self.current.index()])
                .chain(0..self.threads.len())
                .find(|&index| accepts(index))
                .map(|index| ThreadId(index as u32)),
        };
        let Some(thread) = accepting else { return Route::Kernel };
        if is_fatal(signal) {
            Route::Default
        } else if matches!(action(signal).sa_sigaction, libc::SIG_IGN | libc::SIG_DFL) {
            Route::Nowhere
        } else {
            Route::Handler(thread)
        }
    }

    /// Keeps a signal for a thread, and ends the wait of that thread if it accepts the signal. Part of a step of the
    /// current thread.
    pub(crate) fn post(&mut self, target: ThreadId, info: Info) {
        let thread = &mut self.threads[target.index()];
        thread.signals.add(info);
        if thread.signals.blocked() & bit(info.signal) != 0 {
            self.wake_signalled(target, bit(info.signal));
            return;
        }
        DUE.store(true, Ordering::Relaxed);
        if target != self.current {
            self.interrupt(target);
        }
    }

    /// Ends the wait of a thread, as part of a step of the current one.
    pub(crate) fn interrupt(&mut self, target: ThreadId) {
        self.has_interrupts = true;
        if !self.wake_cancelled(target) {
            self.engine.interrupt(target);
            self.interrupts.push((self.engine.step_count() as u32 - 1, target));
        }
    }

    /// Removes a signal that is pending for the current thread and that it does not block.
    fn take_due(&mut self) -> Option<Info> {
        let signals = &mut self.me().signals;
        let through = !signals.blocked();
        let taken = signals.take(through);
        if taken.is_none() {
            let is_due = |signals: &Signals| signals.next(!signals.blocked()).is_some();
            let any = self.threads.iter().any(|thread| !thread.ended && is_due(&thread.signals));
            DUE.store(any, Ordering::Relaxed);
        }
        taken
    }

    /// Gives the kernel the mask of a thread, to which the carrier is about to switch from the current one.
    #[inline]
    pub(crate) fn change_mask(&mut self, next: ThreadId) {
        let signals = &mut self.threads[self.current.index()].signals;
        if signals.running > 0 {
            // The kernel has changed the mask for a handler, and the handler may have done so.
            signals.mask = kernel::mask_signals(libc::SIG_BLOCK, 0);
            self.kernel_mask = signals.mask;
        }
        let mask = self.threads[next.index()].signals.mask;
        if mask != self.kernel_mask && !switching::uses_os_threads() {
            kernel::set_signals(mask);
            self.kernel_mask = mask;
        }
    }

    /// Records that the current thread has changed its mask.
    pub(crate) fn note_mask(&mut self) {
        self.kernel_mask = kernel::mask_signals(libc::SIG_BLOCK, 0);
        self.me().signals.mask = self.kernel_mask;
        DUE.store(true, Ordering::Relaxed);
    }
}

/// Runs the handlers of the signals that are pending for the current thread and that it does not block. Called
/// inside the runtime, between two operations of the thread.
#[cold]
pub(crate) fn deliver() {
    while let Some(info) = with(Runtime::take_due) {
        handle(&info);
    }
    // Signals from outside, and those that all threads block otherwise.
    let replaced = with(|runtime| runtime.me().signals.replaced);
    if let Some(mask) = replaced
        && pending_signals() & !mask != 0
    {
        note_handler(0);
        with(|runtime| runtime.me().signals.running += 1);
        suspend(mask);
        with(|runtime| runtime.me().signals.running -= 1);
    }
}

fn note_handler(flags: c_int) {
    with(|runtime| {
        let signals = &mut runtime.me().signals;
        signals.handled += 1;
        signals.restarting += u32::from(flags & libc::SA_RESTART != 0);
    });
}

/// Lets the kernel call the handlers of pending signals that `mask` does not block.
fn suspend(mask: u64) {
    // SAFETY: the mask has eight bytes. A signal is pending, so that this does not wait.
    leave(|| unsafe {
        raw::syscall(libc::SYS_rt_sigsuspend, [std::ptr::from_ref(&mask) as usize, 8, 0, 0, 0, 0])
    });
}

/// Calls the handler of a signal on the current thread.
fn handle(info: &Info) {
    let action = action(info.signal);
    if action.sa_sigaction == libc::SIG_IGN {
        return;
    }
    note_handler(action.sa_flags);
    let (before, blocked, stack) = with(|runtime| {
        let signals = &mut runtime.me().signals;
        signals.running += 1;
        let before = signals.mask;
        (before, signals.blocked(), signals.stack.filter(|_| action.sa_flags & libc::SA_ONSTACK != 0))
    });
    let own = stack.map(|stack| change_stack(&libc::stack_t { ss_flags: AUTODISARM, ..stack }));
    shared_memory::note_sent(info.signal);
    // SAFETY: the system calls touch no memory but the description, which is valid.
    let send = || unsafe {
        let process = raw::syscall(libc::SYS_getpid, [0; 6]) as usize;
        let thread = raw::syscall(libc::SYS_gettid, [0; 6]) as usize;
        let info_at = std::ptr::from_ref(info) as usize;
        raw::syscall(libc::SYS_rt_tgsigqueueinfo, [process, thread, info.signal as usize, info_at, 0, 0])
    };
    if before & bit(info.signal) != 0 {
        send();
        suspend(blocked);
    } else {
        // The handler runs before the call returns.
        leave(send);
    }
    shared_memory::note_sent(0);
    if let Some(own) = own {
        change_stack(&own);
    }
    with(|runtime| {
        runtime.me().signals.running -= 1;
        runtime.me().signals.mask = before;
        runtime.kernel_mask = before;
    });
}

/// The kernel forgets the stack while a handler runs on it, so that handlers of other threads do not use it.
pub(crate) const AUTODISARM: c_int = 1 << 31;

/// Sets the stack of the carrier for handlers, and returns the previous one.
fn change_stack(stack: &libc::stack_t) -> libc::stack_t {
    let mut before = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
    let arguments = [std::ptr::from_ref(stack) as usize, &raw mut before as usize, 0, 0, 0, 0];
    // SAFETY: the stack is the program's own, for this purpose, or the previous one; there is room for that.
    unsafe { raw::syscall(libc::SYS_sigaltstack, arguments) };
    before
}

/// A call that the handler of a signal may end. A handler that is due when the call begins runs before it: the program
/// may then wait for a signal that has already come.
pub(crate) struct Call {
    handled: Cell<u32>,
    restarting: Cell<u32>,
    has_touched: Cell<bool>,
}

impl Call {
    /// Begins a call of the current thread.
    pub(crate) fn begin() -> Call {
        let call = Call { handled: Cell::new(0), restarting: Cell::new(0), has_touched: Cell::new(false) };
        call.start();
        call
    }

    fn start(&self) {
        if are_due() && with(|runtime| runtime.me().signals.replaced.is_none()) {
            deliver();
        }
        let (handled, restarting) = with(|runtime| {
            let signals = &runtime.me().signals;
            (signals.handled, signals.restarting)
        });
        self.handled.set(handled);
        self.restarting.set(restarting);
    }

    /// Begins the call anew after its first operation, unless it replaces the signal mask: that is its beginning.
    pub(crate) fn note_touch(&self) {
        if !self.has_touched.replace(true) && with(|runtime| runtime.me().signals.replaced.is_none()) {
            self.start();
        }
    }

    /// Runs the handlers that are due. Returns true if one has run since the beginning of the call, and the call fails
    /// with `EINTR` because of that. If it `restarts`, it fails only because of handlers without `SA_RESTART`.
    pub(crate) fn is_interrupted(&self, restarts: bool) -> bool {
        if are_due() || with(|runtime| runtime.me().signals.replaced.is_some()) {
            deliver();
        }
        with(|runtime| {
            let signals = &runtime.me().signals;
            let handled = signals.handled - self.handled.get();
            handled > if restarts { signals.restarting - self.restarting.get() } else { 0 }
        })
    }
}

/// The time limit of a wait that goes on after the handler of a signal.
pub(crate) struct Limit {
    /// In virtual nanoseconds since the start; [`Operation::UNTIMED`] for none.
    deadline: u64,
    /// The handlers that the thread had run when it began or last went on.
    handled: u32,
    is_first: bool,
    span: u64,
}

impl Limit {
    /// Begins a wait of the current thread.
    pub(crate) fn begin(span: u64) -> Limit {
        with(|runtime| {
            let deadline = runtime.now().saturating_add(span);
            Limit { deadline, handled: runtime.me().signals.handled, is_first: true, span }
        })
    }

    /// Returns the rest of the time, for the operation that is announced.
    pub(crate) fn left(&self, runtime: &mut Runtime) -> u64 {
        if self.is_first || self.span == Operation::UNTIMED {
            return self.span;
        }
        self.deadline.saturating_sub(runtime.now())
    }

    /// Runs the handlers that are due. Returns true if one has run, so that the wait goes on although it has ended.
    pub(crate) fn goes_on(&mut self) -> bool {
        if are_due() {
            deliver();
        }
        let now = with(|runtime| runtime.me().signals.handled);
        self.is_first = false;
        // Cancellation ends waits, too, and takes effect only in some calls.
        std::mem::replace(&mut self.handled, now) != now || self.span == Operation::UNTIMED
    }

    /// Repeats a wait while the handler of a signal has ended it.
    pub(crate) fn repeat(&mut self, wait: impl Fn(&Limit) -> Reply) -> Reply {
        loop {
            let reply = wait(self);
            if reply != Reply::TimedOut || !self.goes_on() {
                return reply;
            }
        }
    }
}
