//! Panics of the test's threads: stored for the report and not printed, because a check may see thousands of
//! them.

use crate::runtime;
use std::cell::RefCell;
use std::panic;
use std::sync::Once;

/// A panic of a thread of the test.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Panic {
    /// The number of the thread, in the order in which threads were started; 0 is the main thread.
    pub thread: u32,
    /// The panic message.
    pub message: String,
    /// The location, as `file:line:column`.
    pub location: String,
}

thread_local! {
    /// The panics of the current run on this OS thread, in order.
    static PANICS: RefCell<Vec<Panic>> = const { RefCell::new(Vec::new()) };
}

/// Installs a panic hook in front of the current one, once per process. It is silent for threads of a test
/// under control; all other panics, including internal errors, go to the previous hook.
pub(super) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if runtime::corrects_panic_count() {
                return;
            }
            let Some(thread) = runtime::running() else {
                // Other hooks prepare for the end of the process, for example by keeping locks forever.
                if !runtime::survives_abort(info) {
                    before(info);
                }
                return;
            };
            runtime::begin_panic();
            let message = runtime::panic_message(info.payload());
            let location = info.location().map_or_else(String::new, ToString::to_string);
            PANICS.with_borrow_mut(|panics| panics.push(Panic { thread: thread.0, message, location }));
            if let Some(back) = runtime::aborting(info) {
                runtime::fail_by_abort(&aborting_message(thread.0, back));
            }
        }));
    });
}

/// Returns the message of the panic that std is about to end with an abort: the one `back` panics before the
/// latest of `thread`.
fn aborting_message(thread: u32, back: usize) -> String {
    PANICS.with_borrow(|panics| {
        let mut of_thread = panics.iter().rev().filter(|panic| panic.thread == thread);
        of_thread.nth(back).or(panics.last()).map_or_else(String::new, |panic| panic.message.clone())
    })
}

/// Returns the panics since the last call on this OS thread.
pub(super) fn take() -> Vec<Panic> {
    PANICS.take()
}
