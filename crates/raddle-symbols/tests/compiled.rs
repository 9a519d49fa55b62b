//! Programs compiled by the test.

use raddle_symbols::{Base, LocalQuery, Location, Symbols};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Prints the address of the middle of a function relative to the file: minus the load address. The test
/// checks its line numbers.
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

/// Compiles in a separate folder and returns the program.
fn compile(name: &str, compiler: &str, source: &str, text: &str, flags: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("the target folder is writable");
    std::fs::write(folder.join(source), text).expect("the target folder is writable");
    let status = Command::new(compiler).args(flags).args([source, "-o", name]).current_dir(&folder).status();
    assert!(status.expect("the compiler starts").success());
    folder.join(name)
}

/// Returns the address that the program prints.
fn printed(program: &Path) -> u64 {
    let output = Command::new(program).output().expect("the program starts");
    let text = String::from_utf8(output.stdout).expect("it prints a number");
    u64::from_str_radix(text.trim(), 16).expect("it prints a number")
}

/// Returns all addresses that the program prints.
fn all_printed(program: &Path) -> Vec<u64> {
    let output = Command::new(program).output().expect("the program starts");
    let text = String::from_utf8(output.stdout).expect("it prints numbers");
    text.lines().map(|line| u64::from_str_radix(line, 16).expect("a number")).collect()
}

/// Returns the location of the printed address; subtracting one makes it an address inside the instruction.
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
        // The exported symbol just before the function must not be used for it.
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
    let addresses = all_printed(&program);
    let mut symbols = Symbols::new();
    assert_eq!(symbols.variable(&program, addresses[0]), Some(("table".to_owned(), 16)));
    assert_eq!(symbols.variable(&program, addresses[1]), Some(("count".to_owned(), 0)));
    assert_eq!(symbols.variable(&program, 1), None);
    assert_eq!(symbols.first_address(&program), 0x40_0000);
    let pie = compile("globals_pie", "cc", "globals.c", SOURCE, &["-O0", "-pie", "-fPIE"]);
    assert_eq!(symbols.first_address(&pie), 0);
}

