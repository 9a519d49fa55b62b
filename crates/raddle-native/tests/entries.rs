//! The compiler rejects an entry point whose handler does not have the signature of the C function.
//!
//! The library replaces C functions of the program that contains it, so it is not linked here: the files with
//! the macros are compiled as a separate crate, with a few entries.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Compiles entries with a list of hidden functions and handlers, and with the library's macros.
fn compile(name: &str, entries: &str) -> Output {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let [entry, signature] =
        ["child/interpose/entry.rs", "platform/signature.rs"].map(|path| source.join(path));
    let text = format!(
        r#"#![allow(dead_code, unused_imports, unused_macros)]
        mod platform {{
            #[path = {signature:?}]
            pub(crate) mod signature;
            pub(crate) mod real {{
                pub(crate) mod signature {{
                    #![allow(non_camel_case_types)]
                    pub(crate) type sem_post = unsafe extern "C" fn(*mut u32) -> i32;
                    pub(crate) type six = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64) -> i32;
                    pub(crate) type seven = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64, u64) -> i32;
                }}
            }}
        }}
        mod child {{
            pub(crate) mod stack {{
                pub(crate) static FRAME: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
            }}
            pub(crate) mod interpose {{
                #[path = {entry:?}]
                pub(super) mod entry;
                pub(crate) mod unwind {{
                    pub(crate) static DUE: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(0);
                    pub(crate) unsafe extern "C" fn leave() {{}}
                }}
                mod family {{
                    use super::entry::{{cancellation_points, entries, exported, full_entries, system_calls}};
                    unsafe extern "C" fn post(_: *mut u32, _place: usize) -> i32 {{ 0 }}
                    unsafe extern "C" fn same(_: *mut u32) -> i32 {{ 0 }}
                    unsafe extern "C" fn unit(_: *mut u32, _place: usize) {{}}
                    unsafe extern "C" fn wrong_type(_: u32, _place: usize) -> i32 {{ 0 }}
                    unsafe extern "C" fn too_many(_: *mut u32, _: i32, _place: usize) -> i32 {{ 0 }}
                    unsafe extern "C" fn of_six(_: u64, _: u64, _: u64, _: u64, _: u64, _: u64) -> i32 {{ 0 }}
                    unsafe extern "C" fn six_and_place(_: u64, _: u64, _: u64, _: u64, _: u64, _: u64, _place: usize) -> i32 {{ 0 }}
                    unsafe extern "C" fn of_seven(_: u64, _: u64, _: u64, _: u64, _: u64, _: u64, _: u64) -> i32 {{ 0 }}
                    {entries}
                }}
            }}
        }}"#
    );
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let [file, output] = ["rs", "o"].map(|end| folder.join(format!("entries-{name}.{end}")));
    std::fs::write(&file, text).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.args(["--edition=2024", "--crate-type=lib", "--emit=obj", "-o"]).arg(output).arg(file);
    command.output().unwrap()
}

/// Checks that entries are rejected with this message.
#[track_caller]
fn assert_refused(name: &str, entries: &str, message: &str) {
    let output = compile(name, entries);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{entries} was compiled");
    assert!(text.contains(message), "{message:?} is not in {text}");
}

#[test]
fn handlers_with_the_signature_are_compiled() {
    let entries = "entries! { sem_post => post; given(a: *mut u32) -> i32 => post; }
        system_calls! { sem_wait(a: *mut u32) -> i32 => same; six => of_six; }
        cancellation_points! { sem_point(a: *mut u32) => unit; }
        full_entries! { seven => of_seven; }";
    let output = compile("right", entries);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_handler_with_another_number_of_arguments_is_refused() {
    assert_refused("few", "entries! { sem_post => same; }", "E0308");
    assert_refused("many", "entries! { sem_post => too_many; }", "E0308");
    assert_refused("given", "entries! { given(a: *mut u32, b: i32) -> i32 => post; }", "E0308");
    assert_refused("call", "system_calls! { sem_post => post; }", "E0308");
    assert_refused("point", "cancellation_points! { sem_post => same; }", "E0308");
    assert_refused("full", "full_entries! { seven => of_six; }", "E0308");
}

#[test]
fn a_handler_with_other_types_is_refused() {
    assert_refused("type", "entries! { sem_post => wrong_type; }", "E0308");
    assert_refused("result", "entries! { sem_post => unit; }", "E0308");
    assert_refused(
        "exported",
        "unsafe extern \"C\" fn sem_post(_: *mut i32) -> i32 { 0 } exported! { sem_post }",
        "E0308",
    );
}

#[test]
fn an_entry_without_a_register_left_is_refused() {
    assert_refused("register", "entries! { six => six_and_place; }", "no register is left");
    assert_refused("stack", "system_calls! { seven => of_seven; }", "an argument is on the stack");
}

/// Returns the names of C functions that are defined in a file without an entry, and those that `exported!`
/// checks there.
fn exports(text: &str) -> (Vec<&str>, Vec<&str>) {
    let name = |rest: &'static str| move |line: &&str| line.contains(rest);
    let defined = text.split("#[unsafe(no_mangle)]").skip(1).filter_map(|after| {
        let line = after.lines().find(name("fn "))?;
        let is_naked = line.ends_with("() {")
            && text.contains(&format!("#[unsafe(naked)]\n#[unsafe(no_mangle)]\n{line}"));
        (!is_naked).then(|| line.split("fn ").nth(1)?.split('(').next()).flatten()
    });
    let checked = text
        .split("exported! {")
        .skip(1)
        .flat_map(|after| after.split('}').next().into_iter().flat_map(str::split_whitespace));
    (defined.collect(), checked.collect())
}

#[test]
fn every_export_that_hides_a_function_is_checked() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let real = std::fs::read_to_string(source.join("platform/real.rs")).unwrap();
    let hidden: Vec<&str> =
        real.lines().filter_map(|line| line.strip_prefix("    fn ")?.split('(').next()).collect();
    let mut found = 0;
    for entry in std::fs::read_dir(source.join("child/interpose")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let (defined, checked) = exports(&text);
        for name in defined.into_iter().filter(|name| hidden.contains(name)) {
            found += 1;
            assert!(checked.contains(&name), "{}: `{name}` is missing in `exported!`", path.display());
        }
    }
    assert!(found > 30, "only {found} exports were found");
}
