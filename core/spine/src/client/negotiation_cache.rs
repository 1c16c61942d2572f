//! Process-wide cache of negotiation results; later connections skip the probe.

use crate::sync::Mutex;
use once_cell::race::OnceBox;
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

/// Entries expire because a newer server may replace the one behind a URL or command.
const ENTRY_TTL: Duration = Duration::from_secs(10 * 60);
const MAX_ENTRIES: usize = 1000;

/// Negotiation results of one kind, keyed by the identity of the server.
pub(crate) struct NegotiationCache<V: 'static>(OnceBox<Mutex<Entries<V>>>);

/// Each result with its expiry.
type Entries<V> = HashMap<u64, (V, Instant)>;

impl<V: Copy> NegotiationCache<V> {
    pub(crate) const fn new() -> Self {
        Self(OnceBox::new())
    }

    fn entries(&self) -> &Mutex<Entries<V>> {
        self.0.get_or_init(Box::default)
    }

    /// Returns the cached result, unless it has expired.
    pub(crate) fn get(&self, server: u64, now: Instant) -> Option<V> {
        let entries = self.entries().lock();
        entries.get(&server).filter(|(_, expires)| now < *expires).map(|(result, _)| *result)
    }

    /// Caches a result. Nothing happens while the cache is full of unexpired entries.
    pub(crate) fn insert(&self, server: u64, result: V, now: Instant) {
        let mut entries = self.entries().lock();
        if entries.len() >= MAX_ENTRIES {
            entries.retain(|_, (_, expires)| now < *expires);
        }
        if entries.len() < MAX_ENTRIES {
            entries.insert(server, (result, now + ENTRY_TTL));
        }
    }

    /// Removes a result that proved wrong; the next connection probes again (DISC-23).
    pub(crate) fn remove(&self, server: u64) {
        self.entries().lock().remove(&server);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disc_22_and_23_results_expire_and_can_be_removed() {
        let (cache, server, now) = (NegotiationCache::new(), 22, Instant::now());
        assert_eq!(cache.get(server, now), None);
        cache.insert(server, 'a', now);
        assert_eq!(cache.get(server, now), Some('a'));
        assert_eq!(cache.get(server, now + ENTRY_TTL), None);
        cache.remove(server);
        assert_eq!(cache.get(server, now), None);
    }
}
