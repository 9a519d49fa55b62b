//! The comparison of failures.

use raddle_model::{Failure, LocationId, TraceFile};

/// A failure without the parts that another schedule may change: the kind of failure, the code locations, and
/// the message with all numbers removed. Thread and object do not count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symptom {
    kind: &'static str,
    /// Invariant: sorted, without duplicates.
    places: Vec<String>,
    message: String,
}

impl Symptom {
    /// Returns the symptom of the run of `file`, if it fails.
    pub fn of(file: &TraceFile) -> Option<Symptom> {
        let failure = file.verdict.failure()?;
        let (places, message): (Vec<LocationId>, &str) = match failure {
            Failure::Assertion { location, message, .. } | Failure::Misuse { location, message, .. } => {
                (vec![*location], message)
            }
            Failure::Deadlock { blocked, cycle } => {
                // A thread that only waits for the cycle is not part of the failure.
                let counts =
                    |entry: &&raddle_model::Blocked| cycle.is_empty() || cycle.contains(&entry.thread);
                (blocked.iter().filter(counts).map(|entry| entry.location).collect(), "")
            }
            Failure::DataRace { first, second, .. } => (vec![first.location, second.location], ""),
            Failure::Signal { location, signal, .. } => (vec![*location], signal),
            Failure::UseAfterFree { location, block, .. } | Failure::DoubleFree { location, block, .. } => {
                (vec![*location, block.freed_at], "")
            }
            Failure::Panic { last, .. } => (Vec::new(), &last.message),
            _ => (Vec::new(), ""),
        };
        let text = |id: LocationId| file.locations.get(id.index()).cloned().unwrap_or_default();
        let mut places: Vec<String> = places.into_iter().map(text).collect();
        if let Failure::Panic { last, before } = failure {
            // The program reports the location in its own words.
            places.extend(before.iter().chain([last]).map(|panic| panic.place.clone()));
        }
        places.sort();
        places.dedup();
        Some(Symptom { kind: failure.kind(), places, message: without_numbers(message) })
    }
}

/// Returns `text` with every number replaced by one `#`.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' => out.push('#'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_count() {
        assert_eq!(without_numbers("balance 120, not 95"), "balance #, not #");
        assert_ne!(without_numbers("x1"), without_numbers("y1"));
    }
}
