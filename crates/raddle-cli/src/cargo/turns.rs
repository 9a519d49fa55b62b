//! The tests of a crate, searched one turn at a time.

use super::settings::{Budget, Settings};
use super::test::{Prepared, leaves_out};
use crate::args::CargoTestArgs;
use crate::result::TargetResult;
use anyhow::{Context, Result};
use raddle_cargo::Listed;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// Tests that are built and listed.
pub(crate) struct Suite<'a> {
    prepared: Prepared<'a>,
    tests: Vec<Test>,
}

/// A test that is run.
struct Test {
    /// The index of its program.
    binary: usize,
    settings: Rc<Settings>,
    test: Listed,
}

impl<'a> Suite<'a> {
    /// Builds the tests and lists them.
    pub(crate) fn new(args: &'a CargoTestArgs, width: usize) -> Result<Suite<'a>> {
        let Prepared { mut session, workspace, selection, binaries } = Prepared::new(args, width)?;
        let mut tests = Vec::new();
        for (index, binary) in binaries.iter().enumerate() {
            for wanted in session.wanted(std::slice::from_ref(binary), &workspace, &selection)? {
                // `cargo raddle test` names programs that cannot list their tests.
                let Ok(test) = wanted.test else { continue };
                if leaves_out(binary, &test, &wanted.settings, &selection).is_none() {
                    tests.push(Test { binary: index, settings: wanted.settings, test });
                }
            }
        }
        Ok(Suite { prepared: Prepared { session, workspace, selection, binaries }, tests })
    }

    /// Returns the names of the tests, and their programs.
    pub(crate) fn tests(&self) -> impl Iterator<Item = (String, &Path)> {
        self.tests.iter().map(|test| {
            let binary = &self.prepared.binaries[test.binary];
            (format!("{} {}", binary.name, test.test.name), binary.path.as_path())
        })
    }

    /// Searches a test.
    pub(crate) fn turn(
        &mut self,
        index: usize,
        seed: u64,
        runs: u64,
        time: Option<Duration>,
    ) -> Result<TargetResult> {
        let Test { binary, settings, test } = &self.tests[index];
        let session = &mut self.prepared.session;
        let usual = settings.budget(&session.args.search, &test.name);
        let budget = Budget { seed, runs, time: time.unwrap_or(Duration::MAX), ..usual };
        session.test(&self.prepared.binaries[*binary], test, &budget)?;
        session.results.pop().context("the test has no result")
    }
}
