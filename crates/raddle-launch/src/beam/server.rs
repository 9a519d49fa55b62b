//! An Erlang VM with the application, which executes runs.

use super::application;
use crate::patience::{self, read_all, set_ticking};
use crate::server::Server;
use crate::temporary::Temporary;
use anyhow::{Context, Result, bail, ensure};
use raddle_model::native::{Answer, Order, Points, Setup};
use raddle_model::{FrontEnd, Settings, TraceFile};
use serde::Serialize;
use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// The maximum length of an answer. Text instead of a length looks longer.
const LONGEST: u32 = 1 << 29;

/// A function, the folders of its modules, and so on: `--pa DIR`, `--node NAME`, `--allow NAME`,
/// `--virtual-time MILLISECONDS`, `--fail-on WHAT` and `--faults SPEC`, as often as needed.
#[derive(Clone, Debug)]
pub struct Program {
    /// The function, as `module:function`.
    pub test: String,
    /// The folders of its modules, and so on.
    pub places: Vec<String>,
}

impl Program {
    /// Returns the program of the run in `file`, called `shown` in messages.
    pub fn of(file: &TraceFile, shown: &str) -> Result<Program> {
        ensure!(
            !file.program.is_empty(),
            "{shown}: the test was a function expression; replay it in its module by raddle:replay(File, #{{test => Fun}})"
        );
        Ok(Program { test: file.program.clone(), places: file.arguments.clone() })
    }
}

/// Returns the run of `file`, called `shown` in messages, with its modules in `directories` if there are any.
pub fn moved(mut file: TraceFile, directories: &[PathBuf], shown: &str) -> Result<TraceFile> {
    if directories.is_empty() {
        return Ok(file);
    }
    ensure!(
        file.front_end == FrontEnd::Beam,
        "{shown}: --pa is for runs of Erlang programs, and this is none\nhelp: leave it out"
    );
    let mut places = Vec::new();
    for pair in file.arguments.chunks(2).filter(|pair| pair[0] != "--pa") {
        places.extend_from_slice(pair);
    }
    for directory in directories {
        places.extend(["--pa".to_owned(), whole(directory)?]);
    }
    file.arguments = places;
    Ok(file)
}

/// Returns the absolute path of a directory: a replay may run elsewhere.
pub fn whole(directory: &Path) -> Result<String> {
    let path = std::fs::canonicalize(directory).with_context(|| {
        format!("cannot find the directory {}\nhelp: check the path", directory.display())
    })?;
    let text = path.to_str().with_context(|| format!("{}: the path is not valid UTF-8", path.display()))?;
    Ok(text.to_owned())
}

/// Returns the strategy of the run of `file`. A replay must know it: under a search a program has additional
/// operations.
pub(super) fn under(file: &TraceFile) -> Vec<String> {
    Some(&file.strategy).filter(|spec| !spec.is_empty()).cloned().into_iter().collect()
}

/// Returns the setup for runs with these settings; none may take longer than `patience_ms` without an
/// operation.
pub fn setup(strategies: Vec<String>, seed: u64, settings: Settings, patience_ms: u64) -> Setup {
    Setup { points: Points::All, ..Setup::new(strategies, seed, settings, patience_ms) }
}

/// A VM that waits for requests.
pub struct Vm {
    process: Child,
    stream: BufReader<UnixStream>,
    /// The VM's own messages, in case of an error.
    said: Temporary,
}

