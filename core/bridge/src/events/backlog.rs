//! Bounds the notifications queued for the host.

use crate::process::sync_primitives::Mutex;
use std::collections::BTreeMap;

/// Maximum number of queued records of a connection.
const MAX_COUNT: usize = 10_000;
/// Maximum total size of their names and bodies, in bytes.
const MAX_BYTES: usize = 4 << 20;

/// Accounts for queued notifications, by connection. If a peer sends them faster than the host
/// drains them, its newest are dropped, and nobody else's.
#[derive(Default)]
pub(crate) struct Backlog(Mutex<BTreeMap<u64, Amount>>);

#[derive(Default)]
struct Amount {
    count: usize,
    bytes: usize,
    dropped: usize,
}

impl Backlog {
    /// Admits a notification of this size, if it fits.
    pub(crate) fn admit(&self, connection: u64, bytes: usize) -> bool {
        let mut waiting = self.0.lock();
        let waiting = waiting.entry(connection).or_default();
        // A single one is always admitted, because messages have their own limit.
        let fits = waiting.count < MAX_COUNT && waiting.bytes.saturating_add(bytes) <= MAX_BYTES;
        if waiting.count > 0 && !fits {
            waiting.dropped += 1;
            return false;
        }
        waiting.count += 1;
        waiting.bytes += bytes;
        true
    }

    /// Called when the host has drained a notification of this size. Returns the number of dropped
    /// ones once there is room again.
    pub(crate) fn taken(&self, connection: u64, bytes: usize) -> usize {
        let mut waiting = self.0.lock();
        let Some(of_it) = waiting.get_mut(&connection) else { return 0 };
        of_it.count -= 1;
        of_it.bytes -= bytes;
        if of_it.count > 0 {
            return 0;
        }
        waiting.remove(&connection).map_or(0, |of_it| of_it.dropped)
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_dropped_and_counted() {
        let backlog = Backlog::default();
        assert!((0..4).all(|_| backlog.admit(1, 1 << 20)));
        assert!((0..3).all(|_| !backlog.admit(1, 1)));
        assert!(backlog.admit(2, 1), "another connection has its own room");
        assert_eq!(backlog.taken(2, 1), 0);
        assert_eq!((0..3).map(|_| backlog.taken(1, 1 << 20)).sum::<usize>(), 0, "told once, at the end");
        assert_eq!(backlog.taken(1, 1 << 20), 3);
        assert!(backlog.admit(1, MAX_BYTES + 1), "a large one alone");
        assert_eq!(backlog.taken(1, MAX_BYTES + 1), 0);
        assert!(backlog.0.lock().is_empty(), "nothing is kept for a connection without any");
    }
}
