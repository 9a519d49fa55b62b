//! The cause of a failure: the order of two operations that makes the difference, and the number of such
//! orders that are needed.
//!
//! The run is one that [`minimize`](crate::minimize) has reduced. Three questions are answered by executing the
//! program:
//!
//! * *Which swap makes it pass?* For two dependent steps of different threads, the later one is moved before
//!   the earlier one, with as little else changed as possible. Among the passing runs, the one with the
//!   fewest swapped pairs of dependent operations is the closest, not counting those that follow from another
//!   one. First the later step moves only before the latest step that it depends on. If no such swap is
//!   sufficient, the thread of the earlier step is held back until the later one has happened, for pairs that could not
//!   be swapped without other threads; then the later step moves before more of the other thread; then two pairs are
//!   swapped.
//! * *Which memory orders are too weak?* Only for runs that read old values; see [`crate::orders`].
//! * *How deep is the bug?* By PCT's definition, the depth is the smallest number of ordering constraints
//!   such that every schedule that keeps them fails. Sets of one to four constraints are tried, each with
//!   some random schedules; so the answer is an estimate. If none is sufficient, constraints are removed from
//!   all those of the run as long as the others are sufficient: that gives a set in which each is needed, yet
//!   there may be a smaller one.

mod candidates;
mod depth;
mod interruptions;
mod visits;

use self::visits::{KnownVisit, Visit, positions, visits};
use crate::execute::{Execute, Wanted};
use crate::orders::Repair;
use crate::same::Symptom;
use crate::swap::{MOST_STEPS, Pair, follows, precedes, release, reverse};
use raddle_model::{
    Access, Completion, Constraint, Failure, Kind, LocationId, ObjectId, Schedule, Segment, ThreadId, Touch,
    TraceFile, TraceStep, Verdict, user_frame,
};
use std::collections::{BTreeMap, BTreeSet};

/// The limits of an explanation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// The largest number of executions.
    pub executions: u64,
    /// Number of random schedules with which a set of constraints is tried.
    pub samples: u64,
    /// True if [`Explanation::constraints`] are wanted, which take most of the executions.
    pub depth: bool,
    /// True to stop at the first swap that makes the run pass, and to search for constraints only near it.
    pub near: bool,
}

impl Effort {
    /// Returns the effort for the report after a search, when a person waits: few runs of `steps` steps.
    pub fn after_a_failure(steps: usize) -> Effort {
        const RUNS: u64 = 300;
        const STEPS: u64 = 150_000;
        let runs = (STEPS / (steps as u64).max(1)).clamp(20, RUNS);
        Effort { executions: runs, samples: 20, depth: true, near: true }
    }
}

/// The result.
#[derive(Clone, Debug, Default)]
pub struct Explanation {
    /// The failing run as it was executed again, with names for all of `steps`.
    pub run: Option<TraceFile>,
    /// The steps of the failing run, then some that it did not reach and another run has.
    pub steps: Vec<TraceStep>,
    /// The passing run that is closest to the failing one, if there is one.
    pub passing: Option<TraceFile>,
    /// The pairs of dependent operations of the failing run that are in the other order in the passing one.
    /// One pair, if a single swap makes the difference.
    pub swapped: Vec<Pair>,
    /// The smallest set of orders found that makes the program fail; empty if there is none, or if the
    /// program fails whatever the order ([`Explanation::always`]).
    pub constraints: Vec<Pair>,
    /// True if all smaller sets of the examined orders were tried. If not, each of `constraints` is needed.
    pub smallest: bool,
    /// True if all sampled schedules fail, without any constraint.
    pub always: bool,
    /// The number of the Maple idiom that the constraints form, if they form one: 1 to 6.
    pub idiom: Option<u8>,
    /// The interruption without which the run passes, if no swap of one pair makes it pass.
    pub interruption: Option<Interruption>,
    /// The memory orders that have to be stronger, if the run reads old values and such orders were found.
    pub repair: Option<Repair>,
    /// Number of pairs of operations that could have happened in the other order.
    pub candidates: usize,
    /// Number of these that were tried. All, unless the search was cut off.
    pub tried: usize,
    /// True if time or runs were exhausted before everything was tried.
    pub is_cut_off: bool,
    /// Number of executions.
    pub executions: u64,
}

