//! README.md and the pages in `docs/guide`: every command runs, and its output is the one on the page.
//!
//! The blocks of a page run in order, in a new folder outside of the repository. README.md finds a copy of
//! `examples/account` there. The word after the backticks is the language, and options follow it:
//!
//! * `file=NAME`: the block is written to this file.
//! * `console`: commands in lines that begin with `$`, each followed by its standard output, or its standard
//!   error if there is no other. `[...]` in a line of its own omits any number of lines.
//! * `sh`: commands without an output.
//! * `exit=STATUS`: the exit status of the last command of the block. All others end with 0.
//! * `needs=erlang`, `elixir` or `make`: the block is skipped with a message if this is not installed.
//! * `needs=network` or `needs=project`: the block does not run here. `.ci/run` runs those of README.md.
//!
//! With `RADDLE_BLESS` set, a command whose output differs gets its whole output.

use crate::normal::Normal;
use crate::{is_set, programs, root, shell};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A fenced block.
struct Block<'a> {
    language: &'a str,
    options: Vec<(&'a str, &'a str)>,
    /// The numbers of its lines, without the fences.
    lines: std::ops::Range<usize>,
}

impl Block<'_> {
    fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }
}

fn blocks<'a>(lines: &[&'a str]) -> Vec<Block<'a>> {
    let mut blocks = Vec::new();
    let mut fences = (0..lines.len()).filter(|&line| lines[line].starts_with("```"));
    while let (Some(first), Some(last)) = (fences.next(), fences.next()) {
        let mut words = lines[first].trim_start_matches('`').split_whitespace();
        let language = words.next().unwrap_or_default();
        let options = words.map(|word| word.split_once('=').unwrap_or((word, ""))).collect();
        blocks.push(Block { language, options, lines: first + 1..last });
    }
    blocks
}

/// Runs a page.
fn check(page: &str) {
    let file = root().join(page);
    let text = std::fs::read_to_string(&file).expect("a page is UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    if page == "README.md" {
        copy(&root().join("examples/account"), &folder.path().join("examples/account"));
    }
    let mut here = folder.path().canonicalize().expect("the folder exists");
    let mut rewritten: Vec<String> = Vec::new();
    let mut different = Vec::new();
    let mut written = 0;
    for block in blocks(&lines) {
        rewritten.extend(lines[written..block.lines.start].iter().map(|line| (*line).to_owned()));
        written = block.lines.end;
        let content = &lines[block.lines.clone()];
        if let Some(name) = block.option("file") {
            let file = here.join(name);
            std::fs::create_dir_all(file.parent().expect("a file is in a folder")).expect("it can be made");
            std::fs::write(file, content.join("\n") + "\n").expect("the file can be written");
        }
        let runs = matches!(block.language, "console" | "sh") && block.option("needs").is_none_or(has);
        if runs {
            rewritten.extend(run(&mut here, &block, content, page, &mut different));
        } else {
            rewritten.extend(content.iter().map(|line| (*line).to_owned()));
        }
    }
    rewritten.extend(lines[written..].iter().map(|line| (*line).to_owned()));
    if is_set("RADDLE_BLESS") && !different.is_empty() {
        std::fs::write(&file, rewritten.join("\n") + "\n").expect("the page can be written");
    } else {
        assert!(different.is_empty(), "{}", different.join("\n"));
    }
}

/// Runs the commands of a block. Returns its lines with the outputs found, where they differ.
fn run(
    here: &mut PathBuf,
    block: &Block<'_>,
    content: &[&str],
    page: &str,
    different: &mut Vec<String>,
) -> Vec<String> {
    let is_command = |line: &&str| block.language == "sh" || line.starts_with("$ ");
    let starts: Vec<usize> = (0..content.len()).filter(|&line| is_command(&content[line])).collect();
    let mut lines = Vec::new();
    for (number, &start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).copied().unwrap_or(content.len());
        let (command, expected) = (content[start].trim_start_matches("$ "), &content[start + 1..end]);
        lines.push(content[start].to_owned());
        if let Some(folder) = command.strip_prefix("cd ") {
            *here = here.join(folder);
            assert!(here.is_dir(), "{page}: `{command}`: there is no such folder");
            continue;
        }
        let output = shell(here, command).output().expect("sh starts");
        let printed = if output.stdout.is_empty() { &output.stderr } else { &output.stdout };
        let is_last = number + 1 == starts.len();
        let status = if is_last { block.option("exit").unwrap_or("0") } else { "0" };
        assert_eq!(
            output.status.code().map(|code| code.to_string()).as_deref(),
            Some(status),
            "{page}: `{command}`:\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        if block.language == "sh" {
            continue;
        }
        let normal = Normal::new(here);
        let normalized = |text: &str| -> Vec<String> {
            normal.text(text).lines().map(|line| line.trim_end().to_owned()).collect()
        };
        let printed = String::from_utf8_lossy(printed);
        if matches(&normalized(&expected.join("\n")), &normalized(&printed)) {
            lines.extend(expected.iter().map(|line| (*line).to_owned()));
        } else {
            different.push(format!("{page}: `{command}` prints:\n{printed}"));
            lines.extend(printed.lines().map(|line| line.trim_end().to_owned()));
        }
    }
    lines
}

