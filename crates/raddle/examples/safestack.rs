//! The hardest of the classic bugs: a lock-free stack of indices whose pop may restore a stale link. It takes
//! three threads and five preemptions at specific points. `cargo run --release -p raddle --example safestack
//! [STRATEGY [SEED]]` searches for it in at most 2,000,000 runs.

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicI32, Ordering::SeqCst};
use raddle::{Config, check_with, thread};

const THREADS: i32 = 3;
const ROUNDS: usize = 2;

struct Stack {
    head: AtomicI32,
    count: AtomicI32,
    next: [AtomicI32; THREADS as usize],
    owner: [AtomicI32; THREADS as usize],
}

impl Stack {
    fn pop(&self) -> Option<usize> {
        while self.count.load(SeqCst) > 1 {
            let top = self.head.load(SeqCst);
            let next = self.next[top as usize].swap(-1, SeqCst);
            if next >= 0 {
                if self.head.compare_exchange(top, next, SeqCst, SeqCst).is_ok() {
                    self.count.fetch_sub(1, SeqCst);
                    return Some(top as usize);
                }
                self.next[top as usize].swap(next, SeqCst);
            }
        }
        None
    }

    fn push(&self, index: usize) {
        let mut top = self.head.load(SeqCst);
        loop {
            self.next[index].store(top, SeqCst);
            match self.head.compare_exchange(top, index as i32, SeqCst, SeqCst) {
                Ok(_) => break,
                Err(now) => top = now,
            }
        }
        self.count.fetch_add(1, SeqCst);
    }
}

fn program() {
    let stack = Arc::new(Stack {
        head: AtomicI32::new(0),
        count: AtomicI32::new(THREADS),
        next: [AtomicI32::new(1), AtomicI32::new(2), AtomicI32::new(-1)],
        owner: Default::default(),
    });
    let user = |me| {
        let stack = Arc::clone(&stack);
        thread::spawn(move || {
            for _ in 0..ROUNDS {
                let index = loop {
                    match stack.pop() {
                        Some(index) => break index,
                        None => thread::yield_now(),
                    }
                };
                stack.owner[index].store(me, SeqCst);
                assert_eq!(stack.owner[index].load(SeqCst), me, "two threads own the same item");
                stack.push(index);
            }
        })
    };
    let users: Vec<_> = (1..=THREADS).map(user).collect();
    users.into_iter().for_each(|user| user.join().unwrap());
}

#[expect(clippy::print_stdout, reason = "an example shows its result")]
fn main() {
    let mut words = std::env::args().skip(1);
    let mut config = Config::default();
    config.runs = 2_000_000;
    config.strategy = words.next().unwrap_or(config.strategy);
    config.seed = words.next().map_or(config.seed, |seed| seed.parse().expect("the seed is a number"));
    match check_with(&config, program) {
        Ok(passed) => println!("{passed}"),
        Err(failed) => {
            println!(
                "{failed}\nFound by run {} of {}.",
                failed.number.unwrap_or(failed.run),
                failed.strategy
            );
        }
    }
}
