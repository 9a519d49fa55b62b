//! Scenarios as text.

use super::operation::Operation;
use super::scenario::{Call, Scenario};
use raddle_history::{Part, Row, table};

/// Arguments with larger numbers cannot be named in the text of a scenario.
const MOST_NAMED: u64 = 10_000;

impl Scenario {
    /// Returns the calls, a line for each thread.
    pub(super) fn text<S>(&self, operations: &[Operation<S>]) -> String {
        let row = |(part, call): (Part, Call)| Row {
            part,
            call: (operations[call.operation].text)(call.argument),
            end: String::new(),
        };
        let rows: Vec<Row> = self.calls().into_iter().map(row).collect();
        table(&rows).trim_end().to_owned()
    }

    /// Reads a scenario: `push(1); pop() | pop()`, with calls of the main thread before and after it in other texts.
    pub(super) fn parse<S>(
        first: &[&str],
        threads: &[&[&str]],
        last: &[&str],
        operations: &[Operation<S>],
    ) -> Result<Scenario, String> {
        let call = |text: &&str| {
            let calls = operations.iter().enumerate().flat_map(|(number, operation)| {
                (0..operation.arguments.min(MOST_NAMED)).map(move |argument| (number, operation, argument))
            });
            let mut calls = calls.filter(|(_, operation, argument)| (operation.text)(*argument) == **text);
            let (operation, _, argument) =
                calls.next().ok_or_else(|| format!("no operation has the call `{text}`"))?;
            Ok(Call { operation, argument })
        };
        let calls = |texts: &[&str]| texts.iter().map(call).collect::<Result<Vec<Call>, String>>();
        let threads = threads.iter().map(|texts| calls(texts)).collect::<Result<_, _>>()?;
        Ok(Scenario { first: calls(first)?, threads, last: calls(last)? })
    }
}
