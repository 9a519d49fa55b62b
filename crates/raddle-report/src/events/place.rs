//! Source locations of steps, parsed from their texts.

use raddle_model::{frames, user_frame};

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

/// The beginning of an Erlang location that names the patterns of a receive.
const RECEIVE: &str = "receive ";

impl Place {
    /// Understands `line 7: lock m` of the lab, `push at stack.c:12, inlined into main at main.c:3` of pthreads programs (the
    /// innermost function of the user counts) and `src/lib.rs:12:5` of Rust tests. Of anything else there is only the text.
    pub fn parse(text: &str) -> Place {
        let mut place = Place { text: text.to_owned(), ..Place::default() };
        let of_the_lab = text.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
        if let Some((line, statement)) = of_the_lab
            && let Ok(line) = line.parse()
        {
            (place.line, place.statement) = (Some(line), Some(statement.to_owned()));
            return place;
        }
        let frame = user_frame(text);
        if frame.line.is_some() {
            place.function = frame.function.map(str::to_owned);
            (place.file, place.line, place.column) =
                (frame.file.map(str::to_owned), frame.line, frame.column);
        }
        place
    }

    /// Returns true if no function of the location is the user's.
    pub fn is_library(&self) -> bool {
        self.statement.is_none() && frames(&self.text).all(|frame| frame.is_library())
    }

    /// Returns the files and lines without functions: `stack.h:31 < main.c:52` for a function that was inlined or called, the
    /// innermost first. Lines of libraries are left out unless `all` are wanted or no other is known. For a statement of the
    /// lab it is `line 7`.
    pub fn lines(&self, all: bool) -> String {
        if self.statement.is_some() {
            return self.short();
        }
        if let Some((_, line)) = self.text.strip_prefix(RECEIVE).and_then(|rest| rest.rsplit_once(" at ")) {
            return line.to_owned();
        }
        let all = all || self.is_library();
        let shown = frames(&self.text).filter(|frame| all || !frame.is_library());
        shown.map(|frame| frame.place()).collect::<Vec<_>>().join(" < ")
    }

    /// Returns the function of a library that the shown line calls: `Mutex::lock`.
    pub fn called(&self) -> Option<&str> {
        let inner = frames(&self.text).take_while(|frame| frame.is_library()).last()?;
        inner.function.filter(|_| !self.is_library())
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
        let lines = |text: &str| Place::parse(text).lines(false);
        assert_eq!(lines("push at a.h:3, inlined into main at b.c:7"), "a.h:3 < b.c:7");
        assert_eq!(lines("push at a.h:3, called by main at b.c:7"), "a.h:3 < b.c:7");
        let called = Place::parse("Mutex::lock at <std>/mutex.rs:30, called by count at a.rs:3");
        assert_eq!((called.lines(false), called.called()), ("a.rs:3".to_owned(), Some("Mutex::lock")));
        assert_eq!(called.lines(true), "<std>/mutex.rs:30 < a.rs:3");
        assert_eq!(lines("receive {ok, in , X} at race.erl:14"), "race.erl:14");
        assert_eq!(lines("line 7: x = 1"), "line 7");
        assert_eq!(lines("src/lib.rs:12:5"), "src/lib.rs:12:5");
        assert_eq!(lines("0x12ab"), "0x12ab");
        for text in ["unknown location", "main (/bin/x+0x12ab)", "line x: y", ""] {
            assert_eq!(Place::parse(text), Place { text: text.to_owned(), ..Place::default() });
        }
    }
}
