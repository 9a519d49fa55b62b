//! Compares the results of `raddle` with the exact ones.

use crate::generate::{Size, generated};
use crate::graph::Graph;
use crate::machine::End;
use crate::program::Program;
use crate::raddle::{Sample, sample};
use crate::shares::{Shares, pct, pos, random_walk};
use crate::statistics::{MOST, deviation};
use crate::{rapos, shares};
use anyhow::{Context, Result};
use num_bigint::BigInt;
use num_rational::BigRational;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// The parameters of a comparison.
#[derive(Clone, Debug)]
pub struct Check {
    /// The path of `raddle`.
    pub raddle: PathBuf,
    /// The folder for the programs; those with a mismatch stay there.
    pub folder: PathBuf,
    /// The seed of the programs.
    pub seed: u64,
    /// The number of the first program.
    pub first: u64,
    /// Number of programs.
    pub programs: u64,
}

/// Number of runs of each sampled strategy.
const RUNS: u64 = 3_000;
/// Number of runs of RAPOS before an unseen partial order counts as unreachable.
const MOST_RUNS: u64 = 30_000_000;
/// The size of the programs.
const SIZE: Size = Size { nodes: 3_000, schedules: 20_000, orders: 2..=120 };
/// The largest number of orders of priorities.
const MOST_PRIORITIES: usize = 20_000;

/// The numbers of one comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Row {
    /// Number of programs compared.
    pub compared: u64,
    /// Number of programs that were too large.
    pub skipped: u64,
    /// Number of programs with a mismatch.
    pub wrong: u64,
}

/// The result.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// By comparison.
    pub rows: BTreeMap<&'static str, Row>,
    /// A line for each program with a mismatch.
    pub mismatches: Vec<String>,
    /// Number of programs with spawned threads, failures, deadlocks, exits and drawn numbers among those
    /// compared.
    pub features: BTreeMap<&'static str, u64>,
    /// Number of partial orders of all programs.
    pub orders: u64,
    /// Number of schedules of all programs.
    pub schedules: u128,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let programs = self.rows.values().map(|row| row.compared + row.skipped).max().unwrap_or(0);
        writeln!(f, "{programs} programs, {} schedules, {} partial orders", self.schedules, self.orders)?;
        let features: Vec<String> =
            self.features.iter().map(|(name, count)| format!("{count} {name}")).collect();
        writeln!(f, "of these programs: {}\n", features.join(", "))?;
        writeln!(f, "{:44} {:>9} {:>8} {:>11}", "comparison", "programs", "skipped", "mismatches")?;
        for (name, row) in &self.rows {
            writeln!(f, "{name:44} {:>9} {:>8} {:>11}", row.compared, row.skipped, row.wrong)?;
        }
        write!(f, "\nprograms with a mismatch: {}", self.mismatches.len())
    }
}

/// The comparisons of one program.
struct Findings {
    /// The mismatches; `None` if it was skipped.
    rows: BTreeMap<&'static str, Option<Vec<String>>>,
}

impl Findings {
    fn skip(&mut self, name: &'static str) {
        self.rows.entry(name).or_insert(None);
    }

    fn expect(&mut self, name: &'static str, fine: bool, wrong: impl FnOnce() -> String) {
        let row = self.rows.entry(name).or_insert(None).get_or_insert_default();
        if !fine {
            row.push(wrong());
        }
    }

    fn equal<T: PartialEq + fmt::Debug>(&mut self, name: &'static str, what: &str, found: T, expected: T) {
        let fine = found == expected;
        self.expect(name, fine, || format!("{what}: {found:?} instead of {expected:?}"));
    }
}

