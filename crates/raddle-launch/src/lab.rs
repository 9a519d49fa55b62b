//! The lab program in a failure file.

use crate::subject::{Output, Repeated, Subject};
use anyhow::{Context, Result};
use raddle_lab::Lab;
use raddle_model::TraceFile;

/// Compiles the program of `file`, called `shown` in messages.
pub(crate) fn open(file: &TraceFile, shown: &str) -> Result<Lab> {
    Lab::open(file).with_context(|| format!("{shown}: the program in the file"))
}

impl Subject for Lab {
    fn replay(&mut self, file: &TraceFile) -> Result<Repeated> {
        let (run, divergence) = Lab::replay(self, file);
        let divergence = divergence.map(|divergence| (divergence.step, divergence.what));
        Ok(Repeated { run, output: Output::default(), divergence })
    }

    fn resemble(&mut self, file: &TraceFile) -> Result<Repeated> {
        Ok(Repeated { run: Lab::resemble(self, file), output: Output::default(), divergence: None })
    }

    fn observe(&mut self, _run: &mut TraceFile) -> Output {
        // Every run records its values, and prints nothing.
        Output::default()
    }
}
