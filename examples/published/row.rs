//! The results of one model: a line of tab-separated fields, appended to the file in `PUBLISHED_ROWS`.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::time::Duration;

/// The results of one model.
pub(crate) struct Row {
    pub(crate) executions: u64,
    /// The number of partial orders, if counted.
    pub(crate) partial_orders: Option<u64>,
    /// True if no schedule is left.
    pub(crate) exhausted: bool,
    pub(crate) time: Duration,
    pub(crate) result: String,
}

impl Row {
    pub(crate) fn new(time: Duration) -> Row {
        Row { executions: 0, partial_orders: None, exhausted: false, time, result: "passed".to_owned() }
    }

    /// Appends the row, under the name of the test, which is that of the thread.
    pub(crate) fn write(&self) {
        let thread = std::thread::current();
        let test = thread.name().unwrap_or("main");
        let orders = self.partial_orders.map_or("-".to_owned(), |orders| orders.to_string());
        let exhausted = if self.exhausted { "yes" } else { "no" };
        let seconds = self.time.as_secs_f64();
        let result = self.result.replace('\t', " ");
        let row = format!("{test}\t{}\t{orders}\t{exhausted}\t{seconds:.2}\t{result}\n", self.executions);
        let path = env::var_os("PUBLISHED_ROWS").expect("`run` sets PUBLISHED_ROWS");
        let mut file = OpenOptions::new().append(true).create(true).open(path).expect("the rows can be written");
        file.write_all(row.as_bytes()).expect("the rows can be written");
    }
}

/// Returns the time limit of one model.
pub(crate) fn budget() -> Duration {
    let seconds = env::var("PUBLISHED_SECONDS").expect("`run` sets PUBLISHED_SECONDS");
    Duration::from_secs(seconds.parse().expect("PUBLISHED_SECONDS is a number"))
}
