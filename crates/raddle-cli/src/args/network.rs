//! The network of a search.

use clap::{Args, ValueEnum};
use raddle_model::{Network, NetworkFaults, NetworkMode};

#[derive(Args, Clone)]
pub(crate) struct NetworkArgs {
    /// TCP sockets of the program: simulated if both ends are in the run, so that deliveries are part of the schedule; the
    /// same, and connections that leave the run are an error; or all real
    #[arg(long, value_enum, default_value_t = NetworkArg::Simulated, help_heading = "Search")]
    network: NetworkArg,
    /// Faults of the simulated network, with the most of each in a run: reset=N (a connection breaks), refuse=N (a request
    /// to connect is refused), short=N (more deliveries are split)
    #[arg(long, value_name = "LIST", value_parser = NetworkFaults::parse, help_heading = "Search")]
    faults: Option<NetworkFaults>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum NetworkArg {
    Simulated,
    Inside,
    Real,
}

impl NetworkArgs {
    /// Returns the settings of all runs.
    pub(crate) fn settings(&self) -> Network {
        let mode = match self.network {
            NetworkArg::Simulated => NetworkMode::Simulated,
            NetworkArg::Inside => NetworkMode::Inside,
            NetworkArg::Real => NetworkMode::Real,
        };
        Network { mode, faults: self.faults.unwrap_or_default() }
    }
}
