//! Signals end every command that makes runs, with a summary, and nothing is left behind.

use crate::common::{figure, raddle, root, scratch};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Starts raddle with a folder of its own for temporary files.
fn start(words: &[&str], temporary: &Path) -> Child {
    _ = std::fs::remove_dir_all(temporary);
    std::fs::create_dir_all(temporary).expect("a folder can be made");
    // The tests may have been started with ignored signals, which would stay ignored.
    let mut command = Command::new("env");
    command.args(["--default-signal=INT,TERM,HUP", env!("CARGO_BIN_EXE_raddle")]);
    command.args(words).current_dir(root()).env("TMPDIR", temporary);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("raddle starts")
}

/// Returns the processes that process `id` has started.
fn children(id: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Sends a signal, once.
fn end(words: &[&str], name: &str, signal: &str, is_ready: fn(u32) -> bool) -> (i32, String, String) {
    end_with(words, name, signal, 1, is_ready)
}

/// Sends a signal so many times as soon as raddle listens, which it does when it has a second thread, and `is_ready` says so. Returns the exit
/// status, the output, the messages and the children that there were.
fn end_with(
    words: &[&str],
    name: &str,
    signal: &str,
    times: usize,
    is_ready: fn(u32) -> bool,
) -> (i32, String, String) {
    let temporary = scratch(&format!("signals_{name}_{signal}"));
    let temporary = Path::new(&temporary);
    let child = start(words, temporary);
    let id = child.id();
    let threads = || std::fs::read_dir(format!("/proc/{id}/task")).map_or(0, Iterator::count);
    while threads() < 2 || !is_ready(id) {
        std::thread::yield_now();
    }
    let started = children(id);
    let sent = Command::new("kill").arg(format!("-{signal}")).args(vec![id.to_string(); times]).status();
    assert!(sent.expect("kill starts").success());
    let output = child.wait_with_output().expect("raddle ends");
    for child in started {
        assert!(!Path::new(&format!("/proc/{child}")).exists(), "{words:?} leaves a process");
    }
    let left: Vec<_> = std::fs::read_dir(temporary).expect("the folder is there").flatten().collect();
    assert!(left.is_empty(), "{words:?} leaves {left:?}");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let status = output.status.code().expect("raddle is not ended by the signal");
    (status, text(&output.stdout), text(&output.stderr))
}

fn is_any(_: u32) -> bool {
    true
}

/// Returns true if raddle has started a process: the program, whose runs are its children.
fn has_program(id: u32) -> bool {
    children(id).iter().any(|&child| !children(child).is_empty())
}

#[test]
fn a_search_of_a_program_ends_with_a_summary() {
    let source = "tests/c/pass/mutexes.c";
    // Compiled before, so that the only child is the program.
    assert_eq!(raddle(&["run", "--runs", "1", "--races", "off", source]).status, 0);
    for (signal, status) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let words = ["run", "--runs", "1e10", "--jobs", "1", source];
        let (ended, out, err) = end(&words, "run", signal, has_program);
        assert_eq!(ended, status, "{out}{err}");
        assert!(out.contains(" under portfolio, seed 1: "), "{out}");
        assert!(err.contains(&format!("interrupted by SIG{signal}: not all runs were made")), "{err}");
    }
}

/// A lost update in a program whose runs take a moment, so that no command is over before the signal comes.
const SLOW: &str = "\
#include <assert.h>
#include <pthread.h>
static int counter;
static void *add(void *unused) { int seen = counter; counter = seen + 1; return unused; }
int main(void) {
    pthread_t threads[2];
    for (long i = 0; i < 100000000; i++) __asm__ volatile(\"\");
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, add, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    assert(counter == 2);
}
";

#[test]
fn other_commands_end_too() {
    let bug = scratch("signals_bug.json");
    let slow = scratch("signals_slow.c");
    std::fs::write(&slow, SLOW).expect("a source can be written");
    let found = raddle(&["run", "--no-minimize", "--jobs", "1", "--record", &bug, &slow]);
    assert_eq!(found.status, 1, "{}", found.err);
    let small = scratch("signals_small.json");
    let figure = figure("abba");
    for (name, words) in [
        ("lab", &["lab", "run", &figure, "--runs", "1e10"][..]),
        ("minimize", &["minimize", &bug, "-o", &small, "--runs", "1e9", "--time", "1h"]),
        ("explain", &["explain", &bug, "--samples", "100000000", "--runs", "1e9", "--time", "1h"]),
        ("bench", &["bench", "--suite", "figures", "--runs", "1e10"]),
    ] {
        let (status, out, err) = end(words, name, "INT", is_any);
        assert_eq!(status, 130, "{name}: {out}{err}");
        assert!(err.contains("interrupted by SIGINT"), "{name}: {err}");
    }
}

/// `timeout` sends its signal to the process, and then to the process group.
#[test]
fn signals_at_the_same_time_are_one() {
    let words = ["lab", "run", &figure("abba"), "--runs", "1e10"];
    let (status, out, err) = end_with(&words, "twice", "TERM", 2, is_any);
    assert_eq!(status, 143, "{out}{err}");
    assert!(err.contains("interrupted by SIGTERM"), "{err}");
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let mut shell = Command::new("sh");
    // The search ends by itself.
    let line = "trap '' HUP; \"$0\" lab run \"$1\" --runs 1e5 & kill -HUP $!; wait $!";
    shell.args(["-c", line, env!("CARGO_BIN_EXE_raddle"), &figure("pos_fig2")]).current_dir(root());
    let output = shell.output().expect("sh starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("100,000") && !text.contains("interrupted"), "{text}");
}
