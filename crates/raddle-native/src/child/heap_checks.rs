//! Checks of accesses to freed memory.

use crate::child::heap::{Action, Block, Fate};
use crate::child::runtime::{Runtime, with};
use crate::child::scheduling::end_run;
use raddle_model::{Access, Failure, FreedBlock, Kind, LocationId};

/// Describes a freed block in a failure.
fn freed_block(runtime: &mut Runtime, block: Block) -> FreedBlock {
    let by = block.freed.unwrap_or(block.allocated);
    FreedBlock {
        address: block.address as u64,
        size: block.size as u64,
        allocated_by: block.allocated.thread,
        allocated_at: location(runtime, block.allocated),
        freed_by: by.thread,
        freed_at: location(runtime, by),
    }
}

/// The place of an allocation or a free.
fn location(runtime: &mut Runtime, action: Action) -> LocationId {
    if action.location == LocationId(0) { runtime.former_place(action.place) } else { action.location }
}

/// Ends the run if an access that is about to be executed is to a freed block. Called inside the runtime.
#[inline]
pub(crate) fn check(kind: Kind, address: usize, size: usize, place: usize) {
    let found = with(|runtime| match runtime.heap.kept.is_empty() {
        true => None,
        false => runtime.heap.kept_at(address, size.max(1)),
    });
    let Some(block) = found else { return };
    with(|runtime| {
        let freed = freed_block(runtime, block);
        let access = if kind == Kind::Read { Access::Read } else { Access::Write };
        let offset = address.saturating_sub(block.address) as u64;
        runtime.fail(place, |thread, location| Failure::UseAfterFree {
            thread,
            location,
            access,
            offset,
            block: freed,
        });
    });
    end_run();
}

/// Records that the program frees a block, and returns its handling. Ends the run if it was already freed.
/// Called inside the runtime.
pub(crate) fn free(address: usize, place: usize) -> Fate {
    let fate = with(|runtime| {
        let Some(entry) = runtime.heap.find(address) else { return Some(Fate::Returned { size: 0 }) };
        let block = runtime.heap.blocks[entry as usize];
        if block.freed.is_none() {
            let action = runtime.heap_action(place);
            return Some(runtime.heap.free(entry, action, &mut runtime.objects));
        }
        let block = freed_block(runtime, block);
        runtime.fail(place, |thread, location| Failure::DoubleFree { thread, location, block });
        None
    });
    fate.unwrap_or_else(|| end_run())
}
