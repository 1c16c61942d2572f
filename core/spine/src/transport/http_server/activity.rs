//! The activity of a connection, or of a body that is being read.

use crate::sync::Mutex;
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};
use tokio::{
    sync::Notify,
    time::{Duration, Instant},
};

/// A connection whose client has not read for this long can be evicted.
pub(super) const STALL_TIMEOUT: Duration = Duration::from_secs(5);

/// Requests and pending writes of a connection. A body only uses the notification of its eviction.
#[derive(Default)]
pub(super) struct Activity {
    begun: AtomicU64,
    ended: AtomicU64,
    /// Since when a write has been pending, without any progress.
    unwritten_since: Mutex<Option<Instant>>,
    /// Over HTTP/2: since when the client has read none of its responses.
    unread_since: Mutex<Option<Instant>>,
    /// True if the connection closes after its requests anyway.
    closing: AtomicBool,
    /// Notified when the connection is evicted.
    pub(super) evicted: Notify,
}

impl Activity {
    /// Marks the start of a request, which ends when the returned guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Active {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Active(Arc::clone(self))
    }

    /// Returns whether it has ever had a request.
    pub(super) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed) > 0
    }

    /// Returns whether there is currently no request, and no response that waits to be read.
    pub(super) fn is_idle(&self) -> bool {
        let ended = self.ended.load(Ordering::Acquire);
        self.begun.load(Ordering::Relaxed) == ended
    }

    /// Sets whether a write is pending, when one begins to be or some of it succeeds.
    pub(super) fn set_unwritten(&self, is_unwritten: bool) {
        *self.unwritten_since.lock() = is_unwritten.then(Instant::now);
    }

    /// Over HTTP/2: sets whether responses wait to be read, after the client has read something or
    /// has got the first of them. If its windows allow no data, no write is pending.
    pub(super) fn set_unread(&self, is_unread: bool) {
        *self.unread_since.lock() = is_unread.then(Instant::now);
    }

    /// Returns whether the client has read nothing for a while, although there is something to
    /// read.
    pub(super) fn is_stalled(&self) -> bool {
        lasts(&self.unwritten_since, STALL_TIMEOUT) || self.is_unread_for(STALL_TIMEOUT)
    }

    /// Over HTTP/2: returns whether the client has read none of its responses for this time.
    pub(super) fn is_unread_for(&self, time: Duration) -> bool {
        lasts(&self.unread_since, time)
    }

    /// A number that changes whenever a request or a pending write starts or ends.
    pub(super) fn changes(&self) -> u64 {
        self.begun.load(Ordering::Relaxed).wrapping_add(self.ended.load(Ordering::Relaxed))
    }

    /// Marks that the connection closes after its requests, so that it is only evicted if its
    /// client does not read the responses.
    pub(super) fn set_closing(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }
}

fn lasts(since: &Mutex<Option<Instant>>, time: Duration) -> bool {
    since.lock().is_some_and(|since| since.elapsed() >= time)
}

/// A request until the connection has taken its response, or a pending write.
pub(super) struct Active(Arc<Activity>);

impl Drop for Active {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Release);
    }
}
