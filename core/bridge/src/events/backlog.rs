//! Bounds the notifications queued for the host.

use crate::process::sync_primitives::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

/// Maximum number of queued records.
const MAX_COUNT: usize = 10_000;
/// Maximum total size of their names and bodies, in bytes.
const MAX_BYTES: usize = 4 << 20;

/// Accounts for queued notifications. If a peer sends them faster than the host drains them, the
/// newest are dropped.
#[derive(Default)]
pub(crate) struct Backlog {
    waiting: Mutex<Amount>,
    dropped: AtomicUsize,
}

#[derive(Default)]
struct Amount {
    count: usize,
    bytes: usize,
}

impl Backlog {
    /// Admits a notification of this size, if it fits.
    pub(crate) fn admit(&self, bytes: usize) -> bool {
        {
            let mut waiting = self.waiting.lock();
            // A single one is always admitted, because messages have their own limit.
            let fits = waiting.count < MAX_COUNT && waiting.bytes.saturating_add(bytes) <= MAX_BYTES;
            if waiting.count == 0 || fits {
                waiting.count += 1;
                waiting.bytes += bytes;
                return true;
            }
        }
        self.dropped.fetch_add(1, Ordering::Relaxed);
        false
    }

    /// Called when the host has drained a notification of this size. Returns the number of dropped
    /// ones once there is room again.
    pub(crate) fn taken(&self, bytes: usize) -> usize {
        let is_empty = {
            let mut waiting = self.waiting.lock();
            waiting.count = waiting.count.saturating_sub(1);
            waiting.bytes = waiting.bytes.saturating_sub(bytes);
            waiting.count == 0
        };
        if is_empty { self.dropped.swap(0, Ordering::Relaxed) } else { 0 }
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_dropped_and_counted() {
        let backlog = Backlog::default();
        assert!((0..4).all(|_| backlog.admit(1 << 20)));
        assert!((0..3).all(|_| !backlog.admit(1)));
        assert_eq!((0..3).map(|_| backlog.taken(1 << 20)).sum::<usize>(), 0, "told once, at the end");
        assert_eq!(backlog.taken(1 << 20), 3);
        assert!(backlog.admit(MAX_BYTES + 1), "a large one alone");
        assert_eq!(backlog.taken(MAX_BYTES + 1), 0);
    }
}
