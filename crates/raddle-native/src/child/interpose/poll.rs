//! Calls that wait for one of many files. Their time-outs are on the virtual clock.

use super::access::note_no_write;
use super::entry::{place, system_calls};
use super::signal::with_mask;
use super::time::{FOREVER, nanoseconds};
use super::transfer::{touch, wait};
use super::unwind;
use crate::child::control::{self, enter};
use crate::child::outside::{self, Awaited, What};
use crate::child::pending::Call;
use crate::child::runtime::{Runtime, with};
use crate::child::scheduling::step;
use crate::platform::raw::{self, errno_result};
use crate::platform::real;
use libc::{EFAULT, EINTR, EINVAL, c_int, c_short, fd_set, pollfd, timespec, timeval};
use raddle_engine::Reply;
use raddle_model::{Kind, Operation};
use std::ffi::c_void;

system_calls! {
    poll => poll_within;
    __poll_chk(files: *mut pollfd, count: u64, limit: c_int, unused: usize) -> c_int => poll_checked;
    ppoll => poll_masked;
    __ppoll_chk(files: *mut pollfd, count: u64, time: *const timespec, mask: *const c_void, unused: usize) -> c_int => poll_masked_checked;
    select => select_within;
    pselect => select_masked;
    epoll_wait => set_wait;
    epoll_pwait => set_wait_masked;
    epoll_ctl => set_change;
}

/// Polls `files` with `call`, which does not wait and returns 0 if none is ready, and waits as long as that
/// is so.
fn look(files: &[pollfd], span: u64, place: usize, call: impl Fn() -> isize) -> isize {
    let call_begun = Call::begin();
    let is_over = || unwind::is_due() || call_begun.is_interrupted(false);
    if is_over() {
        return -(EINTR as isize);
    }
    let inside = || {
        with(|runtime| {
            files.iter().filter(|file| file.fd >= 0).all(|file| runtime.outside.is_inside(file.fd))
        })
    };
    let deadline = if span == FOREVER { FOREVER } else { with(|runtime| runtime.now()).saturating_add(span) };
    let all = |runtime: &mut Runtime| runtime.all(What::All);
    let mut first = span > 0 && !inside();
    loop {
        let mut came = true;
        if !std::mem::take(&mut first) {
            touch(place, all);
            call_begun.note_touch();
            with(Runtime::expire_timers);
            let result = call();
            if result != 0 {
                return result;
            }
            note_no_write();
            if span == 0 {
                if !inside() {
                    outside::nap();
                }
                return 0;
            }
            // Another thread may have cancelled this one, or sent it a signal, before it polled.
            if is_over() {
                return -(EINTR as isize);
            }
        }
        let left = match deadline {
            FOREVER => FOREVER,
            deadline => deadline.saturating_sub(with(|runtime| runtime.now())),
        };
        if left > 0 {
            came = wait(Awaited::Files(files.to_vec()), inside(), place, left, all);
        }
        if is_over() {
            return -(EINTR as isize);
        }
        if left == 0 || !came {
            touch(place, all);
            with(Runtime::expire_timers);
            return call();
        }
    }
}

/// Waits until a file is ready.
pub(super) fn wait_for(file: c_int, events: c_short, place: usize) {
    let files = [pollfd { fd: file, events, revents: 0 }];
    look(&files, FOREVER, place, || {
        let mut files = files;
        // SAFETY: the array has one element.
        unsafe { raw::syscall(libc::SYS_poll, [files.as_mut_ptr() as usize, 1, 0, 0, 0, 0]) }
    });
}

/// Waits until a socket is connected. Returns the negative error, or 0.
pub(super) fn await_connection(file: c_int, place: usize) -> isize {
    wait_for(file, libc::POLLOUT, place);
    let (mut error, mut room) = (0_i32, 4_u32);
    let (error_at, room_at) = (&raw mut error as usize, &raw mut room as usize);
    let option = [file as usize, libc::SOL_SOCKET as usize, libc::SO_ERROR as usize, error_at, room_at, 0];
    // SAFETY: the buffer has room for a number.
    unsafe { raw::syscall(libc::SYS_getsockopt, option) };
    -(error as isize)
}

fn milliseconds(limit: c_int) -> u64 {
    u64::try_from(limit).map_or(FOREVER, |limit| limit * 1_000_000)
}

/// Returns a time limit, or `None` if it is invalid. glibc reads it before the system call.
fn limit(time: *const timespec, place: usize) -> Option<u64> {
    if time.is_null() { Some(FOREVER) } else { nanoseconds(time, place).map(|span| span.min(FOREVER - 1)) }
}

