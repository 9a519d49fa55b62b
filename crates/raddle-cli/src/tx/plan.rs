//! Plans: divisions of operations into transactions, as files that a person can read and edit.

use super::library::Library;
use anyhow::{Context, Result, bail, ensure};
use raddle_cc::Marks;
use raddle_model::native::{Site, Transactions};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

const FIRST_LINE: &str = "# A division of operations into transactions: `raddle tx` reads this file.";
const EXPLANATION: &str = "\
# An operation is one transaction, except that another one begins `before` or `after` an access, or `both`; `-` for neither.";

/// A plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Plan {
    /// The program and its arguments.
    pub(super) words: Vec<String>,
    pub(super) build: String,
    pub(super) operations: BTreeSet<String>,
    pub(super) accesses: Vec<Access>,
}

/// An access of an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Access {
    pub(super) offset: u64,
    pub(super) operation: String,
    /// What it does: `read`, `write`, or both; and `private` if only one thread touches the memory.
    pub(super) what: String,
    pub(super) location: String,
    /// True if a transaction begins before it, and after it.
    pub(super) before: bool,
    pub(super) after: bool,
}

impl Access {
    /// Returns true if several threads touch the memory.
    pub(super) fn is_shared(&self) -> bool {
        !self.what.contains("private")
    }
}

/// Returns a description of what an access does.
pub(super) fn what(site: &Site) -> String {
    let access = match (site.reads, site.writes) {
        (true, true) => "read, write",
        (false, true) => "write",
        _ => "read",
    };
    if site.shared { access.to_owned() } else { format!("{access}, private") }
}

impl Plan {
    /// Returns the plan with one transaction for each operation.
    pub(super) fn of(library: &Library, sites: &[Site]) -> Plan {
        let locations = library.locations(sites.iter().map(|site| site.offset));
        let accesses = sites.iter().zip(locations).map(|(site, location)| Access {
            offset: site.offset,
            operation: library.name(site.operation).to_owned(),
            what: what(site),
            location,
            before: false,
            after: false,
        });
        let mut accesses: Vec<Access> = accesses.collect();
        // A function that several operations call.
        accesses.dedup_by_key(|access| access.offset);
        Plan {
            words: library.words.clone(),
            build: library.build.clone(),
            operations: library.operations.iter().map(|(name, _)| name.clone()).collect(),
            accesses,
        }
    }

    /// Returns the number of boundaries.
    pub(super) fn boundaries(&self) -> usize {
        self.accesses.iter().map(|access| usize::from(access.before) + usize::from(access.after)).sum()
    }

    /// Returns the program, which must be the build of the plan.
    pub(super) fn open(&self, arguments: Option<&[String]>, run_time: Duration) -> Result<Library> {
        let program = Path::new(&self.words[0]);
        let mut library = Library::open(program, arguments.unwrap_or(&self.words[1..]), run_time)?;
        ensure!(
            library.build == self.build,
            "{}: is another build than that of the plan\nhelp: make a plan for it with: raddle tx plan",
            program.display()
        );
        library.name_operations(&self.operations);
        Ok(library)
    }

    /// Returns the transactions of the plan.
    pub(super) fn transactions(&self, library: &Library) -> Transactions {
        let of = |is_set: fn(&Access) -> bool| {
            let mut offsets: Vec<u64> =
                self.accesses.iter().filter(|a| is_set(a)).map(|a| a.offset).collect();
            offsets.sort_unstable();
            offsets
        };
        Transactions {
            before: of(|access| access.before),
            after: of(|access| access.after),
            ..library.transactions()
        }
    }

    /// Returns the marks of the plan for the program that enforces it.
    pub(super) fn marks(&self, library: &Library) -> Marks {
        let Transactions { operations, before, after, .. } = self.transactions(library);
        let addresses = |offsets: Vec<u64>, more: u64| {
            offsets.into_iter().map(|offset| offset + library.first + more).collect()
        };
        // The offset of an access is in the call of a hook, and the hook knows the address after it.
        Marks {
            operations: addresses(operations, 0),
            before: addresses(before, 1),
            after: addresses(after, 1),
        }
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        std::fs::write(path, self.text()).with_context(|| format!("cannot write {}", path.display()))
    }

    pub(super) fn read(path: &Path) -> Result<Plan> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
        Plan::parse(&text).with_context(|| format!("{shown}: is not a plan"))
    }

    fn text(&self) -> String {
        let words: Vec<_> = self.words.iter().map(|word| crate::show::quoted(word)).collect();
        let operations: Vec<&str> = self.operations.iter().map(String::as_str).collect();
        let mut out = format!(
            "{FIRST_LINE}\nprogram {}\nbuild {}\noperations {}\n\n{EXPLANATION}\n",
            words.join(" "),
            self.build,
            operations.join(" ")
        );
        for access in &self.accesses {
            let begins = match (access.before, access.after) {
                (false, false) => "-",
                (true, false) => "before",
                (false, true) => "after",
                (true, true) => "both",
            };
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "{begins:<6}  {:#x}  {}  {}  {}",
                access.offset, access.operation, access.what, access.location
            );
        }
        out
    }

    fn parse(text: &str) -> Result<Plan> {
        ensure!(text.starts_with(FIRST_LINE), "its first line is not: {FIRST_LINE}");
        let (mut words, mut build, mut operations) = (Vec::new(), String::new(), BTreeSet::new());
        let mut accesses = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_end();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = || format!("line {}: {line}", number + 1);
            match line.split_once(' ') {
                Some(("program", rest)) => words = shlex::split(rest).with_context(wrong)?,
                Some(("build", rest)) => build = rest.to_owned(),
                Some(("operations", rest)) => operations.extend(rest.split(' ').map(str::to_owned)),
                _ => accesses.push(access(line).with_context(wrong)?),
            }
        }
        if words.is_empty() || build.is_empty() || operations.is_empty() {
            bail!("it names no program, build or operations");
        }
        Ok(Plan { words, build, operations, accesses })
    }
}

/// Returns the access of a line.
fn access(line: &str) -> Option<Access> {
    let mut parts = line.split("  ").map(str::trim).filter(|part| !part.is_empty());
    let (before, after) = match parts.next()? {
        "-" => (false, false),
        "before" => (true, false),
        "after" => (false, true),
        "both" => (true, true),
        _ => return None,
    };
    Some(Access {
        before,
        after,
        offset: u64::from_str_radix(parts.next()?.strip_prefix("0x")?, 16).ok()?,
        operation: parts.next()?.to_owned(),
        what: parts.next()?.to_owned(),
        location: parts.next()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let access = |offset, before, after| Access {
            offset,
            operation: "push".to_owned(),
            what: "read, write".to_owned(),
            location: "push at stack.c:12".to_owned(),
            before,
            after,
        };
        let plan = Plan {
            words: vec!["/a b/stack".to_owned(), "3".to_owned()],
            build: "gnu:00ff".to_owned(),
            operations: ["push".to_owned(), "pop".to_owned()].into(),
            accesses: vec![access(0x10, false, false), access(0x20, true, false), access(0x30, true, true)],
        };
        assert_eq!(Plan::parse(&plan.text()).unwrap(), plan);
        assert_eq!(plan.boundaries(), 3);
        for wrong in ["", "sometimes  0x10  push  read  x", "before  16  push  read  x"] {
            let text = format!("{FIRST_LINE}\nprogram a\nbuild b\n{wrong}\n");
            assert!(Plan::parse(&text).is_err(), "{wrong}");
        }
    }
}
