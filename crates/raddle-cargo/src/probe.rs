//! A small program with a bug, which shows whether the installed compiler inserts hooks.

use crate::workspace::TARGET;
use anyhow::{Context, Result, bail, ensure};
use raddle_cc::rust::{Flags, Hooks, asked, rustc};
use raddle_launch::native::{self, Native, find};
use raddle_model::native::Setup;
use raddle_model::{Environment, Settings};
use raddle_search::{Budget, Lanes, Portfolio, Stop};
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

/// Compiles the probe, runs it without and under control, and checks the results.
pub fn probe(hooks: Hooks) -> Result<String> {
    let folder = std::env::temp_dir();
    let folder = tempfile::Builder::new()
        .prefix("raddle-doctor-")
        .tempdir_in(&folder)
        .with_context(|| format!("cannot make a folder in {}", folder.display()))?;
    let (source, program) = (folder.path().join("probe.rs"), folder.path().join("probe"));
    std::fs::write(&source, PROBE).with_context(|| format!("cannot write {}", source.display()))?;
    let flags = Flags::new(hooks)?;
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