/// Copies an array that the program passes to a system call, or returns `EFAULT`.
pub(super) fn copy<T: Copy>(list: *const T, count: usize) -> Result<Vec<T>, c_int> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let size = count.checked_mul(size_of::<T>()).ok_or(EFAULT)?;
    if !raw::is_readable(list as usize, size) {
        return Err(EFAULT);
    }
    // SAFETY: the memory is mapped, and the call requires `count` elements.
    Ok((0..count).map(|index| unsafe { list.add(index).read_unaligned() }).collect())
}

fn poll_inside(files: *mut pollfd, count: u64, span: u64, place: usize) -> isize {
    let Ok(list) = copy(files, count as usize) else { return -(EFAULT as isize) };
    look(&list, span, place, || {
        // SAFETY: POSIX requires `count` elements.
        unsafe { raw::syscall(libc::SYS_poll, [files as usize, count as usize, 0, 0, 0, 0]) }
    })
}

unsafe extern "C" fn poll_within(files: *mut pollfd, count: u64, limit: c_int) -> c_int {
    let place = place();
    enter(|| poll_inside(files, count, milliseconds(limit), place))
        // SAFETY: the program has called `poll` with these arguments.
        .map_or_else(|| unsafe { real::poll(files, count, limit) }, |result| errno_result(result) as c_int)
}

unsafe extern "C" fn poll_checked(files: *mut pollfd, count: u64, limit: c_int, _: usize) -> c_int {
    // SAFETY: the checked function has the requirements of `poll`.
    unsafe { poll_within(files, count, limit) }
}

/// Handles `ppoll`. During the wait the signal mask is that of the process.
unsafe extern "C" fn poll_masked(
    files: *mut pollfd,
    count: u64,
    time: *const timespec,
    mask: *const c_void,
) -> c_int {
    let place = place();
    enter(|| {
        let poll = |span| with_mask(mask.cast(), || poll_inside(files, count, span, place));
        limit(time, place).map_or(-(EINVAL as isize), poll)
    })
    .map_or_else(
        // SAFETY: the program has called `ppoll` with these arguments.
        || unsafe { real::ppoll(files, count, time, mask) },
        |result| errno_result(result) as c_int,
    )
}

unsafe extern "C" fn poll_masked_checked(
    files: *mut pollfd,
    count: u64,
    time: *const timespec,
    mask: *const c_void,
    _: usize,
) -> c_int {
    // SAFETY: the checked function has the requirements of `ppoll`.
    unsafe { poll_masked(files, count, time, mask) }
}

/// The number of files per word of an `fd_set`.
const WORD_BITS: usize = u64::BITS as usize;

fn select_inside(count: c_int, sets: [*mut fd_set; 3], span: u64, place: usize) -> isize {
    if count < 0 {
        return -(EINVAL as isize);
    }
    // The kernel reads and writes as many words as it needs, more or fewer than an `fd_set` has.
    let words = (count as usize).div_ceil(WORD_BITS);
    let mut before: [Vec<u64>; 3] = Default::default();
    for (set, before) in sets.iter().zip(&mut before) {
        if !set.is_null() {
            match copy(set.cast::<u64>(), words) {
                Ok(set) => *before = set,
                Err(error) => return -(error as isize),
            }
        }
    }
    let has = |set: &[u64], file: usize| {
        set.get(file / WORD_BITS).is_some_and(|word| word >> (file % WORD_BITS) & 1 != 0)
    };
    let mut files = Vec::new();
    for fd in 0..count {
        let kinds = [libc::POLLIN, libc::POLLOUT, libc::POLLPRI];
        let asked = before.iter().zip(kinds).filter(|(set, _)| has(set, fd as usize));
        let events = asked.fold(0, |events, (_, kind)| events | kind);
        if events != 0 {
            files.push(pollfd { fd, events, revents: 0 });
        }
    }
    look(&files, span, place, || {
        for (set, before) in sets.iter().zip(&before) {
            for (index, word) in before.iter().enumerate() {
                // SAFETY: POSIX requires these words, which were copied from there.
                unsafe { set.cast::<u64>().add(index).write_unaligned(*word) };
            }
        }
        let now = timeval { tv_sec: 0, tv_usec: 0 };
        let [read, write, except] = sets.map(|set| set as usize);
        let arguments = [count as usize, read, write, except, &raw const now as usize, 0];
        // SAFETY: the sets are valid, as above.
        unsafe { raw::syscall(libc::SYS_select, arguments) }
    })
}

