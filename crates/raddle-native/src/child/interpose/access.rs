//! Memory accesses of code compiled with `-fsanitize=thread`. The compiler calls these functions before each
//! plain access, and instead of each atomic one.
//!
//! Accesses of a program that has one thread so far are ignored. [`crate::child::accesses`] decides which of
//! the others are scheduling points, and on which objects.

use super::entry::entries;
use crate::child::accesses::Touched;
use crate::child::control::enter;
use crate::child::objects::Class;
use crate::child::runtime::{self, Runtime, with};
use crate::child::scheduling::step;
use crate::child::{heap_checks, transaction_steps, values, weak};
use raddle_model::native::Points;
use raddle_model::{Access, Kind, MemoryOrder, Operation};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

entries! {
    __tsan_read1(address: *const c_void) => read::<1>;
    __tsan_read2(address: *const c_void) => read::<2>;
    __tsan_read4(address: *const c_void) => read::<4>;
    __tsan_read8(address: *const c_void) => read::<8>;
    __tsan_read16(address: *const c_void) => read::<16>;
    __tsan_unaligned_read2(address: *const c_void) => read::<2>;
    __tsan_unaligned_read4(address: *const c_void) => read::<4>;
    __tsan_unaligned_read8(address: *const c_void) => read::<8>;
    __tsan_unaligned_read16(address: *const c_void) => read::<16>;
    __tsan_volatile_read1(address: *const c_void) => read::<1>;
    __tsan_volatile_read2(address: *const c_void) => read::<2>;
    __tsan_volatile_read4(address: *const c_void) => read::<4>;
    __tsan_volatile_read8(address: *const c_void) => read::<8>;
    __tsan_volatile_read16(address: *const c_void) => read::<16>;
    __tsan_unaligned_volatile_read2(address: *const c_void) => read::<2>;
    __tsan_unaligned_volatile_read4(address: *const c_void) => read::<4>;
    __tsan_unaligned_volatile_read8(address: *const c_void) => read::<8>;
    __tsan_unaligned_volatile_read16(address: *const c_void) => read::<16>;
    __tsan_write1(address: *const c_void) => write::<1>;
    __tsan_write2(address: *const c_void) => write::<2>;
    __tsan_write4(address: *const c_void) => write::<4>;
    __tsan_write8(address: *const c_void) => write::<8>;
    __tsan_write16(address: *const c_void) => write::<16>;
    __tsan_unaligned_write2(address: *const c_void) => write::<2>;
    __tsan_unaligned_write4(address: *const c_void) => write::<4>;
    __tsan_unaligned_write8(address: *const c_void) => write::<8>;
    __tsan_unaligned_write16(address: *const c_void) => write::<16>;
    __tsan_volatile_write1(address: *const c_void) => write::<1>;
    __tsan_volatile_write2(address: *const c_void) => write::<2>;
    __tsan_volatile_write4(address: *const c_void) => write::<4>;
    __tsan_volatile_write8(address: *const c_void) => write::<8>;
    __tsan_volatile_write16(address: *const c_void) => write::<16>;
    __tsan_unaligned_volatile_write2(address: *const c_void) => write::<2>;
    __tsan_unaligned_volatile_write4(address: *const c_void) => write::<4>;
    __tsan_unaligned_volatile_write8(address: *const c_void) => write::<8>;
    __tsan_unaligned_volatile_write16(address: *const c_void) => write::<16>;
    __tsan_read_write1(address: *const c_void) => read_write::<1>;
    __tsan_read_write2(address: *const c_void) => read_write::<2>;
    __tsan_read_write4(address: *const c_void) => read_write::<4>;
    __tsan_read_write8(address: *const c_void) => read_write::<8>;
    __tsan_read_write16(address: *const c_void) => read_write::<16>;
    __tsan_unaligned_read_write2(address: *const c_void) => read_write::<2>;
    __tsan_unaligned_read_write4(address: *const c_void) => read_write::<4>;
    __tsan_unaligned_read_write8(address: *const c_void) => read_write::<8>;
    __tsan_unaligned_read_write16(address: *const c_void) => read_write::<16>;
    __tsan_read_range(address: *const c_void, size: usize) => read_range;
    __tsan_write_range(address: *const c_void, size: usize) => write_range;
    __tsan_vptr_read(address: *const c_void) => read::<8>;
    __tsan_vptr_update(address: *const c_void, unused: *const c_void) => vptr_update;
    __tsan_memcpy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void => copy;
    __tsan_memmove(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void => copy;
    __tsan_memset(to: *mut c_void, byte: c_int, size: usize) -> *mut c_void => fill;
    __tsan_init() => begin;
    __tsan_func_entry(caller: *const c_void) => nothing_with::<*const c_void>;
    __tsan_func_exit() => nothing;
    __cyg_profile_func_enter(function: *const c_void, site: *const c_void) => enter_function;
    __cyg_profile_func_exit(function: *const c_void, site: *const c_void) => leave_function;
    __tsan_ignore_thread_begin() => nothing;
    __tsan_ignore_thread_end() => nothing;
    __tsan_atomic_thread_fence(order: c_int) => fence;
    __tsan_atomic_signal_fence(order: c_int) => nothing_with::<c_int>;
}

/// True if instrumented code has registered itself.
static INSTRUMENTED: AtomicBool = AtomicBool::new(false);

/// Returns true if the program has instrumented code, except for code it may load later: each such part
/// registers itself when it is loaded.
pub(crate) fn is_instrumented() -> bool {
    INSTRUMENTED.load(Ordering::Relaxed)
}

/// Returns the objects that make this access a scheduling point, and records the access.
fn points(runtime: &mut Runtime, accessed: &Accessed) -> Touched {
    let (address, size, atomic) = (accessed.address, accessed.size, accessed.orders != Orders::PLAIN);
    let Runtime { accesses, modules, current, .. } = runtime;
    match runtime.points {
        Points::All => accesses.all(address as u64, size),
        Points::Sync if atomic => accesses.all(address as u64, size),
        Points::Sync => Touched::default(),
        Points::Shared => {
            accesses.shared(*current, address as u64, size, |address| modules.is_constant(address))
        }
        Points::Transactional => {
            transaction_steps::points(runtime, accessed.kind, (address, size), accessed.place)
        }
    }
}

/// Records that the current thread frees memory. Other threads that touched it shared it, so that in later
/// runs these accesses are scheduling points. This call is not one: the C library may hold a lock of its own.
pub(super) fn note_free(address: usize, size: usize) {
    with(|runtime| {
        weak::forget(runtime, address, size);
        if runtime.threads.len() == 1 || runtime.accesses.count == 0 || !is_shared_only(runtime.points) {
            return;
        }
        runtime.accesses.free(runtime.current, address as u64, size);
    });
}

/// Returns true if only accesses to shared memory are scheduling points.
fn is_shared_only(points: Points) -> bool {
    matches!(points, Points::Shared | Points::Transactional)
}

/// Announces an access, if it is a scheduling point, and returns whether it is. When it returns, the access
/// is about to be executed. Called inside the runtime.
pub(super) fn announce(accessed: Accessed) -> Announced {
    let Accessed { kind, address, size, place, .. } = accessed;
    let announced = announce_point(accessed);
    heap_checks::check(kind, address, size, place);
    if announced != Announced::No && values::are_wanted() {
        runtime::begin_value();
    }
    announced
}

fn announce_point(accessed: Accessed) -> Announced {
    let Accessed { kind, address, size, orders, expected, place } = accessed;
    let (touched, due) = with(|runtime| {
        if runtime.threads.len() == 1 {
            return (Touched::default(), None);
        }
        let is_atomic = orders != Orders::PLAIN;
        runtime.accesses.has_weak_orders |= orders.is_weak();
        let touched = points(runtime, &accessed);
        match touched.first {
            None => (touched, runtime.accesses.count_unseen(address, kind == Kind::Read, is_atomic)),
            Some(_) => (touched, None),
        }
    });
    let Touched { first: Some(first), second, .. } = touched else {
        if let Some(count) = due {
            let_others_touch(count, place);
        }
        return Announced::No;
    };
    let mut announced = Announced::Yes;
    step(|runtime| {
        let access = if kind == Kind::Read { Access::Read } else { Access::Write };
        if let Some(values) = &mut runtime.values {
            values.announce(runtime.current, kind, (address, size), orders == Orders::PLAIN);
        }
        let object = runtime.object(first, Class::Memory, || 0);
        let mut operation = Operation::new(kind, runtime.place(place)).on(object, access);
        if let Some(second) = second {
            operation = operation.on(runtime.object(second, Class::Memory, || 0), access);
        }
        let operation = match orders.failure {
            Some(failure) => operation.exchanging(orders.success, failure),
            None => operation.ordered(orders.success),
        };
        if orders == Orders::PLAIN || !runtime.engine.is_weak() {
            return operation;
        }
        let prepared = weak::prepare(runtime, operation, (address, size), expected);
        announced = if prepared.is_weak { Announced::Weakly } else { Announced::Yes };
        prepared.operation
    });
    announced
}

/// An access that a thread is about to make.
#[derive(Clone, Copy)]
pub(super) struct Accessed {
    pub(super) kind: Kind,
    pub(super) address: usize,
    pub(super) size: usize,
    pub(super) orders: Orders,
    /// The value that an exchange compares with.
    pub(super) expected: Option<u128>,
    pub(super) place: usize,
}

/// The treatment of an access.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Announced {
    /// It is not a scheduling point.
    No,
    /// It is one.
    Yes,
    /// It is one, and the engine knows which value it reads.
    Weakly,
}

