//! Weak memory: which values atomics may have, rule by rule.

mod limits;
mod outcomes;
mod program;