impl Vm {
    /// Starts a VM for runs of `program`.
    pub fn start(program: &Program, setup: &Setup) -> Result<Vm> {
        let application = application::find()?;
        let (mine, theirs) = UnixStream::pair().context("cannot make a socket")?;
        set_ticking(&mine).context("cannot make a socket")?;
        let said = Temporary::write("beam.txt", b"")?;
        let words = || std::fs::OpenOptions::new().append(true).open(said.path()).map(Stdio::from);
        let process = application::otp("erl")
            // Busy waiting of schedulers is off: one of them executes all runs.
            .args(["+Bd", "+sbwt", "none", "+sbwtdcpu", "none", "+sbwtdio", "none"])
            .args(["-noinput", "-kernel", "logger_level", "none", "-pa"])
            .arg(application.join("ebin"))
            .args(["-s", "raddle_main", "main", "-extra", &program.test])
            .args(&program.places)
            // Ctrl-C is meant for the search, which ends its VMs itself.
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(words()?)
            .stderr(words()?)
            .spawn()
            .with_context(|| format!("cannot start the Erlang VM for {}", program.test))
            .map_err(|error| match error.downcast_ref::<std::io::Error>().map(std::io::Error::kind) {
                Some(ErrorKind::NotFound) => anyhow::anyhow!(application::NO_ERLANG),
                _ => error,
            })?;
        let mut vm = Vm { process, stream: BufReader::new(mine), said };
        match vm.receive()? {
            Answer::Ready { .. } => vm.tell(std::slice::from_ref(setup))?,
            Answer::Lost { message } | Answer::Refused { message } => bail!("{message}"),
            _ => bail!("the Erlang VM has answered another question"),
        }
        Ok(vm)
    }

    fn tell(&mut self, messages: &[impl Serialize]) -> Result<()> {
        let mut bytes = Vec::new();
        for message in messages {
            let text = serde_json::to_vec(message).context("a message cannot be written")?;
            bytes.extend(u32::try_from(text.len()).context("a message is too long")?.to_be_bytes());
            bytes.extend(text);
        }
        self.stream.get_mut().write_all(&bytes).with_context(|| self.ended())
    }

    fn ended(&self) -> String {
        let said = std::fs::read_to_string(self.said.path()).unwrap_or_default();
        let said: String = said.trim().chars().take(2_000).collect();
        let gap = if said.is_empty() { "" } else { ": " };
        format!("the Erlang VM has ended without an answer{gap}{said}")
    }
}

impl Server for Vm {
    fn send(&mut self, orders: &[Order]) -> Result<()> {
        self.tell(orders)
    }

    fn wait(&mut self, is_over: &dyn Fn() -> bool) -> bool {
        patience::wait(&mut self.stream, is_over)
    }

    fn receive(&mut self) -> Result<Answer> {
        let heard = hear(&mut self.stream).with_context(|| self.ended())?;
        let text = heard.inspect_err(|_| {
            // The beginning of the next answer is unknown.
            _ = self.stream.get_ref().shutdown(Shutdown::Both);
        });
        let text = text.map_err(|TooLong(length)| {
            anyhow::anyhow!(
                "an answer of the Erlang VM has {length} bytes, and the limit is {LONGEST}: the run has too many steps\nhelp: \
                 lower --step-limit"
            )
        })?;
        serde_json::from_slice(&text).context("an answer of the Erlang VM cannot be read")
    }
}

/// The length of an answer that is too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct TooLong(u32);

/// Returns the next answer. An error if there is none.
fn hear(stream: &mut impl Read) -> std::io::Result<Result<Vec<u8>, TooLong>> {
    let mut length = [0; 4];
    read_all(stream, &mut length)?;
    let length = u32::from_be_bytes(length);
    if length > LONGEST {
        return Ok(Err(TooLong(length)));
    }
    let mut text = vec![0; length as usize];
    read_all(stream, &mut text)?;
    Ok(Ok(text))
}

impl Drop for Vm {
    fn drop(&mut self) {
        // It exits when the connection is closed; killing it before loses nothing.
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_too_long_is_not_taken_for_an_end() {
        let answer = |bytes: &[u8]| hear(&mut &*bytes).ok();
        assert_eq!(answer(b"\0\0\0\x02ok"), Some(Ok(b"ok".to_vec())));
        assert_eq!(answer(&(LONGEST + 1).to_be_bytes()), Some(Err(TooLong(LONGEST + 1))));
        // The output of a VM that does not start is not a length.
        assert!(answer(b" {\"init").is_some_and(|heard| heard.is_err()));
        assert_eq!(answer(b"\0\0\0\x02o"), None);
    }
}
