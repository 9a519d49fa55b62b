//! The blocks of memory that the program has allocated in this run, and those that it has freed.
//!
//! A freed block is filled with a pattern and kept in quarantine: it is not reused, and any access to it or
//! second free is detected. When the quarantine is full, the oldest block is returned to the C library.
//! Blocks from before the run are unknown and returned at once.

use crate::child::objects::{Class, Objects};
use crate::platform::table::Table;
use raddle_model::{LocationId, ThreadId};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// The maximum number of bytes in quarantine.
const MOST_BYTES: usize = 16 << 20;
/// The maximum number of blocks in quarantine.
const MOST_BLOCKS: usize = 1 << 14;
/// The number of an address that is not the beginning of a known block.
const GONE: u32 = u32::MAX;

/// The thread that allocated or freed a block, and the location.
#[derive(Clone, Copy)]
pub(crate) struct Action {
    pub(crate) thread: ThreadId,
    pub(crate) place: usize,
    /// The number of the place with its callers, if the run is shown; else 0.
    pub(crate) location: LocationId,
}

/// The memory of an object. Plain data, so that it can be handed to another process.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct MemoryNote {
    /// The number of the place where its block was allocated; of memory on a stack, an address in the function.
    pub(crate) place: u64,
    /// Bytes from the beginning of the block, or from the canonical frame address of the function.
    pub(crate) offset: i64,
    /// The bytes of the block.
    pub(crate) size: u64,
    pub(crate) object: u32,
    /// 1 for memory on the heap, 0 for a stack.
    pub(crate) is_heap: u32,
}

#[derive(Clone, Copy)]
pub(crate) struct Block {
    pub(crate) address: usize,
    pub(crate) size: usize,
    pub(crate) allocated: Action,
    pub(super) freed: Option<Action>,
}

/// The handling of a block that the program frees.
pub(crate) enum Fate {
    /// It is kept; the first `size` bytes must be overwritten. The `evicted` ones are returned to the C
    /// library.
    Kept { size: usize, evicted: Vec<usize> },
    /// It is returned at once; 0 bytes if the run does not know it.
    Returned { size: usize },
}

/// The heap of a run.
#[derive(Default)]
pub(crate) struct Heap {
    pub(super) blocks: Vec<Block>,
    /// Entries of `blocks` that are not in use.
    spare: Vec<u32>,
    /// The entry of a block, by its address.
    known: Table,
    /// The blocks in quarantine, by address.
    pub(super) kept: BTreeMap<usize, u32>,
    /// The same blocks in the order in which they were freed.
    order: VecDeque<u32>,
    bytes: usize,
}

impl Heap {
    /// Records a new block.
    pub(crate) fn add(&mut self, address: usize, size: usize, allocated: Action) {
        let block = Block { address, size, allocated, freed: None };
        let entry = match self.spare.pop() {
            Some(entry) => {
                self.blocks[entry as usize] = block;
                entry
            }
            None => {
                self.blocks.push(block);
                self.blocks.len() as u32 - 1
            }
        };
        self.known.set(address as u64, entry);
    }

    pub(super) fn find(&self, address: usize) -> Option<u32> {
        self.known.get(address as u64).filter(|&entry| entry != GONE)
    }

    /// The block that has an address, for runs that are shown: it is searched for.
    pub(crate) fn holder(&self, address: usize) -> Option<Block> {
        let holds = |block: &&Block| (block.address..block.address + block.size).contains(&address);
        let found = self.blocks.iter().find(|block| holds(block) && self.knows(block.address))?;
        Some(*found)
    }

    /// Returns true if a block that is in use or kept begins there.
    pub(crate) fn knows(&self, address: usize) -> bool {
        self.find(address).is_some()
    }

    /// Returns the size of a block that is in use.
    pub(crate) fn size(&self, address: usize) -> Option<usize> {
        let block = self.blocks[self.find(address)? as usize];
        block.freed.is_none().then_some(block.size)
    }

    fn forget(&mut self, entry: u32) -> Block {
        let block = self.blocks[entry as usize];
        self.known.set(block.address as u64, GONE);
        self.spare.push(entry);
        block
    }

    /// Returns the kept block that contains one of these bytes.
    pub(super) fn kept_at(&self, address: usize, size: usize) -> Option<Block> {
        let (_, &entry) = self.kept.range(..address + size).next_back()?;
        let block = self.blocks[entry as usize];
        (address < block.address + block.size).then_some(block)
    }

    /// Marks a block as freed.
    pub(super) fn free(&mut self, entry: u32, action: Action, objects: &mut Objects) -> Fate {
        let size = self.blocks[entry as usize].size;
        if size > MOST_BYTES {
            forget_objects(self.forget(entry), objects);
            return Fate::Returned { size };
        }
        self.blocks[entry as usize].freed = Some(action);
        self.kept.insert(self.blocks[entry as usize].address, entry);
        self.order.push_back(entry);
        self.bytes += size;
        let mut evicted = Vec::new();
        while self.bytes > MOST_BYTES || self.order.len() > MOST_BLOCKS {
            let Some(oldest) = self.order.pop_front() else { break };
            let block = self.forget(oldest);
            self.kept.remove(&block.address);
            self.bytes -= block.size;
            forget_objects(block, objects);
            evicted.push(block.address);
        }
        Fate::Kept { size, evicted }
    }
}

/// Forgets the objects of a block: a later allocation there is different memory.
fn forget_objects(block: Block, objects: &mut Objects) {
    forget_variables(block.address as u64..(block.address + block.size) as u64, objects);
}

/// Forgets the objects in a range of memory.
pub(super) fn forget_variables(range: Range<u64>, objects: &mut Objects) {
    if range.end - range.start <= objects.made.len() as u64 {
        range.for_each(|address| objects.forget(address, Class::Memory));
        return;
    }
    let made =
        objects.made.iter().filter(|made| made.class == Class::Memory && range.contains(&made.address));
    let addresses: Vec<u64> = made.map(|made| made.address).collect();
    addresses.into_iter().for_each(|address| objects.forget(address, Class::Memory));
}
