//! Details of a failing run for its report.

use serde::{Deserialize, Serialize};

/// Results of the analysis of a failing run. Replay does not need them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Details {
    /// The reason of the failure, if it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The calls of a structure under test with their results, as lines of a table and of a picture.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<String>,
    /// The user's lines that called into a library, by step in ascending order. Numbers after the last step stand for the
    /// threads of a deadlock, in the order of the verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<(u32, String)>,
    /// The function that each thread starts with; an empty text if it is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<String>,
    /// The call stacks of the failure, such as those of the access, the allocation and the free of a block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<Stack>,
}

/// The order of operations that makes a run fail.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Reason {
    /// The explanation in sentences.
    pub why: Vec<String>,
    /// The kind of bug, such as `atomicity violation`, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The estimated depth of the bug, if it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Pairs of steps that happen in the other order in the closest passing run. Numbers after the last step are as for
    /// [`Details::callers`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub swapped: Vec<(u32, u32)>,
    /// Pairs of steps whose order is sufficient for the failure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sufficient: Vec<(u32, u32)>,
}

/// A call stack.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Stack {
    /// The event there: `written by T1`.
    pub title: String,
    /// The frames, the innermost first: `push at stack.c:12`.
    pub frames: Vec<String>,
    /// True for each frame that belongs to a library.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub library: Vec<bool>,
}

impl Details {
    /// Returns true if nothing was found out.
    pub fn is_empty(&self) -> bool {
        *self == Details::default()
    }

    /// Keeps the lines that called for the steps of a run, an empty text for each step that is the user's own.
    pub fn set_callers(&mut self, lines: &[String]) {
        let known = lines.iter().enumerate().filter(|(_, line)| !line.is_empty());
        self.callers = known.map(|(step, line)| (step as u32, line.clone())).collect();
    }

    /// Does the same as [`Details::set_callers`] unless they are known.
    pub fn set_callers_if_none(&mut self, lines: &[String]) {
        if self.callers.is_empty() {
            self.set_callers(lines);
        }
    }

    /// Returns the user's line that called for a step of a library, or an empty text.
    pub fn caller(&self, step: usize) -> &str {
        let found = self.callers.binary_search_by_key(&step, |&(step, _)| step as usize);
        found.map_or("", |index| &self.callers[index].1)
    }
}
