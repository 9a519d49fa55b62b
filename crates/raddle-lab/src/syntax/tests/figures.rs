//! Each figure compiles, has the bug that its header names, and the probabilities it states.

use super::interpreter::{Demotion, End, State, pct, random_walk, reachable_ends, schedules, thread_count};
use crate::syntax::{Fault, Program, compile};

const FAILED: End = End::Failed(Fault::Assertion);

fn figure(name: &str, overrides: &[(&str, i64)]) -> Program {
    let path = format!("{}/figures/{name}.rdl", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    compile(&source, overrides).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the exact share of runs that do not pass under random walk.
fn walk_fails(program: &Program) -> f64 {
    random_walk(program).iter().filter(|(end, _)| **end != End::Passed).map(|(_, share)| share).sum()
}

fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
}

#[test]
fn every_figure_ends_as_its_header_says() {
    let passed = vec![End::Passed];
    let fails = vec![End::Passed, FAILED];
    let hangs = vec![End::Passed, End::Deadlock];
    for (name, overrides, ends) in [
        ("pos_fig1a", vec![], &fails),
        ("pos_fig1b", vec![], &fails),
        ("pos_fig2", vec![], &fails),
        ("pct_fig1a", vec![], &fails),
        ("pct_fig1b", vec![], &fails),
        ("pct_fig1c", vec![], &hangs),
        ("pct_fig2", vec![], &vec![End::Passed, End::Misuse]),
        ("pct_fig3", vec![], &fails),
        ("pct_fig4", vec![], &fails),
        ("pct_fig5", vec![], &fails),
        ("thesis_fig1_1", vec![], &passed),
        ("thesis_fig1_2", vec![], &fails),
        ("thesis_fig2_3", vec![], &fails),
        ("thesis_fig3_2", vec![("n", 2)], &passed),
        ("stride_fig1", vec![], &hangs),
        ("stride_fig2", vec![], &fails),
        ("store_buffering", vec![], &passed),
        ("reorder", vec![("n", 4)], &fails),
        ("twostage", vec![("n", 3)], &fails),
        ("lost_update", vec![], &fails),
        ("abba", vec![], &hangs),
        ("philosophers", vec![], &hangs),
        ("spinlock", vec![("n", 3)], &passed),
        ("lost_wakeup", vec![], &hangs),
        ("shuttle_depth3", vec![], &fails),
        ("branches", vec![], &passed),
    ] {
        assert_eq!(reachable_ends(&figure(name, &overrides)), *ends, "{name}");
    }
}

#[test]
fn every_figure_is_listed() {
    let folder = format!("{}/figures", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(folder).expect("the folder of figures").filter_map(Result::ok);
    let count = files.filter(|file| file.path().extension().is_some_and(|end| end == "rdl")).count();
    assert_eq!(count, 26, "add new figures to every_figure_ends_as_its_header_says");
}

#[test]
fn random_walk_has_the_stated_probabilities() {
    assert_close(walk_fails(&figure("pos_fig1a", &[])), 1.0 / 32.0);
    assert_close(walk_fails(&figure("pos_fig1a", &[("m", 10)])), 1.0 / 1024.0);
    assert_close(walk_fails(&figure("pos_fig1b", &[])), 1.0 / 4.0);
    assert_close(walk_fails(&figure("pos_fig2", &[])), 1.0 / 128.0);
    assert_close(walk_fails(&figure("pct_fig1c", &[])), 1.0 / 2.0);
    assert_close(walk_fails(&figure("pct_fig2", &[])), 1.0 / 4.0);
    assert_close(walk_fails(&figure("pct_fig5", &[("m", 3), ("n", 4)])), 1.0 / 32.0 + 1.0 / 64.0);
    assert_close(walk_fails(&figure("thesis_fig1_2", &[])), 1.0 / 8.0);
    assert_close(walk_fails(&figure("shuttle_depth3", &[])), 1.0 / 108.0);
}

#[test]
fn pct_has_the_stated_probabilities() {
    let share = |name: &str, depth, k| {
        let (failures, draws) = pct(&figure(name, &[]), depth, k, Demotion::ByIndex);
        failures as f64 / draws as f64
    };
    assert_close(share("pos_fig1a", 1, 6), 1.0 / 2.0);
    assert_close(share("pos_fig2", 3, 10), 1.0 / 200.0);
    assert_close(share("pct_fig1a", 1, 6), 1.0 / 2.0);
    assert_close(share("pct_fig2", 2, 3), 1.0 / 6.0);
    assert_close(share("pct_fig3", 1, 4), 1.0 / 2.0);
    assert_close(share("pct_fig5", 1, 14), 1.0);
    assert_close(share("philosophers", 2, 15), 1.0 / 30.0);
}

#[test]
fn depths_are_as_stated() {
    for (name, depth, k) in [
        ("pos_fig1b", 1, 8),
        ("pos_fig2", 3, 10),
        ("pct_fig1b", 2, 5),
        ("pct_fig1c", 2, 8),
        ("pct_fig2", 2, 3),
        ("pct_fig4", 2, 4),
        ("thesis_fig1_2", 2, 4),
        ("thesis_fig2_3", 2, 13),
        ("stride_fig1", 2, 8),
        ("stride_fig2", 2, 9),
        ("reorder", 2, 6),
        ("twostage", 2, 14),
        ("lost_update", 2, 11),
        ("abba", 2, 17),
        ("philosophers", 2, 15),
        ("lost_wakeup", 2, 9),
        ("shuttle_depth3", 3, 6),
    ] {
        let two: &[(&str, i64)] = if ["reorder", "twostage"].contains(&name) { &[("n", 2)] } else { &[] };
        let program = figure(name, two);
        let threads = thread_count(&program) as f64;
        let (failures, draws) = pct(&program, depth, k, Demotion::ByIndex);
        let bound = 1.0 / (threads * (k as f64).powi(depth as i32 - 1));
        assert!(failures as f64 / draws as f64 >= bound - 1e-12, "{name}: {failures} of {draws}");
        if depth > 1 {
            assert_eq!(pct(&program, depth - 1, k, Demotion::ByIndex).0, 0, "{name} is less deep");
        }
    }
}

#[test]
fn demoting_to_the_bottom_never_finds_shuttle_depth3() {
    let program = figure("shuttle_depth3", &[]);
    assert_eq!(pct(&program, 3, 6, Demotion::ByIndex), (2, 216)); // 2/216 = 1/108.
    for depth in 1..=5 {
        assert_eq!(pct(&program, depth, 6, Demotion::ToTheBottom).0, 0, "depth {depth}");
    }
}

#[test]
fn thesis_fig1_2_has_the_four_stated_schedules() {
    let found = schedules(&figure("thesis_fig1_2", &[]));
    let paths: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["pppq", "ppq", "pqpp", "qppp"]);
    for (path, state) in &found {
        assert_eq!(state.end == Some(FAILED), path == "ppq", "{path}");
    }
}

#[test]
fn the_running_example_fails_in_one_schedule_only() {
    let found = schedules(&figure("pos_fig2", &[]));
    let failing: Vec<_> =
        found.iter().filter(|(_, state)| state.end == Some(FAILED)).map(|(path, _)| path.as_str()).collect();
    assert_eq!(failing, ["BABBAABBBA"]);
    let failing = schedules(&figure("shuttle_depth3", &[]))
        .into_iter()
        .filter(|(_, state)| state.end == Some(FAILED))
        .map(|(path, _)| path);
    assert_eq!(failing.collect::<Vec<_>>(), ["ABBCBA"]);
}

#[test]
fn store_buffering_has_six_interleavings() {
    let found = schedules(&figure("store_buffering", &[]));
    assert_eq!(found.len(), 6);
    assert!(found.iter().all(|(path, _)| path.len() == 4));
}

#[test]
fn thesis_fig1_1_ends_as_stated() {
    let found = schedules(&figure("thesis_fig1_1", &[]));
    let values: Vec<_> = found.iter().map(|(path, state)| (path.as_str(), state.shared[0])).collect();
    assert_eq!(values, [("ppq", 1), ("pqp", 1), ("qpp", 2)]);
}

#[test]
fn straight_lines_are_recognised() {
    for (name, expected) in [
        ("pos_fig1a", true),
        ("pos_fig2", true),
        ("thesis_fig3_2", true),
        ("philosophers", true),
        ("reorder", true),
        ("pct_fig1b", false),
        ("twostage", false),
        ("spinlock", false),
    ] {
        assert_eq!(figure(name, &[]).is_straight_line, expected, "{name}");
    }
}

#[test]
fn copies_reach_their_own_objects() {
    let program = figure("philosophers", &[("n", 4)]);
    let state = State::new(&program);
    for id in 0..4 {
        let touched = state.accesses(&program, id);
        let name = &program.objects[touched.as_slice()[0].0 as usize].name;
        assert_eq!(*name, format!("fork[{id}]"));
    }
}
