//! The command line as its users see it: the built program, its output and its exit status.

mod bench;
mod campaign;
mod cc;
mod common;
mod explain;
mod lab_micro;
mod lab_run;
mod mistakes;
mod replay;
mod report;
mod shards;
mod signals;
mod suite;
mod trust;
