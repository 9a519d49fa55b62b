//! `raddle cc` and `raddle c++`: their programs run plainly, have hooks, and let a preloaded library define
//! them.

use crate::common::{CommandOutput, raddle};
use raddle_testkit::{CLanguage, Points, c_programs};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const RADDLE: &str = env!("CARGO_BIN_EXE_raddle");

const COUNT: &str = "\
#include <stdatomic.h>
#include <stdio.h>
int plain = 40;
_Atomic int counter;
int main(void) {
    plain++;
    atomic_fetch_add(&counter, 3);
    printf(\"%d %d\\n\", plain, counter);
    return 7;
}
";

const THREADS: &str = "\
#include <atomic>
#include <future>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
static std::atomic<int> counter;
static int shared;
static std::string &name() { static std::string text(\"made once\"); return text; }
int main() {
    std::thread other([] { counter += 5; shared++; name(); });
    other.join();
    auto later = std::async(std::launch::async, []() -> int { throw std::runtime_error(\"thrown\"); });
    try { later.get(); } catch (const std::exception &error) {
        std::cout << error.what() << ' ' << counter << ' ' << shared << ' ' << name() << std::endl;
    }
}
";

/// A folder of a test, with its own cache for the compiler's hooks.
struct Folder {
    path: PathBuf,
    /// Set for all commands.
    variables: Vec<(&'static str, String)>,
}

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cc").join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("the target folder can be written to");
        let cache = path.join("cache").to_str().expect("the target folder has a plain name").to_owned();
        Folder { path, variables: vec![("RADDLE_CACHE", cache)] }
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path.join(name), text).expect("the folder of the test can be written to");
    }

    /// Returns a command in the folder, without further arguments.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for name in ["CC", "CXX", "RADDLE_CC", "RADDLE_CXX", "MAKEFLAGS"] {
            command.env_remove(name);
        }
        command.current_dir(&self.path).stdin(Stdio::null()).env("LC_ALL", "C");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a command in the folder.
    fn run(&self, program: &str, words: &[&str]) -> CommandOutput {
        let output = self.command(program).args(words).output();
        CommandOutput::new(output.unwrap_or_else(|error| panic!("{program}: {error}")))
    }

    /// Runs a command that must succeed without messages, and returns its output.
    #[track_caller]
    fn succeed(&self, program: &str, words: &[&str]) -> String {
        let ran = self.run(program, words);
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{program} {words:?}: {}", ran.out);
        ran.out
    }

    #[track_caller]
    fn raddle(&self, words: &str) {
        let words: Vec<_> = words.split(' ').collect();
        assert_eq!(self.succeed(RADDLE, &words), "");
    }

    /// Returns the hooks that a file calls.
    #[track_caller]
    fn hooks(&self, file: &str) -> Vec<String> {
        let symbols = self.succeed("nm", &["-u", file]);
        let names = symbols.lines().filter_map(|line| line.split_whitespace().nth(1));
        names.filter(|name| name.starts_with("__tsan_")).map(str::to_owned).collect()
    }

    /// Runs a program that was compiled from `COUNT`.
    #[track_caller]
    fn counts(&self, program: &str) {
        let ran = self.run(program, &[]);
        assert_eq!((ran.status, ran.out.as_str(), ran.err.as_str()), (7, "41 3\n", ""));
    }
}

/// Returns true if a program is installed; prints a message if not.
fn is_there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).status().is_ok();
    if !found {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "skipped: {program} is not installed");
    }
    found
}

/// C programs, compiled in one step and in two, with all kinds of linking.
fn makes_c(folder: &Folder) {
    folder.write("count.c", COUNT);
    folder.raddle("cc -O2 -Wall -Wextra -Werror count.c -o once");
    folder.raddle("cc -c -Wall -Wextra -Werror count.c -o count.o");
    folder.raddle("cc count.o -o twice");
    folder.raddle("cc -no-pie -O0 count.c -o fixed");
    folder.raddle("cc -O3 -flto -fsanitize=thread count.c -o lto");
    for program in ["./once", "./twice", "./fixed", "./lto"] {
        folder.counts(program);
        let hooks = folder.hooks(program);
        for hook in ["__tsan_read4", "__tsan_write4", "__tsan_atomic32_fetch_add"] {
            assert!(hooks.iter().any(|found| found == hook), "{program} lacks {hook}: {hooks:?}");
        }
        assert!(!hooks.iter().any(|hook| hook.contains("func_entry")), "{hooks:?}");
        assert!(
            !folder.succeed("nm", &["-D", program]).contains("__tsan_switch_to_fiber"),
            "it has a runtime"
        );
    }
    assert!(!folder.hooks("count.o").is_empty());
    folder.raddle("cc -static count.c -o static");
    folder.counts("./static");
    folder.write("words", "-c 'count.c'\n-o other.o");
    folder.raddle("cc @words");
    assert_eq!(folder.hooks("other.o"), folder.hooks("count.o"));
}

#[test]
fn c_programs_run_plainly_and_have_hooks() {
    makes_c(&Folder::new("c"));
}

