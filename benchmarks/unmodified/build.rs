//! Rewrites the tests of `examples/planted/src/plain.rs` for Shuttle, and counts the changed lines.

use std::path::Path;

const TESTS: &str = "../../examples/planted/src/plain.rs";

fn main() {
    println!("cargo::rerun-if-changed={TESTS}");
    let source = std::fs::read_to_string(TESTS).expect("the tests exist");
    let (mut out, mut changed, mut names) = (String::new(), 0, Vec::new());
    let mut is_test = false;
    for line in source.lines() {
        let mut new = line.replace("use std::sync", "use shuttle::sync").replace("use std::thread", "use shuttle::thread");
        if line == "#[test]" {
            // Here a table calls its body; in a test suite it would be a call of `shuttle::check`: one line
            // as well.
            is_test = true;
            new = "#[inline(never)]".to_owned();
        } else if is_test && let Some(rest) = line.strip_prefix("fn ") {
            is_test = false;
            names.extend(rest.split('(').next().map(str::to_owned));
            out.push_str("pub ");
        }
        changed += usize::from(new != line);
        // Documentation of a file cannot be included.
        out.push_str(&new.replace("//!", "//"));
        out.push('\n');
    }
    let rows = names.iter().map(|name| format!("(\"{name}\", planted::{name})")).collect::<Vec<_>>().join(", ");
    let text = format!(
        "mod planted {{\n{out}}}\n\n/// Number of changed lines.\npub const CHANGED: usize = {changed};\n\
         /// The tests by name.\npub const TESTS: &[(&str, fn())] = &[{rows}];\n"
    );
    let folder = std::env::var_os("OUT_DIR").expect("cargo says where");
    std::fs::write(Path::new(&folder).join("rewritten.rs"), text).expect("the tests can be written");
}
