//! The names of threads, objects and locations of a file.

use raddle_model::{
    CALLED, FrontEnd, INLINED, LocationId, ObjectId, ThreadId, TraceFile, brief_object, frames, short_object,
    user_frame,
};

/// The thread that a test's harness runs on.
pub(crate) const HARNESS: u32 = 0;

/// The names of a file. A number without a name is displayed as a number, so that a damaged file can be
/// displayed too.
pub(crate) struct Names<'a>(pub(crate) &'a TraceFile);

impl Names<'_> {
    pub(crate) fn thread(&self, thread: ThreadId) -> String {
        self.0.threads.get(thread.index()).cloned().unwrap_or_else(|| format!("thread {}", thread.0))
    }

    /// Returns the noun for threads.
    pub(crate) fn noun(&self) -> &'static str {
        self.0.front_end.thread_noun()
    }

    /// Returns the plural of [`Names::noun`].
    pub(crate) fn nouns(&self) -> &'static str {
        self.0.front_end.thread_nouns()
    }

    pub(crate) fn threads(&self, threads: &[ThreadId]) -> String {
        let names: Vec<String> = threads.iter().map(|&thread| self.thread(thread)).collect();
        names.join(", ")
    }

    pub(crate) fn object(&self, object: ObjectId) -> String {
        self.0.objects.get(object.index()).cloned().unwrap_or_else(|| format!("object {}", object.0))
    }

    /// Returns the same without the creation location, which is in the object names of Rust tests.
    pub(crate) fn short_object(&self, object: ObjectId) -> String {
        short_object(&self.object(object)).to_owned()
    }

    pub(crate) fn location(&self, location: LocationId) -> String {
        self.0.locations.get(location.index()).cloned().unwrap_or_else(|| format!("location {}", location.0))
    }

    /// A location without the functions of libraries, unless there are no others.
    pub(crate) fn folded(&self, location: LocationId) -> String {
        folded(&self.location(location))
    }

    /// The name of an object in a sentence, without where it was made and without an address.
    pub(crate) fn brief_object(&self, object: ObjectId) -> String {
        brief_object(&self.object(object), object.0).into_owned()
    }

    /// Returns true if a message ends with the function and the line of an exception, as in Erlang: what the process did
    /// last is in another line.
    pub(crate) fn has_own_place(&self, message: &str) -> bool {
        let place = message.rsplit_once(" in ").map_or("", |(_, function)| function);
        let line =
            place.strip_suffix(')').and_then(|place| place.rsplit_once(':')).map_or("", |(_, line)| line);
        self.0.front_end == FrontEnd::Beam
            && !line.is_empty()
            && line.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// Returns the thread of a test's harness, if the run is one of a test.
    pub(crate) fn harness(&self) -> Option<u32> {
        self.0.environment.test.is_some().then_some(HARNESS)
    }
}

/// The user's line of a location.
pub(crate) fn place(names: &Names<'_>, location: LocationId) -> String {
    let text = names.location(location);
    match text.split_once(": ").filter(|(line, _)| line.starts_with("line ")) {
        Some((line, _)) => line.to_owned(),
        None => user_frame(&text).place().to_owned(),
    }
}

/// The text of a location without the functions of libraries, unless there are no others.
pub(crate) fn folded(text: &str) -> String {
    if frames(text).all(|frame| frame.is_library()) {
        return user_frame(text).text.to_owned();
    }
    let between = if text.contains(CALLED) { CALLED } else { INLINED };
    let mut shown: Vec<String> = Vec::new();
    let mut called = None;
    for frame in frames(text) {
        match (frame.function, called) {
            _ if frame.is_library() => called = frame.function,
            // The line of the user calls a library, where the step is.
            (Some(function), Some(called)) if shown.is_empty() => {
                shown.push(format!("{function}, in {called} at {}", frame.place()));
            }
            _ => shown.push(frame.text.to_owned()),
        }
    }
    shown.join(between)
}
