//! When to fetch an issuer's keys, and how long to use them.

use std::time::{Duration, Instant};

/// Keys are refetched after this time.
const FRESHNESS: Duration = Duration::from_secs(600);
/// How long keys stay in use while refetching fails.
const MAX_AGE: Duration = Duration::from_secs(6 * 3600);
/// Keeps tokens with made-up key ids from making us flood the issuer.
const MIN_FETCH_INTERVAL: Duration = Duration::from_secs(10);
/// A fetch that has not reported for this long is considered lost.
const FETCH_TIMEOUT: Duration = Duration::from_secs(30);

/// Caches the keys `K` of one issuer.
#[derive(Debug, Default)]
pub(super) struct KeyCache<K> {
    keys: Option<(K, Instant)>,
    last_fetch: Option<Instant>,
    fetching: bool,
}

/// The action for a token.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KeyLookup<K> {
    /// Use these keys.
    Use(K),
    /// Use these keys, and refetch them in the background.
    UseAndFetch(K),
    /// Fetch the keys, then look again.
    Fetch,
    /// Wait for the running fetch, then look again.
    Wait,
    /// There are no keys, and fetching them failed a moment ago.
    Unavailable,
}

impl<K: Clone> KeyCache<K> {
    /// Looks up keys. `suits` tells whether they include the key that the token names. On
    /// [`KeyLookup::Fetch`] and [`KeyLookup::UseAndFetch`], the caller must fetch and then call
    /// [`Self::fetched`].
    pub(super) fn look(&mut self, now: Instant, suits: impl Fn(&K) -> bool) -> KeyLookup<K> {
        let since = |at: Instant| now.saturating_duration_since(at);
        let running = self.fetching && self.last_fetch.is_some_and(|at| since(at) < FETCH_TIMEOUT);
        let may_fetch = !running && self.last_fetch.is_none_or(|at| since(at) >= MIN_FETCH_INTERVAL);
        let known = self.keys.as_ref().filter(|(_, at)| since(*at) < MAX_AGE);
        if let Some((keys, at)) = known {
            let keys = keys.clone();
            match (suits(&keys), may_fetch) {
                (true, true) if since(*at) >= FRESHNESS => {
                    self.begin(now);
                    return KeyLookup::UseAndFetch(keys);
                }
                (true, _) => return KeyLookup::Use(keys),
                (false, false) if !running => return KeyLookup::Use(keys),
                (false, _) => {}
            }
        }
        if running {
            KeyLookup::Wait
        } else if may_fetch {
            self.begin(now);
            KeyLookup::Fetch
        } else {
            KeyLookup::Unavailable
        }
    }

    fn begin(&mut self, now: Instant) {
        self.fetching = true;
        self.last_fetch = Some(now);
    }

    /// Reports the result of a fetch; `None` if it failed.
    pub(super) fn fetched(&mut self, now: Instant, keys: Option<K>) {
        self.fetching = false;
        self.last_fetch = Some(now);
        if let Some(keys) = keys {
            self.keys = Some((keys, now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Here, keys are a list of ids.
    fn look(cache: &mut KeyCache<Vec<u8>>, now: Instant, id: u8) -> KeyLookup<Vec<u8>> {
        cache.look(now, |keys| keys.contains(&id))
    }

    #[test]
    fn one_fetch_at_a_time_and_everyone_waits_for_it() {
        let (mut cache, start) = (KeyCache::default(), Instant::now());
        assert_eq!(look(&mut cache, start, 1), KeyLookup::Fetch);
        assert_eq!(look(&mut cache, start, 1), KeyLookup::Wait);
        assert_eq!(look(&mut cache, start + SECOND, 2), KeyLookup::Wait);
        cache.fetched(start + SECOND, Some(vec![1]));
        assert_eq!(look(&mut cache, start + SECOND, 1), KeyLookup::Use(vec![1]));
        // An unknown key causes a refetch, but not immediately.
        assert_eq!(look(&mut cache, start + SECOND, 2), KeyLookup::Use(vec![1]));
        let later = start + SECOND + MIN_FETCH_INTERVAL;
        assert_eq!(look(&mut cache, later - SECOND, 2), KeyLookup::Use(vec![1]));
        assert_eq!(look(&mut cache, later, 2), KeyLookup::Fetch);
        assert_eq!(look(&mut cache, later, 2), KeyLookup::Wait);
        // Known keys don't have to wait for it.
        assert_eq!(look(&mut cache, later, 1), KeyLookup::Use(vec![1]));
        cache.fetched(later, Some(vec![1, 2]));
        assert_eq!(look(&mut cache, later, 2), KeyLookup::Use(vec![1, 2]));
    }

    #[test]
    fn failures_are_not_repeated_at_once() {
        let (mut cache, start) = (KeyCache::<Vec<u8>>::default(), Instant::now());
        assert_eq!(look(&mut cache, start, 1), KeyLookup::Fetch);
        cache.fetched(start, None);
        assert_eq!(look(&mut cache, start + MIN_FETCH_INTERVAL - SECOND, 1), KeyLookup::Unavailable);
        assert_eq!(look(&mut cache, start + MIN_FETCH_INTERVAL, 1), KeyLookup::Fetch);
    }

    #[test]
    fn old_keys_are_used_while_new_ones_come_and_for_a_bounded_time() {
        let (mut cache, start) = (KeyCache::default(), Instant::now());
        look(&mut cache, start, 1);
        cache.fetched(start, Some(vec![1]));
        assert_eq!(look(&mut cache, start + FRESHNESS - SECOND, 1), KeyLookup::Use(vec![1]));
        assert_eq!(look(&mut cache, start + FRESHNESS, 1), KeyLookup::UseAndFetch(vec![1]));
        assert_eq!(look(&mut cache, start + FRESHNESS, 1), KeyLookup::Use(vec![1]));
        cache.fetched(start + FRESHNESS, None);
        assert_eq!(look(&mut cache, start + FRESHNESS, 1), KeyLookup::Use(vec![1]));
        let end = start + MAX_AGE;
        assert_eq!(look(&mut cache, end - SECOND, 1), KeyLookup::UseAndFetch(vec![1]));
        cache.fetched(end - SECOND, None);
        assert_eq!(look(&mut cache, end, 1), KeyLookup::Unavailable);
        assert_eq!(look(&mut cache, end + MIN_FETCH_INTERVAL, 1), KeyLookup::Fetch);
    }

    #[test]
    fn a_lost_fetch_does_not_block_for_ever() {
        let (mut cache, start) = (KeyCache::<Vec<u8>>::default(), Instant::now());
        assert_eq!(look(&mut cache, start, 1), KeyLookup::Fetch);
        assert_eq!(look(&mut cache, start + FETCH_TIMEOUT - SECOND, 1), KeyLookup::Wait);
        assert_eq!(look(&mut cache, start + FETCH_TIMEOUT, 1), KeyLookup::Fetch);
    }
}
