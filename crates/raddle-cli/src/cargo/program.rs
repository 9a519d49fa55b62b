//! `cargo raddle run`.

use crate::args::{CargoRunArgs, NativeArgs, RacesArg, StoreArgs, ThreadsArg};
use crate::ci::Reports;
use crate::outcome::Outcome;
use crate::result::{Executed, MergedTarget};
use anyhow::{Context, Result, bail, ensure};
use raddle_cargo::{Wanted, Workspace, build};
use raddle_model::{Environment, MemoryModel};

pub(crate) fn run(args: &CargoRunArgs, width: usize) -> Result<Executed> {
    let workspace = Workspace::find(args.build.manifest_path.as_deref())?;
    let mut words = vec!["build".to_owned()];
    match (&args.bin, &args.example) {
        (Some(bin), _) => words.extend(["--bin".to_owned(), bin.clone()]),
        (None, Some(example)) => words.extend(["--example".to_owned(), example.clone()]),
        (None, None) => words.push("--bins".to_owned()),
    }
    let with_std = args.build.build_std || args.memory.model()? == MemoryModel::Weak;
    let options = args.build.words();
    let mut binaries =
        build(&workspace, args.build.hooks.into(), &words, &options, Wanted::Programs, with_std)?;
    ensure!(!binaries.is_empty(), "the package has no program; --example names an example of it");
    if binaries.len() > 1 && binaries.iter().any(|binary| binary.is_default) {
        binaries.retain(|binary| binary.is_default);
    }
    if binaries.len() > 1 {
        let names: Vec<&str> =
            binaries.iter().map(|binary| binary.name.rsplit('/').next().unwrap_or(&binary.name)).collect();
        bail!("there are several programs; name one by --bin: {}", names.join(", "));
    }
    let binary = binaries.remove(0);
    let path = binary.path.to_str().context("the path of the program is not valid UTF-8")?.to_owned();
    let native = native_args(args, path)?;
    // A program is started in the user's folder, as by `cargo run`.
    let here = std::env::current_dir().context("there is no current folder")?;
    let here = here.to_str().context("the path of the current folder is not valid UTF-8")?.to_owned();
    let environment = Environment { directory: Some(here), ..binary.environment };
    crate::native::run_in(&native, &binary.path, &environment, Some("main".to_owned()), width)
}

/// Prints the report of merged shards.
pub(crate) fn merged(
    args: &CargoRunArgs,
    targets: Vec<MergedTarget>,
    reports: &mut Reports,
    width: usize,
) -> Result<Outcome> {
    crate::native::merged(&native_args(args, String::new())?, targets, reports, width)
}

/// Returns the arguments of `raddle run` for the program `path`.
fn native_args(args: &CargoRunArgs, path: String) -> Result<NativeArgs> {
    let with_std = args.build.build_std || args.memory.model()? == MemoryModel::Weak;
    Ok(NativeArgs {
        search: args.search.clone(),
        memory: args.memory.clone(),
        network: args.network.clone(),
        baseline: None,
        points: args.points,
        // Orderings of a standard library without hooks would be missing.
        races: if with_std { RacesArg::Report } else { RacesArg::Off },
        threads: ThreadsArg::Fibers,
        isolation: args.isolation,
        callers: true,
        coverage: false,
        store: StoreArgs { store: raddle_store::FILE_NAME.into() },
        fresh: true,
        run_time: args.run_time,
        cflags: None,
        expect_output: None,
        fail_on_exit: args.fail_on_exit,
        record: args.record.clone(),
        program: [path].into_iter().chain(args.arguments.iter().cloned()).collect(),
    })
}
