//! Counts of what is in use, in total and by holder.

use std::{collections::HashMap, hash::Hash, sync::Arc};

/// How much of something is in use. A holder without a key counts only towards the total.
#[derive(Debug)]
pub struct Counts<K> {
    /// The total.
    pub all: usize,
    of: HashMap<K, usize>,
}

/// The limits of a count.
#[derive(Debug, Clone, Copy)]
pub struct CountLimits {
    /// Of all holders together.
    pub all: usize,
    /// Of each holder with a key.
    pub each: usize,
}

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self { all: 0, of: HashMap::new() }
    }
}

impl<K: Clone + Eq + Hash> Counts<K> {
    /// How much a holder has.
    pub fn of(&self, key: Option<&K>) -> usize {
        key.and_then(|key| self.of.get(key)).copied().unwrap_or_default()
    }

    /// Returns whether a holder could have more.
    pub fn has_room(&self, key: Option<&K>, amount: usize, limits: CountLimits) -> bool {
        let within = |count: usize, max: usize| count.saturating_add(amount) <= max;
        within(self.all, limits.all) && (key.is_none() || within(self.of(key), limits.each))
    }

    /// Counts more of a holder. Returns `false`, and counts nothing, if that exceeds a limit.
    pub fn take(&mut self, key: Option<&K>, amount: usize, limits: CountLimits) -> bool {
        let has_room = self.has_room(key, amount, limits);
        if has_room {
            self.add(key, amount);
        }
        has_room
    }

    /// Counts more of a holder, whatever the limits.
    pub fn add(&mut self, key: Option<&K>, amount: usize) {
        self.all += amount;
        if let Some(key) = key {
            *self.of.entry(key.clone()).or_default() += amount;
        }
    }

    /// The holder that has the most.
    pub fn greatest(&self) -> Option<&K> {
        self.of.iter().max_by_key(|(_, amount)| **amount).map(|(key, _)| key)
    }

    /// Counts less of a holder, by an amount that it has.
    pub fn give_back(&mut self, key: Option<&K>, amount: usize) {
        self.all -= amount;
        if let Some(key) = key
            && let Some(count) = self.of.get_mut(key)
        {
            *count -= amount;
            if *count == 0 {
                self.of.remove(key);
            }
        }
    }
}

/// The account that resource usage is charged to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    Principal(String),
    /// The address of a client without a principal, as trusted proxies report it.
    Address(Arc<str>),
    /// The number of a conversation, if its client has neither.
    Conversation(u64),
    /// The number of a client in this process.
    Client(u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_that_has_given_everything_back_is_forgotten() {
        let (limits, mut counts) = (CountLimits { all: 5, each: 3 }, Counts::default());
        assert!(counts.take(Some(&"ada"), 2, limits) && !counts.take(Some(&"ada"), 2, limits));
        assert!(counts.take(None, 3, limits) && !counts.take(Some(&"bob"), 1, limits));
        assert_eq!((counts.all, counts.of(Some(&"ada")), counts.of(None)), (5, 2, 0));
        counts.give_back(Some(&"ada"), 1);
        counts.give_back(None, 3);
        assert_eq!((counts.all, counts.of.len()), (1, 1));
        counts.give_back(Some(&"ada"), 1);
        assert_eq!((counts.all, counts.of.len()), (0, 0));
    }
}
