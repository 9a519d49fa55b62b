//! `raddle worker`: executes parts of searches that it reads as lines of JSON; see docs/design/worker.md.

use crate::args::{BeamCommand, CargoCommand, CiArgs, Cli, Command, LabCommand, SearchArgs, UnitArgs};
use crate::interrupt::interrupted;
use crate::outcome::Outcome;
use crate::result::{Executed, ResultFile};
use crate::{beam, cargo, lab, native};
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Parser;
use raddle_model::EXIT_NOTHING_FOUND;
use raddle_search::{Lanes, Portfolio, Shard, Stop, is_interrupted};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Duration;

/// The version of the protocol.
const PROTOCOL: u32 = 1;
/// The longest line that is read.
const LONGEST: u64 = 1 << 24;
/// The width of texts that are not shown.
const WIDTH: usize = 100;

/// A request: one of the two, with an id that the answer repeats.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    #[serde(rename = "id")]
    _id: Value,
    /// Describe the search of a command.
    describe: Option<Vec<String>>,
    /// Execute a part of a search.
    unit: Option<Unit>,
}

/// A part of a search.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Unit {
    /// The arguments of the command.
    command: Vec<String>,
    /// The shard of the runs.
    shard: Option<Shard>,
    /// The numbers of the runs, from the first, before the second.
    window: Option<(u64, u64)>,
    /// Start no run after this time.
    time_ms: Option<u64>,
    /// Minimize and explain the first failing run.
    #[serde(default)]
    minimize: bool,
    /// Make the further runs that look for data races.
    #[serde(default)]
    races: bool,
    /// Only these targets.
    targets: Option<Vec<String>>,
}

/// An answer.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Ready { protocol: u32, raddle: &'static str },
    Description(Description),
    Result(Box<ResultFile>),
    Error { line: u64, message: String },
}

/// What a coordinator has to know of a search.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Description {
    /// The largest number of runs; null if it is not limited.
    runs: Option<u64>,
    /// The time for the whole search in milliseconds; null if it is not limited.
    time_ms: Option<u64>,
    /// True if the search ends at the first failing run.
    stops: bool,
    /// The strategies, and those of them that learn.
    strategies: Vec<String>,
    learning: Vec<String>,
    /// The tests of `cargo test`; null for other commands.
    targets: Option<Vec<String>>,
}

/// Reads requests until the end of the input.
pub(crate) fn run() -> Result<Outcome> {
    answer(&Value::Null, Answer::Ready { protocol: PROTOCOL, raddle: env!("CARGO_PKG_VERSION") })?;
    let mut input = std::io::stdin().lock();
    for line in 1.. {
        let mut text = Vec::new();
        let read = std::io::Read::take(&mut input, LONGEST).read_until(b'\n', &mut text);
        let length = match read {
            Err(_) if interrupted().is_some() => break,
            read => read.context("cannot read the next request")?,
        };
        if length == 0 {
            break;
        }
        if text.last() != Some(&b'\n') && length as u64 == LONGEST {
            skip_line(&mut input)?;
            let message = format!("the request is longer than {LONGEST} bytes");
            answer(&Value::Null, Answer::Error { line, message })?;
            continue;
        }
        if text.trim_ascii().is_empty() {
            continue;
        }
        let (id, answered) = handle(&text);
        let answered = answered.unwrap_or_else(|error| Answer::Error { line, message: format!("{error:#}") });
        answer(&id, answered)?;
        if interrupted().is_some() {
            break;
        }
    }
    Ok(Outcome { text: String::new(), status: EXIT_NOTHING_FOUND })
}

/// Skips the rest of a line.
fn skip_line(input: &mut impl BufRead) -> Result<()> {
    loop {
        let bytes = input.fill_buf().context("cannot read the next request")?;
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let (length, is_over) = (end.map_or(bytes.len(), |end| end + 1), end.is_some() || bytes.is_empty());
        input.consume(length);
        if is_over {
            return Ok(());
        }
    }
}

fn answer(id: &Value, answer: Answer) -> Result<()> {
    let mut value = serde_json::to_value(answer).context("an answer cannot be written as JSON")?;
    value["id"] = id.clone();
    let mut out = std::io::stdout().lock();
    writeln!(out, "{value}").and_then(|()| out.flush()).context("cannot write an answer")
}

/// Executes a request. Returns its id, if it has one that can be read, and the answer.
fn handle(text: &[u8]) -> (Value, Result<Answer>) {
    let value: Value = match serde_json::from_slice(text) {
        Ok(value) => value,
        Err(error) => return (Value::Null, Err(anyhow!("the request is not JSON: {error}"))),
    };
    let id = value.get("id").cloned().unwrap_or_default();
    let request = serde_json::from_value::<Request>(value).context("the request is not understood");
    let answered = request.and_then(|request| match (request.describe, request.unit) {
        (Some(command), None) => describe(&command).map(Answer::Description),
        (None, Some(unit)) => execute(unit),
        _ => bail!("the request is not understood: it has to have either `describe` or `unit`"),
    });
    (id, answered)
}

