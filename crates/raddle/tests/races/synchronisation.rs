//! The orderings of locks, channels and so on. Each test removes the synchronization and expects a race.

use crate::plain::Plain;
use crate::{assert_ordered, assert_races, config};
use raddle::loom::sync::Notify;
use raddle::sync::{Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock, mpsc};
use raddle::{Timeouts, check_with, thread};
use std::time::Duration;

/// Runs `a` in a new thread and `b` in this one, over the same value.
fn both<S: Send + Sync + 'static>(shared: S, a: impl Fn(&S) + Send + 'static, b: impl Fn(&S)) {
    let shared = Arc::new(shared);
    let other = shared.clone();
    let child = thread::spawn(move || a(&other));
    b(&shared);
    child.join().unwrap();
}

fn add(data: &Plain) {
    let before = data.get();
    data.set(before + 1);
}

#[test]
fn spawn_and_join_order() {
    let around = |wait: bool| {
        let data = Arc::new(Plain::default());
        let other = data.clone();
        data.set(1);
        let child = thread::spawn(move || add(&other));
        if wait {
            child.join().unwrap();
            assert_eq!(data.get(), 2);
        } else {
            data.get();
        }
    };
    assert_ordered(move || around(true));
    assert_races(move || around(false));
}

#[test]
fn scopes_order() {
    let around = |inside: bool| {
        let data = Plain::default();
        data.set(1);
        thread::scope(|scope| {
            scope.spawn(|| add(&data));
            if inside {
                data.get();
            }
        });
        assert_eq!(data.get(), 2);
    };
    assert_ordered(move || around(false));
    assert_races(move || around(true));
}

#[test]
fn a_thread_that_is_seen_to_have_finished_is_not_ordered() {
    assert_races(|| {
        let data = Arc::new(Plain::default());
        let other = data.clone();
        let child = thread::spawn(move || other.set(1));
        if child.is_finished() {
            data.get();
        }
    });
}

#[test]
fn a_mutex_orders() {
    assert_ordered(|| {
        let enter = |shared: &(Mutex<()>, Plain)| {
            let _guard = shared.0.lock().unwrap();
            add(&shared.1);
        };
        both(Default::default(), enter, enter);
    });
    assert_races(|| {
        let leave = |shared: &(Mutex<()>, Plain)| {
            drop(shared.0.lock().unwrap());
            add(&shared.1);
        };
        both(Default::default(), leave, leave);
    });
    // One of the two omits it.
    assert_races(|| {
        let enter = |shared: &(Mutex<()>, Plain)| {
            let _guard = shared.0.lock().unwrap();
            add(&shared.1);
        };
        both(Default::default(), enter, |shared| add(&shared.1));
    });
}

#[test]
fn an_attempt_orders_only_if_it_succeeds() {
    let attempt = |heed: bool| {
        let attempt = move |shared: &(Mutex<()>, Plain)| {
            let guard = shared.0.try_lock();
            if guard.is_ok() || !heed {
                add(&shared.1);
            }
        };
        both(Default::default(), attempt, attempt);
    };
    assert_ordered(move || attempt(true));
    assert_races(move || attempt(false));
}

#[test]
fn poison_flags_order_nothing_and_disturb_nothing() {
    assert_ordered(|| {
        let enter = |shared: &(Mutex<()>, Plain)| {
            let _guard = shared.0.lock().unwrap();
            add(&shared.1);
        };
        both(
            Default::default(),
            move |shared: &(Mutex<()>, Plain)| {
                enter(shared);
                shared.0.clear_poison();
            },
            enter,
        );
    });
    assert_races(|| {
        both(
            <(Mutex<()>, Plain)>::default(),
            |shared| {
                shared.1.set(1);
                shared.0.clear_poison();
            },
            |shared| {
                let _ = shared.0.is_poisoned();
                shared.1.get();
            },
        );
    });
}

