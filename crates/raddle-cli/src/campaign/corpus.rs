//! The causes of failures, and the replay of their schedules.

use super::state::State;
use super::targets::Target;
use crate::suite::check;
use crate::trust::is_own;
use anyhow::Result;
use raddle_model::native::Threads;
use raddle_model::{Name, TraceFile};
use raddle_report::run_text::verdict;
use raddle_report::shape::{SuiteFile, SuiteStatus};
use raddle_report::{Cause, FailureReport};
use raddle_store::{CampaignCause, CampaignTurn, NewFailure, Sighting};
use std::collections::{BTreeMap, BTreeSet};

/// The known causes.
pub(super) struct Causes {
    known: Vec<CampaignCause>,
    /// Further names, with the id of the cause.
    aliases: BTreeMap<String, String>,
    /// The builds that have shown a cause: cause and build.
    shown: BTreeSet<(String, String)>,
}

impl Causes {
    pub(super) fn of(state: &State, turns: &[CampaignTurn]) -> Result<Causes> {
        let shown = turns.iter().map(|turn| (turn.cause.clone(), turn.build.clone()));
        Ok(Causes {
            known: state.campaign.causes()?,
            aliases: state.campaign.aliases()?.into_iter().collect(),
            shown: shown.collect(),
        })
    }

    /// Returns true if there is a cause with this id.
    pub(super) fn has(&self, id: &str) -> bool {
        self.known.iter().any(|known| known.id == id)
    }

    /// Returns the cause of a failing run of `target`.
    fn of_run(&mut self, state: &State, target: &Target, file: &TraceFile) -> Result<CampaignCause> {
        let Cause { kind, pair, end, functions } = FailureReport::of(file).cause();
        let name = name(&target.name, &kind, &pair);
        let own = self.aliases.get(&name).cloned().unwrap_or_else(|| id(&name));
        let message = verdict(file).join("\n");
        let target = (target.name.clone(), &target.build);
        let found = CampaignCause { id: own, target: target.0, kind, pair, end, functions, message };
        if self.has(&found.id) {
            return Ok(found);
        }
        // In another build, code above may have moved the lines of a known cause.
        let is_moved = |known: &&CampaignCause| {
            let what =
                |cause: &CampaignCause| (cause.target.clone(), cause.kind.clone(), cause.functions.clone());
            what(known) == what(&found) && !self.shown.contains(&(known.id.clone(), target.1.clone()))
        };
        let moved = self.known.iter().filter(is_moved).min_by_key(|known| known.pair.clone());
        let Some(moved) = moved.map(|known| known.id.clone()) else { return Ok(found) };
        self.add_alias(state, name, &moved)?;
        Ok(CampaignCause { id: moved, ..found })
    }

    fn add_alias(&mut self, state: &State, name: String, cause: &str) -> Result<()> {
        state.campaign.add_alias(&name, cause)?;
        self.aliases.insert(name, cause.to_owned());
        Ok(())
    }

    /// Returns a failing run of `target` to be added.
    pub(super) fn failure(
        &mut self,
        state: &State,
        target: &Target,
        file: &TraceFile,
        sighting: Sighting,
    ) -> Result<NewFailure> {
        let cause = self.of_run(state, target, file)?;
        let sighting = Sighting { cause: cause.id.clone(), ..sighting };
        Ok(NewFailure { cause, sighting, schedule: file.to_json(), steps: file.steps.len() as u64 })
    }

    /// Remembers a failing run that was added. Returns true if its cause is new.
    pub(super) fn remember(&mut self, cause: &CampaignCause, build: &str) -> bool {
        self.shown.insert((cause.id.clone(), build.to_owned()));
        let is_new = !self.has(&cause.id);
        if is_new {
            self.known.push(cause.clone());
        }
        is_new
    }

    /// Records that a failing run is one of `cause`: its schedule was repeated, although code above has moved its lines.
    fn recognize(&mut self, state: &State, cause: &str, target: &Target, file: &TraceFile) -> Result<()> {
        let now = FailureReport::of(file).cause();
        let name = name(&target.name, &now.kind, &now.pair);
        let known = self.aliases.get(&name).cloned().unwrap_or_else(|| id(&name));
        if known != cause && !self.has(&known) {
            self.add_alias(state, name, cause)?;
        }
        self.shown.insert((cause.to_owned(), target.build.clone()));
        Ok(())
    }
}

/// Returns the name of a cause.
fn name(target: &str, kind: &str, pair: &str) -> String {
    format!("{target}\n{kind}\n{pair}")
}

/// Returns the identity of the cause that was first found with this name.
fn id(name: &str) -> String {
    format!("{:012x}", Name::of_text(name).0 >> 16)
}

/// Replays the schedule of a cause. Returns the result; none if its target is no longer part of the campaign.
pub(super) fn replay(
    state: &State,
    causes: &mut Causes,
    targets: &[Target],
    (cause, target): (&str, &str),
    text: &str,
    trusts: bool,
) -> Result<Option<SuiteFile>> {
    let Some(known) = targets.iter().find(|known| known.name == target) else { return Ok(None) };
    let shown = state.schedule_path(cause).display().to_string();
    let not_replayed = |why: String| Ok(Some(SuiteFile::new(&shown, SuiteStatus::Error, why)));
    let file = match TraceFile::from_json(text) {
        Ok(file) => file,
        Err(error) => return not_replayed(error.to_string()),
    };
    if !trusts && !is_own(&file) {
        return not_replayed("it was recorded on another machine; --trust replays it".to_owned());
    }
    // The name of a test's program contains a hash of its dependencies.
    let program = known.program.clone().unwrap_or_else(|| file.program.clone());
    match check(TraceFile { program, ..file }, &shown, Threads::Fibers) {
        Ok((entry, failing)) => {
            if let Some(failing) = failing.filter(|_| entry.status == SuiteStatus::Failing) {
                causes.recognize(state, cause, known, &failing)?;
            }
            Ok(Some(entry))
        }
        Err(error) => not_replayed(format!("{error:#}")),
    }
}
