//! The interface of a front end: a target, and workers that execute its runs.

use crate::run::FinishedRun;
use raddle_model::native::Covered;
use raddle_strategies::portfolio::Turn;
use std::io;

/// A program that can be run under chosen schedules; implemented by a front end.
pub trait Target: Sync {
    /// Executes its runs.
    type Worker: Worker;

    /// Starts a worker for job `job` of a search. The first one is started before all others, and alone, so
    /// that an error that all of them would have is reported once.
    fn start(&self, job: usize) -> Result<Self::Worker, <Self::Worker as Worker>::Error>;

    /// Returns true if a run may discover shared memory.
    fn may_discover(&self) -> bool {
        false
    }

    /// Records which memory is shared, for all workers started from now on. Called when a run has discovered more
    /// of it ([`Details::discovered`](crate::Details::discovered)), before the search begins again.
    fn learn_shared(&self, _shared: Vec<u64>) {}
}

/// A process, a VM or an engine that executes runs, one after the other.
pub trait Worker {
    /// The recording of a failing run.
    type Failure: Send;
    /// The reason why no further run can be executed.
    type Error: Send + From<io::Error>;

    /// True if it is another process, to which several requests can be in flight.
    const IS_REMOTE: bool;

    /// Number of partial orders that are counted individually; beyond it, a sample is. All of them by
    /// default.
    const MOST_ORDERS: usize = usize::MAX;

    /// Requests runs, to be executed in this order.
    fn request(&mut self, requests: &[Request]) -> Result<(), Self::Error>;

    /// Waits until [`Worker::receive`] would return. Returns false if `is_over` returns true before.
    fn wait(&mut self, _is_over: &dyn Fn() -> bool) -> bool {
        true
    }

    /// Waits for the oldest requested run. Returns `None` if its strategy has no schedule left.
    fn receive(&mut self) -> Result<Option<FinishedRun<Self::Failure>>, Self::Error>;

    /// Returns the knowledge of the strategies with these indices. Called after the last run, unless there
    /// was an error.
    fn knowledge(&mut self, _lanes: &[usize]) -> Result<Known, Self::Error> {
        Ok(Known::default())
    }

    /// Returns true if [`Worker::knowledge`] is wanted, so that no request may be left unanswered before.
    fn has_knowledge(&self) -> bool {
        false
    }
}

/// A requested run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// Its strategy and number.
    pub turn: Turn,
    /// True if its failure is wanted, if it fails.
    pub trace: bool,
    /// True if the search waits for it now. Results of others may be held back.
    pub awaited: bool,
}

/// The knowledge of strategies after a search.
#[derive(Debug, Default)]
pub struct Known {
    /// The iRoots.
    pub covered: Covered,
    /// Estimated number of partial orders, if a strategy has an estimate.
    pub estimate: Option<f64>,
}
