//! The file with the result of a shard; see docs/design/result-file.md.

use crate::args::ShardArgs;
use crate::outcome::Outcome;
use anyhow::{Context, Result, bail, ensure};
use raddle_launch::{Kept, Output, record_path};
use raddle_model::TraceFile;
use raddle_search::{Identity, Lanes, Merged, Part, Search, Shard, ShardResult, is_interrupted};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The version of the format.
const VERSION: u32 = 1;

/// The result of a shard.
#[derive(Serialize, Deserialize)]
pub(crate) struct ResultFile {
    raddle_result: u32,
    pub(crate) shard: Shard,
    /// The arguments of the command, which decide how the report is printed.
    pub(crate) command: Vec<String>,
    /// The results of the searches of the command, in order.
    pub(crate) targets: Vec<TargetResult>,
}

/// The result of one search: of a program, a test, or a strategy of the lab.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct TargetResult {
    /// The name of the target; the same in all shards.
    pub(crate) name: String,
    /// The strategies of the search.
    pub(crate) strategies: Vec<String>,
    /// How long it took, in seconds; 0 if that is not reported.
    #[serde(default)]
    pub(crate) seconds: f64,
    /// The properties of the program that the report depends on.
    pub(crate) facts: Value,
    /// The runs, if there were any.
    pub(crate) runs: Option<ShardResult<Failing>>,
    /// The further runs that look for data races, if there were any.
    pub(crate) races: Option<ShardResult<Option<String>>>,
    /// The reason why the target was not run, or not controlled.
    pub(crate) lost: Option<String>,
}

/// A failing run of a shard.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Failing {
    #[serde(serialize_with = "to_value", deserialize_with = "from_value")]
    pub(crate) file: TraceFile,
    /// The output of the program.
    pub(crate) printed: String,
    /// The lines that caused library operations.
    callers: Vec<String>,
}

/// The same run, whose minimization may have ended earlier on a slower machine.
impl PartialEq for Failing {
    fn eq(&self, other: &Failing) -> bool {
        self.file.id == other.file.id
    }
}

fn to_value<S: Serializer>(file: &TraceFile, serializer: S) -> Result<S::Ok, S::Error> {
    let value: Value = serde_json::from_str(&file.to_json()).expect("a failure file is JSON");
    value.serialize(serializer)
}

fn from_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TraceFile, D::Error> {
    let value = Value::deserialize(deserializer)?;
    TraceFile::from_json(&value.to_string()).map_err(D::Error::custom)
}

impl Failing {
    /// Returns a recorded run.
    pub(crate) fn of(kept: &Kept) -> Failing {
        Failing::new(kept.file.clone(), kept.output.clone())
    }

    pub(crate) fn new(file: TraceFile, output: Output) -> Failing {
        let signed = TraceFile { signature: raddle_search::sign(&file), ..file };
        Failing { file: signed, printed: output.printed, callers: output.callers }
    }

    /// Writes the run to `path`, or below it if it is a folder. A signature stays that of its writer.
    pub(crate) fn keep(self, path: Option<&Path>) -> Kept {
        let Failing { file, printed, callers } = self;
        let path = record_path(path, &file);
        let output = Output { printed, callers };
        match raddle_search::write_as_is(&path, &file) {
            Ok(()) => Kept { file, output, path: Some(path), not_kept: None },
            Err(error) => {
                let why = format!(
                    "cannot write the failing run to {}: {error}; the same command with --record FILE writes it elsewhere",
                    path.display()
                );
                Kept { file, output, path: None, not_kept: Some(why) }
            }
        }
    }
}

/// Returns the part of the runs that a command executes; `None` for all of them. Rejects shards that would have no runs.
pub(crate) fn part(args: &ShardArgs, lanes: &Lanes) -> Result<Option<Part>> {
    let part = part_of_test(args, lanes)?;
    let learning = learning(lanes);
    let count = part.map_or(1, |part| part.shard.count());
    ensure!(
        learning.len() < lanes.iter().len() || count <= learning.len(),
        "--shard {}: {} from earlier runs, so one process executes all of them, and {} of {count} shards have no runs\n\
         help: choose a strategy that does not learn, such as pos or random-walk, or give each machine another --seed",
        part.map_or(Shard::WHOLE, |part| part.shard),
        learn(&learning),
        count - learning.len().min(count)
    );
    Ok(part)
}

