//! Every message that refuses a program or ends a run without a verdict is in the troubleshooting page.

use super::root;
use std::path::{Path, PathBuf};

/// The functions of the native runtime that end a run without a verdict, with the message as the argument.
const IN_A_RUN: [&str; 2] = ["lose(", "loss::refuse("];

/// Returns all source files below a folder, or the file.
fn sources(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = std::fs::read_dir(path).expect("the folder is there");
    entries.flat_map(|entry| sources(&entry.expect("it can be listed").path())).collect()
}

/// Returns the first text literal of `code`, with a space for each broken line.
fn literal(code: &str) -> Option<String> {
    let (_, rest) = code.split_once('"')?;
    let (mut text, mut chars) = (String::new(), rest.chars());
    loop {
        match chars.next()? {
            '"' => return Some(text.split_whitespace().collect::<Vec<_>>().join(" ")),
            '\\' => {
                if chars.next()? == 'n' {
                    text.push(' ');
                }
            }
            char => text.push(char),
        }
    }
}

/// Returns the messages: the literals after `calls` in the sources below `path`.
fn messages(path: &str, calls: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for file in sources(&root().join(path)) {
        let code = std::fs::read_to_string(&file).expect("it is text");
        for call in calls {
            for (at, _) in code.match_indices(call) {
                // Neither a definition nor a longer name.
                let before = code[..at].chars().next_back().unwrap_or(' ');
                if !code[..at].ends_with("fn ") && !before.is_alphanumeric() && before != '_' {
                    found.extend(literal(&code[at..]));
                }
            }
        }
    }
    found
}

#[test]
fn every_refusal_is_explained() {
    let page =
        std::fs::read_to_string(root().join("docs/guide/troubleshooting.md")).expect("the page is there");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let rows: Vec<Vec<&str>> =
        rows.map(|cell| cell.split("..").map(str::trim).filter(|part| !part.is_empty()).collect()).collect();
    let mut all = messages("crates/raddle-native/src", &IN_A_RUN);
    assert!(all.len() >= 12, "the calls have other names now: {all:?}");
    let programs = messages("crates/raddle-launch/src/native/program.rs", &["ensure!(", "bail!("]);
    assert!(programs.len() >= 8, "the calls have other names now: {programs:?}");
    all.extend(programs);
    let explains = |row: &Vec<&str>, message: &str| {
        let mut rest = message;
        row.iter().all(|part| {
            let found = rest.split_once(part);
            rest = found.map_or("", |(_, after)| after);
            found.is_some()
        })
    };
    let missing: Vec<&String> =
        all.iter().filter(|message| !rows.iter().any(|row| explains(row, message))).collect();
    assert!(missing.is_empty(), "docs/guide/troubleshooting.md does not explain: {missing:#?}");
}
