//! Compares explanations with all runs of a program.
//!
//! The runs come from an exhaustive search. One pair of operations is the correct answer if some passing run
//! has it in the other order, together with nothing but the consequences of that. The only part of
//! raddle-explain used here is the comparison of failures.

use super::{FIGURES, Lab, Limits, compile, each_run, failing, figure, reduce};
use raddle_engine::Rng;
use raddle_explain::Symptom;
use raddle_explain::{Effort, explain};
use raddle_model::{Kind, Reads, TraceFile, TraceStep, Verdict, dependent};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The largest number of runs of an exhaustive search. Programs with more are skipped.
const MOST: u64 = 60_000;

/// A step, identified across runs: its thread, its location, and the number of earlier visits of its thread.
type Key = (u32, String, usize);

/// Two steps, in their order in the failing run.
type Order = (Key, Key);

fn keys(run: &TraceFile) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    for step in &run.steps {
        let place = &run.locations[step.operation.location.index()];
        let before = keys.iter().filter(|(thread, text, _)| *thread == step.thread && text == place).count();
        keys.push((step.thread, place.clone(), before));
    }
    keys
}

/// Returns true for steps that only end something: they cannot come earlier by themselves.
fn is_end(step: &TraceStep) -> bool {
    !step.operation.kind.info().reversible
}

/// Returns the end in `run` of the critical section that begins with step `lock`; `lock` itself if it begins
/// none.
fn section(run: &TraceFile, lock: usize) -> usize {
    let TraceStep { thread, operation } = run.steps[lock];
    if operation.kind != Kind::Lock {
        return lock;
    }
    let ends = |step: &TraceStep| {
        let same = step.operation.objects().any(|(object, _)| Some(object) == operation.object());
        step.thread == thread && same && step.operation.kind.info().holding.gives_back()
    };
    let end = (lock + 1..run.steps.len()).find(|&step| ends(&run.steps[step]));
    end.unwrap_or(run.steps.len())
}

/// Returns the orders of dependent steps of `failing` that are reversed in `passing`, without those that
/// follow from another one.
fn reversed(failing: &TraceFile, passing: &TraceFile) -> Vec<Order> {
    let (ours, theirs) = (keys(failing), keys(passing));
    let there = |key: &Key| theirs.iter().position(|other| other == key);
    let mut all: Vec<(usize, Option<usize>, usize)> = Vec::new();
    for (first, step) in failing.steps.iter().enumerate() {
        let now = there(&ours[first]);
        for (second, later) in passing.steps.iter().enumerate() {
            let is_later = ours.iter().position(|key| *key == theirs[second]).is_none_or(|at| at > first);
            let is_before = now.is_none_or(|now| second < now);
            let are_dependent = dependent(&step.operation, &later.operation, Reads::Independent);
            if step.thread != later.thread
                && is_later
                && is_before
                && are_dependent
                && !is_end(step)
                && !is_end(later)
            {
                all.push((first, now, second));
            }
        }
    }
    let implies = |&(first, _, second): &(usize, Option<usize>, usize),
                   other: &(usize, Option<usize>, usize)| {
        failing.steps[first].thread == failing.steps[other.0].thread
            && passing.steps[second].thread == passing.steps[other.2].thread
            && first <= other.0
            && other.2 <= section(passing, second)
            && (first, second) != (other.0, other.2)
    };
    let is_cause = |pair: &&(usize, Option<usize>, usize)| {
        !all.iter().any(|other| implies(other, pair) && !(implies(pair, other) && **pair < *other))
    };
    all.iter().filter(is_cause).map(|pair| (ours[pair.0].clone(), theirs[pair.2].clone())).collect()
}

/// The errors in the explanations of one program.
#[derive(Default, Debug)]
struct Wrong {
    /// Number of compared explanations, and the number of those with a single pair.
    compared: usize,
    single: usize,
    /// Untrue statements.
    untrue: Vec<String>,
    /// Orders that are not sufficient for the failure. Schedules are sampled, so there may be some.
    not_enough: Vec<String>,
    /// Explanations for which fewer orders are sufficient. Schedules that keep an order inside a critical
    /// section may not occur.
    too_many: Vec<String>,
    /// True statements that were not found.
    missed: Vec<String>,
}

