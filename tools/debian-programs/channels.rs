//! Counts the words of a file with std's threads and channels: one thread reads, some count, and the main one adds up.

use std::collections::HashMap;
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

fn main() {
    let path = std::env::args().nth(1).expect("a file is named");
    let (lines, source) = sync_channel::<Vec<String>>(2);
    let source = Arc::new(Mutex::new(source));
    let (counts, results) = channel();
    let reader = thread::spawn(move || {
        let text = std::fs::read_to_string(path).expect("the file can be read");
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        for part in words.chunks(2000) {
            lines.send(part.to_vec()).expect("somebody counts");
        }
    });
    let counters: Vec<_> = (0..3)
        .map(|_| {
            let (source, counts) = (Arc::clone(&source), counts.clone());
            thread::spawn(move || {
                loop {
                    let part = source.lock().expect("no thread has panicked").recv();
                    let Ok(part) = part else { return };
                    let mut counted = HashMap::<String, u64>::new();
                    part.into_iter().for_each(|word| *counted.entry(word).or_default() += 1);
                    counts.send(counted).expect("somebody adds up");
                }
            })
        })
        .collect();
    drop(counts);
    let mut all = HashMap::<String, u64>::new();
    for counted in results {
        counted.into_iter().for_each(|(word, times)| *all.entry(word).or_default() += times);
    }
    reader.join().expect("the reader ends well");
    counters.into_iter().for_each(|counter| counter.join().expect("a counter ends well"));
    let mut sorted: Vec<(u64, String)> = all.into_iter().map(|(word, times)| (times, word)).collect();
    sorted.sort();
    for (times, word) in sorted.iter().rev().take(20) {
        println!("{times} {word}");
    }
}
