//! Random litmus programs: runs have no outcome that the axioms forbid, and nearly all that they allow.
//!
//! `RADDLE_LITMUS_PROGRAMS=20000 cargo test -p raddle-lab --test random_litmus -- --nocapture` compares more of them.

use raddle_engine::Rng;
use raddle_lab::compile;
use raddle_lab::litmus::{Standing, compare};
use raddle_model::MemoryModel;
use std::fmt::Write;

/// The number of programs that are compared unless the environment sets another.
const PROGRAMS: u64 = 2_000;

/// One of several words, by a random number.
fn one<'a>(rng: &mut Rng, words: &[&'a str]) -> &'a str {
    words[rng.below(words.len() as u64) as usize]
}

/// Returns a program of two or three threads with 4 to 7 events on two variables.
fn program(rng: &mut Rng) -> String {
    let threads = 2 + rng.below(2) as usize;
    let events = 4 + rng.below(4) as usize;
    // In some programs nothing is sequentially consistent, in some everything.
    let sequential = [0, 0, 30, 100][rng.below(4) as usize];
    let mut sizes = vec![1; threads];
    (threads..events.max(threads)).for_each(|_| sizes[rng.below(threads as u64) as usize] += 1);
    let mut text = "shared x = 0, y = 0\n".to_owned();
    let mut register = 0;
    for (thread, size) in sizes.into_iter().enumerate() {
        let _ = writeln!(text, "thread T{thread} {{");
        for _ in 0..size {
            let order = |rng: &mut Rng, words: &[&'static str]| {
                if rng.below(100) < sequential { "seq_cst" } else { one(rng, words) }
            };
            let variable = one(rng, &["x", "y"]);
            let value = 1 + rng.below(2);
            let kind = rng.below(100);
            if !(35..87).contains(&kind) {
                let _ = if kind < 35 {
                    let order = order(rng, &["relaxed", "release"]);
                    writeln!(text, "{variable}.store({value}, {order})")
                } else {
                    let order = order(rng, &["acquire", "release", "acq_rel", "seq_cst"]);
                    writeln!(text, "fence({order})")
                };
                continue;
            }
            register += 1;
            let _ = write!(text, "local r{register}; r{register} = {variable}.");
            let all = ["relaxed", "acquire", "release", "acq_rel"];
            let _ = match kind {
                35..72 => writeln!(text, "load({})", order(rng, &["relaxed", "acquire"])),
                72..80 => writeln!(text, "fetch_add(10, {})", order(rng, &all)),
                80..83 => writeln!(text, "swap(5, {})", order(rng, &all)),
                _ => {
                    let (success, failure) = (order(rng, &all), order(rng, &["relaxed", "acquire"]));
                    writeln!(text, "compare_exchange({}, 3, {success}, {failure})", rng.below(3))
                }
            };
        }
        text.push_str("}\n");
    }
    text
}

#[test]
#[expect(clippy::print_stdout, reason = "with more programs, a measurement")]
fn random_programs_have_the_outcomes_of_the_axioms() {
    // An environment variable: the number is an option of a measurement, not a setting of the test.
    let asked = option_of("RADDLE_LITMUS_PROGRAMS");
    let (programs, mut rng) = (asked.unwrap_or(PROGRAMS), Rng::for_run(21, 0));
    let (mut seen, mut unreached, mut runs) = (0, 0, 0);
    for number in 0..programs {
        let text = program(&mut rng);
        let found = compare(&compile(&text, &[]).unwrap(), MemoryModel::Weak).unwrap();
        assert_eq!(found.count(Standing::Forbidden), 0, "program {number}:\n{text}{found:?}");
        (seen, unreached) =
            (seen + found.count(Standing::Seen), unreached + found.count(Standing::Unreached));
        runs += found.runs;
    }
    println!("{programs} programs, {seen} outcomes seen, {unreached} not reached, {runs} runs");
    assert!(unreached * 1000 <= seen + unreached, "{unreached} of {} outcomes are missed", seen + unreached);
}

#[expect(clippy::disallowed_methods, reason = "an option of the measurement")]
fn option_of(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
