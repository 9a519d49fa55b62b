//! The standard test harness: the tests of a program, and which of them are selected.

use crate::build::Binary;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::io::Read;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The time limit for listing tests. A program does so without control, and one with another harness may
/// never end.
const PATIENCE: Duration = Duration::from_secs(60);

/// A test of a program.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its path in the crate.
    pub name: String,
    /// True if it is marked `#[ignore]`.
    pub ignored: bool,
}

/// Returns the tests of `binary`, by name, or the reason why it does not list them.
pub fn list(binary: &Binary) -> Result<Result<Vec<Listed>, String>> {
    let all = match names(binary, &[])? {
        Ok(all) => all,
        Err(why) => return Ok(Err(why)),
    };
    if all.is_empty() {
        return Ok(is_standard(binary)?.map(|()| Vec::new()));
    }
    let ignored: BTreeSet<String> = match names(binary, &["--ignored"])? {
        Ok(ignored) => ignored.into_iter().collect(),
        Err(why) => return Ok(Err(why)),
    };
    let listed = |name: String| Listed { ignored: ignored.contains(&name), name };
    Ok(Ok(all.into_iter().map(listed).collect()))
}

fn names(binary: &Binary, more: &[&str]) -> Result<Result<Vec<String>, String>> {
    let words = [&["--list", "--format", "terse"], more].concat();
    Ok(standard_output(binary, &words)?.and_then(|printed| {
        listed(&printed)
            .ok_or_else(|| "it has a harness of its own, which does not list its tests".to_owned())
    }))
}

/// Returns true if a program that lists no test has the standard harness, whose long list ends with its
/// length even then. Cargo does not report `harness = false`, and such a program may just have run
/// everything.
fn is_standard(binary: &Binary) -> Result<Result<(), String>> {
    const NONE: &str = "0 tests, ";
    Ok(standard_output(binary, &["--list"])?.and_then(|printed| {
        let is_counted = printed.lines().any(|line| line.starts_with(NONE));
        is_counted.then_some(()).ok_or_else(|| "it has a harness of its own, which lists no test".to_owned())
    }))
}

/// Returns the output of a program without control, or the reason why it is invalid.
fn standard_output(binary: &Binary, words: &[&str]) -> Result<Result<String, String>> {
    let mut command = Command::new(&binary.path);
    command.args(words).current_dir(&binary.folder);
    command.envs(binary.environment.environment.iter().map(|(name, value)| (name, value)));
    let output =
        output(&mut command, PATIENCE).with_context(|| format!("cannot start {}", binary.path.display()))?;
    let Some(output) = output else {
        let seconds = PATIENCE.as_secs();
        return Ok(Err(format!("its tests cannot be listed, it has not ended after {seconds} seconds")));
    };
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let complaint = complaint.lines().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
        return Ok(Err(format!("its tests cannot be listed, {}: {complaint}", output.status)));
    }
    Ok(Ok(String::from_utf8_lossy(&output.stdout).into_owned()))
}

/// Returns the output and status of a command; `None` if it has not ended after `patience`, or its output is
/// still open then; it is then killed.
fn output(command: &mut Command, patience: Duration) -> std::io::Result<Option<Output>> {
    let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    #[expect(clippy::disallowed_methods, reason = "the wait has a limit")]
    let deadline = Instant::now() + patience;
    #[expect(clippy::disallowed_methods, reason = "the wait has a limit")]
    let left = || deadline.saturating_duration_since(Instant::now());
    let (stdout, stderr) = (process.stdout.take(), process.stderr.take());
    let readers = reader(stdout).and_then(|stdout| Ok((stdout, reader(stderr)?)));
    let texts = readers
        .map(|(stdout, stderr)| Some((stdout.recv_timeout(left()).ok()?, stderr.recv_timeout(left()).ok()?)));
    // A process that has closed its output may continue.
    while matches!(texts, Ok(Some(_))) && process.try_wait()?.is_none() && !left().is_zero() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let in_time = process.try_wait()?.is_some();
    if !in_time {
        // It may have ended in the meantime.
        _ = process.kill();
    }
    let status = process.wait()?;
    Ok(texts?.filter(|_| in_time).map(|(stdout, stderr)| Output { status, stdout, stderr }))
}

/// Returns a channel that receives everything read, in one piece.
fn reader(from: Option<impl Read + Send + 'static>) -> std::io::Result<mpsc::Receiver<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        // A read error ends the output, and the receiver may be gone.
        _ = from.map(|mut from| from.read_to_end(&mut bytes));
        _ = sender.send(bytes);
    })?;
    Ok(receiver)
}

/// Returns the names in a list of the standard harness. `None` if it is not such a list.
fn listed(printed: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for line in printed.lines() {
        match line.rsplit_once(": ")? {
            (name, "test") => names.push(name.to_owned()),
            (_, "benchmark") => {}
            _ => return None,
        }
    }
    Some(names)
}