#[test]
fn a_read_write_lock_orders() {
    assert_ordered(|| {
        both(
            <(RwLock<()>, Plain)>::default(),
            |shared| {
                let _guard = shared.0.read().unwrap();
                shared.1.get();
            },
            |shared| {
                let guard = shared.0.write().unwrap();
                add(&shared.1);
                drop(guard);
                let _guard = shared.0.read().unwrap();
                shared.1.get();
            },
        );
    });
    assert_races(|| {
        let wrong = |shared: &(RwLock<()>, Plain)| {
            let _guard = shared.0.read().unwrap();
            shared.1.set(1);
        };
        both(Default::default(), wrong, wrong);
    });
}

#[test]
fn a_condition_orders_by_its_mutex_alone() {
    type Shared = (Mutex<bool>, Condvar, Plain, Plain);
    let hand_over = |before: bool| {
        both(
            Shared::default(),
            move |(ready, condition, data, _): &Shared| {
                if before {
                    data.set(7);
                }
                *ready.lock().unwrap() = true;
                if !before {
                    data.set(7);
                }
                condition.notify_one();
            },
            |(ready, condition, data, _)| {
                let guard = condition.wait_while(ready.lock().unwrap(), |ready| !*ready).unwrap();
                drop(guard);
                assert!(data.get() <= 7);
            },
        );
    };
    assert_ordered(move || hand_over(true));
    assert_races(move || hand_over(false));
}

#[test]
fn a_barrier_orders() {
    let phases = |meet: bool| {
        both(
            (Barrier::new(2), Plain::default(), Plain::default()),
            move |(barrier, mine, theirs)| {
                mine.set(1);
                if meet {
                    barrier.wait();
                }
                theirs.get();
            },
            move |(barrier, theirs, mine)| {
                mine.set(1);
                if meet {
                    barrier.wait();
                }
                theirs.get();
            },
        );
    };
    assert_ordered(move || phases(true));
    assert_races(move || phases(false));
}

#[test]
fn a_once_orders() {
    assert_ordered(|| {
        let (once, data) = (Arc::new(Once::new()), Arc::new(Plain::default()));
        let (other, copy) = (once.clone(), data.clone());
        let child = thread::spawn(move || {
            other.call_once(|| copy.set(7));
            assert_eq!(copy.get(), 7);
        });
        once.call_once(|| data.set(7));
        assert_eq!(data.get(), 7);
        child.join().unwrap();
    });
    assert_ordered(|| {
        both(
            <(OnceLock<u32>, Plain)>::default(),
            |(once, data)| {
                once.get_or_init(|| {
                    data.set(7);
                    7
                });
            },
            |(once, data)| assert!(once.get().is_none() || data.get() == 7),
        );
    });
    assert_races(|| {
        both(
            (Once::new(), Plain::default()),
            |(once, data)| once.call_once(|| data.set(7)),
            |(once, data)| {
                if !once.is_completed() {
                    data.get();
                }
            },
        );
    });
}

#[test]
fn a_value_orders_what_came_before_it_was_sent() {
    let send = |capacity: Option<usize>, late: bool| {
        let data = Arc::new(Plain::default());
        let other = data.clone();
        let write = move || other.set(7);
        let child = match capacity {
            None => {
                let (sender, receiver) = mpsc::channel();
                let child = thread::spawn(move || {
                    if late {
                        sender.send(1).unwrap();
                    }
                    write();
                    let _ = sender.send(2);
                });
                receiver.recv().unwrap();
                child
            }
            Some(capacity) => {
                let (sender, receiver) = mpsc::sync_channel(capacity);
                let child = thread::spawn(move || {
                    if late {
                        sender.send(1).unwrap();
                    }
                    write();
                    let _ = sender.send(2);
                });
                receiver.recv().unwrap();
                child
            }
        };
        assert!(data.get() <= 7);
        child.join().unwrap();
    };
    for capacity in [None, Some(0), Some(1), Some(2)] {
        assert_ordered(move || send(capacity, false));
        assert_races(move || send(capacity, true));
    }
}

#[test]
fn values_from_before_the_first_access_bring_nothing() {
    let send = |late: bool| {
        let data = Arc::new(Plain::default());
        let other = data.clone();
        let (sender, receiver) = mpsc::channel();
        sender.send(1).unwrap();
        let child = thread::spawn(move || {
            other.set(7);
            sender.send(2).unwrap();
        });
        receiver.recv().unwrap();
        if !late {
            receiver.recv().unwrap();
        }
        assert!(data.get() <= 7);
        child.join().unwrap();
    };
    assert_ordered(move || send(false));
    assert_races(move || send(true));
}

