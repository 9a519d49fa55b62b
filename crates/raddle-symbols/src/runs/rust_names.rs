//! Short names of Rust functions.

/// Returns the last two components of a function's path, without type arguments and closure numbers:
/// `Mutex::lock` for `<std::sync::poison::mutex::Mutex<i32>>::lock`, and `count::{closure}` for a closure in
/// `tests::count`. Other names are unchanged.
pub(super) fn short(name: &str) -> String {
    let name = without_hash(name);
    if let Some(of) = name.split_once("drop_in_place::<").or(name.split_once("drop_in_place<")) {
        let of = of.1.rsplit_once('>').map_or(of.1, |(of, _)| of);
        return format!("drop of {}", last(&parts(of)));
    }
    let parts = parts(name);
    let named: Vec<&str> =
        parts.iter().map(String::as_str).filter(|part| !part.starts_with('{') && !part.is_empty()).collect();
    let from = named.len().saturating_sub(2);
    // A module is less informative than the type or function in it.
    let from = if named[from..].len() == 2 && is_module(named[from]) { from + 1 } else { from };
    let mut short = named[from..].join("::");
    if parts.last().is_some_and(|part| part.starts_with("{closure") || part.starts_with("{{closure")) {
        short.push_str("::{closure}");
    }
    if short.is_empty() { name.to_owned() } else { short }
}

/// Types begin with an uppercase letter; locks are never primitive types.
fn is_module(part: &str) -> bool {
    part.starts_with(|first: char| first.is_lowercase() || first == '_')
}

fn last(parts: &[String]) -> &str {
    parts.last().map_or("a value", |part| if part.starts_with('{') { "a closure" } else { part })
}

/// Older compilers append a hash to names.
fn without_hash(name: &str) -> &str {
    let is_hash = |end: &str| end.len() == 16 && end.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.rsplit_once("::h").filter(|(_, end)| is_hash(end)).map_or(name, |(name, _)| name)
}

/// Returns the components of a path, each without brackets. For `<Type as Trait>`, returns the components of
/// the type.
fn parts(path: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut depth, mut before) = (0_u32, ' ');
    let mut rest = path.strip_prefix('&').unwrap_or(path);
    rest = rest.strip_prefix("mut ").unwrap_or(rest);
    if let Some(inside) = rest.strip_prefix('<') {
        let end = closing(inside);
        let own = &inside[..end];
        let own = own.find(" as ").filter(|&at| balanced(&own[..at])).map_or(own, |at| &own[..at]);
        parts = self::parts(own);
        rest = inside.get(end + 1..).unwrap_or_default();
    }
    for letter in rest.chars() {
        match letter {
            '<' | '(' | '[' => depth += 1,
            // An arrow is not a bracket.
            '>' if before == '-' => {}
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            ':' if depth == 0 && before == ':' => parts.push(String::new()),
            ':' => {}
            letter if depth == 0 => {
                if let Some(part) = parts.last_mut() {
                    part.push(letter);
                }
            }
            _ => {}
        }
        before = letter;
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Returns the end of the bracket that was opened before `text`.
fn closing(text: &str) -> usize {
    let (mut depth, mut before) = (1_u32, ' ');
    for (index, letter) in text.char_indices() {
        match letter {
            '<' => depth += 1,
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index;
        }
        before = letter;
    }
    text.len()
}

fn balanced(text: &str) -> bool {
    text.matches('<').count() == text.matches('>').count() - text.matches("->").count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_short_as_they_are_said() {
        for (long, expected) in [
            ("main", "main"),
            ("<std::sync::poison::mutex::Mutex<i32>>::lock", "Mutex::lock"),
            ("std::sync::poison::mutex::Mutex<T>::lock::h0123456789abcdef", "Mutex::lock"),
            ("<alloc::sync::Arc<T, A> as core::ops::drop::Drop>::drop", "Arc::drop"),
            ("planted::tests::count::{closure#0}", "count::{closure}"),
            ("planted::tests::count::{{closure}}", "count::{closure}"),
            ("app::closure_count", "closure_count"),
            ("core::ptr::drop_in_place::<std::sync::MutexGuard<'_, i32>>", "drop of MutexGuard"),
            ("core::ptr::drop_in_place<app::main::{{closure}}>", "drop of a closure"),
            ("<fn(i32) -> i32 as core::ops::FnOnce<(i32,)>>::call_once", "call_once"),
            ("std::thread::spawn::<app::main::{closure#0}, ()>", "spawn"),
        ] {
            assert_eq!(short(long), expected, "{long}");
        }
    }
}