/// Parses a command that searches.
pub(crate) fn parse(command: &[String]) -> Result<Command> {
    let words = ["raddle"].into_iter().chain(command.iter().map(String::as_str));
    let cli = Cli::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        anyhow!("the command has an error: {}", first.strip_prefix("error: ").unwrap_or(first))
    })?;
    Ok(cli.command)
}

/// Returns the options of a search, and its strategies.
fn search_of(command: &Command) -> Result<(&SearchArgs, Lanes)> {
    let programs = |search: &SearchArgs| Lanes::parse(&search.strategy(), search.portfolio());
    Ok(match command {
        Command::Run(args) => (&args.search, programs(&args.search)?),
        Command::Cargo { command: CargoCommand::Run(args) } => (&args.search, programs(&args.search)?),
        Command::Beam { command: BeamCommand::Run(args) } => {
            (&args.search, Lanes::parse(&args.search.strategy(), Portfolio::Tests)?)
        }
        Command::Lab { command: LabCommand::Run(args) } => (&args.search, lab::strategies(args)?),
        Command::Cargo { command: CargoCommand::Test(args) } => (&args.search, programs(&args.search)?),
        _ => bail!(
            "the command does not search\nhelp: the commands are run, beam run, lab run, cargo run and cargo test"
        ),
    })
}

fn describe(words: &[String]) -> Result<Description> {
    let command = parse(words)?;
    let (search, lanes) = search_of(&command)?;
    ensure!(search.part.shard.is_none(), "the command has --shard, which the worker chooses");
    let budget = match &command {
        Command::Lab { .. } => search.counting_budget(),
        _ => search.budget(),
    };
    let learning = lanes.iter().filter(|lane| lane.learns).map(|lane| lane.spec.clone());
    Ok(Description {
        runs: Some(budget.runs).filter(|&runs| runs != u64::MAX),
        time_ms: budget.time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        stops: budget.stop != Stop::Never,
        strategies: lanes.specs(),
        learning: learning.collect(),
        targets: match &command {
            Command::Cargo { command: CargoCommand::Test(args) } => Some(cargo::test_names(args, WIDTH)?),
            _ => None,
        },
    })
}

/// Executes a part of a search.
fn execute(unit: Unit) -> Result<Answer> {
    let mut command = parse(&unit.command)?;
    ensure!(unit.shard.is_none() || unit.window.is_none(), "a unit has a shard or a window, not both");
    ensure!(unit.window.is_none_or(|(from, to)| from <= to), "the window ends before it begins");
    let shard = unit.shard.unwrap_or(Shard::WHOLE);
    // Failing runs are part of the result.
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let executed = match &mut command {
        Command::Run(args) => {
            restrict(&mut args.search, &unit);
            args.record = Some(folder.path().to_owned());
            native::run(args, WIDTH)?
        }
        Command::Lab { command: LabCommand::Run(args) } => {
            restrict(&mut args.search, &unit);
            args.record = None;
            lab::run(args, WIDTH)?
        }
        Command::Beam { command: BeamCommand::Run(args) } => {
            restrict(&mut args.search, &unit);
            args.record = Some(folder.path().to_owned());
            beam::run(args, WIDTH)?
        }
        Command::Cargo { command } => cargo_unit(command, &unit, folder.path())?,
        _ => bail!(
            "the command does not search\nhelp: the commands are run, beam run, lab run, cargo run and cargo test"
        ),
    };
    let Executed { results, is_complete, .. } = executed;
    // A range that was ended early says how far it came.
    let is_complete = is_complete && (unit.window.is_some() || !is_interrupted());
    ensure!(is_complete, "not all runs of the unit were made");
    Ok(Answer::Result(Box::new(ResultFile::new(shard, unit.command, results))))
}

fn cargo_unit(command: &mut CargoCommand, unit: &Unit, folder: &Path) -> Result<Executed> {
    match command {
        CargoCommand::Test(args) => {
            restrict(&mut args.search, unit);
            args.record = Some(folder.to_owned());
            cargo::test(args, WIDTH)
        }
        CargoCommand::Run(args) => {
            restrict(&mut args.search, unit);
            args.record = Some(folder.to_owned());
            cargo::program(args, WIDTH)
        }
        _ => bail!(
            "the command does not search\nhelp: the commands are run, beam run, lab run, cargo run and cargo test"
        ),
    }
}

/// Restricts a search to a unit. Workers run beside each other, so each has one job.
fn restrict(search: &mut SearchArgs, unit: &Unit) {
    search.ci = CiArgs::default();
    search.jobs = Some(1);
    search.no_minimize |= !unit.minimize;
    search.part.shard = unit.shard;
    search.part.unit = Some(UnitArgs {
        window: unit.window,
        minimize: unit.minimize,
        races: unit.races,
        targets: unit.targets.clone(),
        is_whole: false,
    });
    if let Some(time) = unit.time_ms {
        // A time alone would remove the limit on runs.
        search.runs = Some(search.budget().runs);
        search.time = Some(Duration::from_millis(time));
    }
}
