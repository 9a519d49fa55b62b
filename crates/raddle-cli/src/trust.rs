//! Trust in failure files. A file names a program, and replaying a run starts that program.
//!
//! A file that this user's Raddle has signed starts only programs that the user has started before; see
//! `raddle_search::is_signed`. Any other file starts nothing without `--trust`: its arguments, variables and
//! paths may be hostile even if the program is the user's own.

use crate::args::OpenArgs;
use crate::input::{failure, shown};
use crate::terminal::printable;
use anyhow::{Result, bail};
use raddle_launch::beam;
use raddle_model::{Environment, FrontEnd, TraceFile};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// Reads a failure file whose program is going to run. Refuses a foreign file unless the user trusts it, and prints
/// what is going to run.
pub(crate) fn recorded(path: &str, open: &OpenArgs) -> Result<TraceFile> {
    let (file, shown) = (failure(path)?, shown(path));
    admit(&file, shown, open.trust)?;
    let file = beam::moved(file, &open.pa, shown)?;
    announce(&file);
    Ok(file)
}

/// Returns true if the file starts nothing that this user has not started before.
pub(crate) fn is_own(file: &TraceFile) -> bool {
    file.front_end == FrontEnd::Lab || raddle_search::is_signed(file)
}

/// Rejects `file`, called `shown` in messages, if it is foreign and the user has not passed `--trust`.
fn admit(file: &TraceFile, shown: &str, trusts: bool) -> Result<()> {
    if trusts || is_own(file) {
        return Ok(());
    }
    bail!(
        "{shown}: this file was not recorded by you on this machine, and would run a program\n{}help: if you trust this command, \
         add --trust",
        command(file)
    )
}

/// Prints on standard error what is about to run, in full if the file is foreign.
fn announce(file: &TraceFile) {
    if file.front_end == FrontEnd::Lab {
        return;
    }
    let text = if is_own(file) { line("Running", &words(file)) } else { command(file) };
    // A closed standard error is not an error.
    _ = std::io::stderr().lock().write_all(printable(&text).as_bytes());
}

/// Returns the command that a replay of `file` starts, and its environment.
fn command(file: &TraceFile) -> String {
    let mut out = line("runs", &words(file));
    if let Some(what) = build(file) {
        out += &line("program", what);
    }
    let Environment { directory, environment, name, .. } = &file.environment;
    if let Some(name) = name {
        out += &line("as", &quoted(name));
    }
    if let Some(directory) = directory {
        out += &line("in", directory);
    }
    for (name, value) in environment {
        out += &line("with", &quoted(&format!("{name}={value}")));
    }
    out
}

fn line(label: &str, text: &str) -> String {
    format!("{label:>12} {}\n", printable(text).replace('\n', "\\n"))
}

/// Returns the command in shell syntax.
fn words(file: &TraceFile) -> String {
    let mut out = match file.front_end {
        FrontEnd::Beam => format!("erl, the function {}", quoted(&file.program)),
        FrontEnd::Rust => {
            let executable = file.environment.executable.as_deref().unwrap_or("a test binary without a name");
            format!("{} {}", quoted(executable), quoted(&file.program))
        }
        FrontEnd::Native | FrontEnd::Lab => quoted(&file.program),
    };
    for word in &file.arguments {
        let _ = write!(out, " {}", quoted(word));
    }
    out
}

fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| format!("{word:?}"), |word| word.into_owned())
}

/// Compares the recorded build with the current program.
fn build(file: &TraceFile) -> Option<&'static str> {
    if file.front_end != FrontEnd::Native {
        return None;
    }
    let now = raddle_symbols::build(Path::new(&file.program)).ok();
    Some(match (now, &file.build) {
        (None, _) => "is not on this machine",
        (Some(now), Some(then)) if now == *then => "is the build that the file was recorded with",
        (Some(_), Some(_)) => "is another build than the file was recorded with",
        (Some(_), None) => "may be another build: the file does not name one",
    })
}
