//! Runs the built `raddle` and reads its JSON.

use crate::graph::Graph;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// The output of `raddle lab run --json --orders` for one strategy.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) strategy: String,
    pub(crate) runs: u64,
    pub(crate) hits: u64,
    pub(crate) exhausted: Option<bool>,
    pub(crate) space: Option<f64>,
    /// The exact probability of a failure, that of the least likely partial order, and the number of
    /// reachable ones.
    pub(crate) exact: Option<(String, String, u64)>,
    /// Fingerprints.
    pub(crate) orders: BTreeMap<String, Order>,
}

/// One partial order.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) runs: u64,
    pub(crate) failure: Option<String>,
    pub(crate) schedule: Option<Vec<usize>>,
    pub(crate) picks: Vec<(usize, usize)>,
    pub(crate) exact: Option<String>,
}

impl Order {
    /// Returns the end of the graph that its schedule leads to.
    pub(crate) fn end(&self, graph: &Graph) -> Option<usize> {
        let node = graph.follow(self.schedule.as_ref()?, &self.picks)?;
        let end = graph.nodes[node].end?;
        (end.failure() == self.failure.as_deref()).then_some(node)
    }
}

/// Executes `runs` runs of the program in `file` under each strategy.
pub(crate) fn sample(
    raddle: &Path,
    file: &Path,
    strategies: &[&str],
    runs: u64,
    exact: bool,
) -> Result<Vec<Sample>> {
    let mut command = Command::new(raddle);
    command.args(["lab", "run"]).arg(file).args(["--json", "--orders", "--jobs", "1"]);
    command.args(["--runs", &runs.to_string()]);
    strategies.iter().for_each(|strategy| _ = command.args(["--strategy", strategy]));
    if exact {
        command.arg("--exact");
    }
    let output = command.output().with_context(|| format!("cannot start {}", raddle.display()))?;
    if !matches!(output.status.code(), Some(0 | 1)) {
        bail!("{command:?}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8(output.stdout)?;
    let samples = text.lines().map(|line| read(&serde_json::from_str(line)?));
    let samples: Vec<Sample> = samples.collect::<Result<_>>()?;
    if samples.len() != strategies.len() {
        bail!("{command:?} printed {} lines", samples.len());
    }
    Ok(samples)
}

fn read(json: &Value) -> Result<Sample> {
    let number = |value: &Value| value.as_u64().context("not a number");
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut orders = BTreeMap::new();
    for order in list(&json["orders"]) {
        let schedule = order["schedule"].as_array();
        let schedule = schedule.map(|threads| threads.iter().map(|t| t.as_u64().map_or(0, |t| t as usize)));
        let pick = |pick: &Value| Ok((number(&pick[0])? as usize, number(&pick[1])? as usize));
        let entry = Order {
            runs: number(&order["runs"])?,
            failure: text(&order["failure"]),
            schedule: schedule.map(Iterator::collect),
            picks: list(&order["picks"]).iter().map(pick).collect::<Result<_>>()?,
            exact: text(&order["exact"]),
        };
        orders.insert(text(&order["fingerprint"]).context("no fingerprint")?, entry);
    }
    let exact = match (text(&json["exact"]), text(&json["exact_least"])) {
        (Some(hit), Some(least)) => Some((hit, least, number(&json["exact_reachable"])?)),
        _ => None,
    };
    Ok(Sample {
        strategy: text(&json["strategy"]).context("no strategy")?,
        runs: number(&json["runs"])?,
        hits: number(&json["hits"])?,
        exhausted: json["exhausted"].as_bool(),
        space: json["space"].as_f64(),
        exact,
        orders,
    })
}
