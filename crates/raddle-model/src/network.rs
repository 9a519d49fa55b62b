//! The settings of the network inside a run.

use serde::{Deserialize, Serialize};

/// The network of a run, and what may go wrong in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Network {
    /// The sockets that are simulated.
    pub mode: NetworkMode,
    /// The faults.
    pub faults: NetworkFaults,
}

/// The sockets that are simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkMode {
    /// Those whose two ends are both in the run.
    #[default]
    Simulated,
    /// The same, and a connection that leaves the run is an error.
    Inside,
    /// None.
    Real,
}

/// The greatest number of faults of each kind in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkFaults {
    /// Connections that are reset.
    pub reset: u32,
    /// Requests to connect that are refused.
    pub refuse: u32,
    /// Deliveries of each direction of a connection that are split, besides the first.
    pub short: u32,
}

impl NetworkFaults {
    /// Parses a list such as `reset=1,short=2`. The error says what is wrong.
    pub fn parse(text: &str) -> Result<NetworkFaults, String> {
        let mut faults = NetworkFaults::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, count) = part.split_once('=').unwrap_or((part, "1"));
            let count = count.parse().map_err(|_| format!("`{count}` is not a number of faults"))?;
            match name {
                "reset" => faults.reset = count,
                "refuse" => faults.refuse = count,
                "short" => faults.short = count,
                _ => {
                    return Err(format!(
                        "there is no fault `{name}`; the faults are reset, refuse and short"
                    ));
                }
            }
        }
        Ok(faults)
    }
}

impl Network {
    /// Returns true for the default settings.
    pub fn is_default(&self) -> bool {
        *self == Network::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_parsed() {
        let faults = NetworkFaults { reset: 1, refuse: 0, short: 2 };
        assert_eq!(NetworkFaults::parse("reset, short=2"), Ok(faults));
        assert_eq!(NetworkFaults::parse(""), Ok(NetworkFaults::default()));
        assert!(NetworkFaults::parse("reset=x").unwrap_err().contains("`x`"));
        assert!(NetworkFaults::parse("lost=1").unwrap_err().contains("`lost`"));
    }
}