/// Returns the part of the runs of one test of many that a command executes; `None` for all of them.
pub(crate) fn part_of_test(args: &ShardArgs, lanes: &Lanes) -> Result<Option<Part>> {
    let is_unit = args.unit.as_ref().is_some_and(|unit| !unit.is_whole);
    let shard = args.shard.or(is_unit.then_some(Shard::WHOLE));
    let Some(shard) = shard else { return Ok(None) };
    let window = args.unit.as_ref().and_then(|unit| unit.window);
    let learning = learning(lanes);
    ensure!(
        window.is_none() || learning.is_empty(),
        "{} from earlier runs, so a range of its runs cannot be executed alone\nhelp: divide the search into shards",
        learn(&learning)
    );
    Ok(Some(Part { pilot: args.pilot, window, ..Part::shard(shard) }))
}

/// Returns the strategies that learn.
fn learning(lanes: &Lanes) -> Vec<&str> {
    lanes.iter().filter(|lane| lane.learns).map(|lane| lane.spec.as_str()).collect()
}

/// Returns these strategies with a verb.
fn learn(strategies: &[&str]) -> String {
    let verb = if strategies.len() == 1 { "learns" } else { "learn" };
    format!("{} {verb}", strategies.join(", "))
}

/// Returns what identifies a search besides the program: its strategies and limits.
pub(crate) fn identity<const N: usize>(
    search: &Search<'_>,
    part: Part,
    seed: u64,
    facts: [(&str, String); N],
) -> Identity {
    let Identity(mut all) = Identity::of(facts);
    let budget = &search.budget;
    let time = match budget.time {
        _ if part.window.is_some() => "that of each range".to_owned(),
        Some(time) => format!("{time:?}"),
        None => "unlimited".to_owned(),
    };
    let common = [
        ("Raddle's version", env!("CARGO_PKG_VERSION").to_owned()),
        ("the strategy", search.lanes.specs().join("+")),
        ("the seed", seed.to_string()),
        ("the number of runs", budget.runs.to_string()),
        ("the time limit", time),
        ("--pilot", part.pilot.to_string()),
    ];
    all.extend(common.map(|(name, value)| (name.to_owned(), value)));
    Identity(all)
}

/// The output of a command that searches, and the results of its part of the runs.
pub(crate) struct Executed {
    pub(crate) outcome: Outcome,
    pub(crate) results: Vec<TargetResult>,
    /// True if all runs of the part were made.
    pub(crate) is_complete: bool,
}

impl From<Outcome> for Executed {
    fn from(outcome: Outcome) -> Executed {
        Executed { outcome, results: Vec::new(), is_complete: true }
    }
}

impl Executed {
    /// Writes the result of a shard, if the command was one, and returns the output. Nothing is written if not all runs were
    /// made.
    pub(crate) fn finish(self, args: &ShardArgs, json: bool) -> Result<Outcome> {
        let Executed { mut outcome, results, is_complete } = self;
        let Some(shard) = args.shard else { return Ok(outcome) };
        let path = args.path(shard);
        let text = if is_interrupted() || !is_complete {
            format!("\nShard {shard} has no result: not all of its runs were made.\n")
        } else {
            let words = std::env::args_os().skip(1).map(|word| word.into_string());
            let command = words.collect::<Result<_, _>>().ok().context("an argument is not valid UTF-8")?;
            ResultFile::new(shard, command, results).write(&path)?;
            format!(
                "\nThe result of shard {shard} is in {}. When all are there: raddle merge RESULT...\n",
                path.display()
            )
        };
        if !json {
            outcome.text.push_str(&text);
        }
        Ok(outcome)
    }
}

impl ResultFile {
    /// Creates the results of a shard of a command.
    pub(crate) fn new(shard: Shard, command: Vec<String>, targets: Vec<TargetResult>) -> ResultFile {
        ResultFile { raddle_result: VERSION, shard, command, targets }
    }

    fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string(self).context("the result cannot be written as JSON")?;
        raddle_search::replace(path, &text)
            .with_context(|| format!("cannot write the result to {}", path.display()))
    }
}

/// Reads a result.
pub(crate) fn read(path: &str) -> Result<ResultFile> {
    let text = crate::input::read(path)?;
    let value: Value = serde_json::from_str(&text).with_context(|| {
        format!("{path}: is not a result of a shard\nhelp: pass files written by --shard")
    })?;
    match value.get("raddle_result").and_then(Value::as_u64) {
        Some(version) if version == u64::from(VERSION) => {}
        Some(version) => bail!(
            "{path}: has version {version} of the format, and this Raddle reads version {VERSION}\nhelp: use the same version of Raddle everywhere"
        ),
        None => bail!("{path}: is not a result of a shard\nhelp: pass files written by --shard"),
    }
    serde_json::from_value(value)
        .with_context(|| format!("{path}: the result is damaged\nhelp: run that shard again"))
}

/// The merged results of one search.
pub(crate) struct MergedTarget {
    pub(crate) name: String,
    pub(crate) strategies: Vec<String>,
    /// How long the slowest shard took, in seconds.
    pub(crate) seconds: f64,
    facts: Value,
    /// The runs, if there were any.
    pub(crate) runs: Option<Merged<Failing>>,
    pub(crate) races: Option<Merged<Option<String>>>,
    pub(crate) lost: Option<String>,
}

impl MergedTarget {
    /// Returns the properties of the program.
    pub(crate) fn facts<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_value(self.facts.clone())
            .with_context(|| format!("{}: the result is damaged\nhelp: run the shards again", self.name))
    }
}

/// Merges the results of all shards of a command. With `is_partial`, some may be missing.
pub(crate) fn merge(files: &[ResultFile], is_partial: bool) -> Result<Vec<MergedTarget>> {
    let mut names: Vec<&String> = Vec::new();
    let mut targets: BTreeMap<&String, Vec<(Shard, &TargetResult)>> = BTreeMap::new();
    for file in files {
        for target in &file.targets {
            let results = targets.entry(&target.name).or_default();
            if results.is_empty() {
                names.push(&target.name);
            }
            results.push((file.shard, target));
        }
    }
    ensure!(!names.is_empty(), "the results have no program\nhelp: run the shards again");
    names
        .into_iter()
        .map(|name| merge_target(&targets[name], is_partial).with_context(|| name.clone()))
        .collect()
}

/// Merges the results of one target.
fn merge_target(results: &[(Shard, &TargetResult)], is_partial: bool) -> Result<MergedTarget> {
    let (shard, first) = results.first().context("no results to merge")?;
    let lanes = Lanes::of_specs(&first.strategies)?;
    let seconds = results.iter().map(|(_, target)| target.seconds).fold(0.0, f64::max);
    let lost = results.iter().find_map(|(_, target)| target.lost.clone());
    let runs: Vec<_> = results.iter().filter_map(|(_, target)| target.runs.clone()).collect();
    let races: Vec<_> = results.iter().filter_map(|(_, target)| target.races.clone()).collect();
    let merged = match &runs[..] {
        [] => None,
        _ if lost.is_some() => None,
        runs => Some(raddle_search::merge(runs, &lanes, is_partial)?),
    };
    if merged.is_none() && !is_partial {
        // A target that was not run has no runs that could be missing.
        raddle_search::complete(&results.iter().map(|(shard, _)| shard.index()).collect(), shard.count())?;
    }
    let has_failed = merged.as_ref().is_some_and(|merged| merged.tally.failures > 0);
    let races = match &races[..] {
        [] => None,
        _ if has_failed => None,
        races => Some(raddle_search::merge(races, &lanes, is_partial)?),
    };
    Ok(MergedTarget {
        name: first.name.clone(),
        strategies: first.strategies.clone(),
        seconds,
        facts: first.facts.clone(),
        runs: merged,
        races,
        lost,
    })
}
