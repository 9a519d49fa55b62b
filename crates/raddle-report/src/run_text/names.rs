//! The names of threads, objects and locations of a file.

use raddle_model::{LocationId, ObjectId, ThreadId, TraceFile};

/// The thread that a test's harness runs on.
pub(crate) const HARNESS: u32 = 0;

/// The names of a file. A number without a name is shown as a number, so that a damaged file can be shown too.
pub(crate) struct Names<'a>(pub(crate) &'a TraceFile);

impl Names<'_> {
    pub(crate) fn thread(&self, thread: ThreadId) -> String {
        self.0.threads.get(thread.index()).cloned().unwrap_or_else(|| format!("thread {}", thread.0))
    }

    /// What threads are called.
    pub(crate) fn noun(&self) -> &'static str {
        self.0.front_end.thread_noun()
    }

    /// The plural of [`Names::noun`].
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

    /// The same without where it was made, which the names of objects of Rust tests tell.
    pub(crate) fn short_object(&self, object: ObjectId) -> String {
        short_object(&self.object(object)).to_owned()
    }

    pub(crate) fn location(&self, location: LocationId) -> String {
        self.0.locations.get(location.index()).cloned().unwrap_or_else(|| format!("location {}", location.0))
    }

    /// The thread that a test's harness runs on, if the run is one of a test.
    pub(crate) fn harness(&self) -> Option<u32> {
        self.0.environment.test.is_some().then_some(HARNESS)
    }
}

/// The name of an object without where it was made, or that it is a thread.
pub(crate) fn short_object(name: &str) -> &str {
    let name = name.split(" made at ").next().unwrap_or(name);
    name.strip_suffix(", a thread").unwrap_or(name)
}
