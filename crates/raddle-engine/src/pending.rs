//! Per object: the threads that are about to touch it, and a version that changes with each write.
//!
//! The first 64 threads of a run are bits of two words per object, which no loop has to search. Later threads
//! are in a ring per object, so that the cost depends on the number of threads that are about to touch it,
//! not on the number of threads of the run.

use raddle_model::{ObjectId, Operation, ThreadId, Touch};

/// Number of threads that are represented by bits.
pub(crate) const FEW: u32 = u64::BITS;
/// No ring.
const NIL: u32 = u32::MAX;
/// Added to an object's version at each write.
const WRITE: u64 = 0xa076_1d64_78bd_642f;

/// Returns the bit of a thread; 0 for threads that are in rings.
#[inline]
pub(crate) fn bit(thread: ThreadId) -> u64 {
    1_u64.checked_shl(thread.0).unwrap_or(0)
}

#[derive(Clone, Copy, Debug)]
#[repr(C)] // Keeps the two sets apart: they are written one by one, and reading them in one piece would stall the processor.
struct Row {
    /// The threads, as bits, that are about to touch the object.
    touching: u64,
    /// Invariant: a constant for each write so far; the object's part of an event's fingerprint. The identity
    /// of the object need not be part of it: the next operation of a thread is determined by what it has read
    /// before.
    version: u64,
    /// Those of `touching` that will write it.
    writing: u64,
    /// The head of the ring of the other threads, or `NIL` while there is none.
    head: u32,
}

impl Row {
    #[inline(always)] // A handful of instructions.
    fn touch(&mut self, touch: Touch) -> u64 {
        let version = self.version;
        self.version = version.wrapping_add(if touch.writes() { WRITE } else { 0 });
        version
    }
}

/// For every object, the threads whose next operation touches it. Tables keep their memory between runs.
#[derive(Default, Debug)]
pub(crate) struct Pending {
    rows: Vec<Row>,
    /// Nodes of doubly linked rings: previous and next. The ring of an object has one node of its own, its
    /// head, and one of each thread in it. The two nodes of a thread are adjacent.
    links: Vec<[u32; 2]>,
    /// Per node: the thread it belongs to, and true if that will write the object.
    owner: Vec<(ThreadId, bool)>,
    /// The first of the two nodes of each thread in rings.
    nodes: Vec<u32>,
}

impl Clone for Pending {
    fn clone(&self) -> Pending {
        let Pending { rows, links, owner, nodes } = self;
        Pending { rows: rows.clone(), links: links.clone(), owner: owner.clone(), nodes: nodes.clone() }
    }

    #[inline]
    fn clone_from(&mut self, source: &Pending) {
        let Pending { rows, links, owner, nodes } = source;
        self.rows.clone_from(rows);
        if !nodes.is_empty() || !self.nodes.is_empty() {
            self.links.clone_from(links);
            self.owner.clone_from(owner);
            self.nodes.clone_from(nodes);
        }
    }
}