/// Two consecutive steps of a thread between which other threads run, though it could go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interruption {
    /// The step before, as an index of [`Explanation::steps`].
    pub before: usize,
    /// The step after.
    pub after: usize,
}

/// Explains the failing run of `file`. Returns `None` if it does not fail again. `go_on` is called before
/// each execution with the result so far, and returns false to stop; then [`Explanation::is_cut_off`] is
/// true.
pub fn explain(
    file: &TraceFile,
    effort: Effort,
    go_on: &mut dyn FnMut(&Explanation) -> bool,
    execute: &mut dyn Execute,
) -> Option<Explanation> {
    let again = execute.execute(&Schedule::of(file), Wanted::Any)?;
    let run = again.run;
    let symptom = Symptom::of(&run)?;
    let mut found = Explanation { steps: run.steps.clone(), ..Explanation::default() };
    found.executions = 1;
    let mut search = Search {
        happened: run.steps.len(),
        run,
        symptom,
        positions: Vec::new(),
        visits: Vec::new(),
        all: Vec::new(),
        reaches: Vec::new(),
        effort,
        go_on,
        execute,
        distance: None,
        not_swapped: Vec::new(),
        minor: Vec::new(),
        found,
    };
    search.positions = positions(&search.found.steps);
    if search.run.steps == file.steps {
        search.minor = file.steps.iter().map(|step| is_minor(file, step)).collect();
    }
    let executions = search.effort.executions;
    search.found.repair = search.repair();
    // The other questions have as many executions as without this one.
    search.found.is_cut_off = false;
    search.effort.executions = executions + search.found.executions - 1;
    search.add_missing();
    let known = visits(&search.found.steps, &search.run.locations, &search.run.objects).into_iter();
    search.visits = known.map(KnownVisit::from).collect();
    let (pairs, earlier) = search.pairs();
    // In a run with more pairs than runs, interruptions are fewer.
    let are_many = effort.near && pairs.len() as u64 > search.effort.executions;
    let mut left_some = false;
    if are_many {
        left_some = search.with_half(|search| search.swap_each(&pairs));
        search.interruption_instead();
    } else {
        search.swap_each(&pairs);
    }
    // Each is sufficient if its step moves before a nearer one; so these are useful only if none was.
    if !search.has_cause() {
        let failed = std::mem::take(&mut search.not_swapped);
        left_some |= search.with_half(|search| search.hold_back_each(&failed));
    }
    if !search.has_cause() {
        left_some |= search.with_half(|search| search.swap_each(&earlier));
    }
    if !are_many {
        search.interruption_instead();
    }
    if !search.has_cause() && search.found.swapped.len() != 2 {
        search.swap_two(&pairs);
    }
    if effort.depth && search.found.interruption.is_none() {
        search.depth(&pairs);
    }
    let is_cut_off = search.found.is_cut_off || left_some;
    Some(Explanation { run: Some(search.run), is_cut_off, ..search.found })
}

/// Returns the index of `name` in `names`, adding it if necessary.
fn number(names: &mut Vec<String>, name: &str) -> u32 {
    let known = names.iter().position(|known| known == name);
    known.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    }) as u32
}

pub(crate) struct Search<'a> {
    pub(crate) run: TraceFile,
    /// Number of steps that have happened.
    happened: usize,
    pub(crate) symptom: Symptom,
    /// The result of [`positions`].
    positions: Vec<(u32, u32)>,
    /// The result of [`visits`].
    visits: Vec<KnownVisit>,
    /// All pairs that could have happened in the other order.
    all: Vec<Pair>,
    /// The result of [`reaches`].
    reaches: Vec<usize>,
    pub(crate) effort: Effort,
    go_on: &'a mut dyn FnMut(&Explanation) -> bool,
    execute: &'a mut dyn Execute,
    /// The distance of the closest passing run.
    distance: Option<(bool, usize, usize)>,
    /// The pairs that stayed in their order in the runs that were to swap them.
    not_swapped: Vec<Pair>,
    /// For each step of the failing run, true if its order explains little to the user.
    minor: Vec<bool>,
    found: Explanation,
}

