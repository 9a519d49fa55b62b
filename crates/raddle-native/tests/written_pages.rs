//! The kernel reports pages that were written by the program or by system calls.
//!
//! The library replaces C functions of the program that contains it, so it is not linked here: the modules are compiled
//! as part of this test.
#![expect(unsafe_code, reason = "memory is mapped and written")]

#[path = "../src/platform"]
#[expect(dead_code, reason = "the library uses the rest")]
mod platform {
    pub(crate) mod effects;
    pub(crate) mod raw;
    pub(crate) mod written_pages;
}

use platform::effects::{self, Effect};
use platform::raw;
use platform::written_pages::{Mapping, PAGE, WrittenPages};
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

const BLOCK: usize = 2 << 20;

/// Effects are recorded for the whole process, so the tests run one by one.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pages(watched: &WrittenPages, base: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let each = watched.each(|range| found.extend(range.step_by(PAGE).map(|page| (page - base) / PAGE)));
    each.expect("the system tells");
    found
}

#[test]
fn written_pages_are_reported() {
    let _alone = alone();
    let base = (raw::map(8 * BLOCK, false, 0) as usize).next_multiple_of(BLOCK);
    // SAFETY: the page is within the mapping, which this test alone uses.
    let write = |page: usize| unsafe { ((base + page * PAGE) as *mut u8).write_volatile(1) };
    (0..40).for_each(write);
    let mappings = [Mapping { memory: base..base + 4 * BLOCK, is_file: false }];
    let Some(watched) = WrittenPages::watch(&mappings, None, 300) else {
        _ = std::io::stderr().write_all(b"skipped: this kernel has no asynchronous write protection\n");
        return;
    };
    assert_eq!(pages(&watched, base), [0_usize; 0]);
    // Reading is not writing.
    // SAFETY: the page is within the mapping.
    unsafe { ((base + 7 * PAGE) as *const u8).read_volatile() };
    write(3);
    write(30);
    // In the first block, but not there before; and in a block that had no page.
    write(100);
    write(700);
    let mut text = [0_u8; 2];
    let into = (base + 20 * PAGE) as *mut libc::c_void;
    // SAFETY: the page is within the mapping, and the kernel writes two bytes of a pipe there.
    unsafe {
        let mut pair = [0; 2];
        assert_eq!(libc::pipe(pair.as_mut_ptr()), 0);
        assert_eq!(libc::write(pair[1], b"ab".as_ptr().cast(), 2), 2);
        assert_eq!(libc::read(pair[0], into, 2), 2);
        text.copy_from_slice(std::slice::from_raw_parts(into.cast(), 2));
    }
    assert_eq!(&text, b"ab");
    assert_eq!(pages(&watched, base), [3, 20, 30, 100, 700]);
    assert!(watched.was_zero(base + 700 * PAGE) && !watched.was_zero(base + 100 * PAGE));
    // They stay written, and others join them.
    write(4);
    assert_eq!(pages(&watched, base), [3, 4, 20, 30, 100, 700]);
}

#[test]
fn calls_are_undone_or_leave_a_trace() {
    let _alone = alone();
    let effect = |number, first, second, third| effects::effect(number, &[first, second, third, 0, 0, 0]);
    assert_eq!(effect(libc::SYS_getpid, 0, 0, 0), Effect::None);
    assert_eq!(effect(libc::SYS_write, 1, 0, 0), Effect::Output);
    assert_eq!(effect(libc::SYS_write, 5, 0, 0), Effect::OnFile);
    assert_eq!(effect(libc::SYS_openat, 0, 0, libc::O_RDONLY as usize), Effect::Opens);
    for flags in
        [libc::O_WRONLY, libc::O_RDWR, libc::O_RDONLY | libc::O_CREAT, libc::O_RDONLY | libc::O_TRUNC]
    {
        assert_eq!(effect(libc::SYS_openat, 0, 0, flags as usize), Effect::Trace, "{flags:#o}");
    }
    for number in
        [libc::SYS_fork, libc::SYS_kill, libc::SYS_umask, libc::SYS_chdir, libc::SYS_dup2, libc::SYS_unlink]
    {
        assert_eq!(effect(number, 0, 0, 0), Effect::Trace, "{number}");
    }
    assert_eq!(effect(i64::MAX, 0, 0, 0), Effect::Trace);
    effects::begin();
    let own = raw::map(2 * PAGE, false, 0) as usize;
    let contained =
        |begin, length| effects::is_contained(Effect::OnMapping, &[begin, length, 0, 0, 0, 0], true);
    assert!(contained(own, 2 * PAGE) && contained(own + PAGE, PAGE));
    assert!(!contained(own, 3 * PAGE) && !contained(own - PAGE, PAGE));
    let effects = effects::end().expect("there is no trace");
    assert_eq!(effects.mappings, [(own, 2 * PAGE)]);
    effects::begin();
    // SAFETY: the system call touches no memory, and the mask is restored.
    unsafe {
        raw::syscall(
            libc::SYS_umask,
            [raw::syscall(libc::SYS_umask, [0o22, 0, 0, 0, 0, 0]) as usize, 0, 0, 0, 0, 0],
        )
    };
    assert!(effects::end().is_none(), "changing the mask of files leaves a trace");
}