/// Lets other threads run after many consecutive accesses that are not scheduling points, when the limit number
/// `count` is exceeded. A thread may wait for another one by polling memory that only it has touched in this run,
/// so that none of its accesses would ever be a scheduling point. Reads without a write between them look like
/// that, and so do atomic accesses; other loops get more time, because they may compute.
#[cold]
fn let_others_touch(count: usize, place: usize) {
    let before = with(|runtime| runtime.engine.step_count());
    step(|runtime| Operation::new(Kind::Yield, runtime.place(place)));
    if count > 0 {
        with(|runtime| {
            let is_alone = runtime.engine.step_count() == before + 1;
            runtime.accesses.lower_unseen(count, is_alone);
        });
    }
}

/// The memory orders of an access.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Orders {
    success: MemoryOrder,
    failure: Option<MemoryOrder>,
}

impl Orders {
    const PLAIN: Orders = Orders { success: MemoryOrder::Plain, failure: None };

    fn is_weak(self) -> bool {
        let weak = MemoryOrder::Relaxed..MemoryOrder::SequentiallyConsistent;
        weak.contains(&self.success) || self.failure.is_some_and(|failure| weak.contains(&failure))
    }

    pub(super) fn atomic(order: c_int) -> Orders {
        Orders { success: memory_order(order), failure: None }
    }

