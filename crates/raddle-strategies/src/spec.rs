//! Strategy specifications: `pct:depth=3`, `stride:confidence=0.95,runs=1000`, `conflict:pos`.

use crate::CATALOGUE;
use crate::catalogue::{Build, Entry, Exact, Family};
use crate::values::Values;
use raddle_engine::Strategy;

/// An error in a strategy specification.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// There is no such strategy.
    #[error("unknown strategy `{name}`\nhelp: known strategies: {known}")]
    UnknownStrategy {
        /// The name given.
        name: String,
        /// The known names.
        known: String,
    },
    /// The strategy has no such parameter.
    #[error("strategy `{strategy}` has no parameter `{name}`\nhelp: parameters of `{strategy}`: {known}")]
    UnknownParameter {
        /// The strategy.
        strategy: &'static str,
        /// The name given.
        name: String,
        /// The known names.
        known: String,
    },
    /// A parameter is not of the form `name=value`, or occurs twice.
    #[error(
        "invalid parameter `{text}` in strategy `{spec}`\nhelp: write each parameter once, as `name=value`"
    )]
    Malformed {
        /// The malformed text.
        text: String,
        /// The whole specification.
        spec: String,
    },
    /// A parameter has an invalid value.
    #[error("invalid value `{value}` for parameter `{name}` of strategy `{strategy}`: expected {wanted}")]
    BadValue {
        /// The strategy.
        strategy: &'static str,
        /// The parameter.
        name: &'static str,
        /// The value given.
        value: String,
        /// The accepted values.
        wanted: String,
    },
    /// A wrapper cannot wrap the given strategy.
    #[error("`{wrapper}:` cannot wrap `{inner}`\nhelp: name {wanted}, for example `{wrapper}:pos`")]
    NotWrappable {
        /// The wrapper.
        wrapper: &'static str,
        /// The strategies that it can wrap.
        wanted: String,
        /// The given strategy.
        inner: String,
    },
}

/// Returns the entry of the strategy that `spec` begins with.
pub fn entry(spec: &str) -> Option<&'static Entry> {
    let (name, _) = split(spec);
    CATALOGUE.iter().find(|entry| entry.name == name)
}

/// Creates the strategy that `spec` names.
pub fn build(spec: &str) -> Result<Box<dyn Strategy>, SpecError> {
    let (name, rest) = split(spec);
    let Some(entry) = entry(spec) else {
        let all = CATALOGUE.iter().map(|entry| entry.name);
        let known: Vec<&str> = [crate::portfolio::NAME].into_iter().chain(all).collect();
        return Err(SpecError::UnknownStrategy { name: name.to_owned(), known: known.join(", ") });
    };
    match entry.build {
        Build::Alone(make) => make(&Values::parse(spec, entry, rest)?),
        Build::Around(make) => Ok(make(inner(entry, rest)?)),
    }
}

/// Returns true if every behaviour of the program was run once the strategy `spec` is exhausted.
pub fn covers_everything(spec: &str) -> bool {
    let (_, rest) = split(spec);
    rest.is_empty() && entry(spec).is_some_and(|entry| entry.capabilities.complete)
}

/// Returns true if the strategy `spec` may be exhausted while schedules within its bounds are left.
pub fn leaves_out(spec: &str) -> bool {
    let Some(entry) = entry(spec) else { return false };
    Values::parse(spec, entry, split(spec).1).is_ok_and(|values| (entry.capabilities.leaves_out)(&values))
}

/// Returns the depth for which runs under `spec` have the guarantee of PCT as published, if they have it: all but the first,
/// from which the length of a run is learnt.
pub fn pct_depth(spec: &str) -> Option<u64> {
    let entry = entry(spec)?;
    let values = Values::parse(spec, entry, split(spec).1).ok()?;
    entry.capabilities.depth_bound?(&values)
}

/// Returns the distribution of the schedules of `spec`, or the reason why it cannot be computed. The
/// specification must be valid.
pub fn exact(spec: &str) -> Result<Exact, String> {
    let exact = entry(spec).and_then(|entry| Some((entry, entry.capabilities.exact?)));
    let Some((entry, exact)) = exact else {
        let other = split(spec).0;
        return Err(format!(
            "{other} is not supported; random-walk, pct with a fixed depth, basic-pos and pos are"
        ));
    };
    exact(&Values::parse(spec, entry, split(spec).1).map_err(|error| error.to_string())?)
}

