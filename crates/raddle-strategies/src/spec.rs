//! Strategies by name: `pct:depth=3`, `stride:confidence=0.95,runs=1000`, `conflict:pos`.

use crate::catalogue::{CATALOGUE, Entry, Family};
use crate::conflict_analysis::Signature;
use crate::*;
use raddle_engine::Strategy;
use raddle_model::Reads;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Why a specification names no strategy.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// There is no such strategy.
    #[error("no strategy is called `{name}`; there are: {known}")]
    UnknownStrategy {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The strategy has no such parameter.
    #[error("strategy `{strategy}` has no parameter `{name}`; it has {known}")]
    UnknownParameter {
        /// The strategy.
        strategy: &'static str,
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A parameter is not of the form `name=value`, or comes twice.
    #[error("`{text}` in `{spec}` should be one `name=value`, given once")]
    Malformed {
        /// What was found.
        text: String,
        /// The whole specification.
        spec: String,
    },
    /// A parameter has a value that it cannot have.
    #[error("`{name}={value}` for strategy `{strategy}` should be {wanted}")]
    BadValue {
        /// The strategy.
        strategy: &'static str,
        /// The parameter.
        name: &'static str,
        /// The value given.
        value: String,
        /// What it should be.
        wanted: String,
    },
    /// A strategy was asked for around something that it cannot go around.
    #[error("`{wrapper}:` needs {wanted} after it, such as `{wrapper}:pos`, not `{inner}`")]
    NotWrappable {
        /// The strategy.
        wrapper: &'static str,
        /// What it can go around.
        wanted: &'static str,
        /// What was given.
        inner: String,
    },
}

/// Randomized strategies that need to see every step of a run.
const ALONE: [&str; 2] = ["upo", "maple"];

/// Makes the strategy that `spec` names.
pub fn build(spec: &str) -> Result<Box<dyn Strategy>, SpecError> {
    let (name, rest) = spec.split_once(':').unwrap_or((spec, ""));
    let Some(entry) = CATALOGUE.iter().find(|entry| entry.name == name) else {
        let known: Vec<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
        return Err(SpecError::UnknownStrategy { name: name.to_owned(), known: known.join(", ") });
    };
    if entry.family == Family::Wrapper {
        return build_around(entry, rest);
    }
    let values = Values::parse(spec, entry, rest)?;
    Ok(match entry.name {
        "random-walk" => Box::new(random_walk::RandomWalk::new()),
        "pct" => Box::new(pct::Pct::new(pct_settings(&values)?)),
        "pct-large" => Box::new(pct_large::PctLarge::new(values.depth()?, values.optional("steps")?)),
        "random-delay" => {
            let (one_in, longest) = (values.positive("one-in", 10)?, values.positive("longest", 100)?);
            Box::new(random_delay::RandomDelay::new(one_in, longest))
        }
        "rpro" => {
            let (depth, radius) = (values.depth()?, values.number("radius", 10)?);
            Box::new(rpro::RPro::new(depth, u64::from(radius), values.optional("steps")?))
        }
        "basic-pos" => Box::new(basic_pos::BasicPos::new()),
        "pos" => {
            let reads = [("independent", Reads::Independent), ("dependent", Reads::Dependent)];
            Box::new(pos::Pos::new(values.word("reads", &reads)?))
        }
        "rapos" => Box::new(rapos::Rapos::new()),
        "stride" => Box::new(stride::RandomizedStride::new(stride_limit(&values)?)),
        "urw" => Box::new(urw::Urw::new()),
        "surw" => Box::new(surw::Surw::new()),
        "oos" => Box::new(oos::Oos::new(values.positive("learn", 50)?)),
        "upo" => {
            let repeats = [("avoided", upo::Repeats::Avoided), ("allowed", upo::Repeats::Allowed)];
            let repeats = values.word("repeats", &repeats)?;
            Box::new(upo::Upo::new(values.positive("nodes", 1_000_000)? as usize, repeats))
        }
        "maple" => {
            let usual = maple::Settings::default();
            Box::new(maple::Maple::new(maple::Settings {
                window: values.within("window", usual.window, 1..=u32::MAX)?,
                profile: values.within("profile", usual.profile, 1..=u32::MAX)?,
                attempts: values.within("attempts", usual.attempts, 1..=u32::MAX)?,
                end: values.within("end", usual.end, 1..=u32::MAX)?,
            }))
        }
        "dfs" => Box::new(dfs::Dfs::new()),
        "preemption" => {
            let search = preemption_bounding::PreemptionBounding::new(values.bound("bound")?);
            let sleeps = values.word("sleep", &[("none", false), ("sets", true)])?;
            Box::new(if sleeps { search.with_sleep_sets() } else { search })
        }
        "chess" => {
            let bound = values.number("bound", 2)?;
            Box::new(preemption_bounding::PreemptionBounding::new(Some(bound)).with_sleep_sets())
        }
        "delay" => Box::new(delay_bounding::DelayBounding::new(values.bound("bound")?)),
        "dpor" => Box::new(dpor::Dpor::new()),
        "period" => Box::new(period::Period::new(values.bound("periods")?)),
        other => unreachable!("`{other}` is in the catalogue and cannot be built"),
    })
}

/// Makes the wrapper `entry` around the strategy that `inner` names.
fn build_around(entry: &Entry, inner: &str) -> Result<Box<dyn Strategy>, SpecError> {
    let name = inner.split(':').next().unwrap_or(inner);
    let randomized = CATALOGUE.iter().any(|other| other.name == name && other.family == Family::Randomized);
    let (fits, wanted) = match entry.name {
        "exit-last" => (randomized, "a randomized strategy"),
        _ => (randomized && !ALONE.contains(&name), "a randomized strategy other than `upo` and `maple`"),
    };
    if !fits {
        return Err(SpecError::NotWrappable { wrapper: entry.name, wanted, inner: inner.to_owned() });
    }
    let inner = build(inner)?;
    Ok(match entry.name {
        "exit-last" => Box::new(exit_last::ExitLast::new(inner)),
        "conflict-place" => Box::new(conflict_analysis::ConflictAnalysis::new(inner, Signature::Place)),
        _ => Box::new(conflict_analysis::ConflictAnalysis::new(inner, Signature::ThreadAndPlace)),
    })
}

fn pct_settings(values: &Values<'_>) -> Result<pct::Settings, SpecError> {
    let depth = match values.get("depth") {
        Some("drawn") => pct::Depth::Drawn,
        Some("auto") => pct::Depth::Confident {
            confidence: values.confidence()?.unwrap_or(0.95),
            runs: values.positive("runs", 10_000)?,
        },
        _ => pct::Depth::Fixed(values.depth()?),
    };
    Ok(pct::Settings {
        depth,
        steps: values.optional("steps")?,
        count: values.word("count", &[("all", pct::Count::All), ("choices", pct::Count::Choices)])?,
        at: values.word("at", &[("any", pct::At::Any), ("sync", pct::At::Synchronisation)])?,
        exit_last: values.word("exit", &[("free", false), ("last", true)])?,
    })
}

fn stride_limit(values: &Values<'_>) -> Result<stride::Stride, SpecError> {
    Ok(match values.confidence()? {
        Some(confidence) => {
            let (runs, edges) = (values.positive("runs", 10_000)?, values.positive("edges", 1)?);
            stride::Stride::from_confidence(confidence, runs, edges as u32)
        }
        None => stride::Stride::Fixed(values.positive("max", 2)?),
    })
}

/// The parameters of a specification.
struct Values<'a> {
    strategy: &'static str,
    given: Vec<(&'static str, &'a str)>,
}

