//! Abstract programs: `raddle lab`.

mod bound;
mod litmus;
mod micro;
mod run;
mod stride;

pub(crate) use bound::run as bound;
pub(crate) use litmus::run as litmus;
pub(crate) use micro::run as micro;
pub(crate) use run::{merged, run, strategies};
pub(crate) use stride::run as stride;
