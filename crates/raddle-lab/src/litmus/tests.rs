use super::*;
use crate::compile;

fn compared(text: &str) -> Comparison {
    compare(&compile(text, &[]).unwrap(), MemoryModel::Weak).unwrap()
}

/// The programs under `litmus/`.
fn files() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/litmus");
    let mut all: Vec<(String, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rdl"))
        .map(|path| {
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    all.sort();
    all
}

#[test]
fn every_file_has_the_outcomes_of_the_axioms() {
    let files = files();
    assert!(files.len() >= 48, "{}", files.len());
    for (name, text) in files {
        let found = compared(&text);
        // The known departure; see the documentation of the machine.
        let unreached = if name == "z6u_mixed" { 3 } else { 0 };
        assert_eq!(
            (found.count(Standing::Forbidden), found.count(Standing::Unreached)),
            (0, unreached),
            "{name}: {found:?}"
        );
    }
}

/// The outcomes of the files, which Rust tests and C programs have to have too: `crates/raddle/tests/weak`.
#[test]
fn the_list_of_outcomes_is_up_to_date() {
    let mut text = String::new();
    for (name, program) in files() {
        let found = compared(&program);
        let mut lines: Vec<String> = Vec::new();
        for (values, _) in found.outcomes.iter().filter(|(_, standing)| **standing == Standing::Seen) {
            let pairs = found.names.iter().zip(values).map(|(name, value)| format!("{name}={value}"));
            lines.push(format!("{name}: {}\n", pairs.collect::<Vec<_>>().join(" ")));
        }
        lines.sort();
        text.extend(lines);
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/litmus/outcomes.txt");
    let listed = std::fs::read_to_string(path).unwrap_or_default();
    if listed != text {
        let new = std::env::temp_dir().join("raddle-litmus-outcomes.txt");
        std::fs::write(&new, text).unwrap();
        panic!("{path} is not up to date; the outcomes are in {}", new.display());
    }
}

#[test]
fn sequentially_consistent_runs_miss_what_only_weak_memory_has() {
    let text = &files().into_iter().find(|(name, _)| name == "sb_relaxed").unwrap().1;
    let found = compare(&compile(text, &[]).unwrap(), MemoryModel::Sc).unwrap();
    assert_eq!(found.names, ["r1", "r2", "x", "y"]);
    assert_eq!(found.outcomes[&vec![0, 0, 1, 1]], Standing::Unreached);
    assert_eq!((found.count(Standing::Seen), found.count(Standing::Unreached)), (3, 1));
    assert_eq!(compared(text).count(Standing::Seen), 4);
}

#[test]
fn names_are_told_apart_by_their_threads() {
    let text = "shared x = 0\nthread A { local r; r = x.load(relaxed) }\nthread B { local r; r = x.swap(2, relaxed) }";
    assert_eq!(compared(text).names, ["A.r", "B.r", "x"]);
}

#[test]
fn what_the_axioms_do_not_know_is_refused() {
    let error = |text: &str| compare(&compile(text, &[]).unwrap(), MemoryModel::Weak).unwrap_err();
    let plain = error("shared x = 0\nthread A { x = 1 }");
    assert_eq!(plain, LitmusError::Statement { line: 2, text: "x = 1".to_owned() });
    let lock = error("mutex m\nthread A { lock m; unlock m }");
    assert_eq!(lock, LitmusError::Object("mutex m".to_owned()));
    let branch =
        error("shared x = 0\nthread A { local r; r = x.load(relaxed)\nif r { x.store(1, relaxed) } }");
    assert!(matches!(branch, LitmusError::Statement { line: 3, .. }), "{branch}");
}
