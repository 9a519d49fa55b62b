//! Counting and uniformity.

use super::*;
use raddle_engine::{Engine, Resource, explore};
use raddle_model::Kind;
use raddle_testkit::{Act, Script, affordable, is_thorough};
use std::ops::ControlFlow;

/// Learns from `learning` runs, then counts the partial orders of `runs` more.
fn census(program: &mut Script, upo: &mut Upo, learning: u64, runs: u64) -> Census {
    let (learning, runs) = (affordable(learning), affordable(runs));
    let mut engine = Engine::new(Default::default());
    let mut census = Census::default();
    explore(&mut engine, program, upo, (3, 0, learning), |_, _| ControlFlow::Continue(()));
    explore(&mut engine, program, upo, (3, learning, runs), |_, run| {
        census.count(run.fingerprint);
        ControlFlow::Continue(())
    });
    census
}

fn assert_uniform(census: &Census, orders: usize, runs: u64) {
    if !is_thorough() {
        return;
    }
    assert_eq!(census.distinct(), orders);
    let mean = runs as f64 / orders as f64;
    let margin = 4.5 * mean.sqrt();
    let (least, most) = (census.least().unwrap() as f64, census.most().unwrap() as f64);
    assert!(least > mean - margin && most < mean + margin, "{least} to {most}, uniform is {mean}");
}

#[test]
fn becomes_uniform() {
    // Three threads with reads and writes; POS prefers some partial orders several times over others.
    let mut program = Script::straight(2, &["W0 R1 W0", "W1 R0 W1", "R0 W1"]);
    let mut upo = Upo::new(10_000, Repeats::Avoided);
    let seen = census(&mut program, &mut upo, 5_000, 60_000);
    assert_uniform(&seen, upo.space().unwrap().round() as usize, 60_000);
}

#[test]
fn covers_without_repeating_itself() {
    // 70 partial orders. To see all takes 70 * (1 + 1/2 + .. + 1/70) = 338 runs on average if they are drawn at random.
    let runs_to_cover = |repeats| {
        let mut program = Script::straight(1, &["W0 W0 W0 W0"; 2]);
        let mut upo = Upo::new(10_000, repeats);
        let mut census = Census::default();
        let mut engine = Engine::new(Default::default());
        explore(&mut engine, &mut program, &mut upo, (1, 0, affordable(10_000)), |_, run| {
            census.count(run.fingerprint);
            if census.distinct() == 70 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .complete
    };
    let (avoided, allowed) = (runs_to_cover(Repeats::Avoided), runs_to_cover(Repeats::Allowed));
    assert!(!is_thorough() || avoided < 110 && allowed > 200, "{avoided} and {allowed} runs");
}

#[test]
fn counts_exactly() {
    for (threads, orders) in
        [(vec!["W0 R1", "W1 R0"], 3.0), (vec!["W0 W0 W0 W0"; 2], 70.0), (vec!["W0"; 4], 24.0)]
    {
        let mut program = Script::straight(2, &threads);
        let mut upo = Upo::new(10_000, Repeats::Avoided);
        census(&mut program, &mut upo, 3_000, 0);
        assert!(!is_thorough() || upo.space() == Some(orders), "{:?} are {orders}", upo.space());
    }
}

#[test]
fn picks_and_locks_are_choices_like_others() {
    // Two waiters, one signal for each, and a lock: which waiter wakes first is a pick.
    let waiter = [Act::On(Kind::Lock, 0), Act::Wait(1, 0), Act::On(Kind::Unlock, 0)];
    let signaller = [Act::On(Kind::Lock, 0), Act::On(Kind::Broadcast, 1), Act::On(Kind::Unlock, 0)];
    let mut program = Script::new().mutex().object(Resource::condition());
    program = program.thread(&waiter).thread(&waiter).thread(&signaller);
    let mut upo = Upo::new(100_000, Repeats::Avoided);
    let learnt = census(&mut program, &mut upo, 20_000, 40_000);
    assert_uniform(&learnt, upo.space().unwrap().round() as usize, 40_000);
    let mut choices = Script::new().object(Resource::Memory);
    choices = choices.thread(&[Act::Bare(Kind::Choose, 3), Act::W(0)]).thread(&[Act::W(0)]);
    let mut upo = Upo::new(1_000, Repeats::Avoided);
    let seen = census(&mut choices, &mut upo, 2_000, 12_000);
    assert_uniform(&seen, 6, 12_000);
}

#[test]
fn too_many_threads_are_left_to_pos() {
    let mut program = Script::straight(1, &["W0"; 65]);
    let mut upo = Upo::new(1_000, Repeats::Avoided);
    let seen = census(&mut program, &mut upo, 2, 50);
    assert_eq!((seen.distinct() as u64, upo.nodes.len(), upo.space()), (affordable(50), 0, None));
}

#[test]
fn a_full_table_falls_back_to_pos() {
    let mut program = Script::straight(1, &["W0 W0 W0", "W0 W0 W0"]);
    let mut upo = Upo::new(3, Repeats::Avoided);
    let seen = census(&mut program, &mut upo, 100, 20_000);
    assert_eq!((upo.nodes.len(), upo.space()), (3, None));
    assert!(!is_thorough() || seen.distinct() == 20, "{seen:?}");
}
