//! The shapes of real tests: `shapes!(module, peer)` writes them for Raddle and for Shuttle. Only the imports differ.

macro_rules! shapes {
    ($name:ident, $peer:ident) => {
        pub mod $name {
            use std::collections::VecDeque;
            use $peer::future;
            use $peer::sync::mpsc;
            use $peer::sync::{Arc, Condvar, Mutex, RwLock};
            use $peer::thread;

            /// A hundred threads, each of which takes a lock once.
            pub fn storm() {
                let lock = Arc::new(Mutex::new(0));
                let children: Vec<_> = (0..100)
                    .map(|_| {
                        let lock = lock.clone();
                        thread::spawn(move || *lock.lock().unwrap() += 1)
                    })
                    .collect();
                for child in children {
                    child.join().unwrap();
                }
                assert_eq!(*lock.lock().unwrap(), 100);
            }

            /// Ten tasks that add to a counter and yield, five times each.
            pub fn tasks() {
                future::block_on(async {
                    let lock = Arc::new(Mutex::new(0));
                    let tasks: Vec<_> = (0..10)
                        .map(|_| {
                            let lock = lock.clone();
                            future::spawn(async move {
                                for _ in 0..5 {
                                    *lock.lock().unwrap() += 1;
                                    future::yield_now().await;
                                }
                            })
                        })
                        .collect();
                    for task in tasks {
                        task.await.unwrap();
                    }
                    assert_eq!(*lock.lock().unwrap(), 50);
                });
            }

            /// A bounded queue with two condition variables, two producers and two consumers of 25 values each.
            pub fn queue() {
                struct Queue {
                    values: Mutex<VecDeque<u32>>,
                    has_values: Condvar,
                    has_room: Condvar,
                }
                let queue = Arc::new(Queue {
                    values: Mutex::new(VecDeque::new()),
                    has_values: Condvar::new(),
                    has_room: Condvar::new(),
                });
                let mut children = Vec::new();
                for _ in 0..2 {
                    let queue = queue.clone();
                    children.push(thread::spawn(move || {
                        for value in 0..25 {
                            let mut values = queue.values.lock().unwrap();
                            while values.len() == 4 {
                                values = queue.has_room.wait(values).unwrap();
                            }
                            values.push_back(value);
                            drop(values);
                            queue.has_values.notify_one();
                        }
                    }));
                }
                for _ in 0..2 {
                    let queue = queue.clone();
                    children.push(thread::spawn(move || {
                        for _ in 0..25 {
                            let mut values = queue.values.lock().unwrap();
                            while values.is_empty() {
                                values = queue.has_values.wait(values).unwrap();
                            }
                            values.pop_front();
                            drop(values);
                            queue.has_room.notify_one();
                        }
                    }));
                }
                for child in children {
                    child.join().unwrap();
                }
            }

            /// Four threads send a hundred values each through one channel.
            pub fn channel() {
                let (sender, receiver) = mpsc::channel();
                let children: Vec<_> = (0..4)
                    .map(|_| {
                        let sender = sender.clone();
                        thread::spawn(move || {
                            for value in 0..100 {
                                sender.send(value).unwrap();
                            }
                        })
                    })
                    .collect();
                drop(sender);
                let mut count = 0;
                while receiver.recv().is_ok() {
                    count += 1;
                }
                assert_eq!(count, 400);
                for child in children {
                    child.join().unwrap();
                }
            }

            /// A cache behind a read-write lock: four threads read 25 keys and write those that are absent.
            pub fn cache() {
                let cache = Arc::new(RwLock::new([0; 16]));
                let children: Vec<_> = (0..4)
                    .map(|number| {
                        let cache = cache.clone();
                        thread::spawn(move || {
                            for round in 0..25 {
                                let key = (round * 7 + number * 3) % 16;
                                let found = cache.read().unwrap()[key];
                                if found == 0 {
                                    cache.write().unwrap()[key] = key + 1;
                                }
                            }
                        })
                    })
                    .collect();
                for child in children {
                    child.join().unwrap();
                }
            }
        }
    };
}
