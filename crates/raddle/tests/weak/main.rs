//! Weak memory: `Config::memory`, the outcomes of litmus programs, and bugs that only weak memory has.

mod bugs;
mod litmus;
mod protocols;
mod reports;
