//! The programs: `programs!(module, peer)` writes them for one peer. Only the imports differ. Each takes whether to be the
//! right version; the wrong one fails under weak memory only.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// The names of the programs, in the order of the table.
pub const NAMES: &[&str] = &[
    "store_buffering",
    "message",
    "message_fences",
    "iriw",
    "two_writes_twice",
    "write_to_read",
    "dekker",
    "peterson",
    "double_checked",
    "seqlock",
    "chase_lev",
    "spsc_ring",
    "refcount",
    "epoch",
    "treiber",
    "ticket_lock",
    "mcs_lock",
    "rwlock",
    "hazard_pointer",
];

/// The first programs are litmus tests.
pub const LITMUS: usize = 6;

/// False to measure speed where Loom raises a false alarm.
pub static IS_CHECKED: AtomicBool = AtomicBool::new(true);

/// Fails if an outcome is forbidden.
pub fn judge(is_allowed: bool, text: &str) {
    assert!(is_allowed || !IS_CHECKED.load(Relaxed), "{text}");
}

macro_rules! programs {
    ($name:ident, $peer:ident) => {
        pub mod $name {
            use crate::programs::judge;
            use $peer::hint::spin_loop;
            use $peer::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
            use $peer::sync::atomic::{AtomicBool, AtomicUsize, fence};
            use $peer::sync::{Arc, Mutex};
            use $peer::thread;

            /// Returns the program with this name.
            pub fn program(name: &str) -> fn(bool) {
                match name {
                    "store_buffering" => store_buffering,
                    "message" => message,
                    "message_fences" => message_fences,
                    "iriw" => iriw,
                    "two_writes_twice" => two_writes_twice,
                    "write_to_read" => write_to_read,
                    "dekker" => dekker,
                    "peterson" => peterson,
                    "double_checked" => double_checked,
                    "seqlock" => seqlock,
                    "chase_lev" => chase_lev,
                    "spsc_ring" => spsc_ring,
                    "refcount" => refcount,
                    "epoch" => epoch,
                    "treiber" => treiber,
                    "ticket_lock" => ticket_lock,
                    "mcs_lock" => mcs_lock,
                    "rwlock" => rwlock,
                    "hazard_pointer" => hazard_pointer,
                    other => panic!("`{other}` is not a program"),
                }
            }

            /// Returns `order` in the right version.
            fn rightly(right: bool, order: Ordering) -> Ordering {
                if right { order } else { Relaxed }
            }

            fn fence_rightly(right: bool, order: Ordering) {
                if right {
                    fence(order);
                }
            }

            fn atomics<const N: usize>() -> Arc<[AtomicUsize; N]> {
                Arc::new(std::array::from_fn(|_| AtomicUsize::new(0)))
            }

            /// Runs `one` in a thread and `two` in the main thread.
            fn both<T: Send + Sync + 'static>(
                shared: T,
                one: fn(&T, bool),
                two: fn(&T, bool),
                right: bool,
            ) -> Arc<T> {
                let shared = Arc::new(shared);
                let other = shared.clone();
                let child = thread::spawn(move || one(&other, right));
                two(&shared, right);
                child.join().unwrap();
                shared
            }

            /// At least one of two threads sees what the other one stored.
            fn store_buffering(right: bool) {
                let x = atomics::<2>();
                let other = x.clone();
                let [store, load] = if right { [SeqCst, SeqCst] } else { [Release, Acquire] };
                let child = thread::spawn(move || {
                    other[0].store(1, store);
                    other[1].load(load)
                });
                x[1].store(1, store);
                let seen = x[0].load(load);
                judge(seen + child.join().unwrap() > 0, "neither has seen the other");
            }

            fn message(right: bool) {
                both(
                    [AtomicUsize::new(0), AtomicUsize::new(0)],
                    |[data, flag], right| {
                        data.store(7, Relaxed);
                        flag.store(1, rightly(right, Release));
                    },
                    |[data, flag], _| assert!(flag.load(Acquire) == 0 || data.load(Relaxed) == 7),
                    right,
                );
            }

            fn message_fences(right: bool) {
                both(
                    [AtomicUsize::new(0), AtomicUsize::new(0)],
                    |[data, flag], _| {
                        data.store(7, Relaxed);
                        fence(Release);
                        flag.store(1, Relaxed);
                    },
                    |[data, flag], right| {
                        if flag.load(Relaxed) == 1 {
                            fence_rightly(right, Acquire);
                            assert_eq!(data.load(Relaxed), 7);
                        }
                    },
                    right,
                );
            }

            /// Two readers see two independent writes in the same order.
            fn iriw(right: bool) {
                let x = atomics::<2>();
                let [store, load] = if right { [SeqCst, SeqCst] } else { [Release, Acquire] };
                let write = |index: usize| {
                    let x = x.clone();
                    thread::spawn(move || x[index].store(1, store))
                };
                let writers = [write(0), write(1)];
                let other = x.clone();
                let reader = thread::spawn(move || (other[0].load(load), other[1].load(load)));
                let mine = (x[1].load(load), x[0].load(load));
                let theirs = reader.join().unwrap();
                writers.into_iter().for_each(|writer| writer.join().unwrap());
                judge((mine, theirs) != ((1, 0), (1, 0)), "the writes have no order");
            }

            /// 2+2W: each of two threads writes both atomics; not both first writes can be the last.
            fn two_writes_twice(right: bool) {
                let order = if right { SeqCst } else { Release };
                let x = atomics::<2>();
                let other = x.clone();
                let child = thread::spawn(move || {
                    other[0].store(1, order);
                    other[1].store(2, order);
                });
                x[1].store(1, order);
                x[0].store(2, order);
                child.join().unwrap();
                judge(x[0].load(Relaxed) != 1 || x[1].load(Relaxed) != 1, "the writes have no order");
            }

            /// WRC: what a thread has read, a third one that reads from it has to know.
            fn write_to_read(right: bool) {
                let x = atomics::<2>();
                let (first, second) = (x.clone(), x.clone());
                let writer = thread::spawn(move || first[0].store(1, Relaxed));
                let middle = thread::spawn(move || {
                    if second[0].load(Relaxed) == 1 {
                        second[1].store(1, rightly(right, Release));
                    }
                });
                assert!(x[1].load(Acquire) == 0 || x[0].load(Relaxed) == 1);
                writer.join().unwrap();
                middle.join().unwrap();
            }

            fn dekker(right: bool) {
                let shared = atomics::<3>();
                let [store, load] = if right { [SeqCst, SeqCst] } else { [Release, Acquire] };
                let enter = move |me: usize, shared: &[AtomicUsize; 3]| {
                    shared[me].store(1, store);
                    if shared[1 - me].load(load) == 0 {
                        judge(shared[2].fetch_add(1, SeqCst) == 0, "both are inside");
                        shared[2].fetch_sub(1, SeqCst);
                        shared[me].store(0, Release);
                    }
                };
                let other = shared.clone();
                let child = thread::spawn(move || enter(0, &other));
                enter(1, &shared);
                child.join().unwrap();
            }

            fn peterson(right: bool) {
                let shared = atomics::<4>();
                let [store, load] = if right { [SeqCst, SeqCst] } else { [Release, Acquire] };
                let run = move |me: usize, shared: &[AtomicUsize; 4]| {
                    let [one, two, turn, inside] = shared;
                    let wants = [one, two];
                    wants[me].store(1, store);
                    turn.store(1 - me, store);
                    while wants[1 - me].load(load) == 1 && turn.load(load) == 1 - me {
                        spin_loop();
                    }
                    judge(inside.fetch_add(1, SeqCst) == 0, "both are inside");
                    inside.fetch_sub(1, SeqCst);
                    wants[me].store(0, Release);
                };
                let other = shared.clone();
                let child = thread::spawn(move || run(0, &other));
                run(1, &shared);
                child.join().unwrap();
            }

            fn double_checked(right: bool) {
                type Shared = (AtomicBool, AtomicUsize, Mutex<()>);
                let run = |(ready, value, lock): &Shared, right: bool| {
                    if !ready.load(rightly(right, Acquire)) {
                        let _guard = lock.lock().unwrap();
                        if !ready.load(Relaxed) {
                            value.store(9, Relaxed);
                            ready.store(true, rightly(right, Release));
                        }
                    }
                    assert_eq!(value.load(Relaxed), 9);
                };
                both((AtomicBool::new(false), AtomicUsize::new(0), Mutex::new(())), run, run, right);
            }

            fn seqlock(right: bool) {
                both(
                    [AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0)],
                    |[number, one, two], right| {
                        number.store(1, Relaxed);
                        fence_rightly(right, Release);
                        one.store(5, Relaxed);
                        two.store(5, Relaxed);
                        number.store(2, Release);
                    },
                    |[number, one, two], right| {
                        let before = number.load(Acquire);
                        if before % 2 == 0 {
                            let words = [one.load(Relaxed), two.load(Relaxed)];
                            fence_rightly(right, Acquire);
                            assert!(number.load(Relaxed) != before || words[0] == words[1], "torn");
                        }
                    },
                    right,
                );
            }

            struct Deque {
                top: AtomicUsize,
                bottom: AtomicUsize,
                items: [AtomicUsize; 2],
                taken: [AtomicUsize; 2],
            }

            impl Deque {
                fn push(&self, item: usize) {
                    let bottom = self.bottom.load(Relaxed);
                    self.items[bottom % 2].store(item, Relaxed);
                    fence(Release);
                    self.bottom.store(bottom + 1, Relaxed);
                }

                fn take(&self, right: bool) -> Option<usize> {
                    let bottom = self.bottom.load(Relaxed) - 1;
                    self.bottom.store(bottom, Relaxed);
                    fence_rightly(right, SeqCst);
                    let top = self.top.load(Relaxed);
                    let item = self.items[bottom % 2].load(Relaxed);
                    if top < bottom {
                        return Some(item);
                    }
                    let won =
                        top == bottom && self.top.compare_exchange(top, top + 1, SeqCst, Relaxed).is_ok();
                    self.bottom.store(bottom + 1, Relaxed);
                    won.then_some(item)
                }

                fn steal(&self) -> Option<usize> {
                    let top = self.top.load(Acquire);
                    fence(SeqCst);
                    if top >= self.bottom.load(Acquire) {
                        return None;
                    }
                    let item = self.items[top % 2].load(Relaxed);
                    self.top.compare_exchange(top, top + 1, SeqCst, Relaxed).is_ok().then_some(item)
                }

                fn use_item(&self, item: Option<usize>) {
                    if let Some(item) = item {
                        assert_eq!(self.taken[item].fetch_add(1, SeqCst), 0, "taken twice");
                    }
                }
            }

            fn chase_lev(right: bool) {
                let deque = Deque {
                    top: AtomicUsize::new(0),
                    bottom: AtomicUsize::new(0),
                    items: [AtomicUsize::new(0), AtomicUsize::new(0)],
                    taken: [AtomicUsize::new(0), AtomicUsize::new(0)],
                };
                both(
                    deque,
                    |deque, right| {
                        deque.push(0);
                        deque.push(1);
                        deque.use_item(deque.take(right));
                    },
                    |deque, _| (0..2).for_each(|_| deque.use_item(deque.steal())),
                    right,
                );
            }

            fn spsc_ring(right: bool) {
                both(
                    [AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0)],
                    |[head, tail, slots @ ..], right| {
                        for i in 0..3 {
                            while i - head.load(Acquire) == 2 {
                                spin_loop();
                            }
                            slots[i % 2].store(10 + i, Relaxed);
                            tail.store(i + 1, rightly(right, Release));
                        }
                    },
                    |[head, tail, slots @ ..], _| {
                        for i in 0..3 {
                            while tail.load(Acquire) == i {
                                spin_loop();
                            }
                            assert_eq!(slots[i % 2].load(Relaxed), 10 + i);
                            head.store(i + 1, Release);
                        }
                    },
                    right,
                );
            }

            fn refcount(right: bool) {
                let shared = atomics::<3>();
                shared[2].store(2, Relaxed);
                let drop_one = move |me: usize, shared: &[AtomicUsize; 3]| {
                    shared[me].store(1, Relaxed);
                    if shared[2].fetch_sub(1, Release) == 1 {
                        fence_rightly(right, Acquire);
                        assert!(shared[0].load(Relaxed) + shared[1].load(Relaxed) == 2, "still in use");
                    }
                };
                let other = shared.clone();
                let child = thread::spawn(move || drop_one(0, &other));
                drop_one(1, &shared);
                child.join().unwrap();
            }

            fn advances(global: &AtomicUsize, local: &AtomicUsize) -> bool {
                let now = global.load(Relaxed);
                fence(SeqCst);
                let pinned = local.load(Relaxed);
                if pinned != 0 && pinned / 2 != now {
                    return false;
                }
                fence(Acquire);
                global.store(now + 1, Release);
                true
            }

            fn epoch(right: bool) {
                both(
                    [AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0)],
                    |[unlinked, freed, global, local], right| {
                        local.store(2 * global.load(Relaxed) + 1, Relaxed);
                        fence_rightly(right, SeqCst);
                        if unlinked.load(Acquire) == 0 {
                            assert_eq!(freed.load(SeqCst), 0, "use after free");
                        }
                        local.store(0, Release);
                    },
                    |[unlinked, freed, global, local], _| {
                        unlinked.store(1, Release);
                        if advances(global, local) && advances(global, local) {
                            freed.store(1, SeqCst);
                        }
                    },
                    right,
                );
            }

            /// Nodes are numbers; 0 is none.
            fn treiber(right: bool) {
                both(
                    [AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0)],
                    |[top, values @ ..], right| {
                        for i in 0..2 {
                            values[i].store(3, Relaxed);
                            let mut next = top.load(Relaxed);
                            while let Err(found) =
                                top.compare_exchange(next, i + 1, rightly(right, Release), Relaxed)
                            {
                                next = found;
                            }
                        }
                    },
                    |[top, values @ ..], _| {
                        let found = top.load(Acquire);
                        if found != 0 && top.compare_exchange(found, found - 1, Acquire, Relaxed).is_ok() {
                            assert_eq!(values[found - 1].load(Relaxed), 3);
                        }
                    },
                    right,
                );
            }

            fn ticket_lock(right: bool) {
                let run = |[next, serving, counter]: &[AtomicUsize; 3], right: bool| {
                    let ticket = next.fetch_add(1, Relaxed);
                    while serving.load(Acquire) != ticket {
                        spin_loop();
                    }
                    counter.store(counter.load(Relaxed) + 1, Relaxed);
                    serving.store(ticket + 1, rightly(right, Release));
                };
                let lock = [AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0)];
                assert_eq!(both(lock, run, run, right)[2].load(Relaxed), 2);
            }

            /// Waiters are numbers; 0 is none.
            struct Mcs {
                tail: AtomicUsize,
                next: [AtomicUsize; 3],
                waits: [AtomicBool; 3],
                counter: AtomicUsize,
            }

            fn mcs_lock(right: bool) {
                let count = move |me: usize, lock: &Mcs| {
                    lock.waits[me].store(true, Relaxed);
                    let before = lock.tail.swap(me, AcqRel);
                    if before != 0 {
                        lock.next[before].store(me, Release);
                        while lock.waits[me].load(Acquire) {
                            spin_loop();
                        }
                    }
                    lock.counter.store(lock.counter.load(Relaxed) + 1, Relaxed);
                    let mut next = lock.next[me].load(Acquire);
                    if next == 0 {
                        if lock.tail.compare_exchange(me, 0, rightly(right, Release), Relaxed).is_ok() {
                            return;
                        }
                        while next == 0 {
                            spin_loop();
                            next = lock.next[me].load(Acquire);
                        }
                    }
                    lock.waits[next].store(false, rightly(right, Release));
                };
                let lock = Arc::new(Mcs {
                    tail: AtomicUsize::new(0),
                    next: std::array::from_fn(|_| AtomicUsize::new(0)),
                    waits: std::array::from_fn(|_| AtomicBool::new(false)),
                    counter: AtomicUsize::new(0),
                });
                let other = lock.clone();
                let child = thread::spawn(move || count(1, &other));
                count(2, &lock);
                child.join().unwrap();
                assert_eq!(lock.counter.load(Relaxed), 2);
            }

            fn rwlock(right: bool) {
                both(
                    [AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0)],
                    |[state, one, two], right| {
                        while state.compare_exchange(0, usize::MAX, Acquire, Relaxed).is_err() {
                            spin_loop();
                        }
                        one.store(5, Relaxed);
                        two.store(5, Relaxed);
                        state.store(0, rightly(right, Release));
                    },
                    |[state, one, two], _| {
                        let enter = |readers: usize| (readers != usize::MAX).then(|| readers + 1);
                        while state.fetch_update(Acquire, Relaxed, enter).is_err() {
                            spin_loop();
                        }
                        assert_eq!(one.load(Relaxed), two.load(Relaxed), "torn");
                        state.fetch_sub(1, Release);
                    },
                    right,
                );
            }

            fn hazard_pointer(right: bool) {
                both(
                    [AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0)],
                    |[unlinked, hazard, freed], right| {
                        if unlinked.load(Acquire) == 0 {
                            hazard.store(1, Relaxed);
                            fence_rightly(right, SeqCst);
                            if unlinked.load(Acquire) == 0 {
                                assert_eq!(freed.load(SeqCst), 0, "use after free");
                            }
                            hazard.store(0, Release);
                        }
                    },
                    |[unlinked, hazard, freed], _| {
                        unlinked.store(1, Release);
                        fence(SeqCst);
                        if hazard.load(Acquire) == 0 {
                            freed.store(1, SeqCst);
                        }
                    },
                    right,
                );
            }
        }
    };
}
