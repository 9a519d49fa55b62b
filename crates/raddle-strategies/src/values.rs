//! The parameters of a specification, parsed by the strategy that they are for.

use crate::catalogue::Entry;
use crate::spec::SpecError;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// The parameters of a specification.
pub(crate) struct Values<'a> {
    strategy: &'static str,
    given: Vec<(&'static str, &'a str)>,
}

impl<'a> Values<'a> {
    pub(crate) fn parse(spec: &str, entry: &'static Entry, text: &'a str) -> Result<Values<'a>, SpecError> {
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

    /// Returns the parameters that were given.
    pub(crate) fn given(&self) -> impl Iterator<Item = (&'static str, &'a str)> {
        self.given.iter().copied()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.given.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn wrong<T>(&self, name: &'static str, wanted: impl Display) -> Result<T, SpecError> {
        let value = self.get(name).unwrap_or_default().to_owned();
        Err(SpecError::BadValue { strategy: self.strategy, name, value, wanted: wanted.to_string() })
    }

    pub(crate) fn number(&self, name: &'static str, default: u32) -> Result<u32, SpecError> {
        self.within(name, default, 0..=u32::MAX)
    }

    pub(crate) fn positive(&self, name: &'static str, default: u32) -> Result<u64, SpecError> {
        self.within(name, default, 1..=u32::MAX).map(u64::from)
    }

    /// Parses the depth of PCT and RPro, which draw that many change points in every run and examine all of
    /// them at every step.
    pub(crate) fn depth(&self) -> Result<u32, SpecError> {
        self.within("depth", 3, 1..=1_000)
    }

    pub(crate) fn within(
        &self,
        name: &'static str,
        default: u32,
        range: RangeInclusive<u32>,
    ) -> Result<u32, SpecError> {
        match self.get(name).map(str::parse) {
            None => Ok(default),
            Some(Ok(number)) if range.contains(&number) => Ok(number),
            Some(_) => self.wrong(name, format!("a whole number from {} to {}", range.start(), range.end())),
        }
    }

    pub(crate) fn optional(&self, name: &'static str) -> Result<Option<u64>, SpecError> {
        self.get(name).map(|_| self.positive(name, 1)).transpose()
    }

    pub(crate) fn bound(&self, name: &'static str) -> Result<Option<u32>, SpecError> {
        self.get(name).map(|_| self.number(name, 0)).transpose()
    }

    pub(crate) fn confidence(&self) -> Result<Option<f64>, SpecError> {
        match self.get("confidence").map(str::parse::<f64>) {
            None => Ok(None),
            Some(Ok(confidence)) if confidence > 0.0 && confidence < 1.0 => Ok(Some(confidence)),
            Some(_) => self.wrong("confidence", "a number between 0 and 1"),
        }
    }

    pub(crate) fn ratio(&self) -> Result<Option<f64>, SpecError> {
        match self.get("ratio").map(str::parse::<f64>) {
            None => Ok(None),
            Some(Ok(ratio)) if ratio > 0.0 && ratio.is_finite() => Ok(Some(ratio)),
            Some(_) => self.wrong("ratio", "a number above 0"),
        }
    }

    /// Parses one of `words`; the first word is the default.
    pub(crate) fn word<T: Copy>(&self, name: &'static str, words: &[(&str, T)]) -> Result<T, SpecError> {
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
