//! Time spent asking the user, which does not count towards the client's deadlines.

use crate::sync::Mutex;
use std::time::{Duration, Instant};

/// Pauses of all requests. Overlapping pauses count once.
#[derive(Default)]
pub(in crate::client) struct Pauses(Mutex<PauseState>);

#[derive(Default)]
struct PauseState {
    /// Number of current pauses, and when they began.
    now: usize,
    since: Option<Instant>,
    before: Duration,
}

impl Pauses {
    pub(in crate::client) fn begin(&self, now: Instant) {
        let mut state = self.0.lock();
        state.now += 1;
        state.since.get_or_insert(now);
    }

    pub(in crate::client) fn end(&self, now: Instant) {
        let mut state = self.0.lock();
        state.now = state.now.saturating_sub(1);
        if state.now == 0
            && let Some(since) = state.since.take()
        {
            state.before += now.saturating_duration_since(since);
        }
    }

    /// Total paused time until now.
    pub(in crate::client) fn total(&self, now: Instant) -> Duration {
        let state = self.0.lock();
        state.before + state.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_at_the_same_time_count_once() {
        let (pauses, start) = (Pauses::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        pauses.begin(at(0));
        pauses.begin(at(5));
        assert_eq!(pauses.total(at(7)), Duration::from_secs(7));
        pauses.end(at(8));
        pauses.end(at(10));
        assert_eq!(pauses.total(at(50)), Duration::from_secs(10));
        pauses.begin(at(60));
        assert_eq!(pauses.total(at(61)), Duration::from_secs(11));
    }
}
