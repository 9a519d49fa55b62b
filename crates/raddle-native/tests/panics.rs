//! Runs the tests of a module that needs nothing of the library, which is not linked here.

#[path = "../src/server/panics.rs"]
#[expect(dead_code, reason = "only the tests in it are wanted")]
mod panics;
