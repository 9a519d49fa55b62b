//! The names that a program's source gives to its objects.

use std::collections::BTreeMap;
use std::panic::Location;
use std::path::Path;

/// The sources read so far, by the path that the compiler recorded. [`None`] for those that cannot be read.
#[derive(Default)]
pub(super) struct Sources(BTreeMap<&'static str, Option<String>>);

impl Sources {
    /// Returns the variable, static or field that the object created at `location` is assigned to, if the source
    /// can be read and says so on the same line or the one before it.
    pub(super) fn name(&mut self, location: &'static Location<'static>) -> Option<String> {
        let source = self.0.entry(location.file()).or_insert_with(|| read(location.file())).as_deref()?;
        let row = (location.line() as usize).checked_sub(1)?;
        let line = source.lines().nth(row)?;
        let before = line.get(..(location.column() as usize).checked_sub(1)?)?;
        let above = row.checked_sub(1).and_then(|row| source.lines().nth(row)).unwrap_or_default();
        if before.trim().is_empty() { assigned(above) } else { assigned(before) }
    }
}

/// Reads a source file. The compiler recorded its path from the root of the workspace, and cargo runs tests in the
/// folder of the package.
fn read(file: &str) -> Option<String> {
    let folder = std::env::current_dir().ok()?;
    folder
        .ancestors()
        .map(|folder| folder.join(Path::new(file)))
        .find_map(|path| std::fs::read_to_string(path).ok())
}

/// Returns the name to which `text`, the beginning of an assignment or of a field, gives a value: `head` for
/// `let head = Arc::new(` and for `Queue { head: `, `locks.1` for `let locks = (Mutex::new(0), `.
fn assigned(text: &str) -> Option<String> {
    let mut text = text.trim_end();
    let mut element = None;
    while text.ends_with(['(', '[', ',']) {
        let (open, commas) = enclosing(text)?;
        let called =
            text[..open].trim_end_matches(|c: char| is_word(c) || matches!(c, ':' | '!' | '<' | '>'));
        if text[open..].starts_with('(') && called.len() == open {
            element = element.or(Some(commas));
        } else if commas > 0 && text[open..].starts_with('(') {
            return None; // It may be any argument of a function.
        }
        text = called.trim_end();
    }
    let name = match text.strip_suffix('=') {
        Some(declaration) => pattern(declaration.trim_end(), element)?,
        None => field(last_word(text.strip_suffix(':')?.trim_end())?, element),
    };
    let word = name.split('.').next().unwrap_or_default();
    let keyword = matches!(word, "mut" | "let" | "static" | "const" | "ref" | "else" | "_");
    (!keyword && word.starts_with(|c: char| c.is_alphabetic() || c == '_')).then_some(name)
}

/// Returns the last bracket of `text` that is still open, and the number of commas since, outside of others.
fn enclosing(text: &str) -> Option<(usize, usize)> {
    let (mut depth, mut commas) = (0, 0);
    for (at, c) in text.char_indices().rev() {
        match c {
            ')' | ']' | '}' => depth += 1,
            '(' | '[' if depth == 0 => return Some((at, commas)),
            '{' if depth == 0 => return None,
            '(' | '[' | '{' => depth -= 1,
            ',' if depth == 0 => commas += 1,
            _ => {}
        }
    }
    None
}

/// Returns the variable of `let mut queue`, `static READY: AtomicBool` or `self.ready`, and `b` for element 1 of
/// `let (a, b)`.
fn pattern(text: &str, element: Option<usize>) -> Option<String> {
    let start = ["let ", "static ", "const "]
        .iter()
        .filter_map(|word| text.rfind(word).map(|at| at + word.len()))
        .max();
    let Some(start) = start else { return last_word(text).map(|name| field(name, element)) };
    let variable = text[start..].trim_start().trim_start_matches("mut ");
    match (variable.strip_prefix('('), element) {
        (Some(names), Some(element)) => only_word(
            names.trim_end_matches(')').split(',').nth(element)?.trim_start().trim_start_matches("mut "),
        )
        .map(str::to_owned),
        _ => Some(field(only_word(variable.split([':', '=']).next()?)?, element)),
    }
}

fn field(name: &str, element: Option<usize>) -> String {
    element.map_or_else(|| name.to_owned(), |element| format!("{name}.{element}"))
}

fn only_word(text: &str) -> Option<&str> {
    let text = text.trim();
    text.chars().all(is_word).then_some(text)
}

fn last_word(text: &str) -> Option<&str> {
    let end = text.rsplit(|c: char| !is_word(c)).next()?;
    (!end.is_empty()).then_some(end)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_what_a_value_is_assigned_to() {
        for (text, name) in [
            ("let c = Arc::new(", Some("c")),
            ("    let mut queue: Vec<Arc<Mutex<u32>>> = vec![", Some("queue")),
            ("static READY: AtomicBool =", Some("READY")),
            ("Queue { head: AtomicUsize::new(0), tail: ", Some("tail")),
            ("    head: CachePadded::new(", Some("head")),
            ("let node = Box::new(Node { next: ", Some("next")),
            ("self.ready = ", Some("ready")),
            ("let slot = Some(Arc::<Mutex<u32>>::new(", Some("slot")),
            ("let locks = Arc::new((Mutex::new(0), ", Some("locks.1")),
            ("let (a, mut b) = (Mutex::new((0, 1)), ", Some("b")),
            ("let (a, b) = (", Some("a")),
            ("let cells = [AtomicU32::new(0), ", Some("cells")),
            ("let pair = Pair::new(AtomicU32::new(0), ", None),
            ("let _ = ", None),
            ("        ", None),
            ("push(", None),
            ("if a == ", None),
        ] {
            assert_eq!(assigned(text).as_deref(), name, "{text}");
        }
    }
}
