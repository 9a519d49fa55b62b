//! The report of a campaign.

use super::limits::Limits;
use super::plan::{Progress, novelty};
use super::state::{existing, schedule_path};
use super::targets::{EXHAUSTED, SINGLE};
use crate::args::{CampaignReportArgs, CampaignStatusArgs};
use crate::ci::Reports;
use crate::outcome::Outcome;
use anyhow::{Context, Result};
use raddle_model::{EXIT_NOTHING_FOUND, TraceFile};
use raddle_report::campaign_text;
use raddle_report::format;
use raddle_report::shape::{self, CampaignFailure, CampaignNight, CampaignReport, CampaignTarget};
use raddle_report::shape::{CargoTest, CauseState, SuiteStatus, TargetState, TestStatus};
use raddle_store::{Campaign, CampaignCause, CampaignTurn, Night, Replay, Sighting};
use std::collections::BTreeMap;
use std::path::Path;

/// Everything that is stored.
pub(super) struct Rows {
    nights: Vec<Night>,
    turns: Vec<CampaignTurn>,
    causes: Vec<CampaignCause>,
    sightings: Vec<Sighting>,
    replays: Vec<Replay>,
    schedules: BTreeMap<String, String>,
}

impl Rows {
    pub(super) fn read(campaign: &Campaign) -> Result<Rows> {
        Ok(Rows {
            nights: campaign.nights()?,
            turns: campaign.turns()?,
            causes: campaign.causes()?,
            sightings: campaign.sightings()?,
            replays: campaign.replays()?,
            schedules: campaign.schedules()?.into_iter().collect(),
        })
    }

    /// Returns true if a night is the latest one of its worker.
    fn is_latest(&self, worker: &str, night: u64) -> bool {
        !self.nights.iter().any(|other| other.worker == worker && other.number > night)
    }

    /// Returns true if a run of a known cause failed in this night.
    pub(super) fn still_fails(&self, worker: &str, night: u64) -> bool {
        let mut sightings = self.sightings.iter();
        sightings.any(|sighting| sighting.worker == worker && sighting.night == night)
            || self
                .replays
                .iter()
                .any(|replay| replay.worker == worker && replay.night == night && fails(&replay.status))
    }
}

/// Returns true if a replay with this result failed.
fn fails(status: &str) -> bool {
    status == SuiteStatus::Failing.word() || status == SuiteStatus::Changed.word()
}

pub(super) fn status(args: &CampaignStatusArgs, width: usize) -> Result<Outcome> {
    let rows = Rows::read(&existing(&args.place)?)?;
    let whole = shape(&rows, &args.place.folder);
    let text = if args.json { shape::line(&whole) } else { campaign_text::text(&whole, width) };
    Ok(Outcome { text, status: EXIT_NOTHING_FOUND })
}

pub(super) fn run(args: &CampaignReportArgs, width: usize) -> Result<Outcome> {
    let mut reports = Reports::open(&args.ci)?;
    let rows = Rows::read(&existing(&args.place)?)?;
    let whole = shape(&rows, &args.place.folder);
    add_to(&mut reports, &rows, &whole);
    reports.write(false)?;
    let Some(output) = &args.output else {
        return Ok(Outcome { text: campaign_text::text(&whole, width), status: EXIT_NOTHING_FOUND });
    };
    let text = match output.extension().and_then(|end| end.to_str()) {
        Some("json") => shape::pretty(&whole),
        Some("txt") => campaign_text::text(&whole, width),
        _ => format::campaign(&whole),
    };
    raddle_search::replace(output, &text).with_context(|| format!("cannot write {}", output.display()))?;
    Ok(Outcome { text: String::new(), status: EXIT_NOTHING_FOUND })
}

