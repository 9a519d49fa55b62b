//! The litmus programs of the lab as one C program: the same outcomes.

use super::{build, folder, run};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// Includes, and the function that starts the threads of a program and writes its outcome.
const HEAD: &str = r#"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

typedef void *body(void *);

static void run(body **bodies, int count) {
    pthread_t threads[4];
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], 0, bodies[i], 0);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], 0);
}
"#;

/// Returns the C expression for a call such as `x.load(acquire)`.
fn call(program: &str, text: &str) -> String {
    let (callee, arguments) = text.trim_end_matches(')').split_once('(').expect("a call has parentheses");
    let arguments: Vec<&str> = arguments.split(", ").collect();
    let order = |index: usize| format!("memory_order_{}", arguments[index]);
    if callee == "fence" {
        return format!("atomic_thread_fence({})", order(0));
    }
    let (atomic, method) = callee.split_once('.').expect("a method belongs to an atomic");
    let at = format!("&{program}_{atomic}");
    match method {
        "load" => format!("atomic_load_explicit({at}, {})", order(0)),
        "store" => format!("atomic_store_explicit({at}, {}, {})", arguments[0], order(1)),
        "fetch_add" => format!("atomic_fetch_add_explicit({at}, {}, {})", arguments[0], order(1)),
        "swap" => format!("atomic_exchange_explicit({at}, {}, {})", arguments[0], order(1)),
        "compare_exchange" => {
            let [expected, new] = [arguments[0], arguments[1]];
            let orders = format!("{}, {}", order(2), order(3));
            // The value found ends up in `expected` if it is another one.
            format!(
                "({{ long found = {expected}; \
                 atomic_compare_exchange_strong_explicit({at}, &found, {new}, {orders}); found; }})"
            )
        }
        other => panic!("`{other}` is not a method"),
    }
}

/// Returns the C functions for a program of the lab, which has every statement on a line of its own.
fn translate(name: &str, text: &str) -> String {
    let name = name.replace('+', "_and_");
    let (mut head, mut bodies) = (String::new(), String::new());
    let (mut atomics, mut registers, mut threads) = (Vec::new(), Vec::new(), 0);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(names) = line.strip_prefix("shared ") {
            atomics = names.split(", ").map(|name| name.trim_end_matches(" = 0")).collect();
        } else if let Some(names) = line.strip_prefix("local ") {
            registers.extend(names.split(", "));
        } else if line.starts_with("thread ") {
            writeln!(bodies, "static void *{name}_{threads}(void *unused) {{").expect("text grows");
            threads += 1;
        } else if line == "}" {
            bodies.push_str("    return 0;\n}\n");
        } else if let Some((register, text)) = line.split_once(" = ") {
            writeln!(bodies, "    {name}_{register} = {};", call(&name, text)).expect("text grows");
        } else {
            writeln!(bodies, "    {};", call(&name, line)).expect("text grows");
        }
    }
    for atomic in &atomics {
        writeln!(head, "static atomic_long {name}_{atomic};").expect("text grows");
    }
    for register in &registers {
        writeln!(head, "static long {name}_{register};").expect("text grows");
    }
    let format: Vec<String> = registers.iter().chain(&atomics).map(|name| format!("{name}=%ld")).collect();
    // A thread that has joined all writers reads the newest values.
    let load = |atomic: &&str| format!("atomic_load_explicit(&{name}_{atomic}, memory_order_relaxed)");
    let registers = registers.iter().map(|register| format!("{name}_{register}"));
    let values: Vec<String> = registers.chain(atomics.iter().map(load)).collect();
    let list: Vec<String> = (0..threads).map(|thread| format!("{name}_{thread}")).collect();
    format!(
        "{head}{bodies}static void {name}(FILE *out) {{\n    run((body *[]){{{}}}, {threads});\n    \
         fprintf(out, \"{}\\n\", {});\n}}\n",
        list.join(", "),
        format.join(" "),
        values.join(", ")
    )
}

/// Returns the whole program: `program NAME FILE` appends the outcome of a litmus program to a file.
fn generate<'a>(names: impl Iterator<Item = &'a String>, sources: &Path) -> String {
    let (mut text, mut main) = (HEAD.to_owned(), String::new());
    for name in names {
        let source = std::fs::read_to_string(sources.join(format!("{name}.rdl"))).expect("it is there");
        text += &translate(name, &source);
        let function = name.replace('+', "_and_");
        writeln!(main, "    if (!strcmp(v[1], \"{name}\")) {function}(out);").expect("text grows");
    }
    format!(
        "{text}int main(int c, char **v) {{\n    FILE *out = fopen(v[2], \"a\");\n{main}    return fclose(out);\n}}\n"
    )
    // Names must not start with a digit.
    .replace("2_and_2w", "two_and_2w")
}

#[test]
fn litmus_programs_have_the_outcomes_of_the_lab() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../raddle-lab/litmus");
    let mut wanted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in std::fs::read_to_string(sources.join("outcomes.txt")).expect("it is there").lines() {
        let (name, outcome) = line.split_once(": ").expect("a line has a name and an outcome");
        wanted.entry(name.to_owned()).or_default().insert(outcome.to_owned());
    }
    assert!(wanted.len() >= 48, "{}", wanted.len());
    let source = folder("weak_litmus_source").join("litmus.c");
    std::fs::write(&source, generate(wanted.keys(), &sources)).expect("it is written");
    let folder = build("weak_litmus", "cc", &source, &[]);
    for (name, wanted) in wanted {
        let file = format!("{name}.out");
        let words = ["-s", "dpor", "--memory", "weak", "-n", "2e6", "-j", "1", "./program", &name, &file];
        let report = run(&folder, &words);
        assert_eq!((&report["verdict"], &report["exhausted"]), (&"passed".into(), &true.into()), "{report}");
        let seen = std::fs::read_to_string(folder.join(file)).expect("the program wrote it");
        assert_eq!(seen.lines().map(str::to_owned).collect::<BTreeSet<_>>(), wanted, "{name}");
    }
}
