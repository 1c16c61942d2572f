//! Keeps the allocator from returning the memory of each large message to the system.

use std::{
    hint::black_box,
    sync::atomic::{AtomicBool, Ordering},
};

/// Length from which a message needs preparation, in bytes.
const LARGE_THRESHOLD: usize = 32 * 1024;

/// The size of the block that is freed.
const BLOCK_BYTES: usize = 4 * 1024 * 1024;

/// Prepares the allocator for a message of this length.
///
/// glibc returns free memory to the system above a threshold of 128 KiB, and the system clears each
/// page of it again for the next large message: more than half of the CPU time of such a call. The
/// threshold adapts to twice the size of a mapped block that is freed, up to 32 MiB (mallopt(3),
/// `M_MMAP_THRESHOLD`), so this frees one, once. The block is never touched, so it takes no memory.
/// Other allocators ignore it.
pub(super) fn prepare_for(length: usize) {
    // Not a `Once`, which a child of `fork` could find locked for ever.
    static IS_PREPARED: AtomicBool = AtomicBool::new(false);
    if length >= LARGE_THRESHOLD && !IS_PREPARED.load(Ordering::Relaxed) && !IS_PREPARED.swap(true, Ordering::Relaxed) {
        drop(black_box(Vec::<u8>::with_capacity(BLOCK_BYTES)));
    }
}
