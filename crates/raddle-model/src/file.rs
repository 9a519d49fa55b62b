//! The file that holds one run, so that it can be replayed and read by people.
//!
//! The file is JSON. A reader refuses a version it does not know; within a version, fields may be added but not
//! changed. See `docs/design/trace-file.md`.

use crate::{Operation, Pick, Verdict};
use serde::{Deserialize, Serialize};

/// The version that this crate writes and reads.
pub const FORMAT_VERSION: u32 = 1;

/// One recorded run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TraceFile {
    /// [`FORMAT_VERSION`] at the time of writing.
    pub raddle_trace: u32,
    /// The front end that ran the program: `lab`, `rust` or `native`.
    pub front_end: String,
    /// The program, as its front end names it: for the lab, the text of the program.
    pub program: String,
    /// Values that replace the program's own parameters.
    pub parameters: Vec<(String, i64)>,
    /// The engine's settings under which the run happened.
    pub settings: Settings,
    /// The strategy that found the run, for people; replay does not need it.
    pub strategy: String,
    /// The seed it was found with.
    pub seed: u64,
    /// Which run of that seed it was, from 0.
    pub run: u64,
    /// How the run ended.
    pub verdict: Verdict,
    /// The partial-order fingerprint of the run.
    pub fingerprint: u64,
    /// A name for every thread.
    pub threads: Vec<String>,
    /// A name for every object.
    pub objects: Vec<String>,
    /// The text of every code location.
    pub locations: Vec<String>,
    /// The executed operations, in order.
    pub steps: Vec<TraceStep>,
    /// Every other decision as (step, how many answers, answer), in order.
    pub picks: Vec<(u32, u32, u32)>,
}

/// Settings that a replay has to repeat.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// The largest number of steps of a run.
    pub step_limit: u64,
    /// Whether time-outs could fire at any moment, not only when nothing else could run.
    pub timeouts_anytime: bool,
    /// How many idle returns a thread could make before it rested.
    pub patience: u32,
    /// Whether a data race on plain memory ended the run.
    #[serde(default)]
    pub races: bool,
}

/// One executed operation in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TraceStep {
    /// Who executed it: an index into [`TraceFile::threads`].
    pub thread: u32,
    /// What was executed.
    #[serde(flatten)]
    pub operation: Operation,
}

/// Why a trace file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It is no JSON, or lacks a field.
    #[error("line {line}, column {column}: {message}; the file is damaged or not a Raddle trace")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What the reader stumbled over.
        message: String,
    },
    /// It was written by a version with another format.
    #[error(
        "the file has trace format {found}, this raddle reads format {FORMAT_VERSION}; use the raddle that wrote it"
    )]
    Version {
        /// The version in the file.
        found: u32,
    },
    /// It contradicts itself.
    #[error("step {}: {message}; the file is damaged", step + 1)]
    Inconsistent {
        /// The step, from 0; messages count from 1.
        step: usize,
        /// The contradiction.
        message: String,
    },
}

impl TraceFile {
    /// The file as text.
    pub fn to_json(&self) -> String {
        let mut text =
            serde_json::to_string(self).expect("a trace file has only string keys and finite numbers");
        text.push('\n');
        text
    }

    /// Reads a file's text and checks that it is consistent.
    pub fn from_json(text: &str) -> Result<TraceFile, FileError> {
        #[derive(Deserialize)]
        struct Header {
            raddle_trace: u32,
        }
        let header: Header = serde_json::from_str(text).map_err(syntax)?;
        if header.raddle_trace != FORMAT_VERSION {
            return Err(FileError::Version { found: header.raddle_trace });
        }
        let file: TraceFile = serde_json::from_str(text).map_err(syntax)?;
        file.check()?;
        Ok(file)
    }

    /// The recorded decisions besides the choice of threads.
    pub fn picks(&self) -> impl Iterator<Item = Pick> + '_ {
        self.picks.iter().map(|&(step, arity, value)| Pick { step, arity, value })
    }

    fn check(&self) -> Result<(), FileError> {
        let wrong = |step: usize, message: String| Err(FileError::Inconsistent { step, message });
        for (step, entry) in self.steps.iter().enumerate() {
            if entry.thread as usize >= self.threads.len() {
                return wrong(step, format!("thread {} of {}", entry.thread, self.threads.len()));
            }
            if entry.operation.location.index() >= self.locations.len() {
                return wrong(
                    step,
                    format!("location {} of {}", entry.operation.location.0, self.locations.len()),
                );
            }
            if let Some((object, _)) =
                entry.operation.objects().find(|(o, _)| o.index() >= self.objects.len())
            {
                return wrong(step, format!("object {} of {}", object.0, self.objects.len()));
            }
        }
        for pick in self.picks() {
            if pick.value >= pick.arity || pick.step as usize >= self.steps.len() {
                return wrong(pick.step as usize, format!("answer {} of {}", pick.value, pick.arity));
            }
        }
        Ok(())
    }
}

fn syntax(error: serde_json::Error) -> FileError {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or(&message).to_owned();
    FileError::Syntax { line: error.line(), column: error.column(), message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, Kind, LocationId, ObjectId};

    fn sample() -> TraceFile {
        let operation = Operation::new(Kind::Write, LocationId(0)).on(ObjectId(0), Access::Write);
        TraceFile {
            raddle_trace: FORMAT_VERSION,
            front_end: "lab".into(),
            program: "shared x = 0\nthread A { x = 1 }".into(),
            parameters: vec![("n".into(), 3)],
            settings: Settings { step_limit: 1_000, timeouts_anytime: false, patience: 64, races: true },
            strategy: "pos".into(),
            seed: 1,
            run: 2,
            verdict: Verdict::Passed,
            fingerprint: u64::MAX,
            threads: vec!["A".into()],
            objects: vec!["x".into()],
            locations: vec!["line 2: x = 1".into()],
            steps: vec![TraceStep { thread: 0, operation }],
            picks: vec![(0, 2, 1)],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(TraceFile::from_json(&sample().to_json()).unwrap(), sample());
    }

    #[test]
    fn damage_is_named() {
        let whole = sample().to_json();
        let cut = TraceFile::from_json(&whole[..whole.len() / 2]).unwrap_err().to_string();
        assert!(cut.starts_with("line 1, column "), "{cut}");
        let mut newer = sample();
        newer.raddle_trace = 99;
        let newer = TraceFile::from_json(&newer.to_json()).unwrap_err().to_string();
        assert!(newer.contains("trace format 99"), "{newer}");
        for damage in [
            |file: &mut TraceFile| file.steps[0].thread = 7,
            |file: &mut TraceFile| file.objects.clear(),
            |file: &mut TraceFile| file.locations.clear(),
            |file: &mut TraceFile| file.picks[0].2 = 2,
        ] {
            let mut file = sample();
            damage(&mut file);
            let error = TraceFile::from_json(&file.to_json()).unwrap_err();
            assert!(matches!(error, FileError::Inconsistent { step: 0, .. }), "{error}");
        }
    }
}
