//! A wait that another thread ends, as in cancellation.

use raddle_engine::{Engine, MutexKind, Program, Reply, Resource, Rng, Strategy, run};
use raddle_model::{Access, Kind, LocationId, Name, ObjectId, Operation, ThreadId, Verdict};
use raddle_testkit::{affordable, is_thorough};

const MUTEX: ObjectId = ObjectId(0);
const CONDITION: ObjectId = ObjectId(1);
const SEMAPHORE: ObjectId = ObjectId(2);
const TOKEN: ObjectId = ObjectId(3);

/// The first thread waits; the second one takes a step and interrupts it.
struct Waiting {
    wait: Vec<Operation>,
    next: [usize; 2],
    /// The replies to the operations of the first thread.
    replies: Vec<Reply>,
}

fn on(kind: Kind, object: ObjectId) -> Operation {
    Operation::new(kind, LocationId(0)).on(object, Access::Write)
}

impl Program for Waiting {
    fn start(&mut self, engine: &mut Engine) {
        self.next = [0; 2];
        self.replies.clear();
        for (name, resource) in [
            (1, Resource::mutex(MutexKind::Normal)),
            (2, Resource::condition()),
            (3, Resource::semaphore(0)),
            (4, Resource::Token { available: false }),
        ] {
            engine.add_object(Name(name), resource);
        }
        engine.add_thread();
        engine.add_thread();
    }

    fn resume(&mut self, engine: &mut Engine, thread: ThreadId, reply: Reply) {
        let step = self.next[thread.index()];
        self.next[thread.index()] += 1;
        if thread == ThreadId(0) {
            self.replies.push(reply);
            match self.wait.get(step) {
                Some(&operation) => engine.announce(thread, operation),
                None => engine.finish(thread),
            }
        } else if step == 0 {
            engine.announce(thread, Operation::new(Kind::Yield, LocationId(1)));
        } else {
            engine.interrupt(ThreadId(0));
            engine.finish(thread);
        }
    }
}

/// Runs it under many schedules and counts those in which the wait was interrupted; the others are deadlocks.
fn interrupted(wait: &[Operation]) -> (u64, u64) {
    let mut engine = Engine::new(Default::default());
    let mut strategy = Walk(None);
    let mut program = Waiting { wait: wait.to_vec(), next: [0; 2], replies: Vec::new() };
    let (mut ended, mut deadlocks) = (0, 0);
    for number in 0..affordable(200) {
        strategy.begin(Rng::for_run(1, number));
        run(&mut engine, &mut program, &mut strategy);
        match engine.summary().verdict {
            Verdict::Passed => {
                assert!(program.replies.contains(&Reply::TimedOut), "{:?}", program.replies);
                ended += 1;
            }
            _ => deadlocks += 1,
        }
    }
    (ended, deadlocks)
}

/// Chooses any enabled thread.
struct Walk(Option<Rng>);

impl Strategy for Walk {
    fn begin(&mut self, rng: Rng) -> raddle_engine::Plan {
        self.0 = Some(rng);
        raddle_engine::Plan::Run
    }

    fn choose(&mut self, point: &raddle_engine::Point<'_>) -> raddle_engine::Choice {
        let rng = self.0.as_mut().expect("a run has begun");
        raddle_engine::Choice::Run(point.enabled()[rng.below(point.enabled().len() as u64) as usize])
    }

    fn pick(&mut self, _: u32) -> u32 {
        0
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(Walk(self.0.clone()))
    }
}

#[test]
fn a_wait_for_a_semaphore_ends() {
    // The thread is about to wait from the start, so no schedule interrupts too early.
    assert_eq!(interrupted(&[on(Kind::SemaphoreWait, SEMAPHORE)]), (affordable(200), 0));
}

#[test]
fn a_wait_for_a_condition_ends_with_the_mutex() {
    let wait = on(Kind::ConditionWait, CONDITION).on(MUTEX, Access::Write);
    let (ended, deadlocks) = interrupted(&[on(Kind::Lock, MUTEX), wait, on(Kind::Unlock, MUTEX)]);
    // An interruption before the lock is taken has no effect; one between the lock and the wait has.
    assert_eq!(ended + deadlocks, affordable(200));
    assert!(!is_thorough() || ended > 60 && deadlocks > 40, "{ended} {deadlocks}");
}

#[test]
fn a_wait_for_a_mutex_ends_without_the_mutex() {
    let (ended, deadlocks) = interrupted(&[on(Kind::Lock, MUTEX), on(Kind::Lock, MUTEX)]);
    // As above: an interruption before the first lock has no effect.
    assert_eq!(ended + deadlocks, affordable(200));
    assert!(!is_thorough() || ended > 60 && deadlocks > 40, "{ended} {deadlocks}");
}

#[test]
fn a_wait_for_a_token_ends() {
    assert_eq!(interrupted(&[on(Kind::Park, TOKEN)]), (affordable(200), 0));
}

#[test]
fn a_sleep_ends_without_time_passing() {
    let mut engine = Engine::new(Default::default());
    let sleep = Operation::new(Kind::Sleep, LocationId(0)).with_argument(1_000_000);
    let mut program = Waiting { wait: vec![sleep], next: [0; 2], replies: Vec::new() };
    let mut strategy = Walk(None);
    strategy.begin(Rng::for_run(1, 0));
    run(&mut engine, &mut program, &mut strategy);
    assert_eq!((engine.summary().verdict, engine.now()), (&Verdict::Passed, 0));
}
