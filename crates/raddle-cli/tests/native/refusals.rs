//! Uncontrollable and unwritable things are reported, and a verdict is never lost.

use super::{compile, folder, raddle, refused};
use serde_json::Value;
use std::fs::{Permissions, set_permissions, write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

#[track_caller]
fn set_mode(path: &Path, mode: u32) {
    set_permissions(path, Permissions::from_mode(mode)).expect("the file is ours");
}

/// Writes an executable file.
#[track_caller]
fn executable(folder: &Path, name: &str, content: &[u8]) {
    write(folder.join(name), content).expect("the folder can be written to");
    set_mode(&folder.join(name), 0o755);
}

#[test]
fn missing_programs_are_rejected() {
    let folder = folder("not_there");
    refused(&folder, &["run", "--", "./nothing"], &["cannot find ./nothing: No such file"]);
    refused(
        &folder,
        &["run", "--", "no-such-program"],
        &["no program `no-such-program` in PATH", "\nhelp: ", "as ./no-such-program"],
    );
    refused(&folder, &["run", "--strategy", "pso", "--", "/bin/true"], &["unknown strategy `pso`"]);
    std::fs::create_dir(folder.join("inner")).expect("the folder can be written to");
    refused(&folder, &["run", "--", "./inner"], &["inner: is a directory\nhelp: "]);
    write(folder.join("plain"), "text").expect("the folder can be written to");
    refused(&folder, &["run", "--", "./plain"], &["is not executable\nhelp: chmod +x /"]);
    set_mode(&folder.join("plain"), 0o755);
    refused(&folder, &["run", "--", "./plain"], &["is not a Linux program (ELF)\nhelp: "]);
}

/// The Go compiler writes such a note.
#[test]
fn go_programs_are_rejected() {
    let folder = folder("go");
    let note = "__asm__(\".section .note.go.buildid,\\\"a\\\",@note; .long 4, 4, 4; .ascii \\\"Go\\\\0\\\\0\\\"; .long 0; .text\");";
    write(folder.join("go.c"), format!("{note}\nint main(void) {{ return 0; }}\n"))
        .expect("the folder can be written to");
    let compiled = Command::new("gcc").args(["-o", "go", "go.c"]).current_dir(&folder).status();
    assert!(compiled.expect("gcc starts").success());
    refused(
        &folder,
        &["run", "--", "./go"],
        &["go: is a Go program", "\nhelp: test Go code with `go test -race`"],
    );
}

#[test]
fn scripts_are_rejected_with_their_interpreter() {
    let folder = folder("scripts");
    for (first, parts) in [
        (
            "#!/bin/sh -e\n",
            &["is a script, run by `/bin/sh -e`\nhelp: ", "raddle run -- /bin/sh -e /", "/scripts/script\n"]
                [..],
        ),
        ("#! /usr/bin/env python3\n", &["run by `/usr/bin/env python3`", "raddle run -- python3 /"]),
        ("#!\n", &["is a script without an interpreter after `#!`\nhelp: "]),
    ] {
        executable(&folder, "script", first.as_bytes());
        refused(&folder, &["run", "--", "./script"], parts);
    }
}

#[test]
fn programs_for_other_machines_are_rejected() {
    let folder = compile("foreign", "lost_update", &["-static"]);
    refused(
        &folder,
        &["run", "--", "./lost_update"],
        &["is linked statically", "\nhelp: link it without -static"],
    );
    let dynamic = compile("foreign_dynamic", "lost_update", &[]);
    let bytes = std::fs::read(dynamic.join("lost_update")).expect("it was compiled");
    let changed = |changes: &[(usize, u8)], parts: &[&str]| {
        let mut bytes = bytes.clone();
        changes.iter().for_each(|&(at, byte)| bytes[at] = byte);
        executable(&dynamic, "changed", &bytes);
        refused(&dynamic, &["run", "--", "./changed"], parts);
    };
    // The class of the file, the order of bytes, and the processor.
    changed(&[(4, 1), (18, 3)], &["is a 32-bit program for x86 with 32 bits"]);
    changed(
        &[(18, 183)],
        &[
            "is a 64-bit program for ARM with 64 bits (aarch64)",
            "only 64-bit programs for x86-64 are supported",
        ],
    );
    changed(&[(5, 2), (18, 0), (19, 22)], &["for S/390"]);
    changed(&[(18, 250)], &["for processor 250"]);
    let loader = b"/lib64/ld-linux";
    let at = bytes.windows(loader.len()).position(|window| window == loader).expect("it names its loader");
    let musl: Vec<(usize, u8)> = (at + 10..).zip(*b"musl").collect();
    changed(&musl, &["is linked against musl"]);
    changed(&[(at + 1, b'L')], &["its dynamic loader, /Lib64/ld-linux-x86-64.so.2, is not on this machine"]);
}

#[test]
fn a_setuid_program_is_rejected() {
    let folder = compile("setuid", "lost_update", &[]);
    for mode in [0o4755, 0o2755] {
        set_mode(&folder.join("lost_update"), mode);
        refused(
            &folder,
            &["run", "--", "./lost_update"],
            &["a set-user-ID or set-group-ID program", "help: run a copy made with `cp`"],
        );
    }
    let copied = Command::new("cp").args(["lost_update", "copy"]).current_dir(&folder).status();
    assert!(copied.expect("cp starts").success());
    let ran = raddle(&folder, &["run", "--runs", "1", "--", "./copy"]).status.code();
    assert!(matches!(ran, Some(0 | 1)), "it runs, and may fail: {ran:?}");
}

#[test]
fn a_missing_library_is_reported() {
    let folder = folder("library");
    let gcc = |words: &[&str]| {
        let status = Command::new("gcc").args(words).current_dir(&folder).status().expect("gcc starts");
        assert!(status.success(), "{words:?}");
    };
    write(folder.join("part.c"), "int part(void) { return 0; }\n").expect("the folder can be written to");
    let main = "int part(void);\nint main(void) { return part(); }\n";
    write(folder.join("main.c"), main).expect("the folder can be written to");
    gcc(&["-shared", "-fPIC", "part.c", "-o", "libpart.so"]);
    gcc(&["main.c", "-L.", "-lpart", "-o", "main"]);
    let words = ["run", "--", "./main"];
    refused(
        &folder,
        &words,
        &["libpart.so", "the dynamic loader cannot start it", "help: install the library"],
    );
    let main = "#include <unistd.h>\n__attribute__((constructor)) void early(void) { _exit(3); }\nint main(void) { return 0; }\n";
    write(folder.join("main.c"), main).expect("the folder can be written to");
    gcc(&["main.c", "-o", "main"]);
    refused(&folder, &words, &["it ends with status 3 before it reaches `main`"]);
}

/// The program asserts that its threads are created: it must not be blamed for a system limit. Three need no
/// room: they exist before a run.
#[test]
fn limits_of_the_system_are_no_failures_of_the_program() {
    let folder = compile("limits", "limits", &[]);
    let words = ["run", "--jobs", "1", "--", "./limits"];
    refused(
        &folder,
        &words,
        &["the system refuses to create thread T4 (EAGAIN)", "not a failure of the program"],
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    let output =
        command.args(words).current_dir(&folder).env("LIMIT_PROCESSES", "1").output().expect("raddle starts");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    for part in ["cannot create a process for the run: Resource temporarily unavailable", "`ulimit -u`"] {
        assert!(message.contains(part), "`{part}` is missing in: {message}");
    }
}

/// If anything cannot be written, the failure is displayed and kept elsewhere, and the exit status reflects it.
#[test]
fn a_failure_is_shown_where_it_cannot_be_written() {
    let folder = compile("unwritable", "lost_update", &[]);
    for (path, why) in [("/nowhere/run.json", "No such file"), ("/dev/full", "No space left")] {
        let output = raddle(&folder, &["run", "--record", path, "--", "./lost_update"]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(
            text.contains("assertion `counter == 2` failed") && text.contains("yield  lost_update.c:6"),
            "{text}"
        );
        let note = format!("\nNote: cannot write the failing run to {path}: {why}");
        assert!(text.contains(&note), "{text}");
        let (_, kept) = text.split_once("; it is in ").expect("it is kept in the current folder");
        let kept = kept.trim().trim_end_matches('.');
        assert!(text.contains(&format!("replay: raddle replay {kept}\n")), "{text}");
        assert_eq!(raddle(&folder, &["replay", kept]).status.code(), Some(1), "{kept}");
        let output = raddle(&folder, &["run", "--json", "--record", path, "--", "./lost_update"]);
        let report: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        assert_eq!((output.status.code(), &report["kind"]), (Some(1), &"assertion".into()), "{report}");
        assert_eq!(report["failure_file"], kept, "{report}");
        assert!(report["notes"][0].as_str().is_some(), "{report}");
    }
    let full = std::fs::File::options().write(true).open("/dev/full").expect("it is there");
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    command.args(["run", "--", "./lost_update"]).current_dir(&folder).stdout(full).stderr(Stdio::piped());
    let output = command.output().expect("raddle starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write to standard output"));
    let files = std::fs::read_dir(&folder).expect("it is there").filter_map(Result::ok);
    let failures = files.filter(|file| file.file_name().to_string_lossy().starts_with("raddle-failure-"));
    assert_eq!(failures.count(), 1);
}

/// A failing run is reported, even if a later one is lost, in either order under a seed.
#[test]
fn a_failure_is_not_lost_with_a_later_run() {
    let folder = compile("lost_run", "lost", &[]);
    let mut statuses = std::collections::BTreeSet::new();
    for seed in 1..=8 {
        let seed = seed.to_string();
        let words = [
            "run",
            "--json",
            "--keep-going",
            "--runs",
            "50",
            "--jobs",
            "1",
            "--no-minimize",
            "--run-time",
            "500ms",
        ];
        let words = [&words[..], &["--seed", &seed, "--", "./lost"]].concat();
        let output = raddle(&folder, &words);
        statuses.insert(output.status.code());
        if output.status.code() == Some(1) {
            let report: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
            let note = report["notes"][0].as_str().unwrap_or_default();
            assert!(
                note.starts_with("not all runs were made: ") && note.contains("cannot be controlled"),
                "{report}"
            );
            assert_eq!(report["kind"], "assertion", "{report}");
        }
    }
    assert_eq!(statuses, [Some(1), Some(2)].into());
}
