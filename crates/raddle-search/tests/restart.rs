//! A search begins again when a run discovers shared memory.

use raddle_search::{
    Budget, Details, FinishedRun, Identity, Lanes, MergeError, Merged, Outcome, Part, Portfolio, Request,
    Run, Search, ShardResult, Stop, Target, Worker, merge, search,
};
use std::io;
use std::sync::Mutex;

/// A program whose runs depend on their number and on how much is known: for each amount of knowledge, the runs
/// that fail and those that discover more.
struct Program {
    failing: Vec<Vec<u64>>,
    discovering: Vec<Vec<u64>>,
    known: Mutex<Vec<u64>>,
}

impl Program {
    fn new(failing: &[&[u64]], discovering: &[&[u64]]) -> Program {
        let lists = |lists: &[&[u64]]| lists.iter().map(|list| list.to_vec()).collect();
        Program { failing: lists(failing), discovering: lists(discovering), known: Mutex::default() }
    }

    fn searched(&self, jobs: usize, stop: Stop) -> Outcome<u64, io::Error> {
        self.part(jobs, stop, None, |_, found| found)
    }

    fn part<R>(
        &self,
        jobs: usize,
        stop: Stop,
        part: Option<Part>,
        and: impl FnOnce(&Search<'_>, Outcome<u64, io::Error>) -> R,
    ) -> R {
        *self.known.lock().unwrap() = Vec::new();
        let lanes = Lanes::parse("random-walk", Portfolio::Tests).unwrap();
        let budget = Budget { stop, ..Budget::all(100) };
        let watch = &|_: raddle_search::Seen<'_>| ();
        let whole = Search { lanes: &lanes, budget, jobs, part, known: None, watch, every: 1 };
        and(&whole, search(self, &whole).unwrap())
    }

    /// Merges three shards.
    fn merged(&self, stop: &Stop, pilot: u64) -> Result<Merged<u64>, MergeError> {
        let shard = |index: usize| {
            let part = Part { pilot, ..Part::shard(format!("{index}/3").parse().unwrap()) };
            self.part(2, stop.clone(), Some(part), |search, found| {
                let failure = found.first.as_ref().map(|&(_, failure)| failure);
                ShardResult::new(part, Identity::default(), search, &found, failure)
            })
        };
        merge(&[shard(2), shard(1), shard(3)], &Lanes::parse("random-walk", Portfolio::Tests).unwrap(), false)
    }
}

impl Target for Program {
    type Worker = Runs;

    fn start(&self, _: usize) -> io::Result<Runs> {
        let level = self.known.lock().unwrap().len();
        let of = |lists: &[Vec<u64>]| lists.get(level).or(lists.last()).cloned().unwrap_or_default();
        Ok(Runs { level, failing: of(&self.failing), discovering: of(&self.discovering), requested: 0 })
    }

    fn may_discover(&self) -> bool {
        true
    }

    fn learn_shared(&self, shared: Vec<u64>) {
        *self.known.lock().unwrap() = shared;
    }
}

struct Runs {
    level: usize,
    failing: Vec<u64>,
    discovering: Vec<u64>,
    requested: u64,
}

impl Worker for Runs {
    type Failure = u64;
    type Error = io::Error;
    const IS_REMOTE: bool = false;

    fn request(&mut self, requests: &[Request]) -> io::Result<()> {
        self.requested = requests[0].turn.number;
        Ok(())
    }

    fn receive(&mut self) -> io::Result<Option<FinishedRun<u64>>> {
        let number = self.requested;
        let fails = self.failing.contains(&number);
        let kind = fails.then(|| "assertion".to_owned());
        let mut details = Details { kind, ..Details::default() };
        if self.discovering.contains(&number) {
            details.discovered = vec![1; self.level + 1];
        }
        let run = Run {
            fingerprint: number,
            steps: 1,
            threads: 1,
            details: Some(Box::new(details)),
            ..Run::default()
        };
        Ok(Some(FinishedRun { run, failure: fails.then_some(number + 1000 * self.level as u64) }))
    }
}

#[test]
fn runs_before_a_discovery_do_not_count() {
    for jobs in [1, 3] {
        let found = Program::new(&[&[]], &[&[40, 60], &[7], &[]]).searched(jobs, Stop::Never);
        assert_eq!((found.tally.runs, found.tally.discoveries), (100, 0), "{jobs} jobs");
        assert!(found.first.is_none());
    }
}

#[test]
fn what_comes_first_counts_a_failure_or_a_discovery() {
    for jobs in [1, 3] {
        for (discovering, number) in [(20, 10), (10, 10), (9, 1005)] {
            let program = Program::new(&[&[10], &[5]], &[&[discovering], &[]]);
            let found = program.searched(jobs, Stop::FirstFailure);
            assert_eq!(found.first.unwrap().1, number, "{jobs} jobs, discovery in run {discovering}");
        }
    }
}

#[test]
fn a_failure_before_a_discovery_is_kept() {
    for jobs in [1, 3] {
        let found = Program::new(&[&[3, 50], &[]], &[&[20], &[]]).searched(jobs, Stop::Never);
        assert_eq!((found.tally.failures, found.tally.kinds["assertion"]), (1, 1), "{jobs} jobs");
        assert_eq!(found.first.unwrap().1, 3);
    }
}

#[test]
fn endless_discoveries_end_and_are_counted() {
    let found = Program::new(&[&[]], &[&[30, 31]]).searched(1, Stop::Never);
    assert_eq!((found.tally.runs, found.tally.discoveries), (100, 2));
}

#[test]
fn shards_begin_with_the_runs_that_discover_memory() {
    type Discoveries<'a> = &'a [&'a [u64]];
    let programs: [(Discoveries<'_>, Discoveries<'_>); 4] = [
        (&[&[]], &[&[40, 60], &[7], &[]]),
        (&[&[3, 50], &[80]], &[&[20], &[]]),
        (&[&[90], &[80]], &[&[20], &[95]]),
        (&[&[]], &[&[30, 31]]),
    ];
    for (index, (failing, discovering)) in programs.into_iter().enumerate() {
        for stop in [Stop::Never, Stop::FirstFailure] {
            let program = Program::new(failing, discovering);
            let alone = program.searched(1, stop.clone());
            let Merged { tally, first } = program.merged(&stop, 100).unwrap();
            let numbers = |tally: &raddle_search::Tally| {
                (tally.runs, tally.failures, tally.discoveries, tally.partial_orders())
            };
            assert_eq!(numbers(&tally), numbers(&alone.tally), "program {index}, {stop:?}");
            assert_eq!(
                first.map(|(_, failure)| failure),
                alone.first.map(|(_, failure)| failure),
                "program {index}, {stop:?}"
            );
        }
    }
}

#[test]
fn shards_that_know_different_memory_are_not_merged() {
    let program = Program::new(&[&[80]], &[&[5], &[60], &[]]);
    let error = program.merged(&Stop::Never, 50).unwrap_err();
    assert_eq!(error, MergeError::Discovered { run: 60 });
    assert!(error.to_string().ends_with("--pilot 61"), "{error}");
    assert!(program.merged(&Stop::Never, 61).is_ok());
    // A failure before the discovery ends the search.
    let program = Program::new(&[&[30]], &[&[5], &[60], &[]]);
    assert_eq!(program.merged(&Stop::FirstFailure, 20).unwrap().first, Some((30, 1030)));
}
