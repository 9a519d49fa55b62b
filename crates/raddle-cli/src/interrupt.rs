//! SIGINT, SIGTERM and SIGHUP: the first signal ends the search with a summary, the second ends the process.

use anyhow::{Context, Result};
use raddle_model::EXIT_SIGNAL;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

/// The signals, and their names.
const SIGNALS: [(i32, &str); 3] = [(SIGINT, "SIGINT"), (SIGTERM, "SIGTERM"), (SIGHUP, "SIGHUP")];

/// The polling interval for signals.
const TICK: std::time::Duration = std::time::Duration::from_millis(20);

/// Signals within this time are one: `timeout` sends its signal to the process and to the process group.
const TOGETHER: std::time::Duration = std::time::Duration::from_millis(200);

/// The received signal; 0 if none.
static RECEIVED: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// The signal that ended the command.
pub(crate) struct Interrupted {
    pub(crate) name: &'static str,
    /// The exit status: 128 plus the signal number, as in shells.
    pub(crate) status: u8,
}

/// Returns the signal that was received, if any.
pub(crate) fn interrupted() -> Option<Interrupted> {
    let received = RECEIVED.load(Ordering::Relaxed) as i32;
    let &(signal, name) = SIGNALS.iter().find(|(signal, _)| *signal == received)?;
    Some(Interrupted { name, status: EXIT_SIGNAL + signal as u8 })
}

/// Installs the signal handlers. Signals that the parent process ignores, as under `nohup`, stay ignored.
pub(crate) fn listen() -> Result<()> {
    let ignored = ignored();
    let second = Arc::new(AtomicBool::new(false));
    let received = &*RECEIVED;
    for (signal, name) in SIGNALS {
        if ignored >> (signal - 1) & 1 != 0 {
            continue;
        }
        // A signal that comes while `second` is set ends the process.
        signal_hook::flag::register_conditional_shutdown(
            signal,
            i32::from(EXIT_SIGNAL) + signal,
            Arc::clone(&second),
        )
        .and_then(|_| signal_hook::flag::register_usize(signal, Arc::clone(received), signal as usize))
        .with_context(|| format!("cannot handle {name}"))?;
    }
    let watch = move || {
        while received.load(Ordering::Relaxed) == 0 {
            std::thread::sleep(TICK);
        }
        raddle_search::interrupt();
        std::thread::sleep(TOGETHER);
        second.store(true, Ordering::Relaxed);
    };
    std::thread::Builder::new().spawn(watch).context("cannot start a thread that waits for signals")?;
    Ok(())
}

/// Returns the set of ignored signals as bits, or 0 if it is unknown.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