impl Pending {
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.links.clear();
        self.owner.clear();
        self.nodes.clear();
    }

    /// Adds the next object, which no thread is about to touch.
    #[inline]
    pub(crate) fn add_object(&mut self) {
        self.rows.push(Row { touching: 0, version: 0, writing: 0, head: NIL });
    }

    /// Records that an object is touched now. Returns its part of the fingerprint.
    #[inline(always)] // A handful of instructions.
    pub(crate) fn touch(&mut self, object: ObjectId, touch: Touch) -> u64 {
        self.rows[object.index()].touch(touch)
    }

    /// Adds `thread` with bit `bit` to those about to touch the object, which is touch number `slot` of its
    /// next operation.
    #[inline(always)] // A handful of instructions.
    pub(crate) fn link(&mut self, (thread, bit): (ThreadId, u64), slot: u32, object: ObjectId, touch: Touch) {
        let row = &mut self.rows[object.index()];
        row.touching |= bit;
        row.writing |= if touch.writes() { bit } else { 0 };
        if bit == 0 {
            self.link_ring(thread, slot, object, touch.writes());
        }
    }

    /// Removes `thread` with bit `bit` from those about to touch the object, which is its touch number
    /// `slot`, because it touches it now. Returns the object's part of the fingerprint.
    #[inline(always)] // A handful of instructions.
    pub(crate) fn unlink(
        &mut self,
        (thread, bit): (ThreadId, u64),
        slot: u32,
        object: ObjectId,
        touch: Touch,
    ) -> u64 {
        if bit == 0 {
            self.unlink_ring(thread, slot);
        }
        let row = &mut self.rows[object.index()];
        row.touching &= !bit;
        row.writing &= !bit;
        row.touch(touch)
    }

    /// Does [`Pending::link`] for the second object of `operation`, if it differs from the first.
    #[inline(never)] // Keeps the path of memory accesses short.
    pub(crate) fn link_second(&mut self, thread: (ThreadId, u64), operation: &Operation) {
        if let Some(object) = second_node(operation) {
            self.link(thread, 1, object, operation.touches[1]);
        }
    }

    /// Does [`Pending::touch`] for the second object of `operation`, if it differs from the first. Returns
    /// `print` with its result added.
    #[inline(never)] // Keeps the path of memory accesses short.
    pub(crate) fn touch_second(&mut self, operation: &Operation, print: u64) -> u64 {
        let Some(object) = second_node(operation) else { return print };
        print.wrapping_add(self.touch(object, operation.touches[1]).rotate_left(17))
    }

    /// Does [`Pending::unlink`] for the second object of `operation`, if it differs from the first. Returns
    /// `print` with its result added.
    #[inline(never)] // Keeps the path of memory accesses short.
    pub(crate) fn unlink_second(
        &mut self,
        thread: (ThreadId, u64),
        operation: &Operation,
        print: u64,
    ) -> u64 {
        let Some(object) = second_node(operation) else { return print };
        print.wrapping_add(self.unlink(thread, 1, object, operation.touches[1]).rotate_left(17))
    }

    /// Removes `thread` with bit `bit` from those about to touch the objects of `operation`, because it will
    /// not.
    pub(crate) fn withdraw(&mut self, (thread, bit): (ThreadId, u64), operation: &Operation) {
        let objects = [operation.touches[0].object(), second_node(operation)];
        for (slot, object) in objects.into_iter().enumerate() {
            let Some(object) = object else { continue };
            if bit == 0 {
                self.unlink_ring(thread, slot as u32);
            }
            let row = &mut self.rows[object.index()];
            row.touching &= !bit;
            row.writing &= !bit;
        }
    }

    #[inline(never)] // Keeps the path of programs with few threads short.
    fn unlink_ring(&mut self, thread: ThreadId, slot: u32) {
        let node = self.nodes[(thread.0 - FEW) as usize] + slot;
        let [previous, next] = self.links[node as usize];
        self.links[previous as usize][1] = next;
        self.links[next as usize][0] = previous;
    }

    #[inline(never)] // Keeps the path of programs with few threads short.
    fn link_ring(&mut self, thread: ThreadId, slot: u32, object: ObjectId, writes: bool) {
        let index = (thread.0 - FEW) as usize;
        while self.nodes.len() <= index {
            let owner = ThreadId(FEW + self.nodes.len() as u32);
            self.nodes.push(self.links.len() as u32);
            self.links.extend([[NIL; 2]; 2]);
            self.owner.extend([(owner, false); 2]);
        }
        if self.rows[object.index()].head == NIL {
            let head = self.links.len() as u32;
            self.rows[object.index()].head = head;
            self.links.push([head; 2]);
            self.owner.push((ThreadId(NIL), false));
        }
        let (node, head) = (self.nodes[index] + slot, self.rows[object.index()].head);
        self.owner[node as usize].1 = writes;
        let next = self.links[head as usize][1];
        self.links[node as usize] = [head, next];
        self.links[head as usize][1] = node;
        self.links[next as usize][0] = node;
    }

    /// Iterates over the threads whose next operation touches `object`, each with true if it writes it.
    #[inline]
    pub(crate) fn touching(&self, object: ObjectId) -> impl Iterator<Item = (ThreadId, bool)> + '_ {
        let row = self.rows[object.index()];
        bits(row.touching)
            .map(move |thread| (thread, row.writing & bit(thread) != 0))
            .chain(self.ring(row.head))
    }

    /// Returns the threads with bits whose next operation touches `object`; with `writers`, only those that
    /// write it.
    #[inline]
    pub(crate) fn few(&self, object: ObjectId, writers: bool) -> u64 {
        let row = &self.rows[object.index()];
        if writers { row.writing } else { row.touching }
    }

    /// Returns true if the next operation of a thread may touch `object`.
    #[inline]
    pub(crate) fn is_touched(&self, object: ObjectId) -> bool {
        let row = &self.rows[object.index()];
        row.touching != 0 || row.head != NIL
    }

    /// Iterates over the threads without bits whose next operation touches `object`, each with true if it
    /// writes it.
    #[inline]
    pub(crate) fn many(&self, object: ObjectId) -> impl Iterator<Item = (ThreadId, bool)> + '_ {
        self.ring(self.rows[object.index()].head)
    }

    #[inline]
    fn ring(&self, head: u32) -> impl Iterator<Item = (ThreadId, bool)> + '_ {
        let mut node = if head == NIL { NIL } else { self.links[head as usize][1] };
        std::iter::from_fn(move || {
            if node == head {
                return None;
            }
            let found = self.owner[node as usize];
            node = self.links[node as usize][1];
            Some(found)
        })
    }

    /// Returns a cursor over the threads about to touch an object, for loops that change threads as they go.
    #[inline]
    pub(crate) fn first(&self, object: ObjectId) -> Cursor {
        let row = &self.rows[object.index()];
        Cursor { few: row.touching, node: row.head, head: row.head }
    }

    /// Returns the next thread of a cursor and advances it.
    #[inline]
    pub(crate) fn advance(&self, cursor: &mut Cursor) -> Option<ThreadId> {
        if cursor.few != 0 {
            let thread = ThreadId(cursor.few.trailing_zeros());
            cursor.few &= cursor.few - 1;
            return Some(thread);
        }
        if cursor.head == NIL {
            return None;
        }
        cursor.node = self.links[cursor.node as usize][1];
        (cursor.node != cursor.head).then(|| self.owner[cursor.node as usize].0)
    }
}

