use super::*;
use std::path::Path;

/// Returns the cycles of a crate whose files are given as name and text.
fn cycles(files: &[(&str, &str)]) -> Vec<String> {
    let source = |path: &Path| {
        let (_, text) = files.iter().find(|(name, _)| Path::new("src").join(name) == path)?;
        Some((*text).to_owned())
    };
    let modules = read(Path::new("src/lib.rs"), &source).unwrap();
    find(&modules).iter().map(ToString::to_string).collect()
}

#[track_caller]
fn assert_none(files: &[(&str, &str)]) {
    assert_eq!(cycles(files), [""; 0]);
}

/// Checks that there is one cycle and that its text has these parts.
#[track_caller]
fn assert_one(files: &[(&str, &str)], parts: &[&str]) {
    let found = cycles(files);
    let [text] = &found[..] else { panic!("not one cycle: {found:?}") };
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

#[test]
fn siblings_in_an_order_are_fine() {
    assert_none(&[
        ("lib.rs", "mod a; mod b; mod c; fn main() { a::f(); }"),
        ("a.rs", "use crate::b::g; pub(crate) fn f() { g(); crate::c::h(); }"),
        ("b.rs", "use super::c; pub(crate) fn g() { c::h() }"),
        ("c.rs", "pub(crate) fn h() { std::mem::drop(1); libc::read(); }"),
    ]);
}

#[test]
fn siblings_in_a_cycle_are_found_with_their_lines() {
    assert_one(
        &[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "\nuse crate::b::g;\npub(crate) fn f() { g(); }"),
            ("b/mod.rs", "pub(crate) fn g() {\n  let _ = 1;\n  super::c::h()\n}"),
            ("c.rs", "pub(crate) fn h() { crate::a::f() }"),
        ],
        &[
            "src/a.rs:2: crate::a uses crate::b",
            "src/b/mod.rs:3: crate::b uses crate::c",
            "src/c.rs:1: crate::c uses crate::a",
            "help: ",
        ],
    );
}

#[test]
fn two_cycles_are_two() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c { pub fn f() { super::d::f() } } mod d { fn f() { crate::c::f() } }"),
        ("a.rs", "use crate::b::B;"),
        ("b.rs", "struct B(crate::a::A);"),
    ];
    assert_eq!(cycles(&files).len(), 2);
}

#[test]
fn folders_count_as_a_whole() {
    assert_one(
        &[
            ("lib.rs", "mod low { pub(crate) mod a; } mod high { pub(crate) mod b; pub(crate) mod c; }"),
            ("low/a.rs", "use crate::high::b::B;"),
            ("high/b.rs", "pub(crate) struct B;"),
            ("high/c.rs", "use crate::low::a::A;"),
        ],
        &["src/low/a.rs:1: crate::low::a uses crate::high::b", "crate::high::c uses crate::low::a"],
    );
}

#[test]
fn a_parent_may_use_its_children_or_they_may_use_it() {
    let child = ("a/b.rs", "use super::T; pub(crate) fn f(_: T) {}");
    let other = ("a/c.rs", "pub(crate) fn g() {}");
    let lib = ("lib.rs", "mod a;");
    assert_none(&[
        lib,
        child,
        other,
        ("a/mod.rs", "pub(crate) mod b; mod c; pub(crate) struct T; fn f() { c::g() }"),
    ]);
    let text = "mod b; mod c; pub(crate) struct T; fn f() { b::f(T) }";
    assert_one(
        &[lib, child, other, ("a/mod.rs", text)],
        &["crate::a uses crate::a::b", "crate::a::b uses crate::a"],
    );
}

#[test]
fn reexports_are_not_uses_and_lead_to_the_definition() {
    let lib = ("lib.rs", "mod a;");
    let below = ("a/b.rs", "pub(crate) struct B;");
    let user = ("a/c.rs", "use super::Name; pub(crate) fn f(_: Name) {}");
    assert_none(&[
        lib,
        below,
        user,
        ("a/mod.rs", "mod b; mod c; pub(crate) use b::B as Name; pub(crate) use c::f;"),
    ]);
    // A user of the re-export depends on the module that defines the item.
    let back = ("a/b.rs", "pub(crate) struct B; fn g() { super::f(B) }");
    let both = "mod b; mod c; pub(crate) use b::B as Name; pub(crate) use c::f;";
    assert_one(&[lib, back, user, ("a/mod.rs", both)], &["crate::a::c uses crate::a::b"]);
    // So does one that reaches it through a glob.
    let glob = "mod b; mod c; pub(crate) use b::*; pub(crate) use c::*;";
    let named = ("a/c.rs", "use super::B; pub(crate) fn f(_: B) {}");
    assert_one(&[lib, back, named, ("a/mod.rs", glob)], &["crate::a::b uses crate::a::c"]);
    // A re-exported name that the module itself uses is a use.
    let own = "mod b; pub(crate) use b::B; pub(crate) struct T(B);";
    assert_one(&[lib, ("a/b.rs", "struct B(super::T);"), ("a/mod.rs", own)], &["crate::a uses crate::a::b"]);
}

#[test]
fn macros_count_by_their_tokens() {
    let lib = ("lib.rs", "mod a; mod b;");
    let b = ("b.rs", "use crate::a::f;");
    assert_one(&[lib, b, ("a.rs", "fn f() { x!(sym $crate::b::B, 1) }")], &["crate::a uses crate::b"]);
    assert_one(
        &[lib, b, ("a.rs", "macro_rules! m { ($x:ty) => { let x: (crate::b::B, $x); } }")],
        &["a.rs:1: crate::a uses crate::b"],
    );
    // `super` in a module that the macro defines leads to the module around it.
    let own = "macro_rules! m { () => { mod made { use super::Own; } } } struct Own;";
    assert_none(&[("lib.rs", "mod a { mod c; } mod b;"), ("a/c.rs", own), ("b.rs", "")]);
}

#[test]
fn code_for_tests_and_other_crates_do_not_count() {
    assert_none(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::B; use ::b::B as C;"),
        (
            "b.rs",
            "pub(crate) struct B; #[cfg(test)] mod tests { use crate::a::f; } #[cfg(test)] use crate::a::g;
             /// [`crate::a`]
             #[doc = \"x\"] pub(super) fn f() { ::a::f() }",
        ),
    ]);
}

#[test]
fn a_module_without_a_file_is_an_error() {
    let source = |path: &Path| (path == Path::new("src/lib.rs")).then(|| "mod lost;".to_owned());
    let error = read(Path::new("src/lib.rs"), &source).unwrap_err();
    assert_eq!(error.to_string(), "src/lib.rs declares `mod lost`, which has no file");
}
