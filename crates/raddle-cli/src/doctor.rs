//! `raddle doctor`: checks with a small program in C, Rust and Erlang that Raddle can control programs on this machine.

use crate::args::{DoctorArg, DoctorArgs};
use crate::cargo;
use crate::outcome::{Outcome, described};
use anyhow::{Context, Result, bail, ensure};
use raddle_model::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, EXIT_USAGE};
use raddle_report::shape::{self, Doctor, Finding};
use std::path::Path;
use std::process::{Command, Stdio};

/// A lost update in C.
const C: &str = "\
#include <assert.h>
#include <pthread.h>
static int counter;
static void *add(void *unused) { int seen = counter; counter = seen + 1; return unused; }
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, add, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    assert(counter == 2);
}
";

/// A lost update in Erlang.
const ERLANG: &str = "\
-module(raddle_probe).
-export([lost/0]).
lost() ->
    Table = ets:new(table, [public]),
    ets:insert(Table, {count, 0}),
    Self = self(),
    [spawn(fun() -> add(Table), Self ! done end) || _ <- [1, 2]],
    [receive done -> ok end || _ <- [1, 2]],
    [{count, 2}] = ets:lookup(Table, count).
add(Table) ->
    [{count, Count}] = ets:lookup(Table, count),
    ets:insert(Table, {count, Count + 1}).
";

pub(crate) fn run(args: &DoctorArgs) -> Result<Outcome> {
    let all = [DoctorArg::C, DoctorArg::Rust, DoctorArg::Erlang];
    let mut doctor = Doctor::default();
    for what in all.into_iter().filter(|what| args.what.is_empty() || args.what.contains(what)) {
        // A tool that is not installed is an error only if it was requested.
        let is_wanted = !args.what.is_empty() || what == DoctorArg::C;
        match what {
            DoctorArg::C => c(&mut doctor),
            DoctorArg::Rust if is_wanted || is_installed("cargo") => cargo::examine(&mut doctor),
            DoctorArg::Erlang if is_wanted || is_installed("erl") => erlang(&mut doctor),
            DoctorArg::Rust => absent(&mut doctor, "cargo", "not installed; only Rust programs need it"),
            DoctorArg::Erlang => absent(&mut doctor, "erl", "not installed; only Erlang programs need it"),
        }
    }
    doctor.ok = doctor.findings.iter().all(|finding| finding.ok);
    let status = if doctor.ok { EXIT_NOTHING_FOUND } else { EXIT_USAGE };
    let text = if args.json { shape::line(&doctor) } else { shape_text(&doctor) };
    Ok(Outcome { text, status })
}

fn shape_text(doctor: &Doctor) -> String {
    let last = if doctor.ok { "Everything works.\n" } else { cargo::remedy(doctor) };
    cargo::findings(doctor) + last
}

fn is_installed(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
}

fn absent(doctor: &mut Doctor, what: &str, detail: &str) {
    doctor.findings.push(Finding {
        what: what.to_owned(),
        ok: true,
        absent: true,
        detail: detail.to_owned(),
    });
}

/// Adds a finding. Returns true if it is fulfilled.
fn look(doctor: &mut Doctor, what: &str, found: Result<String>) -> bool {
    let ok = found.is_ok();
    let detail = found.unwrap_or_else(|error| described(&error));
    doctor.findings.push(Finding { what: what.to_owned(), ok, absent: false, detail });
    ok
}

fn c(doctor: &mut Doctor) {
    let hooks = raddle_cc::hooks_library().map(|path| path.display().to_string());
    if look(doctor, "C compiler and hooks", hooks) {
        look(doctor, "control of C programs", probe_c());
    }
}

fn erlang(doctor: &mut Doctor) {
    let version = ["-noinput", "-eval", "io:put_chars(erlang:system_info(otp_release)), halt()."];
    let release = asked(Command::new("erl").args(version)).and_then(|release| {
        const OLDEST: u32 = 25;
        let number: u32 = release.trim().parse().with_context(|| format!("its release is `{release}`"))?;
        ensure!(number >= OLDEST, "OTP {number} is too old; OTP {OLDEST} or later is needed");
        Ok(format!("OTP {number}"))
    });
    if look(doctor, "Erlang", release) {
        look(doctor, "control of Erlang programs", probe_erlang());
    }
}

fn probe_c() -> Result<String> {
    let folder = folder()?;
    let (source, program) = (folder.path().join("probe.c"), folder.path().join("probe"));
    std::fs::write(&source, C).with_context(|| format!("cannot write {}", source.display()))?;
    asked(raddle()?.arg("cc").args(["-g", "-pthread", "-o"]).arg(&program).arg(&source))
        .context("the probe is not compiled")?;
    search(raddle()?.args(["run", "--jobs", "1", "--runs", "1000"]), folder.path(), &[program.as_os_str()])
}

fn probe_erlang() -> Result<String> {
    let folder = folder()?;
    let source = folder.path().join("raddle_probe.erl");
    std::fs::write(&source, ERLANG).with_context(|| format!("cannot write {}", source.display()))?;
    asked(Command::new("erlc").args(["+debug_info", "-o"]).arg(folder.path()).arg(&source))
        .context("the probe is not compiled; the package of erlc may be missing")?;
    let words = ["beam", "run", "raddle_probe:lost", "--jobs", "1", "--runs", "1000", "--pa"];
    search(raddle()?.args(words).arg(folder.path()), folder.path(), &[])
}

/// Runs a search that must find the bug.
fn search(command: &mut Command, folder: &Path, program: &[&std::ffi::OsStr]) -> Result<String> {
    command.args(["--no-minimize", "--record"]).arg(folder.join("bug.json")).args(program);
    let output = command.stdin(Stdio::null()).output().context("raddle cannot be started")?;
    match output.status.code() {
        Some(status) if status == i32::from(EXIT_BUG_FOUND) => {
            Ok("a lost update was found in a probe".to_owned())
        }
        Some(0) => bail!("the lost update of a probe was not found; its accesses to memory are not seen"),
        _ => bail!("{}", String::from_utf8_lossy(&output.stderr).trim().trim_start_matches("error: ")),
    }
}

/// Returns the standard output of a command, or its error message.
fn asked(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {name}"))?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn raddle() -> Result<Command> {
    Ok(Command::new(std::env::current_exe().context("raddle does not know where it is")?))
}

fn folder() -> Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("raddle-doctor-").tempdir().context("cannot make a folder in TMPDIR")
}
