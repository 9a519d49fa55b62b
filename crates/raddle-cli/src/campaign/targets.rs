//! The targets of a campaign, and their turns.

use crate::args::{BeamCommand, CampaignRunArgs, CargoCommand, CargoTestArgs, CiArgs, Command, LabCommand};
use crate::args::{RacesArg, SearchArgs, UnitArgs};
use crate::cargo::Suite;
use crate::result::{Executed, TargetResult};
use crate::worker::parse;
use crate::{beam, lab, native};
use anyhow::{Context, Result, anyhow, bail, ensure};
use raddle_cc::Source;
use raddle_engine::Census;
use raddle_model::TraceFile;
use raddle_search::Lanes;
use serde::Deserialize;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The targets, as the user names them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, serde::Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Named {
    pub(super) targets: Vec<String>,
    pub(super) pa: Vec<String>,
    pub(super) commands: Vec<String>,
    pub(super) strategy: Option<String>,
}

impl Named {
    /// Returns the targets of the arguments, if they name some.
    pub(super) fn of(args: &CampaignRunArgs) -> Result<Option<Named>> {
        if let Some(path) = &args.config {
            let shown = path.display();
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
            let named: Named = toml::from_str(&text).map_err(|error| {
                anyhow!(
                    "{shown}: {}\nhelp: the file has lists of strings: targets, pa, commands; and strategy",
                    error.message()
                )
            })?;
            return Ok(Some(Named { strategy: args.strategy.clone().or(named.strategy), ..named }));
        }
        let (targets, pa, strategy) = (args.targets.clone(), args.pa.clone(), args.strategy.clone());
        let named = Named { targets, pa, commands: Vec::new(), strategy };
        Ok((!named.targets.is_empty()).then_some(named))
    }

    /// Returns the commands that search the targets, each with the name of its target; that of tests is empty.
    fn commands(&self) -> Result<Vec<(String, Vec<String>)>> {
        let mut all = Vec::new();
        for target in &self.targets {
            all.extend(commands(target, &self.pa)?);
        }
        for command in &self.commands {
            let words = shlex::split(command)
                .with_context(|| format!("`{command}`: a quote is not closed\nhelp: close the quote"))?;
            all.push((command.clone(), words));
        }
        ensure!(!all.is_empty(), "the campaign has no target\nhelp: name one: raddle campaign run TARGET");
        Ok(all)
    }
}

fn commands(target: &str, pa: &[String]) -> Result<Vec<(String, Vec<String>)>> {
    let path = Path::new(target);
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<String>>();
    let manifest = if path.is_dir() { path.join("Cargo.toml") } else { path.to_owned() };
    if manifest.file_name().is_some_and(|name| name == "Cargo.toml") && manifest.is_file() {
        let manifest = manifest.to_str().context("the path is not valid UTF-8")?;
        let command = words(&["cargo", "test", "--workspace", "--manifest-path", manifest]);
        return Ok(vec![(String::new(), command)]);
    }
    if path.is_dir() {
        let programs = programs(path)?;
        ensure!(
            !programs.is_empty(),
            "{target}: the folder has no program and no Cargo.toml\nhelp: name a folder of programs, or that of a Cargo workspace"
        );
        return programs
            .iter()
            .map(|program| Ok((program.clone(), words(&["run", "--", program]))))
            .collect();
    }
    if path.extension().is_some_and(|end| end == "rdl") {
        return Ok(vec![(target.to_owned(), words(&["lab", "run", target]))]);
    }
    if path.is_file() {
        // Only a name with a folder is not searched for in PATH.
        let program = if target.contains('/') { target.to_owned() } else { format!("./{target}") };
        return Ok(vec![(target.to_owned(), words(&["run", "--", &program]))]);
    }
    let is_function =
        target.split_once(':').is_some_and(|(module, name)| !module.is_empty() && !name.is_empty());
    ensure!(
        is_function,
        "there is no target {target}\nhelp: a target is a Cargo workspace, a folder of programs, a program or its source, \
         module:function, or a lab program"
    );
    let folders = pa.iter().flat_map(|folder| ["--pa".to_owned(), folder.clone()]);
    Ok(vec![(target.to_owned(), words(&["beam", "run", target]).into_iter().chain(folders).collect())])
}

