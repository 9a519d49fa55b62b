//! Tests of the language as a whole. `interpreter` is a small reference for what programs mean.

mod errors;
mod figures;
mod fuzz;
mod interpreter;
mod language;
