//! Memory errors on a fiber, one for each name: `clean` and `unwind` have none.
//!
//! Two threads under control switch back and forth, so that a sanitizer that loses track of stacks reports
//! `clean` too.

use raddle::thread;
use std::hint::black_box;

fn main() {
    let bug = std::env::args().nth(1).expect("the name of a bug");
    let bug: fn() = match &bug[..] {
        "clean" => || {},
        "use-after-free" => use_after_free,
        "past-the-frame" => past_the_frame,
        "unwind" => unwind,
        other => panic!("there is no bug `{other}`"),
    };
    let config = raddle::Config::new().with_strategy("random-walk").with_runs(50).without_failure_files();
    let outcome = raddle::check_with(&config, move || {
        let other = thread::spawn(move || {
            for round in 0..4 {
                let frame = black_box([round; 64]);
                thread::yield_now();
                assert_eq!(black_box(frame)[63], round);
            }
            bug();
        });
        for _ in 0..4 {
            thread::yield_now();
        }
        _ = other.join();
    });
    println!("{}", if outcome.is_ok() { "passed" } else { "failed" });
}

/// Reads heap memory that was freed before a switch.
fn use_after_free() {
    let pointer = Box::into_raw(black_box(Box::new(7_u64)));
    // SAFETY: none; the second use is the bug.
    unsafe { drop(Box::from_raw(pointer)) };
    thread::yield_now();
    black_box(unsafe { pointer.read() });
}

/// Writes past an array in a frame of the fiber.
#[inline(never)]
fn past_the_frame() {
    let mut array = black_box([0_u8; 32]);
    thread::yield_now();
    let pointer = array.as_mut_ptr();
    // SAFETY: none; this is the bug.
    unsafe { pointer.add(black_box(33)).write(1) };
    black_box(&array);
}

/// No bug: a panic unwinds the stack of the fiber and is caught by its thread.
fn unwind() {
    let _kept = black_box(vec![1_u8; 100]);
    thread::yield_now();
    panic!("this is meant to be");
}