fn split(spec: &str) -> (&str, &str) {
    spec.split_once(':').unwrap_or((spec, ""))
}

/// Creates the strategy that `spec` names, for the wrapper `entry`.
fn inner(wrapper: &Entry, spec: &str) -> Result<Box<dyn Strategy>, SpecError> {
    let fits = |inner: &Entry| {
        let skips = wrapper.capabilities.skips_steps;
        match inner.family {
            Family::Randomized => !(skips && inner.capabilities.every_step),
            // Two wrappers that only set options of a run can be combined.
            Family::Wrapper => !skips && !inner.capabilities.skips_steps && inner.name != wrapper.name,
            Family::Systematic => false,
        }
    };
    if entry(spec).is_some_and(fits) {
        return build(spec);
    }
    let excluded: Vec<String> = CATALOGUE
        .iter()
        .filter(|inner| inner.family == Family::Randomized && !fits(inner))
        .map(|inner| format!("`{}`", inner.name))
        .collect();
    let other =
        if excluded.is_empty() { String::new() } else { format!(" other than {}", excluded.join(" and ")) };
    let wanted = format!("a randomized strategy{other}");
    Err(SpecError::NotWrappable { wrapper: wrapper.name, wanted, inner: spec.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CATALOGUE.len());
        assert!(names.iter().all(|name| !name.contains([':', '+', ',']) && *name != crate::portfolio::NAME));
    }

    #[test]
    fn families_agree_with_how_entries_are_built() {
        for entry in CATALOGUE {
            let around = matches!(entry.build, Build::Around(_));
            assert_eq!(entry.family == Family::Wrapper, around, "{}", entry.name);
            assert!(!around || entry.parameters.is_empty(), "a wrapper has no parameters: {}", entry.name);
        }
    }

    #[test]
    fn only_plain_searches_cover_everything() {
        for (spec, covers) in [
            ("dfs", true),
            ("dpor", true),
            ("preemption", true),
            ("preemption:bound=2", false),
            ("chess", false),
        ] {
            assert_eq!(covers_everything(spec), covers, "{spec}");
        }
    }

    #[test]
    fn some_searches_leave_out_schedules_within_their_bounds() {
        for (spec, leaves) in [
            ("dfs", false),
            ("delay:bound=2", false),
            ("preemption:bound=2", false),
            ("preemption:bound=2,sleep=sets", true),
            ("chess", true),
            ("period:periods=4", true),
            ("no-such-strategy", false),
        ] {
            assert_eq!(leaves_out(spec), leaves, "{spec}");
        }
    }

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
    fn errors_list_the_known_names() {
        for (spec, part) in [
            ("psos", "unknown strategy `psos`\nhelp: known strategies: portfolio, random-walk, pct,"),
            ("", "unknown strategy ``"),
            (
                "pct:dept=3",
                "strategy `pct` has no parameter `dept`\nhelp: parameters of `pct`: depth, steps,",
            ),
            ("dfs:x=1", "strategy `dfs` has no parameter `x`\nhelp: parameters of `dfs`: none"),
            ("pct:depth", "invalid parameter `depth` in strategy `pct:depth`"),
            ("pct:depth=2,depth=3", "help: write each parameter once"),
            (
                "pct:depth=deep",
                "invalid value `deep` for parameter `depth` of strategy `pct`: expected a whole number",
            ),
            ("pct:depth=0", "expected a whole number from 1 to 1000"),
            ("pct:depth=4294967295", "expected a whole number from 1 to 1000"),
            ("rpro:depth=1001", "expected a whole number from 1 to 1000"),
            ("rpro:radius=18446744073709551615", "expected a whole number from 0 to 4294967295"),
            ("conflict:upo", "a randomized strategy other than `upo` and `maple`"),
            ("conflict:maple", "`conflict:` cannot wrap `maple`"),
            (
                "maple:window=0",
                "invalid value `0` for parameter `window` of strategy `maple`: expected a whole number from 1",
            ),
            ("pct:at=lock", "expected `any` or `sync`"),
            ("stride:confidence=2", "expected a number between 0 and 1"),
            ("conflict:dfs", "help: name a randomized strategy"),
            ("exit-last:dpor", "help: name a randomized strategy"),
            ("conflict", "help: name a randomized strategy"),
            ("conflict:pos:reads=maybe", "expected `independent` or `dependent`"),
        ] {
            let message = build(spec).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(message.contains(part), "{spec}: {message}");
        }
    }
}
