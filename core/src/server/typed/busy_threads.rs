//! Handlers that hold a thread: those that are being polled right now.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The handlers of this process.
static PROCESS: PollCounters = PollCounters::new();

/// Polls of handlers that have not returned, counted in generations: a watcher begins a new one,
/// and then waits for the one before to empty.
struct PollCounters {
    generation: AtomicUsize,
    /// Those of the even and of the odd generations.
    polls: [AtomicUsize; 2],
}

/// A poll of a handler, until it returns.
pub(super) struct HandlerPoll {
    counters: &'static PollCounters,
    generation: usize,
}

/// The polls that had not returned when this was made.
pub(crate) struct BusyThreads {
    counters: &'static PollCounters,
    generation: usize,
}

impl PollCounters {
    const fn new() -> Self {
        Self { generation: AtomicUsize::new(0), polls: [AtomicUsize::new(0), AtomicUsize::new(0)] }
    }

    fn enter(&'static self) -> HandlerPoll {
        let generation = self.generation.load(Ordering::Relaxed) % 2;
        self.polls[generation].fetch_add(1, Ordering::Relaxed);
        HandlerPoll { counters: self, generation }
    }

    fn watch(&'static self) -> BusyThreads {
        BusyThreads { counters: self, generation: self.generation.fetch_add(1, Ordering::Relaxed) % 2 }
    }
}

impl HandlerPoll {
    pub(super) fn enter() -> Self {
        PROCESS.enter()
    }
}

impl Drop for HandlerPoll {
    fn drop(&mut self) {
        self.counters.polls[self.generation].fetch_sub(1, Ordering::Relaxed);
    }
}

impl BusyThreads {
    /// Those of the handlers of this process.
    pub(crate) fn now() -> Self {
        PROCESS.watch()
    }

    /// Returns whether one of the polls has not returned yet.
    pub(crate) fn are_held(&self) -> bool {
        self.counters.polls[self.generation].load(Ordering::Relaxed) > 0
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
}
