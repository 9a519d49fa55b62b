//! Steps of synchronisation without an announcement, where the strategy lets a thread run on.

use raddle_engine::{
    Choice, Config, Engine, MutexKind, Needs, Next, Plan, Point, RanOn, Reply, Resource, Rng, Strategy,
};
use raddle_model::{Access, Kind, LocationId, Name, ObjectId, Operation, ThreadId, Verdict};

const MUTEX: ObjectId = ObjectId(0);
const FIRST: ThreadId = ThreadId(0);
const SECOND: ThreadId = ThreadId(1);

/// Prefers the thread that was created first, and lets it run on.
#[derive(Clone)]
struct Eldest {
    runs_on: bool,
}

impl Strategy for Eldest {
    fn begin(&mut self, _rng: Rng) -> Plan {
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        let thread = *point.enabled().iter().min().expect("a point has an enabled thread");
        if self.runs_on { Choice::RunOn(thread, u32::MAX) } else { Choice::Run(thread) }
    }

    fn pick(&mut self, _arity: u32) -> u32 {
        0
    }

    fn learns(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}

fn on_mutex(kind: Kind) -> Operation {
    Operation::new(kind, LocationId(kind as u32)).on(MUTEX, Access::Write)
}

/// Begins a run with a mutex and a number of threads.
fn begun(threads: u32) -> Engine {
    let mut engine = Engine::new(Config::default());
    engine.begin(Needs::default());
    engine.add_object(Name(1), Resource::mutex(MutexKind::Normal));
    (0..threads).for_each(|_| _ = engine.add_thread());
    engine
}

/// Lets each thread announce its `operation`, and returns the reply to the first thread.
fn first_reply(
    engine: &mut Engine,
    strategy: &mut Eldest,
    operation: impl Fn(ThreadId) -> Operation,
) -> Reply {
    loop {
        match engine.next(strategy) {
            Next::Resume { thread, reply: Reply::Go } if engine.step_count() == 0 => {
                engine.announce(thread, operation(thread));
            }
            Next::Resume { thread: FIRST, reply } => return reply,
            other => panic!("{other:?} instead of the first step of the first thread"),
        }
    }
}

#[test]
fn a_thread_runs_on_until_it_changes_what_others_can_do() {
    let mut strategy = Eldest { runs_on: true };
    let mut engine = begun(2);
    assert_eq!(first_reply(&mut engine, &mut strategy, |_| on_mutex(Kind::Lock)), Reply::Acquired);
    assert!(!engine.runs_on(), "the second thread cannot lock any more");
    let mut engine = begun(2);
    let local = |thread| match thread {
        FIRST => on_mutex(Kind::Lock),
        _ => Operation::new(Kind::Local, LocationId(1)),
    };
    assert_eq!(first_reply(&mut engine, &mut strategy, local), Reply::Acquired);
    assert!(engine.runs_on(), "nothing has changed for the second thread");
    let unlock = engine.run_on_synchronisation(FIRST, on_mutex(Kind::Unlock), &mut strategy);
    assert_eq!((unlock, engine.step_count()), (RanOn::Replied(Reply::Go), 2));
    assert!(engine.runs_on(), "nothing has changed again");
    let spawn = Operation::new(Kind::Spawn, LocationId(2));
    let spawned = engine.run_on_synchronisation(FIRST, spawn, &mut strategy);
    assert_eq!(spawned, RanOn::Replied(Reply::Spawned(ThreadId(2))));
    assert!(!engine.runs_on(), "there is a new thread");
    engine.finish(FIRST);
    assert_eq!(engine.next(&mut strategy), Next::Resume { thread: ThreadId(2), reply: Reply::Go });
}

#[test]
fn what_waits_asks_or_has_a_time_limit_is_announced() {
    let mut strategy = Eldest { runs_on: true };
    let mut engine = begun(1);
    first_reply(&mut engine, &mut strategy, |_| on_mutex(Kind::Lock));
    assert!(engine.runs_on());
    for operation in [
        on_mutex(Kind::Lock),
        Operation::new(Kind::Choose, LocationId(1)).with_argument(2),
        Operation::new(Kind::Sleep, LocationId(1)).with_argument(2),
        Operation::new(Kind::Exit, LocationId(1)),
    ] {
        assert_eq!(
            engine.run_on_synchronisation(FIRST, operation, &mut strategy),
            RanOn::No,
            "{operation:?}"
        );
    }
    assert_eq!(engine.step_count(), 1, "nothing was executed");
    let misuse = engine.run_on_synchronisation(FIRST, on_mutex(Kind::ReadWriteUnlock), &mut strategy);
    assert_eq!((misuse, engine.next(&mut strategy)), (RanOn::Over, Next::Done));
    assert!(matches!(engine.summary().verdict, Verdict::Failed { .. }));
}

/// Executes lock, unlock, lock, unlock of the first of two threads; returns the fingerprint and the number of announcements.
fn two_sections(runs_on: bool) -> (u64, u32) {
    let mut strategy = Eldest { runs_on };
    let mut engine = begun(2);
    let local = |thread| match thread {
        FIRST => on_mutex(Kind::Lock),
        _ => Operation::new(Kind::Local, LocationId(1)),
    };
    first_reply(&mut engine, &mut strategy, local);
    let mut announced = 0;
    for kind in [Kind::Unlock, Kind::Lock, Kind::Unlock] {
        if engine.runs_on()
            && engine.run_on_synchronisation(FIRST, on_mutex(kind), &mut strategy) != RanOn::No
        {
            continue;
        }
        announced += 1;
        engine.announce(FIRST, on_mutex(kind));
        assert!(matches!(engine.next(&mut strategy), Next::Resume { thread: FIRST, .. }));
    }
    engine.finish(FIRST);
    assert_eq!(engine.next(&mut strategy), Next::Resume { thread: SECOND, reply: Reply::Go });
    engine.finish(SECOND);
    assert_eq!(engine.next(&mut strategy), Next::Done);
    assert_eq!(engine.summary().trace.events.len(), 5);
    (engine.summary().fingerprint, announced)
}

#[test]
fn a_run_is_the_same_whether_its_threads_run_on_or_not() {
    let (announced, on) = (two_sections(false), two_sections(true));
    assert_eq!(announced.0, on.0);
    // The second lock returns to the operation of the first, so the thread may be in a loop.
    assert_eq!((announced.1, on.1), (3, 1));
}
