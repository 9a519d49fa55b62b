//! Every program of `tests/c` under control, compiled by `raddle cc` or `raddle c++`.

use super::{folder, replays, run};
use raddle_testkit::{CLanguage, c_programs};
use std::process::Command;

#[test]
fn every_program_is_found_right_or_wrong() {
    let mut wrong = Vec::new();
    for program in c_programs() {
        let folder = folder(&program.name.replace('/', "-"));
        let mut compiler = Command::new(env!("CARGO_BIN_EXE_raddle"));
        compiler.arg(if program.language == CLanguage::C { "cc" } else { "c++" });
        program.compile(&mut compiler, &folder.join("program"));
        let options: Vec<&str> = program.options.iter().map(String::as_str).collect();
        let runs = if program.expect.is_some() { "2000" } else { "60" };
        let report = run(&folder, &[&["--runs", runs], &options[..], &["--", "./program"]].concat());
        if report["kind"].as_str() != program.expect.as_deref() {
            wrong.push(format!("{}: {} {}", program.name, report["kind"], report["message"]));
        } else if program.expect.is_some() {
            replays(&folder, &report, 3);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
