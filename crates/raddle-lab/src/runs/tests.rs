//! Failing runs of the figures are minimized to the optimum, or nearly so, and their explanations agree with
//! all runs.

mod explain;

use super::{Lab, assignment, compile};
use raddle_engine::{Engine, Plan, Rng, run as run_once};
use raddle_explain::{Execute, Symptom, Wanted};
use raddle_model::{Failure, FrontEnd, Schedule, Settings, TraceFile, TraceStep};
use raddle_search::Limits;
use std::convert::Infallible;
use std::fmt::Write;
use std::time::Duration;

/// Reports no progress.
struct Silent;

impl raddle_search::Progress for Silent {
    fn begin(&self, _runs: u64) {}

    fn ran(&self, _note: &dyn Fn() -> String) {}
}

fn reduce(file: &TraceFile, execute: &mut dyn Execute, limits: Limits) -> Option<TraceFile> {
    let Ok(small) = raddle_search::reduce(file, execute, limits, &Silent, &mut |_| Ok::<(), Infallible>(()));
    small
}

/// The largest number of runs of an exhaustive search.
const MOST: u64 = 400_000;

/// Returns a figure as a file without steps.
fn figure(name: &str, parameters: &[(String, i64)]) -> TraceFile {
    let path = format!("{}/figures/{name}.rdl", env!("CARGO_MANIFEST_DIR"));
    TraceFile {
        id: "a".into(),
        program: std::fs::read_to_string(path).unwrap(),
        parameters: parameters.to_vec(),
        settings: Settings { step_limit: 10_000, ..Settings::default() },
        ..TraceFile::new(FrontEnd::Lab)
    }
}

/// Calls `look` with the failing runs of a strategy, until none is left or `look` returns true. Returns true
/// if no run is left.
fn failing(file: &TraceFile, strategy: &str, runs: u64, look: &mut dyn FnMut(TraceFile) -> bool) -> bool {
    each_run(file, strategy, runs, &mut |run| run.verdict.failure().is_some() && look(run))
}

/// Does the same for all runs.
fn each_run(file: &TraceFile, strategy: &str, runs: u64, look: &mut dyn FnMut(TraceFile) -> bool) -> bool {
    let mut machine = compile(&file.program, &file.parameters).unwrap();
    let mut strategy = raddle_strategies::build(strategy).unwrap();
    let mut engine = Engine::new(file.settings.into());
    for run in 0..runs {
        if strategy.begin(Rng::for_run(1, run)) == Plan::Exhausted {
            return true;
        }
        run_once(&mut engine, &mut machine, &mut *strategy);
        let summary = engine.summary();
        strategy.learn(&summary);
        let step =
            |event: &raddle_model::Event| TraceStep { thread: event.thread.0, operation: event.operation };
        let found = TraceFile {
            verdict: summary.verdict.clone(),
            threads: machine.thread_names(),
            locations: machine.location_names(),
            steps: summary.trace.events.iter().map(step).collect(),
            picks: summary.trace.picks.iter().map(|pick| (pick.step, pick.arity, pick.value)).collect(),
            ..file.clone()
        };
        if look(found) {
            return false;
        }
    }
    false
}

/// Minimizes the failing run with the most switches among a few of a random walk. Returns its number of
/// switches before and after, and the fewest switches of any run with that failure, if all runs could be
/// examined.
fn measured(name: &str, parameters: &[(String, i64)]) -> (u64, u64, Option<u64>) {
    let file = figure(name, parameters);
    let mut found: Option<TraceFile> = None;
    let mut seen = 0;
    failing(&file, "random-walk", 100_000, &mut |new| {
        seen += 1;
        if found.as_ref().is_none_or(|old| new.switches() > old.switches()) {
            found = Some(new);
        }
        seen == 20
    });
    let found = found.unwrap_or_else(|| panic!("{name} fails"));
    let machine = compile(&file.program, &file.parameters).unwrap();
    let mut lab = Lab::new(machine.clone(), &found);
    let limits = Limits { runs: 2_000, time: Duration::from_secs(600), fruitless: u64::MAX };
    let small = reduce(&found, &mut lab, limits).expect("the failure recurs");
    assert_eq!(Symptom::of(&small), Symptom::of(&found), "{name}");
    let again = lab.execute(&Schedule::of(&small), Wanted::Failing).expect("a minimized run replays");
    assert_eq!((again.run.steps, again.run.verdict), (small.steps.clone(), small.verdict.clone()), "{name}");
    let mut fewest = found.switches();
    let symptom = Symptom::of(&found);
    let all = failing(&file, "dfs", MOST, &mut |run| {
        if run.switches() < fewest && Symptom::of(&run) == symptom {
            fewest = run.switches();
        }
        false
    });
    (found.switches(), small.switches(), all.then_some(fewest))
}

