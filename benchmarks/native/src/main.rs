//! Prints what control costs native programs, each number beside that of the same work without Raddle.
//!
//! `cargo build --release -p raddle-cli && cargo run --release -p benchmark-native [ROUNDS]`. It needs gcc, taskset and pigz
//! (`tools/debian-programs.sh` installs the latter), and takes the `raddle` that lies beside its own executable. What is compared
//! is measured in turns, ROUNDS times (7 if not given), and the best of each counts: that is what the machine can do when nothing
//! disturbs it. Starting takes no part: a measurement is the difference between a long and a short one.

mod measure;

use measure::{Bench, best, difference};

#[expect(clippy::print_stdout, reason = "a benchmark prints its result")]
fn main() {
    let rounds = std::env::args().nth(1).map_or(7, |text| text.parse().expect("the rounds are a number"));
    let bench = Bench::new(rounds);
    for part in [switches, runs, instrumented, pigz] {
        part(&bench).iter().for_each(|line| println!("{line}"));
    }
}

/// Switches between two threads that wake each other.
fn switches(bench: &Bench) -> Vec<String> {
    let program = bench.compile("ping_pong", &["-O2"]);
    let token = bench.compile("token", &["-O2"]);
    // A fixed number of steps, so that there is nothing to learn from the run.
    let run = |threads: &str, rounds: u64, alone: bool| {
        let mut words = vec!["run", "--runs", "1", "--strategy", "pct:depth=1,steps=1000", "--races", "off"];
        let rounds = rounds.to_string();
        words.extend([
            "--step-limit",
            "1e9",
            "--points",
            "sync",
            "--threads",
            threads,
            "--",
            &program,
            &rounds,
        ]);
        words.extend(alone.then_some("alone"));
        bench.raddle(&words)
    };
    let (short, long) = (5_000, 105_000);
    let mut times = [const { Vec::new() }; 4];
    let mut tokens = Vec::new();
    for _ in 0..bench.rounds {
        for (times, (threads, alone)) in
            times.iter_mut().zip([("fibers", false), ("fibers", true), ("os", false), ("os", true)])
        {
            times.push((run(threads, short, alone), run(threads, long, alone)));
        }
        tokens.push(bench.number(&token, &["100000"]));
    }
    let switches = 2.0 * (long - short) as f64;
    let [fibers, fibers_alone, os, os_alone] = times.map(|times| difference(&times) * 1e9 / switches);
    let (fiber, os_thread, token) = (fibers - fibers_alone, os - os_alone, best(&tokens));
    vec![
        "ns between two threads             switch and 2 steps     2 steps alone    the switch".to_owned(),
        format!("fibers                             {fibers:>18.0}{fibers_alone:>18.0}{fiber:>14.0}"),
        format!("OS threads (--threads os)          {os:>18.0}{os_alone:>18.0}{os_thread:>14.0}"),
        format!("a token by futex, without raddle   {:>18}{:>18}{token:>14.0}", "", ""),
        format!(
            "a switch of fibers is {:.0} times as fast as of OS threads and {:.0} times as fast as the token; with its steps {:.1} \
             and {:.1} times (wanted: 40)",
            os_thread / fiber,
            token / fiber,
            os / fibers,
            token / fibers
        ),
    ]
}

/// Runs of a tiny program.
fn runs(bench: &Bench) -> Vec<String> {
    /// What the server of a tiny program has written to, in KiB: anonymous memory in its /proc/PID/status.
    const WRITTEN: &str = "1024";
    let tiny = bench.compile("tiny", &["-O2"]);
    let forks = bench.compile("forks", &["-O2"]);
    let run = |runs: u64| {
        let runs = runs.to_string();
        let words = ["run", "--jobs", "1", "--strategy", "random-walk", "--races", "off", "--runs", &runs];
        bench.raddle(&[&words[..], &["--", &tiny]].concat())
    };
    let (short, long) = (100, 1_100);
    let (mut times, mut bare, mut with_thread) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.rounds {
        times.push((run(short), run(long)));
        bare.push(-bench.number(&forks, &["1000", WRITTEN]));
        with_thread.push(-bench.number(&forks, &["1000", WRITTEN, "thread"]));
    }
    let rate = (long - short) as f64 / difference(&times);
    let (bare, with_thread) = (-best(&bare), -best(&with_thread));
    vec![
        format!(
            "runs per second of a program with two threads, one job: {rate:.0}; fork, exit and wait: {bare:.0}, and {with_thread:.0} with a thread made and \
             joined"
        ),
        format!(
            "that is {:.2} of bare forks (wanted: 0.5) and {:.2} of those with a thread",
            rate / bare,
            rate / with_thread
        ),
    ]
}

/// A program that computes, with all its accesses to memory seen.
fn instrumented(bench: &Bench) -> Vec<String> {
    const SIZE: &str = "300000";
    let plain = bench.compile("sort", &["-O1"]);
    let sanitized = bench.compile_as("sort", "sort-tsan", &["-O1", "-fsanitize=thread"]);
    let seen = bench.compile_by_raddle("sort", "sort-raddle", &["-O1"]);
    let run = |runs: u64| {
        let runs = runs.to_string();
        let words = ["run", "--jobs", "1", "--strategy", "random-walk", "--races", "off", "--runs", &runs];
        bench.raddle(&[&words[..], &["--", &seen, SIZE]].concat())
    };
    let (mut times, mut plains, mut sanitizeds) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.rounds {
        let pair = (run(1), run(3));
        times.push(pair);
        plains.push(bench.time("taskset", &["-c", "0", &plain, SIZE]));
        sanitizeds.push(bench.time("taskset", &["-c", "0", &sanitized, SIZE]));
    }
    let (run, plain, sanitized) = (difference(&times) / 2.0, best(&plains), best(&sanitizeds));
    vec![format!(
        "merge sort, instrumented: {:.0} ms a run; plain build {:.0} ms ({:.1}x), ThreadSanitizer {:.0} ms ({:.1}x), both on one core",
        run * 1e3,
        plain * 1e3,
        run / plain,
        sanitized * 1e3,
        run / sanitized
    )]
}

/// A program as it comes, on 50 MB.
fn pigz(bench: &Bench) -> Vec<String> {
    let input = bench.words_file(50_000_000);
    let words = ["-c", "-p", "4", &input];
    let run = |runs: &str| {
        let how = ["run", "--jobs", "1", "--strategy", "random-walk", "--races", "off", "--run-time", "10m"];
        bench.raddle(&[&how[..], &["--runs", runs, "--", "pigz"], &words].concat())
    };
    let (mut times, mut plains) = (Vec::new(), Vec::new());
    for _ in 0..bench.rounds.div_ceil(2) {
        times.push((run("1"), run("2")));
        plains.push(bench.time("taskset", &[&["-c", "0", "pigz"][..], &words].concat()));
    }
    let (run, plain) = (difference(&times), best(&plains));
    vec![format!(
        "pigz -p 4 on 50 MB: {run:.2} s a run; {plain:.2} s without raddle on one core ({:.2}x, wanted: 1.5x)",
        run / plain
    )]
}
