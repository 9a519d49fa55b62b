//! The hash of the state: equal where runs meet, different where they cannot continue alike.

use raddle_engine::{Choice, Config, Needs, Plan, Point, Resource, Rng, Strategy};
use raddle_model::Kind;
use raddle_testkit::Act::{On, WaitFor};
use raddle_testkit::{Act, Follow, Script, once_under};

/// A fixed schedule whose states are recorded.
#[derive(Clone)]
struct Tracked(Follow);

impl Strategy for Tracked {
    fn begin(&mut self, rng: Rng) -> Plan {
        self.0.begin(rng)
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        self.0.choose(point)
    }

    fn pick(&mut self, arity: u32) -> u32 {
        self.0.pick(arity)
    }

    fn needs(&self) -> Needs {
        Needs { state: true, ..Needs::default() }
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

/// Returns the state before step `step` of the schedule that begins with `order`.
fn state(mut program: Script, order: &[u32], step: usize) -> u64 {
    let engine = once_under(Config::default(), &mut program, &mut Tracked(Follow::new(order)), 0);
    let trace = &engine.summary().trace;
    assert_eq!(trace.states.len(), trace.events.len());
    trace.states[step]
}

#[test]
fn independent_steps_lead_to_one_state_in_any_order() {
    let program = || Script::straight(2, &["W0 W0 W0", "W1 W1"]);
    assert_eq!(state(program(), &[0, 1, 0], 3), state(program(), &[1, 0, 0], 3));
    assert_ne!(state(program(), &[0, 1, 0], 3), state(program(), &[0, 1, 1], 3));
}

#[test]
fn signalled_and_timed_out_waiters_have_different_states() {
    let program = || {
        Script::new()
            .mutex()
            .object(Resource::condition())
            .thread(&[On(Kind::Lock, 0), WaitFor(1, 0, 10)])
            .thread(&[On(Kind::Signal, 1), Act::Step])
    };
    // Both threads have come equally far; in the second run the signal came too early.
    assert_ne!(state(program(), &[0, 0, 1, 1, 0], 4), state(program(), &[1, 1, 0, 0, 0], 4));
}

#[test]
fn waiting_and_woken_threads_have_different_states() {
    let program = || {
        Script::new()
            .mutex()
            .object(Resource::condition())
            .thread(&[On(Kind::Lock, 0), Act::Wait(1, 0)])
            .thread(&[On(Kind::Signal, 1), Act::Step])
    };
    assert_ne!(state(program(), &[0, 0, 1, 1], 3), state(program(), &[1, 0, 0, 1], 3));
}
