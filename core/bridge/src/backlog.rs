//! The bound of the notifications that wait for a host.

use super::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

/// Most records that wait.
const MAX_COUNT: usize = 10_000;
/// Most bytes of them, names and bodies.
const MAX_BYTES: usize = 4 << 20;

/// The notifications that wait. A peer that sends them faster than the host takes them loses the
/// newest.
#[derive(Default)]
pub(super) struct Backlog {
    waiting: Mutex<Amount>,
    dropped: AtomicUsize,
}

#[derive(Default)]
struct Amount {
    count: usize,
    bytes: usize,
}

impl Backlog {
    /// Lets a notification of so many bytes in, if there is room.
    pub(super) fn admit(&self, bytes: usize) -> bool {
        {
            let mut waiting = self.waiting.lock();
            // One alone is let in however large it is: messages have a bound of their own.
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

    /// The host has taken a notification of so many bytes. Gives the number of those that were
    /// dropped, when there is room again.
    pub(super) fn taken(&self, bytes: usize) -> usize {
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