/// Returns the second object of `operation`, if it differs from the first.
#[inline]
fn second_node(operation: &Operation) -> Option<ObjectId> {
    operation.touches[1].object().filter(|&object| operation.touches[0].object() != Some(object))
}

/// See [`Pending::first`].
pub(crate) struct Cursor {
    few: u64,
    node: u32,
    head: u32,
}

/// A set of threads.
#[derive(Default, Debug)]
pub struct ThreadSet {
    few: u64,
    /// The threads without bits; a thread may occur more than once.
    many: Vec<ThreadId>,
}

impl Clone for ThreadSet {
    fn clone(&self) -> ThreadSet {
        ThreadSet { few: self.few, many: self.many.clone() }
    }

    #[inline]
    fn clone_from(&mut self, source: &ThreadSet) {
        self.few = source.few;
        self.many.clone_from(&source.many);
    }
}

impl ThreadSet {
    /// Adds a thread.
    #[inline]
    pub fn insert(&mut self, thread: ThreadId) {
        if thread.0 < FEW {
            self.few |= bit(thread);
        } else {
            self.many.push(thread);
        }
    }

    /// Adds the threads of a set of bits.
    #[inline]
    pub(crate) fn insert_few(&mut self, few: u64) {
        self.few |= few;
    }

    /// Returns the threads that have bits.
    #[inline]
    pub(crate) fn few(&self) -> u64 {
        self.few
    }

    /// Returns the threads without bits; a thread may occur more than once.
    #[inline]
    pub(crate) fn many(&self) -> &[ThreadId] {
        &self.many
    }

    /// Returns true if there is no thread.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.few == 0 && self.many.is_empty()
    }

    /// Removes all threads.
    #[inline]
    pub fn clear(&mut self) {
        self.few = 0;
        self.many.clear();
    }

    /// Iterates over the threads. Beyond the first 64 of a run, a thread that was added more than once may
    /// occur more than once.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = ThreadId> + use<'_> {
        bits(self.few).chain(self.many.iter().copied())
    }
}

/// Iterates over the threads of a set of bits.
#[inline]
pub(crate) fn bits(mut set: u64) -> impl Iterator<Item = ThreadId> {
    std::iter::from_fn(move || {
        (set != 0).then(|| {
            let thread = ThreadId(set.trailing_zeros());
            set &= set - 1;
            thread
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_model::Access;
    use raddle_testkit::affordable_rounds;
    use std::collections::BTreeSet;

    #[test]
    fn agrees_with_a_set_for_few_and_many_threads() {
        let mut rng = crate::Rng::for_run(1, 0);
        let mut pending = Pending::default();
        let known = |thread| (ThreadId(thread), bit(ThreadId(thread)));
        for _ in 0..2 {
            pending.clear();
            (0..3).for_each(|_| pending.add_object());
            let mut model: BTreeSet<(u32, u32, bool)> = BTreeSet::new();
            let (mut linked, mut written) = (vec![None; 150], [0; 3]);
            for _ in 0..affordable_rounds(4_000) {
                let thread = rng.below(150) as u32;
                if let Some((object, writes)) = linked[thread as usize].take() {
                    let access = if writes { Access::Write } else { Access::Read };
                    let seen = pending.unlink(
                        known(thread),
                        0,
                        ObjectId(object),
                        Touch::new(ObjectId(object), access),
                    );
                    assert_eq!(seen, WRITE.wrapping_mul(written[object as usize]));
                    written[object as usize] += u64::from(writes);
                    model.remove(&(object, thread, writes));
                } else {
                    let (object, writes) = (rng.below(3) as u32, rng.below(2) == 0);
                    let access = if writes { Access::Write } else { Access::Read };
                    pending.link(known(thread), 0, ObjectId(object), Touch::new(ObjectId(object), access));
                    model.insert((object, thread, writes));
                    linked[thread as usize] = Some((object, writes));
                }
                for object in 0..3 {
                    let found: BTreeSet<_> =
                        pending.touching(ObjectId(object)).map(|(thread, w)| (object, thread.0, w)).collect();
                    let wanted: BTreeSet<_> =
                        model.iter().filter(|entry| entry.0 == object).copied().collect();
                    assert_eq!(found, wanted);
                    let mut cursor = pending.first(ObjectId(object));
                    let walked = std::iter::from_fn(|| pending.advance(&mut cursor)).count();
                    assert_eq!(walked, wanted.len());
                }
            }
        }
    }
}
