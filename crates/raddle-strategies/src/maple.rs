//! Maple: predicts interleavings that no run has exposed, and executes a run for each.
//!
//! Paper: Yu and Narayanasamy, "Maple: A Coverage-Driven Testing Tool for Multithreaded Programs",
//! OOPSLA 2012.
//! Guarantee: no bound on the probability of finding a bug. No run aims at an iRoot that an earlier run
//! has exposed, nor at one that was attempted as often as allowed. Tests: `tests/maple.rs`.
//!
//! The first runs are POS and OOS in turns and predict candidates, until `profile` of them in a row have
//! predicted no new one. Then every candidate that no run has exposed gets a run, those attempted least often
//! first and simple idioms before compound ones; in it `Attempt` holds threads back at the locations of the
//! candidate. The orders of the other threads are, in one attempt after the other: a random one; that of the
//! run from which it was predicted, so that what made the candidate reachable there happens again (the paper
//! does not do this; it calls the problem pre-conditions); first threads first and last threads first (the
//! paper's complementary schedules); and the first two again, in which some threads pass locations of the
//! candidate without being held. A compound candidate with an abandoned part, as an iRoot of idiom 1, waits
//! until some run exposes that part. All runs predict. Runs for candidates take turns with runs that only
//! predict, because many predictions are impossible: three of four runs are of the kind that has recently
//! exposed most. If no candidate is left, all runs predict, until the probability that one more of them
//! exposes anything new is below 1 in `end`, by the Good-Turing estimate. This is a stopping criterion, which
//! random strategies do not have; it is not the end of all schedules.
//!
//! Departures from the paper: a run that has finished with its candidate continues as a random one, because
//! strict priorities would show nothing new in the rest of it; the scheduler sees the next operation of every
//! thread, so that threads meet at two locations without being tried one after the other; the strategy does
//! not wait for outside events, which the engine does not know.

mod attempt;
mod base;
mod candidates;
mod gains;

use crate::catalogue::{Build, Capabilities, Entry, Family, parameter};
use crate::oos::Oos;
use crate::pos::Pos;
use crate::spec::SpecError;
use crate::values::Values;
use attempt::Attempt;
use base::{Base, Recorded};
use candidates::Candidates;
use gains::{ByChance, Gain};
use raddle_engine::{Choice, Needs, Plan, Point, Rng, RunSummary, Strategy};
use raddle_idioms::{meets, observe, predict};
use raddle_model::{IRoot, Idiom, Ledger, Reads, Verdict};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The catalogue entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "maple",
    family: Family::Randomized,
    summary: "predicts interleavings that no run has exposed, and executes a run for each",
    parameters: &[
        parameter(
            "window",
            "1000",
            "largest distance between two accesses of a thread in an idiom, in steps",
        ),
        parameter("profile", "3", "consecutive runs without a new prediction that end the prediction"),
        parameter("attempts", "6", "failed runs after which an interleaving is abandoned"),
        parameter("end", "100", "end when fewer than one in this many runs would show anything new"),
    ],
    source: "Yu and Narayanasamy, OOPSLA 2012",
    guarantee: "none; no run aims at an interleaving that a run has exposed",
    capabilities: Capabilities { every_step: true, predicts: true, ..Capabilities::NONE },
    build: Build::Alone(|values| Ok(Box::new(Maple::new(settings(values)?)))),
};

fn settings(values: &Values<'_>) -> Result<MapleConfig, SpecError> {
    let usual = MapleConfig::default();
    Ok(MapleConfig {
        window: values.within("window", usual.window, 1..=u32::MAX)?,
        profile: values.within("profile", usual.profile, 1..=u32::MAX)?,
        attempts: values.within("attempts", usual.attempts, 1..=u32::MAX)?,
        end: values.within("end", usual.end, 1..=u32::MAX)?,
    })
}

/// The parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MapleConfig {
    /// The largest distance between the two accesses of a thread in an idiom, in steps of that thread.
    pub window: u32,
    /// Number of consecutive runs without a new prediction that end the prediction phase.
    pub profile: u32,
    /// Number of failed runs after which a candidate is abandoned.
    pub attempts: u32,
    /// The search ends if no candidate is left and less than one in this many runs is expected to expose
    /// anything new.
    pub end: u32,
}