/// Returns true if `found` is `expected`, in which `[...]` stands for any lines.
fn matches(expected: &[String], found: &[String]) -> bool {
    let Some(gap) = expected.iter().position(|line| line == "[...]") else { return expected == found };
    let (first, rest) = (&expected[..gap], &expected[gap + 1..]);
    found.starts_with(first) && (first.len()..=found.len()).any(|from| matches(rest, &found[from..]))
}

/// Returns true if the requirement of a block is met. Prints a message if not.
fn has(need: &str) -> bool {
    match need {
        "network" | "project" => false,
        "erlang" => programs::has_erlang(),
        tool => {
            let program = if tool == "elixir" { "elixirc" } else { tool };
            let found = Command::new(program).arg("--version").output().is_ok();
            if !found {
                let words = format!("NOT TESTED: a block of the guide that needs {tool}");
                writeln!(std::io::stderr(), "\n{words}\n").expect("standard error is writable");
            }
            found
        }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder can be made");
    for entry in std::fs::read_dir(from).expect("the example exists") {
        let entry = entry.expect("it can be listed");
        let name = entry.file_name();
        match entry.path().is_dir() {
            true if name != "target" => copy(&entry.path(), &to.join(name)),
            true => {}
            false => drop(std::fs::copy(entry.path(), to.join(name)).expect("a file can be copied")),
        }
    }
}

/// Declares a test for each page.
macro_rules! pages {
    ($($name:ident: $page:literal,)*) => {
        const PAGES: &[&str] = &[$($page),*];
        $(#[test] fn $name() { check($page); })*
    };
}

pages! {
    readme: "README.md",
    index: "docs/guide/README.md",
    campaigns: "docs/guide/campaigns.md",
    ci: "docs/guide/ci.md",
    erlang: "docs/guide/erlang.md",
    existing_tests: "docs/guide/existing-tests.md",
    first_c_program: "docs/guide/first-c-program.md",
    network: "docs/guide/network.md",
    first_rust_test: "docs/guide/first-rust-test.md",
    linearizability: "docs/guide/linearizability.md",
    lock_free: "docs/guide/lock-free.md",
    loom_shuttle: "docs/guide/loom-shuttle.md",
    reading_a_report: "docs/guide/reading-a-report.md",
    many_machines: "docs/guide/many-machines.md",
    strategies: "docs/guide/strategies.md",
    transactions: "docs/guide/transactions.md",
    troubleshooting: "docs/guide/troubleshooting.md",
}

#[test]
fn every_page_is_tested_and_its_links_lead_to_files() {
    let listed = std::fs::read_dir(root().join("docs/guide")).expect("there is a guide");
    for entry in listed {
        let name = entry.expect("it can be listed").file_name();
        let page = format!("docs/guide/{}", name.to_string_lossy());
        assert!(PAGES.contains(&&page[..]), "{page} is not in the list of tests/texts/guide.rs");
    }
    let link = regex_lite::Regex::new(r"\]\(([^)#:]+)(#[^)]*)?\)").expect("the pattern is well formed");
    for page in PAGES.iter().copied().chain(["ARCHITECTURE.md", "CONTRIBUTING.md"]) {
        let file = root().join(page);
        let text = std::fs::read_to_string(&file).expect("a page is UTF-8");
        for found in link.captures_iter(&text) {
            let target = file.parent().expect("a page is in a folder").join(&found[1]);
            assert!(target.exists(), "{page} links to {}, which does not exist", &found[1]);
        }
    }
}

#[test]
fn omitted_lines_match_any() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let is = |expected: &str, found: &str| matches(&lines(expected), &lines(found));
    assert!(is("a\n[...]\nd", "a\nb\nc\nd") && is("[...]\nb\n[...]", "a\nb") && is("a", "a"));
    assert!(!is("a\n[...]\nd", "a\nb\nc") && !is("[...]\nb", "b\nc") && !is("a", "a\nb"));
}
