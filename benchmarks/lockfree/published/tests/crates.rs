//! Small scenarios of published structures.

use crossbeam_queue::{ArrayQueue, SegQueue};
use crossbeam_skiplist::SkipMap;
use papaya::HashMap;
use published_structures::{Call, call, explain};
use raddle_history::Part;
use std::collections::{BTreeMap, VecDeque};

/// A test for each scenario: the calls before the threads, of two threads, and after them.
macro_rules! scenarios {
    ($module:ident, $structure:expr, $model:expr, $($name:ident: [$($first:expr),*] [$($one:expr),*] [$($other:expr),*] [$($last:expr),*];)*) => {
        mod $module {
            use super::*;
            $(#[test]
            fn $name() {
                let calls = vec![
                    $((Part::First, $first),)*
                    $((Part::Thread(0), $one),)*
                    $((Part::Thread(1), $other),)*
                    $((Part::Last, $last),)*
                ];
                explain(&$structure, $model, calls);
            })*
        }
    };
}

fn push(value: u32) -> Call<SegQueue<u32>, VecDeque<u32>> {
    call("push", move |queue: &SegQueue<u32>| queue.push(value), move |model: &mut VecDeque<u32>| model.push_back(value))
}

fn pop() -> Call<SegQueue<u32>, VecDeque<u32>> {
    call("pop", |queue: &SegQueue<u32>| queue.pop(), |model: &mut VecDeque<u32>| model.pop_front())
}

scenarios! { seg_queue, SegQueue::new(), VecDeque::new(),
    push_and_push: [] [push(1)] [push(2)] [pop(), pop()];
    push_and_pop: [] [push(1)] [pop()] [pop()];
    pop_and_pop: [push(1)] [pop()] [pop()] [];
    two_each: [push(1)] [push(2), pop()] [pop(), push(3)] [pop(), pop()];
}

fn try_push(value: u32) -> Call<ArrayQueue<u32>, VecDeque<u32>> {
    call(
        "push",
        move |queue: &ArrayQueue<u32>| queue.push(value).is_ok(),
        move |model: &mut VecDeque<u32>| {
            let has_room = model.len() < 2;
            model.extend(has_room.then_some(value));
            has_room
        },
    )
}

fn try_pop() -> Call<ArrayQueue<u32>, VecDeque<u32>> {
    call("pop", |queue: &ArrayQueue<u32>| queue.pop(), |model: &mut VecDeque<u32>| model.pop_front())
}

fn length() -> Call<ArrayQueue<u32>, VecDeque<u32>> {
    call("len", |queue: &ArrayQueue<u32>| queue.len(), |model: &mut VecDeque<u32>| model.len())
}

scenarios! { array_queue, ArrayQueue::new(2), VecDeque::new(),
    push_and_push: [] [try_push(1)] [try_push(2)] [try_pop(), try_pop()];
    push_and_push_with_room_for_one: [try_push(1)] [try_push(2)] [try_push(3)] [try_pop(), try_pop()];
    push_and_pop: [] [try_push(1)] [try_pop()] [try_pop()];
    pop_and_pop: [try_push(1)] [try_pop()] [try_pop()] [];
    length_of_pop_and_push: [try_push(1)] [try_pop(), try_push(2)] [length()] [];
    two_each: [try_push(1)] [try_push(2), try_pop()] [try_pop(), try_push(3)] [try_pop(), try_pop()];
}

type Map = BTreeMap<u32, u32>;

fn insert(key: u32, value: u32) -> Call<HashMap<u32, u32>, Map> {
    call(
        "insert",
        move |map: &HashMap<u32, u32>| map.pin().insert(key, value).copied(),
        move |model: &mut Map| model.insert(key, value),
    )
}

fn remove(key: u32) -> Call<HashMap<u32, u32>, Map> {
    call(
        "remove",
        move |map: &HashMap<u32, u32>| map.pin().remove(&key).copied(),
        move |model: &mut Map| model.remove(&key),
    )
}

fn get(key: u32) -> Call<HashMap<u32, u32>, Map> {
    call(
        "get",
        move |map: &HashMap<u32, u32>| map.pin().get(&key).copied(),
        move |model: &mut Map| model.get(&key).copied(),
    )
}

scenarios! { hash_map, HashMap::new(), Map::new(),
    insert_and_insert: [] [insert(1, 1)] [insert(1, 2)] [get(1)];
    insert_and_remove: [insert(1, 1)] [insert(1, 2)] [remove(1)] [get(1)];
    insert_and_get: [] [insert(1, 1)] [get(1)] [];
    remove_and_remove: [insert(1, 1)] [remove(1)] [remove(1)] [];
}

fn add(key: u32, value: u32) -> Call<SkipMap<u32, u32>, Map> {
    call(
        "insert",
        move |map: &SkipMap<u32, u32>| *map.insert(key, value).value(),
        move |model: &mut Map| {
            model.insert(key, value);
            value
        },
    )
}

fn delete(key: u32) -> Call<SkipMap<u32, u32>, Map> {
    call(
        "remove",
        move |map: &SkipMap<u32, u32>| map.remove(&key).map(|entry| *entry.value()),
        move |model: &mut Map| model.remove(&key),
    )
}

fn look_up(key: u32) -> Call<SkipMap<u32, u32>, Map> {
    call(
        "get",
        move |map: &SkipMap<u32, u32>| map.get(&key).map(|entry| *entry.value()),
        move |model: &mut Map| model.get(&key).copied(),
    )
}

scenarios! { skip_map, SkipMap::new(), Map::new(),
    insert_and_insert: [] [add(1, 1)] [add(1, 2)] [look_up(1)];
    insert_and_remove: [add(1, 1)] [add(1, 2)] [delete(1)] [look_up(1)];
    insert_and_get: [] [add(1, 1)] [look_up(1)] [];
    remove_and_remove: [add(1, 1)] [delete(1)] [delete(1)] [];
    insert_again_and_get: [add(1, 1)] [add(1, 2)] [look_up(1)] [];
}
