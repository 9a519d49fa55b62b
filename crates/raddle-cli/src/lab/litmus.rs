//! `raddle lab litmus`.

use crate::args::LitmusArgs;
use crate::input::read;
use crate::outcome::Outcome;
use anyhow::{Context, Result, bail};
use raddle_lab::compile;
use raddle_lab::litmus::{Comparison, Standing, compare};
use raddle_model::{EXIT_BUG_FOUND, EXIT_NOTHING_FOUND, MemoryModel};
use raddle_report::text::plural;
use std::fmt::Write;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &LitmusArgs) -> Result<Outcome> {
    let mut text = String::new();
    let (mut files, mut allowed, mut seen, mut forbidden) = (0, 0, 0, 0);
    for path in &args.paths {
        let is_folder = path.is_dir();
        for file in programs(path)? {
            let found = compared(&file, args.memory)?;
            files += 1;
            allowed += found.outcomes.len() - found.count(Standing::Forbidden);
            seen += found.count(Standing::Seen);
            forbidden += found.count(Standing::Forbidden);
            let differs = found.count(Standing::Seen) < found.outcomes.len();
            summary(&mut text, &file, &found);
            if differs || !is_folder {
                table(&mut text, &found);
            }
        }
    }
    if files > 1 {
        let _ = writeln!(
            text,
            "\n{}, memory {}: {seen} of {} seen, {forbidden} forbidden",
            plural(files, "program"),
            args.memory.name(),
            plural(allowed as u64, "allowed outcome"),
        );
    }
    let status = if forbidden > 0 { EXIT_BUG_FOUND } else { EXIT_NOTHING_FOUND };
    Ok(Outcome { text, status })
}

/// Returns the file, or all programs of the folder.
fn programs(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let file = entry.with_context(|| format!("cannot read {}", path.display()))?.path();
        if file.extension().is_some_and(|extension| extension == "rdl") {
            files.push(file);
        }
    }
    if files.is_empty() {
        bail!("{} has no programs\nhelp: a litmus program is a file that ends in .rdl", path.display());
    }
    files.sort();
    Ok(files)
}

fn compared(file: &Path, memory: MemoryModel) -> Result<Comparison> {
    let shown = file.display().to_string();
    let machine = compile(&read(&shown)?, &[]).with_context(|| shown.clone())?;
    compare(&machine, memory).with_context(|| shown)
}

fn summary(text: &mut String, file: &Path, found: &Comparison) {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let (seen, forbidden) = (found.count(Standing::Seen), found.count(Standing::Forbidden));
    let allowed = found.outcomes.len() - forbidden;
    let _ = write!(text, "{name}: {seen} of {} seen", plural(allowed as u64, "allowed outcome"));
    if forbidden > 0 {
        let _ = write!(text, ", {forbidden} FORBIDDEN");
    }
    let _ = writeln!(text, " in {}", plural(found.runs, "run"));
}

/// Lists the outcomes of a program.
fn table(text: &mut String, found: &Comparison) {
    let wide = |column: usize| {
        let values = found.outcomes.keys().map(|values| values[column].to_string().len());
        values.chain([found.names[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..found.names.len()).map(wide).collect();
    let mut row = |cells: &[String], end: &str| {
        let cells = cells.iter().zip(&widths).map(|(cell, &width)| format!("{cell:>width$}"));
        let line = format!("  {}  {end}", cells.collect::<Vec<_>>().join(" "));
        let _ = writeln!(text, "{}", line.trim_end());
    };
    row(&found.names, "");
    for (values, standing) in &found.outcomes {
        let cells: Vec<String> = values.iter().map(i64::to_string).collect();
        row(&cells, standing.text());
    }
}
