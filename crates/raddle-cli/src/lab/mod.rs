//! Abstract programs: `raddle lab`, and the program of a failing run.

mod bound;
mod micro;
mod program;
mod run;
#[cfg(test)]
mod tests;

pub(crate) use bound::run as bound;
pub(crate) use micro::run as micro;
pub(crate) use program::{Lab, compile, config};
pub(crate) use run::run;
