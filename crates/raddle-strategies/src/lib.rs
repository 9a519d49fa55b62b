//! Every scheduling algorithm, one file each, and [`build`], which creates one from its name.
//!
//! A strategy sees a [`Point`](raddle_engine::Point) and a [`Rng`](raddle_engine::Rng) and nothing else. The
//! file of each algorithm states its paper, its guarantee, and the test that checks it.
//!
//! A new strategy needs its own file, with its entry, and two lines here: its module, and its entry in
//! [`CATALOGUE`].

// Randomized.
pub mod basic_pos;
pub mod maple;
pub mod oos;
pub mod pct;
pub mod pct_large;
pub mod pctwm;
pub mod pos;
pub mod random_delay;
pub mod random_walk;
pub mod rapos;
pub mod rpro;
pub mod stride;
pub mod surw;
pub mod upo;
pub mod urw;

// Systematic.
pub mod delay_bounding;
pub mod dfs;
pub mod dpor;
pub mod period;
pub mod preemption_bounding;

// Wrappers.
pub mod conflict_analysis;
pub mod coverage;
pub mod early_timeouts;
pub mod exit_last;
pub mod portfolio;
pub mod weak_memory;

mod catalogue;
mod frontier;
mod profile;
mod racing;
mod roster;
mod some_runs;
mod spec;
mod sums;
mod tournament;
mod upo_path;
mod values;
mod words;

pub use catalogue::{Capabilities, Entry, Exact, Family, Parameter};
pub use spec::{SpecError, build, covers_everything, entry, exact, leaves_out, pct_depth};

/// Every strategy, in the order of presentation.
pub const CATALOGUE: &[Entry] = &[
    random_walk::ENTRY,
    pct::ENTRY,
    pct_large::ENTRY,
    pctwm::ENTRY,
    random_delay::ENTRY,
    rpro::ENTRY,
    basic_pos::ENTRY,
    pos::ENTRY,
    rapos::ENTRY,
    stride::ENTRY,
    urw::ENTRY,
    surw::ENTRY,
    oos::ENTRY,
    upo::ENTRY,
    maple::ENTRY,
    dfs::ENTRY,
    preemption_bounding::ENTRY,
    preemption_bounding::CHESS,
    delay_bounding::ENTRY,
    dpor::ENTRY,
    period::ENTRY,
    conflict_analysis::ENTRY,
    conflict_analysis::BY_LOCATION,
    exit_last::ENTRY,
    early_timeouts::ENTRY,
    weak_memory::ENTRY,
];