unsafe extern "C" fn select_within(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    time: *mut timeval,
) -> c_int {
    let place = place();
    enter(|| {
        let span = if time.is_null() {
            FOREVER
        } else {
            // SAFETY: POSIX requires a valid time if the pointer is not null. glibc reads it before the system call.
            let time = unsafe { control::read(time, place) };
            if time.tv_sec < 0 || time.tv_usec < 0 {
                return -(EINVAL as isize);
            }
            (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_usec as u64 * 1_000)
        };
        select_inside(count, [read, write, except], span, place)
    })
    .map_or_else(
        // SAFETY: the program has called `select` with these arguments.
        || unsafe { real::select(count, read, write, except, time) },
        |result| errno_result(result) as c_int,
    )
}

unsafe extern "C" fn select_masked(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    time: *const timespec,
    mask: *const c_void,
) -> c_int {
    let place = place();
    enter(|| {
        let select =
            |span| with_mask(mask.cast(), || select_inside(count, [read, write, except], span, place));
        limit(time, place).map_or(-(EINVAL as isize), select)
    })
    .map_or_else(
        // SAFETY: the program has called `pselect` with these arguments.
        || unsafe { real::pselect(count, read, write, except, time, mask) },
        |result| errno_result(result) as c_int,
    )
}

fn set_wait_inside(set: c_int, events: *mut c_void, most: c_int, span: u64, place: usize) -> isize {
    let files = [pollfd { fd: set, events: libc::POLLIN, revents: 0 }];
    let count = look(&files, span, place, || {
        let arguments = [set as usize, events as usize, most as usize, 0, 0, 0];
        // SAFETY: the program requested this system call with these buffers.
        unsafe { raw::syscall(libc::SYS_epoll_wait, arguments) }
    });
    if count > 1 {
        // SAFETY: the kernel has written that many events.
        choose_order(unsafe { std::slice::from_raw_parts_mut(events.cast(), count as usize) }, place);
    }
    count
}

/// An event in C's layout.
type Event = [u8; 12];

/// Lets the strategy choose the order of events: the kernel's is that in which the files became ready, which is not an
/// order of operations that depend on each other.
fn choose_order(events: &mut [Event], place: usize) {
    // Four bytes of flags, and the program's data.
    events.sort_unstable_by_key(|event| event[4..].iter().rev().copied().collect::<Vec<u8>>());
    // All orders of three events; of more, only which one is the first is a choice.
    let last = if events.len() <= 3 { events.len() - 1 } else { 1 };
    for first in 0..last {
        let rest = &mut events[first..];
        let arity = rest.len() as u64;
        let reply = step(|runtime| Operation::new(Kind::Choose, runtime.place(place)).with_argument(arity));
        if let Reply::Number(number) = reply {
            rest[..=number as usize].rotate_right(1);
        }
    }
}

unsafe extern "C" fn set_wait(set: c_int, events: *mut c_void, most: c_int, limit: c_int) -> c_int {
    let place = place();
    enter(|| set_wait_inside(set, events, most, milliseconds(limit), place)).map_or_else(
        // SAFETY: the program has called `epoll_wait` with these arguments.
        || unsafe { real::epoll_wait(set, events, most, limit) },
        |result| errno_result(result) as c_int,
    )
}

unsafe extern "C" fn set_wait_masked(
    set: c_int,
    events: *mut c_void,
    most: c_int,
    limit: c_int,
    mask: *const c_void,
) -> c_int {
    let place = place();
    enter(|| with_mask(mask.cast(), || set_wait_inside(set, events, most, milliseconds(limit), place)))
        .map_or_else(
            // SAFETY: the program has called `epoll_pwait` with these arguments.
            || unsafe { real::epoll_pwait(set, events, most, limit, mask) },
            |result| errno_result(result) as c_int,
        )
}

unsafe extern "C" fn set_change(set: c_int, operation: c_int, file: c_int, event: *mut c_void) -> c_int {
    let place = place();
    enter(|| {
        touch(place, |runtime| runtime.all(What::All));
        with(|runtime| {
            if operation == libc::EPOLL_CTL_ADD {
                runtime.outside.note_member(set, file);
            }
            if !runtime.network.is_empty() && raw::is_readable(event as usize, size_of::<[u8; 12]>()) {
                // SAFETY: the memory is mapped, and the call requires an event there.
                let event = unsafe { event.cast::<[u8; 12]>().read_unaligned() };
                runtime.network.note_registration(set, operation, file, event);
            }
        });
        let arguments = [set as usize, operation as usize, file as usize, event as usize, 0, 0];
        // SAFETY: the program requested this system call with these buffers.
        let result = unsafe { raw::syscall(libc::SYS_epoll_ctl, arguments) };
        with(Runtime::look_inside);
        result
    })
    .map_or_else(
        // SAFETY: the program has called `epoll_ctl` with these arguments.
        || unsafe { real::epoll_ctl(set, operation, file, event) },
        |result| errno_result(result) as c_int,
    )
}
