//! The sources of the workspace, for tests of rules that the compiler does not check.

use std::path::Path;

/// Returns the sources of all crates except their tests: the path below `crates`, and the text.
pub fn sources() -> Vec<(String, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in a folder");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(crates).expect("the folder of crates exists") {
        add(crates, &entry.expect("the folder can be read").path().join("src"), &mut found);
    }
    found.sort_unstable();
    found
}

/// Adds the sources below `folder`.
fn add(crates: &Path, folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).expect("the folder exists") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() && !path.ends_with("tests") {
            add(crates, &path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            let text = std::fs::read_to_string(&path).expect("a source can be read");
            let name = path.strip_prefix(crates).expect("it lies in the folder").display().to_string();
            found.push((name, text));
        }
    }
}
