//! Maple: predicts interleavings that no run has had, and makes a run for each.
//!
//! Paper: Yu and Narayanasamy, "Maple: A Coverage-Driven Testing Tool for Multithreaded Programs", OOPSLA 2012.
//! Guarantee: none. What it promises is that no run is spent on an iRoot that a run has had before, nor on one that was tried
//! in vain as often as was allowed. Tests: `tests/maple.rs`.
//!
//! The first runs are POS and predict candidates, until `profile` of them in a row have brought no new one. Then every
//! candidate that no run has had gets a run, those tried least often first and simple idioms before compound ones; in it
//! `Attempt` holds threads back at the places of the candidate. The orders of the other threads are, in one attempt after the
//! other: a random one; that of the run from which it was predicted, so that what made the candidate reachable there happens
//! again (the paper has no such thing and calls it pre-conditions); first threads first and last threads first (the paper's
//! complementary schedules); and the first two again, in which some threads pass places of the candidate without being held.
//! All runs predict. A candidate that was tried in vain before takes turns with runs that only predict, for it may be
//! impossible. Where no candidate is left, all runs are such. If `profile` of these bring no new candidate there is no further
//! run: that is a reason to stop, which random strategies do not have. It is not the end of all schedules.
//!
//! Departures from the paper: a run that is over its candidate goes on as a random one, because strict priorities would show
//! nothing new in the rest of it; the scheduler sees what every thread is about to do, so that threads meet at two places
//! without being tried one after the other; nothing waits for outside events, which the engine does not know.

mod attempt;
mod base;

use crate::pos::Pos;
use attempt::Attempt;
use base::{Base, Recorded};
use raddle_engine::{Choice, Needs, Plan, Point, Rng, RunSummary, Strategy};
use raddle_idioms::{observe, predict};
use raddle_model::{IRoot, Ledger, Reads, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// How many steps of a thread its two accesses in an idiom may be apart.
    pub window: u32,
    /// How many runs in a row that predict nothing new end the prediction.
    pub profile: u32,
    /// How many runs are made for one candidate in vain before it is given up.
    pub attempts: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { window: raddle_idioms::WINDOW, profile: 3, attempts: 6 }
    }
}

/// What the next run is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    /// To predict.
    Profile,
    /// To have this iRoot.
    Expose(IRoot),
}

/// See the module's documentation.
#[derive(Clone)]
pub struct Maple {
    settings: Settings,
    knowledge: Arc<Knowledge>,
    profile: Pos,
    attempt: Attempt,
}

/// What is learnt, which a copy for one run only reads.
#[derive(Clone)]
struct Knowledge {
    ledger: Ledger,
    purpose: Purpose,
    /// How many runs in a row have predicted nothing new.
    calm: u32,
    /// The candidates of this search, each with the run that it was predicted from.
    candidates: BTreeMap<IRoot, Arc<Recorded>>,
    /// Invariant: the candidates that no run has had and that may be tried, each with how often it was.
    open: BTreeSet<(u32, IRoot)>,
}

impl Maple {
    /// Maple with these settings, which knows nothing.
    pub fn new(settings: Settings) -> Maple {
        Maple {
            settings,
            knowledge: Arc::new(Knowledge {
                ledger: Ledger::default(),
                purpose: Purpose::Profile,
                calm: 0,
                candidates: BTreeMap::new(),
                open: BTreeSet::new(),
            }),
            profile: Pos::new(Reads::Independent),
            attempt: Attempt::default(),
        }
    }
}

impl Knowledge {
    /// Takes note of what a run had.
    fn note_exposed(&mut self, run: &RunSummary<'_>, window: u32) {
        for root in observe(run, window) {
            let failed = self.ledger.standing(&root).failed;
            if self.ledger.expose(root) {
                self.open.remove(&(failed, root));
            }
        }
    }

    /// Takes note of what other runs may have. Tells whether there is anything new.
    fn note_predicted(&mut self, run: &RunSummary<'_>, settings: &Settings) -> bool {
        let mut recorded = None;
        for root in predict(run, settings.window) {
            self.ledger.predict(root);
            if self.candidates.contains_key(&root) {
                continue;
            }
            let recorded = recorded.get_or_insert_with(|| Arc::new(Recorded::of(run)));
            self.candidates.insert(root, recorded.clone());
            let standing = self.ledger.standing(&root);
            if !standing.exposed && standing.failed < settings.attempts {
                self.open.insert((standing.failed, root));
            }
        }
        recorded.is_some()
    }

    /// Takes note that a run for `root` is over.
    fn note_attempt(&mut self, root: IRoot, attempts: u32) {
        let before = self.ledger.standing(&root);
        if before.exposed {
            return;
        }
        self.open.remove(&(before.failed, root));
        self.ledger.fail(root);
        if before.failed + 1 < attempts {
            self.open.insert((before.failed + 1, root));
        }
    }
}

impl Strategy for Maple {
    fn begin(&mut self, rng: Rng) -> Plan {
        match self.knowledge.purpose {
            // After the prediction there is one only if candidates are left.
            Purpose::Profile
                if self.knowledge.open.is_empty() && self.knowledge.calm >= self.settings.profile =>
            {
                return Plan::Exhausted;
            }
            Purpose::Profile => {
                self.profile.begin(rng);
            }
            Purpose::Expose(root) => {
                let tried = self.knowledge.ledger.standing(&root).failed;
                let base = match (tried, self.knowledge.candidates.get(&root)) {
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
            Purpose::Profile => self.profile.choose(point),
            Purpose::Expose(_) => Choice::Run(self.attempt.choose(point)),
        }
    }

    fn pick(&mut self, arity: u32) -> u32 {
        match self.knowledge.purpose {
            Purpose::Profile => self.profile.pick(arity),
            Purpose::Expose(_) => self.attempt.pick(arity),
        }
    }

    fn learn(&mut self, run: &RunSummary<'_>) {
        let Settings { window, profile, attempts } = self.settings;
        let knowledge = Arc::make_mut(&mut self.knowledge);
        let had_open = !knowledge.open.is_empty();
        knowledge.note_exposed(run, window);
        let new = *run.verdict != Verdict::CutOff && knowledge.note_predicted(run, &self.settings);
        let mut tried_again = false;
        match knowledge.purpose {
            // Once enough runs were calm, prediction goes on beside the attempts.
            Purpose::Profile if knowledge.calm < profile => {
                knowledge.calm = if new { 0 } else { knowledge.calm + 1 };
            }
            Purpose::Profile => {}
            Purpose::Expose(root) => {
                tried_again = knowledge.ledger.standing(&root).failed > 0;
                knowledge.note_attempt(root, attempts);
            }
        }
        if had_open && knowledge.open.is_empty() {
            // Is there really nothing left?
            knowledge.calm = 0;
        }
        knowledge.purpose = match knowledge.open.first() {
            Some(&(0, root)) if knowledge.calm >= profile => Purpose::Expose(root),
            Some(&(_, root)) if knowledge.calm >= profile && !tried_again => Purpose::Expose(root),
            _ => Purpose::Profile,
        };
    }

    fn needs(&self) -> Needs {
        Needs { places: true, ..Needs::default() }
    }

    fn learns(&self) -> bool {
        true
    }

    fn ledger(&self) -> Option<&Ledger> {
        Some(&self.knowledge.ledger)
    }

    fn recall(&mut self, known: &Ledger) {
        let ledger = &mut Arc::make_mut(&mut self.knowledge).ledger;
        known.iter().for_each(|(&root, standing)| ledger.add(root, standing));
    }

    fn fork(&self) -> Box<dyn Strategy> {
        Box::new(self.clone())
    }
}