/// Explains some failing runs of a program and compares the result with all of its runs, if there are not too
/// many.
fn compare(name: &str, file: &TraceFile, most: usize, wrong: &mut Wrong) {
    let mut found: Vec<TraceFile> = Vec::new();
    failing(file, "random-walk", 2_000, &mut |run| {
        found.push(run);
        found.len() == most
    });
    if found.is_empty() {
        return;
    }
    let (mut passing, mut failed) = (BTreeSet::new(), Vec::new());
    let is_all = each_run(file, "dfs", MOST, &mut |run| {
        if run.verdict == Verdict::Passed {
            passing.insert(
                run.steps.iter().map(|step| (step.thread, step.operation.location.0)).collect::<Vec<_>>(),
            );
        }
        failed.push(run);
        false
    });
    if !is_all {
        return;
    }
    let runs = failed;
    depth(name, &found[0], &runs, wrong);
    for run in found {
        let machine = compile(&file.program, &file.parameters).unwrap();
        let effort = Effort { executions: 100_000, samples: 50, depth: false, near: false };
        let explanation = explain(&run, effort, &mut |_| true, &mut Lab::new(machine, &run)).unwrap();
        let again = explanation.run.as_ref().unwrap();
        assert_eq!(Symptom::of(again), Symptom::of(&run), "{name}");
        wrong.compared += 1;
        let order: Vec<&str> =
            again.steps.iter().map(|step| &*again.locations[step.operation.location.index()]).collect();
        let singles: BTreeSet<Order> = runs
            .iter()
            .filter(|run| run.verdict == Verdict::Passed)
            .filter_map(|run| <[Order; 1]>::try_from(reversed(again, run)).ok())
            .map(|[order]| order)
            .collect();
        wrong.single += usize::from(!singles.is_empty());
        if let Some(other) = &explanation.passing {
            let steps: Vec<_> =
                other.steps.iter().map(|step| (step.thread, step.operation.location.0)).collect();
            assert!(passing.contains(&steps), "{name}: the passing run is not a run of the program");
            let key = |step: usize| {
                let with = TraceFile { steps: explanation.steps[..=step].to_vec(), ..again.clone() };
                keys(&with).pop().unwrap()
            };
            let orders: BTreeSet<Order> =
                explanation.swapped.iter().map(|pair| (key(pair.first), key(pair.second))).collect();
            let real: BTreeSet<Order> = reversed(again, other).into_iter().collect();
            if orders != real {
                wrong.untrue.push(format!("{name}: reported {orders:?} instead of {real:?}, of {order:?}"));
            }
        }
        match explanation.swapped.len() {
            1 if singles.is_empty() => wrong.untrue.push(format!("{name}: no single pair: {order:?}")),
            1 => {}
            _ if !singles.is_empty() => {
                wrong
                    .missed
                    .push(format!("{name}: {singles:?}\n  of {order:?}\n  {:?}", explanation.swapped));
            }
            _ => {}
        }
    }
}

/// Like [`Key`], with the number of the location, which is the same in all runs of the lab.
type Own = (u32, u32, usize);

/// Returns the key of each step.
fn own(run: &TraceFile) -> Vec<Own> {
    let place = |step: &TraceStep| (step.thread, step.operation.location.0);
    let own = |(index, step): (usize, &TraceStep)| {
        let (thread, location) = place(step);
        (
            thread,
            location,
            run.steps[..index].iter().filter(|other| place(other) == (thread, location)).count(),
        )
    };
    run.steps.iter().enumerate().map(own).collect()
}

