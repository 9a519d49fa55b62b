//! The results of `raddle bench`: the plain data, and derived values.
//!
//! A [`Cell`] is one program under one strategy. Everything else (means, wins, tables, pictures, the page) is
//! computed from the cells, so that a stored result can be displayed again.

mod markdown;
mod page;
mod picture;

pub use markdown::markdown;
pub use page::page;
pub use picture::{Picture, pictures};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Results of a suite.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Bench {
    /// The suite's name or folder.
    pub suite: String,
    /// The command that repeats the measurement.
    pub command: String,
    /// The seed.
    pub seed: u64,
    /// The number of runs of a cell, or the maximum to find the bug.
    pub runs: u64,
    /// The number of searches for the bug with different seeds; 0 if the share of failing runs was measured.
    pub trials: u64,
    /// The strategies, in the order of the columns.
    pub strategies: Vec<String>,
    /// The programs, in the order of the rows.
    pub cases: Vec<Case>,
    /// The measurements, in no particular order.
    pub cells: Vec<Cell>,
    /// Published figures for these programs.
    pub published: Published,
}

/// A program of a suite.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// A description of the bug.
    pub about: String,
    /// The number of threads, including the main one.
    pub threads: Option<u64>,
    /// The depth of the bug, as PCT defines it.
    pub depth: Option<u64>,
    /// The idiom of the bug, as in Maple.
    pub idiom: Option<u64>,
    /// Its name in published figures.
    pub published: Option<String>,
}

/// One program under one strategy.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Cell {
    /// The program.
    pub case: String,
    /// The strategy's specification.
    pub strategy: String,
    /// The total number of runs.
    pub runs: u64,
    /// The number of runs that showed the bug.
    pub hits: u64,
    /// The bounds of its probability, with 95 % confidence.
    pub interval: Option<[f64; 2]>,
    /// Runs with a failure that the manifest does not expect, by kind.
    pub unexpected: BTreeMap<String, u64>,
    /// Different partial orders.
    pub partial_orders: u64,
    /// The number of distinct partial orders after 1, 2, 4, ... runs.
    pub growth: Vec<u64>,
    /// For each trial, the number of the first run that showed the bug, from 1; `None` if none did.
    pub first: Vec<Option<u64>>,
    /// The largest number of threads of a run.
    pub threads: u64,
    /// The largest number of steps of a run.
    pub steps: u64,
    /// The duration in seconds, which varies.
    pub seconds: f64,
    /// The time to the first run that showed the bug, which varies.
    pub seconds_to_bug: Option<f64>,
}

/// Published figures, by the name of the program and then of the strategy.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Published {
    /// The share of runs that showed the bug.
    #[serde(default)]
    pub hit_ratio: BTreeMap<String, BTreeMap<String, f64>>,
    /// The number of runs to the bug, by source.
    #[serde(default)]
    pub schedules_to_bug: BTreeMap<String, BTreeMap<String, BTreeMap<String, Schedules>>>,
}

/// A published number of runs to the first failing one.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Schedules {
    /// The mean over the trials that found it.
    pub mean: Option<f64>,
    /// The number of trials that found it.
    pub found: u64,
    /// The number of trials.
    pub trials: u64,
}

impl Cell {
    /// Returns the share of runs that showed the bug.
    pub fn hit_ratio(&self) -> f64 {
        self.hits as f64 / self.runs.max(1) as f64
    }

    /// Returns the share of runs, for a geometric mean: a program that was never hit counts as hit once (the
    /// papers' rule).
    fn ratio_or_once(&self) -> f64 {
        self.hits.max(1) as f64 / self.runs.max(1) as f64
    }

    /// Returns the mean number of runs to the bug, where a trial that did not find it counts with all of its
    /// runs (so the true mean is larger), and whether there is such a trial.
    pub fn schedules(&self, most: u64) -> Option<(f64, bool)> {
        if self.first.is_empty() {
            return None;
        }
        let sum: u64 = self.first.iter().map(|first| first.unwrap_or(most)).sum();
        Some((sum as f64 / self.first.len() as f64, self.first.contains(&None)))
    }

    /// Returns the median number of runs to the bug; `None` if half of the trials did not find it.
    pub fn median(&self) -> Option<u64> {
        let mut all: Vec<u64> = self.first.iter().map(|first| first.unwrap_or(u64::MAX)).collect();
        all.sort_unstable();
        all.get(all.len().checked_sub(1)? / 2).copied().filter(|&middle| middle < u64::MAX)
    }
}

