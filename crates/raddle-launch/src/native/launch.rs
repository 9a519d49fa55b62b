//! Starts a program with the native runtime and communicates with it.

use crate::patience::{self, read_all, set_ticking};
use crate::server::{self, NotControllable};
use crate::temporary::Temporary;
use anyhow::{Context, Result, anyhow, bail, ensure};
use raddle_model::Environment;
use raddle_model::native::{Answer, Order, SOCKET, Setup, Threads};
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::io::{BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The runtime in the binary.
static LIBRARY: &[u8] = include_bytes!(env!("RADDLE_NATIVE_LIBRARY"));

/// Writes the runtime to a file that programs can load.
pub(super) fn library() -> Result<Temporary> {
    let shown = std::env::temp_dir().display().to_string();
    ensure!(
        !shown.contains([' ', ':']),
        "{shown}: the dynamic loader takes no path with a space or colon; set TMPDIR to another directory"
    );
    Temporary::write("native.so", LIBRARY)
}

/// Returns the value of LD_PRELOAD for a program, and the original value, if any.
pub(super) fn preload(library: &OsStr) -> (OsString, Option<OsString>) {
    let mut preload = library.to_owned();
    let theirs = std::env::var_os("LD_PRELOAD").filter(|value| !value.is_empty());
    if let Some(theirs) = &theirs {
        preload.push(":");
        preload.push(theirs);
    }
    (preload, theirs)
}

/// Makes a command start its program in `environment`.
pub(super) fn surround(command: &mut Command, environment: &Environment) -> Result<()> {
    if let Some(directory) = &environment.directory {
        ensure!(
            Path::new(directory).is_dir(),
            "{directory}: the program is to be started there, and it is no directory"
        );
        command.current_dir(directory);
    }
    command.envs(environment.environment.iter().map(|(name, value)| (name, value)));
    Ok(())
}

/// Sends messages.
pub(super) fn send(mut stream: &UnixStream, messages: &[impl Serialize]) -> Result<()> {
    let mut bytes = Vec::new();
    for message in messages {
        let text = serde_json::to_vec(message).context("a message cannot be written")?;
        bytes.extend(u32::try_from(text.len()).context("a message is too long")?.to_le_bytes());
        bytes.extend(text);
    }
    stream.write_all(&bytes).context("the server has ended")
}

/// Waits for an answer.
pub(super) fn receive(stream: &mut impl Read) -> Result<Answer> {
    let mut length = [0; 4];
    read_all(stream, &mut length).context("the server has ended")?;
    let mut text = vec![0; u32::from_le_bytes(length) as usize];
    read_all(stream, &mut text).context("the server has ended")?;
    serde_json::from_slice(&text).context("an answer of the native runtime cannot be read")
}

/// The exit status of the dynamic loader if it cannot load a dependency.
const LOADER_FAILED: i32 = 127;
const SIGKILL: i32 = 9;

/// A program that is stopped before its `main` and executes runs.
pub struct Server {
    process: Child,
    stream: BufReader<UnixStream>,
    program: String,
    /// True if the machine supports fibers; if not, threads are OS threads in any case.
    pub(crate) fibers: bool,
}

impl Server {
    /// Starts `words[0]`, a path, with the other words as arguments.
    pub(crate) fn start(
        library: &Temporary,
        words: &[String],
        environment: &Environment,
        setup: &Setup,
    ) -> Result<Server> {
        let program = words[0].clone();
        let (mine, theirs) = UnixStream::pair().context("cannot make a socket")?;
        set_ticking(&mine).context("cannot make a socket")?;
        let mut command = Command::new(&program);
        surround(&mut command, environment)?;
        // Ctrl-C is meant for the search, which ends its processes itself.
        command.process_group(0);
        let (preload, theirs_before) = preload(library.path().as_os_str());
        if let Some(theirs) = theirs_before {
            command.env("RADDLE_LD_PRELOAD", theirs);
        }
        if let Some(name) = &environment.name {
            command.arg0(name);
        }
        command.args(&words[1..]).env("LD_PRELOAD", preload).env(SOCKET, "0");
        // The library takes the socket from the standard input, and gives the program an empty one.
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null()).stderr(Stdio::inherit());
        let process = command.spawn().map_err(|error| {
            let limit = error.kind() == std::io::ErrorKind::WouldBlock;
            let hint = if limit {
                "; `ulimit -u` may be too low for another process, or --jobs too high"
            } else {
                ""
            };
            anyhow!("cannot start {program}: {error}{hint}")
        })?;
        drop(command);
        let mut server = Server { process, stream: BufReader::new(mine), program, fibers: true };
        match server::Server::receive(&mut server) {
            Ok(Answer::Ready { fibers }) => server.fibers = fibers,
            Ok(Answer::Refused { message }) => bail!("{}: {message}", server.program),
            Ok(Answer::Lost { message }) => {
                return Err(anyhow::Error::new(NotControllable(message)).context(server.program.clone()));
            }
            Ok(_) | Err(_) => {
                let why = server.why_not_ready();
                return Err(anyhow::Error::new(NotControllable(why)).context(server.program.clone()));
            }
        }
        let threads = if server.fibers { setup.threads } else { Threads::Os };
        server.tell(&[Setup { threads, ..setup.clone() }])?;
        Ok(server)
    }

    /// Returns the reason why the program has not reached its `main`, by the end of its process.
    fn why_not_ready(&mut self) -> String {
        // No effect if it has ended, and then the status is its own.
        _ = self.process.kill();
        let status = self.process.wait().ok();
        match status.map(|status| (status.code(), status.signal())) {
            Some((Some(LOADER_FAILED), _)) => {
                "the dynamic loader cannot start it, as it says above\nhelp: install the library that it names, or set LD_LIBRARY_PATH \
                 to its folder; `ldd` lists all that are needed"
                    .to_owned()
            }
            Some((Some(code), _)) => format!("it ends with status {code} before it reaches `main`"),
            Some((_, Some(signal))) if signal != SIGKILL => {
                format!("it is ended by signal {signal} before it reaches `main`")
            }
            _ => "it does not come to its `main` with raddle's runtime inside".to_owned(),
        }
    }

    /// Returns the signal that ended the process, which closes its files shortly before it can be waited for.
    fn signal(&mut self) -> Option<i32> {
        const TURNS: u32 = 50;
        const TURN: Duration = Duration::from_millis(10);
        for _ in 0..TURNS {
            match self.process.try_wait() {
                Ok(None) => std::thread::sleep(TURN),
                Ok(Some(status)) => return status.signal(),
                Err(_) => return None,
            }
        }
        None
    }

    fn tell(&mut self, messages: &[impl Serialize]) -> Result<()> {
        send(self.stream.get_ref(), messages).map_err(|error| self.ended(&error))
    }

    /// Returns the error for a process that has ended: the program or the system may have killed it.
    fn ended(&mut self, error: &anyhow::Error) -> anyhow::Error {
        let message = match self.signal() {
            Some(SIGKILL) => "the process that makes its runs was killed (SIGKILL); the system does that when memory runs out, and it is \
                 not a failure of the program\nhelp: use fewer --jobs, or provide more memory"
                .to_owned(),
            Some(signal) => format!("the process that makes its runs was ended by signal {signal}"),
            None => format!("the process that makes its runs has ended: {error:#}"),
        };
        anyhow::Error::new(NotControllable(message)).context(self.program.clone())
    }
}