#[test]
fn a_bounded_channel_orders_the_way_back() {
    let slots = |capacity: usize, sends: usize| {
        let data = Arc::new(Plain::default());
        let other = data.clone();
        let (sender, receiver) = mpsc::sync_channel(capacity);
        let child = thread::spawn(move || {
            other.get();
            receiver.recv().unwrap();
            receiver
        });
        (0..sends).for_each(|value| sender.send(value).unwrap());
        data.set(1);
        child.join().unwrap();
    };
    assert_ordered(move || slots(1, 2));
    assert_ordered(move || slots(0, 1));
    assert_races(move || slots(1, 1));
}

#[test]
fn the_end_of_a_channel_orders() {
    assert_ordered(|| {
        let data = Arc::new(Plain::default());
        let other = data.clone();
        let (sender, receiver) = mpsc::channel::<()>();
        let child = thread::spawn(move || {
            other.set(7);
            drop(sender);
        });
        assert!(receiver.recv().is_err());
        assert_eq!(data.get(), 7);
        child.join().unwrap();
    });
    assert_races(|| {
        let data = Arc::new(Plain::default());
        let other = data.clone();
        let (sender, receiver) = mpsc::channel::<()>();
        let child = thread::spawn(move || {
            other.set(7);
            drop(sender);
        });
        let _ = receiver.try_recv();
        data.get();
        child.join().unwrap();
    });
}

#[test]
fn parking_orders() {
    // Taking a token orders accesses. `thread::park` may return without one.
    assert_ordered(|| {
        let data = Arc::new((Plain::default(), Notify::new()));
        let other = data.clone();
        let child = thread::spawn(move || {
            other.0.set(7);
            other.1.notify();
        });
        data.1.wait();
        assert_eq!(data.0.get(), 7);
        child.join().unwrap();
    });
    assert_races(|| {
        let data = Arc::new(Plain::default());
        let other = data.clone();
        let main = thread::current();
        let child = thread::spawn(move || {
            other.set(7);
            main.unpark();
        });
        thread::park();
        assert!(data.get() <= 7);
        child.join().unwrap();
    });
}

#[test]
fn a_time_out_orders_nothing() {
    let wait = |heed: bool| {
        let data = Arc::new(Plain::default());
        let other = data.clone();
        let (sender, receiver) = mpsc::channel();
        let child = thread::spawn(move || {
            other.set(7);
            sender.send(()).unwrap();
        });
        if receiver.recv_timeout(Duration::from_millis(1)).is_ok() || !heed {
            assert!(data.get() <= 7);
        }
        child.join().unwrap();
    };
    let config = config("pos").with_timeouts(Timeouts::Anytime);
    assert!(check_with(&config, move || wait(true)).is_ok());
    let failed = check_with(&config, move || wait(false)).unwrap_err();
    assert_eq!(failed.failure.kind(), "data-race");
    let parked = check_with(&config, || {
        let data = Arc::new(Plain::default());
        let other = data.clone();
        let main = thread::current();
        let child = thread::spawn(move || {
            other.set(7);
            main.unpark();
        });
        thread::park_timeout(Duration::from_millis(1));
        data.get();
        child.join().unwrap();
    });
    assert_eq!(parked.unwrap_err().failure.kind(), "data-race");
}

#[test]
fn a_lock_that_is_downgraded_orders() {
    assert_ordered(|| {
        both(
            <(RwLock<bool>, Plain)>::default(),
            |(lock, data)| {
                let mut guard = lock.write().unwrap();
                data.set(7);
                *guard = true;
                let _reader = raddle::sync::RwLockWriteGuard::downgrade(guard);
                data.get();
            },
            |(lock, data)| assert!(!*lock.read().unwrap() || data.get() == 7),
        );
    });
}

#[test]
fn waiting_for_a_once_orders() {
    assert_ordered(|| {
        both(
            (Once::new(), Plain::default()),
            |(once, data)| once.call_once(|| data.set(7)),
            |(once, data)| {
                once.wait();
                assert_eq!(data.get(), 7);
            },
        );
    });
}
