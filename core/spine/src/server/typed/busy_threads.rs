//! Detects handlers that block a thread, by tracking polls in progress.

use crate::on_drop::OnDrop;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The polls of handlers in this process.
pub(crate) static HANDLER_POLLS: PollCounters = PollCounters::new();

/// Generations that can be distinguished; must exceed the number of concurrent watchers.
const GENERATIONS: usize = 8;

/// Counts the polls of handlers in progress, by generation. A watcher starts a new generation, and
/// then waits until the earlier ones have no polls left.
pub(crate) struct PollCounters {
    generation: AtomicUsize,
    /// The polls of each generation, indexed by its remainder.
    polls: [AtomicUsize; GENERATIONS],
}

/// The polls that were in progress when this was created.
pub(crate) struct BusyThreads {
    counters: &'static PollCounters,
    generation: usize,
}

impl PollCounters {
    const fn new() -> Self {
        Self { generation: AtomicUsize::new(0), polls: [const { AtomicUsize::new(0) }; GENERATIONS] }
    }

    /// Counts a poll of a handler until the guard is dropped.
    pub(super) fn enter(&'static self) -> OnDrop<impl FnOnce()> {
        let polls = &self.polls[self.generation.load(Ordering::Relaxed) % GENERATIONS];
        polls.fetch_add(1, Ordering::Relaxed);
        OnDrop::new(move || {
            polls.fetch_sub(1, Ordering::Relaxed);
        })
    }

    pub(crate) fn watch(&'static self) -> BusyThreads {
        BusyThreads { counters: self, generation: self.generation.fetch_add(1, Ordering::Relaxed) }
    }
}

impl BusyThreads {
    /// Returns whether any of these polls is still in progress.
    pub(crate) fn are_held(&self) -> bool {
        let later = self.counters.generation.load(Ordering::Relaxed) - self.generation;
        let is_later = |index: usize| (index + GENERATIONS - self.generation % GENERATIONS - 1) % GENERATIONS < later;
        let mut earlier = self.counters.polls.iter().enumerate().filter(|(index, _)| !is_later(*index));
        earlier.any(|(_, polls)| polls.load(Ordering::Relaxed) > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_polls_that_had_begun_are_watched() {
        static COUNTERS: PollCounters = PollCounters::new();
        let early = COUNTERS.enter();
        let watched = COUNTERS.watch();
        let late = COUNTERS.enter();
        assert!(watched.are_held());
        drop(early);
        assert!(!watched.are_held(), "the later one is not watched");
        drop(late);
    }

    #[test]
    fn a_second_watcher_sees_the_polls_that_the_first_one_does() {
        static COUNTERS: PollCounters = PollCounters::new();
        for _ in 0..3 {
            let early = COUNTERS.enter();
            let (first, second) = (COUNTERS.watch(), COUNTERS.watch());
            let late = COUNTERS.enter();
            assert!(first.are_held() && second.are_held());
            drop(early);
            assert!(!first.are_held() && !second.are_held());
            drop(late);
        }
    }
}
