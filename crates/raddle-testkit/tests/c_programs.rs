//! The programs of `tests/c` without Raddle: they compile without a warning, and the correct ones succeed.

use raddle_testkit::{CLanguage, CProgram, KINDS, c_programs};
use std::path::{Path, PathBuf};
use std::process::Command;

fn build(program: &CProgram) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c");
    std::fs::create_dir_all(&folder).expect("the target folder can be written to");
    let path = folder.join(program.name.replace('/', "_"));
    let compiler = match program.language {
        CLanguage::C => "cc",
        CLanguage::Cpp => "c++",
    };
    program.compile(&mut Command::new(compiler), &path);
    path
}

#[test]
fn correct_programs_succeed() {
    let programs: Vec<_> = c_programs().into_iter().filter(|program| program.expect.is_none()).collect();
    assert!(programs.len() > 20);
    for program in programs {
        // The timeout turns a hang into a failure with the name of the program.
        let output =
            Command::new("timeout").arg("300").arg(build(&program)).output().expect("timeout starts");
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && output.stdout.is_empty(),
            "{}: {} {messages}",
            program.name,
            output.status
        );
    }
}

#[test]
fn programs_with_bugs_are_of_all_kinds() {
    let programs: Vec<_> = c_programs().into_iter().filter(|program| program.expect.is_some()).collect();
    for kind in KINDS {
        assert!(
            programs.iter().any(|program| program.expect.as_deref() == Some(kind)),
            "none fails by {kind}"
        );
    }
    for program in &programs {
        build(program);
    }
}