/// Returns the programs in a folder, by name.
fn programs(folder: &Path) -> Result<Vec<String>> {
    let listed = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let is_program = |path: &PathBuf| {
        let is_elf = || {
            let mut head = [0; 4];
            let read = std::fs::File::open(path)
                .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut head));
            read.is_ok() && head == *b"\x7fELF"
        };
        let mode = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
        mode.is_some_and(|there| there.permissions().mode() & 0o111 != 0)
            && path.extension().is_none_or(|end| end != "so")
            && is_elf()
    };
    let mut programs: Vec<String> = listed
        .flatten()
        .map(|entry| entry.path())
        .filter(is_program)
        .filter_map(|path| {
            path.to_str().map(|path| if path.contains('/') { path.to_owned() } else { format!("./{path}") })
        })
        .collect();
    programs.sort();
    Ok(programs)
}

/// The limits of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Length {
    pub(super) runs: Option<u64>,
    pub(super) time: Option<Duration>,
}

/// The result of a turn.
#[derive(Debug, Default)]
pub(super) struct Ran {
    pub(super) runs: u64,
    pub(super) failures: u64,
    pub(super) threads: u64,
    pub(super) steps: u64,
    pub(super) census: Census,
    /// The reason why the build needs no further turn; empty if it does.
    pub(super) ended: &'static str,
    /// The reason why it cannot be controlled.
    pub(super) lost: Option<String>,
    pub(super) first: Option<TraceFile>,
}

/// The words for targets that need no further turn.
pub(super) const EXHAUSTED: &str = "exhausted";
pub(super) const SINGLE: &str = "single-threaded";

/// A target.
pub(super) struct Target {
    pub(super) name: String,
    /// The program of its failure files, if its path may change with each build.
    pub(super) program: Option<String>,
    pub(super) build: String,
    from: From,
}

/// The command that searches a target.
enum From {
    /// The index of the command.
    Command(usize),
    /// The indices of the suite and of its test.
    Test(usize, usize),
}

/// The searches of all targets.
pub(super) struct Targets<'a> {
    pub(super) all: Vec<Target>,
    commands: &'a mut [Command],
    suites: Vec<Suite<'a>>,
    width: usize,
}

/// Parses the commands of targets. Those of tests are returned apart.
pub(super) fn parsed(
    named: &Named,
    args: &CampaignRunArgs,
    folder: &Path,
) -> Result<(Vec<CargoTestArgs>, Vec<String>, Vec<Command>)> {
    let (mut tests, mut names, mut commands) = (Vec::new(), Vec::new(), Vec::new());
    for (name, words) in &named.commands()? {
        let mut command = parse(words).with_context(|| format!("`{}`", words.join(" ")))?;
        let mut unused = None;
        let (search, record) = match &mut command {
            Command::Run(own) => {
                // It would take a part of the time, and its races are no failures.
                if own.races == RacesArg::Report {
                    own.races = RacesArg::Off;
                }
                ensure!(
                    !own.coverage && own.baseline.is_none(),
                    "`{name}`: --coverage and --baseline cannot be part of a campaign\nhelp: remove the option"
                );
                (&mut own.search, &mut own.record)
            }
            Command::Beam { command: BeamCommand::Run(own) } => (&mut own.search, &mut own.record),
            Command::Cargo { command: CargoCommand::Test(own) } => (&mut own.search, &mut own.record),
            Command::Lab { command: LabCommand::Run(own) } => (&mut own.search, &mut unused),
            _ => bail!("`{name}` is no search\nhelp: the commands are run, beam run, lab run and cargo test"),
        };
        ensure!(
            search.part.shard.is_none(),
            "`{name}`: --shard cannot be part of a campaign\nhelp: remove the option"
        );
        *record = Some(folder.to_owned());
        prepare(search, named, args);
        match command {
            Command::Cargo { command: CargoCommand::Test(own) } => tests.push(own),
            command => {
                names.push(name.clone());
                commands.push(command);
            }
        }
    }
    Ok((tests, names, commands))
}

/// Sets the options that all turns have.
fn prepare(search: &mut SearchArgs, named: &Named, args: &CampaignRunArgs) {
    search.ci = CiArgs::default();
    // Failures are counted, and the first one of a turn is kept.
    (search.keep_going, search.until_bug) = (true, false);
    search.jobs = args.jobs.or(search.jobs);
    if search.strategy.is_empty() {
        search.strategy.extend(args.strategy.clone().or(named.strategy.clone()));
    }
    let unit = UnitArgs { window: None, minimize: true, races: false, targets: None, is_whole: true };
    search.part.unit = Some(unit);
}