/// Runs all comparisons. `tell` gets the line of each program with a mismatch as it is found.
pub fn run(check: &Check, tell: &mut dyn FnMut(&str)) -> Result<Report> {
    let mut report = Report::default();
    std::fs::create_dir_all(&check.folder)
        .with_context(|| format!("cannot make {}", check.folder.display()))?;
    for number in check.first..check.first + check.programs {
        let (program, graph) = generated(check.seed, number, &SIZE);
        let file = check.folder.join(format!("exact-{}-{number}.rdl", check.seed));
        std::fs::write(&file, program.to_string())?;
        report.count(&program, &graph);
        let mut findings = Findings { rows: BTreeMap::new() };
        compare(&check.raddle, &file, &graph, &mut findings)
            .with_context(|| format!("{}", file.display()))?;
        let mut wrong = Vec::new();
        for (name, finding) in findings.rows {
            let row = report.rows.entry(name).or_default();
            match finding {
                None => row.skipped += 1,
                Some(found) => {
                    row.compared += 1;
                    row.wrong += u64::from(!found.is_empty());
                    wrong.extend(found.first().map(|first| format!("{name}: {first}")));
                }
            }
        }
        if wrong.is_empty() {
            std::fs::remove_file(&file)?;
        } else {
            let line = format!("{}: {}", file.display(), wrong.join("; "));
            tell(&line);
            report.mismatches.push(line);
        }
    }
    Ok(report)
}

impl Report {
    fn count(&mut self, program: &Program, graph: &Graph) {
        self.orders += graph.ends().count() as u64;
        self.schedules += graph.schedules();
        let ends_in = |wanted: End| graph.ends().any(|(_, end)| end == wanted);
        let drawn = graph.nodes.iter().any(|node| node.edges.iter().any(|edge| edge.pick.1 > 1));
        let exits = |node: &crate::graph::Node| {
            node.edges.iter().any(|edge| node.pending[edge.thread].as_ref().is_some_and(|event| event.exits))
        };
        for (name, has) in [
            ("with spawned threads", program.has_main),
            ("with failing assertions", ends_in(End::Assertion)),
            ("with deadlocks", ends_in(End::Deadlock)),
            ("with misuse", ends_in(End::Misuse)),
            ("with drawn numbers", drawn),
            ("with exits", graph.nodes.iter().any(exits)),
        ] {
            *self.features.entry(name).or_default() += u64::from(has);
        }
    }
}

fn compare(raddle: &Path, file: &Path, graph: &Graph, findings: &mut Findings) -> Result<()> {
    let names = systematic(raddle, file, graph, findings)?;
    let steps = graph.steps();
    let with_depth = |depth: u32| format!("pct:depth={depth},steps={steps}");
    let depths = [with_depth(1), with_depth(2), with_depth(3)];
    let specs = ["random-walk", &depths[0], &depths[1], &depths[2], "basic-pos", "pos"];
    let samples = sample(raddle, file, &specs, RUNS, true)?;
    let expected: [(&str, &str, Result<Shares, shares::TooMany>); 6] = [
        ("random walk: exact", "random walk: sample", Ok(random_walk(graph))),
        ("PCT, depth 1: exact", "PCT, depth 1: sample", pct(graph, 1, steps, MOST_PRIORITIES)),
        ("PCT, depth 2: exact", "PCT, depth 2: sample", pct(graph, 2, steps, MOST_PRIORITIES)),
        ("PCT, depth 3: exact", "PCT, depth 3: sample", pct(graph, 3, steps, MOST_PRIORITIES)),
        ("BasicPOS: exact", "BasicPOS: sample", pos(graph, false, MOST_PRIORITIES)),
        ("POS: exact", "POS: sample", pos(graph, true, MOST_PRIORITIES)),
    ];
    for (sample, (exact, sampled, shares)) in samples.iter().zip(expected) {
        match shares {
            Ok(shares) => {
                compare_exact(exact, sample, graph, &names, &shares, findings);
                compare_sample(sampled, sample, graph, &shares, findings);
            }
            Err(shares::TooMany) => {
                findings.skip(exact);
                findings.skip(sampled);
            }
        }
    }
    compare_rapos(raddle, file, graph, findings)?;
    compare_upo(raddle, file, graph, findings)
}