/// Compares the orders that are reported as sufficient for the failure with all runs that keep them.
fn depth(name: &str, run: &TraceFile, runs: &[TraceFile], wrong: &mut Wrong) {
    let machine = compile(&run.program, &run.parameters).unwrap();
    let effort = Effort { executions: 100_000, samples: 100, depth: true, near: false };
    let explanation = explain(run, effort, &mut |_| true, &mut Lab::new(machine, run)).unwrap();
    let steps: Vec<Vec<Own>> = runs.iter().map(own).collect();
    let symptom = Symptom::of(run);
    let is_same: Vec<bool> = runs.iter().map(|other| Symptom::of(other) == symptom).collect();
    // A run that ends without the earlier step keeps an order, unless it is the end that comes too early.
    let keeps = |steps: &[Own], run: &TraceFile, before, after| {
        let at = |step| steps.iter().position(|other| *other == step);
        let may_miss =
            |after: usize| run.verdict == Verdict::Passed && run.steps[after].operation.kind != Kind::Exit;
        at(after).is_none_or(|after| at(before).map_or(may_miss(after), |before| before < after))
    };
    let is_enough = |orders: &[(Own, Own)]| {
        let kept =
            |index: usize| orders.iter().all(|&(one, two)| keeps(&steps[index], &runs[index], one, two));
        (0..runs.len()).all(|index| is_same[index] || !kept(index))
    };
    let all = TraceFile { steps: explanation.steps.clone(), ..run.clone() };
    let places = own(&all);
    let orders: Vec<_> =
        explanation.constraints.iter().map(|pair| (places[pair.first], places[pair.second])).collect();
    if explanation.always != is_enough(&[]) || (!orders.is_empty() && !is_enough(&orders)) {
        wrong.not_enough.push(format!("{name}: {orders:?} are not enough"));
    }
    if !explanation.smallest || orders.len() < 2 {
        return;
    }
    for (second, later) in run.steps.iter().enumerate() {
        for (first, earlier) in run.steps[..second].iter().enumerate() {
            let (one, two) = (places[first], places[second]);
            let counts = earlier.thread != later.thread && !is_end(earlier) && !is_end(later);
            let are_dependent = dependent(&earlier.operation, &later.operation, Reads::Independent);
            if counts && are_dependent && is_enough(&[(one, two)]) {
                wrong.too_many.push(format!("{name}: one order is enough: {one:?} {two:?}, not {orders:?}"));
            }
        }
    }
}

#[test]
fn explanations_of_the_figures_are_true_of_all_their_runs() {
    let few = [("n".to_owned(), 1)];
    let mut wrong = Wrong::default();
    for name in FIGURES {
        let before = wrong.compared;
        compare(name, &figure(name, &[]), 3, &mut wrong);
        assert!(wrong.compared > before || ["stride_fig1", "thesis_fig2_3"].contains(&name), "{name}");
    }
    for name in ["reorder", "twostage"] {
        compare(name, &figure(name, &few), 3, &mut wrong);
    }
    let lists = [&wrong.untrue, &wrong.missed, &wrong.not_enough, &wrong.too_many];
    assert!(lists.iter().all(|list| list.is_empty()), "{wrong:#?}");
    assert!(wrong.compared > 50 && wrong.single > 40, "{wrong:#?}");
}

/// Generates a small program of two or three threads that read, write and lock, with one assertion somewhere.
fn program(rng: &mut Rng) -> String {
    let mut text = "shared x = 0, y = 0\nmutex m\n".to_owned();
    let threads = 2 + rng.below(2);
    for thread in 0..threads {
        let _ = writeln!(text, "thread T{thread} {{\n    local r, s");
        let mut steps = 1 + rng.below(if threads == 2 { 4 } else { 2 });
        while steps > 0 {
            steps -= 1;
            let var = ["x", "y"][rng.below(2) as usize];
            let body = match rng.below(4) {
                0 => format!("{var} = {}", 1 + rng.below(2)),
                1 => format!("r = {var}"),
                2 => format!("r = {var}\n    {var} = r + 1"),
                _ => format!("s = {var}"),
            };
            let _ = if rng.below(4) == 0 {
                writeln!(text, "    lock m\n    {body}\n    unlock m")
            } else {
                writeln!(text, "    {body}")
            };
        }
        if rng.below(2) == 0 {
            let condition = ["r == s", "r < 2", "r == 0", "s != 1", "r + s != 1"][rng.below(5) as usize];
            let _ = writeln!(text, "    assert {condition}");
        }
        text.push_str("}\n");
    }
    text
}

#[test]
fn explanations_of_small_programs_are_true_of_all_their_runs() {
    let mut wrong = Wrong::default();
    for number in 0..1_200 {
        let mut file = figure("abba", &[]);
        file.program = program(&mut Rng::for_run(7, number));
        compare(&format!("{number}: {}", file.program), &file.clone(), 1, &mut wrong);
    }
    let (untrue, missed) = (wrong.untrue.len(), wrong.missed.len());
    let some = |texts: &[String]| texts.iter().take(4).cloned().collect::<Vec<_>>().join("\n");
    assert!(
        untrue == 0 && missed == 0,
        "{} compared, {} single; {untrue} untrue, {missed} missed\n{}\n{}",
        wrong.compared,
        wrong.single,
        some(&wrong.untrue),
        some(&wrong.missed)
    );
    // A hundred samples miss what has a probability of one in a hundred.
    for list in [&wrong.not_enough, &wrong.too_many] {
        assert!(100 * list.len() <= wrong.compared, "{}", list.join("\n"));
    }
    assert!(wrong.compared > 300 && wrong.single > 200, "{} {}", wrong.compared, wrong.single);
}

