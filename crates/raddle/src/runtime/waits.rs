//! The wait of an OS thread of this process, and the std call in which it waits.

/// The kind of wait of an OS thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wait {
    /// A futex, as for locks, channels and barriers of std.
    Lock,
    /// Another system call.
    System,
    /// Nothing: it computes.
    None,
}

/// Returns the wait of OS thread `number` of this process, as far as the system reports it.
pub(super) fn of(number: i32) -> Wait {
    let Ok(status) = std::fs::read_to_string(format!("/proc/self/task/{number}/stat")) else {
        return Wait::None;
    };
    // The state follows the name, which is in parentheses and may contain any characters.
    let state = status.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    if state.is_none_or(|state| state == 'R') {
        return Wait::None;
    }
    let called = std::fs::read_to_string(format!("/proc/self/task/{number}/syscall")).unwrap_or_default();
    let futex = called.split_whitespace().next().is_some_and(|call| call == FUTEX);
    if futex { Wait::Lock } else { Wait::System }
}

/// The number of the system call `futex`, as the system prints it.
const FUTEX: &str = if cfg!(target_arch = "x86_64") { "202" } else { "98" };

/// A stack frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Frame {
    pub(super) function: String,
    /// File, line and column, if the program has debug information.
    pub(super) location: Option<String>,
}

impl Frame {
    fn is_of_std(&self) -> bool {
        let std = ["std::", "core::", "alloc::", "<std::", "<core::", "<alloc::"];
        std.iter().any(|start| self.function.starts_with(start))
            || self.location.as_ref().is_some_and(|location| location.contains("/library/"))
    }
}

impl Frame {
    /// Returns the function with the path by which programs import its type, not the one inside std.
    pub(super) fn name(&self) -> String {
        let Some((std, _)) = self.import() else { return self.function.clone() };
        let name = without_parameters(&self.function);
        format!("{std}::{}", name.rsplit("::").next().unwrap_or_default())
    }

    /// Returns the std type of the function, and its replacement.
    pub(super) fn import(&self) -> Option<(&'static str, &'static str)> {
        let path = format!("{} {}", self.function, self.location.as_deref().unwrap_or_default());
        let path = path.replace("::", "/").to_lowercase();
        let found = IMPORTS.iter().find(|(word, ..)| path.contains(word));
        found.filter(|_| self.is_of_std()).map(|&(_, std, ours)| (std, ours))
    }
}

/// Removes generic arguments, which may contain paths.
fn without_parameters(path: &str) -> String {
    let mut depth = 0_u32;
    let mut rest = String::new();
    for character in path.chars() {
        match character {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => rest.push(character),
            _ => {}
        }
    }
    rest
}

/// Returns the frames of a stack as std prints it, the innermost first.
pub(super) fn frames(text: &str) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(location) = line.strip_prefix("at ") {
            if let Some(frame) = frames.last_mut() {
                frame.location.get_or_insert_with(|| location.to_owned());
            }
        } else if let Some((number, function)) = line.split_once(": ")
            && number.parse::<u32>().is_ok()
        {
            frames.push(Frame { function: function.to_owned(), location: None });
        }
    }
    frames
}

/// Returns the std function that the thread executes, and the location of its caller in the program. If the
/// thread is in none, returns only its location.
pub(super) fn call(frames: &[Frame]) -> (Option<&Frame>, Option<&str>) {
    // The frames before it are the signal handler and its callers.
    let handler = frames.iter().position(|frame| frame.function.contains("on_signal"));
    let rest = &frames[handler.map_or(0, |handler| handler + 1)..];
    let user =
        rest.iter().position(|frame| frame.location.is_some() && !frame.is_of_std() && !is_of_tools(frame));
    let Some(user) = user else { return (rest.iter().rfind(|frame| frame.import().is_some()), None) };
    let called = user.checked_sub(1).map(|index| &rest[index]).filter(|frame| frame.is_of_std());
    (called, rest[user].location.as_deref())
}

/// Returns true for a function of this crate, and for one of the C library with debug information.
fn is_of_tools(frame: &Frame) -> bool {
    let is_ours = ["raddle::", "<raddle::"].iter().any(|start| frame.function.starts_with(start));
    is_ours
        || frame.location.as_ref().is_some_and(|location| {
            location.starts_with("./") && location.contains(".c:") || location.contains("sysdeps")
        })
}

