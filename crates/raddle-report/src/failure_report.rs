//! One failure with all information about it.

use crate::events::{Place, Timeline};
use crate::run_text::{self, brief, relevant};
use raddle_model::{Details, Failure, FrontEnd, Kind, TraceFile, TraceStep, user_frame};
use std::collections::BTreeSet;

/// The contents of a report: the failing run, and if it was explained, the reason.
#[derive(Clone, PartialEq, Debug)]
pub struct FailureReport {
    /// The short name of the failure.
    pub id: String,
    /// The front end that ran the program.
    pub front_end: FrontEnd,
    /// The name of the program.
    pub program: String,
    /// The origin of the run: strategy, seed, number of the run.
    pub found: String,
    /// The failing run.
    pub failing: Timeline,
    /// The end of the run in a line; of a deadlock also its picture.
    pub summary: Vec<String>,
    /// Details of the failure.
    pub details: Details,
    /// The steps that matter, if they are known.
    pub relevant: Option<BTreeSet<usize>>,
    /// The steps that took what the threads of a deadlock wait for.
    pub taken: Vec<usize>,
    /// The closest run that passes, if known.
    pub passing: Option<Timeline>,
    /// The relevant pairs of steps of the failing run.
    pub pairs: Vec<ConflictPair>,
    /// Maple's idiom of the orderings that suffice for the failure, if they are one.
    pub idiom: Option<ReportedIdiom>,
    /// The explanation, a line each; empty if there is none.
    pub why: Vec<String>,
    /// Notes about the report itself, such as why there is no explanation.
    pub notes: Vec<String>,
    /// The texts of source files, as far as known.
    pub sources: Vec<Source>,
}

/// Two steps whose order matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ConflictPair {
    /// The earlier one, as an index of the failing run's events.
    pub first: u32,
    /// The later one.
    pub second: u32,
    /// The effect of their order.
    pub role: PairRole,
}

/// The iRoot of a failure: an instance of one of Maple's idioms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReportedIdiom {
    /// The number of the idiom, from 1 to 6.
    pub number: u8,
    /// Its form, with letters for its events.
    pub words: String,
    /// The letter of each event, as an index of the failing run's events, in the order of the letters.
    pub events: Vec<(char, u32)>,
}

/// The effect of the order of two steps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PairRole {
    /// If they are swapped, the run passes.
    Swap,
    /// Their order is part of what suffices for the failure.
    Enough,
    /// They are unordered, and that is the failure.
    Race,
}

impl PairRole {
    /// All roles, in the order of their numbers in a page.
    pub const ALL: [PairRole; 3] = [PairRole::Swap, PairRole::Enough, PairRole::Race];

    /// Returns the meaning of the mark of a step, if `pairs` pairs have this role.
    pub(crate) fn legend(self, pairs: usize) -> &'static str {
        match self {
            PairRole::Swap if pairs > 1 => "* if these steps change places, the run passes",
            PairRole::Swap => "* if these two steps change places, the run passes",
            PairRole::Enough => "+ the order of these steps is sufficient for the failure",
            PairRole::Race => "! nothing orders these two steps",
        }
    }

    /// Returns a short name.
    pub fn name(self) -> &'static str {
        match self {
            PairRole::Swap => "swap",
            PairRole::Enough => "enough",
            PairRole::Race => "race",
        }
    }
}

/// The text of a source file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// Its name in locations; empty for a lab program.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl Source {
    /// Returns its title.
    pub fn title(&self) -> &str {
        if self.name.is_empty() { "program" } else { &self.name }
    }
}

impl FailureReport {
    /// Returns the information in the file alone.
    pub fn of(file: &TraceFile) -> FailureReport {
        let mut report = FailureReport {
            id: if file.id.is_empty() { file.short_id() } else { file.id.clone() },
            front_end: file.front_end,
            program: program(file),
            found: format!("run {} of seed {} under {}", file.run, file.seed, file.strategy),
            failing: Timeline::of(file),
            passing: None,
            pairs: Vec::new(),
            idiom: None,
            why: Vec::new(),
            notes: Vec::new(),
            sources: Vec::new(),
            summary: brief::summary(file),
            details: file.details.clone(),
            relevant: None,
            taken: Vec::new(),
        };
        // What was freed says more than the order of other operations.
        let mut why = brief::why(file);
        if !why.is_empty() {
            let reason = report.details.reason.get_or_insert_default();
            why.append(&mut reason.why);
            reason.why = why;
        }
        if let Some(reason) = &file.details.reason {
            let last = report.failing.events.len() as u32;
            for (pairs, role) in [(&reason.swapped, PairRole::Swap), (&reason.sufficient, PairRole::Enough)] {
                let known = pairs.iter().filter(|(first, second)| *first < last && *second < last);
                report.pairs.extend(known.map(|&(first, second)| ConflictPair { first, second, role }));
            }
        }
        if let Some(Failure::DataRace { first, second, .. }) = file.verdict.failure()
            && (second.step as usize) < report.failing.events.len()
        {
            report.pairs.push(ConflictPair { first: first.step, second: second.step, role: PairRole::Race });
        }
        report.taken = run_text::taken(file);
        report.find_relevant();
        if let Some(minimized) = file.minimized {
            let (before, now) = (minimized.switches_before, file.switches());
            if before > now {
                report.found += &format!("; made smaller from {before} to {now} switches between threads");
            }
        }
        if file.values.from > 0 {
            let first = file.values.from + 1;
            report.notes.push(format!(
                "What steps before step {first} read and wrote was not kept: the run is long."
            ));
        }
        if file.front_end == FrontEnd::Lab {
            report.sources.push(Source { name: String::new(), text: file.program.clone() });
        }
        report
    }