/// Returns the report. The schedules are in `folder`.
pub(super) fn shape(rows: &Rows, folder: &Path) -> CampaignReport {
    let mut targets: BTreeMap<&str, Vec<&CampaignTurn>> = BTreeMap::new();
    for turn in &rows.turns {
        targets.entry(&turn.target).or_default().push(turn);
    }
    let targets: Vec<CampaignTarget> = targets.into_values().map(|turns| target(rows, turns)).collect();
    let mut failures: Vec<CampaignFailure> =
        rows.causes.iter().map(|cause| failure(rows, cause, folder)).collect();
    failures.sort_by(|a, b| (a.state, &a.target, &a.id).cmp(&(b.state, &b.target, &b.id)));
    let mut nights: Vec<CampaignNight> = rows.nights.iter().map(|one| night(rows, one)).collect();
    nights.sort_by_key(|night| night.began);
    CampaignReport {
        runs: targets.iter().map(|target| target.runs).sum(),
        seconds: rounded(targets.iter().map(|target| target.seconds).sum()),
        partial_orders: targets.iter().map(|target| target.partial_orders).sum(),
        targets,
        failures,
        nights,
    }
}

fn rounded(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

fn target(rows: &Rows, mut turns: Vec<&CampaignTurn>) -> CampaignTarget {
    turns.sort_by(|a, b| (a.at, &a.worker, a.number).cmp(&(b.at, &b.worker, b.number)));
    let mut target = CampaignTarget::default();
    let (mut known, mut night) = (Progress::new(), None);
    for turn in turns {
        known.recall(turn.sampled, &turn.orders);
        if night
            .replace((&turn.worker, turn.night))
            .is_some_and(|before| before != (&turn.worker, turn.night))
        {
            target.nights.push(target.runs);
        }
        target.name.clone_from(&turn.target);
        target.turns += 1;
        target.runs += turn.runs;
        target.failures += turn.failures;
        target.seconds = rounded(target.seconds + turn.seconds);
        target.threads = target.threads.max(turn.threads);
        target.partial_orders = known.partial_orders();
        if rows.is_latest(&turn.worker, turn.night) {
            target.fresh += turn.fresh;
        }
        target.novelty = novelty(turn.fresh, turn.runs);
        target.growth.push((target.runs, target.partial_orders));
        target.reason.clone_from(if turn.lost.is_empty() { &turn.ended } else { &turn.lost });
        target.state = match turn.ended.as_str() {
            _ if !turn.lost.is_empty() => TargetState::Lost,
            EXHAUSTED => TargetState::Exhausted,
            SINGLE => TargetState::SingleThreaded,
            _ => TargetState::Searched,
        };
    }
    target
}

/// An event in the life of a cause: its time, its night, whether the search found it, and whether it failed.
type Event = (i64, u64, bool, bool);

fn failure(rows: &Rows, cause: &CampaignCause, folder: &Path) -> CampaignFailure {
    let sightings: Vec<&Sighting> = rows.sightings.iter().filter(|one| one.cause == cause.id).collect();
    let replays = rows.replays.iter().filter(|replay| replay.cause == cause.id);
    let replays: Vec<&Replay> = replays.filter(|replay| replay.status != SuiteStatus::Error.word()).collect();
    let mut events: Vec<(Event, bool)> = Vec::new();
    for one in &sightings {
        events.push(((one.at, one.night, true, true), rows.is_latest(&one.worker, one.night)));
    }
    for one in &replays {
        let event = (one.at, one.night, false, fails(&one.status));
        events.push((event, rows.is_latest(&one.worker, one.night)));
    }
    events.sort_unstable();
    let before = events.iter().rev().find(|(_, is_latest)| !is_latest).map(|((.., fails), _)| *fails);
    let fails_now = events.iter().any(|((.., fails), is_latest)| *is_latest && *fails);
    let passes_now = events.iter().any(|((.., fails), is_latest)| *is_latest && !fails);
    let state = match before {
        None if is_known_symptom(rows, cause) => CauseState::Known,
        None => CauseState::New,
        Some(false) if fails_now => CauseState::Regressed,
        Some(false) => CauseState::Fixed,
        Some(true) if passes_now && !fails_now => CauseState::Fixed,
        Some(true) => CauseState::Known,
    };
    let failing = events.iter().filter(|((.., fails), _)| *fails).map(|((at, ..), _)| *at);
    CampaignFailure {
        id: cause.id.clone(),
        target: cause.target.clone(),
        state,
        kind: cause.kind.clone(),
        pair: cause.pair.clone(),
        end: cause.end.clone(),
        message: cause.message.clone(),
        times: sightings.len() as u64,
        first_seen: sightings.iter().map(|one| one.at).min().unwrap_or(0),
        last_seen: failing.max().unwrap_or(0),
        file: schedule_path(folder, &cause.id).display().to_string(),
    }
}

/// Returns true if an earlier night has found a failure of the same kind that ends at the same location. Another run may be explained by
/// another pair of locations, which is no reason to stop a merge.
fn is_known_symptom(rows: &Rows, cause: &CampaignCause) -> bool {
    let is_same = |other: &&CampaignCause| {
        other.id != cause.id
            && (&other.target, &other.kind, &other.end) == (&cause.target, &cause.kind, &cause.end)
    };
    rows.causes.iter().filter(is_same).any(|other| {
        let mine = rows.sightings.iter().filter(|one| one.cause == other.id);
        let last = mine.filter(|one| !rows.is_latest(&one.worker, one.night)).map(|one| one.at).max();
        let fixed = rows.replays.iter().filter(|one| one.cause == other.id && !fails(&one.status));
        last.is_some_and(|last| fixed.map(|one| one.at).max().is_none_or(|fixed| fixed < last))
    })
}

fn night(rows: &Rows, night: &Night) -> CampaignNight {
    let mine = |turn: &&CampaignTurn| turn.worker == night.worker && turn.night == night.number;
    let turns = || rows.turns.iter().filter(mine);
    CampaignNight {
        worker: night.worker.clone(),
        number: night.number,
        began: night.began,
        completed: night.ended > 0,
        budget: Limits::words(&night.budget),
        runs: turns().map(|turn| turn.runs).sum(),
        fresh: turns().map(|turn| turn.fresh).sum(),
        turns: turns().count() as u64,
    }
}

/// Adds the targets to the reports for continuous integration.
pub(super) fn add_to(reports: &mut Reports, rows: &Rows, whole: &CampaignReport) {
    for target in &whole.targets {
        let failing =
            |failure: &&CampaignFailure| failure.target == target.name && failure.state != CauseState::Fixed;
        let failures: Vec<&CampaignFailure> = whole.failures.iter().filter(failing).collect();
        let first = failures.first();
        let test = CargoTest {
            binary: "raddle campaign".to_owned(),
            test: target.name.clone(),
            status: match target.state {
                _ if first.is_some() => TestStatus::Failed,
                TargetState::Searched | TargetState::Exhausted => TestStatus::Passed,
                TargetState::SingleThreaded => TestStatus::NotConcurrent,
                TargetState::Lost => TestStatus::NotControllable,
            },
            seconds: target.seconds,
            runs: target.runs,
            failures: target.failures,
            partial_orders: target.partial_orders,
            threads: target.threads,
            exhausted: target.state == TargetState::Exhausted,
            kind: first.map(|failure| failure.kind.clone()),
            message: first.map(|failure| format!("{} ({})", failure.message, failure.state.word())),
            failure_file: first.map(|failure| failure.file.clone()),
            replay: first.map(|failure| format!("raddle replay {}", failure.file)),
            reason: (!target.reason.is_empty()).then(|| target.reason.clone()),
            ..CargoTest::default()
        };
        let mut files =
            failures.iter().filter_map(|failure| TraceFile::from_json(rows.schedules.get(&failure.id)?).ok());
        reports.add(test, files.next().as_ref());
        // A target may have several.
        files.for_each(|file| reports.add_failure(&file));
    }
}
