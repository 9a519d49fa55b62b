//! `raddle run program.c`.

use super::folder;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Runs raddle with its own cache in `folder`.
fn raddle(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    command
        .args(words)
        .current_dir(folder)
        .env("RADDLE_CACHE", folder.join("cache"))
        .env("LC_ALL", "C")
        .output()
        .expect("raddle starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const RACE: &str = "\
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include \"more.h\"
static int counter;
static void *add(void *unused) { counter = counter + MORE; return unused; }
int main(int argc, char **argv) {
    pthread_t other;
    pthread_create(&other, NULL, add, NULL);
    if (argc > 1 && atoi(argv[1]) == 2) add(NULL);
    pthread_join(other, NULL);
    assert(argc == 1 || counter == 2 * MORE);
    return 0;
}
";

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).expect("the folder can be written to");
}

/// Returns the number of programs in the cache.
fn cached(folder: &Path) -> usize {
    std::fs::read_dir(folder.join("cache/programs")).map_or(0, Iterator::count)
}

/// The recorded run is one of the original program, independent of changes to the source and the cache.
#[test]
fn a_source_file_is_compiled_and_its_runs_replay() {
    let folder = folder("source");
    write(&folder, "race.c", RACE);
    write(&folder, "more.h", "#define MORE 1\n");
    let words = ["run", "--json", "race.c", "2"];
    let output = raddle(&folder, &words);
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!((output.status.code(), &report["kind"]), (Some(1), &"assertion".into()), "{report}");
    let recorded = report["failure_file"].as_str().expect("a failing run is written").to_owned();
    let recorded = recorded.as_str();
    assert!(report["message"].as_str().is_some_and(|message| message.contains("race.c:12")), "{report}");
    assert_eq!(raddle(&folder, &["run", "race.c"]).status.code(), Some(0), "its arguments decide");
    assert_eq!(cached(&folder), 1, "the second run found the program of the first");

    let first = raddle(&folder, &["replay", recorded]);
    assert_eq!(first.status.code(), Some(1), "{}", text(&first.stderr));
    // A header is a part of the program too.
    write(&folder, "more.h", "#define MORE 3\n");
    assert_eq!(raddle(&folder, &["run", "--record", "other.json", "race.c", "2"]).status.code(), Some(1));
    assert_eq!(cached(&folder), 2);
    assert_eq!(text(&raddle(&folder, &["replay", recorded]).stdout), text(&first.stdout));

    std::fs::remove_dir_all(folder.join("cache/programs")).expect("it is there");
    let gone = raddle(&folder, &["replay", recorded]);
    assert_eq!(gone.status.code(), Some(2));
    assert!(text(&gone.stderr).contains("no longer in the cache"), "{}", text(&gone.stderr));
    write(&folder, "more.h", "#define MORE 1\n");
    raddle(&folder, &["run", "--record", "again.json", "race.c"]);
    assert_eq!(text(&raddle(&folder, &["replay", recorded]).stdout), text(&first.stdout));
}

#[test]
fn a_cpp_file_is_compiled_with_flags() {
    let folder = folder("source_cpp");
    write(
        &folder,
        "a.cpp",
        "#include <thread>\n#include <cmath>\nint main(int argc, char **) {\n    int x = 0;\n    \
        std::thread([&] { x = LIMIT; }).join();\n    if (x != 3 || std::sqrt(double(argc)) > 1) __builtin_trap();\n}\n",
    );
    let right = raddle(&folder, &["run", "--runs", "20", "--cflags", "-DLIMIT=3 -lm", "a.cpp"]);
    assert_eq!(right.status.code(), Some(0), "{}", text(&right.stderr));
    let wrong = raddle(&folder, &["run", "--runs", "20", "--cflags", "-DLIMIT=4 -lm", "a.cpp"]);
    assert_eq!(wrong.status.code(), Some(1), "{}", text(&wrong.stderr));
    let useless = raddle(&folder, &["run", "--cflags", "-DLIMIT=4", "--", "/bin/true"]);
    assert!(text(&useless.stderr).contains("--cflags needs a C or C++ source"), "{}", text(&useless.stderr));
}

/// Errors before and after preprocessing, at linking, and a missing file.
#[test]
fn the_compiler_says_what_is_wrong() {
    let folder = folder("source_wrong");
    for (content, said) in [
        ("int main(void) { return missing; }\n", "wrong.c:1:25: error: "),
        ("#include \"nowhere.h\"\n", "nowhere.h: No such file"),
        ("int nothing(void);\nint main(void) { return nothing(); }\n", "undefined reference"),
    ] {
        write(&folder, "wrong.c", content);
        let output = raddle(&folder, &["run", "wrong.c"]);
        let message = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()), "{message}");
        assert!(message.contains(said), "{message}");
        assert!(
            message.ends_with("error: cannot compile wrong.c; see the compiler's messages above\n"),
            "{message}"
        );
        assert_eq!(cached(&folder), 0);
    }
    let output = raddle(&folder, &["run", "nowhere.cc"]);
    assert!(
        text(&output.stderr).contains("cannot read nowhere.cc: No such file"),
        "{}",
        text(&output.stderr)
    );
}
