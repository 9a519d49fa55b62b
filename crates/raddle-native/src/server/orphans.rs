//! Processes that a run has started and that outlive it. They end with the run, also those that have left its process
//! group or their parents: whatever they would do happens to the next run.
#![expect(unsafe_code, reason = "ends processes")]

use super::signals;

/// Makes this process the parent of processes whose parents have ended.
pub(super) fn adopt() {
    // SAFETY: the system call touches no memory. If it fails, such processes are not found.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// Ends the processes that the run in process `run`, which has ended, has started.
pub(super) fn end(run: i32) {
    /// The number of generations of processes.
    const MOST: usize = 1000;
    // SAFETY: a run begins a group of its own, whose number is not given to others as long as it has members.
    unsafe { libc::kill(-run, libc::SIGKILL) };
    for _ in 0..MOST {
        let children = children();
        if children.is_empty() {
            return;
        }
        for child in children {
            // SAFETY: the process is a child that was not waited for, so the number is still its own.
            unsafe {
                libc::kill(child, libc::SIGKILL);
                libc::waitpid(child, std::ptr::null_mut(), 0);
            }
        }
    }
}

/// Ends a child, unless it was waited for.
pub(super) fn end_child(child: i32) {
    if signals::status(child).is_some() {
        return;
    }
    // SAFETY: the child was not waited for, so the number is still its own.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
}

/// Returns the children of this process, which has one OS thread.
fn children() -> Vec<i32> {
    let process = std::process::id();
    let text = std::fs::read_to_string(format!("/proc/self/task/{process}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}