impl Bench {
    /// Returns the cell of a program and a strategy.
    pub fn cell(&self, case: &str, strategy: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.case == case && cell.strategy == strategy)
    }

    /// Returns the score of a cell: larger is better.
    fn score(&self, cell: &Cell) -> f64 {
        match cell.schedules(self.runs) {
            Some((mean, _)) => 1.0 / mean,
            None => cell.hit_ratio(),
        }
    }

    /// Returns the geometric mean of a strategy over all programs: of the shares of runs that showed the bug,
    /// or of the mean numbers of runs to it.
    pub fn mean(&self, strategy: &str) -> Option<f64> {
        let cells = self.cells.iter().filter(|cell| cell.strategy == strategy);
        geometric(cells.map(|cell| cell.schedules(self.runs).map_or(cell.ratio_or_once(), |(mean, _)| mean)))
    }

    /// Returns the number of programs on which no other strategy is better, among those that any strategy
    /// found.
    pub fn wins(&self, strategy: &str) -> u64 {
        let best = |case: &Case| {
            let cells = self.cells.iter().filter(|cell| cell.case == case.name && cell.hits > 0);
            cells.map(|cell| self.score(cell)).fold(0.0, f64::max)
        };
        let won = self.cases.iter().filter(|case| {
            let own = self.cell(&case.name, strategy).filter(|cell| cell.hits > 0);
            own.is_some_and(|cell| self.score(cell) >= best(case))
        });
        won.count() as u64
    }

    /// Returns the number of programs whose bugs a strategy has found.
    pub fn found(&self, strategy: &str) -> u64 {
        self.cells.iter().filter(|cell| cell.strategy == strategy && cell.hits > 0).count() as u64
    }

    /// Returns the published share of runs for a program and one of our strategies.
    pub fn published_ratio(&self, case: &Case, strategy: &str) -> Option<f64> {
        self.published.hit_ratio.get(case.published.as_deref()?)?.get(&published_name(strategy)).copied()
    }
}

/// Returns the name of a strategy in published figures.
fn published_name(strategy: &str) -> String {
    strategy.replace('-', "_")
}

/// Returns the geometric mean of positive numbers.
pub fn geometric(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = numbers.fold((0.0, 0_u32), |(sum, count), number| (sum + number.ln(), count + 1));
    (count > 0).then(|| (sum / f64::from(count)).exp())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn sample() -> Bench {
        let case = |name: &str| Case {
            name: name.to_owned(),
            about: "It <breaks>.".to_owned(),
            published: (name == "a").then(|| "A".to_owned()),
            ..Case::default()
        };
        let cell = |case: &str, strategy: &str, hits| Cell {
            case: case.to_owned(),
            strategy: strategy.to_owned(),
            runs: 100,
            hits,
            growth: vec![1, 2, 3],
            partial_orders: 3,
            ..Cell::default()
        };
        let ratios = [("random_walk".to_owned(), 0.25), ("pos".to_owned(), 0.5)];
        Bench {
            suite: "small".to_owned(),
            runs: 100,
            strategies: vec!["random-walk".to_owned(), "pos".to_owned()],
            cases: vec![case("a"), case("b")],
            cells: vec![
                cell("a", "random-walk", 25),
                cell("a", "pos", 64),
                cell("b", "random-walk", 0),
                cell("b", "pos", 0),
            ],
            published: Published {
                hit_ratio: BTreeMap::from([("A".to_owned(), BTreeMap::from(ratios))]),
                ..Published::default()
            },
            ..Bench::default()
        }
    }

    #[test]
    fn a_program_that_was_never_hit_counts_one_run() {
        let bench = sample();
        let mean = bench.mean("pos").expect("there are cells");
        assert!((mean - (0.64_f64 * 0.01).sqrt()).abs() < 1e-12);
        assert_eq!(bench.mean("pct"), None);
    }

    #[test]
    fn nobody_wins_where_nobody_finds_anything() {
        let bench = sample();
        assert_eq!((bench.wins("pos"), bench.wins("random-walk")), (1, 0));
        assert_eq!((bench.found("pos"), bench.found("random-walk")), (1, 1));
    }

    #[test]
    fn trials_that_found_nothing_count_with_all_their_runs() {
        let cell = |first: &[Option<u64>]| Cell { first: first.to_vec(), ..Cell::default() };
        assert_eq!(cell(&[Some(1), Some(3), None]).schedules(8), Some((4.0, true)));
        assert_eq!(cell(&[Some(1), Some(3)]).schedules(8), Some((2.0, false)));
        assert_eq!(cell(&[]).schedules(8), None);
        assert_eq!(cell(&[Some(9), Some(3), None]).median(), Some(9));
        assert_eq!(cell(&[None, Some(3), None]).median(), None);
        assert_eq!(cell(&[]).median(), None);
    }

    #[test]
    fn published_figures_are_found_by_their_names() {
        let bench = sample();
        assert_eq!(bench.published_ratio(&bench.cases[0], "random-walk"), Some(0.25));
        assert_eq!(bench.published_ratio(&bench.cases[0], "surw"), None);
        assert_eq!(bench.published_ratio(&bench.cases[1], "pos"), None);
    }
}