    pub(super) fn exchange(success: c_int, failure: c_int) -> Orders {
        Orders { success: memory_order(success), failure: Some(memory_order(failure)) }
    }
}

/// Returns the memory order with this number in C.
fn memory_order(number: c_int) -> MemoryOrder {
    match number & 7 {
        0 => MemoryOrder::Relaxed,
        1 | 2 => MemoryOrder::Acquire,
        3 => MemoryOrder::Release,
        4 => MemoryOrder::AcquireRelease,
        _ => MemoryOrder::SequentiallyConsistent,
    }
}

/// Records that the last write or exchange left the value unchanged.
pub(super) fn note_no_write() {
    with(|runtime| {
        runtime.engine.note_no_write(runtime.current);
        runtime.unwritten.push(runtime.engine.step_count() as u32 - 1);
    });
}

/// Records that the last exchange found another value than the expected one.
pub(super) fn note_failed_exchange() {
    with(|runtime| runtime.engine.note_failed_exchange(runtime.current));
    if values::are_wanted() {
        runtime::unwrite_value();
    }
}

fn plain(kind: Kind, address: *const c_void, size: usize, place: usize) {
    let address = address as usize;
    enter(|| announce(Accessed { kind, address, size, orders: Orders::PLAIN, expected: None, place }));
}

unsafe extern "C" fn read<const SIZE: usize>(address: *const c_void, place: usize) {
    plain(Kind::Read, address, SIZE, place);
}

unsafe extern "C" fn write<const SIZE: usize>(address: *const c_void, place: usize) {
    plain(Kind::Write, address, SIZE, place);
}

/// Two accesses: others may come between them.
unsafe extern "C" fn read_write<const SIZE: usize>(address: *const c_void, place: usize) {
    plain(Kind::Read, address, SIZE, place);
    plain(Kind::Write, address, SIZE, place);
}

unsafe extern "C" fn read_range(address: *const c_void, size: usize, place: usize) {
    plain(Kind::Read, address, size, place);
}

unsafe extern "C" fn write_range(address: *const c_void, size: usize, place: usize) {
    plain(Kind::Write, address, size, place);
}

unsafe extern "C" fn vptr_update(address: *const c_void, _: *const c_void, place: usize) {
    plain(Kind::Write, address, 8, place);
}

unsafe extern "C" fn copy(to: *mut c_void, from: *const c_void, size: usize, place: usize) -> *mut c_void {
    plain(Kind::Read, from, size, place);
    plain(Kind::Write, to, size, place);
    // SAFETY: the compiler calls this instead of `memcpy` or `memmove`, so both ranges have `size` bytes;
    // they may overlap here.
    unsafe { libc::memmove(to, from, size) }
}

unsafe extern "C" fn fill(to: *mut c_void, byte: c_int, size: usize, place: usize) -> *mut c_void {
    plain(Kind::Write, to, size, place);
    // SAFETY: the compiler calls this instead of `memset`, so there are `size` bytes.
    unsafe { libc::memset(to, byte, size) }
}

/// Announces a fence if data races or weak memory are tracked, because it orders accesses around it.
unsafe extern "C" fn fence(order: c_int, place: usize) {
    enter(|| {
        let tracked = with(|runtime| runtime.accesses.races && runtime.threads.len() > 1);
        let order = memory_order(order);
        if tracked && order != MemoryOrder::Relaxed {
            step(|runtime| {
                let fence = Operation::new(Kind::Fence, runtime.place(place)).ordered(order);
                if runtime.engine.is_weak() { weak::prepare_fence(runtime, fence) } else { fence }
            });
        }
    });
}

/// Registers instrumented code, before `main` or when it is loaded.
unsafe extern "C" fn begin(_: usize) {
    INSTRUMENTED.store(true, Ordering::Relaxed);
}

/// A function of the program begins.
unsafe extern "C" fn enter_function(function: *const c_void, _: *const c_void, _: usize) {
    enter(|| transaction_steps::enter_function(function as usize));
}

/// A function of the program returns.
unsafe extern "C" fn leave_function(function: *const c_void, _: *const c_void, _: usize) {
    enter(|| transaction_steps::leave_function(function as usize));
}

/// A hook without effect in a sequentially consistent run.
unsafe extern "C" fn nothing(_: usize) {}

/// Like [`nothing`], for functions with an argument.
unsafe extern "C" fn nothing_with<T>(_: T, _: usize) {}
