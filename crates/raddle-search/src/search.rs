//! The search itself: which runs are made, by whom, and when it is over.

use crate::budget::{Budget, Deadline, Stop};
use crate::job::Job;
use crate::lanes::Lanes;
use crate::run::{Made, Run};
use crate::shard::Shard;
use crate::tally::Tally;
use raddle_model::Ledger;
use raddle_model::native::Covered;
use raddle_strategies::portfolio::{Rounds, Turn};
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// A program that can be run under chosen schedules: what a front end implements.
pub trait Target: Sync {
    /// Makes its runs.
    type Worker: Worker;

    /// Starts a worker for job `job` of a search. The first one is started before all others, and alone, so that an error
    /// that all of them would have is reported once.
    fn start(&self, job: usize) -> Result<Self::Worker, <Self::Worker as Worker>::Error>;
}

/// A process, a VM or an engine that makes runs, one after the other.
pub trait Worker {
    /// What is kept of a failing run.
    type Failure: Send;
    /// Why no further run can be made.
    type Error: Send + From<io::Error>;

    /// Whether it is another process, to which several requests can be on their way.
    const IS_REMOTE: bool;

    /// Asks for runs, to be made in this order.
    fn request(&mut self, requests: &[Request]) -> Result<(), Self::Error>;

    /// Waits for the oldest run that was requested. Returns nothing if its strategy has no schedule left.
    fn receive(&mut self) -> Result<Option<Made<Self::Failure>>, Self::Error>;

    /// Returns what the strategies with these indices have learnt. Called after the last run, if no error came before.
    fn knowledge(&mut self, _lanes: &[usize]) -> Result<Known, Self::Error> {
        Ok(Known::default())
    }

    /// Whether [`Worker::knowledge`] is wanted, so that no request may be left unanswered before.
    fn has_knowledge(&self) -> bool {
        false
    }
}

/// A run that is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// Its strategy and number.
    pub turn: Turn,
    /// Whether its failure is wanted, if it fails.
    pub trace: bool,
    /// Whether the search waits for it now. Results of others may be held back.
    pub awaited: bool,
}

/// What strategies have learnt in a search.
#[derive(Debug, Default)]
pub struct Known {
    /// The iRoots.
    pub covered: Covered,
    /// How many partial orders there are, as far as a strategy can tell.
    pub estimate: Option<f64>,
}

/// What is searched, and for how long.
#[derive(Clone)]
pub struct Search<'a> {
    /// The strategies.
    pub lanes: &'a Lanes,
    /// How long.
    pub budget: Budget,
    /// How many workers make runs at the same time.
    pub jobs: usize,
    /// Which part of the runs is made here; all of them if there is none.
    pub shard: Option<Shard>,
    /// The iRoots that every worker's strategies know from the start.
    pub known: Option<&'a Ledger>,
    /// Called for people who wait: after each run of a remote worker, otherwise after every `every` runs of a job.
    pub watch: &'a (dyn Fn(Seen<'_>) + Sync),
    /// See `watch`.
    pub every: u64,
}

/// The state of a search, for whoever watches it.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// How many turns this job has had since the last call.
    pub turns: u64,
    /// The latest one.
    pub turn: Turn,
    /// What it was like.
    pub run: &'a Run,
    /// The numbers of all jobs so far; of this job alone where workers are not remote.
    pub tally: &'a Tally,
}

/// What a search has found.
#[derive(Debug)]
pub struct Outcome<F, E> {
    /// The numbers.
    pub tally: Tally,
    /// The failing run with the smallest number.
    pub first: Option<(Turn, F)>,
    /// Every run, in the order of numbers, if the search was a shard that stops at a failure.
    pub(crate) log: Vec<(Turn, Run)>,
    /// The number of the failing run at which the search stopped, if runs were logged.
    pub(crate) stopped_at: Option<u64>,
    /// Why not all runs were made, although a failing one was found.
    pub lost: Option<E>,
}

