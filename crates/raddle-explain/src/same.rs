//! When two runs fail in the same way.

use raddle_model::{Failure, LocationId, TraceFile};

/// How a run fails, apart from what another schedule may change: the kind of failure, the places in the code, and what is
/// said, with all numbers taken out. Which thread it was does not count, nor which object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symptom {
    kind: &'static str,
    /// Invariant: sorted, each once.
    places: Vec<String>,
    message: String,
}

impl Symptom {
    /// How the run of `file` fails, if it does.
    pub fn of(file: &TraceFile) -> Option<Symptom> {
        let failure = file.verdict.failure()?;
        let (places, message): (Vec<LocationId>, &str) = match failure {
            Failure::Assertion { location, message, .. } | Failure::Misuse { location, message, .. } => {
                (vec![*location], message)
            }
            Failure::Deadlock { blocked, cycle } => {
                // Whoever only waits for the ring to open is not part of the failure.
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
            // The program tells where, in its own words.
            places.extend(before.iter().chain([last]).map(|panic| panic.place.clone()));
        }
        places.sort();
        places.dedup();
        Some(Symptom { kind: failure.kind(), places, message: without_numbers(message) })
    }
}

/// `text` with one `#` for every number in it.
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
