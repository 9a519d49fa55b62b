//! The search itself: the choice of runs and workers, and the end.

use crate::budget::{Budget, Deadline};
use crate::job::Job;
use crate::run::Run;
use crate::shard::{Part, Shard};
use crate::shared::{Found, Outcome, Search, Shared, last_number, may_stop};
use crate::worker::{Target, Worker};
use raddle_model::Ledger;
use raddle_strategies::portfolio::Turn;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

type Failure<T> = <<T as Target>::Worker as Worker>::Failure;
type Error<T> = <<T as Target>::Worker as Worker>::Error;
/// The result of a search of a target, or the reason why it failed.
pub type Searched<T> = Result<Outcome<Failure<T>, Error<T>>, Error<T>>;

/// The number of times a search begins again because a run has discovered shared memory. From then on, its
/// results count as incomplete.
const MOST_RESTARTS: u32 = 20;

/// Executes the runs of a search.
///
/// If a run shows that more memory is shared than was known, the search begins again with that knowledge: the
/// runs before did not switch threads at accesses to it. A part of a search begins with the first runs of the whole
/// search for that, as every other part does. If a later run discovers more, the parts cannot be merged.
///
/// Fails if a worker does and no failing run was found.
pub fn search<T: Target>(target: &T, search: &Search<'_>) -> Searched<T> {
    let deadline = Deadline::new(search.budget.time);
    let (mut earlier, mut restarts) = (None, 0);
    if let Some(part) = search.part.filter(|part| part.pilot > 0 && target.may_discover()) {
        let runs = search.budget.runs.min(part.pilot);
        let pilot = Search {
            part: Some(Part::shard(Shard::WHOLE)),
            budget: Budget { runs, ..search.budget.clone() },
            watch: &|_| (),
            ..search.clone()
        };
        while let Ended::Discovery { shared, first } =
            search_once(target, &pilot, deadline, restarts < MOST_RESTARTS)?
        {
            restarts += 1;
            earlier = earlier.or(first);
            target.learn_shared(shared);
        }
    }
    loop {
        let may_restart = restarts < MOST_RESTARTS;
        match search_once(target, search, deadline, may_restart && search.part.is_none())? {
            Ended::Over(mut outcome) => {
                outcome.discovered_at = outcome.discovered_at.filter(|_| may_restart);
                if let Some((turn, failure, kind)) = earlier {
                    outcome.first = Some((turn, failure));
                    outcome.earlier = search.part.map(|_| kind.clone());
                    outcome.tally.add_failure(kind);
                }
                return Ok(*outcome);
            }
            Ended::Discovery { shared, first } => {
                restarts += 1;
                earlier = earlier.or(first);
                target.learn_shared(shared);
            }
        }
    }
}

/// The end of the runs of a search.
enum Ended<F, E> {
    /// The search is over.
    Over(Box<Outcome<F, E>>),
    /// A run discovered shared memory.
    Discovery {
        /// The memory, packed.
        shared: Vec<u64>,
        /// The first failure before that run, and its kind, if failures do not end the search.
        first: Option<(Turn, F, String)>,
    },
}

/// The result of the runs of a search, or the reason why it failed.
type EndedRuns<T> = Result<Ended<Failure<T>, Error<T>>, Error<T>>;

fn search_once<T: Target>(
    target: &T,
    search: &Search<'_>,
    deadline: Deadline,
    restarts: bool,
) -> EndedRuns<T> {
    let lanes = search.lanes.iter().len();
    let jobs = search.jobs.max(1);
    // Runs after the one that ends the search are removed again: their number depends on the number of jobs.
    let may_stop = may_stop(search);
    let shared = Shared {
        search,
        rounds: search.lanes.rounds(jobs, search.part.is_some()),
        deadline,
        end: AtomicU64::new(last_turn(search)),
        traced: AtomicU64::new(u64::MAX),
        stopped: AtomicBool::new(false),
        failed: AtomicU64::new(u64::MAX),
        restarts,
        found: Mutex::new(Found::new(lanes, T::Worker::MOST_ORDERS)),
        reached: (0..jobs).map(|_| AtomicU64::new(0)).collect(),
        keeps_log: may_stop && (jobs > 1 || search.part.is_some_and(|part| part.window.is_none())),
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
                let what = format!("cannot start a thread for job 2 of {jobs}: {error}\nhelp: reduce --jobs");
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
                // The tally of a single job stays as it is, with the data that only such a tally has.
                (found, has_any) = (other, true);
            }
            Ok(other) => found.merge(other, search.known.unwrap_or(&nothing)),
            Err(error) => lost = lost.or(Some(error)),
        }
    }
    if let Some(error) = lost.take_if(|_| found.first.is_none()) {
        return Err(error);
    }
    let Found { mut tally, first, mut log, settled, kind, discovery } = found;
    let is_needed = |&(number, _): &(u64, Vec<u64>)| {
        number < shared.failed.load(Ordering::Relaxed)
            && tally.covered_at(search.lanes).is_none_or(|covered| number < covered)
    };
    let discovery = discovery.filter(is_needed);
    let discovered_at = discovery.as_ref().map(|&(number, _)| number).filter(|_| search.part.is_some());
    if let Some((number, memory)) = discovery.filter(|_| restarts) {
        let first = first.filter(|(turn, _)| turn.number <= number);
        return Ok(Ended::Discovery {
            shared: memory,
            first: first.map(|(turn, failure)| (turn, failure, kind)),
        });
    }
    log.sort_unstable_by_key(|(turn, _)| turn.number);
    let has_stopped = shared.end.into_inner() < last_turn(search);
    let failed = shared.failed.into_inner();
    let mut stopped_at = (failed < u64::MAX && search.part.is_some()).then_some(failed);
    if shared.keeps_log {
        let stops =
            |(_, run): &&(Turn, Run)| run.kind().is_some_and(|kind| search.budget.stop.applies_to(kind));
        stopped_at = log.iter().find(stops).map(|(turn, _)| turn.number);
        if let Some(last) = last_number(stopped_at, tally.covered_at(search.lanes)) {
            tally = tally.up_to(last, settled, &mut log);
        }
    }
    if has_stopped {
        // The number of runs that strategies learnt from but that do not count depends on the number of jobs.
        tally.estimate = None;
    }
    tally.settle(search.lanes);
    if search.part.is_none() {
        log.clear();
    }
    let outcome = Outcome { tally, first, log, earlier: None, discovered_at, stopped_at, lost };
    Ok(Ended::Over(Box::new(outcome)))
}

/// Returns the number of the run before which the search ends.
fn last_turn(search: &Search<'_>) -> u64 {
    let window = search.part.and_then(|part| part.window);
    window.map_or(search.budget.runs, |(_, to)| to.min(search.budget.runs))
}

/// Executes the runs of several searches on `cores` cores. Those that cannot be split come first and share
/// the cores.
///
/// Returns their results, in order.
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
