//! Tells of runs that make no step any more.
//!
//! All threads of a run share one OS thread. If that waits for a lock, a channel or a barrier of std that another thread of the run would
//! have to give, it waits for ever, and no operation of this crate is there to notice it. So an OS thread looks from time to time at
//! every run that is going on. One that waits in a futex has no end: the process is ended, with the call and its place. One that
//! computes, or waits for something else of the system, may have: that is told, and the process is ended only much later.

use super::switch::stack;
use super::waits::{self, Wait};
use std::backtrace::Backtrace;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::time::Duration;

/// The variable that sets after how many seconds without a step a run is looked at.
pub(crate) const VARIABLE: &str = "RADDLE_WATCHDOG";

/// After so many such spans a run that may have an end is ended too.
const PATIENCE: u64 = 60;

/// How often it is looked in a span.
const LOOKS: u32 = 4;

/// The exit status of a process whose check hangs: that of other mistakes of the user.
const STATUS: i32 = 2;

/// The sign of life of one worker.
#[derive(Debug)]
pub(crate) struct Pulse {
    /// Grows with every announced operation.
    beats: AtomicU64,
    /// Whether a run goes on.
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

    /// Notes an announced operation. Only its own worker writes.
    #[inline]
    pub(super) fn beat(&self) {
        self.beats.store(self.beats.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Notes that the worker begins a run on this OS thread, or has ended it.
    pub(super) fn set_running(&self, runs: bool) {
        self.beat();
        self.runs.store(runs, Ordering::Release);
    }

    /// Lets the runs that the worker makes on this OS thread be looked at.
    pub(crate) fn watch(self: &Arc<Pulse>, name: &str) {
        *locked(&self.owner) = (stack::thread_number(), name.to_owned());
        let mut pulses = locked(&PULSES);
        pulses.retain(|pulse| pulse.strong_count() > 0);
        if !pulses.iter().any(|pulse| std::ptr::eq(pulse.as_ptr(), Arc::as_ptr(self))) {
            pulses.push(Arc::downgrade(self));
        }
    }
}

/// Starts to look at runs, each after `span` without a step. Once in a process.
pub(crate) fn start(span: Option<Duration>) {
    static ONCE: Once = Once::new();
    if let Some(span) = span {
        ONCE.call_once(|| {
            // If it cannot be started, checks go on without it.
            _ = std::thread::Builder::new().name("raddle watchdog".to_owned()).spawn(move || watch_all(span));
        });
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is known of a run that makes no step.
struct Silent {
    pulse: Weak<Pulse>,
    beats: u64,
    /// For how many looks.
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
                tell(&pulse, span, entry.looks / u64::from(LOOKS));
            }
        }
    }
}

/// Tells of a run that has made no step for so many spans, and ends the process if it has no end or has taken too long.
fn tell(pulse: &Pulse, span: Duration, spans: u64) {
    let (number, name) = locked(&pulse.owner).clone();
    let wait = waits::of(number);
    let hangs = wait == Wait::Lock;
    // A long computation is told of after 1, 2, 4, .. spans.
    if !hangs && !spans.is_power_of_two() && spans < PATIENCE {
        return;
    }
    let found = stack::capture(number);
    let seconds = span.as_secs_f64() * spans as f64;
    let text = message(&name, seconds, wait, found.as_ref(), hangs || spans >= PATIENCE);
    // Not by `eprintln`, which a harness would capture and lose.
    _ = std::io::stderr().lock().write_all(text.as_bytes());
    if hangs || spans >= PATIENCE {
        std::process::exit(STATUS);
    }
}

fn message(name: &str, seconds: f64, wait: Wait, stack: Option<&Backtrace>, ends: bool) -> String {
    let frames = stack.map(|stack| waits::frames(&stack.to_string())).unwrap_or_default();
    let (call, place) = waits::call(&frames);
    let mut text = String::new();
    let kind = if ends { "error" } else { "warning" };
    let what = match (wait, call) {
        (Wait::Lock, Some(call)) => format!("it waits in `{}`, which raddle does not control", call.name()),
        (Wait::Lock, None) => "it waits for a lock that raddle does not control".to_owned(),
        (Wait::System, _) => "it waits for the operating system".to_owned(),
        (Wait::None, _) => {
            "it computes; that may be a long computation, or a loop that waits for another thread".to_owned()
        }
    };
    _ = writeln!(text, "\n{kind}: the check `{name}` has made no step for {seconds} s: {what}");
    if let Some(place) = place {
        _ = writeln!(text, "  at {place}");
    } else if let Some(stack) = stack {
        _ = writeln!(text, "{stack}");
    }
    let import = call.and_then(waits::Frame::import);
    match (wait, import) {
        (Wait::Lock, Some((std, ours))) => {
            _ = writeln!(text, "help: use `{ours}` in the place of `{std}` in code that a check runs");
        }
        (Wait::Lock, None) => {
            text.push_str("help: use raddle::sync and raddle::thread in the place of std's in code that a check runs\n");
        }
        _ => text.push_str(
            "help: a loop that waits has to use raddle::sync::atomic, raddle::thread or raddle::hint; std's atomics are not seen\n",
        ),
    }
    _ = writeln!(text, "help: {VARIABLE}=SECONDS sets when this is told, 0 turns it off");
    text
}
