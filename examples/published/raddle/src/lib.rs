//! Raddle under Loom's name, with a table row for each model.

#[path = "../../row.rs"]
mod row;

pub use raddle::loom::*;

/// Like `raddle::loom::model`.
pub fn model<F: Fn() + Sync + Send + 'static>(test: F) {
    model::Builder::new().check(test);
}

/// Like `raddle::loom::model`.
pub mod model {
    use crate::row::{Row, budget};
    use std::ops::{Deref, DerefMut};
    use std::time::Instant;

    /// Like `raddle::loom::model::Builder`, with the time budget of the table.
    pub struct Builder(raddle::loom::model::Builder);

    impl Builder {
        /// Like Raddle's. A preemption bound can be set and is not used: there are fewer partial orders.
        #[expect(clippy::new_without_default, reason = "not needed here")]
        pub fn new() -> Builder {
            Builder(raddle::loom::model::Builder::new())
        }

        /// Runs `test`, writes a row, and panics with the report if a run failed.
        pub fn check<F: Fn() + Sync + Send + 'static>(&self, test: F) {
            let mut builder = self.0.clone();
            builder.preemption_bound = None;
            builder.max_duration = Some(budget());
            let begun = Instant::now();
            let outcome = builder.outcome(test);
            let mut row = Row::new(begun.elapsed());
            match &outcome {
                Ok(passed) => {
                    row.executions = passed.runs + passed.cut_off;
                    row.partial_orders = Some(passed.partial_orders as u64);
                    row.exhausted = passed.exhausted;
                }
                Err(failed) => {
                    row.executions = failed.number.map_or(0, |number| number + 1);
                    row.result = format!("found: {}", failed.failure.kind());
                }
            }
            row.write();
            if let Err(failed) = outcome {
                panic!("{failed}");
            }
        }
    }

    impl Deref for Builder {
        type Target = raddle::loom::model::Builder;

        fn deref(&self) -> &raddle::loom::model::Builder {
            &self.0
        }
    }

    impl DerefMut for Builder {
        fn deref_mut(&mut self) -> &mut raddle::loom::model::Builder {
            &mut self.0
        }
    }
}
