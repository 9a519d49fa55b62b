//! `raddle replay --gdb`: the recorded run under gdb.
//!
//! gdb starts the program, which becomes the fork server as usual, and follows it into the child that
//! executes the run. gdb passes the socket to the program as a file with another number, because gdb needs
//! the standard input.

use super::launch::{self, preload, receive, send, surround};
use crate::temporary::Temporary;
use anyhow::{Context, Result, anyhow, bail, ensure};
use raddle_model::Environment;
use raddle_model::native::{Answer, Order, RunResult, SOCKET, Setup, Threads};
use std::ffi::OsStr;
use std::fmt::Write;
use std::io::IsTerminal;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::slice::from_ref;

/// The shell moves the socket from the standard input to the number that the program expects. On a terminal
/// gdb becomes a job of the shell, so that Ctrl-C reaches gdb and not this process.
const AT_TERMINAL: &str = "exec 7<&0 </dev/tty; set -m; gdb \"$@\"";
const IN_BATCH: &str = "exec 7<&0 </dev/null; exec gdb \"$@\"";
const NUMBER: &str = "7";

/// Continues the run to its end after the user's last command.
const GO_ON: &str = "delete\nwhile $_thread != 0\n  continue\nend\n";

/// Executes the run of `order` under gdb, with additional arguments for gdb. Returns when gdb has ended.
pub(super) fn replay(
    words: &[String],
    environment: &Environment,
    setup: &Setup,
    order: &Order,
    more: &[String],
) -> Result<Box<RunResult>> {
    let there = Command::new("gdb").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    there.context("cannot start gdb; is it installed?")?;
    let library = launch::library()?;
    let begin = Temporary::write("begin.gdb", commands(library.path().as_os_str(), &words[1..])?.as_bytes())?;
    let end = Temporary::write("end.gdb", GO_ON.as_bytes())?;
    let interactive = std::io::stdin().is_terminal();

    let (mine, theirs) = UnixStream::pair().context("cannot make a socket")?;
    let mut shell = Command::new("sh");
    surround(&mut shell, environment)?;
    shell.arg("-c").arg(if interactive { AT_TERMINAL } else { IN_BATCH }).args(["sh", "-q"]);
    if !interactive {
        shell.arg("-batch");
    }
    shell.arg("-x").arg(begin.path()).args(more);
    if !interactive {
        shell.arg("-x").arg(end.path());
    }
    shell.arg(&words[0]).env("SHELL", "/bin/sh").stdin(Stdio::from(OwnedFd::from(theirs)));
    let mut gdb = shell.spawn().context("cannot start a shell for gdb")?;
    drop(shell);
    // Every thread is one for gdb too. The time of a debugging session is unlimited.
    let setup = Setup { threads: Threads::Os, patience_ms: u64::MAX, ..setup.clone() };
    let last = std::thread::scope(|scope| {
        let talk = scope.spawn(|| talk(&mine, &setup, order));
        let ended = gdb.wait();
        // A server that waits for requests exits now.
        _ = mine.shutdown(Shutdown::Write);
        let last = talk.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload));
        ended.map(|_| last)
    });
    match last.context("gdb was not waited for")? {
        Some(Ok(ran)) => Ok(ran),
        Some(Err(message)) => Err(anyhow!("the run did not come to its end under gdb: {message}")),
        None => bail!("gdb has ended before the run did"),
    }
}

/// Returns gdb's first commands: it continues to the `main` of the run. It does the same at every `run`,
/// because for gdb the child is another program with its own arguments.
fn commands(library: &OsStr, arguments: &[String]) -> Result<String> {
    let (preload, theirs) = preload(library);
    // The shell with which gdb starts the program must not become the program.
    let mut wrapper = format!("env -u LINES -u COLUMNS {SOCKET}={NUMBER}");
    let mut set = |name: &str, value: &OsStr| {
        let value = value.to_str().with_context(|| format!("{name} is not valid UTF-8"))?;
        let _ = write!(wrapper, " {name}={}", quoted(value)?);
        anyhow::Ok(())
    };
    set("LD_PRELOAD", &preload)?;
    theirs.map_or(Ok(()), |theirs| set("RADDLE_LD_PRELOAD", &theirs))?;
    std::env::var_os("SHELL").map_or(Ok(()), |shell| set("SHELL", &shell))?;
    let arguments = arguments.iter().map(|word| quoted(word)).collect::<Result<Vec<_>>>()?.join(" ");
    // The first child is the run. Later children of the program are not.
    Ok(format!(
        "set breakpoint pending on\nset print thread-events off\nset exec-wrapper {wrapper}\n\
         define hook-run\nset args {arguments}\nset follow-fork-mode child\ntbreak main\nend\n\
         define hookpost-run\nset follow-fork-mode parent\nend\n\
         run\n"
    ))
}

/// Quotes a word for the shell, on a line of gdb.
fn quoted(word: &str) -> Result<String> {
    ensure!(!word.contains('\n'), "gdb takes no arguments or variables of several lines");
    Ok(shlex::try_quote(word).context("gdb takes no zero bytes")?.into_owned())
}

/// Requests the run from every server that connects, because gdb can restart the program. Returns the last
/// answer.
fn talk(mut stream: &UnixStream, setup: &Setup, order: &Order) -> Option<Result<Box<RunResult>, String>> {
    let mut last = None;
    loop {
        match receive(&mut stream) {
            Ok(Answer::Ready { .. }) => {
                last = None;
                send(stream, from_ref(setup)).and_then(|()| send(stream, from_ref(order))).ok()?;
            }
            Ok(Answer::RunResult(ran)) => last = Some(Ok(ran)),
            Ok(Answer::Lost { message } | Answer::Refused { message }) => last = Some(Err(message)),
            Ok(Answer::Exhausted | Answer::Coverage(_) | Answer::Estimate(_)) => {}
            Err(_) => return last,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted() {
        for (word, expected) in
            [("a/b-1", "a/b-1"), ("", "''"), ("a b", "'a b'"), ("it's", "\"it's\""), ("$x", "'$x'")]
        {
            assert_eq!(quoted(word).ok().as_deref(), Some(expected));
        }
        assert!(quoted("a\nb").is_err());
    }
}