/// Compares the exhaustive searches. Returns the end of each fingerprint.
fn systematic(
    raddle: &Path,
    file: &Path,
    graph: &Graph,
    findings: &mut Findings,
) -> Result<BTreeMap<String, usize>> {
    let (schedules, orders) = (graph.schedules() as u64, graph.ends().count() as u64);
    let all: BTreeSet<usize> = graph.ends().map(|(node, _)| node).collect();
    let samples = sample(raddle, file, &["dfs", "dpor"], 4 * schedules + 100, false)?;
    let mut names = BTreeMap::new();
    for (sample, name, stop) in [
        (&samples[0], "DFS: schedules", "DFS: nothing left"),
        (&samples[1], "DPOR: partial orders", "DPOR: nothing left"),
    ] {
        let is_dfs = sample.strategy == "dfs";
        findings.equal(name, "runs", sample.runs, if is_dfs { schedules } else { orders });
        findings.equal(name, "partial orders", sample.orders.len() as u64, orders);
        let mut seen = BTreeSet::new();
        for (fingerprint, order) in &sample.orders {
            let end = order.end(graph);
            findings.expect(name, end.is_some(), || {
                format!(
                    "{:?} {:?} is not a run that ends in {:?}",
                    order.schedule, order.picks, order.failure
                )
            });
            let Some(end) = end else { continue };
            findings.expect(name, seen.insert(end), || {
                format!("{fingerprint} has the partial order of another fingerprint")
            });
            let runs = if is_dfs { graph.nodes[end].schedules as u64 } else { 1 };
            findings.equal(name, "runs of a partial order", order.runs, runs);
            if is_dfs {
                names.insert(fingerprint.clone(), end);
            }
        }
        findings.equal(name, "ends", seen.len(), all.len());
        findings.equal(stop, "after all runs", sample.exhausted, Some(true));
    }
    let short = sample(raddle, file, &["dfs"], schedules - 1, false)?;
    findings.equal("DFS: nothing left", "with one run missing", short[0].exhausted, Some(false));
    let short = sample(raddle, file, &["dpor"], orders - 1, false)?;
    findings.equal("DPOR: nothing left", "with one run missing", short[0].exhausted, Some(false));
    Ok(names)
}

fn zero() -> BigRational {
    BigRational::from_integer(BigInt::from(0))
}

fn compare_exact(
    name: &'static str,
    sample: &Sample,
    graph: &Graph,
    names: &BTreeMap<String, usize>,
    shares: &Shares,
    findings: &mut Findings,
) {
    let Some((hit, least, reachable)) = &sample.exact else {
        findings.expect(name, false, || format!("{} has no exact answer", sample.strategy));
        return;
    };
    let share = |node: usize| shares.get(&node).cloned().unwrap_or_else(zero);
    let failing = graph.ends().filter(|(_, end)| *end != End::Passed);
    let sum: BigRational = failing.map(|(node, _)| share(node)).sum();
    findings.equal(name, "probability of a failure", hit.clone(), sum.to_string());
    let smallest = graph.ends().map(|(node, _)| share(node)).min().unwrap_or_else(zero);
    findings.equal(name, "least likely partial order", least.clone(), smallest.to_string());
    let covered = graph.ends().filter(|(node, _)| share(*node) > zero()).count();
    findings.equal(name, "reachable partial orders", *reachable, covered as u64);
    for (fingerprint, order) in &sample.orders {
        let expected = names.get(fingerprint).map(|&node| share(node).to_string());
        findings.equal(name, "probability of a partial order", order.exact.clone(), expected);
    }
}

