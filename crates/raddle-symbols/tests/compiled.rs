//! Programs that a compiler has just made.

use raddle_symbols::{Location, Symbols};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Prints the address of the middle of a function as the file knows it: less the address of loading. The numbers of its
/// lines are checked.
const PROGRAM: &str = "\
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
static void *here;
static volatile int sink;
static inline __attribute__((always_inline)) void inner(void) {
    sink = 1;
    __asm__ volatile(\"lea 0(%%rip), %0\" : \"=r\"(here)); /* line 8 */
    sink = 2;
}
static __attribute__((noinline)) void outer(void) {
    inner(); /* line 12 */
}
static int first(struct dl_phdr_info *info, size_t size, void *base) {
    (void)size;
    *(unsigned long *)base = info->dlpi_addr;
    return 1;
}
int main(void) {
    unsigned long base;
    dl_iterate_phdr(first, &base);
    outer();
    printf(\"%lx\\n\", (unsigned long)here - base);
    return 0;
}
";

/// Compiles in a folder of its own and returns the program.
fn compile(name: &str, compiler: &str, source: &str, text: &str, flags: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("the target folder can be written to");
    std::fs::write(folder.join(source), text).expect("the target folder can be written to");
    let status = Command::new(compiler).args(flags).args([source, "-o", name]).current_dir(&folder).status();
    assert!(status.expect("the compiler starts").success());
    folder.join(name)
}

/// The address that the program prints.
fn printed(program: &Path) -> u64 {
    let output = Command::new(program).output().expect("the program starts");
    let text = String::from_utf8(output.stdout).expect("it prints a number");
    u64::from_str_radix(text.trim(), 16).expect("it prints a number")
}

/// The less one makes it an address inside the instruction.
fn located(program: &Path) -> Location {
    Symbols::new().locate(program, printed(program) - 1)
}

#[test]
fn lines_and_inlined_functions_are_found() {
    for (name, flags) in [
        ("pie", ["-g", "-O1", "-pie", "-fPIE"]),
        ("fixed", ["-g", "-O1", "-no-pie", "-fno-pie"]),
        ("unoptimized", ["-g", "-O0", "-pie", "-fPIE"]),
        ("compressed", ["-g", "-O1", "-gz=zlib", "-gdwarf-4"]),
    ] {
        let program = compile(name, "cc", "program.c", PROGRAM, &flags);
        let location = located(&program);
        let [inner, outer] = &location.frames[..] else { panic!("{name}: {location:?}") };
        assert_eq!((inner.function.as_deref(), inner.line), (Some("inner"), Some(8)), "{name}");
        assert_eq!((outer.function.as_deref(), outer.line), (Some("outer"), Some(12)), "{name}");
        assert!(inner.file.as_ref().is_some_and(|file| file.ends_with("program.c")), "{inner:?}");
        let text = location.to_string();
        assert!(text.starts_with("inner at ") && text.ends_with("program.c:12"), "{text}");
    }
}

#[test]
fn without_debugging_information_the_function_is_known() {
    let program = compile("plain", "cc", "program.c", PROGRAM, &["-g0", "-O1"]);
    let location = located(&program);
    assert_eq!(location.to_string(), format!("outer (plain+{:#x})", location.address));
}

#[test]
fn of_a_stripped_program_the_offset_is_left() {
    for (name, kind) in [("stripped", "-pie"), ("stripped_fixed", "-no-pie")] {
        // The exported symbol just before the function must not be taken for it.
        let program = compile(name, "cc", "program.c", PROGRAM, &["-O1", "-s", "-rdynamic", kind]);
        let location = located(&program);
        assert_eq!(location.to_string(), format!("{name}+{:#x}", location.address));
        assert_eq!(location.frames, []);
    }
}

#[test]
fn names_of_cpp_are_readable() {
    const SOURCE: &str = "\
#include <cstdio>
namespace bank { struct Account { void *here; void pay(int); }; }
__attribute__((noinline)) void bank::Account::pay(int) { __asm__ volatile(\"lea 0(%%rip), %0\" : \"=r\"(here)); }
int main() { bank::Account account; account.pay(1); std::printf(\"%lx\\n\", (unsigned long)account.here); }
";
    for (name, debugging) in [("cpp", "-g"), ("cpp_plain", "-g0")] {
        let program = compile(name, "c++", "bank.cc", SOURCE, &[debugging, "-O1", "-no-pie", "-fno-pie"]);
        let location = located(&program);
        assert_eq!(location.frames[0].function.as_deref(), Some("bank::Account::pay(int)"), "{name}");
        assert_eq!(location.frames[0].line, (debugging == "-g").then_some(3));
    }
}

#[test]
fn global_variables_are_named() {
    const SOURCE: &str = "\
#include <stdio.h>
static long table[4] = {1};
static void *within(void) { static int count; return &count; }
int main(void) { printf(\"%lx\\n%lx\\n\", (unsigned long)&table[2], (unsigned long)within()); return 0; }
";
    // Without position independence the addresses in memory are those of the file.
    let program = compile("globals", "cc", "globals.c", SOURCE, &["-O0", "-no-pie", "-fno-pie"]);
    let output = Command::new(&program).output().expect("the program starts");
    let text = String::from_utf8(output.stdout).expect("it prints numbers");
    let addresses: Vec<u64> =
        text.lines().map(|line| u64::from_str_radix(line, 16).expect("a number")).collect();
    let mut symbols = Symbols::new();
    assert_eq!(symbols.variable(&program, addresses[0]), Some(("table".to_owned(), 16)));
    assert_eq!(symbols.variable(&program, addresses[1]), Some(("count".to_owned(), 0)));
    assert_eq!(symbols.variable(&program, 1), None);
    assert_eq!(symbols.first_address(&program), 0x40_0000);
    let pie = compile("globals_pie", "cc", "globals.c", SOURCE, &["-O0", "-pie", "-fPIE"]);
    assert_eq!(symbols.first_address(&pie), 0);
}

#[test]
fn nothing_fails_hard() {
    let program = compile("cut", "cc", "program.c", PROGRAM, &["-g", "-O1"]);
    let address = printed(&program);
    let whole = std::fs::read(&program).expect("it was just made");
    let broken = program.with_file_name("broken");
    // Every file is broken in another way; the answers may be anything.
    for keep in (0..whole.len()).step_by(whole.len() / 40) {
        std::fs::write(&broken, &whole[..keep]).expect("the target folder can be written to");
        assert!(!Symbols::new().locate(&broken, address).to_string().is_empty());
        let mut flipped = whole.clone();
        flipped[keep..].iter_mut().take(64).for_each(|byte| *byte = !*byte);
        std::fs::write(&broken, &flipped).expect("the target folder can be written to");
        assert!(!Symbols::new().locate(&broken, address).to_string().is_empty());
    }
    let mut symbols = Symbols::new();
    let text =
        |symbols: &mut Symbols, path: &str, address| symbols.locate(Path::new(path), address).to_string();
    assert_eq!(text(&mut symbols, "/no/such/file", 0x12ab), "file+0x12ab");
    assert_eq!(text(&mut symbols, "[vdso]", 1), "[vdso]+0x1");
    assert_eq!(text(&mut symbols, "/", 1), "/+0x1");
    assert_eq!(symbols.locate(&program, u64::MAX).frames, []);
}

#[test]
fn a_module_is_read_once() {
    let program = compile("once", "cc", "program.c", PROGRAM, &["-g", "-O1"]);
    let address = printed(&program) - 1;
    let mut symbols = Symbols::new();
    let before = symbols.locate(&program, address);
    std::fs::remove_file(&program).expect("it was just made");
    let after = symbols.locate_all([(program.as_path(), address), (program.as_path(), u64::MAX)]);
    assert_eq!((&after[0], after[1].frames.len()), (&before, 0));
    assert_eq!(before.frames.len(), 2);
}
