//! Conditions such as `cfg(all(unix, not(target_env = "musl")))`, as cargo's configuration has them.

use std::collections::BTreeSet;

/// Whether `condition`, from its `cfg(` on, holds where all of `set` does, whose lines are as `rustc --print cfg` tells them. Nothing if
/// it is no condition.
pub(super) fn holds(condition: &str, set: &BTreeSet<String>) -> Option<bool> {
    let inner = condition.trim().strip_prefix("cfg")?.trim_start().strip_prefix('(')?;
    let mut reader = Reader { rest: inner, set };
    let holds = reader.condition()?;
    (reader.takes(')') && reader.rest.trim().is_empty()).then_some(holds)
}

struct Reader<'a> {
    rest: &'a str,
    set: &'a BTreeSet<String>,
}

impl<'a> Reader<'a> {
    /// Whether `next` comes next, which is then behind us.
    fn takes(&mut self, next: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(next);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn word(&mut self) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        Some(word).filter(|word| !word.is_empty())
    }

    fn condition(&mut self) -> Option<bool> {
        let word = self.word()?;
        if self.takes('(') {
            let parts = self.parts()?;
            return match (word, &parts[..]) {
                ("all", parts) => Some(parts.iter().all(|&part| part)),
                ("any", parts) => Some(parts.iter().any(|&part| part)),
                ("not", [part]) => Some(!part),
                _ => None,
            };
        }
        if self.takes('=') {
            let (value, rest) = self.rest.trim_start().strip_prefix('"')?.split_once('"')?;
            self.rest = rest;
            return Some(self.set.contains(&format!("{word}=\"{value}\"")));
        }
        Some(word == "true" || self.set.contains(word))
    }

    /// Conditions between commas, up to the bracket that closes them.
    fn parts(&mut self) -> Option<Vec<bool>> {
        let mut parts = Vec::new();
        while !self.takes(')') {
            parts.push(self.condition()?);
            if !self.takes(',') {
                return self.takes(')').then_some(parts);
            }
        }
        Some(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_those_of_cargo() {
        let set = ["unix", "target_os=\"linux\"", "target_feature=\"sse\"", "target_feature=\"sse2\""];
        let set: BTreeSet<String> = set.map(str::to_owned).into();
        for (condition, expected) in [
            ("cfg(unix)", Some(true)),
            ("cfg(windows)", Some(false)),
            ("cfg( target_os = \"linux\" )", Some(true)),
            ("cfg(target_feature = \"sse2\")", Some(true)),
            ("cfg(target_os = \"l\")", Some(false)),
            ("cfg(all(unix, not(windows),))", Some(true)),
            ("cfg(all(unix, windows))", Some(false)),
            ("cfg(any(windows, all(unix, target_os = \"linux\")))", Some(true)),
            ("cfg(any())", Some(false)),
            ("cfg(all())", Some(true)),
            ("cfg(not(unix, windows))", None),
            ("cfg(some(unix))", None),
            ("cfg(unix", None),
            ("cfg(unix))", None),
            ("cfg(unix windows)", None),
            ("x86_64-unknown-linux-gnu", None),
        ] {
            assert_eq!(holds(condition, &set), expected, "{condition}");
        }
    }
}
