//! `raddle tx plan`: the search for a fast plan with few interleavings.

use super::library::Library;
use super::number::number;
use super::plan::Plan;
use super::timer::Timer;
use crate::args::{PlanArgs, SearchArg};
use crate::outcome::Outcome;
use anyhow::{Result, ensure};
use raddle_engine::Rng;
use raddle_launch::native::{Divided, Limits};
use raddle_model::EXIT_NOTHING_FOUND;
use raddle_report::text::{count, plural};
use raddle_search::Deadline;
use std::collections::BTreeMap;
use std::time::Duration;

/// The number of runs from which the accesses are known.
const RUNS: u64 = 500;
/// A boundary has to save this share of the time, or it is noise.
const GAIN: f64 = 0.02;
/// One bit in so many is changed in a new plan of the genetic search.
const MUTATIONS: u64 = 50;

/// The boundaries of a plan: before and after each access.
type Bits = Vec<bool>;

/// The result of one plan.
#[derive(Clone, Copy, Debug)]
struct Examined {
    /// The number of interleavings, if it is at most the budget.
    schedules: Option<u64>,
    time: Duration,
}

/// The search.
struct Search<'a> {
    args: &'a PlanArgs,
    library: &'a Library,
    base: Plan,
    divided: Divided<'a>,
    timer: Timer<'a>,
    deadline: Deadline,
    /// The plans that were examined.
    known: BTreeMap<Bits, Examined>,
}

pub(super) fn run(args: &PlanArgs) -> Result<Outcome> {
    let library = Library::of(&args.library)?;
    let mut divided = library.divided()?;
    let base = Plan::of(&library, &library.sites(&mut divided, RUNS)?);
    let timer = Timer::new(&library, args.timed.as_deref(), args.rounds)?;
    let deadline = Deadline::new(Some(args.time));
    let mut search =
        Search { args, library: &library, base, divided, timer, deadline, known: BTreeMap::new() };
    let plain = search.timer.plain()?;
    let start = vec![false; 2 * search.base.accesses.len()];
    let baseline = search.examine(&start)?;
    ensure!(
        baseline.schedules.is_some(),
        "with one transaction for each operation there are more than {} interleavings\n\
         help: raise --budget, or let the program do less",
        count(args.budget)
    );
    match args.search {
        SearchArg::Greedy => search.greedy(&start)?,
        SearchArg::Genetic => search.genetic()?,
    }
    let in_budget = search.known.iter().filter(|(_, result)| result.schedules.is_some());
    let best = in_budget.min_by_key(|(bits, result)| (result.time, bits.iter().filter(|bit| **bit).count()));
    let (bits, result) = best.map_or((start, baseline), |(bits, result)| (bits.clone(), *result));
    let plan = search.plan(&bits);
    plan.write(&args.output)?;
    let relative = |time: Duration| time.as_secs_f64() / plain.as_secs_f64();
    let text = format!(
        "{} examined. The fastest with at most {} interleavings: {}\n\n  \
         interleavings             {}\n  \
         boundaries in operations  {}\n  \
         time                      {:.2} (1: without transactions, {:.1} ms)\n  \
         one transaction each      {:.2}, {} interleavings\n",
        plural(search.known.len() as u64, "plan"),
        count(args.budget),
        args.output.display(),
        number(result.schedules.unwrap_or_default() as f64, true),
        plan.boundaries(),
        relative(result.time),
        plain.as_secs_f64() * 1e3,
        relative(baseline.time),
        number(baseline.schedules.unwrap_or_default() as f64, true)
    );
    Ok(Outcome { text, status: EXIT_NOTHING_FOUND })
}

impl Search<'_> {
    fn plan(&self, bits: &Bits) -> Plan {
        let mut plan = self.base.clone();
        for (access, pair) in plan.accesses.iter_mut().zip(bits.chunks(2)) {
            (access.before, access.after) = (pair[0], pair[1]);
        }
        plan
    }

    /// Counts the interleavings of a plan and times it.
    fn examine(&mut self, bits: &Bits) -> Result<Examined> {
        if let Some(&known) = self.known.get(bits) {
            return Ok(known);
        }
        let plan = self.plan(bits);
        let time = self.timer.with(&plan)?;
        let schedules = self.count(&plan)?;
        let result = Examined { schedules, time };
        self.known.insert(bits.clone(), result);
        Ok(result)
    }

    /// Returns the number of interleavings of a plan, if it is at most the budget.
    fn count(&mut self, plan: &Plan) -> Result<Option<u64>> {
        let budget = self.args.budget;
        // Runs that are cut off are runs too.
        let limits = Limits {
            runs: budget.saturating_mul(2).max(budget + 100),
            deadline: Deadline::new(None),
            stop: false,
        };
        let counted = self.divided.count(&plan.transactions(self.library), "dpor", limits)?;
        let is_complete = counted.exhausted && counted.incomplete == 0;
        Ok((is_complete && counted.runs <= budget).then_some(counted.runs))
    }

    /// Adds one boundary at a time: of those that save time, the one that saves most and stays in the budget. Only shared
    /// memory counts, and a boundary after an access is one before the next.
    fn greedy(&mut self, start: &Bits) -> Result<()> {
        let candidates: Vec<usize> =
            (0..self.base.accesses.len()).filter(|&access| self.base.accesses[access].is_shared()).collect();
        let mut current = start.clone();
        let mut time = self.known[start].time;
        loop {
            let mut faster = Vec::new();
            for &access in candidates.iter().filter(|&&access| !current[2 * access]) {
                if self.deadline.is_over() {
                    break;
                }
                let mut bits = current.clone();
                bits[2 * access] = true;
                let taken = self.timer.with(&self.plan(&bits))?;
                if taken.as_secs_f64() < time.as_secs_f64() * (1.0 - GAIN) {
                    faster.push((taken, bits));
                }
            }
            faster.sort();
            let mut next = None;
            for (taken, bits) in faster {
                if self.examine(&bits)?.schedules.is_some() {
                    next = Some((taken, bits));
                    break;
                }
            }
            match next {
                Some(better) if !self.deadline.is_over() => (time, current) = better,
                _ => return Ok(()),
            }
        }
    }

    /// The search of the TXIT paper: a population of random plans, of which those in the budget that take less time are more
    /// likely to be combined.
    fn genetic(&mut self) -> Result<()> {
        let mut rng = Rng::for_run(self.args.seed, 0);
        let length = 2 * self.base.accesses.len();
        let mut population: Vec<Bits> =
            (0..self.args.population).map(|_| (0..length).map(|_| rng.below(2) == 1).collect()).collect();
        for _ in 0..self.args.generations {
            let mut ranked = Vec::new();
            for bits in &population {
                if self.deadline.is_over() {
                    return Ok(());
                }
                let result = self.examine(bits)?;
                ranked.push((result.schedules.is_none(), result.time, bits.clone()));
            }
            ranked.sort();
            let choose = |rng: &mut Rng| {
                // The better one of two.
                let (a, b) = (rng.below(ranked.len() as u64), rng.below(ranked.len() as u64));
                ranked[a.min(b) as usize].2.clone()
            };
            let mut next = vec![ranked[0].2.clone()];
            while next.len() < population.len() {
                let (mut child, other) = (choose(&mut rng), choose(&mut rng));
                let cut = rng.below(length as u64 + 1) as usize;
                child[cut..].copy_from_slice(&other[cut..]);
                for bit in &mut child {
                    *bit ^= rng.below(MUTATIONS) == 0;
                }
                next.push(child);
            }
            population = next;
        }
        Ok(())
    }
}
