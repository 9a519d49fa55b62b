//! Failure files as text: the readable part, the packed part, and the readers of old versions.

use super::{
    Details, Environment, FORMAT_VERSION, FileError, FrontEnd, MOST_FILE_STEPS, Minimized, Settings,
    TraceFile, base64, packed, values,
};
use crate::native::SHARED;
use crate::{Kind, Name, Values, Verdict, mix};
use serde::{Deserialize, Serialize};

/// A file of version 2, field by field in the order of the text.
#[derive(Serialize, Deserialize)]
struct Readable {
    raddle_failure: u32,
    id: String,
    front_end: String,
    program: String,
    arguments: Vec<String>,
    build: Option<String>,
    #[serde(rename = "surroundings", default, skip_serializing_if = "Environment::are_plain")]
    environment: Environment,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
    parameters: Vec<(String, i64)>,
    settings: Settings,
    strategy: String,
    seed: u64,
    run: u64,
    minimized: Option<Minimized>,
    verdict: Verdict,
    fingerprint: u64,
    #[serde(default, skip_serializing_if = "Details::is_empty")]
    details: Details,
    threads: Vec<String>,
    locations: Vec<String>,
    kinds: Vec<Kind>,
    /// Number of steps.
    steps: u64,
    /// Length of the packed part after inflation, in bytes.
    packed_length: u64,
    packed: String,
    /// Length of the values after inflation, in bytes. Absent if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    values_length: u64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    values: String,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The fields that distinguish versions. Version 1 had another name for its field.
#[derive(Deserialize)]
struct Version {
    raddle_failure: Option<u32>,
    raddle_trace: Option<u32>,
}

impl TraceFile {
    /// Returns the file as text.
    pub fn to_json(&self) -> String {
        let (mut readable, bytes) = self.take_apart();
        readable.packed = base64::encode(&packed::deflate(&bytes));
        if !self.values.is_empty() {
            let bytes = values::pack(&self.values);
            readable.values_length = bytes.len() as u64;
            readable.values = base64::encode(&packed::deflate(&bytes));
        }
        if readable.id.is_empty() {
            readable.id = id(&readable, &bytes);
        }
        let mut text = serde_json::to_string_pretty(&readable)
            .expect("a failure file has only string keys and finite numbers");
        text.push('\n');
        text
    }

    /// Returns eight digits that identify this failure. They depend on the content only, not on
    /// [`TraceFile::id`].
    pub fn short_id(&self) -> String {
        let (readable, bytes) = self.take_apart();
        id(&readable, &bytes)
    }

    /// Parses a file and checks that it is consistent.
    pub fn from_json(text: &str) -> Result<TraceFile, FileError> {
        let version: Version = serde_json::from_str(text).map_err(syntax)?;
        let mut file = match (version.raddle_failure, version.raddle_trace) {
            (Some(FORMAT_VERSION), _) => serde_json::from_str::<Readable>(text).map_err(syntax)?.whole()?,
            (None, Some(1)) => version_1(text)?,
            (Some(found), _) | (None, Some(found)) => return Err(FileError::Version { found }),
            (None, None) => return Err(FileError::Foreign),
        };
        file.check()?;
        // Older files do not have this setting. Without it, a run at the step limit fails only if threads
        // spun.
        let at_limit = |failure: &crate::Failure| matches!(failure, crate::Failure::StepLimit { spinning, .. } if spinning.is_empty());
        file.settings.step_limit_fails |= file.verdict.failure().is_some_and(at_limit);
        Ok(file)
    }

