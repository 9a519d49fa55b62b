//! What the program printed and with what status it ended: files in memory, and failures that only they tell.
#![expect(unsafe_code, reason = "files are known by numbers")]

use super::panics;
use super::state::Server;
use crate::child::results::RunData;
use raddle_model::{Failure, Verdict};

impl Server {
    /// What the latest run printed; of much, the end.
    pub(super) fn printed(&self) -> String {
        const MOST: usize = 64 << 10;
        let texts = self.files().map(|file| contents(file, MOST));
        texts.map(|text| String::from_utf8_lossy(&text).into_owned()).collect()
    }

    /// Whether the status of the program may be a failure.
    pub(super) fn judges_ends(&self) -> bool {
        self.setup.fail_on_exit || self.setup.panics.is_some()
    }

    /// Makes a run that has passed a failing one if its status or its output is not the expected one.
    pub(super) fn check_end(&self, whole: &mut RunData) {
        // Whoever waits for a process sees one byte of its status.
        let status = whole.status & 0xff;
        if status != 0 && whole.verdict == Verdict::Passed {
            let thread = self.setup.panics.as_deref().filter(|_| status == panics::STATUS);
            let failure = thread.and_then(|thread| panics::failure(&self.printed(), thread));
            // A program with a panic hook of its own may print anything; the status is still that of a panic.
            let counts = self.setup.fail_on_exit || thread.is_some();
            let exit = counts.then_some(Failure::Exit { status });
            if let Some(failure) = failure.or(exit) {
                whole.verdict = Verdict::Failed { failure };
            }
        }
        let Some((expected, file)) = self.expected.as_ref().filter(|_| whole.verdict == Verdict::Passed)
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
        whole.verdict = Verdict::Failed { failure };
    }
}

/// The end of a file, no more than `most` bytes.
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
