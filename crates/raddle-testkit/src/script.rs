//! Programs made of a fixed list of operations per thread.

use raddle_engine::{Engine, MutexKind, Program, Reply, Resource, Rng, Strategy, run};
use raddle_model::{Access, Event, Kind, LocationId, LockMode, Name, ObjectId, Operation, ThreadId, Verdict};

/// One operation of a scripted thread. Numbers name objects in the order in which the script added them; an
/// operation's location is its index in its thread, unless threads are kept [`apart`](Script::apart).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Reads memory.
    R(u32),
    /// Writes memory.
    W(u32),
    /// Touches nothing.
    Step,
    /// Any kind on one object, which it writes (a barrier, and a lock taken for reading, are only read).
    On(Kind, u32),
    /// Any kind on one object with an argument.
    With(Kind, u32, u64),
    /// Waits on a condition variable with a mutex.
    Wait(u32, u32),
    /// Waits on a condition variable with a mutex for a span of time.
    WaitFor(u32, u32, u64),
    /// Starts the script's thread of this number, which must not be one that starts at once.
    Spawn(u32),
    /// Waits for the end of the script's thread of this number.
    Join(u32),
    /// Waits for the end of the script's thread of this number, for a span of time.
    JoinFor(u32, u64),
    /// A kind that names no object, with its argument.
    Bare(Kind, u64),
    /// Begins the one-time initialisation. The thread that runs it continues with the next operations, up to
    /// and including its end ([`Kind::OnceEnd`]); all others skip them.
    Once(u32),
}

/// A program with a fixed list of operations per thread.
#[derive(Clone, Default, Debug)]
pub struct Script {
    resources: Vec<Resource>,
    threads: Vec<Vec<Act>>,
    /// Number of threads that start at once; the others are spawned.
    initial: usize,
    /// Thread of the engine -> thread of the script, and back.
    script_of: Vec<usize>,
    engine_of: Vec<Option<ThreadId>>,
    at: Vec<usize>,
    /// The offset between the locations of consecutive threads.
    apart: u32,
    /// The number of operations after which locations repeat; 0 for never.
    round: u32,
    /// The reply to every executed operation, in order.
    pub replies: Vec<(ThreadId, Reply)>,
}

impl Script {
    /// Creates a program without threads.
    pub fn new() -> Script {
        Script::default()
    }

    /// Creates a program over `objects` memory objects, each thread given as text such as `"W0 R1 W1"`.
    pub fn straight(objects: u32, threads: &[&str]) -> Script {
        let mut script = Script::new();
        for _ in 0..objects {
            script = script.object(Resource::Memory);
        }
        for text in threads {
            let acts = text.split_whitespace().map(|word| {
                let object = word[1..].parse().expect("an object number follows the letter");
                if word.starts_with('W') { Act::W(object) } else { Act::R(object) }
            });
            script = script.thread(&acts.collect::<Vec<_>>());
        }
        script
    }

    /// Gives operation `i` of thread `t` the location `step * t + i`, as if each thread had its own code.
    #[must_use]
    pub fn apart(mut self, step: u32) -> Script {
        self.apart = step;
        self
    }

    /// Counts locations modulo `round`, as if each thread repeated the same operations.
    #[must_use]
    pub fn looping(mut self, round: u32) -> Script {
        self.round = round;
        self
    }

    /// Adds an object.
    #[must_use]
    pub fn object(mut self, resource: Resource) -> Script {
        self.resources.push(resource);
        self
    }

    /// Adds a normal mutex.
    #[must_use]
    pub fn mutex(self) -> Script {
        self.object(Resource::mutex(MutexKind::Normal))
    }

    /// Adds a thread that starts at once. All of these must be added before those that are spawned.
    #[must_use]
    pub fn thread(mut self, acts: &[Act]) -> Script {
        assert_eq!(self.initial, self.threads.len(), "threads that start at once come first");
        self.threads.push(acts.to_vec());
        self.initial += 1;
        self
    }

    /// Adds a thread that is spawned.
    #[must_use]
    pub fn spawned(mut self, acts: &[Act]) -> Script {
        self.threads.push(acts.to_vec());
        self
    }

    /// Runs once under `strategy` with the stream of `seed`; returns the events and the verdict.
    pub fn run(&mut self, strategy: &mut dyn Strategy, seed: u64) -> (Vec<Event>, Verdict) {
        let mut engine = Engine::new(Default::default());
        let _ = strategy.begin(Rng::for_run(seed, 0));
        run(&mut engine, self, strategy);
        let summary = engine.summary();
        strategy.learn(&summary);
        (summary.trace.events.clone(), summary.verdict.clone())
    }

