//! The program under test and the operations of its data structure.

use crate::args::LibraryArgs;
use anyhow::{Context, Result, ensure};
use raddle_cc::{OPERATIONS, Source};
use raddle_launch::native::{self, Divided, Limits, find};
use raddle_model::native::{Setup, Site, Transactions};
use raddle_model::{Environment, Settings};
use raddle_search::{Deadline, Lanes};
use raddle_symbols::Symbols;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The hook at the beginning of a function.
const HOOK: &[u8] = b"__cyg_profile_func_enter";
/// The random runs after those of partial-order reduction, which find accesses that need certain schedules.
const RANDOM: &str = "random-walk";

/// A program and its operations.
pub(super) struct Library {
    /// The program and its arguments.
    pub(super) words: Vec<String>,
    pub(super) build: String,
    pub(super) run_time: Duration,
    pub(super) environment: Environment,
    /// The operations: names, and first instructions as offsets from the first page. Sorted by offset.
    pub(super) operations: Vec<(String, u64)>,
    /// The file's own address of its first page.
    pub(super) first: u64,
}

impl Library {
    /// Finds, or compiles, the program of the command line.
    pub(super) fn of(args: &LibraryArgs) -> Result<Library> {
        let name = &args.program[0];
        let mut flags = shlex::split(args.cflags.as_deref().unwrap_or_default())
            .context("--cflags: a quote is not closed")?;
        let program = match Source::of(name) {
            Some(source) => {
                flags.push(OPERATIONS.to_owned());
                find(&source.compile(&flags)?.to_string_lossy())?
            }
            None => find(name)?,
        };
        let is_source = |file: &str| {
            args.library.iter().any(|wanted| Path::new(file).ends_with(wanted.trim_start_matches("./")))
        };
        let mut library = Library::open(&program, &args.program[1..], args.run_time)?;
        let mut symbols = Symbols::new();
        for wanted in &args.operations {
            let is_it = |name: &str| name == wanted || name.ends_with(&format!("::{wanted}"));
            let found = symbols.functions(&program, is_it);
            ensure!(
                !found.is_empty(),
                "{}: has no function `{wanted}`\nhelp: `nm -C {0}` lists its functions",
                program.display()
            );
            library.operations.extend(found);
        }
        if !args.library.is_empty() {
            let all = symbols.functions(&program, |_| true);
            let defined = all.into_iter().filter(|(_, address)| {
                let frames = symbols.locate(&program, *address).frames;
                frames.last().and_then(|frame| frame.file.as_deref()).is_some_and(is_source)
            });
            let found: Vec<(String, u64)> = defined.collect();
            ensure!(
                !found.is_empty(),
                "{}: has no function of {}",
                program.display(),
                args.library.join(" or ")
            );
            library.operations.extend(found);
        }
        library.settle();
        Ok(library)
    }

    /// Returns a program without operations.
    pub(super) fn open(program: &Path, arguments: &[String], run_time: Duration) -> Result<Library> {
        let shown = program.display();
        let bytes = std::fs::read(program).with_context(|| format!("cannot read {shown}"))?;
        ensure!(
            bytes.windows(HOOK.len()).any(|window| window == HOOK),
            "{shown}: was compiled without hooks at the beginning and end of functions\n\
             help: compile it with: raddle cc {OPERATIONS}"
        );
        let path = program.to_str().with_context(|| format!("{shown}: the path is not valid UTF-8"))?;
        Ok(Library {
            words: [&[path.to_owned()], arguments].concat(),
            build: raddle_symbols::build(program).with_context(|| format!("cannot read {shown}"))?,
            run_time,
            environment: Environment::default(),
            operations: Vec::new(),
            first: Symbols::new().first_address(program),
        })
    }

    /// Sets the operations of these names.
    pub(super) fn name_operations(&mut self, names: &BTreeSet<String>) {
        let program = PathBuf::from(&self.words[0]);
        self.operations = Symbols::new().functions(&program, |name| names.contains(name));
        self.settle();
    }

    /// Sorts the operations, and makes their addresses offsets.
    fn settle(&mut self) {
        let first = self.first;
        self.operations.iter_mut().for_each(|(_, address)| *address -= first);
        self.operations.sort_by_key(|(_, offset)| *offset);
        self.operations.dedup_by_key(|(_, offset)| *offset);
    }

    /// Returns the operations, each as one transaction.
    pub(super) fn transactions(&self) -> Transactions {
        let operations = self.operations.iter().map(|(_, offset)| *offset).collect();
        Transactions { operations, ..Transactions::default() }
    }

    /// Returns the program to be run.
    pub(super) fn divided(&self) -> Result<Divided<'_>> {
        let setup =
            Setup { alone: true, ..native::setup(&Lanes::none(), 1, Settings::default(), self.run_time) };
        Divided::new(&self.words, &self.environment, setup)
    }

    /// Returns the accesses of the operations that runs execute, with several divisions.
    pub(super) fn sites(&self, divided: &mut Divided<'_>, runs: u64) -> Result<Vec<Site>> {
        let mut sites: Vec<Site> = Vec::new();
        for (size, strategy) in [(None, "dpor"), (Some(1), RANDOM)] {
            let transactions = Transactions { size, sites: true, ..self.transactions() };
            let limits = Limits { runs, deadline: Deadline::new(None), stop: false };
            for site in divided.count(&transactions, strategy, limits)?.sites {
                match sites
                    .iter_mut()
                    .find(|known| (known.offset, known.operation) == (site.offset, site.operation))
                {
                    Some(known) => {
                        known.reads |= site.reads;
                        known.writes |= site.writes;
                        known.shared |= site.shared;
                    }
                    None => sites.push(site),
                }
            }
        }
        sites.sort_unstable();
        ensure!(
            !sites.is_empty(),
            "{}: no run has called an operation\nhelp: name functions that the program calls",
            self.words[0]
        );
        Ok(sites)
    }

    /// Returns the source locations of accesses.
    pub(super) fn locations(&self, offsets: impl Iterator<Item = u64>) -> Vec<String> {
        let mut places: Vec<String> =
            offsets.map(|offset| format!("{}+{offset:#x}", self.words[0])).collect();
        raddle_symbols::runs::locate(&mut Symbols::new(), &mut places);
        places
    }

    /// Returns the name of an operation.
    pub(super) fn name(&self, operation: u64) -> &str {
        let found = self.operations.iter().find(|(_, offset)| *offset == operation);
        found.map_or("?", |(name, _)| name)
    }
}
