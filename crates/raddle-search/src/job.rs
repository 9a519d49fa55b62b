//! One job of a search: a worker and the turns that are its own.

use crate::budget::is_interrupted;
use crate::pipeline::Window;
use crate::run::{FinishedRun, Run};
use crate::shard::Part;
use crate::shared::{Found, Seen, Shared};
use crate::turns::Turns;
use crate::worker::{Request, Worker};
use raddle_strategies::portfolio::Turn;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

pub(crate) struct Job<'a, W: Worker> {
    shared: &'a Shared<'a, W::Failure>,
    /// Its number.
    job: usize,
    worker: W,
    turns: Turns,
    /// The results of this job; the runs of remote workers are counted for all jobs together.
    found: Found<W::Failure>,
    /// Number of turns since the last call of the progress callback.
    unseen: u64,
}

/// The end of the runs of a round.
enum End {
    /// All of them were executed.
    Round,
    /// The search is over; this many requested results were not awaited.
    Search(usize),
}

impl<'a, W: Worker> Job<'a, W> {
    pub(crate) fn new(shared: &'a Shared<'a, W::Failure>, worker: W, job: usize, jobs: usize) -> Job<'a, W> {
        let search = shared.search;
        // Which runs belong to a shard does not depend on its number of jobs.
        let (index, count, from) = match search.part {
            Some(Part { shard, window, .. }) => {
                let from = window.map_or(0, |(from, _)| from);
                (shard.index() + shard.count() * job, shard.count() * jobs, from)
            }
            None => (job, jobs, 0),
        };
        let turns = Turns::new(search.lanes, &shared.rounds, index, count).starting_at(from);
        Job {
            shared,
            job,
            worker,
            turns,
            found: Found::new(search.lanes.iter().len(), W::MOST_ORDERS),
            unseen: 0,
        }
    }

    /// Executes the runs of this job by number, until the search is over.
    pub(crate) fn run(mut self) -> Result<Found<W::Failure>, W::Error> {
        let unanswered = self.rounds().inspect_err(|_| self.shared.give_up())?;
        if self.worker.has_knowledge() {
            for _ in 0..unanswered {
                match self.worker.receive() {
                    Err(_) if is_interrupted() => return Ok(self.found),
                    received => received?,
                };
            }
        }
        let lanes: Vec<usize> = self.turns.lanes().collect();
        let known = self.worker.knowledge(&lanes)?;
        let tally = &mut self.found.tally;
        (tally.covered, tally.estimate) = (known.covered, known.estimate);
        Ok(self.found)
    }

    fn rounds(&mut self) -> Result<usize, W::Error> {
        let mut window = Window::new(self.worker.has_knowledge());
        loop {
            let end = if W::IS_REMOTE { self.round(&mut window)? } else { self.round_here()? };
            if let End::Search(unanswered) = end {
                return Ok(unanswered);
            }
            self.shared.reach(self.job, self.turns.end_of_round());
            if !self.turns.end_round(&self.shared.rounds) {
                return Ok(0);
            }
        }
    }

    /// Executes the runs of a round one by one.
    fn round_here(&mut self) -> Result<End, W::Error> {
        while let Some(turn) = self.turns.next_turn() {
            if self.shared.is_over(turn.number) {
                return Ok(End::Search(0));
            }
            let trace = turn.number < self.shared.traced.load(Ordering::Relaxed);
            self.worker.request(&[Request { turn, trace, awaited: true }])?;
            match self.worker.receive()? {
                Some(made) => self.count(turn, made),
                None => self.note_exhausted(turn),
            }
        }
        Ok(End::Round)
    }

    /// Executes the runs of a round, with several requests in flight.
    fn round(&mut self, window: &mut Window) -> Result<End, W::Error> {
        let (mut given, mut requests) = (VecDeque::new(), Vec::new());
        let mut goes_on = true;
        loop {
            let room = window.room(given.len());
            while goes_on && requests.len() < room {
                let Some(turn) = self.turns.next_turn() else { break };
                if self.shared.is_over(turn.number) {
                    goes_on = false;
                    break;
                }
                let trace = turn.number < self.shared.traced.load(Ordering::Relaxed);
                requests.push(Request { turn, trace, awaited: false });
                given.push_back(turn);
            }
            if let Some(last) = requests.last_mut() {
                last.awaited = true;
                self.worker.request(&requests)?;
                requests.clear();
                window.note_requests();
            }
            let Some(turn) = given.pop_front() else { break };
            let shared = self.shared;
            if shared.is_over(turn.number) || !self.worker.wait(&|| shared.is_given_up(turn.number)) {
                return Ok(End::Search(given.len() + 1));
            }
            match self.worker.receive()? {
                Some(made) => self.count(turn, made),
                None => self.note_exhausted(turn),
            }
        }
        Ok(if goes_on { End::Round } else { End::Search(0) })
    }

    fn note_exhausted(&mut self, turn: Turn) {
        self.turns.note_exhausted(turn.lane);
        let exhausted_at = &mut self.found.tally.lanes[turn.lane].exhausted_at;
        *exhausted_at = exhausted_at.or(Some(turn.number));
        if self.shared.search.lanes.get(turn.lane).covers_everything {
            self.shared.end_at(turn.number);
        }
    }

    #[inline]
    fn count(&mut self, turn: Turn, made: FinishedRun<W::Failure>) {
        let FinishedRun { run, failure } = made;
        self.turns.note(turn.lane, run.fingerprint);
        if let Some(kind) = run.kind() {
            self.shared.traced.fetch_min(turn.number, Ordering::Relaxed);
            if self.shared.search.budget.stop.applies_to(kind) {
                // Earlier runs of other jobs may fail as well; the first one counts.
                self.shared.end_at(turn.number);
                self.shared.failed.fetch_min(turn.number, Ordering::Relaxed);
            }
        }
        if self.shared.restarts && run.discovered().is_some() {
            self.shared.end_at(turn.number);
        }
        if W::IS_REMOTE {
            let shared = self.shared;
            let mut found = shared.found.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            add(&mut found, shared, turn, &run, failure);
            shared.reach(self.job, turn.number + 1);
            let seen = Seen { turns: 1, turn, run: &run, tally: &found.tally };
            (shared.search.watch)(seen);
            return;
        }
        add(&mut self.found, self.shared, turn, &run, failure);
        self.shared.reach(self.job, turn.number + 1);
        self.unseen += 1;
        if self.unseen >= self.shared.search.every {
            let seen = Seen { turns: self.unseen, turn, run: &run, tally: &self.found.tally };
            (self.shared.search.watch)(seen);
            self.unseen = 0;
        }
    }
}

#[inline]
fn add<F>(found: &mut Found<F>, shared: &Shared<'_, F>, turn: Turn, run: &Run, failure: Option<F>) {
    found.tally.count(turn, run);
    if let Some(failure) = failure {
        found.keep(turn, failure, run.kind().unwrap_or_default());
    }
    if let Some(memory) = run.discovered() {
        found.discover(turn.number, memory);
    }
    if shared.keeps_log {
        // The result of a shard has all runs.
        found.log(turn, run, || if shared.search.part.is_some() { 0 } else { shared.settled() });
    }
}
