//! Parses the panic messages of a Rust program.
//!
//! The panic itself is not decisive: it may be caught, and only the exit status shows whether it was. Then
//! only the text of the standard hook is left. A program with its own hook prints anything; its end is then
//! only a status.

use raddle_model::{Failure, Panicked};

/// The status of a program whose main thread has panicked, and of a test harness with a failed test.
pub(crate) const STATUS: i32 = 101;

/// The maximum number of panics of other threads that are kept, and the maximum number of lines of a message.
const MOST: usize = 4;
const MOST_LINES: usize = 12;

/// Returns the failure of a program that printed `output` and ended because `thread` panicked. `None` if the
/// output has no panic of that thread.
pub(crate) fn failure(output: &str, thread: &str) -> Option<Failure> {
    let lines: Vec<&str> = output.lines().collect();
    let mut panics: Vec<Panicked> =
        (0..lines.len()).filter_map(|at| panicked(lines[at], &lines[at + 1..])).collect();
    let at = panics.iter().rposition(|panic| panic.thread == thread)?;
    panics.truncate(at + 1);
    let last = panics.pop()?;
    panics.retain(|panic| panic.thread != thread);
    panics.truncate(MOST);
    Some(Failure::Panic { last, before: panics })
}

/// Returns the panic that begins with `line`, such as `thread 'main' (7) panicked at src/main.rs:3:5:`, and
/// its message in the lines after that.
fn panicked(line: &str, after: &[&str]) -> Option<Panicked> {
    let (head, place) = heading(line)?;
    // Newer compilers add the id of the thread, which differs in every run.
    let thread = head.rsplit_once('\'').map_or(head, |(thread, _)| thread);
    let said = after.iter().take_while(|line| !ends_message(line)).take(MOST_LINES).copied();
    let message = said.collect::<Vec<_>>().join("\n");
    Some(Panicked {
        thread: thread.to_owned(),
        place: place.to_owned(),
        message: message.trim_end().to_owned(),
    })
}

/// Returns the parts before and after `panicked at`.
fn heading(line: &str) -> Option<(&str, &str)> {
    let (before, place) = line.strip_suffix(':')?.rsplit_once(" panicked at ")?;
    // Output that a thread wrote before without a newline precedes it, and may name threads as well.
    Some((before.rsplit_once("thread '")?.1, place))
}

/// Returns true if a line is no longer part of a panic's message.
fn ends_message(line: &str) -> bool {
    heading(line).is_some()
        || line == "FAILED"
        || ["note: ", "stack backtrace:", "test result: "].iter().any(|begin| line.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\nrunning 1 test\ntest counts ... x = 1\n\
        thread '<unnamed>' (17) panicked at src/lib.rs:9:13:\nboom\n\
        note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n\
        thread 'counts' (16) panicked at src/lib.rs:12:5:\nassertion `left == right` failed\n  left: 1\n right: 2\n\
        FAILED\n\nfailures:\n";

    fn parsed(output: &str, thread: &str) -> Option<(Panicked, Vec<Panicked>)> {
        match failure(output, thread)? {
            Failure::Panic { last, before } => Some((last, before)),
            _ => None,
        }
    }

    #[test]
    fn the_last_panic_of_the_thread_counts_and_others_come_with_it() {
        let (last, before) = parsed(OUTPUT, "counts").expect("the output has a panic");
        assert_eq!((&last.thread[..], &last.place[..]), ("counts", "src/lib.rs:12:5"));
        assert_eq!(last.message, "assertion `left == right` failed\n  left: 1\n right: 2");
        assert_eq!(before.iter().map(|panic| &panic.message[..]).collect::<Vec<_>>(), ["boom"]);
        assert_eq!(parsed(OUTPUT, "main"), None);
        assert_eq!(parsed("FAILED\n", "counts"), None);
    }

    #[test]
    fn old_compilers_print_no_id() {
        let (last, _) = parsed("text thread 'main' panicked at a.rs:1:2:\nno\n", "main").expect("a panic");
        assert_eq!((&last.thread[..], &last.place[..], &last.message[..]), ("main", "a.rs:1:2", "no"));
    }

    #[test]
    fn an_unfinished_line_before_it_hides_no_panic() {
        let output = "thread 'x' panicked at once: thread 'main' (7) panicked at a.rs:1:2:\nno\n";
        let (last, before) = parsed(output, "main").expect("a panic");
        assert_eq!((&last.thread[..], &last.place[..], before.len()), ("main", "a.rs:1:2", 0));
    }
}