impl server::Server for Server {
    const ESTIMATES: bool = true;

    fn send(&mut self, orders: &[Order]) -> Result<()> {
        self.tell(orders)
    }

    fn wait(&mut self, is_over: &dyn Fn() -> bool) -> bool {
        patience::wait(&mut self.stream, is_over)
    }

    fn receive(&mut self) -> Result<Answer> {
        let answer = receive(&mut self.stream).map_err(|error| self.ended(&error))?;
        Ok(match answer {
            Answer::Lost { message } => Answer::Lost { message: with_lines(&message) },
            other => other,
        })
    }
}

/// Returns a message of the runtime with source lines instead of addresses in modules, where known.
fn with_lines(message: &str) -> String {
    let mut symbols = raddle_symbols::Symbols::new();
    let named = message.split(' ').map(|word| {
        let address = word.trim_end_matches([':', ',', ';']);
        if !address.starts_with('/') || !address.contains("+0x") {
            return word.to_owned();
        }
        let mut places = [address.to_owned()];
        raddle_symbols::runs::locate(&mut symbols, &mut places);
        format!("{}{}", places[0], &word[address.len()..])
    });
    named.collect::<Vec<_>>().join(" ")
}

impl Drop for Server {
    fn drop(&mut self) {
        // It exits when the connection is closed; killing it before loses nothing.
        _ = self.process.kill();
        _ = self.process.wait();
    }
}
