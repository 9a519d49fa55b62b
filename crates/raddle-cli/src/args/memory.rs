//! The memory model of a search.

use super::values::memory;
use clap::Args;
use raddle_model::MemoryModel;

/// The variable that sets the memory model if no option does, as in Rust tests.
const VARIABLE: &str = "RADDLE_MEMORY";

#[derive(Args, Clone)]
pub(crate) struct MemoryArgs {
    /// Which values atomic accesses read: the newest (sc), or all that their memory orders allow (weak). Default: sc, or
    /// the value of RADDLE_MEMORY
    #[arg(long, value_name = "MODEL", value_parser = memory, help_heading = "Search")]
    memory: Option<MemoryModel>,
}

impl MemoryArgs {
    /// Sequential consistency, whatever the variable says.
    pub(crate) const SC: MemoryArgs = MemoryArgs { memory: Some(MemoryModel::Sc) };

    /// Returns the memory model.
    #[expect(clippy::disallowed_methods, reason = "the variable is documented")]
    pub(crate) fn model(&self) -> anyhow::Result<MemoryModel> {
        let variable = || std::env::var(VARIABLE).ok();
        match (self.memory, variable()) {
            (Some(model), _) => Ok(model),
            (None, None) => Ok(MemoryModel::Sc),
            (None, Some(text)) => MemoryModel::from_name(&text)
                .ok_or_else(|| anyhow::anyhow!("{VARIABLE} is `{text}`\nhelp: set it to `sc` or `weak`")),
        }
    }
}