#[test]
fn clang_makes_c_too() {
    if is_there("clang") {
        let mut folder = Folder::new("clang");
        folder.variables.push(("RADDLE_CC", "clang".to_owned()));
        makes_c(&folder);
    }
}

#[test]
fn cpp_programs_run_plainly_and_have_hooks() {
    for (number, compiler) in ["g++", "clang++"].into_iter().enumerate().filter(|(_, name)| is_there(name)) {
        let mut folder = Folder::new(&format!("cpp{number}"));
        folder.variables.push(("RADDLE_CXX", compiler.to_owned()));
        folder.write("threads.cc", THREADS);
        folder.raddle("c++ -std=c++17 -O2 -Wall -Wextra -Werror threads.cc -o threads -pthread");
        assert_eq!(folder.succeed("./threads", &[]), "thrown 5 1 made once\n");
        let hooks = folder.hooks("threads");
        assert!(hooks.iter().any(|hook| hook.starts_with("__tsan_vptr_update")), "{hooks:?}");
    }
}

/// Instrumentation must not change the behavior of a correct program.
#[test]
fn correct_programs_stay_correct() {
    let folder = Folder::new("correct");
    for program in
        c_programs().iter().filter(|program| program.expect.is_none() && program.points == Points::Shared)
    {
        let language = match program.language {
            CLanguage::C => "cc",
            CLanguage::Cpp => "c++",
        };
        program.compile(folder.command(RADDLE).arg(language), &folder.path.join("program"));
        assert!(!folder.hooks("program").is_empty(), "{}", program.name);
        // A signal becomes an exit status, and a hang is limited.
        let ran = folder.run("sh", &["-c", "timeout 300 ./program || exit 1"]);
        assert_eq!(ran.status, 0, "{}: {}", program.name, ran.err);
    }
}

#[test]
fn preloaded_hooks_win_in_programs_and_shared_libraries() {
    let folder = Folder::new("preload");
    folder.write("part.c", "int shared;\nint part(void) { return ++shared; }\n");
    folder.write("main.c", "int part(void);\nint own;\nint main(void) { own++; return part() - own; }\n");
    folder.write(
        "watch.c",
        "#include <unistd.h>\nvoid __tsan_write4(void *p) { (void)p; if (write(1, \"w\", 1) != 1) _exit(9); }\n",
    );
    folder.raddle("cc -shared -fPIC -Wl,-z,defs part.c -o libpart.so");
    folder.raddle("cc main.c -o main -L. -lpart -Wl,-rpath,$ORIGIN");
    folder.succeed(
        "cc",
        &["-shared", "-fPIC", "-Wno-builtin-declaration-mismatch", "watch.c", "-o", "watch.so"],
    );
    assert_eq!(folder.succeed("./main", &[]), "");
    assert_eq!(folder.succeed("env", &["LD_PRELOAD=./watch.so", "./main"]), "ww");
}