impl<'a> Values<'a> {
    fn parse(spec: &str, entry: &'static Entry, text: &'a str) -> Result<Values<'a>, SpecError> {
        let mut values = Values { strategy: entry.name, given: Vec::new() };
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let malformed = || SpecError::Malformed { text: part.to_owned(), spec: spec.to_owned() };
            let (name, value) = part.split_once('=').ok_or_else(malformed)?;
            let Some(known) = entry.parameters.iter().find(|parameter| parameter.name == name) else {
                let known: Vec<&str> = entry.parameters.iter().map(|parameter| parameter.name).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(SpecError::UnknownParameter {
                    strategy: entry.name,
                    name: name.to_owned(),
                    known,
                });
            };
            if values.get(known.name).is_some() {
                return Err(malformed());
            }
            values.given.push((known.name, value));
        }
        Ok(values)
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.given.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn wrong<T>(&self, name: &'static str, wanted: impl Display) -> Result<T, SpecError> {
        let value = self.get(name).unwrap_or_default().to_owned();
        Err(SpecError::BadValue { strategy: self.strategy, name, value, wanted: wanted.to_string() })
    }

    fn number(&self, name: &'static str, default: u32) -> Result<u32, SpecError> {
        self.within(name, default, 0..=u32::MAX)
    }

    fn positive(&self, name: &'static str, default: u32) -> Result<u64, SpecError> {
        self.within(name, default, 1..=u32::MAX).map(u64::from)
    }

    /// The depth of PCT and RPro, which draw as many change points in every run and look at all of them at every step.
    fn depth(&self) -> Result<u32, SpecError> {
        self.within("depth", 3, 1..=1_000)
    }

    fn within(&self, name: &'static str, default: u32, range: RangeInclusive<u32>) -> Result<u32, SpecError> {
        match self.get(name).map(str::parse) {
            None => Ok(default),
            Some(Ok(number)) if range.contains(&number) => Ok(number),
            Some(_) => self.wrong(name, format!("a whole number from {} to {}", range.start(), range.end())),
        }
    }

    fn optional(&self, name: &'static str) -> Result<Option<u64>, SpecError> {
        self.get(name).map(|_| self.positive(name, 1)).transpose()
    }

    fn bound(&self, name: &'static str) -> Result<Option<u32>, SpecError> {
        self.get(name).map(|_| self.number(name, 0)).transpose()
    }

    fn confidence(&self) -> Result<Option<f64>, SpecError> {
        match self.get("confidence").map(str::parse::<f64>) {
            None => Ok(None),
            Some(Ok(confidence)) if confidence > 0.0 && confidence < 1.0 => Ok(Some(confidence)),
            Some(_) => self.wrong("confidence", "between 0 and 1"),
        }
    }

    /// The first word is the default.
    fn word<T: Copy>(&self, name: &'static str, words: &[(&str, T)]) -> Result<T, SpecError> {
        let Some(value) = self.get(name) else { return Ok(words[0].1) };
        match words.iter().find(|(word, _)| *word == value) {
            Some((_, meaning)) => Ok(*meaning),
            None => {
                let known: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
                self.wrong(name, known.join(" or "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_can_be_built() {
        for entry in CATALOGUE {
            let spec = if entry.family == Family::Wrapper {
                format!("{}:pos", entry.name)
            } else {
                entry.name.to_owned()
            };
            build(&spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
        }
        for spec in [
            "pct:depth=auto,confidence=0.9,runs=100",
            "pct:depth=drawn,steps=20,count=choices,at=sync,exit=last",
            "stride:confidence=0.95",
            "stride:max=7",
            "pos:reads=dependent",
            "conflict:pct:depth=2",
            "exit-last:upo",
            "period:periods=4",
            "preemption:bound=2",
            "maple:window=100,profile=1,attempts=2,end=5",
            "preemption:bound=2,sleep=sets",
            "chess:bound=1",
            "pct-large:depth=2,steps=20",
            "random-delay:one-in=3,longest=20",
        ] {
            build(spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
        }
    }

    #[test]
    fn mistakes_are_named_with_what_exists() {
        for (spec, part) in [
            ("psos", "no strategy is called `psos`; there are: random-walk, pct,"),
            ("", "no strategy is called ``"),
            ("pct:dept=3", "strategy `pct` has no parameter `dept`; it has depth, steps,"),
            ("dfs:x=1", "strategy `dfs` has no parameter `x`; it has none"),
            ("pct:depth", "`depth` in `pct:depth` should be one `name=value`"),
            ("pct:depth=2,depth=3", "given once"),
            ("pct:depth=deep", "`depth=deep` for strategy `pct` should be a whole number"),
            ("pct:depth=0", "should be a whole number from 1 to 1000"),
            ("pct:depth=4294967295", "should be a whole number from 1 to 1000"),
            ("rpro:depth=1001", "should be a whole number from 1 to 1000"),
            ("rpro:radius=18446744073709551615", "should be a whole number from 0 to 4294967295"),
            ("conflict:upo", "a randomized strategy other than `upo` and `maple`"),
            ("conflict:maple", "not `maple`"),
            ("maple:window=0", "`window=0` for strategy `maple` should be a whole number from 1"),
            ("pct:at=lock", "should be `any` or `sync`"),
            ("stride:confidence=2", "should be between 0 and 1"),
            ("conflict:dfs", "needs a randomized strategy"),
            ("exit-last:dpor", "`exit-last:` needs a randomized strategy after it"),
            ("conflict", "needs a randomized strategy"),
            ("conflict:pos:reads=maybe", "should be `independent` or `dependent`"),
        ] {
            let message = build(spec).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(message.contains(part), "{spec}: {message}");
        }
    }
}
