//! The state of a first opening (the option `lazy`), and of reconnecting.

use crate::{
    backoff::Backoff,
    client::{ClientError, LinkMessage},
    runtime::Promise,
    telemetry::OpenOperation,
};
use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::{Duration, Instant},
};

/// The wait before reconnecting, if the last connection was short-lived.
const BACKOFF: Backoff = Backoff { first: Duration::from_millis(100), longest: Duration::from_secs(30) };
/// After a connection that lasted this long, reconnect without backoff.
const MIN_STABLE_TIME: Duration = Duration::from_secs(10);

/// A lost connection, and the messages queued for the next one.
#[derive(Default)]
pub(in crate::client) struct Reconnecting {
    /// True while a task is reconnecting. There is at most one.
    pub(in crate::client) running: bool,
    /// As many requests as may be in flight, and a bounded number of notifications.
    pub(in crate::client) waiting: Vec<LinkMessage>,
    /// When the latest connection was established.
    since: Option<Instant>,
    /// When the connection was lost.
    lost_at: Option<Instant>,
    /// When it was lost, or the latest attempt failed.
    ended_at: Option<Instant>,
    /// Number of consecutive failed or short-lived connections.
    bad: u32,
}

impl Reconnecting {
    /// Records that the connection was established.
    pub(in crate::client) fn made(&mut self, now: Instant) {
        self.since = Some(now);
        self.lost_at = None;
    }

    /// Records that the connection was lost or could not be established.
    pub(in crate::client) fn lost(&mut self, now: Instant) {
        self.lost_at.get_or_insert(now);
        self.ended_at = Some(now);
        let good = self.since.take().is_some_and(|since| now.saturating_duration_since(since) >= MIN_STABLE_TIME);
        self.bad = if good { 0 } else { self.bad.saturating_add(1) };
    }

    /// Starts reconnecting, after the returned backoff. `None` if a task is already reconnecting.
    pub(in crate::client) fn begin(&mut self, now: Instant) -> Option<Duration> {
        (!std::mem::replace(&mut self.running, true)).then(|| self.pause(now))
    }

    /// Returns whether a connection was lost, or could not be established.
    pub(in crate::client) fn has_failed(&self) -> bool {
        self.ended_at.is_some()
    }

    /// How long there has been no connection.
    pub(in crate::client) fn away(&self, now: Instant) -> Duration {
        self.lost_at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at))
    }

    /// The rest of the backoff before the next attempt, which begins when the last one ended. There
    /// is none after the first loss. With jitter, so that many clients don't reconnect at the
    /// same moment.
    pub(in crate::client) fn pause(&self, now: Instant) -> Duration {
        let Some(earlier) = self.bad.checked_sub(2) else { return Duration::ZERO };
        // Random enough: each `RandomState` differs.
        let jitter = 0.5 + f64::from(RandomState::new().hash_one(0_u8) as u16) / f64::from(u16::MAX) / 2.0;
        let since = self.ended_at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        BACKOFF.after(earlier).mul_f64(jitter).saturating_sub(since)
    }
}

/// The first opening, until it succeeds.
#[derive(Default)]
pub(in crate::client) struct FirstOpening {
    /// The span that the host of a binding has started for it.
    pub(in crate::client) span: Option<Arc<dyn OpenOperation>>,
    /// The requests that wait for the attempt in progress.
    pub(in crate::client) waiting: Vec<Arc<Promise<Result<(), ClientError>>>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_until_a_connection_lasts() {
        let (mut state, start) = (Reconnecting::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut longest = Vec::new();
        for loss in 0..12 {
            state.made(at(loss));
            state.lost(at(loss));
            let pause = state.pause(at(loss));
            let full = Duration::from_millis(50 << loss).min(BACKOFF.longest);
            if loss == 0 {
                assert_eq!(pause, Duration::ZERO);
            } else {
                assert!((full / 2..=full).contains(&pause), "{loss}: {pause:?}");
            }
            longest.push(pause);
        }
        assert_ne!(longest[11], state.pause(at(11)), "jitter");
        assert_eq!(state.pause(at(11) + BACKOFF.longest), Duration::ZERO, "the pause is over");
        state.made(at(20));
        state.lost(at(20) + MIN_STABLE_TIME);
        assert_eq!(state.pause(at(20) + MIN_STABLE_TIME), Duration::ZERO);
    }
}