/// One letter is the code of a type in mangled C++ names, and the compiler's own code has a variable,
/// `completed`, next to those of the program.
#[test]
fn neighbouring_variables_are_named() {
    const SOURCE: &str = "\
#include <stdio.h>
static volatile char a;
static volatile short b;
static volatile char row[8];
int main(void) {
    printf(\"%lx\\n%lx\\n%lx\\n\", (unsigned long)&a, (unsigned long)&b, (unsigned long)row);
    a = 1, b = 2, row[3] = 1;
    return 0;
}
";
    for (name, debugging) in [("units", "-g"), ("units_plain", "-g0")] {
        let flags = [debugging, "-O0", "-no-pie", "-fno-pie"];
        let program = compile(name, "cc", "units.c", SOURCE, &flags);
        let addresses = all_printed(&program);
        let mut symbols = Symbols::new();
        assert_eq!(symbols.variable(&program, addresses[0]), Some(("a".to_owned(), 0)), "{name}");
        assert_eq!(symbols.variable(&program, addresses[1]), Some(("b".to_owned(), 0)), "{name}");
        let part = symbols.variable(&program, addresses[2] + 1);
        assert_eq!(
            part,
            Some(if debugging == "-g" { ("row[1]".to_owned(), 0) } else { ("row".to_owned(), 1) })
        );
        assert_eq!(symbols.variable(&program, 1), None);
    }
}

#[test]
fn parts_of_variables_are_named() {
    const SOURCE: &str = "\
#include <cstdio>
#include <mutex>
#include <pthread.h>
struct Base { long number; };
struct Worker : Base { int jobs[2][3]; pthread_mutex_t lock; std::mutex other; };
namespace bank { extern Worker pool[4]; Worker pool[4]; namespace { int total; } }
struct Counter { static int count; };
int Counter::count;
static volatile Worker single;
template <class T> void show(T *address) { std::printf(\"%lx\\n\", (unsigned long)address); }
int main() {
    static const Worker inner{};
    show(&bank::pool[1].lock), show(&bank::pool[3].other), show(&bank::pool[2].jobs[1][2]), show(&single.number);
    show(&bank::total), show(&Counter::count), show(&inner.jobs[0][1]), show((char *)&bank::pool[1].lock + 4), show(bank::pool);
}
";
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let name = &format!("parts{version}");
        let program =
            compile(name, "c++", "parts.cc", SOURCE, &[version, "-O0", "-no-pie", "-fno-pie", "-pthread"]);
        let mut symbols = Symbols::new();
        let named: Vec<String> = all_printed(&program)
            .into_iter()
            .map(|address| match symbols.variable(&program, address) {
                Some((name, 0)) => name,
                Some((name, offset)) => format!("{name}+{offset}"),
                None => "?".to_owned(),
            })
            .collect();
        let expected = [
            "bank::pool[1].lock",
            "bank::pool[3].other",
            "bank::pool[2].jobs[1][2]",
            "single.number",
            "bank::total",
            "Counter::count",
            "inner.jobs[0][1]",
            "bank::pool[1].lock+4",
            "bank::pool[0].number",
        ];
        assert_eq!(named, expected, "{version}");
    }
}

#[test]
fn types_of_variables_are_told() {
    const SOURCE: &str = "\
#include <atomic>
#include <cstdint>
#include <cstdio>
enum State : int16_t { CLOSED = -1, HALF, OPEN };
typedef const volatile State Typedef;
struct Parts { int8_t small; uint8_t bits : 3; char letter; bool flag; double rate; Parts *next; };
struct Flags { unsigned a : 3, b : 5, c : 2, d : 9, : 0, e : 1; int next; };
enum Code : uint8_t { FINE, LOST = 200 };
static Parts parts[2];
static Flags flags;
static Code code = LOST;
static Typedef state = OPEN;
static std::atomic<unsigned> count;
static std::atomic<bool> ready;
static std::atomic<int *> place;
static char32_t wide;
static float half;
template <class T> void show(T *address) { std::printf(\"%lx\\n\", (unsigned long)address); }
int main() {
    show(&parts[1].small), show(&parts[1].letter), show(&parts[0].flag), show(&parts[0].rate), show(&parts[1].next);
    show(&state), show(&count), show(&ready), show(&place), show(&wide), show(&half), show((char *)&parts[1].rate + 4);
    show(&parts[0].small + 1);
    char *first = (char *)&flags;
    show(first), show(first + 1), show(first + 2), show(first + 4), show(first + 8);
    show(&code);
}
";
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let name = &format!("types{version}");
        let program = compile(name, "c++", "types.cc", SOURCE, &[version, "-O0", "-no-pie", "-fno-pie"]);
        let mut symbols = Symbols::new();
        let typed = all_printed(&program).into_iter().map(|address| {
            let typed = symbols.typed_variable(&program, address).expect("a variable");
            (typed.name.clone(), typed.offset, typed.size, typed.base)
        });
        let expected = [
            ("parts[1].small", 0, 1, Base::Signed),
            ("parts[1].letter", 0, 1, Base::Character),
            ("parts[0].flag", 0, 1, Base::Bool),
            ("parts[0].rate", 0, 8, Base::Float),
            ("parts[1].next", 0, 8, Base::Pointer),
            ("state", 0, 2, Base::Signed),
            ("count", 0, 4, Base::Unsigned),
            ("ready", 0, 1, Base::Bool),
            ("place", 0, 8, Base::Pointer),
            ("wide", 0, 4, Base::Character),
            ("half", 0, 4, Base::Float),
            ("parts[1].rate", 4, 8, Base::Float),
            ("parts[0].bits", 0, 1, Base::BitField),
            ("flags.a|b", 0, 1, Base::BitField),
            ("flags.c|d", 0, 3, Base::BitField),
            ("flags.c|d", 1, 3, Base::BitField),
            ("flags.e", 0, 4, Base::BitField),
            ("flags.next", 0, 4, Base::Signed),
            ("code", 0, 1, Base::Unsigned),
        ];
        let typed: Vec<_> = typed.collect();
        assert_eq!(
            typed
                .iter()
                .map(|(name, offset, size, base)| (&name[..], *offset, *size, *base))
                .collect::<Vec<_>>(),
            expected,
            "{version}"
        );
        let addresses = all_printed(&program);
        let mut names = |address| symbols.typed_variable(&program, address).expect("a variable").names;
        let named = |value: u64, name: &str| (value, name.to_owned());
        let states = [named(u64::MAX, "CLOSED"), named(0, "HALF"), named(1, "OPEN")];
        assert_eq!(names(addresses[5]), states, "{version}");
        assert_eq!(names(addresses[18]), [named(0, "FINE"), named(200, "LOST")], "{version}");
    }
}

#[test]
fn nothing_fails_hard() {
    let program = compile("cut", "cc", "program.c", PROGRAM, &["-g", "-O1"]);
    let address = printed(&program);
    let whole = std::fs::read(&program).expect("it was just created");
    let broken = program.with_file_name("broken");
    // Every file is broken in another way; any answer is allowed.
    for keep in (0..whole.len()).step_by(whole.len() / 40) {
        std::fs::write(&broken, &whole[..keep]).expect("the target folder is writable");
        assert!(!Symbols::new().locate(&broken, address).to_string().is_empty());
        _ = Symbols::new().variable(&broken, address);
        let mut flipped = whole.clone();
        flipped[keep..].iter_mut().take(64).for_each(|byte| *byte = !*byte);
        std::fs::write(&broken, &flipped).expect("the target folder is writable");
        _ = Symbols::new().variable(&broken, address);
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
    std::fs::remove_file(&program).expect("it was just created");
    let after = symbols.locate_all([(program.as_path(), address), (program.as_path(), u64::MAX)]);
    assert_eq!((&after[0], after[1].frames.len()), (&before, 0));
    assert_eq!(before.frames.len(), 2);
}

/// Returns a function that uses a variable, calls another function and has a branch of its own.
fn counting(before: &str, step: &str) -> String {
    format!(
        "#include <stdio.h>\nstatic volatile int unused, counter;\n{before}\nvoid helper(void) {{ puts(\"h\"); }}\n\
         void count(int n) {{ for (int i = 0; i < n; i++) {{ counter += {step}; helper(); }} }}\n\
         int main(void) {{ count(2); return unused; }}\n"
    )
}

#[test]
fn a_function_is_known_again_in_another_build_unless_it_was_changed() {
    let flags = ["-g", "-O1", "-fno-inline"];
    let build = |name: &str, text: String| compile(name, "cc", "count.c", &text, &flags);
    let mut symbols = Symbols::new();
    let program = build("count_first", counting("", "1"));
    let find = |symbols: &mut Symbols, program: &Path| {
        let all =
            (0x1000..0x3000).filter_map(|address| Some((address, symbols.in_function(program, address)?)));
        all.filter(|(_, place)| place.function == "count").collect::<Vec<_>>()
    };
    let places = find(&mut symbols, &program);
    assert!(places.len() > 10, "{places:?}");
    for (address, place) in &places {
        assert_eq!(symbols.address(&program, place), Some(*address));
    }
    let (address, place) = &places[5];

    let moved = build("count_moved", counting("int more(int x) { return x * 3 + unused; }", "1"));
    let there = symbols.address(&moved, place).expect("the function is the same");
    assert_ne!(there, *address, "the other function has moved it");
    assert_eq!(symbols.in_function(&moved, there).as_ref(), Some(place));

    let changed = build("count_changed", counting("", "2"));
    assert_eq!(symbols.address(&changed, place), None);
    let elsewhere = build("count_elsewhere", counting("", "1").replace("counter +=", "unused +="));
    assert_eq!(symbols.address(&elsewhere, place), None, "it uses another variable");
}

/// Prints an address in `main` and where its variables are, from the canonical frame address.
const LOCALS: &str = "\
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
struct job { int id; int done; };
struct bank { int accounts; int log; };
static int first(struct dl_phdr_info *info, size_t size, void *base) {
    (void)size;
    *(unsigned long *)base = info->dlpi_addr;
    return 1;
}
int main(void) {
    unsigned long base;
    volatile struct bank bank = {1, 2};
    struct job *job = malloc(sizeof *job); /* line 15 */
    void *here;
    __asm__ volatile(\"lea 0(%%rip), %0\" : \"=r\"(here));
    dl_iterate_phdr(first, &base);
    job->done = bank.log;
    printf(\"%lx\\n%lx\\n\", (unsigned long)here - base,
           (unsigned long)__builtin_dwarf_cfa() - (unsigned long)&bank.log);
    return job->done - 2;
}
";

#[test]
fn variables_of_functions_are_named_with_their_fields() {
    let program = compile("locals", "gcc", "locals.c", LOCALS, &["-g", "-O0", "-fno-omit-frame-pointer"]);
    let [address, below] = all_printed(&program)[..] else { panic!("it prints two numbers") };
    let mut symbols = Symbols::new();
    let block = |line, offset| LocalQuery::Block {
        address,
        file: "locals.c".into(),
        line,
        offset,
        size: 8,
        element: None,
    };
    let queries = [
        LocalQuery::Stack { address, offset: -(below as i64) },
        LocalQuery::Stack { address, offset: -(below as i64) - 4 },
        LocalQuery::Stack { address, offset: 64 },
        block(15, 4),
        block(15, 0),
        block(16, 0),
    ];
    let names = symbols.locals(&program, &queries);
    let names: Vec<Option<&str>> = names.iter().map(Option::as_deref).collect();
    assert_eq!(
        names,
        [Some("bank.log"), Some("bank.accounts"), None, Some("job->done"), Some("job->id"), None],
    );
    assert_eq!(symbols.locals(Path::new("/nowhere"), &queries), vec![None; queries.len()]);
}

const BLOCKS: &str = "\
#include <cstdio>
#include <link.h>
#include <memory>
#include <vector>
namespace bank { struct Account { long lock; int balance; int log; }; }
static int first(dl_phdr_info *info, size_t, void *base) {
    *static_cast<unsigned long *>(base) = info->dlpi_addr;
    return 1;
}
int main() {
    unsigned long base;
    void *here;
    std::vector<std::shared_ptr<bank::Account>> accounts;
    accounts.push_back(std::make_shared<bank::Account>());
    __asm__ volatile(\"lea 0(%%rip), %0\" : \"=r\"(here));
    dl_iterate_phdr(first, &base);
    std::printf(\"%lx\\n\", reinterpret_cast<unsigned long>(here) - base);
}
";

#[test]
fn blocks_of_the_allocator_of_cpp_are_named_by_their_type() {
    let program = compile("blocks", "g++", "blocks.cpp", BLOCKS, &["-g", "-O0"]);
    let [address] = all_printed(&program)[..] else { panic!("it prints one number") };
    let block = |element: &str, offset, size| {
        let element = Some(element.to_owned());
        LocalQuery::Block { address, file: "blocks.cpp".into(), line: 14, offset, size, element }
    };
    let shared =
        "std::_Sp_counted_ptr_inplace<bank::Account, std::allocator<void>, (__gnu_cxx::_Lock_policy)2>";
    let queries = [
        block(shared, 16, 32),
        block(shared, 28, 32),
        block(shared, 8, 32),
        // The second element of a vector.
        block("bank::Account", 24, 48),
        block("std::_List_node<std::string>", 16, 48),
        block("bank::Nothing", 0, 8),
    ];
    let names = Symbols::new().locals(&program, &queries);
    let names: Vec<Option<&str>> = names.iter().map(Option::as_deref).collect();
    let expected = ["Account.lock", "Account.log", "Account (count)", "Account.balance"].map(Some);
    assert_eq!(names[..4], expected);
    assert_eq!(names[4..], [None, None]);
}