/// The short explanation after a search needs few runs.
#[test]
fn the_reason_of_a_lost_update_and_of_a_deadlock_is_found_near_the_failure() {
    for (name, kind, sentence) in [
        ("lost_update", "atomicity violation", "then overwrote it"),
        ("abba", "lock-order inversion", "comes first, the run passes."),
    ] {
        let file = figure(name, &[]);
        let mut found = None;
        failing(&file, "random-walk", 1_000, &mut |run| found.insert(run).verdict.failure().is_some());
        let found = found.unwrap_or_else(|| panic!("{name} fails"));
        let machine = compile(&file.program, &file.parameters).unwrap();
        let mut lab = Lab::new(machine, &found);
        let effort = Effort::after_a_failure(found.steps.len());
        let explanation = explain(&found, effort, &mut |_| true, &mut lab).expect("the failure occurs again");
        assert!(explanation.executions < 150, "{name}: {} runs", explanation.executions);
        let run = explanation.run.as_ref().expect("it was made again");
        let reason =
            raddle_explain::reason(run, &explanation).unwrap_or_else(|| panic!("{name} has a reason"));
        assert_eq!((reason.kind.as_deref(), reason.depth), (Some(kind), Some(2)), "{name}");
        assert!(reason.why.join(" ").contains(sentence), "{:?}", reason.why);
        // A deadlock has at most one wait for each thread beside its steps.
        let most = (run.steps.len() + run.threads.len()) as u32;
        let pairs = reason.swapped.iter().chain(&reason.sufficient);
        assert!(!reason.sufficient.is_empty() && pairs.clone().all(|(one, two)| one < two && *two < most));
        let again = explain(&found, effort, &mut |_| true, &mut lab).expect("the failure occurs again");
        assert_eq!(raddle_explain::reason(run, &again), Some(reason), "the same each time");
    }
}

/// Returns the reason of a failing run of `program`, minimized with the limits of the report after a search.
fn reason_of(program: &str) -> Option<raddle_model::Reason> {
    let mut file = figure("lost_update", &[]);
    file.parameters.clear();
    file.program = program.to_owned();
    let mut found = None;
    failing(&file, "random-walk", 1_000, &mut |run| found.insert(run).verdict.failure().is_some());
    let found = found.expect("it fails");
    let mut lab = Lab::new(compile(&file.program, &[]).unwrap(), &found);
    let limits = Limits { runs: 600, time: std::time::Duration::from_secs(600), fruitless: u64::MAX };
    let small = reduce(&found, &mut lab, limits).expect("the failure recurs");
    let effort = Effort::after_a_failure(small.steps.len());
    let explained = explain(&small, effort, &mut |_| true, &mut lab).expect("the failure occurs again");
    raddle_explain::reason(explained.run.as_ref()?, &explained)
}

/// The steps that follow the failure in other runs are many more than those in which pairs are searched.
#[test]
fn a_thread_with_much_left_to_do_does_not_hide_the_reason() {
    let program = "
        shared x = 0, y = 0
        main { spawn writer; spawn reader }
        thread writer { repeat 3000 { x++; y++ } }
        thread reader { local a, b; a = x; b = y; assert a == b }";
    let reason = reason_of(program).expect("there is a reason");
    assert!(reason.why.join(" ").contains("comes first, the run passes."), "{:?}", reason.why);
}

/// With hundreds of pairs of steps in the wrong order, those at the object of the failed assertion are tried first.
#[test]
fn many_threads_do_not_hide_the_reason() {
    let program = "
        shared total = 0, early = 0
        mutex m
        semaphore done = 0
        main {
            repeat 3 { spawn careless }
            repeat 60 { spawn counter }
            repeat 63 { wait done }
            assert total == 60
            assert early == 3
        }
        thread careless { local t; t = early; early = t + 1; signal done }
        thread counter { lock m; total = total + 1; unlock m; signal done }";
    let reason = reason_of(program).expect("there is a reason");
    assert!(reason.why.join(" ").contains("`early`"), "{:?}", reason.why);
}