impl Default for MapleConfig {
    fn default() -> MapleConfig {
        MapleConfig { window: raddle_idioms::WINDOW, profile: 3, attempts: 6, end: 100 }
    }
}

/// The purpose of the next run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    /// Predict, with POS.
    Pos,
    /// Predict, with OOS.
    Oos,
    /// Expose this iRoot.
    Expose(IRoot),
}

impl Purpose {
    /// Returns the index of the kind of run.
    fn kind(self) -> usize {
        match self {
            Purpose::Pos => 0,
            Purpose::Oos => 1,
            Purpose::Expose(_) => 2,
        }
    }
}

/// The strategy; see the module documentation.
#[derive(Clone)]
pub struct Maple {
    settings: MapleConfig,
    knowledge: Arc<Knowledge>,
    pos: Pos,
    oos: Oos,
    attempt: Attempt,
}

/// One in this many runs is of a kind that has recently exposed less.
const EXPLORED: u64 = 4;

/// Number of runs from which OOS learns.
const LEARNING_RUNS: u64 = 50;

/// The learnt knowledge, which a copy for one run only reads.
#[derive(Clone)]
struct Knowledge {
    ledger: Ledger,
    /// The iRoots that were exposed before this search.
    recalled: BTreeSet<IRoot>,
    purpose: Purpose,
    /// True if enough consecutive runs have predicted nothing new.
    profiled: bool,
    /// Number of consecutive runs that have predicted nothing new.
    calm: u32,
    /// The iRoots exposed by the runs that only predict.
    by_chance: ByChance,
    /// Number of runs.
    runs: u64,
    /// The recent gain of each kind of run.
    gains: [Gain; 3],
    candidates: Candidates,
}

impl Maple {
    /// Creates Maple with these parameters and no knowledge.
    pub fn new(settings: MapleConfig) -> Maple {
        Maple {
            settings,
            knowledge: Arc::new(Knowledge {
                ledger: Ledger::default(),
                recalled: BTreeSet::new(),
                purpose: Purpose::Pos,
                profiled: false,
                calm: 0,
                by_chance: ByChance::default(),
                runs: 0,
                gains: [Gain::default(); 3],
                candidates: Candidates::default(),
            }),
            pos: Pos::new(Reads::Independent),
            oos: Oos::new(LEARNING_RUNS),
            attempt: Attempt::default(),
        }
    }
}

impl Knowledge {
    /// Records the iRoots that a run exposed. Returns the number of those that no earlier run exposed.
    fn note_exposed(&mut self, run: &RunSummary<'_>, window: u32) -> u64 {
        let had = observe(run, window);
        if !matches!(self.purpose, Purpose::Expose(_)) {
            self.by_chance.note(had.iter().copied().filter(|root| !self.recalled.contains(root)));
        }
        let mut new = 0;
        for root in had {
            let failed = self.ledger.standing(&root).failed;
            if self.ledger.expose(root) {
                self.candidates.exposed(failed, root);
                new += 1;
            }
        }
        new
    }

    /// Records the iRoots predicted from a run. Returns true if any is new.
    fn note_predicted(&mut self, run: &RunSummary<'_>, attempts: u32, window: u32) -> bool {
        let mut recorded = None;
        for root in predict(run, window) {
            self.ledger.predict(root);
            if self.candidates.contains(&root) {
                continue;
            }
            let recorded = recorded.get_or_insert_with(|| Arc::new(Recorded::of(run)));
            let standing = self.ledger.standing(&root);
            let open = !standing.exposed && standing.failed < attempts;
            self.candidates.insert(root, recorded.clone(), standing.failed, open);
        }
        recorded.is_some()
    }

    /// Returns the purpose of the next run.
    fn next_purpose(&self) -> Purpose {
        let candidate = self.candidates.first();
        if !self.profiled || candidate.is_none() {
            return if self.runs.is_multiple_of(2) { Purpose::Pos } else { Purpose::Oos };
        }
        let all = [Some(Purpose::Pos), Some(Purpose::Oos), candidate.map(|(_, root)| Purpose::Expose(root))];
        let possible = all.into_iter().flatten();
        if self.runs.is_multiple_of(EXPLORED) {
            let count = possible.clone().count();
            let mut turns = possible.cycle().skip((self.runs / EXPLORED) as usize % count);
            return turns.next().unwrap_or(Purpose::Pos);
        }
        match candidate {
            // There are few of these, and compound ones consist of them.
            Some((0, root)) if root.idiom == Idiom::One => Purpose::Expose(root),
            _ => possible.max_by_key(|purpose| self.gains[purpose.kind()]).unwrap_or(Purpose::Pos),
        }
    }

