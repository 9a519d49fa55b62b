//! Normalizes texts that differ between machines and runs.

use crate::{root, scratch};
use regex_lite::{Captures, Regex};
use std::path::Path;

/// The replacements in the output of one command.
pub(crate) struct Normal {
    /// Paths and the words for them, in the order of their replacement.
    paths: Vec<(String, &'static str)>,
}

impl Normal {
    /// Creates the replacements for a command that runs in `folder`.
    pub(crate) fn new(folder: &Path) -> Normal {
        let scratch = scratch();
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let paths = vec![(path(folder), "[here]"), (path(&scratch), "[scratch]"), (path(&root()), "[root]")];
        Normal { paths }
    }

    /// Returns the text that is compared. It ends with a newline, if it is not empty.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut text: String = text.lines().map(|line| indented(line) + "\n").collect();
        for (path, word) in &self.paths {
            text = text.replace(path, word);
        }
        for (pattern, replacement) in PATTERNS {
            let pattern = Regex::new(pattern).expect("the pattern is well formed");
            text = pattern.replace_all(&text, replacement).into_owned();
        }
        addresses(&text)
    }
}

/// Times, rates, versions, hashes, and lines of the standard library. Replacements have the same width if
/// columns depend on it.
const PATTERNS: [(&str, &str); 21] = [
    // The width of a path decides the gap after it.
    (r"(?m)^(FAIL  \[(root|here|scratch)\]\S*) {2,}", "$1  "),
    (r"\b(runs?) \(([0-9,]+ without a fork|all forked, [^)]*)\)", "$1"),
    (r"[0-9][0-9,]*/s\b", "1,000/s"),
    (r"\[ *[0-9.]+s\]", "[   0.001s]"),
    (r"\bin [0-9.]+m?s\b", "in 0.01s"),
    (r"\b20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}\b", "2001-01-01 00:00"),
    (r#" time="[0-9.]+""#, r#" time="0.001""#),
    (r#""(at|seconds|seconds_to_bug)": [0-9.e-]+"#, r#""$1": 0"#),
    (r"\b(cargo|rustc) [0-9]+\.[0-9.a-z-]+ \([^)]*\)", "$1 1.0.0"),
    (r"/\S*/bin/cargo:", "[cargo]:"),
    (r"\braddle-failure-[0-9a-f]{8}\b", "raddle-failure-01234567"),
    (r#""raddleFailure/v1": "[0-9a-f]{8}""#, r#""raddleFailure/v1": "01234567""#),
    (r#""id": "[0-9a-f]{8}""#, r#""id": "01234567""#),
    (r#""signature": "[0-9a-f]{64}""#, r#""signature": "0123456789abcdef""#),
    (r"\bgnu:[0-9a-f]+", "gnu:0123456789abcdef"),
    (r"\b(hooks|fixture)-[0-9a-f]{16}\b", "$1-0123456789abcdef"),
    (r"' \([0-9]+\) panicked", "' (1000001) panicked"),
    (r"\btable [0-9]+", "table 1"),
    // The first bytes of the program's path, as a number.
    (r"\b(both\.a|many\.numbers\[0\]) = [0-9]{10}\b", "$1 = 1000000000"),
    (r"\b(((unix|ptr|sys|thread)/)?(atomic|futex|lifecycle|mod|mutex|non_null|once)\.rs):[0-9]+", "$1:1"),
    // They differ between releases of OTP.
    (r"\b(gen|gen_server|proc_lib)\.erl:[0-9]+", "$1.erl:1"),
];

/// Formats a line of JSON with a line for each value, sorted by key, so that a difference is readable.
/// Returns any other line unchanged.
fn indented(line: &str) -> String {
    let mut object =
        line.starts_with('{').then(|| serde_json::from_str::<serde_json::Value>(line).ok()).flatten();
    if let Some(fields) = object.as_mut().and_then(|object| object.as_object_mut()) {
        // Machines differ in whether runs need a fork.
        fields.retain(|name, _| !["forked", "without_fork", "reset_unsupported"].contains(&&name[..]));
    }
    object.map_or_else(|| line.to_owned(), |object| format!("{object:#}"))
}

/// Numbers addresses in the order of their appearance. They keep their width, so that columns keep theirs.
fn addresses(text: &str) -> String {
    let mut seen: Vec<String> = Vec::new();
    let pattern = Regex::new(r"\b0x[0-9a-f]{5,16}\b").expect("the pattern is well formed");
    let number = |found: &Captures<'_>| {
        let address = found[0].to_owned();
        let index = seen.iter().position(|old| *old == address).unwrap_or_else(|| {
            seen.push(address.clone());
            seen.len() - 1
        });
        format!("0x{:0width$}", index + 1, width = address.len() - 2)
    };
    pattern.replace_all(text, number).into_owned()
}
