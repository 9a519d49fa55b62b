//! Straight-line programs without data: the programs of the POS micro benchmark.

use raddle_engine::{Beginning, Engine, Program, Reply, Resource};
use raddle_model::{Access, Kind, LocationId, Name, ObjectId, Operation, ThreadId};

/// A fixed list of reads and writes per thread.
#[derive(Clone, Debug)]
pub struct Straight {
    objects: Vec<Name>,
    threads: Vec<Vec<Operation>>,
    /// All operations, thread after thread: `threads` as a run reads it.
    flat: Vec<Operation>,
    /// The range of each thread in `flat`.
    whole: Vec<Span>,
    /// The remaining operations of each thread in this run.
    left: Vec<Span>,
    /// The beginning of an earlier run, with the remaining operations at that point.
    beginning: Option<(Beginning, Vec<Span>)>,
}

/// The operations from `at` up to `end` of a thread that begins at `begin`.
#[derive(Clone, Copy, Debug)]
struct Span {
    begin: u32,
    at: u32,
    end: u32,
}

/// An error in a straight-line program.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "thread {thread}, event {event}: `{text}` is not an access; write `R` or `W` and a variable, such as `Wx`"
)]
pub struct StraightError {
    thread: usize,
    event: usize,
    text: String,
}

impl Straight {
    /// Creates a program whose events are given as `R` or `W` and the name of a variable. With `dummies`,
    /// each thread begins with a step that touches nothing (which PCT needs to be able to delay a thread's
    /// first event).
    pub fn new(threads: &[Vec<String>], dummies: bool) -> Result<Straight, StraightError> {
        let mut variables: Vec<String> = Vec::new();
        let mut program = Straight {
            objects: Vec::new(),
            threads: Vec::new(),
            flat: Vec::new(),
            whole: Vec::new(),
            left: Vec::new(),
            beginning: None,
        };
        for (thread, events) in threads.iter().enumerate() {
            let mut operations = Vec::new();
            if dummies {
                operations.push(Operation::new(Kind::Local, LocationId(u32::MAX)));
            }
            for (event, text) in events.iter().enumerate() {
                let (kind, access) = match text.as_bytes().first() {
                    Some(b'R') => (Kind::Read, Access::Read),
                    Some(b'W') => (Kind::Write, Access::Write),
                    _ => return Err(StraightError { thread, event, text: text.clone() }),
                };
                let variable = text[1..].to_owned();
                if variable.is_empty() {
                    return Err(StraightError { thread, event, text: text.clone() });
                }
                let object = variables.iter().position(|known| *known == variable).unwrap_or_else(|| {
                    program.objects.push(Name::of_text(&variable));
                    variables.push(variable);
                    variables.len() - 1
                });
                let location = LocationId(operations.len() as u32);
                operations.push(Operation::new(kind, location).on(ObjectId(object as u32), access));
            }
            let at = program.flat.len() as u32;
            program.whole.push(Span { begin: at, at, end: at + operations.len() as u32 });
            program.flat.extend_from_slice(&operations);
            program.threads.push(operations);
        }
        Ok(program)
    }

    /// Returns the operations of every thread.
    pub fn threads(&self) -> &[Vec<Operation>] {
        &self.threads
    }
}

impl Program for Straight {
    #[inline]
    fn start(&mut self, engine: &mut Engine) {
        if let Some((beginning, left)) = &self.beginning
            && engine.begin_like(beginning)
        {
            return self.left.clone_from(left);
        }
        self.start_anew(engine);
    }

    #[inline(always)] // Into the loop of a run.
    fn resume(&mut self, engine: &mut Engine, thread: ThreadId, _reply: Reply) {
        let left = &mut self.left[thread.index()];
        while left.at < left.end {
            let operation = &self.flat[left.at as usize];
            engine.set_local(thread, u64::from(left.at - left.begin));
            left.at += 1;
            if !engine.go_on(thread, *operation) {
                return engine.announce(thread, *operation);
            }
        }
        engine.set_local(thread, u64::from(left.at - left.begin));
        engine.finish(thread);
    }
}

impl Straight {
    /// Begins a run, and records its beginning.
    fn start_anew(&mut self, engine: &mut Engine) {
        self.left.clone_from(&self.whole);
        for &name in &self.objects {
            engine.add_object(name, Resource::Memory);
        }
        for _ in &self.threads {
            engine.add_thread();
        }
        while let Some(thread) = engine.take_ready() {
            self.resume(engine, thread, Reply::Go);
        }
        self.beginning = engine.beginning().map(|beginning| (beginning, self.left.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_engine::{Config, Races, Rng, run};

    fn program() -> Straight {
        let texts = [vec!["Wx", "Ry", "Wy"], vec![], vec!["Wy", "Wx"], vec!["Rx", "Wz", "Rx"]];
        let texts = texts.map(|thread| thread.into_iter().map(str::to_owned).collect());
        Straight::new(&texts, false).unwrap()
    }

    /// State left from earlier runs, under whatever strategy and settings, does not affect later runs.
    #[test]
    fn every_run_begins_as_the_first_does() {
        let mut kept = program();
        let mut other = Straight::new(&[vec!["Wa".to_owned()]], false).unwrap();
        let mut configs = [Config::default(); 2];
        configs[1].races = Races::All;
        let mut engines = configs.map(Engine::new);
        for number in 0..60 {
            // The second one wants the state of the program tracked.
            for spec in ["pos", "upo", "dfs"] {
                let engine = &mut engines[number as usize / 3 % 2];
                if number % 7 == 0 {
                    let mut strategy = raddle_strategies::build("pos").unwrap();
                    strategy.begin(Rng::for_run(1, number));
                    run(engine, &mut other, &mut *strategy);
                }
                let mut results = Vec::new();
                let mut fresh = (program(), Engine::new(configs[number as usize / 3 % 2]));
                for (program, engine) in [(&mut kept, engine), (&mut fresh.0, &mut fresh.1)] {
                    let mut strategy = raddle_strategies::build(spec).unwrap();
                    strategy.begin(Rng::for_run(1, number));
                    run(engine, program, &mut *strategy);
                    let summary = engine.summary();
                    let names = (0..3).map(|object| summary.object_name(ObjectId(object)));
                    results.push((summary.trace.clone(), summary.fingerprint, names.collect::<Vec<_>>()));
                }
                assert_eq!(results[0], results[1], "{spec}, run {number}");
                assert_eq!(results[0].0.events.len(), 8);
            }
        }
    }
}
