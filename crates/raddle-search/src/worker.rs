//! What a front end implements: a target, and workers that make its runs.

use crate::run::Made;
use raddle_model::native::Covered;
use raddle_strategies::portfolio::Turn;
use std::io;

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

    /// How many partial orders are counted one by one; of more, a sample is. All of them, unless a front end says otherwise.
    const MOST_ORDERS: usize = usize::MAX;

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
