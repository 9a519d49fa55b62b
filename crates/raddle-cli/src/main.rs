//! The command line of Raddle. Thin: it reads arguments and files, starts the work, and prints what comes back.

mod args;
mod beam;
mod bench;
mod cargo;
mod cc;
mod coverage;
mod explain;
mod lab_bound;
mod lab_micro;
mod lab_run;
mod minimize;
mod native;
mod progress;
mod replay;
mod report;
mod strategies;

use args::{BeamCommand, Cli, Command, LabCommand};
use clap::Parser;
use raddle_model::{EXIT_BUG_FOUND, EXIT_USAGE};
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// What a command has to say, and the exit status.
struct Outcome {
    text: String,
    status: u8,
}

/// Where text goes if it is not wrapped to a terminal.
const PLAIN_WIDTH: usize = 100;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let width = width();
    let outcome = match &cli.command {
        Command::Run(args) => native::run(args, width),
        Command::Strategies(args) => strategies::run(args, width),
        Command::Lab { command: LabCommand::Run(args) } => lab_run::run(args, width),
        Command::Lab { command: LabCommand::Micro(args) } => lab_micro::run(args, width),
        Command::Lab { command: LabCommand::Bound(args) } => lab_bound::run(args, width),
        Command::Replay(args) => replay::run(args, width),
        Command::Beam { command: BeamCommand::Run(args) } => beam::run(args, width),
        Command::Bench(args) => bench::run(args),
        Command::Coverage(args) => coverage::run(args, width),
        Command::Minimize(args) => minimize::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Report(args) => report::run(args, width),
        Command::Cargo { command } => cargo::run(command, width),
        Command::Cc { args } => cc::run(cc::Language::C, args),
        Command::Cpp { args } => cc::run(cc::Language::Cpp, args),
    };
    let (error, status) = match outcome {
        Ok(outcome) => match emit(&outcome.text) {
            Ok(()) => return ExitCode::from(outcome.status),
            // That a bug was found is not lost with the text about it.
            Err(error) if outcome.status == EXIT_BUG_FOUND => (error, EXIT_BUG_FOUND),
            Err(error) => (error, EXIT_USAGE),
        },
        Err(error) => (error, EXIT_USAGE),
    };
    // There is nobody left to tell if this fails.
    let _ = writeln!(std::io::stderr().lock(), "error: {error:#}");
    ExitCode::from(status)
}

/// Prints a text. That nobody reads it to the end is no error.
pub(crate) fn emit(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context("cannot write to standard output"))
        }
        _ => Ok(()),
    }
}

fn width() -> usize {
    let terminal = console::Term::stdout();
    let size = if terminal.is_term() { terminal.size_checked() } else { None };
    size.map_or(PLAIN_WIDTH, |(_, columns)| usize::from(columns).max(40))
}