impl Search<'_> {
    /// Executes a run, if the limits allow another one.
    pub(crate) fn run(&mut self, schedule: &Schedule) -> Option<TraceFile> {
        if self.found.is_cut_off
            || self.found.executions >= self.effort.executions
            || !(self.go_on)(&self.found)
        {
            self.found.is_cut_off = true;
            return None;
        }
        self.found.executions += 1;
        Some(self.execute.execute(schedule, Wanted::Any)?.run)
    }

    /// Runs `part` with at most half of the remaining runs, so that some remain for what follows. Returns
    /// true if they were too few.
    fn with_half(&mut self, part: impl FnOnce(&mut Self)) -> bool {
        if self.found.is_cut_off {
            return false;
        }
        let all = self.effort.executions;
        self.effort.executions = self.found.executions.midpoint(all);
        part(self);
        self.effort.executions = all;
        std::mem::take(&mut self.found.is_cut_off)
    }

    /// Adds the steps that the failing run did not reach: those that each thread would have taken next
    /// without the last one, and if there are none, those of another run, which passes.
    fn add_missing(&mut self) {
        /// With more threads, trying each of them takes too long.
        const MOST_THREADS: usize = 64;
        const MOST_NEAR: usize = 8;
        let most = if self.effort.near { MOST_NEAR } else { MOST_THREADS };
        let mut before = self.run.clone();
        before.steps.pop();
        let left = before.steps.len();
        before.picks.retain(|&(step, ..)| (step as usize) < left);
        for thread in (0..self.run.threads.len()).take(most).map(|index| ThreadId(index as u32)) {
            let mut schedule = Schedule::of(&before);
            schedule.segments.push(Segment { thread, until: Segment::ALL });
            if let Some(other) = self.run(&schedule) {
                self.add_steps(&other, Some(thread));
            }
        }
        let passing = (0..self.effort.samples).find_map(|seed| {
            let schedule = Schedule { completion: Completion::Random(seed), ..Schedule::default() };
            self.run(&schedule).filter(|run| run.verdict == Verdict::Passed)
        });
        if let Some(passing) = passing {
            self.add_steps(&passing, None);
        }
    }

    /// Adds the steps of `other`, or of one thread of it, that come after the last known one of their thread.
    /// Only some: the steps of the failing run must be among those in which pairs are searched.
    fn add_steps(&mut self, other: &TraceFile, only: Option<ThreadId>) {
        const MOST_ADDED: usize = MOST_STEPS / 5;
        let known: BTreeSet<(u32, u32)> = self.positions.iter().copied().collect();
        let added: Vec<u32> = self.positions[self.happened..].iter().map(|place| place.0).collect();
        for (step, place) in other.steps.iter().zip(positions(&other.steps)) {
            let unwanted = only.map_or(added.contains(&place.0), |only| only.0 != place.0);
            if unwanted || known.contains(&place) || place.0 as usize >= self.run.threads.len() {
                continue;
            }
            if self.found.steps.len() - self.happened >= MOST_ADDED {
                return;
            }
            let mut step = *step;
            let location = other.locations.get(step.operation.location.index()).map_or("", |text| text);
            step.operation.location = LocationId(number(&mut self.run.locations, location));
            let (touched, operation) = (step.operation.objects(), &mut step.operation);
            operation.touches = [Touch::NONE; 2];
            for (object, writes) in touched {
                let name = other.objects.get(object.index()).map_or("", |name| name);
                let object = ObjectId(number(&mut self.run.objects, name));
                *operation = operation.on(object, if writes { Access::Write } else { Access::Read });
            }
            self.found.steps.push(step);
            self.positions.push(place);
        }
    }

    /// Tries to swap each of `pairs` alone.
    fn swap_each(&mut self, pairs: &[Pair]) {
        self.found.candidates += pairs.len();
        for &pair in pairs {
            if self.found.is_cut_off || self.is_satisfied() {
                return;
            }
            if !self.swap(&self.swapped_schedule(&[pair]), &[pair]) && !self.found.is_cut_off {
                self.not_swapped.push(pair);
            }
            self.found.tried += usize::from(!self.found.is_cut_off);
        }
    }

    /// Tries to swap each of `pairs` alone by holding back the thread of the first step, while all others run: the
    /// second step may need what others do for its thread, such as the reply of a server.
    fn hold_back_each(&mut self, pairs: &[Pair]) {
        for &pair in pairs {
            if self.found.is_cut_off || self.is_satisfied() {
                return;
            }
            self.swap(&self.held_schedule(pair), &[pair]);
        }
    }

    /// Returns true if one swap, or one interruption, makes the difference.
    fn has_cause(&self) -> bool {
        self.found.swapped.len() == 1 || self.found.interruption.is_some()
    }

    /// Searches for an interruption unless one swap makes the difference.
    fn interruption_instead(&mut self) {
        if self.effort.near && !self.has_cause() {
            self.find_interruption();
        }
    }

    /// Returns true if a single swap was found and that is enough.
    fn is_satisfied(&self) -> bool {
        self.effort.near && self.distance.is_some_and(|(is_end, swapped, _)| !is_end && swapped == 1)
    }

    /// Tries a run in which the second step of each pair is to come before the first. Returns false if it does not.
    fn swap(&mut self, schedule: &Schedule, pairs: &[Pair]) -> bool {
        /// With more differences, not even their causes are few.
        const MOST_CAUSES: usize = 100;
        let Some(run) = self.run(schedule) else { return false };
        let at = self.steps_in(&run);
        let is_swapped = |pair: &Pair| at[pair.second] < at[pair.first];
        if !pairs.iter().all(is_swapped) {
            return false;
        }
        if run.verdict != Verdict::Passed {
            return true;
        }
        let mut swapped = self.all.clone();
        swapped.retain(is_swapped);
        let all = swapped.len();
        let follows = |pair, other| follows(&self.found.steps, &self.reaches, pair, other);
        retain_causes(&mut swapped, follows);
        // That the program ended before something says less than the other differences.
        retain_if_any(&mut swapped, |pair| !self.is_end(pair));
        // What others did for the second step in between comes before the first one too. The short explanation names
        // only the cause.
        if self.effort.near && !schedule.constraints.is_empty() && (2..=MOST_CAUSES).contains(&swapped.len())
        {
            let steps = &self.found.steps;
            let kept = |one: usize, other: usize| at[one] <= at[other] && precedes(steps, one, other);
            retain_causes(&mut swapped, |pair, other| {
                pair != other && kept(other.first, pair.first) && kept(pair.second, other.second)
            });
        }
        if self.effort.near {
            self.retain_informative(&mut swapped, &at);
        }
        // Of runs with equally many reasons the one with fewer consequences is closer.
        let distance = (swapped.iter().any(|pair| self.is_end(pair)), swapped.len(), all);
        if self.distance.is_none_or(|least| distance < least) {
            self.distance = Some(distance);
            (self.found.swapped, self.found.passing) = (swapped, Some(run));
        }
        true
    }

    /// Removes the pairs that differ because one of the runs has taken another path, and those that explain little, as long
    /// as others remain. `at` is the result of [`Search::steps_in`] for the passing run.
    fn retain_informative(&self, swapped: &mut Vec<Pair>, at: &[usize]) {
        let is_minor = |step: usize| self.minor.get(step).is_some_and(|&minor| minor);
        retain_if_any(swapped, |pair| at[pair.first] != usize::MAX);
        if !matches!(self.run.verdict.failure(), Some(Failure::Deadlock { .. })) {
            retain_if_any(swapped, |pair| pair.second < self.happened);
        }
        retain_if_any(swapped, |pair| !is_minor(pair.first) && !is_minor(pair.second));
    }

    /// Tries to swap two pairs of operations, those nearest to the failure.
    fn swap_two(&mut self, pairs: &[Pair]) {
        /// The largest number of pairs that are combined.
        const MOST: usize = 24;
        for set in combinations(&pairs[..pairs.len().min(MOST)], 2) {
            self.swap(&self.swapped_schedule(&set), &set);
            if self.found.swapped.len() == set.len() {
                return;
            }
        }
    }

    /// Returns the order of the failing run with these pairs reversed. Of the steps that have not happened,
    /// it contains only those that are needed for that.
    fn swapped_schedule(&self, pairs: &[Pair]) -> Schedule {
        let steps = &self.found.steps;
        let mut order: Vec<usize> = (0..steps.len()).collect();
        for &pair in pairs {
            order = reverse(steps, &order, pair);
        }
        let needed = |step: usize| {
            let own = |pair: &&Pair| steps[pair.second].thread == steps[step].thread;
            pairs.iter().filter(own).any(|pair| step <= release(steps, pair.second))
        };
        let mut schedule = Schedule { answers: Schedule::of(&self.run).answers, ..Schedule::default() };
        for step in order.into_iter().filter(|&step| step < self.happened || needed(step)) {
            let (thread, own) = self.positions[step];
            let thread = ThreadId(thread);
            match schedule.segments.last_mut() {
                Some(last) if last.thread == thread => last.until = last.until.max(own + 1),
                _ => schedule.segments.push(Segment { thread, until: own + 1 }),
            }
        }
        schedule
    }

    /// Returns the schedule of the failing run, except that it holds back the thread of the first step of `pair` until the
    /// second step has happened.
    fn held_schedule(&self, pair: Pair) -> Schedule {
        let place = |step: usize| place(self.positions[step]);
        let mut schedule = Schedule::of(&self.run);
        schedule.constraints.push(Constraint { before: place(pair.second), after: place(pair.first) });
        schedule
    }

    /// Returns the index in `other` of each step of the failing run. Steps are the same if they are the same visit of
    /// their thread to a location. Those that have not happened would have happened later.
    fn steps_in(&self, other: &TraceFile) -> Vec<usize> {
        let theirs = visits(&other.steps, &other.locations, &other.objects);
        let there: BTreeMap<Visit<'_>, usize> =
            theirs.into_iter().enumerate().map(|(step, visit)| (visit, step)).collect();
        let same = |visit: &KnownVisit| there.get(&visit.as_visit()).copied().unwrap_or(usize::MAX);
        self.visits.iter().map(same).collect()
    }

    /// Returns true if the second step of `pair` is the end of the program.
    fn is_end(&self, pair: &Pair) -> bool {
        self.found.steps[pair.second].operation.kind == Kind::Exit
    }
}