impl<F, E> Outcome<F, E> {
    /// Returns the same outcome with another form of its failing run.
    pub fn map_failure<G>(self, map: impl FnOnce(F) -> G) -> Outcome<G, E> {
        let Outcome { tally, first, log, stopped_at, lost } = self;
        Outcome { tally, first: first.map(|(turn, failure)| (turn, map(failure))), log, stopped_at, lost }
    }
}

/// What the jobs of a search share.
pub(crate) struct Shared<'a, F> {
    pub(crate) search: &'a Search<'a>,
    pub(crate) rounds: Rounds,
    pub(crate) deadline: Deadline,
    /// No run with this number or a greater one is needed any more.
    end: AtomicU64,
    /// No failure of a run with this number or a greater one is needed any more.
    pub(crate) traced: AtomicU64,
    /// Whether a job has given up.
    stopped: AtomicBool,
    /// What remote workers have found so far.
    pub(crate) found: Mutex<Found<F>>,
    /// Whether numbers after the first failure have to be taken out again.
    pub(crate) keeps_log: bool,
}

/// What one job has found, or all of them.
pub(crate) struct Found<F> {
    pub(crate) tally: Tally,
    pub(crate) first: Option<(Turn, F)>,
    pub(crate) log: Vec<(Turn, Run)>,
}

impl<F> Found<F> {
    pub(crate) fn new(lanes: usize) -> Found<F> {
        Found { tally: Tally::new(lanes), first: None, log: Vec::new() }
    }

    /// Keeps the failure of a run, unless an earlier one is known.
    pub(crate) fn keep(&mut self, turn: Turn, failure: F) {
        if self.first.as_ref().is_none_or(|(first, _)| turn.number < first.number) {
            self.first = Some((turn, failure));
        }
    }

    fn merge(&mut self, other: Found<F>, base: &Ledger) {
        self.tally.merge(other.tally, base);
        self.log.extend(other.log);
        if let Some((turn, failure)) = other.first {
            self.keep(turn, failure);
        }
    }
}

