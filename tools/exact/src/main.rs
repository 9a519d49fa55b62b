//! `exact --raddle PATH --folder DIR [--programs N] [--seed X] [--first N]`: see the library.

use anyhow::{Context, Result, bail};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> Result<ExitCode> {
    let mut check =
        exact::Check { raddle: PathBuf::new(), folder: PathBuf::new(), seed: 1, first: 0, programs: 1_000 };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().with_context(|| format!("{name} needs a value"))?;
        let number = || value.parse::<u64>().with_context(|| format!("{name} needs a number"));
        match name.as_str() {
            "--raddle" => check.raddle = value.into(),
            "--folder" => check.folder = value.into(),
            "--programs" => check.programs = number()?,
            "--seed" => check.seed = number()?,
            "--first" => check.first = number()?,
            _ => bail!("unknown option {name}"),
        }
    }
    let mut out = std::io::stdout();
    let mut tell = |line: &str| _ = writeln!(out, "{line}");
    let report = exact::run(&check, &mut tell)?;
    writeln!(std::io::stdout(), "{report}")?;
    Ok(if report.mismatches.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
