//! `cargo raddle doctor`: checks with a probe whether the installed compiler still inserts hooks.

use crate::args::CargoDoctorArgs;
use crate::outcome::{Outcome, described};
use anyhow::{Result, ensure};
use raddle_cargo::{TARGET, cargo, host, probe};
use raddle_cc::rust::{Hooks, asked, rustc};
use raddle_model::{EXIT_NOTHING_FOUND, EXIT_USAGE};
use raddle_report::shape::{self, Doctor, Finding};
use std::fmt::Write;

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
        let detail = found.unwrap_or_else(|error| described(&error));
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
    if !look("flags of the compiler", probe(Hooks::Passes)) {
        doctor.fallback = Some(probe(Hooks::Sanitizer).is_ok());
    }
}

fn target() -> Result<String> {
    let host = host()?;
    ensure!(host == TARGET, "the compiler is made for {host}, and raddle controls programs for {TARGET}");
    Ok(host)
}
