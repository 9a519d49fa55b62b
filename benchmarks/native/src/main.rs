//! Prints the cost of control for native programs, each number next to that of the same work without Raddle.
//!
//! `cargo build --release -p raddle-cli && cargo run --release -p benchmark-native [ROUNDS [PART..]]`. The parts are
//! switches, runs, resets, instrumented and pigz; all of them by default. It needs gcc,
//! taskset and pigz (`tools/debian-programs.sh` installs the latter), and uses the `raddle` next to its own
//! executable. The alternatives are measured in turns, ROUNDS times (5 by default), and the best of each
//! counts: that is what the machine can do when nothing disturbs it. Start-up is excluded: a measurement is
//! the difference between a long and a short one. Sequential work is measured in processor time, which other
//! load on the machine hardly changes; for OS threads that wait for each other, wall-clock time counts.

mod measure;

use measure::{Bench, Cost, best, difference};

#[expect(clippy::print_stdout, reason = "a benchmark prints its result")]
fn main() {
    let rounds = std::env::args().nth(1).map_or(5, |text| text.parse().expect("the rounds are a number"));
    let wanted: Vec<String> = std::env::args().skip(2).collect();
    let bench = Bench::new(rounds);
    type Part = fn(&Bench) -> Vec<String>;
    let parts: [(&str, Part); 5] = [
        ("switches", switches),
        ("runs", runs),
        ("resets", resets),
        ("instrumented", instrumented),
        ("pigz", pigz),
    ];
    for (_, part) in parts.iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|w| w == name)) {
        part(&bench).iter().for_each(|line| println!("{line}"));
    }
}

