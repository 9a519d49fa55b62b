//! Starts a program with the native runtime inside and talks to it.

use anyhow::{Context, Result, bail, ensure};
use raddle_model::native::{Answer, Order, SOCKET, Setup};
use serde::Serialize;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The runtime that the binary carries.
static LIBRARY: &[u8] = include_bytes!(env!("RADDLE_NATIVE_LIBRARY"));

/// The runtime as a file that programs can load; removed when this is dropped.
pub(crate) struct Library(PathBuf);

impl Library {
    pub(crate) fn write() -> Result<Library> {
        let name = format!("raddle-native-{}-{:016x}.so", std::process::id(), fresh());
        let path = std::env::temp_dir().join(name);
        let shown = path.display().to_string();
        ensure!(
            !shown.contains([' ', ':']),
            "{shown}: the dynamic loader takes no path with a space or colon; set TMPDIR to another directory"
        );
        let library = Library(path);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o700)
            .open(&library.0)
            .with_context(|| format!("cannot create {shown}"))?;
        file.write_all(LIBRARY).with_context(|| format!("cannot write {shown}"))?;
        Ok(library)
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // If it is gone already, all is well.
        _ = std::fs::remove_file(&self.0);
    }
}

/// A number that no other run of raddle has, for the name of a file.
fn fresh() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}

/// A program that stands before its `main` and makes runs.
pub(crate) struct Server {
    process: Child,
    stream: UnixStream,
    program: String,
}

impl Server {
    /// Starts `words[0]`, a path, with the other words as arguments.
    pub(crate) fn start(library: &Library, words: &[String], setup: &Setup) -> Result<Server> {
        let program = words[0].clone();
        let (mine, theirs) = UnixStream::pair().context("cannot make a socket")?;
        let mut command = Command::new(&program);
        let mut preload = OsString::from(&library.0);
        if let Some(theirs) = std::env::var_os("LD_PRELOAD").filter(|value| !value.is_empty()) {
            command.env("RADDLE_LD_PRELOAD", &theirs);
            preload.push(":");
            preload.push(&theirs);
        }
        command.args(&words[1..]).env("LD_PRELOAD", preload).env(SOCKET, "0");
        // The library takes the socket from the place of the standard input, and gives the program an empty one.
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null()).stderr(Stdio::inherit());
        let process = command.spawn().with_context(|| format!("cannot start {program}"))?;
        drop(command);
        let mut server = Server { process, stream: mine, program };
        match server.receive() {
            Ok(Answer::Ready) => {}
            Ok(Answer::Lost { message }) => bail!("{}: {message}", server.program),
            Ok(_) | Err(_) => bail!(
                "{}: it does not come to its `main` with raddle's runtime inside; is it linked statically, or does it end \
                 before?",
                server.program
            ),
        }
        server.send(setup)?;
        Ok(server)
    }

    /// Gives an order and waits for what comes of it.
    pub(crate) fn order(&mut self, order: &Order) -> Result<Answer> {
        self.send(order)?;
        self.receive()
    }

    fn send(&mut self, message: &impl Serialize) -> Result<()> {
        let text = serde_json::to_vec(message).context("a message cannot be written")?;
        let length = u32::try_from(text.len()).context("a message is too long")?.to_le_bytes();
        let sent = self.stream.write_all(&length).and_then(|()| self.stream.write_all(&text));
        sent.with_context(|| format!("{}: the process in which it makes its runs has ended", self.program))
    }

    fn receive(&mut self) -> Result<Answer> {
        let ended = || format!("{}: the process in which it makes its runs has ended", self.program);
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).with_context(ended)?;
        let mut text = vec![0; u32::from_le_bytes(length) as usize];
        self.stream.read_exact(&mut text).with_context(ended)?;
        serde_json::from_slice(&text).context("an answer of the native runtime cannot be read")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends when nobody can order anything any more; nothing is lost if it is ended before.
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// The program that a user means by `name`: a path, or a name to be looked for in `PATH`. Says what is wrong with one that
/// cannot be put under control.
pub(crate) fn find(name: &str) -> Result<PathBuf> {
    let path = if name.contains('/') {
        PathBuf::from(name)
    } else {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&paths).map(|folder| folder.join(name)).find(|path| path.is_file());
        found.with_context(|| {
            format!("{name}: no such program in PATH; write ./{name} for one that is here")
        })?
    };
    let path = std::fs::canonicalize(&path).with_context(|| format!("cannot find {name}"))?;
    check(&path)?;
    Ok(path)
}

/// Refuses files that are no dynamically linked programs for this machine.
fn check(path: &Path) -> Result<()> {
    const INTERPRETER: u32 = 3;
    const X86_64: u16 = 62;
    let shown = path.display();
    let file = std::fs::File::open(path).with_context(|| format!("cannot read {shown}"))?;
    let mut head = Vec::new();
    file.take(4096).read_to_end(&mut head).with_context(|| format!("cannot read {shown}"))?;
    if head.starts_with(b"#!") {
        bail!("{shown}: it is a script; name the program that it starts");
    }
    ensure!(head.len() >= 64 && head.starts_with(b"\x7fELF"), "{shown}: it is no program for Linux");
    ensure!(head[4] == 2, "{shown}: it is a 32-bit program; raddle controls 64-bit ones");
    let short = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
    ensure!(short(18) == X86_64, "{shown}: it is for another processor; raddle controls programs for x86-64");
    let table = usize::from(head[32]) | usize::from(head[33]) << 8;
    let (size, count) = (usize::from(short(54)), usize::from(short(56)));
    let dynamic = (0..count).any(|index| {
        let at = table + index * size;
        head.get(at..at + 4).is_some_and(|kind| kind == INTERPRETER.to_le_bytes())
    });
    ensure!(
        dynamic,
        "{shown}: it is linked statically, so nothing can be put under control; link it dynamically"
    );
    Ok(())
}
