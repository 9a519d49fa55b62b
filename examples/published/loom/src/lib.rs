//! Loom, with a table row for each model.

#[path = "../../row.rs"]
mod row;

pub use uncounted::*;

/// Like Loom's.
pub fn model<F: Fn() + Sync + Send + 'static>(test: F) {
    model::Builder::new().check(test);
}

/// Like Loom's.
pub mod model {
    use crate::row::{Row, budget};
    use std::ops::{Deref, DerefMut};
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Instant;

    /// Like Loom's, with the time budget of the table.
    pub struct Builder(uncounted::model::Builder);

    impl Builder {
        /// Like Loom's.
        #[expect(clippy::new_without_default, reason = "not needed here")]
        pub fn new() -> Builder {
            let mut builder = uncounted::model::Builder::new();
            builder.max_duration = Some(budget());
            // Loom reads the clock as often as it would write a checkpoint.
            builder.checkpoint_interval = 100;
            Builder(builder)
        }

        /// Runs `test` and writes a row.
        pub fn check<F: Fn() + Sync + Send + 'static>(&self, test: F) {
            let executions = Arc::new(AtomicU64::new(0));
            let counter = Arc::clone(&executions);
            let counted = move || {
                counter.fetch_add(1, Ordering::Relaxed);
                test();
            };
            let begun = Instant::now();
            let outcome = catch_unwind(AssertUnwindSafe(|| self.0.check(counted)));
            let mut row = Row::new(begun.elapsed());
            row.executions = executions.load(Ordering::Relaxed);
            row.exhausted = outcome.is_ok() && row.time < budget();
            if let Err(payload) = &outcome {
                let text = payload.downcast_ref::<String>().map(|text| &text[..]);
                let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
                let line = text.and_then(|text| text.lines().find(|line| !line.is_empty()));
                row.result = line.unwrap_or("a panic without a text").to_owned();
            }
            row.write();
            if let Err(payload) = outcome {
                resume_unwind(payload);
            }
        }
    }

    impl Deref for Builder {
        type Target = uncounted::model::Builder;

        fn deref(&self) -> &uncounted::model::Builder {
            &self.0
        }
    }

    impl DerefMut for Builder {
        fn deref_mut(&mut self) -> &mut uncounted::model::Builder {
            &mut self.0
        }
    }
}
