//! Abstract programs: `raddle lab`, and the program of a failing run.

mod bound;
mod litmus;
mod micro;
mod run;
mod stride;
mod subject;

pub(crate) use bound::run as bound;
pub(crate) use litmus::run as litmus;
pub(crate) use micro::run as micro;
pub(crate) use run::run;
pub(crate) use stride::run as stride;
pub(crate) use subject::open;
