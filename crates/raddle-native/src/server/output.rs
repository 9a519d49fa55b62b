//! The output and exit status of the program: files in memory, and failures that only they show.
#![expect(unsafe_code, reason = "files are identified by numbers")]

use super::panics;
use super::state::Server;
use crate::child::results::RunData;
use raddle_model::{Failure, Verdict};

impl Server {
    /// Returns the output of the latest run, truncated to its end.
    pub(super) fn printed(&self) -> String {
        const MOST: usize = 64 << 10;
        let texts = self.files().map(|file| contents(file, MOST));
        texts.map(|text| String::from_utf8_lossy(&text).into_owned()).collect()
    }

    /// Returns true if the exit status of the program may be a failure.
    pub(super) fn judges_ends(&self) -> bool {
        self.setup.fail_on_exit || self.setup.panics.is_some()
    }

    /// Marks a passed run as failed if its status or its output is not the expected one.
    pub(super) fn check_end(&self, data: &mut RunData) {
        // A waiting process sees one byte of the status.
        let status = data.status & 0xff;
        if status != 0 && data.verdict == Verdict::Passed {
            let thread = self.setup.panics.as_deref().filter(|_| status == panics::STATUS);
            let failure = thread.and_then(|thread| panics::failure(&self.printed(), thread));
            // A program with its own panic hook may print anything; the status is still that of a panic.
            let counts = self.setup.fail_on_exit || thread.is_some();
            let exit = counts.then_some(Failure::Exit { status });
            if let Some(failure) = failure.or(exit) {
                data.verdict = Verdict::Failed { failure };
            }
        }
        let Some((expected, file)) = self.expected.as_ref().filter(|_| data.verdict == Verdict::Passed)
        else {
            return;
        };
        let found = contents(*file, usize::MAX);
        if found == *expected {
            return;
        }
        let same = found.iter().zip(expected).take_while(|(found, expected)| found == expected).count();
        let failure = Failure::Output {
            file: self.setup.expected.clone().unwrap_or_default(),
            line: found[..same].iter().filter(|&&byte| byte == b'\n').count() as u64 + 1,
            byte: same as u64,
            lengths: (found.len() as u64, expected.len() as u64),
        };
        data.verdict = Verdict::Failed { failure };
    }
}

/// Returns the end of a file, at most `most` bytes.
fn contents(file: i32, most: usize) -> Vec<u8> {
    // SAFETY: the file is ours, and the buffer is writable for its length.
    unsafe {
        let length = libc::lseek(file, 0, libc::SEEK_END).max(0) as usize;
        let mut bytes = vec![0_u8; length.min(most)];
        let from = length - bytes.len();
        let count = libc::pread(file, bytes.as_mut_ptr().cast(), bytes.len(), from as i64);
        bytes.truncate(count.max(0) as usize);
        bytes
    }
}