    /// Returns the operations of each thread, those that start at once first.
    pub fn acts(&self) -> &[Vec<Act>] {
        &self.threads
    }

    /// Returns the number of threads that start at once.
    pub fn initial(&self) -> usize {
        self.initial
    }

    /// Returns the replies to the operations of one thread, in order.
    pub fn replies_of(&self, thread: u32) -> Vec<Reply> {
        let of = |&(who, reply): &(ThreadId, Reply)| (who == ThreadId(thread)).then_some(reply);
        self.replies.iter().filter_map(of).collect()
    }

    fn operation(&self, engine: &mut Engine, thread: usize, index: usize) -> Operation {
        let place = (index as u32).checked_rem(self.round).unwrap_or(index as u32);
        let location = LocationId(self.apart * thread as u32 + place);
        let on = |kind: Kind, object: u32| {
            let shared = kind.info().holding.takes() == Some(LockMode::Shared);
            let reads = kind == Kind::Read || kind == Kind::Barrier || shared;
            let access = if reads { Access::Read } else { Access::Write };
            Operation::new(kind, location).on(ObjectId(object), access)
        };
        match self.threads[thread][index] {
            Act::R(object) => on(Kind::Read, object),
            Act::W(object) => on(Kind::Write, object),
            Act::Step => Operation::new(Kind::Local, location),
            Act::On(kind, object) => on(kind, object),
            Act::With(kind, object, argument) => on(kind, object).with_argument(argument),
            Act::Wait(condition, mutex) => {
                on(Kind::ConditionWait, condition).on(ObjectId(mutex), Access::Write)
            }
            Act::WaitFor(condition, mutex, span) => {
                on(Kind::ConditionWait, condition).on(ObjectId(mutex), Access::Write).with_argument(span)
            }
            Act::Spawn(_) => Operation::new(Kind::Spawn, location),
            Act::Join(target) => self.join(engine, target, location),
            Act::JoinFor(target, span) => self.join(engine, target, location).with_argument(span),
            Act::Once(object) => on(Kind::OnceBegin, object),
            Act::Bare(kind, argument) => Operation::new(kind, location).with_argument(argument),
        }
    }

    fn join(&self, engine: &mut Engine, target: u32, location: LocationId) -> Operation {
        let target = self.engine_of[target as usize].expect("a thread is joined after it was spawned");
        Operation::new(Kind::Join, location).on(engine.thread_object(target), Access::Read)
    }
}

impl Program for Script {
    fn start(&mut self, engine: &mut Engine) {
        self.script_of.clear();
        self.engine_of.clear();
        self.engine_of.resize(self.threads.len(), None);
        self.at.clear();
        self.replies.clear();
        for (index, resource) in self.resources.iter().enumerate() {
            engine.add_object(Name(index as u64), resource.clone());
        }
        for index in 0..self.initial {
            let thread = engine.add_thread();
            self.engine_of[index] = Some(thread);
            self.script_of.push(index);
            self.at.push(0);
        }
    }

    fn resume(&mut self, engine: &mut Engine, thread: ThreadId, reply: Reply) {
        if let Reply::Spawned(child) = reply {
            let Act::Spawn(number) =
                self.threads[self.script_of[thread.index()]][self.at[thread.index()] - 1]
            else {
                unreachable!("only a spawn returns a thread");
            };
            self.engine_of[number as usize] = Some(child);
            let size = self.script_of.len().max(child.index() + 1);
            self.script_of.resize(size, 0);
            self.at.resize(size, 0);
            self.script_of[child.index()] = number as usize;
        }
        let number = self.script_of[thread.index()];
        let mut reply = reply;
        loop {
            let mut index = self.at[thread.index()];
            let acts = &self.threads[number];
            if index > 0 {
                self.replies.push((thread, reply));
                if matches!(acts[index - 1], Act::Once(_)) && reply != Reply::RunOnce {
                    let end = |act: &Act| matches!(act, Act::On(kind, _) | Act::With(kind, ..) if *kind == Kind::OnceEnd);
                    index += acts[index..].iter().position(end).expect("an initialisation has an end") + 1;
                }
            }
            engine.set_local(thread, index as u64);
            if index == self.threads[number].len() {
                return engine.finish(thread);
            }
            self.at[thread.index()] = index + 1;
            let operation = self.operation(engine, number, index);
            if !engine.go_on(thread, operation) {
                return engine.announce(thread, operation);
            }
            reply = Reply::Go;
        }
    }
}
