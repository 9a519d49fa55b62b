//! A session as held by the BEAM, with its purpose.

use crate::record::{self, ReplayError, RunInfo};
use crate::session::{Caller, Session};
use raddle_engine::{Config, Follow, Strategy, Timeouts};
use raddle_model::native::{Answer, RunResult};
use raddle_model::{Event, Pick, Settings, TraceFile, Verdict};
use raddle_strategies::SpecError;
use rustler::{LocalPid, Resource, ResourceArc};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A session, and the purpose of its runs.
pub struct Handle {
    session: Mutex<Session<LocalPid>>,
    config: Config,
    /// The requested strategy.
    spec: String,
    /// See [`Handle::searches`].
    searches: bool,
    /// The schedule to follow, which counts preemptions.
    follow: Option<Follow>,
    /// The recorded outcome of a replayed run, if known.
    recorded: Option<Verdict>,
}

#[rustler::resource_impl]
impl Resource for Handle {}

/// A session that several processes of the BEAM share.
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

    /// Creates a session for runs under a strategy.
    pub fn under(spec: &str, settings: Settings) -> Result<Handle, SpecError> {
        let config = Config::from(settings);
        Ok(Handle::new(Session::new(raddle_strategies::build(spec)?, config), config, spec))
    }

    /// Creates a session for the run in the text of a failure file, and returns the file too.
    pub fn replay(text: &str) -> Result<(Handle, TraceFile), ReplayError> {
        let file = record::read(text)?;
        let events = record::events(&file.steps);
        let mut handle = Handle::repeat(events, file.picks().collect(), file.settings, &file.strategy);
        handle.recorded = Some(file.verdict.clone());
        Ok((handle, file))
    }

    /// Creates a session for a recorded run under the strategy `spec`.
    pub fn repeat(events: Vec<Event>, picks: Vec<Pick>, settings: Settings, spec: &str) -> Handle {
        let config = Config::from(settings);
        Handle::again(Session::replay(events, picks, config), config, spec)
    }

    /// Creates a session for a run of a strategy outside the catalogue, derived from a run under the strategy
    /// `spec`.
    pub fn guided(strategy: Box<dyn Strategy>, settings: Settings, spec: &str) -> Handle {
        let config = Config::from(settings);
        Handle::again(Session::new(strategy, config), config, spec)
    }

    /// Creates a session for a run that follows a schedule of a run under the strategy `spec`.
    pub fn follow(follow: Follow, settings: Settings, spec: &str) -> Handle {
        Handle { follow: Some(follow.clone()), ..Handle::guided(Box::new(follow), settings, spec) }
    }

    /// Creates a session for a run with the operations of one under the strategy `spec`, for any strategy.
    fn again(session: Session<LocalPid>, config: Config, spec: &str) -> Handle {
        let handle = Handle::new(session.again(record::exits(spec)), config, "");
        Handle { searches: record::searches(spec), ..handle }
    }

    /// Returns true if the strategy prunes orders by the objects that operations touch, and so must know all
    /// of them. A repeated run must have the same operations as the original.
    pub fn searches(&self) -> bool {
        self.searches
    }

    /// Returns true if time-outs fire at any moment.
    pub fn anytime(&self) -> bool {
        self.config.timeouts == Timeouts::Anytime
    }

    /// Locks the session.
    pub fn lock(&self) -> MutexGuard<'_, Session<LocalPid>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns where the completed run diverged from the recorded one, and how.
    pub fn divergence(&self) -> Option<(usize, String)> {
        self.lock().divergence().map(|divergence| (divergence.step, divergence.what))
    }

    /// Returns the difference between the outcomes of the completed run and the recorded one.
    pub fn other_end(&self) -> Option<String> {
        let now = self.lock().verdict();
        let then = self.recorded.as_ref().filter(|then| **then != now)?;
        Some(format!("the steps are the same but the outcome differs: recorded {then:?}, now {now:?}"))
    }

    /// Returns the number of preemptions, if a schedule was followed.
    pub fn preemptions(&self) -> u64 {
        self.follow.as_ref().map_or(0, Follow::preemptions)
    }

    /// Records the completed run as a file.
    pub fn record(&self, info: RunInfo) -> TraceFile {
        record::write(&self.lock(), self.config, &self.spec, info)
    }

    /// Returns the completed run as a message to the command line, with its output and the calling lines. It
    /// has its trace if `info` is given.
    pub fn answer(
        &self,
        info: Option<RunInfo>,
        output: String,
        callers: Vec<Caller>,
    ) -> Result<String, String> {
        let divergence = self.divergence();
        let trace = info.map(|info| Box::new(self.record(info)));
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
            idle_timeouts: session.engine().has_idle_timeouts(),
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
