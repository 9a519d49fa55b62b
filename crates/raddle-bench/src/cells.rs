//! All cells of a suite, and the file that keeps the finished ones.
//!
//! Cells are measured on one core each and distributed to workers, so that a cell does not depend on the
//! others or on their number. Each finished cell is appended to `cells.jsonl` in the output folder
//! immediately; a later call with the same parameters continues from there.

use crate::manifest::Program;
use crate::measure::{Measure, Ready, measure};
use anyhow::{Context, Result};
use raddle_report::bench::Cell;
use raddle_search::is_interrupted;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

/// Measures every program under every strategy, except for the cells in `store`, with this number of workers.
/// Calls `finished` with a description after each cell.
pub fn measure_all(
    programs: &[Program],
    strategies: &[String],
    how: Measure,
    store: &Store,
    jobs: usize,
    finished: &(dyn Fn(&dyn Fn() -> String) + Sync),
) -> Result<Vec<Cell>> {
    let next = AtomicUsize::new(0);
    let ready: Vec<OnceLock<Ready>> = programs.iter().map(|_| OnceLock::new()).collect();
    let work = || -> Result<Vec<(usize, Cell)>> {
        let mut mine = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let (case, strategy) = (number / strategies.len(), number % strategies.len());
            let Some(program) = programs.get(case) else { return Ok(mine) };
            let strategy = &strategies[strategy];
            let cell = match store.find(&program.case.name, strategy, how) {
                Some(cell) => cell,
                None => {
                    let result = ready_of(&ready[case], program, how.fixed)
                        .and_then(|ready| measure(program, ready, strategy, how));
                    let cell = result.inspect_err(|_| next.store(usize::MAX / 2, Ordering::Relaxed));
                    // A cell that was not measured to its end is none.
                    if is_interrupted() {
                        return Ok(mine);
                    }
                    let cell = cell.with_context(|| format!("{} under {strategy}", program.case.name))?;
                    store.add(&cell, how)?;
                    cell
                }
            };
            mine.push((number, cell));
            finished(&|| format!("{} under {strategy}", program.case.name));
        }
    };
    let results: Vec<Result<Vec<(usize, Cell)>>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload)))
            .collect()
    });
    let mut cells: Vec<(usize, Cell)> = results.into_iter().collect::<Result<Vec<_>>>()?.concat();
    cells.sort_by_key(|(number, _)| *number);
    Ok(cells.into_iter().map(|(_, cell)| cell).collect())
}

/// Returns the program, compiled once.
fn ready_of<'a>(slot: &'a OnceLock<Ready>, program: &Program, fixed: bool) -> Result<&'a Ready> {
    /// One worker compiles; the others reuse the program.
    static COMPILING: Mutex<()> = Mutex::new(());
    let _compiling = COMPILING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(ready) = slot.get() {
        return Ok(ready);
    }
    let ready = program.prepare(fixed)?;
    Ok(slot.get_or_init(|| ready))
}

/// The cells that were measured before, and the file to which further ones are appended.
pub struct Store {
    known: Vec<Stored>,
    file: Option<Mutex<File>>,
}

/// A cell with its parameters.
#[derive(Serialize, Deserialize)]
struct Stored {
    runs: u64,
    trials: u64,
    seed: u64,
    fixed: bool,
    version: String,
    cell: Cell,
}

/// Cells of another version may have other numbers.
const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Store {
    /// Reads the cells in this folder. Without one, nothing is kept.
    pub fn open(folder: Option<&Path>) -> Result<Store> {
        let Some(folder) = folder else { return Ok(Store { known: Vec::new(), file: None }) };
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create the folder {}", folder.display()))?;
        let path = folder.join("cells.jsonl");
        let mut known = Vec::new();
        if path.exists() {
            let text =
                std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
            for (number, line) in whole.lines().enumerate() {
                known.push(serde_json::from_str(line).with_context(|| {
                    format!(
                        "{}:{}: no result of a bench; remove the file to begin anew",
                        path.display(),
                        number + 1
                    )
                })?);
            }
            // An incomplete last line comes from an interruption.
            let file = OpenOptions::new().write(true).open(&path);
            file.and_then(|file| file.set_len(whole.len() as u64))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Store { known, file: Some(Mutex::new(file)) })
    }

    fn find(&self, case: &str, strategy: &str, how: Measure) -> Option<Cell> {
        let same = |stored: &&Stored| {
            let Stored { runs, trials, seed, fixed, version, cell } = stored;
            (*runs, *trials, *seed, *fixed) == (how.runs, how.trials, how.seed, how.fixed)
                && version == VERSION
                && cell.case == case
                && cell.strategy == strategy
        };
        self.known.iter().rfind(same).map(|stored| stored.cell.clone())
    }

    fn add(&self, cell: &Cell, how: Measure) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let Measure { runs, trials, seed, fixed } = how;
        let stored = Stored { runs, trials, seed, fixed, version: VERSION.to_owned(), cell: cell.clone() };
        let mut line = serde_json::to_string(&stored).context("a result cannot be written as JSON")?;
        line.push('\n');
        let mut file = file.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        file.write_all(line.as_bytes()).context("cannot write a result; is the disk full?")
    }
}
