//! Memory budget for events that can be replayed, shared by all sessions of an endpoint.

use crate::sync::Mutex;
use std::{
    collections::HashMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

/// The events of one session.
pub(super) trait KeepsEvents: Send + Sync {
    /// The position of the newest event among those of all sessions.
    fn last_kept(&self) -> u64;

    /// Drops its events and returns their size.
    fn lose_all(&self) -> usize;
}

/// The size of stored events, and their histories. Lock order: this first, then a history.
pub(super) struct ReplayBudget {
    max: usize,
    bytes: AtomicUsize,
    events: AtomicU64,
    histories: Mutex<Histories>,
}

#[derive(Default)]
struct Histories {
    by_number: HashMap<u64, Weak<dyn KeepsEvents>>,
    next: u64,
}

impl ReplayBudget {
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, bytes: AtomicUsize::new(0), events: AtomicU64::new(0), histories: Mutex::default() })
    }

    /// Registers a history and returns its number.
    pub(super) fn enter(&self, history: Weak<dyn KeepsEvents>) -> u64 {
        let mut histories = self.histories.lock();
        histories.next += 1;
        let number = histories.next;
        histories.by_number.insert(number, history);
        number
    }

    pub(super) fn leave(&self, number: u64, bytes: usize) {
        self.histories.lock().by_number.remove(&number);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The position of the next event among those of all sessions, starting at 1.
    pub(super) fn next_event(&self) -> u64 {
        self.events.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Updates the size of a history. If the budget is exhausted, the longest-idle histories lose
    /// their events until an eighth of it is free, so that this doesn't happen with each event.
    pub(super) fn changed(&self, before: usize, now: usize) {
        if now >= before {
            self.bytes.fetch_add(now - before, Ordering::Relaxed);
        } else {
            self.bytes.fetch_sub(before - now, Ordering::Relaxed);
        }
        if self.bytes.load(Ordering::Relaxed) > self.max {
            self.make_room();
        }
    }

    /// The current total size.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Number of sessions with a history.
    #[cfg(test)]
    pub(super) fn sessions(&self) -> usize {
        self.histories.lock().by_number.len()
    }

    fn make_room(&self) {
        // Upgrade and drop them without the lock, because dropping the last reference acquires it.
        let mut histories: Vec<_> = self.histories.lock().by_number.values().filter_map(Weak::upgrade).collect();
        histories.sort_by_cached_key(|history| history.last_kept());
        for history in histories {
            if self.bytes.load(Ordering::Relaxed) <= self.max - self.max / 8 {
                break;
            }
            self.bytes.fetch_sub(history.lose_all(), Ordering::Relaxed);
        }
    }
}
