//! The application that the VM loads, which is compiled at first use.

use super::{folder, text};
use std::path::Path;
use std::process::Command;

#[test]
fn what_variables_ask_of_erlang_is_not_meant_for_raddle() {
    let Some(folder) = folder("variables") else { return };
    let cache = folder.join("cache");
    _ = std::fs::remove_dir_all(&cache);
    let run = |path: std::ffi::OsString| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
        command.args(["beam", "run", "race:fine", "--pa", ".", "--runs", "5"]).current_dir(&folder);
        command.env("RADDLE_CACHE", &cache).env_remove("RADDLE_ERLANG").env("PATH", path);
        command.env("ERL_COMPILER_OPTIONS", "[{parse_transform, nowhere}]");
        command.env("ERL_AFLAGS", "-extra nothing").output().expect("raddle starts")
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let output = run(path.clone());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // Any `erl` must be the same release.
    use std::os::unix::fs::PermissionsExt;
    let shims = folder.join("shims");
    std::fs::create_dir_all(&shims).expect("the folder can be written to");
    let erl = std::env::split_paths(&path).map(|place| place.join("erl")).find(|erl| erl.is_file());
    let erl = erl.expect("Erlang is installed");
    let shim = shims.join("erl");
    std::fs::write(&shim, format!("#!/bin/sh\nexec {} \"$@\"\n", erl.display()))
        .expect("the folder can be written to");
    std::fs::set_permissions(&shim, std::fs::Permissions::from_mode(0o755)).expect("the file is ours");
    let paths = std::iter::once(shims).chain(std::env::split_paths(&path));
    let output = run(std::env::join_paths(paths).expect("they come from such a text"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let places = std::fs::read_dir(cache.join("erlang")).expect("there is a cache").flatten();
    let built = places.filter(|place| place.file_name().to_string_lossy().starts_with("application-"));
    assert_eq!(built.count(), 1);
}

/// `erlc` does not find files whose path begins with the same letters as the current folder.
#[test]
fn it_is_compiled_wherever_one_stands() {
    let Some(folder) = folder("stands") else { return };
    let cache = folder.with_file_name("stands-beside");
    _ = std::fs::remove_dir_all(&cache);
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    command.args(["beam", "run", "race:fine", "--pa", ".", "--runs", "5"]).current_dir(&folder);
    let output = command.env("RADDLE_CACHE", &cache).env_remove("RADDLE_ERLANG").output();
    let output = output.expect("raddle starts");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

/// A failed compilation leaves nothing behind.
#[test]
fn a_failing_compiler_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("beam/failing");
    let cache = folder.join("cache");
    _ = std::fs::remove_dir_all(&cache);
    std::fs::create_dir_all(&folder).expect("a folder for the test can be made");
    let erl = folder.join("erl");
    std::fs::write(&erl, "#!/bin/sh\n[ $1 = +V ] || { echo no room; exit 1; }\n").expect("it is ours");
    std::fs::set_permissions(&erl, std::fs::Permissions::from_mode(0o755)).expect("the file is ours");
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    command.args(["beam", "run", "a:b"]).current_dir(&folder).env("PATH", &folder);
    let output = command.env("RADDLE_CACHE", &cache).env_remove("RADDLE_ERLANG").output();
    let output = output.expect("raddle starts");
    assert_eq!(output.status.code(), Some(2));
    let printed = text(&output.stderr);
    assert!(printed.contains("erl cannot compile the Erlang application: no room"), "{printed}");
    let left = std::fs::read_dir(cache.join("erlang")).expect("it was tried").count();
    assert_eq!(left, 0);
}

#[test]
fn what_is_missing_is_said() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("beam/missing");
    std::fs::create_dir_all(&folder).expect("a folder for the test can be made");
    let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
    command
        .args(["beam", "run", "a:b"])
        .current_dir(&folder)
        .env("PATH", &folder)
        .env_remove("RADDLE_ERLANG");
    let output = command.env("RADDLE_CACHE", folder.join("cache")).output().expect("raddle starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("there is no `erl`"), "{}", text(&output.stderr));
}