    /// Returns the readable part, without the packed data and the id, and the columns to be packed.
    fn take_apart(&self) -> (Readable, Vec<u8>) {
        let mut kinds: Vec<Kind> = Vec::new();
        for step in &self.steps {
            if !kinds.contains(&step.operation.kind) {
                kinds.push(step.operation.kind);
            }
        }
        let (shared, others): (Vec<_>, Vec<_>) =
            self.parameters.iter().cloned().partition(|(name, _)| name == SHARED);
        let shared: Vec<i64> = shared.into_iter().map(|(_, unit)| unit).collect();
        let bytes = packed::pack(self, &kinds, &shared);
        let readable = Readable {
            raddle_failure: FORMAT_VERSION,
            id: self.id.clone(),
            front_end: self.front_end.name().to_owned(),
            program: self.program.clone(),
            arguments: self.arguments.clone(),
            build: self.build.clone(),
            environment: self.environment.clone(),
            signature: self.signature.clone(),
            parameters: others,
            settings: self.settings,
            strategy: self.strategy.clone(),
            seed: self.seed,
            run: self.run,
            minimized: self.minimized,
            verdict: self.verdict.clone(),
            fingerprint: self.fingerprint,
            details: self.details.clone(),
            threads: self.threads.clone(),
            locations: self.locations.clone(),
            kinds,
            steps: self.steps.len() as u64,
            packed_length: bytes.len() as u64,
            packed: String::new(),
            values_length: 0,
            values: String::new(),
        };
        (readable, bytes)
    }
}

impl Readable {
    /// Unpacks the file. Shared memory comes after the other parameters.
    fn whole(self) -> Result<TraceFile, FileError> {
        let damaged = |message: String| FileError::Packed { message };
        if self.steps > MOST_FILE_STEPS {
            return Err(damaged(format!("{} steps exceed the limit of {MOST_FILE_STEPS}", self.steps)));
        }
        let small = base64::decode(&self.packed)
            .map_err(|at| damaged(format!("character {} is not base64", at + 1)))?;
        let bytes = packed::inflate(&small, self.packed_length).map_err(damaged)?;
        let packed = packed::unpack(&bytes, self.steps, &self.kinds).map_err(damaged)?;
        let values = match self.values.is_empty() {
            true => Values::default(),
            false if self.values_length > values::MOST_READ => {
                let most = values::MOST_READ;
                let message = format!("{} bytes exceed the limit of {most}", self.values_length);
                return Err(FileError::Values { message });
            }
            false => base64::decode(&self.values)
                .map_err(|at| format!("character {} is not base64", at + 1))
                .and_then(|small| packed::inflate(&small, self.values_length))
                .and_then(|bytes| values::unpack(&bytes))
                .map_err(|message| FileError::Values { message })?,
        };
        let mut parameters = self.parameters;
        parameters.extend(packed.shared.into_iter().map(|unit| (SHARED.to_owned(), unit)));
        Ok(TraceFile {
            id: self.id,
            front_end: self.front_end.parse()?,
            program: self.program,
            arguments: self.arguments,
            build: self.build,
            environment: self.environment,
            signature: self.signature,
            parameters,
            settings: self.settings,
            strategy: self.strategy,
            seed: self.seed,
            run: self.run,
            minimized: self.minimized,
            verdict: self.verdict,
            fingerprint: self.fingerprint,
            threads: self.threads,
            objects: packed.objects,
            locations: self.locations,
            steps: packed.steps,
            picks: packed.picks,
            values,
            details: self.details,
        })
    }
}

/// Reads a file of version 1, which had every step in full and a native program as a JSON list of its words.
fn version_1(text: &str) -> Result<TraceFile, FileError> {
    let mut file: TraceFile = serde_json::from_str(text).map_err(syntax)?;
    if file.front_end == FrontEnd::Native
        && let Ok(mut words) = serde_json::from_str::<Vec<String>>(&file.program)
        && !words.is_empty()
    {
        file.program = words.remove(0);
        file.arguments = words;
    }
    Ok(file)
}

fn id(readable: &Readable, bytes: &[u8]) -> String {
    let Readable { program, arguments, strategy, seed, run, fingerprint, .. } = readable;
    let text = format!("{program}\0{arguments:?}\0{strategy}\0{seed}\0{run}\0{fingerprint}");
    let Name(start) = Name::of_text(&text);
    let hash = bytes.chunks(8).fold(start, |hash, chunk| {
        let word = chunk.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        mix(hash ^ word).wrapping_add(chunk.len() as u64)
    });
    format!("{:08x}", hash >> 32)
}

fn syntax(error: serde_json::Error) -> FileError {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or(&message).to_owned();
    FileError::Syntax { line: error.line(), column: error.column(), message }
}
