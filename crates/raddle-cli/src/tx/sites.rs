//! `raddle tx sites`.

use super::library::Library;
use super::plan::Plan;
use crate::args::SitesArgs;
use crate::outcome::Outcome;
use anyhow::Result;
use raddle_model::EXIT_NOTHING_FOUND;
use raddle_report::table::{Align, Table};
use raddle_report::text::plural;

pub(super) fn run(args: &SitesArgs, width: usize) -> Result<Outcome> {
    let library = Library::of(&args.library)?;
    let sites = library.sites(&mut library.divided()?, args.runs)?;
    let plan = Plan::of(&library, &sites);
    let mut table = Table::new([
        ("operation", Align::Left),
        ("address", Align::Right),
        ("access", Align::Left),
        ("location", Align::Left),
    ]);
    for access in &plan.accesses {
        table.row(vec![
            access.operation.clone(),
            format!("{:#x}", access.offset),
            access.what.clone(),
            access.location.clone(),
        ]);
    }
    let shared = plan.accesses.iter().filter(|access| access.is_shared()).count() as u64;
    let all = plural(plan.accesses.len() as u64, "access").replace("accesss", "accesses");
    let mut text = format!("{}\n{all}, {shared} of them to shared memory.\n", table.render(width));
    if let Some(path) = &args.output {
        plan.write(path)?;
        text.push_str(&format!("The plan with one transaction for each operation: {}\n", path.display()));
    }
    Ok(Outcome { text, status: EXIT_NOTHING_FOUND })
}
