//! `raddle campaign run`: one night.

use super::corpus::{Causes, replay};
use super::limits::Limits;
use super::plan::{Progress, next};
use super::report::{self, Rows};
use super::state::State;
use super::targets::{Length, Named, Ran, Target, Targets, parsed};
use crate::args::{CampaignRunArgs, FailOnArg};
use crate::ci::Reports;
use crate::interrupt::interrupted;
use crate::outcome::{Outcome, emit};
use crate::progress;
use anyhow::{Context, Result, bail, ensure};
use raddle_model::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, Name};
use raddle_report::campaign_text;
use raddle_report::shape::{self, CauseState, SuiteStatus};
use raddle_store::{CampaignTurn, NewFailure, Night, Replay, Sighting};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// No turn is shorter, except the first.
const SHORTEST: Duration = Duration::from_millis(100);

#[expect(clippy::disallowed_methods, reason = "a time budget is read between turns")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "people want to know when a failure was first seen")]
fn date() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

pub(super) fn run(args: &CampaignRunArgs, width: usize) -> Result<Outcome> {
    let mut reports = Reports::open(&args.ci)?;
    let state = State::open(&args.place)?;
    let named = named(args, &state)?;
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let (tests, names, mut commands) = parsed(&named, args, folder.path())?;
    let targets = Targets::new(&tests, names, &mut commands, width)?;
    state.campaign.set(TARGETS, &serde_json::to_string(&named)?)?;
    let mut session = Session::begin(args, &state, targets)?;
    session.end_in_time()?;
    session.replay_all()?;
    session.search()?;
    session.end()?;
    let worker = &session.night.worker;
    let rows = Rows::read(&state.campaign)?;
    let whole = report::shape(&rows, &args.place.folder);
    report::add_to(&mut reports, &rows, &whole);
    reports.write(false)?;
    let current = |state: CauseState| whole.failures.iter().any(|failure| failure.state == state);
    let fails = match args.fail_on {
        FailOnArg::Never => false,
        FailOnArg::New => current(CauseState::New) || current(CauseState::Regressed),
        FailOnArg::Any => {
            current(CauseState::New)
                || current(CauseState::Regressed)
                || rows.still_fails(worker, session.night.number)
        }
    };
    let text = if args.json { shape::line(&whole) } else { campaign_text::summary(&whole) };
    Ok(Outcome { text, status: if fails { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND } })
}

/// The setting with the targets of the last night.
const TARGETS: &str = "targets";

/// Returns the targets of the command, or else those of the last night.
fn named(args: &CampaignRunArgs, state: &State) -> Result<Named> {
    if let Some(named) = Named::of(args)? {
        return Ok(named);
    }
    let Some(stored) = state.campaign.setting(TARGETS)? else {
        bail!("{}: the campaign has no targets yet\nhelp: name some: raddle campaign run TARGET", state.name)
    };
    serde_json::from_str(&stored)
        .with_context(|| format!("{}: the targets cannot be read\nhelp: name them again", state.name))
}

/// A night.
struct Session<'a> {
    args: &'a CampaignRunArgs,
    state: &'a State,
    targets: Targets<'a>,
    progress: Vec<Progress>,
    /// The number of the last turn of each target on this worker.
    numbers: Vec<u64>,
    causes: Causes,
    night: Night,
    limits: Limits,
    seed: u64,
    /// Turns of this night so far.
    turns: u64,
    begun: Instant,
    /// The rest of the time.
    time: Option<Duration>,
}