/// Measures switches between two threads that wake each other.
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
    let (short, long, os_long) = (10_000, 510_000, 60_000);
    let [mut together, mut alone, mut os, mut tokens] = [const { Vec::new() }; 4];
    for _ in 0..bench.rounds {
        let both = |alone| (run("fibers", short, alone).processor, run("fibers", long, alone).processor);
        together.push(both(false));
        alone.push(both(true));
        os.push((run("os", short, false).wall, run("os", os_long, false).wall));
        tokens.push((0.0, bench.number(&token, &["50000"])));
    }
    let switches = |long: u64| 2.0 * (long - short) as f64;
    let [fibers, alone] = [together, alone].map(|times| difference(&times) * 1e9 / switches(long));
    let os = difference(&os) * 1e9 / switches(os_long);
    // Processor time has a resolution of hundredths of a second, so a few nanoseconds are noise.
    let (fiber, os_thread, token) = ((fibers - alone).max(10.0), os - alone, difference(&tokens));
    vec![
        "ns between two threads             switch and 2 steps     2 steps alone    the switch".to_owned(),
        format!("fibers                             {fibers:>18.0}{alone:>18.0}{fiber:>14.0}"),
        format!("OS threads (--threads os)          {os:>18.0}{alone:>18.0}{os_thread:>14.0}"),
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

/// Measures runs of a tiny program, each in a forked process.
fn runs(bench: &Bench) -> Vec<String> {
    /// The anonymous memory that the server of a tiny program has written, in KiB, from its /proc/PID/status.
    const WRITTEN: &str = "256";
    let tiny = bench.compile("tiny", &["-O2"]);
    let forks = bench.compile("forks", &["-O2"]);
    let run = |runs: u64| {
        let runs = runs.to_string();
        let words = ["run", "--jobs", "1", "--strategy", "random-walk", "--races", "off", "--runs", &runs];
        bench.raddle(&[&words[..], &["--isolation", "fork", "--", &tiny]].concat())
    };
    let fork = |times: u64, more: &[&str]| {
        bench.time(&forks, &[&[times.to_string().as_str(), WRITTEN], more].concat())
    };
    let (short, long) = (100, 1_600);
    let [mut times, mut bare, mut with_thread] = [const { Vec::new() }; 3];
    for _ in 0..bench.rounds {
        times.push((run(short), run(long)));
        bare.push((fork(short, &[]), fork(long, &[])));
        with_thread.push((fork(short, &["thread"]), fork(long, &["thread"])));
    }
    let reported = |of: &dyn Fn(&Cost) -> f64, what: &str| {
        let [rate, bare, with_thread] = [&times, &bare, &with_thread].map(|costs| {
            let costs: Vec<_> = costs.iter().map(|(short, long)| (of(short), of(long))).collect();
            (long - short) as f64 / difference(&costs)
        });
        format!(
            "runs per second {what}, a program with two threads, one job: {rate:.0}; fork, exit and wait: {bare:.0} \
             ({:.2}, wanted: 0.5); the same with a thread made and joined: {with_thread:.0} ({:.2})",
            rate / bare,
            rate / with_thread
        )
    };
    vec![reported(&|cost| cost.wall, "by the clock"), reported(&|cost| cost.processor, "of processor time")]
}

/// Measures runs without a fork, of a tiny program and of one with much memory.
fn resets(bench: &Bench) -> Vec<String> {
    let forks = bench.compile("forks", &["-O2"]);
    let measure = |name: &str, written: &str, runs: [u64; 2], times: [u64; 2], wanted: f64| {
        let program = bench.compile(name, &["-O2"]);
        let run = |runs: u64| {
            let runs = runs.to_string();
            let words =
                ["run", "--jobs", "1", "--strategy", "random-walk", "--races", "off", "--runs", &runs];
            bench.raddle(&[&words[..], &["--isolation", "reset", "--", &program]].concat()).wall
        };
        let fork = |times: u64| bench.time(&forks, &[times.to_string().as_str(), written]).wall;
        let [mut ours, mut bare] = [const { Vec::new() }; 2];
        for _ in 0..bench.rounds {
            ours.push((run(runs[0]), run(runs[1])));
            bare.push((fork(times[0]), fork(times[1])));
        }
        let ours = (runs[1] - runs[0]) as f64 / difference(&ours);
        let bare = (times[1] - times[0]) as f64 / difference(&bare);
        format!(
            "runs per second without a fork, {name}: {ours:.0}; fork, exit and wait: {bare:.0} ({:.1}, wanted: {wanted})",
            ours / bare
        )
    };
    vec![
        measure("tiny", "256", [1_000, 21_000], [100, 1_600], 5.0),
        measure("touched", "65536", [1_000, 11_000], [10, 110], 50.0),
    ]
}

/// Measures a computation with all its memory accesses instrumented.
fn instrumented(bench: &Bench) -> Vec<String> {
    const SIZE: &str = "200000";
    let plain = bench.compile("sort", &["-O1"]);
    let sanitized = bench.compile_as("sort", "sort-tsan", &["-O1", "-fsanitize=thread"]);
    let seen = bench.compile_by_raddle("sort", "sort-raddle", &["-O1"]);
    let run = |runs: u64| {
        let runs = runs.to_string();
        let words = ["run", "--jobs", "1", "--strategy", "random-walk", "--races", "off", "--runs", &runs];
        bench.raddle(&[&words[..], &["--", &seen, SIZE]].concat()).processor
    };
    let (mut times, mut plains, mut sanitizeds) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.rounds.div_ceil(2) {
        times.push((run(1), run(3)));
        plains.push(bench.time(&plain, &[SIZE]).processor);
        sanitizeds.push(bench.time(&sanitized, &[SIZE]).processor);
    }
    let (run, plain, sanitized) = (difference(&times) / 2.0, best(&plains), best(&sanitizeds));
    vec![format!(
        "merge sort, instrumented: {:.0} ms a run; plain build {:.0} ms ({:.1}x), ThreadSanitizer {:.0} ms ({:.1}x)",
        run * 1e3,
        plain * 1e3,
        run / plain,
        sanitized * 1e3,
        run / sanitized
    )]
}

/// Measures an unmodified program on 50 MB.
fn pigz(bench: &Bench) -> Vec<String> {
    let input = bench.words_file(50_000_000);
    let words = ["-c", "-p", "4", &input];
    let run = |runs: &str| {
        let how = ["run", "--jobs", "1", "--strategy", "random-walk", "--races", "off", "--run-time", "10m"];
        bench.raddle(&[&how[..], &["--runs", runs, "--", "pigz"], &words].concat()).processor
    };
    let (mut times, mut plains) = (Vec::new(), Vec::new());
    for _ in 0..bench.rounds.div_ceil(2) {
        times.push((run("1"), run("2")));
        plains.push(bench.time("taskset", &[&["-c", "0", "pigz"][..], &words].concat()).processor);
    }
    let (run, plain) = (difference(&times), best(&plains));
    vec![format!(
        "pigz -p 4 on 50 MB: {run:.2} s a run; {plain:.2} s without raddle on one core ({:.2}x, wanted: 1.5x)",
        run / plain
    )]
}
