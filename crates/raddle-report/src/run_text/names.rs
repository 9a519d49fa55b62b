//! The names of threads, objects and locations of a file.

use raddle_model::{LocationId, ObjectId, ThreadId, TraceFile};

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

    /// Returns the thread of a test's harness, if the run is one of a test.
    pub(crate) fn harness(&self) -> Option<u32> {
        self.0.environment.test.is_some().then_some(HARNESS)
    }
}

/// Returns the name of an object without its creation location, or that it is a thread.
pub(crate) fn short_object(name: &str) -> &str {
    let name = name.split(" made at ").next().unwrap_or(name);
    name.strip_suffix(", a thread").unwrap_or(name)
}
