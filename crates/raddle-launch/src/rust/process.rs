//! The test binary of a failing run, started to execute runs on request.

use crate::patience::{self, read_all, read_while, set_ticking};
use crate::server::Server;
use crate::temporary::Temporary;
use anyhow::{Context, Result, bail, ensure};
use raddle_model::TraceFile;
use raddle_model::native::{Answer, Order, framed, unframed};
use raddle_search::Deadline;
use std::io::{BufReader, ErrorKind, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The interval at which the test is polled.
const MOMENT: Duration = Duration::from_millis(5);

/// The time limit for reaching the check that recorded the run.
const PATIENCE: Duration = Duration::from_secs(60);

/// The time limit of one run.
const LONGEST_RUN: Duration = Duration::from_secs(600);

/// A test binary that executes runs.
pub(super) struct Process {
    child: Child,
    stream: BufReader<UnixStream>,
    /// Removed on drop: the failure file as the test reads it, and the folder of the socket.
    _files: (Temporary, tempfile::TempDir),
}

impl Process {
    /// Starts the test that recorded `file`, called `shown` in messages.
    pub(super) fn start(file: &TraceFile, shown: &str) -> Result<Process> {
        let executable = executable(file, shown)?;
        let recorded = Temporary::write("failure.json", file.to_json().as_bytes())?;
        let folder = tempfile::tempdir().context("cannot make a folder for a socket")?;
        let socket = folder.path().join("socket");
        let listener = UnixListener::bind(&socket).context("cannot make a socket")?;
        listener.set_nonblocking(true).context("cannot make a socket")?;
        let mut command = Command::new(executable);
        match test_name(file) {
            Some(test) => {
                command.args([test, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"])
            }
            None => command.args(&file.arguments),
        };
        if let Some(directory) = &file.environment.directory {
            ensure!(
                Path::new(directory).is_dir(),
                "{shown}: {directory}, where the test ran, is no directory"
            );
            command.current_dir(directory);
        }
        command.env("RADDLE_REPLAY", recorded.path()).env("RADDLE_SERVE", &socket);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // Ctrl-C is meant for this process, which ends the test itself.
        command.process_group(0);
        let mut child = command.spawn().with_context(|| format!("cannot start {executable}"))?;
        let deadline = Deadline::new(Some(PATIENCE));
        let stream = loop {
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error).context("cannot talk to the test"),
            }
            let ended = child.try_wait().context("cannot wait for the test")?;
            if ended.is_none() && !deadline.is_over() {
                std::thread::sleep(MOMENT);
                continue;
            }
            // It may have ended just now.
            _ = child.kill();
            _ = child.wait();
            let what = ended.map_or_else(
                || format!("has run for {} s", PATIENCE.as_secs()),
                |status| format!("has ended ({status})"),
            );
            bail!(
                "{shown}: `{}` in {executable} {what} without coming to the check that recorded the run; it was renamed or changed, or \
                 built without the feature `check` of raddle\nhelp: run the test again to find the failure anew",
                file.program
            );
        };
        stream.set_nonblocking(false).context("cannot talk to the test")?;
        set_ticking(&stream).context("cannot talk to the test")?;
        let mut process = Process { child, stream: BufReader::new(stream), _files: (recorded, folder) };
        match process.receive()? {
            Answer::Ready { .. } => Ok(process),
            _ => bail!("{shown}: the test has answered another question"),
        }
    }
}

/// Returns the binary of the test, if it still exists.
fn executable<'a>(file: &'a TraceFile, shown: &str) -> Result<&'a str> {
    let Some(executable) = &file.environment.executable else {
        bail!("{shown}: the file does not name the test binary; {}", by_hand(file, shown));
    };
    ensure!(
        Path::new(executable).is_file(),
        "{shown}: the test binary {executable} is not there any more; {}",
        by_hand(file, shown)
    );
    Ok(executable)
}

/// Returns the name of the test, without the number of the check; `None` if it was not a test of a harness.
fn test_name(file: &TraceFile) -> Option<&str> {
    let name = match file.program.rsplit_once('#') {
        Some((test, number)) if number.parse::<u64>().is_ok() => test,
        _ => &file.program[..],
    };
    (name != "main").then_some(name)
}

/// Returns instructions for replaying the run after rebuilding the test.
fn by_hand(file: &TraceFile, shown: &str) -> String {
    let quote =
        |word: &str| shlex::try_quote(word).map_or_else(|_| word.to_owned(), |word| word.into_owned());
    let Some(test) = test_name(file) else {
        return "build the program again, and give it the same file by RADDLE_REPLAY".to_owned();
    };
    let path =
        std::path::absolute(shown).map_or_else(|_| shown.to_owned(), |path| path.display().to_string());
    let (path, test) = (quote(&path), quote(test));
    format!(
        "this builds it again and repeats the run: RADDLE_REPLAY={path} cargo test {test} -- --exact --include-ignored"
    )
}

impl Server for Process {
    fn send(&mut self, orders: &[Order]) -> Result<()> {
        for order in orders {
            let bytes = framed(order).context("an order is too long")?;
            self.stream.get_mut().write_all(&bytes).context("the test has ended")?;
        }
        Ok(())
    }

    fn wait(&mut self, is_over: &dyn Fn() -> bool) -> bool {
        patience::wait(&mut self.stream, is_over)
    }

    fn receive(&mut self) -> Result<Answer> {
        let deadline = Deadline::new(Some(LONGEST_RUN));
        let mut length = [0; 4];
        read_while(&mut self.stream, &mut length, &|| !deadline.is_over())
            .context("the test has ended, or a run of it does not end")?;
        let mut text = vec![0; u32::from_le_bytes(length) as usize];
        read_all(&mut self.stream, &mut text).context("the test has ended")?;
        unframed(&text).context("an answer of the test cannot be read")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It exits when the connection is closed; killing it before loses nothing.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
