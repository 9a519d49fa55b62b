//! The command line of Raddle. Thin: it reads arguments and files, starts the work, and prints the results.

mod args;
mod beam;
mod bench;
mod campaign;
mod cargo;
mod ci;
mod coverage;
mod doctor;
mod explain;
mod fleet;
mod input;
mod interrupt;
mod lab;
mod merge;
mod minimize;
mod native;
mod notes;
mod outcome;
mod progress;
mod replay;
mod report;
mod result;
mod shell;
mod show;
mod strategies;
mod suite;
mod terminal;
mod trust;
mod tx;
mod worker;

use args::{BeamCommand, Cli, Command, LabCommand};
use clap::Parser;
use clap::error::ContextKind;
use interrupt::{Interrupted, interrupted};
use outcome::{Outcome, emit, width};
use raddle_model::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, EXIT_USAGE};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use terminal::printable;

fn main() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|mut error| {
        // What follows `--` is a program, which an unknown option is not meant to be.
        if std::env::args_os().nth(1).is_none_or(|word| word != "cargo") {
            error.remove(ContextKind::Suggested);
        }
        error.exit()
    });
    let width = width();
    // A compiler or `raddle-fleet` replaces this process, and gdb has its own way with Ctrl-C.
    let listens = !matches!(&cli.command, Command::Cc { .. } | Command::Cpp { .. } | Command::Fleet { .. })
        && !matches!(&cli.command, Command::Replay(args) if args.gdb);
    if listens && let Err(error) = interrupt::listen() {
        return fail(&error, EXIT_USAGE);
    }
    let outcome =
        match &cli.command {
            Command::Run(args) => native::run(args, width)
                .and_then(|executed| executed.finish(&args.search.part, args.search.json)),
            Command::Strategies(args) => strategies::run(args, width),
            Command::Lab { command: LabCommand::Run(args) } => lab::run(args, width)
                .and_then(|executed| executed.finish(&args.search.part, args.search.json)),
            Command::Lab { command: LabCommand::Micro(args) } => lab::micro(args, width),
            Command::Lab { command: LabCommand::Litmus(args) } => lab::litmus(args),
            Command::Lab { command: LabCommand::Bound(args) } => lab::bound(args, width),
            Command::Lab { command: LabCommand::Stride(args) } => lab::stride(args),
            Command::Worker => worker::run(),
            Command::Fleet { args } => fleet::run(args),
            Command::Merge(args) => merge::run(args, width),
            Command::Campaign { command } => campaign::run(command, width),
            Command::Replay(args) => replay::run(args, width),
            Command::Beam { command: BeamCommand::Run(args) } => beam::run(args, width)
                .and_then(|executed| executed.finish(&args.search.part, args.search.json)),
            Command::Bench(args) => bench::run(args),
            Command::Tx { command } => tx::run(command, width),
            Command::Coverage(args) => coverage::run(args, width),
            Command::Minimize(args) => minimize::run(args),
            Command::Explain(args) => explain::run(args),
            Command::Report(args) => report::run(args, width),
            Command::Cargo { command } => cargo::run(command, width),
            Command::Doctor(args) => doctor::run(args),
            Command::Completions(args) => shell::completions(args),
            Command::Man(args) => shell::man(args),
            Command::Cc { args } => cc(raddle_cc::Language::C, args),
            Command::Cpp { args } => cc(raddle_cc::Language::Cpp, args),
        };
    let interrupted = interrupted();
    let status = |status: u8| interrupted.as_ref().map_or(status, |interrupted| interrupted.status);
    match outcome {
        Ok(outcome) => {
            if let Some(Interrupted { name, .. }) = &interrupted {
                let _ = writeln!(std::io::stderr().lock(), "interrupted by {name}: not all runs were made");
            }
            match emit(&outcome.text) {
                Ok(()) => ExitCode::from(status(outcome.status)),
                // A found bug is not lost if the report cannot be written.
                Err(error) if outcome.status == EXIT_BUG_FOUND => fail(&error, status(EXIT_BUG_FOUND)),
                Err(error) => fail(&error, status(EXIT_USAGE)),
            }
        }
        Err(error) => match &interrupted {
            // What failed then did so because it was ended.
            Some(Interrupted { name, status }) => fail(&anyhow::anyhow!("interrupted by {name}"), *status),
            None => fail(&error, EXIT_USAGE),
        },
    }
}

/// Prints an error and returns the exit status.
fn fail(error: &anyhow::Error, status: u8) -> ExitCode {
    // A failure to write to standard error cannot be reported.
    let _ = writeln!(std::io::stderr().lock(), "{}", printable(&message(error)));
    ExitCode::from(status)
}

/// Returns the message for an error.
fn message(error: &anyhow::Error) -> String {
    format!("error: {}", outcome::described(error))
}

/// Replaces this process by the compiler, or prints its help.
fn cc(language: raddle_cc::Language, args: &[OsString]) -> anyhow::Result<Outcome> {
    if let Some(outcome) = tx::compile(language, args) {
        return outcome;
    }
    let text = raddle_cc::run(language, args)?;
    Ok(Outcome { text, status: EXIT_NOTHING_FOUND })
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    #[test]
    fn the_remedy_comes_after_all_causes() {
        let error = Err::<(), _>(anyhow::anyhow!("No space left"))
            .context("cannot write it\nhelp: use another folder");
        let text = super::message(&error.expect_err("it is one"));
        assert_eq!(text, "error: cannot write it: No space left\nhelp: use another folder");
    }
}