/// Keeps the elements that are wanted, or all if none is.
fn retain_if_any(pairs: &mut Vec<Pair>, is_wanted: impl Fn(&Pair) -> bool) {
    if pairs.iter().any(&is_wanted) {
        pairs.retain(is_wanted);
    }
}

/// Returns true for a step of a library that no line of the user called, and for one that only counts the owners of an object.
fn is_minor(file: &TraceFile, step: &TraceStep) -> bool {
    let name = |object: ObjectId| file.objects.get(object.index()).map_or("", |name| name);
    let counts = |name: &str| {
        let name = name.split_once(" made at ").map_or(name, |(name, _)| name);
        [".strong", ".weak"].iter().any(|field| name.contains(field))
    };
    let location = file.locations.get(step.operation.location.index()).map_or("", |text| text);
    let mut objects = step.operation.objects().peekable();
    user_frame(location).is_library()
        || objects.peek().is_some() && objects.all(|(object, _)| counts(name(object)))
}

/// Removes each of `swapped` that follows from another one. Of two that follow from each other the earlier one stays.
fn retain_causes(swapped: &mut Vec<Pair>, follows: impl Fn(Pair, Pair) -> bool) {
    let all = swapped.clone();
    swapped.retain(|&pair| {
        !all.iter().any(|&other| follows(pair, other) && !(follows(other, pair) && pair < other))
    });
}

/// Returns the end of a segment that includes a step, from its thread and its index in the thread.
fn place((thread, own): (u32, u32)) -> Segment {
    Segment { thread: ThreadId(thread), until: own + 1 }
}

/// Returns all subsets of `pairs` with `size` elements, in order.
fn combinations(pairs: &[Pair], size: usize) -> Vec<Vec<Pair>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let mut sets = Vec::new();
    for (index, &pair) in pairs.iter().enumerate() {
        for mut rest in combinations(&pairs[index + 1..], size - 1) {
            rest.insert(0, pair);
            sets.push(rest);
        }
    }
    sets
}
