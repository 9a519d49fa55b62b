//! Source locations of steps, parsed from their texts.

/// A parsed location of a failure file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// The original text.
    pub text: String,
    /// The function, if it is named.
    pub function: Option<String>,
    /// The source file; `None` for a lab program, whose text is in the failure file.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
    /// The statement of a lab program.
    pub statement: Option<String>,
}

/// The text between a function and the one that it was inlined into.
const INLINED: &str = ", inlined into ";

/// The text between a function and its caller.
const CALLED: &str = ", called by ";

/// The text between a user function and the library function that it calls.
const CALLING: &str = ", in ";

/// The beginning of an Erlang location that names the patterns of a receive.
const RECEIVE: &str = "receive ";

impl Place {
    /// Parses `line 7: lock m` of the lab, `push at stack.c:12, inlined into main at main.c:3` of pthreads
    /// programs (the innermost function counts, also for callers) and `src/lib.rs:12:5` of Rust tests.
    /// Anything else has only its text.
    pub fn parse(text: &str) -> Place {
        let mut place = Place { text: text.to_owned(), ..Place::default() };
        let of_the_lab = text.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
        if let Some((line, statement)) = of_the_lab
            && let Ok(line) = line.parse()
        {
            (place.line, place.statement) = (Some(line), Some(statement.to_owned()));
            return place;
        }
        let inner =
            [CALLED, INLINED].iter().fold(text, |text, before| text.split(before).next().unwrap_or(text));
        let (function, spot) =
            inner.rsplit_once(" at ").map_or((None, inner), |(function, spot)| (Some(function), spot));
        let Some((before, last)) = spot.rsplit_once(':') else { return place };
        let Ok(last) = last.parse() else { return place };
        let with_column = before.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
        let (file, line, column) = match with_column {
            Some((file, line)) => (file, line, Some(last)),
            None => (before, last, None),
        };
        place.function = function.map(str::to_owned);
        (place.file, place.line, place.column) = (Some(file.to_owned()), Some(line), column);
        place
    }

    /// Returns the files and lines without functions: `stack.h:31 < main.c:52` for a function that was inlined or called, the
    /// innermost first, and `lib.rs:3 in Mutex::lock` for a line of the user that calls a library. For a statement of the lab it
    /// is `line 7`.
    pub fn lines(&self) -> String {
        if self.statement.is_some() {
            return self.short();
        }
        if let Some((_, line)) = self.text.strip_prefix(RECEIVE).and_then(|rest| rest.rsplit_once(" at ")) {
            return line.to_owned();
        }
        let frames = self.text.split(INLINED).flat_map(|frame| frame.split(CALLED));
        let frames = frames.map(|frame| match frame.rsplit_once(" at ") {
            Some((function, line)) => match function.split_once(CALLING) {
                Some((_, called)) => format!("{line} in {called}"),
                None => line.to_owned(),
            },
            None => frame.to_owned(),
        });
        frames.collect::<Vec<_>>().join(" < ")
    }

    /// Returns `stack.c:12` or `line 7`, as short as possible; otherwise the text.
    pub fn short(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => {
                let name = file.rsplit('/').next().unwrap_or(file);
                format!("{name}:{line}")
            }
            (None, Some(line)) => format!("line {line}"),
            _ => self.text.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_of_all_front_ends_are_understood() {
        let parts = |text: &str| {
            let place = Place::parse(text);
            (place.function.clone(), place.file.clone(), place.line, place.column, place.short())
        };
        let owned = |text: &str| Some(text.to_owned());
        assert_eq!(parts("line 7: x = 1"), (None, None, Some(7), None, "line 7".to_owned()));
        assert_eq!(Place::parse("line 7: x = a: b").statement, owned("x = a: b"));
        assert_eq!(
            parts("push at a/b.h:3, inlined into main at b.c:7"),
            (owned("push"), owned("a/b.h"), Some(3), None, "b.h:3".to_owned())
        );
        assert_eq!(
            parts("src/lib.rs:12:5"),
            (None, owned("src/lib.rs"), Some(12), Some(5), "lib.rs:12".to_owned())
        );
        let lines = |text: &str| Place::parse(text).lines();
        assert_eq!(lines("push at a.h:3, inlined into main at b.c:7"), "a.h:3 < b.c:7");
        assert_eq!(lines("push at a.h:3, called by main at b.c:7"), "a.h:3 < b.c:7");
        assert_eq!(lines("count, in Mutex::lock at a.rs:3"), "a.rs:3 in Mutex::lock");
        assert_eq!(lines("receive {ok, in , X} at race.erl:14"), "race.erl:14");
        assert_eq!(lines("line 7: x = 1"), "line 7");
        assert_eq!(lines("src/lib.rs:12:5"), "src/lib.rs:12:5");
        assert_eq!(lines("0x12ab"), "0x12ab");
        for text in ["unknown location", "main (/bin/x+0x12ab)", "line x: y", ""] {
            assert_eq!(Place::parse(text), Place { text: text.to_owned(), ..Place::default() });
        }
    }
}
