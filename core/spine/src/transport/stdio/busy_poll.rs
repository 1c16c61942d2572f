//! Busy polling: waiting for the reply of a quick peer without sleeping.
//!
//! Waking a sleeping core takes longer than a small call, above all on virtual machines. So while
//! messages go back and forth one at a time, and the peer has recently replied quickly, its next
//! message is polled for, briefly. Peers that are slow, silent or send many messages at once are
//! never polled, so they cost nothing.

use once_cell::race::OnceBool;
use std::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Peers that reply within this time are busy-polled, for at most this long. Nanoseconds.
const MAX_BUSY_POLL: u64 = Duration::from_micros(100).as_nanos() as u64;
/// Consecutive quick round trips before a peer is busy-polled. A single slow one ends it.
const MIN_QUICK_ROUND_TRIPS: u32 = 4;

/// The round trips on a pipe: a message of ours, followed by one message of the peer.
#[derive(Debug)]
pub(in crate::transport) struct RoundTripTracker {
    created: Instant,
    /// The time at which we sent the message that starts a round trip: nanoseconds after `created`.
    /// 0 if the peer has sent something since.
    sent: AtomicU64,
    /// Consecutive quick round trips.
    quick: AtomicU32,
}

impl Default for RoundTripTracker {
    fn default() -> Self {
        Self { created: Instant::now(), sent: AtomicU64::new(0), quick: AtomicU32::new(0) }
    }
}

impl RoundTripTracker {
    /// Records that we send a single message, which starts a round trip.
    pub(in crate::transport) fn sent(&self) {
        self.sent_at(self.now());
    }

    /// Records that the peer has sent something, and returns whether that completes a round trip.
    /// `is_single`: it was exactly one message.
    pub(in crate::transport) fn received(&self, is_single: bool) -> bool {
        self.received_at(self.now(), is_single)
    }

    /// Polls until `is_ready`, as long as that is worthwhile. Returns whether it became ready.
    pub(super) fn busy_poll(&self, mut is_ready: impl FnMut() -> bool) -> bool {
        while self.is_worthwhile() {
            if is_ready() {
                return true;
            }
        }
        false
    }

    /// Waits for a read on the runtime. As long as busy polling is worthwhile, the runtime looks
    /// for events without sleeping, and runs its other tasks.
    pub(in crate::transport) async fn wait<T>(&self, read: impl Future<Output = T>) -> T {
        let mut read = std::pin::pin!(read);
        loop {
            tokio::select! {
                biased;
                outcome = &mut read => return outcome,
                () = tokio::task::yield_now(), if self.is_worthwhile() => {}
            }
        }
    }

    fn is_worthwhile(&self) -> bool {
        self.is_worthwhile_at(self.now()) && is_parallel()
    }

    fn now(&self) -> u64 {
        u64::try_from(self.created.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn sent_at(&self, now: u64) {
        self.sent.store(now.max(1), Ordering::Relaxed);
    }

    fn received_at(&self, now: u64, is_single: bool) -> bool {
        let sent = self.sent.swap(0, Ordering::Relaxed);
        let is_round_trip = is_single && sent != 0;
        let is_quick = is_round_trip && now.saturating_sub(sent) <= MAX_BUSY_POLL;
        let quick = if is_quick { self.quick.load(Ordering::Relaxed).saturating_add(1) } else { 0 };
        self.quick.store(quick, Ordering::Relaxed);
        is_round_trip
    }

    fn is_worthwhile_at(&self, now: u64) -> bool {
        let sent = self.sent.load(Ordering::Relaxed);
        sent != 0
            && self.quick.load(Ordering::Relaxed) >= MIN_QUICK_ROUND_TRIPS
            && now.saturating_sub(sent) <= MAX_BUSY_POLL
    }
}

/// With a single core, polling would keep the peer from running.
fn is_parallel() -> bool {
    static IS_PARALLEL: OnceBool = OnceBool::new();
    IS_PARALLEL.get_or_init(|| thread::available_parallelism().is_ok_and(|cores| cores.get() > 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tracker of a peer that has replied quickly so many times.
    fn quick(times: u32) -> RoundTripTracker {
        let tracker = RoundTripTracker::default();
        for _ in 0..times {
            tracker.sent_at(1000);
            assert!(tracker.received_at(1000 + MAX_BUSY_POLL, true));
        }
        tracker
    }

    #[test]
    fn only_a_peer_that_was_quick_for_a_while_is_polled() {
        let tracker = quick(MIN_QUICK_ROUND_TRIPS - 1);
        tracker.sent_at(5000);
        assert!(!tracker.is_worthwhile_at(5001));
        let tracker = quick(MIN_QUICK_ROUND_TRIPS);
        assert!(!tracker.is_worthwhile_at(5001), "nothing was sent that the peer could reply to");
        tracker.sent_at(5000);
        assert!(tracker.is_worthwhile_at(5000 + MAX_BUSY_POLL));
        assert!(!tracker.is_worthwhile_at(5001 + MAX_BUSY_POLL), "it has been polled for long enough");
    }

    #[test]
    fn one_slow_reply_or_several_messages_end_the_polling() {
        let slow = quick(MIN_QUICK_ROUND_TRIPS);
        slow.sent_at(5000);
        assert!(slow.received_at(5001 + MAX_BUSY_POLL, true));
        let many = quick(MIN_QUICK_ROUND_TRIPS);
        many.sent_at(5000);
        assert!(!many.received_at(5001, false));
        let unrequested = quick(MIN_QUICK_ROUND_TRIPS);
        assert!(!unrequested.received_at(5000, true), "nothing was sent that it could reply to");
        for tracker in [slow, many, unrequested] {
            tracker.sent_at(9000);
            assert!(!tracker.is_worthwhile_at(9001));
        }
    }
}