/// The figures without parameters.
const FIGURES: [&str; 19] = [
    "abba",
    "lost_update",
    "lost_wakeup",
    "pct_fig1a",
    "pct_fig1b",
    "pct_fig1c",
    "pct_fig2",
    "pct_fig3",
    "pct_fig4",
    "pct_fig5",
    "philosophers",
    "pos_fig1a",
    "pos_fig1b",
    "pos_fig2",
    "shuttle_depth3",
    "stride_fig1",
    "stride_fig2",
    "thesis_fig1_2",
    "thesis_fig2_3",
];

#[test]
fn figures_become_small() {
    let few = [("n".to_owned(), 2)];
    let programs: Vec<(&str, &[(String, i64)])> = FIGURES
        .into_iter()
        .map(|name| (name, &[][..]))
        .chain([("reorder", &few[..]), ("twostage", &few[..])])
        .collect();
    let mut known = 0;
    let mut exact = 0;
    let mut table = String::new();
    for (name, parameters) in &programs {
        let (found, small, fewest) = measured(name, parameters);
        let _ = writeln!(table, "{name}: {found} -> {small}, fewest {fewest:?}");
        assert!(small <= found, "{table}");
        if let Some(fewest) = fewest {
            known += 1;
            exact += usize::from(small == fewest);
            assert!(small <= 2 * fewest, "{table}");
        }
    }
    assert!(programs.len() > 20 && known >= 15, "{known} known\n{table}");
    // Nearly all of them are minimal.
    assert!(10 * exact >= 9 * known, "{exact} of {known}\n{table}");
}

/// The second assertion fails only if the thread is preempted; the first one fails with fewer switches.
#[test]
fn another_failure_is_not_the_same() {
    let mut file = figure("abba", &[]);
    file.program =
        "shared x = 0\nthread A {\n    local r\n    r = x\n    assert r == 0\n    step\n    r = x\n    \
                    assert r == 0\n}\nthread B {\n    step\n    x = 1\n}\n"
            .to_owned();
    let mut found = None;
    failing(&file, "random-walk", 1_000, &mut |run| {
        let late = matches!(run.verdict.failure(), Some(Failure::Assertion { location, .. })
            if run.locations[location.index()].contains("line 8"));
        if late && run.switches() > 2 {
            found = Some(run);
        }
        found.is_some()
    });
    let found = found.expect("the second assertion fails sometimes");
    let machine = compile(&file.program, &[]).unwrap();
    let limits = Limits { runs: 2_000, time: Duration::from_secs(600), fruitless: u64::MAX };
    let small = reduce(&found, &mut Lab::new(machine, &found), limits).unwrap();
    assert_eq!((Symptom::of(&small), small.switches()), (Symptom::of(&found), 2));
}

/// Two threads each add to a shared sum, which one of them may lose, and before and after that to one of
/// their own.
const LONG: &str = "shared x = 0, a = 0, b = 0\nsemaphore done = 0\nmain {\n    spawn one\n    spawn two\n    repeat 2 { wait done }\n    \
                    assert x == 2\n}\nthread one {\n    local t\n    repeat 1500 { a = 1 }\n    t = x\n    x = t + 1\n    repeat 1500 { a = 2 }\n    \
                    signal done\n}\nthread two {\n    local t\n    repeat 1500 { b = 1 }\n    t = x\n    x = t + 1\n    repeat 1500 { b = 2 }\n    \
                    signal done\n}\n";

#[test]
fn a_long_run_is_reduced_in_few_runs() {
    let mut file = figure("abba", &[]);
    file.program = LONG.to_owned();
    let mut found = None;
    failing(&file, "random-walk", 10_000, &mut |run| {
        found = Some(run);
        true
    });
    let found = found.expect("an update is lost sometimes");
    assert!(found.switches() > 2_000, "{}", found.switches());
    let machine = compile(&file.program, &[]).unwrap();
    let limits = Limits { runs: 2_000, time: Duration::from_secs(600), fruitless: u64::MAX };
    let small = reduce(&found, &mut Lab::new(machine, &found), limits).unwrap();
    let runs = small.minimized.expect("it tells of it").executions;
    // Without removing many switches at once it takes more than twice as many runs.
    assert!(small.switches() <= 5 && runs < 1_000, "{} switches after {runs} runs", small.switches());
}

#[test]
fn parameters_are_parsed() {
    assert_eq!(assignment("n = -5"), Ok(("n".to_owned(), -5)));
    assert!(assignment("n").is_err() && assignment("n=x").is_err());
}