impl<F> Shared<'_, F> {
    /// Returns whether run `number` is not to be made, or not to be waited for. One run is made in any case; without it
    /// nothing could be said of the program.
    #[inline]
    pub(crate) fn is_over(&self, number: u64) -> bool {
        number >= self.end.load(Ordering::Relaxed)
            || self.stopped.load(Ordering::Relaxed)
            || number > 0 && self.deadline.is_over()
    }

    /// Makes no run with this number or a greater one, nor waits for one.
    pub(crate) fn end_at(&self, number: u64) {
        self.end.fetch_min(number, Ordering::Relaxed);
    }

    /// Lets no job begin another run.
    pub(crate) fn give_up(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

type Failure<T> = <<T as Target>::Worker as Worker>::Failure;
type Error<T> = <<T as Target>::Worker as Worker>::Error;
/// What a search of a target has found, or why it could not be made.
pub type Searched<T> = Result<Outcome<Failure<T>, Error<T>>, Error<T>>;

/// Makes the runs of a search.
///
/// Fails if a worker does and no failing run was found.
pub fn search<T: Target>(target: &T, search: &Search<'_>) -> Searched<T> {
    let lanes = search.lanes.iter().len();
    let jobs = search.jobs.max(1);
    // Runs after the one that ends the search are taken out again: how many there are depends on the number of jobs.
    let may_stop = search.budget.stop != Stop::Never || search.lanes.may_cover_everything();
    let shared = Shared {
        search,
        rounds: search.lanes.rounds(jobs, search.shard.is_some()),
        deadline: Deadline::new(search.budget.time),
        end: AtomicU64::new(search.budget.runs),
        traced: AtomicU64::new(u64::MAX),
        stopped: AtomicBool::new(false),
        found: Mutex::new(Found::new(lanes)),
        keeps_log: may_stop && (jobs > 1 || search.shard.is_some()),
    };
    let first = target.start(0)?;
    let outcomes: Vec<Result<Found<_>, Error<T>>> = std::thread::scope(|scope| {
        let shared = &shared;
        let begin = move |job| {
            let started = target.start(job).inspect_err(|_| shared.give_up());
            let found = started.and_then(|worker| Job::new(shared, worker, job, jobs).run());
            shared.rounds.leave();
            found
        };
        let others: Vec<_> = (1..jobs)
            .map(|job| std::thread::Builder::new().spawn_scoped(scope, move || begin(job)))
            .collect();
        for _ in others.iter().filter(|other| other.is_err()) {
            shared.give_up();
            shared.rounds.leave();
        }
        let mine = Job::new(shared, first, 0, jobs).run();
        shared.rounds.leave();
        let others = others.into_iter().map(|other| match other {
            Ok(other) => other.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload)),
            Err(error) => {
                let what =
                    format!("cannot start a thread for job 2 of {jobs}: {error}; --jobs sets their number");
                Err(Error::<T>::from(io::Error::new(error.kind(), what)))
            }
        });
        [mine].into_iter().chain(others).collect()
    });
    let mut found = shared.found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    let nothing = Ledger::default();
    let (mut lost, mut has_any) = (None, T::Worker::IS_REMOTE);
    for outcome in outcomes {
        match outcome {
            Ok(other) if !has_any => {
                // The tally of a single job stays as it is, with what only such a one knows.
                (found, has_any) = (other, true);
            }
            Ok(other) => found.merge(other, search.known.unwrap_or(&nothing)),
            Err(error) => lost = lost.or(Some(error)),
        }
    }
    if let Some(error) = lost.take_if(|_| found.first.is_none()) {
        return Err(error);
    }
    let Found { mut tally, first, mut log } = found;
    log.sort_unstable_by_key(|(turn, _)| turn.number);
    let mut stopped_at = None;
    if shared.keeps_log {
        let stops =
            |(_, run): &&(Turn, Run)| run.kind().is_some_and(|kind| search.budget.stop.applies_to(kind));
        stopped_at = log.iter().find(stops).map(|(turn, _)| turn.number);
        if let Some(last) = last_number(stopped_at, tally.covered_at(search.lanes)) {
            tally = tally.up_to(last, &mut log);
        }
    }
    tally.settle(search.lanes);
    if search.shard.is_none() {
        log.clear();
    }
    Ok(Outcome { tally, first, log, stopped_at, lost })
}

/// Returns the number of the last run that counts, if not all do: the failing one at which the search stopped, or the one
/// before a strategy had covered everything.
pub(crate) fn last_number(stopped_at: Option<u64>, covered_at: Option<u64>) -> Option<u64> {
    [stopped_at, covered_at].into_iter().flatten().min()
}

/// Makes the runs of several searches on `cores` cores. Those that cannot be split come first and share the cores.
///
/// Returns what each has found, in their order.
pub fn search_all<T: Target>(searches: &[(T, Search<'_>)], cores: usize) -> Vec<Searched<T>> {
    let mut outcomes: Vec<_> = searches.iter().map(|_| None).collect();
    let whole = |&(_, (_, search)): &(usize, &(T, Search<'_>))| !search.lanes.can_be_split();
    let unsplit: Vec<_> = searches.iter().enumerate().filter(whole).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some((index, (target, whole))) = unsplit.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((*index, search(target, &Search { jobs: 1, ..whole.clone() })));
        }
        done
    };
    let done: Vec<_> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..cores.min(unsplit.len())).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            done.extend(other.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload)));
        }
        done
    });
    done.into_iter().for_each(|(index, outcome)| outcomes[index] = Some(outcome));
    for (outcome, (target, split)) in
        outcomes.iter_mut().zip(searches).filter(|(outcome, _)| outcome.is_none())
    {
        *outcome = Some(search(target, &Search { jobs: cores, ..split.clone() }));
    }
    outcomes.into_iter().flatten().collect()
}
