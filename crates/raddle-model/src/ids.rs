//! Small dense numbers for the threads, objects and locations of one run.
//!
//! They are assigned in order of appearance and mean nothing in another run. Whatever has to survive a run is
//! keyed by [`crate::Name`].

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// Returns the id as an index into a table with one entry per id.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(
    /// A thread of one run, numbered in order of creation; the first thread is 0.
    ThreadId
);
id!(
    /// A shared object of one run, numbered in order of appearance.
    ObjectId
);
id!(
    /// A static code location, as numbered by the front end that produced the run.
    LocationId
);