impl<'a> Session<'a> {
    /// Begins a night, or continues the last one.
    fn begin(args: &'a CampaignRunArgs, state: &'a State, targets: Targets<'a>) -> Result<Session<'a>> {
        let worker = &args.worker;
        let nights = state.campaign.nights()?;
        let last = nights.into_iter().rev().find(|night| night.worker == *worker);
        let seed = seed(args, state)?;
        let turns = state.campaign.turns()?;
        let (mut progress, mut numbers) = (Vec::new(), Vec::new());
        for target in &targets.all {
            let (mut known, mut number) = (Progress::new(), 0);
            for turn in turns.iter().filter(|turn| turn.target == target.name) {
                known.recall(turn.sampled, &turn.orders);
                if turn.worker == *worker {
                    number = number.max(turn.number);
                }
                known.is_done |= turn.build == target.build && !turn.ended.is_empty();
            }
            progress.push(known);
            numbers.push(number);
        }
        let (night, limits) = match last {
            Some(last) if args.resume => {
                ensure!(
                    last.ended == 0,
                    "night {} was completed\nhelp: leave out --resume to begin another night",
                    last.number
                );
                let limits = serde_json::from_str(&last.budget).with_context(|| {
                    format!("{}: the night cannot be continued\nhelp: leave out --resume", state.name)
                })?;
                (last, limits)
            }
            None if args.resume => {
                bail!("{}: there is no night to resume\nhelp: leave out --resume", state.name)
            }
            last => {
                let left = progress.iter().filter(|progress| !progress.is_done).count() as u64;
                let rounds = args.rounds.or(args.time.is_none().then_some(1));
                let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                // Every target has a turn, if the time is short.
                let each = args.time.map(|time| time / u32::try_from(left).unwrap_or(u32::MAX).max(1));
                let turn = each.map_or(args.turn, |each| args.turn.min(each.max(SHORTEST)));
                let limits = Limits {
                    turns: rounds.map(|rounds| rounds.saturating_mul(left)),
                    time: args.time.map(milliseconds),
                    turn: args.runs.is_none().then(|| milliseconds(turn)),
                    runs: args.runs,
                };
                let number = last.map_or(1, |last| last.number + 1);
                let budget = serde_json::to_string(&limits)?;
                let night = Night { worker: worker.clone(), number, began: date(), ended: 0, budget };
                state.campaign.add_night(&night)?;
                (night, limits)
            }
        };
        let mine: Vec<&CampaignTurn> =
            turns.iter().filter(|turn| turn.worker == night.worker && turn.night == night.number).collect();
        for turn in &mine {
            let index = targets.all.iter().position(|target| target.name == turn.target);
            if let Some(index) = index {
                progress[index].charge(turn.fresh, turn.runs);
                progress[index].is_done |= !turn.lost.is_empty();
            }
        }
        let spent = Duration::from_secs_f64(mine.iter().map(|turn| turn.seconds).sum());
        let time = limits.time.map(|time| Duration::from_millis(time).saturating_sub(spent));
        let (causes, turns) = (Causes::of(state, &turns)?, mine.len() as u64);
        let begun = now();
        Ok(Session {
            args,
            state,
            targets,
            progress,
            numbers,
            causes,
            night,
            limits,
            seed,
            turns,
            begun,
            time,
        })
    }

    /// Ends everything when the time is over: a replay, a minimization or a long run does not outlast the night.
    fn end_in_time(&self) -> Result<()> {
        let Some(left) = self.left() else { return Ok(()) };
        let end = move || {
            std::thread::sleep(left);
            raddle_search::interrupt();
        };
        std::thread::Builder::new().spawn(end).context("cannot start a thread that ends the night")?;
        Ok(())
    }

    /// Prints a text, unless the output is JSON.
    fn print(&self, text: &str) -> Result<()> {
        if self.args.json { Ok(()) } else { emit(text) }
    }

    /// Replays the schedules of earlier nights.
    fn replay_all(&mut self) -> Result<()> {
        let campaign = &self.state.campaign;
        self.state.write_schedules()?;
        let schedules = campaign.schedules()?;
        let targets: Vec<(String, String)> =
            campaign.causes()?.into_iter().map(|cause| (cause.id, cause.target)).collect();
        let replays = campaign.replays()?;
        for (cause, text) in schedules {
            let mine = |replay: &Replay| {
                replay.cause == cause
                    && replay.worker == self.night.worker
                    && replay.night == self.night.number
            };
            if self.is_over() || replays.iter().any(mine) {
                continue;
            }
            let Some((_, target)) = targets.iter().find(|(id, _)| *id == cause) else { continue };
            let result = replay(
                self.state,
                &mut self.causes,
                &self.targets.all,
                (&cause, target),
                &text,
                self.args.trust,
            )?;
            let Some(result) = result else { continue };
            if interrupted().is_some() || raddle_search::is_interrupted() {
                break;
            }
            let (worker, night, at) = (self.night.worker.clone(), self.night.number, date());
            let status = result.status.word().to_owned();
            campaign.add_replay(&Replay { cause: cause.clone(), worker, night, at, status })?;
            let word = result.status.word().to_uppercase();
            let first = result.message.lines().next().unwrap_or_default();
            self.print(&format!("{word:>12} {cause} {target}\n{:12} {first}\n", ""))?;
            if result.status == SuiteStatus::Error {
                let more = result.message.lines().skip(1).map(|line| format!("{:12} {line}\n", ""));
                self.print(&more.collect::<String>())?;
            }
        }
        Ok(())
    }

    /// Returns true if no further turn begins.
    fn is_over(&self) -> bool {
        interrupted().is_some()
            || self.limits.turns.is_some_and(|turns| self.turns >= turns)
            || self.left().is_some_and(|left| left < SHORTEST)
    }

    /// Returns the rest of the time.
    fn left(&self) -> Option<Duration> {
        self.time.map(|time| time.saturating_sub(self.begun.elapsed()))
    }

    /// Searches the targets in turns.
    fn search(&mut self) -> Result<()> {
        let shown = progress::Progress::of(self.limits.turns.unwrap_or(u64::MAX), "turns");
        shown.add(self.turns);
        while !self.is_over() {
            let Some(index) = next(&self.progress) else { break };
            self.turn(index)?;
            shown.add(1);
        }
        Ok(())
    }

    /// Searches one target, and stores the result.
    fn turn(&mut self, index: usize) -> Result<()> {
        let number = self.numbers[index] + 1;
        let Target { name, build, .. } = &self.targets.all[index];
        let (target, build) = (name.clone(), build.clone());
        let worker = self.night.worker.clone();
        let seed = Name::of_text(&format!("{}\n{target}\n{worker}\n{number}", self.seed)).0;
        let Limits { runs, turn, .. } = self.limits;
        let length = Length { runs, time: turn.map(Duration::from_millis) };
        let length = Length {
            time: length.time.map(|time| self.left().map_or(time, |left| time.min(left))),
            ..length
        };
        let begun = now();
        let mut ran = self.targets.turn(index, seed, length)?;
        let sighting = Sighting {
            worker: worker.clone(),
            turn: number,
            night: self.night.number,
            at: date(),
            ..Sighting::default()
        };
        let failure = ran
            .first
            .as_ref()
            .map(|file| self.causes.failure(self.state, &self.targets.all[index], file, sighting))
            .transpose()?;
        if interrupted().is_some() {
            // The turn is made again. Its failure is kept, and counts once.
            return failure.map_or(Ok(()), |failure| self.keep(&failure, &build, None));
        }
        if ran.runs == 0 {
            if raddle_search::is_interrupted() {
                // The time was over before its first run.
                return Ok(());
            }
            ran.lost
                .get_or_insert_with(|| "no run ended within a turn; --turn makes turns longer".to_owned());
        }
        let Ran { runs, failures, threads, steps, census, ended, lost, .. } = ran;
        let progress = &mut self.progress[index];
        let fresh = progress.learn(&census);
        progress.charge(fresh.number, runs);
        progress.is_done |= !ended.is_empty() || lost.is_some();
        let turn = CampaignTurn {
            target,
            worker,
            number,
            night: self.night.number,
            at: date(),
            build,
            seed,
            // More digits have no meaning.
            seconds: (begun.elapsed().as_secs_f64() * 1000.0).round() / 1000.0,
            runs,
            failures,
            threads,
            steps,
            fresh: fresh.number,
            sampled: u64::from(fresh.zeros),
            orders: fresh.orders,
            ended: ended.to_owned(),
            cause: failure.as_ref().map(|failure| failure.cause.id.clone()).unwrap_or_default(),
            lost: lost.unwrap_or_default(),
        };
        (self.numbers[index], self.turns) = (number, self.turns + 1);
        match failure {
            Some(failure) => self.keep(&failure, &turn.build.clone(), Some(&turn)),
            None => Ok(self.state.campaign.add_turn(&turn, None)?),
        }
    }

    /// Stores a failing run, with its turn if that was completed, and prints it if its cause is new.
    fn keep(&mut self, failure: &NewFailure, build: &str, turn: Option<&CampaignTurn>) -> Result<()> {
        let campaign = &self.state.campaign;
        match turn {
            Some(turn) => campaign.add_turn(turn, Some(failure))?,
            None => campaign.add_failure(failure)?,
        }
        if !self.causes.remember(&failure.cause, build) {
            return Ok(());
        }
        self.state.write_schedule(&failure.cause.id, &failure.schedule)?;
        let rows = Rows::read(campaign)?;
        let whole = report::shape(&rows, &self.args.place.folder);
        let found = whole.failures.iter().find(|found| found.id == failure.cause.id);
        found.map_or(Ok(()), |found| self.print(&campaign_text::failure(found)))
    }

    /// Records the end of the night, unless it was interrupted.
    fn end(&mut self) -> Result<()> {
        self.state.write_schedules()?;
        if interrupted().is_some() {
            return Ok(());
        }
        self.night.ended = date().max(1);
        Ok(self.state.campaign.add_night(&self.night)?)
    }
}

/// Returns the seed of the campaign.
fn seed(args: &CampaignRunArgs, state: &State) -> Result<u64> {
    const SETTING: &str = "seed";
    let stored = state.campaign.setting(SETTING)?.and_then(|text| text.parse().ok());
    let seed = args.seed.or(stored).unwrap_or(1);
    if stored != Some(seed) {
        state.campaign.set(SETTING, &seed.to_string())?;
    }
    Ok(seed)
}
