//! Reads the requests of the command line, in the protocol that it shares with the native runtime
//! ([`raddle_model::native`]).

use crate::handle::{Handle, Shared};
use crate::record;
use raddle_engine::{Follow, Resemble};
use raddle_model::Settings;
use raddle_model::native::{Order, Setup};
use rustler::{Resource, ResourceArc};

/// The state for all requests.
pub struct Requests {
    settings: Settings,
    /// A session for every strategy.
    lanes: Vec<Shared>,
    /// The strategy of recorded runs: the first one, if there is one.
    recorded: String,
}

#[rustler::resource_impl]
impl Resource for Requests {}

/// The runs whose trace is returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceMode {
    /// No run.
    None,
    /// A run that fails.
    Failing,
    /// Every run.
    Any,
    /// Every run, with the calling lines.
    Callers,
}

impl Requests {
    /// Creates the state for a [`Setup`]; also returns the seed and the time limit in milliseconds.
    pub fn open(setup: &str) -> Result<(Requests, u64, u64), String> {
        let setup: Setup = serde_json::from_str(setup).map_err(|error| error.to_string())?;
        let lane = |spec: &String| Handle::under(spec, setup.settings).map(ResourceArc::new);
        let lanes = setup.strategies.iter().map(lane).collect::<Result<_, _>>();
        let lanes = lanes.map_err(|error| error.to_string())?;
        let recorded = setup.strategies.into_iter().next().unwrap_or_default();
        Ok((Requests { settings: setup.settings, lanes, recorded }, setup.seed, setup.patience_ms))
    }

    /// Returns the session of an [`Order`], the number of its run, and whether its trace is returned.
    pub fn read(&self, order: &str) -> Result<(Shared, u64, TraceMode), String> {
        let (settings, spec) = (self.settings, self.recorded.as_str());
        let (handle, trace) = match serde_json::from_str(order).map_err(|error| error.to_string())? {
            Order::Run { strategy, run, trace, .. } => {
                let lane = self.lanes.get(strategy).ok_or("unknown strategy")?;
                return Ok((lane.clone(), run, if trace { TraceMode::Failing } else { TraceMode::None }));
            }
            Order::Replay { steps, picks, .. } => (
                Handle::repeat(record::events(&steps), Order::picks(&picks), settings, spec),
                TraceMode::Callers,
            ),
            Order::Resemble { steps, picks, .. } => {
                let resemble = Resemble::new(record::events(&steps), Order::picks(&picks));
                (Handle::guided(Box::new(resemble), settings, spec), TraceMode::Callers)
            }
            Order::Follow { schedule, any, .. } => {
                let trace = if any { TraceMode::Any } else { TraceMode::Failing };
                (Handle::follow(Follow::new(schedule), settings, spec), trace)
            }
            Order::Coverage { .. } => return Err("iRoots are not supported for Erlang programs".to_owned()),
            Order::Estimate { .. } => return Err("Erlang programs have no estimates".to_owned()),
        };
        Ok((ResourceArc::new(handle), 0, trace))
    }
}
