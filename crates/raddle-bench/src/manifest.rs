//! The manifests of a suite: what its programs are and what is known of their bugs.
//!
//! A suite is a folder. Each `NAME.toml` in it describes one program:
//!
//! ```toml
//! about = "Two locks are taken in opposite order."
//! source = "philosophers.c"     # a C or C++ file, a lab program (.rdl), or a program to be run as it is
//! verdict = ["deadlock"]        # the kinds of failure that are the bug
//! depth = 2                     # optional: PCT's depth
//! idiom = 5                     # optional: Maple's idiom
//! fixed = ["FIXED"]             # optional: what to define for the version without the bug; FIXED if not given
//!
//! [[case]]                      # one for each size
//! name = "philosophers_3"
//! define = ["N=3"]              # for the compiler, or as parameters of a lab program
//! arguments = []                # optional: of the program
//! threads = 4                   # optional
//! depth = 3                     # optional: another depth than above
//! published = "phil-3"          # optional: its name in `published.json` of the same folder
//! ```

use anyhow::{Context, Result, bail, ensure};
use raddle_report::bench::{Case, Published};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// A folder of programs with manifests.
pub struct Suite {
    /// Its name, or folder.
    pub name: String,
    /// Its cases.
    pub programs: Vec<Program>,
    /// Published results.
    pub published: Published,
}

/// One case of a manifest.
pub struct Program {
    /// Its description.
    pub case: Case,
    pub(crate) source: PathBuf,
    pub(crate) define: Vec<String>,
    /// The definitions for the version without the bug.
    pub(crate) fixed: Vec<String>,
    pub(crate) arguments: Vec<String>,
    /// The kinds of failure that are the bug.
    pub(crate) verdict: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    about: String,
    source: PathBuf,
    verdict: Vec<String>,
    depth: Option<u64>,
    idiom: Option<u64>,
    fixed: Option<Vec<String>>,
    case: Vec<Size>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Size {
    name: String,
    #[serde(default)]
    define: Vec<String>,
    #[serde(default)]
    arguments: Vec<String>,
    threads: Option<u64>,
    depth: Option<u64>,
    published: Option<String>,
}

/// The named suites, and their folders in the repository.
const KNOWN: &[(&str, &str)] = &[("corpus", "benchmarks/corpus"), ("figures", "crates/raddle-lab/figures")];

impl Suite {
    /// Reads the suite of that name, or in that folder.
    pub fn read(name: &str) -> Result<Suite> {
        let folder = folder(name)?;
        let entries = std::fs::read_dir(&folder).with_context(|| {
            format!("{name}: no such suite\nhelp: write corpus, figures or a folder with manifests")
        })?;
        let mut manifests = Vec::new();
        for entry in entries {
            let path = entry.with_context(|| format!("cannot read {}", folder.display()))?.path();
            if path.extension().is_some_and(|end| end == "toml") {
                manifests.push(path);
            }
        }
        manifests.sort();
        ensure!(
            !manifests.is_empty(),
            "{}: there is no manifest (NAME.toml) in it; `raddle bench --help` says what one holds",
            folder.display()
        );
        let mut programs: Vec<Program> = Vec::new();
        for path in &manifests {
            for program in self::programs(path).with_context(|| path.display().to_string())? {
                ensure!(
                    programs.iter().all(|other| other.case.name != program.case.name),
                    "{}: another manifest of the suite has a case `{}` already",
                    path.display(),
                    program.case.name
                );
                programs.push(program);
            }
        }
        Ok(Suite { name: name.to_owned(), programs, published: published(&folder)? })
    }
}

fn folder(name: &str) -> Result<PathBuf> {
    let Some((_, path)) = KNOWN.iter().find(|(known, _)| *known == name) else { return Ok(name.into()) };
    let here = std::env::current_dir().context("the current folder is gone")?;
    match here.ancestors().map(|above| above.join(path)).find(|folder| folder.is_dir()) {
        Some(folder) => Ok(folder),
        None => bail!(
            "the suite `{name}` is {path} in Raddle's repository\nhelp: call this inside a checkout, or give a folder with manifests"
        ),
    }
}

fn programs(path: &Path) -> Result<Vec<Program>> {
    let text = std::fs::read_to_string(path).context("cannot be read")?;
    let manifest: Manifest = toml::from_str(&text).context("is no manifest")?;
    let source = path.parent().unwrap_or(Path::new(".")).join(&manifest.source);
    ensure!(source.is_file(), "its source {} is not there", source.display());
    ensure!(!manifest.verdict.is_empty(), "no kind of failure is named in `verdict`");
    let program = |size: Size| Program {
        case: Case {
            name: size.name,
            about: manifest.about.clone(),
            threads: size.threads,
            depth: size.depth.or(manifest.depth),
            idiom: manifest.idiom,
            published: size.published,
        },
        source: source.clone(),
        define: size.define,
        fixed: manifest.fixed.clone().unwrap_or_else(|| vec!["FIXED".to_owned()]),
        arguments: size.arguments,
        verdict: manifest.verdict.clone(),
    };
    Ok(manifest.case.into_iter().map(program).collect())
}

fn published(folder: &Path) -> Result<Published> {
    let path = folder.join("published.json");
    if !path.is_file() {
        return Ok(Published::default());
    }
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{}: not the figures of a suite", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published figures that manifests refer to exist under that name.
    #[test]
    fn the_suites_of_the_repository_can_be_read() {
        for (name, least) in [("corpus", 50), ("figures", 20)] {
            let suite = Suite::read(name).unwrap();
            assert!(suite.programs.len() >= least, "{name} has {} cases", suite.programs.len());
            for program in &suite.programs {
                let Some(published) = &program.case.published else { continue };
                let mut sources = suite.published.schedules_to_bug.values();
                let known = suite.published.hit_ratio.contains_key(published)
                    || sources.any(|rows| rows.contains_key(published));
                assert!(known, "{}: nothing is published of `{published}`", program.case.name);
            }
        }
    }
}