/// Returns the arguments with which the program runs only this test.
pub fn arguments(test: &Listed) -> Vec<String> {
    let mut words = vec![&test.name[..], "--exact", "--nocapture", "--test-threads=1"];
    if test.ignored {
        words.push("--include-ignored");
    }
    words.into_iter().map(str::to_owned).collect()
}

/// The selection of tests marked `#[ignore]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Ignored {
    #[default]
    Not,
    Too,
    Only,
}

/// The selected tests.
#[derive(Default, Debug)]
pub struct Selection {
    filters: Vec<String>,
    skips: Vec<String>,
    exact: bool,
    ignored: Ignored,
}

/// The reason why a test is not run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeftOut {
    /// It was not selected.
    Filtered,
    /// It is marked `#[ignore]`.
    Ignored,
}

impl Selection {
    /// Returns the selection by a filter and the arguments after `--`.
    pub fn new(filter: Option<&str>, harness: &[String]) -> Result<Selection> {
        let mut selection = Selection::default();
        selection.filters.extend(filter.map(str::to_owned));
        let mut words = harness.iter();
        while let Some(word) = words.next() {
            match (&word[..], word.split_once('=')) {
                ("--ignored", _) => selection.ignored = Ignored::Only,
                ("--include-ignored", _) => selection.ignored = Ignored::Too,
                ("--exact", _) => selection.exact = true,
                // Always the case.
                ("--nocapture" | "--no-capture" | "--show-output", _) | (_, Some(("--test-threads", _))) => {}
                ("--test-threads", _) => drop(words.next()),
                ("--skip", _) => {
                    let name = words.next().context("--skip needs the name of a test")?;
                    selection.skips.push(name.clone());
                }
                (_, Some(("--skip", name))) => selection.skips.push(name.to_owned()),
                (option, _) if option.starts_with('-') => bail!(
                    "{option}: not known after --; there are --ignored, --include-ignored, --exact, --skip FILTER and filters"
                ),
                (filter, _) => selection.filters.push(filter.to_owned()),
            }
        }
        Ok(selection)
    }

    /// Returns the reason why a test is left out, if it is.
    pub fn leaves_out(&self, test: &Listed) -> Option<LeftOut> {
        let fits =
            |filter: &String| if self.exact { test.name == *filter } else { test.name.contains(&filter[..]) };
        let wanted = self.filters.is_empty() || self.filters.iter().any(fits);
        match (self.ignored, test.ignored) {
            _ if !wanted || self.skips.iter().any(fits) => Some(LeftOut::Filtered),
            (Ignored::Only, false) => Some(LeftOut::Filtered),
            (Ignored::Not, true) => Some(LeftOut::Ignored),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_out(words: &[&str], name: &str, ignored: bool) -> Option<LeftOut> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let selection = Selection::new(None, &words).expect("the arguments are known");
        selection.leaves_out(&Listed { name: name.to_owned(), ignored })
    }

    #[test]
    fn tests_are_chosen_as_by_the_harness() {
        assert_eq!(left_out(&[], "a::b", false), None);
        assert_eq!(left_out(&[], "a::b", true), Some(LeftOut::Ignored));
        assert_eq!(left_out(&["--ignored"], "a::b", false), Some(LeftOut::Filtered));
        assert_eq!(left_out(&["--ignored"], "a::b", true), None);
        assert_eq!(left_out(&["--include-ignored", "b"], "a::b", true), None);
        assert_eq!(left_out(&["--exact", "b"], "a::b", false), Some(LeftOut::Filtered));
        assert_eq!(left_out(&["c", "b"], "a::b", false), None);
        assert_eq!(left_out(&["--skip", "a::"], "a::b", false), Some(LeftOut::Filtered));
        assert_eq!(left_out(&["--skip=c", "--test-threads", "1"], "a::b", false), None);
    }

    #[test]
    fn lists_of_others_are_no_lists() {
        assert_eq!(listed("a::b: test\nc: benchmark\n"), Some(vec!["a::b".to_owned()]));
        assert_eq!(listed(""), Some(Vec::new()));
        assert_eq!(listed("running\na::b: test\n"), None);
        assert_eq!(listed("note: all is well\n"), None);
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for words in [&["--shuffle"][..], &["--skip"]] {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            assert!(Selection::new(None, &words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn nobody_waits_for_ever_for_a_list() {
        let mut endless = Command::new("sleep");
        let ended = output(endless.arg("1000"), Duration::from_millis(1)).expect("it starts");
        assert!(ended.is_none());
        let both = output(Command::new("sh").args(["-c", "echo a; echo b >&2; exit 3"]), PATIENCE);
        let both = both.expect("it starts").expect("it ends");
        assert_eq!(
            (&both.stdout[..], &both.stderr[..], both.status.code()),
            (&b"a\n"[..], &b"b\n"[..], Some(3))
        );
    }
}