#[test]
fn wide_atomics_and_copies_are_executed() {
    const WIDE: &str = "\
#include <stddef.h>
#include <stdio.h>
#include <string.h>
typedef unsigned __int128 wide;
wide __tsan_atomic128_load(const volatile wide *, int);
wide __tsan_atomic128_fetch_nand(volatile wide *, wide, int);
int __tsan_atomic128_compare_exchange_strong(volatile wide *, wide *, wide, int, int);
wide __tsan_atomic128_compare_exchange_val(volatile wide *, wide, wide, int, int);
void *__tsan_memmove(void *, const void *, size_t);
static wide cell = (wide)7 << 64 | 1;
static void show(wide value) { printf(\"%llu:%llu \", (unsigned long long)(value >> 64), (unsigned long long)value); }
int main(void) {
    wide expected = 3;
    show(__tsan_atomic128_compare_exchange_strong(&cell, &expected, 5, 5, 5));
    show(expected);
    show(__tsan_atomic128_compare_exchange_strong(&cell, &expected, 5, 5, 5));
    show(__tsan_atomic128_compare_exchange_val(&cell, 5, (wide)9 << 64, 5, 5));
    show(__tsan_atomic128_fetch_nand(&cell, ~(wide)0, 5));
    show(~__tsan_atomic128_load(&cell, 5));
    char text[] = \"abcdef\";
    __tsan_memmove(text + 1, text, 4);
    printf(\"%s \", text);
    __tsan_memmove(text, text + 1, 4);
    puts(text);
}
";
    let folder = Folder::new("wide");
    folder.write("wide.c", WIDE);
    folder.raddle("cc -w wide.c -o wide");
    assert_eq!(folder.succeed("./wide", &[]), "0:0 7:1 0:1 0:5 9:0 9:0 aabcdf abcddf\n");
}

#[test]
fn make_passes_it_down() {
    let folder = Folder::new("make");
    folder.write("count.c", COUNT);
    folder.write("Makefile", "CFLAGS = -O2\ncount: count.o\n\t$(CC) -o $@ $^\nagain:\n\t$(MAKE) count\n");
    // The variable is in the environment of the compiler too, where it names Raddle itself.
    let ran = folder.run("make", &["again", &format!("CC={RADDLE} cc")]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{}", ran.out);
    folder.counts("./count");
    assert!(!folder.hooks("./count").is_empty());
}

#[test]
fn cmake_finds_everything_as_without() {
    if !is_there("cmake") {
        return;
    }
    let mut folder = Folder::new("cmake");
    folder.variables.push(("CC", format!("{RADDLE} cc")));
    folder.variables.push(("CXX", format!("{RADDLE} c++")));
    folder.write("count.c", COUNT);
    folder.write("threads.cc", THREADS);
    folder.write(
        "CMakeLists.txt",
        "\
cmake_minimum_required(VERSION 3.13)
project(hooks C CXX)
include(CheckFunctionExists)
include(CheckCSourceRuns)
check_function_exists(no_such_function_anywhere MISSING)
check_function_exists(sched_yield YIELD)
check_c_source_runs(\"int x; int main(void) { x++; return x - 1; }\" RUNS)
find_package(Threads REQUIRED)
file(WRITE ${CMAKE_BINARY_DIR}/found \"${MISSING} ${YIELD} ${RUNS}\")
add_executable(count count.c)
add_executable(threads threads.cc)
target_link_libraries(threads Threads::Threads)
",
    );
    for words in [&["-B", "build", "."][..], &["--build", "build"]] {
        let ran = folder.run("cmake", words);
        assert_eq!(ran.status, 0, "{} {}", ran.out, ran.err);
    }
    assert_eq!(folder.succeed("cat", &["build/found"]), " 1 1");
    folder.counts("build/count");
    assert_eq!(folder.succeed("build/threads", &[]), "thrown 5 1 made once\n");
    assert!(!folder.hooks("build/threads").is_empty());
}

#[test]
fn questions_to_the_compiler_are_passed_on() {
    let folder = Folder::new("questions");
    let version = folder.succeed("cc", &["-dumpversion"]);
    assert_eq!(folder.succeed(RADDLE, &["cc", "-dumpversion"]), version);
    assert_eq!(folder.succeed(RADDLE, &["c++", "--version"]), folder.succeed("c++", &["--version"]));
    let plain = folder.run("cc", &["-v"]);
    assert_eq!(folder.run(RADDLE, &["cc", "-v"]).status, plain.status);
    folder.write("wrong.c", "int main(void) { return no_such_name; }\n");
    let (wrong, plain) = (folder.run(RADDLE, &["cc", "wrong.c"]), folder.run("cc", &["wrong.c"]));
    assert_eq!((wrong.status, wrong.err), (plain.status, plain.err));
    folder.write("open.c", "void no_such_function(void);\nint main(void) { no_such_function(); }\n");
    assert!(folder.run(RADDLE, &["cc", "open.c"]).err.contains("undefined reference"));
}

#[test]
fn user_errors_are_reported() {
    let mut folder = Folder::new("mistakes");
    folder.write("count.c", COUNT);
    folder.run(RADDLE, &["cc", "-fsanitize=address", "count.c"]).is_user_error(&["`-fsanitize=address`"]);
    folder.variables.push(("RADDLE_CC", "no/such/gcc".to_owned()));
    folder.run(RADDLE, &["cc", "count.c"]).is_user_error(&["cannot start no/such/gcc", "No such file"]);
    folder.variables.push(("RADDLE_CC", "true".to_owned()));
    folder.run(RADDLE, &["cc", "count.c"]).is_user_error(&["true is neither gcc nor clang", "RADDLE_CC"]);
    folder.variables.push(("RADDLE_CC", String::new()));
    folder.variables.push(("PATH", "/nowhere".to_owned()));
    folder.run(RADDLE, &["cc", "count.c"]).is_user_error(&["no compiler found", "RADDLE_CC"]);
    folder.variables.pop();
    folder.variables.push(("RADDLE_CACHE", "/proc/nowhere".to_owned()));
    folder.run(RADDLE, &["cc", "count.c"]).is_user_error(&["/proc/nowhere", "set RADDLE_CACHE"]);
    folder.write("loop.txt", &format!("#!/bin/sh\nexec {RADDLE} cc \"$@\"\n"));
    // Written by a separate process: a process that another test starts may inherit a file that this one has
    // open for writing.
    folder.succeed("install", &["-m755", "loop.txt", "loop"]);
    folder.variables = vec![("RADDLE_CC", "./loop".to_owned())];
    folder.run(RADDLE, &["cc", "-c", "count.c"]).is_user_error(&["is neither gcc nor clang"]);
    folder.succeed("mv", &["loop", "loop-gcc"]);
    folder.variables = vec![("RADDLE_CC", "./loop-gcc -O1".to_owned())];
    folder.run(RADDLE, &["cc", "-v"]).is_user_error(&["`raddle cc` itself", "RADDLE_CC"]);
}

#[test]
fn help_teaches() {
    for name in ["cc", "c++"] {
        let ran = raddle(&[name, "--help"]);
        assert_eq!(ran.status, 0);
        for part in ["make CC=\"raddle cc\"", "cmake", "RADDLE_CC", "Exit status"] {
            assert!(ran.out.contains(part), "{part}");
        }
    }
    let general = raddle(&["--help"]).out;
    assert!(general.contains("  cc ") && general.contains("  c++ "), "{general}");
}