fn compare_sample(
    name: &'static str,
    sample: &Sample,
    graph: &Graph,
    shares: &Shares,
    findings: &mut Findings,
) {
    let mut counts: BTreeMap<usize, u64> = graph.ends().map(|(node, _)| (node, 0)).collect();
    let mut hits = 0;
    for order in sample.orders.values().filter(|order| order.runs > 0) {
        let end = order.end(graph);
        findings.expect(name, end.is_some(), || format!("{:?} is no run", order.schedule));
        let Some(end) = end else { continue };
        *counts.entry(end).or_default() += order.runs;
        hits += if order.failure.is_some() { order.runs } else { 0 };
    }
    findings.equal(name, "failing runs", sample.hits, hits);
    findings.equal(name, "runs", sample.runs, RUNS);
    let float = |node: &usize| shares.get(node).map_or(0.0, approximately);
    for (node, count) in &counts {
        findings.expect(name, *count == 0 || float(node) > 0.0, || {
            format!("{count} runs of a partial order with probability 0")
        });
    }
    let cells: Vec<(u64, f64)> = counts.iter().map(|(node, count)| (*count, float(node))).collect();
    fits(name, &cells, findings);
}

fn fits(name: &'static str, cells: &[(u64, f64)], findings: &mut Findings) {
    if let Some(off) = deviation(cells) {
        findings.expect(name, off < MOST, || format!("counts are {off:.1} standard deviations off"));
    }
}

fn approximately(share: &BigRational) -> f64 {
    let text = |number: &BigInt| number.to_string().parse::<f64>().unwrap_or(f64::MAX);
    text(share.numer()) / text(share.denom())
}

/// Checks that every partial order occurs that RAPOS can reach by its definition. That is all of them, unless
/// a failure ends runs early: it then depends on later events, which the definition does not cover.
fn compare_rapos(raddle: &Path, file: &Path, graph: &Graph, findings: &mut Findings) -> Result<()> {
    let name = "RAPOS: reachable partial orders";
    let reachable = rapos::reachable(graph);
    if graph.ends().all(|(_, end)| matches!(end, End::Passed | End::Deadlock)) {
        findings.equal(name, "within reach by definition", reachable.len(), graph.ends().count());
    }
    let mut runs = RUNS;
    loop {
        let samples = sample(raddle, file, &["rapos"], runs, false)?;
        let ends = samples[0].orders.values().map(|order| order.end(graph));
        let seen: Option<BTreeSet<usize>> = ends.collect();
        findings.expect(name, seen.is_some(), || "a schedule is not a run".to_owned());
        let missing = reachable.difference(&seen.unwrap_or_default()).count();
        if missing == 0 || runs >= MOST_RUNS {
            findings.expect(name, missing == 0, || {
                format!("{missing} of {} never occurred in {runs} runs", reachable.len())
            });
            return Ok(());
        }
        runs *= 100;
    }
}

/// Checks that UPO has seen and counted every partial order after enough runs, and samples uniformly from
/// then on.
fn compare_upo(raddle: &Path, file: &Path, graph: &Graph, findings: &mut Findings) -> Result<()> {
    let (estimate, even) = ("UPO: estimate", "UPO: uniform");
    let orders = graph.ends().count();
    let learning = 200 + 20 * orders as u64;
    let early = sample(raddle, file, &["upo"], learning, false)?.remove(0);
    let late = sample(raddle, file, &["upo"], learning + RUNS, false)?.remove(0);
    findings.equal(estimate, "partial orders seen", early.orders.len(), orders);
    let space = early.space.unwrap_or(0.0);
    findings.expect(estimate, (space - orders as f64).abs() < 1e-6 * orders as f64, || {
        format!("{space} instead of {orders}")
    });
    let mut cells = Vec::new();
    for (fingerprint, order) in &late.orders {
        findings.expect(estimate, order.end(graph).is_some(), || format!("{:?} is no run", order.schedule));
        let before = early.orders.get(fingerprint).map_or(0, |order| order.runs);
        cells.push((order.runs - before, 1.0 / orders as f64));
    }
    fits(even, &cells, findings);
    findings.equal(even, "runs", late.runs - early.runs, RUNS);
    Ok(())
}
