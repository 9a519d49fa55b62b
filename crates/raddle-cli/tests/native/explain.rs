//! Explanations of C programs with known bugs.

use super::{compile, folder, raddle};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Returns the explanation of the first failing run of a source file, as JSON and as text.
fn explained(name: &str, flags: &str, source: &Path) -> (Value, String) {
    let folder = folder(&format!("explain_{name}"));
    let source = source.to_str().expect("paths are UTF-8");
    let cflags = format!("--cflags={flags}");
    let found = raddle(
        &folder,
        &["run", "--strategy", "pos", "--runs", "20000", "--record", "run.json", &cflags, source],
    );
    assert_eq!(found.status.code(), Some(1), "{name}: {}", String::from_utf8_lossy(&found.stderr));
    let [json, text] =
        [&["explain", "run.json", "--time", "10m", "--json"][..], &["explain", "run.json", "--time", "10m"]]
            .map(|words| {
                let output = raddle(&folder, words);
                assert_eq!(
                    output.status.code(),
                    Some(1),
                    "{name}: {}",
                    String::from_utf8_lossy(&output.stderr)
                );
                String::from_utf8(output.stdout).expect("output is UTF-8")
            });
    (serde_json::from_str(&json).expect("it is JSON"), text)
}

/// Returns the lines of a file with the two operations of a pair, the smaller one first.
fn lines(pair: &Value, file: &str) -> [u32; 2] {
    let mut lines = ["first", "second"].map(|which| {
        let place = pair[which]["location"].as_str().expect("a text");
        let (_, end) = place.split_once(&format!("{file}:")).unwrap_or_else(|| panic!("{place}"));
        let digits: String = end.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().expect("a number")
    });
    lines.sort_unstable();
    lines
}

