//! A search that is killed leaves no Erlang VM behind.

use crate::folder;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns the number in the line `key` of a file in `/proc`.
fn number(file: &str, key: &str) -> u64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|rest| rest.trim().parse().ok()).unwrap_or(0)
}

/// Returns the VM that process `id` has started, by any of its threads.
fn vm(id: u32) -> Option<u32> {
    let threads = std::fs::read_dir(format!("/proc/{id}/task")).ok()?;
    let children =
        threads.flatten().filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let children: Vec<u32> = children
        .flat_map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<_>>())
        .collect();
    children.into_iter().find(|child| {
        let words = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        words.split(|&byte| byte == 0).any(|word| word == b"raddle_main")
    })
}

/// Returns true if process `id` still runs. A zombie has ended.
fn runs(id: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/status")).is_ok_and(|text| !text.contains("State:\tZ"))
}

/// Returns the processor time of process `id`, in ticks.
fn ticks(id: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let fields = text.rsplit_once(") ").map_or("", |(_, fields)| fields).split(' ');
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// Starts a search of `test`, kills it as soon as `is_due` for its VM, and checks that the VM ends.
fn kill_search(folder: &Path, test: &str, is_due: impl Fn(u32) -> bool) {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("beam/cache");
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    command.args(["beam", "run", test, "--pa", ".", "--keep-going", "--runs", "1e9", "--jobs", "1"]);
    command.args(["--run-time", "1h"]);
    command.current_dir(folder).env("RADDLE_CACHE", &cache).env_remove("RADDLE_ERLANG");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut search = command.spawn().expect("raddle starts");
    let id = search.id();
    let vm = loop {
        assert!(search.try_wait().expect("raddle can be waited for").is_none(), "the search has ended");
        match vm(id) {
            Some(vm) if is_due(vm) => break vm,
            _ => std::thread::yield_now(),
        }
    };
    search.kill().expect("it runs");
    search.wait().expect("it can be waited for");
    let ends = (0..3_000_000).any(|_| {
        std::thread::yield_now();
        !runs(vm)
    });
    if !ends {
        _ = Command::new("kill").args(["-KILL", &vm.to_string()]).status();
    }
    assert!(ends, "the VM still runs");
}

#[test]
fn a_killed_search_leaves_no_vm() {
    let Some(folder) = folder("killed") else { return };
    // The connection closes at its end, or is reset if an answer is unread: that depends on the moment.
    for _ in 0..5 {
        // After so many writes the VM is in the middle of the search.
        kill_search(&folder, "race:lost", |vm| number(&format!("/proc/{vm}/io"), "syscw:") > 1_000);
    }
}

#[test]
fn a_killed_search_leaves_no_vm_in_a_long_builtin() {
    let Some(folder) = folder("killed-busy") else { return };
    // Nothing before the builtin takes two seconds of processor time.
    kill_search(&folder, "race:busy", |vm| ticks(vm) > 300);
}
