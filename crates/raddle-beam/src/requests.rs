//! Takes the orders of the command line, in the words that it shares with the native runtime ([`raddle_model::native`]).

use crate::handle::{Handle, Shared};
use crate::record;
use raddle_engine::{Follow, Resemble};
use raddle_model::Settings;
use raddle_model::native::{Order, Setup};
use rustler::{Resource, ResourceArc};

/// What holds for all orders.
pub struct Desk {
    settings: Settings,
    /// A session for every strategy.
    lanes: Vec<Shared>,
    /// The strategy under which recorded runs were made: the first, if there is one.
    recorded: String,
}

#[rustler::resource_impl]
impl Resource for Desk {}

/// Of which runs the trace is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wish {
    /// Of none.
    None,
    /// Of one that fails.
    Failing,
    /// Of every one.
    Any,
    /// Of every one, with the lines that called.
    Whole,
}

impl Desk {
    /// A desk for a [`Setup`], with the seed and the patience in milliseconds.
    pub fn open(setup: &str) -> Result<(Desk, u64, u64), String> {
        let setup: Setup = serde_json::from_str(setup).map_err(|error| error.to_string())?;
        let lane = |spec: &String| Handle::under(spec, setup.settings).map(ResourceArc::new);
        let lanes = setup.strategies.iter().map(lane).collect::<Result<_, _>>();
        let lanes = lanes.map_err(|error| error.to_string())?;
        let recorded = setup.strategies.into_iter().next().unwrap_or_default();
        Ok((Desk { settings: setup.settings, lanes, recorded }, setup.seed, setup.patience_ms))
    }

    /// The session that an [`Order`] is for, the number of its run, and whether its trace is wanted.
    pub fn read(&self, order: &str) -> Result<(Shared, u64, Wish), String> {
        let (settings, spec) = (self.settings, self.recorded.as_str());
        let (handle, wish) = match serde_json::from_str(order).map_err(|error| error.to_string())? {
            Order::Run { strategy, run, trace, .. } => {
                let lane = self.lanes.get(strategy).ok_or("there is no such strategy")?;
                return Ok((lane.clone(), run, if trace { Wish::Failing } else { Wish::None }));
            }
            Order::Replay { steps, picks, .. } => {
                (Handle::repeat(record::events(&steps), Order::picks(&picks), settings, spec), Wish::Whole)
            }
            Order::Resemble { steps, picks, .. } => {
                let resemble = Resemble::new(record::events(&steps), Order::picks(&picks));
                (Handle::guided(Box::new(resemble), settings, spec), Wish::Whole)
            }
            Order::Follow { schedule, any, .. } => {
                let wish = if any { Wish::Any } else { Wish::Failing };
                (Handle::follow(Follow::new(schedule), settings, spec), wish)
            }
            Order::Coverage { .. } => return Err("nothing is known of iRoots here".to_owned()),
        };
        Ok((ResourceArc::new(handle), 0, wish))
    }
}