impl<'a> Targets<'a> {
    /// Builds the targets.
    pub(super) fn new(
        tests: &'a [CargoTestArgs],
        names: Vec<String>,
        commands: &'a mut [Command],
        width: usize,
    ) -> Result<Targets<'a>> {
        let mut all = Vec::new();
        for (index, (name, command)) in names.into_iter().zip(&mut *commands).enumerate() {
            let build = build(command).with_context(|| name.clone())?;
            all.push(Target { name, program: None, build, from: From::Command(index) });
        }
        let mut suites = Vec::new();
        for (index, args) in tests.iter().enumerate() {
            let suite = Suite::new(args, width)?;
            for (test, (name, path)) in suite.tests().enumerate() {
                let build =
                    raddle_symbols::build(path).with_context(|| format!("cannot read {}", path.display()))?;
                let program = path.to_str().map(str::to_owned);
                all.push(Target { name, program, build, from: From::Test(index, test) });
            }
            suites.push(suite);
        }
        let mut names: Vec<&str> = all.iter().map(|target| target.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            bail!("two targets have the name {}\nhelp: name each target once", pair[0]);
        }
        ensure!(!all.is_empty(), "the campaign has no tests\nhelp: name a workspace with tests");
        Ok(Targets { all, commands, suites, width })
    }

    /// Searches a target.
    pub(super) fn turn(&mut self, index: usize, seed: u64, length: Length) -> Result<Ran> {
        match self.all[index].from {
            From::Test(suite, test) => {
                let runs = length.runs.unwrap_or(u64::MAX);
                ran(self.suites[suite].turn(test, seed, runs, length.time)?, true)
            }
            From::Command(command) => {
                let executed = execute(&mut self.commands[command], seed, length, self.width);
                match executed {
                    Ok(mut executed) => {
                        ran(executed.results.pop().context("the target has no result")?, false)
                    }
                    Err(error) => Ok(Ran { lost: Some(format!("{error:#}")), ..Ran::default() }),
                }
            }
        }
    }
}

/// Executes a command.
fn execute(command: &mut Command, seed: u64, length: Length, width: usize) -> Result<Executed> {
    let set = |search: &mut SearchArgs| {
        (search.seed, search.runs, search.time) = (Some(seed), length.runs, length.time);
    };
    match command {
        Command::Run(args) => {
            set(&mut args.search);
            native::run(args, width)
        }
        Command::Beam { command: BeamCommand::Run(args) } => {
            set(&mut args.search);
            beam::run(args, width)
        }
        Command::Lab { command: LabCommand::Run(args) } => {
            set(&mut args.search);
            args.record = None;
            lab::run(args, width)
        }
        _ => bail!("the command is no search"),
    }
}

/// Identifies the build of the target of a command. A source is compiled, once for all turns.
fn build(command: &mut Command) -> Result<String> {
    Ok(match command {
        Command::Run(args) => {
            let program = native::program(args)?;
            let build = raddle_symbols::build(&program)
                .with_context(|| format!("cannot read {}", program.display()))?;
            if Source::of(&args.program[0]).is_some() {
                args.program[0] = program.to_str().context("the path is not valid UTF-8")?.to_owned();
                args.cflags = None;
            }
            build
        }
        Command::Beam { command: BeamCommand::Run(args) } => beam::module(args),
        Command::Lab { command: LabCommand::Run(args) } => {
            let text = crate::input::read(&args.file)?;
            format!("{:016x}", raddle_model::Name::of_text(&text).0)
        }
        _ => String::new(),
    })
}

/// Returns the result of a turn. The thread of a test's harness does not count.
fn ran(result: TargetResult, is_test: bool) -> Result<Ran> {
    if result.lost.is_some() {
        return Ok(Ran { lost: result.lost, ..Ran::default() });
    }
    let runs = result.runs.context("the turn has no runs")?;
    let lanes = Lanes::of_specs(&result.strategies)?;
    let merged = raddle_search::merge(&[runs], &lanes, true)?;
    let tally = merged.tally;
    let threads = tally.threads.saturating_sub(u64::from(is_test));
    let ended = match () {
        () if tally.exhausted => EXHAUSTED,
        () if tally.runs > 0 && threads <= 1 => SINGLE,
        () => "",
    };
    Ok(Ran {
        runs: tally.runs,
        failures: tally.failures,
        threads,
        steps: tally.steps,
        census: tally.census,
        ended,
        lost: None,
        first: merged.first.map(|(_, failing)| failing.file),
    })
}
