//! The memory model of a search.

use clap::Args;
use raddle_model::MemoryModel;

/// The variable that sets the memory model if no option does, as in Rust tests.
const VARIABLE: &str = "RADDLE_MEMORY";

#[derive(Args, Clone)]
pub(crate) struct MemoryArgs {
    /// Which values atomic accesses read: the newest (sc), or all that their memory orders allow (weak). `auto` is sc, and
    /// in some runs of the default portfolio weak, if the program has orders below seq_cst. Default: auto, or the value of
    /// RADDLE_MEMORY
    #[arg(long, value_name = "MODEL", value_parser = parse, help_heading = "Search")]
    memory: Option<Memory>,
}

/// The memory models of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Memory {
    /// Sequential consistency, and weak memory in some runs of the default portfolio.
    Auto,
    /// One model in all runs.
    Always(MemoryModel),
}

impl Memory {
    /// Parses its name.
    pub(crate) fn from_name(name: &str) -> Option<Memory> {
        if name == "auto" { Some(Memory::Auto) } else { MemoryModel::from_name(name).map(Memory::Always) }
    }
}

impl MemoryArgs {
    /// Returns the memory model of runs whose strategy does not ask for another one.
    pub(crate) fn model(&self) -> anyhow::Result<MemoryModel> {
        Ok(match self.wanted()? {
            Memory::Auto => MemoryModel::Sc,
            Memory::Always(model) => model,
        })
    }

    /// Returns what is requested.
    #[expect(clippy::disallowed_methods, reason = "the variable is documented")]
    pub(crate) fn wanted(&self) -> anyhow::Result<Memory> {
        let variable = || std::env::var(VARIABLE).ok();
        match (self.memory, variable()) {
            (Some(memory), _) => Ok(memory),
            (None, None) => Ok(Memory::Auto),
            (None, Some(text)) => Memory::from_name(&text).ok_or_else(|| {
                anyhow::anyhow!("{VARIABLE} is `{text}`\nhelp: set it to `auto`, `sc` or `weak`")
            }),
        }
    }
}

/// Parses the value of the option.
fn parse(text: &str) -> Result<Memory, String> {
    Memory::from_name(text).ok_or_else(|| "the models are auto, sc and weak".to_owned())
}