/// Substrings of the path of a std function or of its file, the type, and its replacement.
const IMPORTS: &[(&str, &str, &str)] = &[
    ("sync/mpsc", "std::sync::mpsc", "raddle::sync::mpsc"),
    ("sync/mpmc", "std::sync::mpsc", "raddle::sync::mpsc"),
    ("sync/barrier", "std::sync::Barrier", "raddle::sync::Barrier"),
    ("condvar", "std::sync::Condvar", "raddle::sync::Condvar"),
    ("rwlock", "std::sync::RwLock", "raddle::sync::RwLock"),
    ("mutex", "std::sync::Mutex", "raddle::sync::Mutex"),
    ("sync/once_lock", "std::sync::OnceLock", "raddle::sync::OnceLock"),
    ("sync/lazy_lock", "std::sync::LazyLock", "raddle::sync::LazyLock"),
    ("sync/once", "std::sync::Once", "raddle::sync::Once"),
    ("sync/poison/once", "std::sync::Once", "raddle::sync::Once"),
    ("std/thread", "std::thread", "raddle::thread"),
    ("std/src/thread", "std::thread", "raddle::thread"),
];

#[cfg(test)]
mod tests {
    use super::*;

    const STACK: &str = "   0: raddle::runtime::switch::stack::on_signal
             at /raddle/src/runtime/switch/stack.rs:50:17
   1: <unknown>
   2: syscall
   3: std::sys::pal::unix::futex::futex_wait
             at /rustc/1234/library/std/src/sys/pal/unix/futex.rs:72:21
   4: std::sync::poison::mutex::Mutex<T>::lock
             at /rustc/1234/library/std/src/sync/poison/mutex.rs:317:24
   5: tests::hangs::{{closure}}
             at ./tests/hangs.rs:12:30
   6: core::ops::function::FnOnce::call_once
             at /rustc/1234/library/core/src/ops/function.rs:250:5";

    #[test]
    fn the_call_of_std_and_its_place_are_found() {
        let frames = frames(STACK);
        assert_eq!(frames.len(), 7);
        let (function, location) = call(&frames);
        let function = function.unwrap();
        assert_eq!(function.name(), "std::sync::Mutex::lock");
        assert_eq!(location, Some("./tests/hangs.rs:12:30"));
        assert_eq!(function.import(), Some(("std::sync::Mutex", "raddle::sync::Mutex")));
    }

    #[test]
    fn an_inlined_call_is_known_by_its_file() {
        let text = STACK.replace("std::sync::poison::mutex::Mutex<T>::lock", "lock<i32>");
        let frames = frames(&text);
        assert_eq!(call(&frames).0.unwrap().name(), "std::sync::Mutex::lock");
    }

    #[test]
    fn a_call_has_the_path_of_its_import() {
        let name = |function: &str, file: &str| {
            let location = Some(format!("/rustc/1234/library/std/src/{file}.rs:1:1"));
            Frame { function: function.to_owned(), location }.name()
        };
        let closure = "call_once<test::once::{closure#0}::{closure_env#1}>";
        assert_eq!(name(closure, "sync/poison/once"), "std::sync::Once::call_once");
        assert_eq!(name("std::thread::functions::park", "thread/functions"), "std::thread::park");
        assert_eq!(name("std::thread::JoinHandle<T>::join", "thread/join_handle"), "std::thread::join");
        assert_eq!(name("std::io::stdio::read", "io/stdio"), "std::io::stdio::read");
    }

    #[test]
    fn a_thread_that_computes_is_in_no_call_of_std() {
        let text = "   0: raddle::runtime::switch::stack::on_signal\n   1: <unknown>\n   2: tests::spins\n             at ./tests/spins.rs:3:5";
        assert_eq!(call(&frames(text)), (None, Some("./tests/spins.rs:3:5")));
        let text = text.replace("tests::spins", "raddle::runtime::run::run_task");
        assert_eq!(call(&frames(&text)), (None, None), "no line of raddle's own is named");
        assert_eq!(call(&[]), (None, None));
    }

    #[test]
    fn types_of_std_have_a_counterpart() {
        let of = |function: &str| {
            let frame = Frame { function: function.to_owned(), location: None };
            frame.import().map(|(std, _)| std)
        };
        assert_eq!(of("std::sync::mpsc::Receiver<T>::recv"), Some("std::sync::mpsc"));
        assert_eq!(of("std::sync::barrier::Barrier::wait"), Some("std::sync::Barrier"));
        assert_eq!(of("std::thread::JoinHandle<T>::join"), Some("std::thread"));
        assert_eq!(of("std::io::stdio::read"), None);
    }
}
