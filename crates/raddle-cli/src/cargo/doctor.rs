//! `cargo raddle doctor`: checks with a probe whether the installed compiler still inserts hooks.

use super::workspace::{TARGET, cargo, host};
use crate::args::{CargoDoctorArgs, HooksArg};
use crate::native::{self, Native, find};
use crate::outcome::Outcome;
use anyhow::{Context, Result, bail, ensure};
use raddle_cc::rust::{Flags, asked, rustc};
use raddle_model::native::Setup;
use raddle_model::{EXIT_NOTHING_FOUND, EXIT_USAGE, Environment, Settings};
use raddle_report::shape::{self, Doctor, Finding};
use raddle_search::{Budget, Lanes, Portfolio, Stop};
use std::fmt::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// Two threads add to a counter: each reads it and writes it back. Without control the bug never shows.
const PROBE: &str = "\
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
struct Plain(std::cell::UnsafeCell<u32>);
unsafe impl Sync for Plain {}
static COUNTER: Plain = Plain(std::cell::UnsafeCell::new(0));
static ADDED: AtomicU32 = AtomicU32::new(0);
fn add() {
    let value = unsafe { std::ptr::read_volatile(COUNTER.0.get()) };
    unsafe { std::ptr::write_volatile(COUNTER.0.get(), value + 1) };
    ADDED.fetch_add(1, SeqCst);
}
fn main() {
    let controlled = std::env::args().len() > 1;
    if !controlled {
        return add();
    }
    let threads = [std::thread::spawn(add), std::thread::spawn(add)];
    threads.map(|thread| thread.join().expect(\"it ends\"));
    assert_eq!(unsafe { std::ptr::read_volatile(COUNTER.0.get()) }, 2);
}
";

/// The hooks that a program with plain and atomic accesses calls.
const HOOKS: [&str; 3] = ["__tsan_read", "__tsan_write", "__tsan_atomic32_fetch_add"];

pub(super) fn run(args: &CargoDoctorArgs) -> Result<Outcome> {
    let mut doctor = Doctor::default();
    examine(&mut doctor);
    doctor.ok = doctor.findings.iter().all(|finding| finding.ok);
    let status = if doctor.ok { EXIT_NOTHING_FOUND } else { EXIT_USAGE };
    let text = if args.json { shape::line(&doctor) } else { text_of(&doctor) };
    Ok(Outcome { text, status })
}

/// Returns a line for each finding.
pub(crate) fn findings(doctor: &Doctor) -> String {
    let mut out = String::new();
    for Finding { what, ok, absent, detail } in &doctor.findings {
        let word = match (ok, absent) {
            (_, true) => " absent",
            (true, false) => "     ok",
            (false, false) => "MISSING",
        };
        let _ = writeln!(out, "{word}  {what}: {detail}");
    }
    out
}

fn text_of(doctor: &Doctor) -> String {
    let last = if doctor.ok {
        "All is there: `cargo raddle test` works with this compiler.\n"
    } else {
        remedy(doctor)
    };
    findings(doctor) + last
}

/// Returns the remedy for missing tools.
pub(crate) fn remedy(doctor: &Doctor) -> &'static str {
    match doctor.fallback {
        Some(true) => {
            "The flags of this compiler have changed, and the other way works: add `--hooks sanitizer` to `cargo raddle test` and \
             `cargo raddle run`. It sets RUSTC_BOOTSTRAP=1 for the compiler, and so uses an option that is no part of a stable Rust.\n"
        }
        Some(false) => {
            "The flags of this compiler have changed, and `--hooks sanitizer` does not work either; a toolchain that is known to work \
             is 1.95: cargo +1.95.0 raddle test\n"
        }
        None => "Install what is missing and run this command again.\n",
    }
}

/// Checks everything in turn, as long as it makes sense.
pub(crate) fn examine(doctor: &mut Doctor) {
    let mut look = |what: &str, found: Result<String>| {
        let ok = found.is_ok();
        let detail = found.unwrap_or_else(|error| format!("{error:#}"));
        doctor.findings.push(Finding { what: what.to_owned(), ok, absent: false, detail });
        ok
    };
    let version = |command: &mut std::process::Command| {
        asked(command.arg("-V")).map(|version| version.trim().to_owned())
    };
    let mut all = look("cargo", version(&mut cargo()));
    all &= look("rustc", version(&mut rustc()));
    all &= look("target", target());
    all &= look("hooks' library", raddle_cc::hooks_library().map(|path| path.display().to_string()));
    if !all {
        return;
    }
    if !look("flags of the compiler", probe(HooksArg::Passes)) {
        doctor.fallback = Some(probe(HooksArg::Sanitizer).is_ok());
    }
}

fn target() -> Result<String> {
    let host = host()?;
    ensure!(host == TARGET, "the compiler is made for {host}, and raddle controls programs for {TARGET}");
    Ok(host)
}

/// Compiles the probe, runs it without and under control, and checks the results.
fn probe(hooks: HooksArg) -> Result<String> {
    let folder = std::env::temp_dir();
    let folder = tempfile::Builder::new()
        .prefix("raddle-doctor-")
        .tempdir_in(&folder)
        .with_context(|| format!("cannot make a folder in {}", folder.display()))?;
    let (source, program) = (folder.path().join("probe.rs"), folder.path().join("probe"));
    std::fs::write(&source, PROBE).with_context(|| format!("cannot write {}", source.display()))?;
    let flags = Flags::new(hooks.into())?;
    let mut compile = rustc();
    compile.args(["--edition", "2021", "--target", TARGET]).args(&flags.flags).arg("-o").arg(&program);
    compile.envs(flags.environment.iter().copied()).arg(&source);
    asked(&mut compile).context("the probe is not compiled")?;

    let bytes = std::fs::read(&program).with_context(|| format!("cannot read {}", program.display()))?;
    let has = |name: &str| bytes.windows(name.len()).any(|window| window == name.as_bytes());
    if let Some(missing) = HOOKS.into_iter().find(|name| !has(name)) {
        bail!("the compiler takes the flags, but puts no call of {missing} in");
    }
    let mut plain = std::process::Command::new(&program);
    let status = plain.stdin(Stdio::null()).status().context("the probe does not start")?;
    ensure!(status.success(), "the probe does not run without control: {status}");
    let runs = control(&program)?;
    Ok(format!("hooks are in, and a lost update was found under control in run {runs}"))
}

/// Returns the number of the run that shows the probe's bug.
fn control(program: &Path) -> Result<u64> {
    const RUNS: u64 = 1000;
    const PATIENCE: Duration = Duration::from_secs(20);
    const STEPS: u64 = 100_000;
    find(&program.to_string_lossy())?;
    let words = [program.to_string_lossy().into_owned(), "controlled".to_owned()];
    let settings = Settings { step_limit: STEPS, ..Settings::default() };
    let lanes = Lanes::parse("random-walk", Portfolio::Programs)?;
    let setup = Setup { panics: Some("main".to_owned()), ..native::setup(&lanes, 1, settings, PATIENCE) };
    let budget = Budget { stop: Stop::FirstFailure, ..Budget::all(RUNS) };
    let environment = Environment::default();
    let found = Native::new(&words, &environment, &setup)
        .and_then(|probe| probe.search(&lanes, budget, 1, &|_| ()))
        .context("the probe cannot be controlled")?;
    match found.first {
        Some((turn, ran)) if ran.kind.as_deref() == Some("panic") => Ok(turn.number),
        Some((_, ran)) => bail!("the probe fails by `{}` under control", ran.kind.unwrap_or_default()),
        None => {
            bail!("the probe's lost update was not found in {RUNS} runs; its accesses to memory are not seen")
        }
    }
}
