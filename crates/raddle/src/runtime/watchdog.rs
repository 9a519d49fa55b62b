//! Reports runs that make no steps.
//!
//! All threads of a run share one OS thread. If it waits for a lock, a channel or a barrier of std that
//! another thread of the run would have to release, it waits forever, and no operation of this crate can
//! notice. So an OS thread periodically examines every run in progress. A run that waits in a futex never
//! ends: the watchdog ends the process and reports the call and its location. A run that computes, or waits
//! for another system call, may end: the watchdog reports it, and ends the process only much later.

use super::switch::stack;
use super::waits::{self, Wait};
use std::backtrace::Backtrace;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::time::Duration;

/// The variable that sets the number of seconds without a step after which a run is examined.
pub(crate) const VARIABLE: &str = "RADDLE_WATCHDOG";

/// The number of such periods after which a run that may end is ended too.
const PATIENCE: u64 = 60;

/// The number of examinations per period.
const LOOKS: u32 = 4;

/// The exit status of a process whose check hangs: that of other user errors.
const STATUS: i32 = 2;

/// The progress of one worker.
#[derive(Debug)]
pub(crate) struct Pulse {
    /// Incremented with every announced operation.
    beats: AtomicU64,
    /// True during a run.
    runs: AtomicBool,
    /// The OS thread, and the name of the test.
    owner: Mutex<(i32, String)>,
}

static PULSES: Mutex<Vec<Weak<Pulse>>> = Mutex::new(Vec::new());

impl Pulse {
    pub(super) fn new() -> Arc<Pulse> {
        let owner = Mutex::new((0, String::new()));
        Arc::new(Pulse { beats: AtomicU64::new(0), runs: AtomicBool::new(false), owner })
    }

    /// Records an announced operation. Only its own worker writes.
    #[inline]
    pub(super) fn beat(&self) {
        self.beats.store(self.beats.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Records that the worker begins a run on this OS thread, or has ended it.
    pub(super) fn set_running(&self, runs: bool) {
        self.beat();
        self.runs.store(runs, Ordering::Release);
    }

    /// Registers the worker's runs on this OS thread with the watchdog.
    pub(crate) fn watch(self: &Arc<Pulse>, name: &str) {
        *locked(&self.owner) = (stack::thread_number(), name.to_owned());
        let mut pulses = locked(&PULSES);
        pulses.retain(|pulse| pulse.strong_count() > 0);
        if !pulses.iter().any(|pulse| std::ptr::eq(pulse.as_ptr(), Arc::as_ptr(self))) {
            pulses.push(Arc::downgrade(self));
        }
    }
}

/// Starts the watchdog, which examines each run after `span` without a step. Once per process.
pub(crate) fn start(span: Option<Duration>) {
    static ONCE: Once = Once::new();
    if let Some(span) = span {
        ONCE.call_once(|| {
            // If the thread cannot be started, checks run without it.
            _ = std::thread::Builder::new().name("raddle watchdog".to_owned()).spawn(move || watch_all(span));
        });
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state of a run that makes no steps.
struct Silent {
    pulse: Weak<Pulse>,
    beats: u64,
    /// The number of examinations without a step.
    looks: u64,
}

fn watch_all(span: Duration) {
    let mut silent: Vec<Silent> = Vec::new();
    loop {
        std::thread::sleep(span / LOOKS);
        let pulses: Vec<Weak<Pulse>> = locked(&PULSES).clone();
        silent.retain(|entry| entry.pulse.strong_count() > 0);
        for weak in pulses {
            let Some(pulse) = weak.upgrade() else { continue };
            let index = silent.iter().position(|entry| entry.pulse.ptr_eq(&weak));
            let beats = pulse.beats.load(Ordering::Relaxed);
            if !pulse.runs.load(Ordering::Acquire) {
                index.map(|index| silent.swap_remove(index));
                continue;
            }
            let Some(entry) = index.map(|index| &mut silent[index]) else {
                silent.push(Silent { pulse: weak, beats, looks: 0 });
                continue;
            };
            entry.looks = if entry.beats == beats { entry.looks + 1 } else { 0 };
            entry.beats = beats;
            if entry.looks > 0 && entry.looks.is_multiple_of(u64::from(LOOKS)) {
                report(&pulse, span, entry.looks / u64::from(LOOKS));
            }
        }
    }
}

/// Reports a run that has made no step for `spans` periods, and ends the process if the run never ends or has
/// taken too long.
fn report(pulse: &Pulse, span: Duration, spans: u64) {
    let (number, name) = locked(&pulse.owner).clone();
    let wait = waits::of(number);
    let hangs = wait == Wait::Lock;
    // Report a long computation after 1, 2, 4, .. periods.
    if !hangs && !spans.is_power_of_two() && spans < PATIENCE {
        return;
    }
    let found = stack::capture(number);
    let seconds = span.as_secs_f64() * spans as f64;
    let text = message(&name, seconds, wait, found.as_ref(), hangs || spans >= PATIENCE);
    // Not with `eprintln`, which a harness would capture and lose.
    _ = std::io::stderr().lock().write_all(text.as_bytes());
    if hangs || spans >= PATIENCE {
        std::process::exit(STATUS);
    }
}

fn message(name: &str, seconds: f64, wait: Wait, stack: Option<&Backtrace>, ends: bool) -> String {
    let frames = stack.map(|stack| waits::frames(&stack.to_string())).unwrap_or_default();
    let (call, location) = waits::call(&frames);
    let mut text = String::new();
    let kind = if ends { "error" } else { "warning" };
    let what = match (wait, call) {
        (Wait::Lock, Some(call)) => format!("it waits in `{}`, which raddle does not control", call.name()),
        (Wait::Lock, None) => "it waits for a lock that raddle does not control".to_owned(),
        (Wait::System, Some(call)) if call.import().is_some() => {
            format!("it waits in `{}`, which raddle does not control", call.name())
        }
        (Wait::System, _) => "it waits in a system call".to_owned(),
        (Wait::None, _) => {
            "it computes: either a long computation, or a loop that waits for another thread".to_owned()
        }
    };
    _ = writeln!(text, "\n{kind}: the check `{name}` has made no step for {seconds} s: {what}");
    if let Some(location) = location {
        _ = writeln!(text, "  at {location}");
    } else if let Some(stack) = stack {
        _ = writeln!(text, "{stack}");
    }
    let import = call.and_then(waits::Frame::import);
    match (wait, import) {
        (Wait::Lock | Wait::System, Some((std, ours))) => {
            _ = writeln!(text, "help: use `{ours}` instead of `{std}` in code that a check runs");
        }
        (Wait::Lock, None) => {
            text.push_str("help: use raddle::sync and raddle::thread instead of std's in code that a check runs\n");
        }
        _ => text.push_str(
            "help: a loop that waits must use raddle::sync::atomic, raddle::thread or raddle::hint; std's atomics are not controlled\n",
        ),
    }
    _ = writeln!(text, "help: {VARIABLE}=SECONDS sets the time limit; {VARIABLE}=0 disables it");
    text
}
