//! Erlang programs: `raddle beam run`.

mod run;

pub(crate) use run::{merged, module, run};