    /// Returns true if nothing is left to be done.
    fn is_over(&self, settings: &MapleConfig) -> bool {
        self.profiled && self.candidates.first().is_none() && self.by_chance.is_calm(settings.end)
    }

    /// Records that `run` aimed at `root`.
    fn note_attempt(&mut self, root: IRoot, attempts: u32, run: &RunSummary<'_>) {
        let before = self.ledger.standing(&root);
        if before.exposed {
            return;
        }
        self.ledger.fail(root, meets(run, &root));
        self.candidates.failed(before.failed, root, before.failed + 1 < attempts);
    }
}

impl Strategy for Maple {
    fn begin(&mut self, rng: Rng) -> Plan {
        if self.knowledge.is_over(&self.settings) {
            return Plan::Exhausted;
        }
        match self.knowledge.purpose {
            Purpose::Pos => return self.pos.begin(rng),
            Purpose::Oos => return self.oos.begin(rng),
            Purpose::Expose(root) => {
                let tried = self.knowledge.ledger.standing(&root).failed;
                let base = match (tried, self.knowledge.candidates.origin(&root)) {
                    (1 | 4, Some(recorded)) => Base::Follow(recorded.clone()),
                    (2, _) => Base::FirstFirst,
                    (3, _) => Base::LastFirst,
                    _ => Base::Random,
                };
                self.attempt.begin(root, self.settings.window, base, tried, rng);
            }
        }
        Plan::Run
    }

    fn choose(&mut self, point: &Point<'_>) -> Choice {
        match self.knowledge.purpose {
            Purpose::Pos => self.pos.choose(point),
            Purpose::Oos => self.oos.choose(point),
            Purpose::Expose(_) => Choice::Run(self.attempt.choose(point)),
        }
    }

    fn pick(&mut self, arity: u32) -> u32 {
        match self.knowledge.purpose {
            Purpose::Pos => self.pos.pick(arity),
            Purpose::Oos => self.oos.pick(arity),
            Purpose::Expose(_) => self.attempt.pick(arity),
        }
    }

    fn pick_message(&mut self, arity: u32) -> u32 {
        match self.knowledge.purpose {
            Purpose::Pos => self.pos.pick_message(arity),
            Purpose::Oos => self.oos.pick_message(arity),
            Purpose::Expose(_) => self.attempt.pick_message(arity),
        }
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        let settings = &self.settings;
        let knowledge = Arc::make_mut(&mut self.knowledge);
        let exposed = knowledge.note_exposed(run, settings.window);
        let predicted = *run.verdict != Verdict::CutOff
            && knowledge.note_predicted(run, settings.attempts, settings.window);
        knowledge.runs += 1;
        knowledge.gains[knowledge.purpose.kind()].note(exposed);
        if let Purpose::Expose(root) = knowledge.purpose {
            knowledge.note_attempt(root, settings.attempts, run);
        }
        knowledge.calm = if predicted { 0 } else { knowledge.calm + 1 };
        if !knowledge.profiled && knowledge.calm >= settings.profile {
            knowledge.profiled = true;
            knowledge.gains[2] = knowledge.gains[0].max(knowledge.gains[1]);
        }
        knowledge.candidates.sift(&knowledge.ledger, settings.attempts);
        knowledge.purpose = knowledge.next_purpose();
        self.oos.learn(run);
    }

    fn needs(&self) -> Needs {
        Needs { location_names: true, ..Needs::default() }
    }

    fn learns(&self) -> bool {
        true
    }

    fn ledger(&self) -> Option<&Ledger> {
        Some(&self.knowledge.ledger)
    }

    fn recall(&mut self, known: &Ledger) {
        let knowledge = Arc::make_mut(&mut self.knowledge);
        for (&root, standing) in known.iter() {
            knowledge.ledger.add(root, standing);
            if standing.exposed {
                knowledge.recalled.insert(root);
            }
        }
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}
