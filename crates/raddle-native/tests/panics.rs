//! Runs the tests of a module that needs nothing of the library, which is not linked here.

#[path = "../src/server/panics.rs"]
mod panics;
