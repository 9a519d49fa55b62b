//! Tests of the language as a whole. `interpreter` is a small reference for the semantics.

mod errors;
mod figures;
mod fuzz;
mod interpreter;
mod language;
