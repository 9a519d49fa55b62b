//! Files that belong to libraries, and their names in locations: `<std>/sync/mutex.rs`.

use std::path::Path;

/// Folders of the system.
const SYSTEM: &[&str] = &["/usr/include/", "/usr/lib/", "/usr/local/include/"];
/// Parts of the paths of Rust's own libraries: as they were built, and as they are installed.
const STANDARD: &[&str] = &["/rustc/", "/rustlib/src/rust/"];
/// A part of the paths of the crates that Rust's own libraries are built from.
const VENDORED: &str = "/rust/deps/";
/// Parts of the paths of crates that cargo has fetched.
const CRATES: &[&str] = &["/registry/src/", "/git/checkouts/"];

/// Returns the name of a file of a library, or nothing for a file of the user, whose own code is in the folder `own`.
pub(super) fn name(file: &str, own: Option<&str>) -> Option<String> {
    if own.is_some_and(|own| Path::new(file).starts_with(own)) {
        return None;
    }
    if STANDARD.iter().any(|part| file.contains(part)) {
        let inside = file.rsplit_once("/library/").map_or(file, |(_, inside)| inside);
        return Some(bracketed(inside));
    }
    if let Some((_, inside)) = file.split_once(VENDORED) {
        return Some(bracketed(inside));
    }
    if let Some((_, inside)) = CRATES.iter().find_map(|part| file.split_once(part)) {
        // A registry, or a revision of a repository, comes before the crate.
        return Some(bracketed(inside.split_once('/').map_or(inside, |(_, inside)| inside)));
    }
    let inside = SYSTEM.iter().find_map(|folder| file.strip_prefix(folder))?;
    // The version of the compiler is left out.
    let inside = match inside.strip_prefix("c++/").and_then(|inside| inside.split_once('/')) {
        Some((_, inside)) => format!("c++/{inside}"),
        None if inside.contains("/c++/") => format!("c++/{}", inside.rsplit('/').next().unwrap_or(inside)),
        None if inside.contains('/') => inside.to_owned(),
        None => format!("include/{inside}"),
    };
    Some(bracketed(&inside))
}

/// `<std>/sync/mutex.rs` of `std/src/sync/mutex.rs`.
fn bracketed(inside: &str) -> String {
    let (library, file) = inside.split_once('/').unwrap_or((inside, ""));
    format!("<{library}>/{}", file.strip_prefix("src/").unwrap_or(file))
}

/// Returns true for a library of the system.
pub(super) fn is_system(module: &Path) -> bool {
    ["/usr/lib", "/lib", "/lib64"].iter().any(|folder| module.starts_with(folder))
}

/// `<libstdc++.so.6+0x12ab>` of a place in a library without debugging information.
pub(super) fn module_name(place: &str) -> String {
    format!("<{}>", place.rsplit('/').next().unwrap_or(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_libraries_are_known() {
        for (file, expected) in [
            ("/rustc/0123/library/std/src/sync/mutex.rs", Some("<std>/sync/mutex.rs")),
            ("/x/.cargo/registry/src/index-1/a-1.0/src/b/c.rs", Some("<a-1.0>/b/c.rs")),
            ("/rust/deps/hashbrown-0.16.1/src/lib.rs", Some("<hashbrown-0.16.1>/lib.rs")),
            ("/usr/include/c++/12/bits/invoke.h", Some("<c++>/bits/invoke.h")),
            ("/usr/include/x86_64-linux-gnu/c++/12/bits/gthr.h", Some("<c++>/gthr.h")),
            ("/usr/include/stdlib.h", Some("<include>/stdlib.h")),
            ("/home/me/a.c", None),
        ] {
            assert_eq!(name(file, None).as_deref(), expected, "{file}");
        }
        let own = "/x/.cargo/registry/src/index-1/a-1.0";
        assert_eq!(name(&format!("{own}/src/list.rs"), Some(own)), None, "the crate that is tested");
    }
}
