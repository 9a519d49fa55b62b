//! Parsing of numbers and times.

use raddle_model::MemoryModel;
use std::time::Duration;

/// Parses a positive whole number, also written as 5e7 or 10_000.
pub(crate) fn whole(text: &str) -> Result<u64, String> {
    let wrong = || "write a whole number of at least 1, such as 10000 or 5e7".to_owned();
    let digits = text.replace('_', "");
    let number = match digits.split_once(['e', 'E']) {
        None => digits.parse().map_err(|_| wrong())?,
        Some((mantissa, exponent)) => {
            let (mantissa, exponent): (u64, u32) =
                mantissa.parse().ok().zip(exponent.parse().ok()).ok_or_else(wrong)?;
            10_u64.checked_pow(exponent).and_then(|power| mantissa.checked_mul(power)).ok_or_else(wrong)?
        }
    };
    if number == 0 { Err(wrong()) } else { Ok(number) }
}

/// A memory model.
pub(crate) fn memory(text: &str) -> Result<MemoryModel, String> {
    MemoryModel::from_name(text).ok_or_else(|| "the models are sc and weak".to_owned())
}

/// Parses a duration.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "write a whole number with a unit, such as 500ms, 30s or 5m".to_owned();
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let number: u64 = text[..split].parse().map_err(|_| wrong())?;
    let milliseconds = match &text[split..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(wrong()),
    };
    match number.checked_mul(milliseconds) {
        Some(0) => Err("the time must be more than 0".to_owned()),
        Some(all) => Ok(Duration::from_millis(all)),
        None => Err("the time is too long".to_owned()),
    }
}

/// Parses a number of runs.
pub(crate) fn runs(text: &str) -> Result<u64, String> {
    const MOST: u64 = 10_000_000_000;
    let number = whole(text)?;
    if number > MOST { Err("write at most 1e10; use another seed for more".to_owned()) } else { Ok(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_be_written_short() {
        assert_eq!(whole("5e7"), Ok(50_000_000));
        assert_eq!(whole("10_000"), Ok(10_000));
        for wrong in ["0", "", "e5", "1.5e3", "-1", "1e30", "many"] {
            assert!(whole(wrong).is_err(), "{wrong}");
        }
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        for wrong in ["5", "s", "0s", "5 s", "-5s", "1d"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