/// No order of two operations explains accesses that are not seen.
#[test]
fn an_interruption_explains_what_is_not_seen() {
    let folder = compile("interrupted", "hidden", &[]);
    let output = raddle(&folder, &["run", "--strategy", "random-walk", "--", "./hidden"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let (_, why) = text.split_once("\nWhy: ").unwrap_or_else(|| panic!("{text}"));
    let name = &why[..2];
    let begin = format!("{name} was interrupted between hidden.c:6 and hidden.c:8; meanwhile T");
    let end = format!("If {name} goes on without this interruption, the run passes.");
    assert!(why.starts_with(&begin) && why.contains(&end), "{text}");
}

/// The two lines whose order makes the difference, the number of orderings that the bug needs if it can be
/// determined, and the reason, which follows from the program. Freeing memory is not an operation, so no
/// ordering with it can be kept.
#[test]
fn programs_of_the_corpus() {
    let mut wrong = Vec::new();
    for (name, flags, pair, depth, why) in [
        (
            "account",
            "",
            [20, 28],
            Some(3),
            "the check is the third of three sections; before the withdrawal it tests nothing",
        ),
        (
            "bluetooth_driver",
            "",
            [30, 40],
            Some(3),
            "the worker asks after the driver has stopped; before that it holds",
        ),
        (
            "deadlock01",
            "",
            [8, 9],
            Some(2),
            "each has its first lock before the other takes it as its second",
        ),
        ("lazy01", "", [8, 22], Some(2), "without the addition of one the sum is two when it is checked"),
        ("lost_wakeup", "", [11, 22], Some(2), "a signal after the wait has begun wakes it"),
        ("stack", "", [13, 23], Some(2), "one more push before the pop that finds nothing"),
        (
            "CVE-2009-3547",
            "",
            [15, 26],
            Some(2),
            "if the pipe is gone before it is looked at, it is not used",
        ),
        ("CVE-2016-1972", "", [25, 37], None, "the decoder frees after it has seen that flag"),
        ("CVE-2017-15265", "", [12, 25], None, "a deletion before the port is listed finds none"),
        (
            "twostage",
            "-DN=1",
            [21, 37],
            Some(2),
            "a reader that has the second field after the writer sees both",
        ),
        ("wronglock", "-DN=3", [16, 23], Some(2), "an addition after the check does not disturb it"),
        (
            "philosophers",
            "-DN=2",
            [15, 16],
            Some(2),
            "each has its left fork before its neighbour takes that as the right one",
        ),
        ("queue", "", [12, 23], None, "with an item put in before the first look no round is empty"),
    ] {
        let (found, printed) = explained(name, flags, &repository(&format!("benchmarks/corpus/{name}.c")));
        let pairs = found["swapped"].as_array().expect("a list");
        let is_right = pairs.len() == 1
            && lines(&pairs[0], &format!("{name}.c")) == pair
            && printed.contains("swap them and the run passes");
        if found["depth"] != Value::from(depth) || !is_right {
            wrong.push(format!("{name}, {why}: {printed}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Both fields are read before either is written, so two pairs must be swapped.
#[test]
fn two_fields_that_are_read_too_soon_are_two_pairs() {
    let (found, printed) = explained("double_checked", "", &repository("benchmarks/corpus/double_checked.c"));
    let pairs = found["swapped"].as_array().expect("a list");
    let mut lines: Vec<_> = pairs.iter().map(|pair| lines(pair, "double_checked.c")).collect();
    lines.sort_unstable();
    assert_eq!(lines, [[22, 33], [23, 33]], "{printed}");
    assert_eq!(found["depth"], 2, "{printed}");
    assert!(printed.contains("`only.width`") && printed.contains("`only.height`"), "{printed}");
}

/// The source is found by its path in the debug information, from any current folder.
#[test]
fn the_lines_are_shown() {
    let folder = folder("explain_source");
    let source = folder.join("bank.c");
    std::fs::write(
        &source,
        "#include <assert.h>\n#include <pthread.h>\nstatic long balance;\nstatic void *pay(void *unused) {\n    \
         long seen = balance;\n    balance = seen + 1;\n    return unused;\n}\nint main(void) {\n    pthread_t other;\n    \
         pthread_create(&other, 0, pay, 0);\n    pay(0);\n    pthread_join(other, 0);\n    assert(balance == 2);\n}\n",
    )
    .expect("the folder can be written to");
    let (_, printed) = explained("bank", "", &source);
    let (main, other) = ("main", "T1");
    let sentence = |one: &str, two: &str| {
        format!(
            "thread {one} read 0 from `balance` at bank.c:5 before {two} wrote 1 to it at bank.c:6;\nswap them and the run passes."
        )
    };
    assert!(
        printed.contains(&sentence(main, other)) || printed.contains(&sentence(other, main)),
        "{printed}"
    );
    let lines = "\n  bank.c:5  long seen = balance;\n  bank.c:6  balance = seen + 1;\n";
    assert!(printed.contains(lines), "{printed}");
    // A program that was moved together with its source.
    std::fs::remove_file(&source).expect("it was just made");
    let (away, here) = (folder.join("away"), super::folder("explain_moved"));
    std::fs::create_dir_all(&away).expect("the folder can be written to");
    let program = "#include <assert.h>\n#include <pthread.h>\nstatic pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = \
                   PTHREAD_MUTEX_INITIALIZER;\nstatic void *back(void *unused) {\n    pthread_mutex_lock(&b);\n    \
                   pthread_mutex_lock(&a);\n    pthread_mutex_unlock(&a);\n    pthread_mutex_unlock(&b);\n    return \
                   unused;\n}\nint main(void) {\n    pthread_t other;\n    pthread_create(&other, 0, back, 0);\n    \
                   pthread_mutex_lock(&a);\n    pthread_mutex_lock(&b);\n    pthread_mutex_unlock(&b);\n    \
                   pthread_mutex_unlock(&a);\n    pthread_join(other, 0);\n}\n";
    std::fs::write(away.join("abba.c"), program).expect("the folder can be written to");
    let gcc =
        Command::new("gcc").args(["-g", "-pthread", "abba.c", "-o", "abba"]).current_dir(&away).status();
    assert!(gcc.expect("gcc starts").success(), "it is compiled");
    for file in ["abba", "abba.c"] {
        std::fs::rename(away.join(file), here.join(file)).expect("it can be moved");
    }
    let found =
        raddle(&folder, &["run", "--record", "run.json", "--", here.join("abba").to_str().expect("UTF-8")]);
    assert_eq!(found.status.code(), Some(1), "{}", String::from_utf8_lossy(&found.stderr));
    let printed = String::from_utf8_lossy(&raddle(&folder, &["explain", "run.json", "--time", "10m"]).stdout)
        .into_owned();
    assert!(printed.contains("swap them and the run passes.\n  abba.c:"), "{printed}");
    assert!(printed.contains("  pthread_mutex_lock(&"), "{printed}");
}

/// Adjacent variables in one unit of memory, and mutexes inside structures.
#[test]
fn objects_are_named_as_in_the_source() {
    let (found, printed) = explained("names", "-DN=3", &repository("benchmarks/corpus/reorder.c"));
    assert_eq!(found["swapped"].as_array().map(Vec::len), Some(1), "{printed}");
    assert!(printed.contains("`a`") || printed.contains("`b`") || printed.contains("`a/b`"), "{printed}");
    assert!(!printed.contains("completed") && !printed.contains("signed char"), "{printed}");
    let (_, printed) = explained("forks", "-DN=2", &repository("benchmarks/corpus/philosophers.c"));
    assert!(printed.contains("locked `forks[0]` at philosophers.c:15 before"), "{printed}");
}

/// Message passing needs a release at one line; store buffering needs sequential consistency at four, of which a single run
/// shows only two.
#[test]
fn memory_orders_that_are_too_weak_are_named() {
    let folder = folder("too_weak");
    let source = repository("crates/raddle-cli/tests/native/too_weak.c");
    let source = source.to_str().expect("paths are UTF-8");
    for (argument, why, changes) in [
        ("message", "T1's store to `y` at too_weak.c:12 is relaxed. With release this run passes", vec![12]),
        ("buffers", "are relaxed. With seq_cst this run passes, and so do 100 random", vec![17, 18, 23, 24]),
    ] {
        let words = ["run", "--memory", "weak", "--record", "run.json", source, argument];
        let found = raddle(&folder, &words);
        let text = String::from_utf8_lossy(&found.stdout);
        assert_eq!(found.status.code(), Some(1), "{text}{}", String::from_utf8_lossy(&found.stderr));
        let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(one_line.contains(why), "{text}");
        let json = raddle(&folder, &["explain", "run.json", "--json"]);
        let json: Value = serde_json::from_slice(&json.stdout).expect("it is JSON");
        let lines = |change: &Value| {
            let place = change["step"]["location"].as_str().expect("a text");
            let (_, line) = place.rsplit_once("too_weak.c:").expect("a line of the program");
            line.parse::<u32>().expect("a number")
        };
        let mut found: Vec<u32> =
            json["stronger_orders"].as_array().expect("a list").iter().map(lines).collect();
        found.sort_unstable();
        assert_eq!(found, changes, "{json}");
        // The program under sequential consistency is right.
        let passed = raddle(&folder, &["run", "--memory", "sc", "--runs", "500", source, argument]);
        let text = String::from_utf8_lossy(&passed.stdout);
        assert_eq!(passed.status.code(), Some(0), "{text}");
        assert!(text.contains("weak memory was not explored; --memory weak explores it"), "{text}");
    }
}
