//! Every program of `tests/c` under control, compiled by `raddle cc` or `raddle c++`.

use super::{folder, replays, run};
use raddle_testkit::{CLanguage, c_programs};
use std::io::Write;
use std::process::Command;

/// Compiles every program with these compilers of C and C++, and checks the result.
fn check_all(cc: &str, cxx: &str, passing_runs: &str) {
    let mut wrong = Vec::new();
    for program in c_programs() {
        let folder = folder(&format!("{cc}-{}", program.name.replace('/', "-")));
        let mut compiler = Command::new(env!("CARGO_BIN_EXE_raddle"));
        compiler.arg(if program.language == CLanguage::C { "cc" } else { "c++" });
        program.compile(compiler.env("CC", cc).env("CXX", cxx), &folder.join("program"));
        let options: Vec<&str> = program.options.iter().map(String::as_str).collect();
        let runs = if program.expect.is_some() { "2000" } else { passing_runs };
        let report = run(&folder, &[&["--runs", runs], &options[..], &["--", "./program"]].concat());
        if report["kind"].as_str() != program.expect.as_deref() {
            wrong.push(format!("{}: {} {}", program.name, report["kind"], report["message"]));
        } else if program.expect.is_some() {
            replays(&folder, &report, 3);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_program_is_found_right_or_wrong() {
    check_all("gcc", "g++", "60");
}

/// clang is a large download, so `tools/install.sh` omits it; if it is not installed, this prints a message
/// and passes.
#[test]
fn every_program_is_found_right_or_wrong_by_clang_if_it_is_there() {
    if Command::new("clang++").arg("--version").output().is_ok_and(|output| output.status.success()) {
        check_all("clang", "clang++", "20");
    } else {
        _ = std::io::stderr().write_all(b"skipped: clang is not installed\n");
    }
}