    /// Finds the steps that matter, after a change of the pairs.
    pub fn find_relevant(&mut self) {
        self.relevant = relevant(&self.failing, &self.pairs);
        if let Some(steps) = &mut self.relevant {
            steps.extend(&self.taken);
        }
    }

    /// Adds a pair of steps, each with its number among the steps of the explanation: those of the run, and
    /// some that it has not reached. A pair with a step that is not displayed is omitted.
    pub fn add_pair(&mut self, first: (usize, &TraceStep), second: (usize, &TraceStep), role: PairRole) {
        if let (Some(first), Some(second)) = (self.shown(first), self.shown(second)) {
            self.pairs.push(ConflictPair { first, second, role });
        }
    }

    /// Sets the idiom of the `pairs` that suffice for the failure, each of two steps of the `explained` ones
    /// as for [`FailureReport::add_pair`]. Events that are not displayed have no mark.
    pub fn set_idiom(&mut self, number: u8, words: &str, pairs: &[(usize, usize)], explained: &[TraceStep]) {
        let mut pairs = pairs.to_vec();
        pairs.sort_unstable();
        let mut steps: Vec<usize> = pairs.into_iter().flat_map(|(first, second)| [first, second]).collect();
        // In the second idiom the event in the middle ends one pair and begins the other.
        steps.dedup();
        let marks = ('A'..='D').zip(steps);
        let shown = marks.filter_map(|(mark, step)| Some((mark, self.shown((step, explained.get(step)?))?)));
        self.idiom = Some(ReportedIdiom { number, words: words.to_owned(), events: shown.collect() });
    }

    fn shown(&self, (index, step): (usize, &TraceStep)) -> Option<u32> {
        let run = &self.failing;
        if index < run.executed {
            return Some(index as u32);
        }
        let pending = run.events[run.executed..].iter().position(|event| {
            event.thread == step.thread
                && event.operation.location == step.operation.location
                && event.operation.object() == step.operation.object()
        });
        pending.map(|position| (run.executed + position) as u32)
    }

    /// Returns the source files in locations.
    pub fn files(&self) -> BTreeSet<&str> {
        let called = self.details.callers.iter().filter_map(|(_, line)| user_frame(line).file);
        let streams = [Some(&self.failing), self.passing.as_ref()];
        let places = streams.into_iter().flatten().flat_map(|timeline| {
            let of = |event| timeline.place(event).and_then(|place: &Place| place.file.as_deref());
            timeline.events.iter().filter_map(of)
        });
        places.chain(called).collect()
    }

    /// Renames source files for which `name` returns a new name.
    pub fn rename_files(&mut self, name: impl Fn(&str) -> Option<String>) {
        let timelines = [Some(&mut self.failing), self.passing.as_mut()];
        for place in timelines.into_iter().flatten().flat_map(|timeline| &mut timeline.places) {
            if let Some(other) = place.file.as_deref().and_then(&name) {
                place.file = Some(other);
            }
        }
        for (_, line) in &mut self.details.callers {
            let frame = user_frame(line);
            if let (Some(other), Some(number)) = (frame.file.and_then(&name), frame.line) {
                *line = format!("{other}:{number}");
            }
        }
    }

    /// Returns the source file and line of the failure.
    pub fn place(&self) -> Option<(String, u32)> {
        let place = self.place_of(self.last()? as usize)?;
        Some((place.file?, place.line?))
    }

    /// Returns the location of a step of the failing run: the line of the user that called, if the step is in
    /// a library.
    pub fn place_of(&self, step: usize) -> Option<Place> {
        let place = self.failing.place(self.failing.events.get(step)?)?;
        match self.details.caller(step) {
            "" => Some(place.clone()),
            _ if !place.is_library() => Some(place.clone()),
            caller => Some(Place::parse(caller)),
        }
    }

    /// Returns the kind of failure, or `passed`.
    pub fn kind(&self) -> &'static str {
        self.failing.failure.unwrap_or("passed")
    }

    /// Returns the failure in one line.
    pub fn headline(&self) -> &str {
        self.failing.message.first().map_or("nothing is known of the end", |line| line)
    }

    /// The step that a racing pair ends with, or the last that was executed.
    pub fn failing_step(&self) -> Option<u32> {
        let race = self.pairs.iter().find(|pair| pair.role == PairRole::Race);
        race.map(|pair| pair.second).or_else(|| Some(self.failing.executed.checked_sub(1)? as u32))
    }

    /// The events at which the threads of a deadlock wait, without that of a test's harness.
    pub fn waits(&self) -> Vec<u32> {
        let run = &self.failing;
        let of_the_test = |step: &u32| Some(run.events[*step as usize].thread) != run.harness;
        (run.executed as u32..run.events.len() as u32).filter(of_the_test).collect()
    }

    /// The event that shows the failure best: the one that a racing pair ends with, the first wait of a deadlock, or the last
    /// that was executed.
    pub fn last(&self) -> Option<u32> {
        let run = &self.failing;
        let waits = self.waits();
        // Who waits for a thread to end is rarely the cause.
        let is_join = |step: &&u32| run.events[**step as usize].operation.kind == Kind::Join;
        if let Some(&wait) = waits.iter().find(|step| !is_join(step)).or(waits.first()) {
            return Some(wait);
        }
        self.failing_step()
    }
}

/// Returns a name for the program that fits into a line.
fn program(file: &TraceFile) -> String {
    match file.front_end {
        FrontEnd::Lab => "lab program".to_owned(),
        FrontEnd::Native => {
            let name = file.program.rsplit('/').next().unwrap_or(&file.program);
            [&[name.to_owned()], &file.arguments[..]].concat().join(" ")
        }
        FrontEnd::Rust | FrontEnd::Beam => file.program.clone(),
    }
}
