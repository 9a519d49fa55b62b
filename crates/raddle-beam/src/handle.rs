//! A session as the BEAM holds it, with what it was opened for.

use crate::record::{self, ReplayError, Told};
use crate::session::{Caller, Session};
use raddle_engine::{Config, Follow, Strategy, Timeouts};
use raddle_model::native::{Answer, RunResult};
use raddle_model::{Event, Pick, Settings, TraceFile, Verdict};
use raddle_strategies::SpecError;
use rustler::{LocalPid, Resource, ResourceArc};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A session, and what its runs are for.
pub struct Handle {
    session: Mutex<Session<LocalPid>>,
    config: Config,
    /// The strategy, as it was asked for.
    spec: String,
    /// See [`Handle::searches`].
    searches: bool,
    /// What counts preemptions, if a schedule is followed.
    follow: Option<Follow>,
    /// How the run ended that is repeated, if it is known.
    recorded: Option<Verdict>,
}

#[rustler::resource_impl]
impl Resource for Handle {}

/// A session that several processes of the BEAM know.
pub type Shared = ResourceArc<Handle>;

impl Handle {
    fn new(session: Session<LocalPid>, config: Config, spec: &str) -> Handle {
        let searches = record::searches(spec);
        Handle {
            session: Mutex::new(session),
            config,
            spec: spec.to_owned(),
            searches,
            follow: None,
            recorded: None,
        }
    }

    /// For runs under a strategy.
    pub fn under(spec: &str, settings: Settings) -> Result<Handle, SpecError> {
        let config = record::config(settings);
        Ok(Handle::new(Session::new(raddle_strategies::build(spec)?, config), config, spec))
    }

    /// For the run in the text of a failure file, which is given too.
    pub fn replay(text: &str) -> Result<(Handle, TraceFile), ReplayError> {
        let file = record::read(text)?;
        let events = record::events(&file.steps);
        let mut handle = Handle::repeat(events, file.picks().collect(), file.settings, &file.strategy);
        handle.recorded = Some(file.verdict.clone());
        Ok((handle, file))
    }

    /// For a recorded run that was made under the strategy `spec`.
    pub fn repeat(events: Vec<Event>, picks: Vec<Pick>, settings: Settings, spec: &str) -> Handle {
        let config = record::config(settings);
        Handle::again(Session::replay(events, picks, config), config, spec)
    }

    /// For a run that a strategy makes which is in no catalogue, out of one that was made under the strategy `spec`.
    pub fn guided(strategy: Box<dyn Strategy>, settings: Settings, spec: &str) -> Handle {
        let config = record::config(settings);
        Handle::again(Session::new(strategy, config), config, spec)
    }

    /// For a run that follows a schedule of one that was made under the strategy `spec`.
    pub fn follow(follow: Follow, settings: Settings, spec: &str) -> Handle {
        Handle { follow: Some(follow.clone()), ..Handle::guided(Box::new(follow), settings, spec) }
    }

    /// For a run that has the operations of one under the strategy `spec`, whoever makes it.
    fn again(session: Session<LocalPid>, config: Config, spec: &str) -> Handle {
        let handle = Handle::new(session.again(record::exits(spec)), config, "");
        Handle { searches: record::searches(spec), ..handle }
    }

    /// Whether the strategy leaves out orders because of what operations touch, and so has to be told all of that. A run that is
    /// made again has to be told what it was told before.
    pub fn searches(&self) -> bool {
        self.searches
    }

    /// Whether time-outs fire at any moment.
    pub fn anytime(&self) -> bool {
        self.config.timeouts == Timeouts::Anytime
    }

    /// The session.
    pub fn lock(&self) -> MutexGuard<'_, Session<LocalPid>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the run, which is over, has left the recorded one, and how.
    pub fn divergence(&self) -> Option<(usize, String)> {
        self.lock().divergence().map(|divergence| (divergence.step, divergence.what))
    }

    /// How the run, which is over, ends otherwise than the recorded one.
    pub fn other_end(&self) -> Option<String> {
        let now = self.lock().verdict();
        let then = self.recorded.as_ref().filter(|then| **then != now)?;
        Some(format!("the steps repeat but the end does not: recorded {then:?}, now {now:?}"))
    }

    /// How many steps took the turn from an actor that could have gone on, where a schedule was followed.
    pub fn preemptions(&self) -> u64 {
        self.follow.as_ref().map_or(0, Follow::preemptions)
    }

    /// The run, which is over, as a file.
    pub fn record(&self, told: Told) -> TraceFile {
        record::write(&self.lock(), self.config, &self.spec, told)
    }

    /// The run, which is over, in a message to the command line, with what it printed and the lines that called. It has its trace if something is told of it.
    pub fn answer(&self, told: Option<Told>, output: String, callers: Vec<Caller>) -> Result<String, String> {
        let divergence = self.divergence();
        let trace = told.map(|told| Box::new(self.record(told)));
        let session = self.lock();
        let summary = session.engine().summary();
        let ran = RunResult {
            kind: summary.verdict.failure().map(|failure| failure.kind().to_owned()),
            cut_off: *summary.verdict == Verdict::CutOff,
            inconclusive: matches!(summary.verdict, Verdict::Inconclusive { .. }),
            fingerprint: summary.fingerprint,
            steps: session.engine().step_count(),
            threads: session.counts().0 as u64,
            rests: summary.rests,
            drawn: Pick::drawn(&summary.trace.picks),
            preemptions: self.preemptions(),
            divergence,
            trace,
            output,
            callers: if callers.is_empty() { Vec::new() } else { session.callers(callers) },
            ..RunResult::default()
        };
        serde_json::to_string(&Answer::RunResult(Box::new(ran))).map_err(|error| error.to_string())
    }
}
