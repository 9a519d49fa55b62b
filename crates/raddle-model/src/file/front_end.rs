//! The front ends, by their names in failure files.

use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// The front end that ran a program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FrontEnd {
    /// Abstract programs in the lab's language.
    Lab,
    /// Rust tests that use the types of the crate `raddle`.
    Rust,
    /// Pthreads programs and unmodified Rust crates.
    Native,
    /// Erlang and Elixir programs.
    Beam,
}

impl FrontEnd {
    /// All front ends.
    pub const ALL: [FrontEnd; 4] = [FrontEnd::Lab, FrontEnd::Rust, FrontEnd::Native, FrontEnd::Beam];

    /// Returns its name in failure files.
    pub const fn name(self) -> &'static str {
        match self {
            FrontEnd::Lab => "lab",
            FrontEnd::Rust => "rust",
            FrontEnd::Native => "native",
            FrontEnd::Beam => "beam",
        }
    }

    /// Returns the word for what runs concurrently: a thread, or a process of the BEAM.
    pub const fn thread_noun(self) -> &'static str {
        match self {
            FrontEnd::Beam => "process",
            FrontEnd::Lab | FrontEnd::Rust | FrontEnd::Native => "thread",
        }
    }
}

impl FrontEnd {
    /// Returns the plural of [`FrontEnd::thread_noun`].
    pub const fn thread_nouns(self) -> &'static str {
        match self {
            FrontEnd::Beam => "processes",
            FrontEnd::Lab | FrontEnd::Rust | FrontEnd::Native => "threads",
        }
    }
}

impl Display for FrontEnd {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that belongs to no front end.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown front end `{0}`: use the version of raddle that recorded the run")]
pub struct UnknownFrontEnd(pub String);

impl FromStr for FrontEnd {
    type Err = UnknownFrontEnd;

    fn from_str(name: &str) -> Result<FrontEnd, UnknownFrontEnd> {
        let known = FrontEnd::ALL.into_iter().find(|known| known.name() == name);
        known.ok_or_else(|| UnknownFrontEnd(name.to_owned()))
    }
}
