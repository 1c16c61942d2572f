//! The sessions of the legacy era at one endpoint.

use super::{
    history::History,
    response_stream::Stream,
    workers::{ServedSessions, SharedSession},
};
use crate::sync::Mutex;
use crate::{
    http::sessions::{ID_BYTES, SessionBounds, Sessions, session_id},
    runtime::Runtime,
    server::Connection,
};
use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// A session.
#[derive(Clone)]
pub(super) struct HttpSession {
    /// The principal that opened it, where callers are known: no other may use it (SEC-04).
    pub(super) owner: Option<Arc<str>>,
    /// The one whose share of sessions it takes: its owner, or the address of the client.
    pub(super) rate_limit_key: Option<Arc<str>>,
    pub(super) connection: Arc<Connection>,
    /// The stream of messages without a request; on HTTP+SSE, of all messages.
    pub(super) stream: Arc<Stream>,
    /// The events that clients can come back to, if any are kept.
    pub(super) history: Option<Arc<History>>,
    /// Its record in the store, if other processes serve it too. Its end here is not its end there.
    pub(super) shared: Option<Arc<SharedSession>>,
}

impl HttpSession {
    pub(super) fn end(&self) {
        self.connection.close();
        self.stream.finish();
    }

    /// Completes when no call runs, and lets the stream end after what is told until then.
    pub(super) async fn drain(&self) {
        self.connection.drain().await;
        self.stream.finish();
    }

    fn is_busy(&self) -> bool {
        self.stream.is_attached() || !self.connection.is_idle()
    }
}

/// Takes the bytes of a session id from a source of randomness, all of them and as they come
/// (HTTP-42). `None`: it failed.
fn new_id(fill: impl FnOnce(&mut [u8]) -> Result<(), getrandom::Error>) -> Option<[u8; ID_BYTES]> {
    let mut random = [0; ID_BYTES];
    if let Err(error) = fill(&mut random) {
        tracing::error!(target: "trunkline::server::http", %error, "no session can be opened, for the system gives no random bytes");
        return None;
    }
    Some(random)
}

/// All of them.
pub(super) struct SessionTable {
    sessions: Mutex<Sessions<HttpSession>>,
    idle: Duration,
    swept: AtomicBool,
}

impl SessionTable {
    pub(super) fn new(bounds: SessionBounds) -> Self {
        Self { sessions: Mutex::new(Sessions::new(bounds)), idle: bounds.idle, swept: AtomicBool::new(false) }
    }

    /// Opens a session: its id, or `None` if there is no room or no randomness.
    pub(super) fn open(self: &Arc<Self>, runtime: &Arc<dyn Runtime>, session: HttpSession) -> Option<String> {
        let id = Self::new_id()?;
        self.enter(runtime, &id, session).map(|_| id)
    }

    /// The id of a new session, or `None` without randomness.
    pub(super) fn new_id() -> Option<String> {
        new_id(getrandom::fill).map(session_id)
    }

    /// Enters a session under its id, unless it is there: the one that is there then. `None`: all
    /// room is taken.
    pub(super) fn enter(
        self: &Arc<Self>,
        runtime: &Arc<dyn Runtime>,
        id: &str,
        session: HttpSession,
    ) -> Option<HttpSession> {
        self.sweep_from_now_on(runtime);
        let evicted = {
            let mut sessions = self.sessions.lock();
            if let Some(other) = sessions.touch(runtime.now(), id) {
                return Some(other);
            }
            let evicted =
                sessions.make_room(runtime.now(), session.rate_limit_key.as_ref(), HttpSession::is_busy).ok()?;
            sessions.insert_as(runtime.now(), id, session.rate_limit_key.clone(), session.clone());
            evicted
        };
        evicted.iter().for_each(HttpSession::end);
        Some(session)
    }

    /// The session of an id, if it is that principal's: for anyone else there is none (SEC-02,
    /// SEC-04).
    pub(super) fn touch(&self, runtime: &Arc<dyn Runtime>, id: &str, principal: Option<&str>) -> Option<HttpSession> {
        let mut sessions = self.sessions.lock();
        sessions.get(id).filter(|session| session.owner.as_deref() == principal)?;
        sessions.touch(runtime.now(), id)
    }

    /// Takes a session out, if it is that principal's.
    pub(super) fn remove_of(&self, id: &str, principal: Option<&str>) -> Option<HttpSession> {
        let mut sessions = self.sessions.lock();
        sessions.get(id).filter(|session| session.owner.as_deref() == principal)?;
        sessions.remove(id)
    }

    pub(super) fn remove(&self, id: &str) -> Option<HttpSession> {
        self.sessions.lock().remove(id)
    }

    pub(super) fn drain(&self) -> Vec<HttpSession> {
        self.sessions.lock().drain()
    }

    pub(super) fn all(&self) -> Vec<HttpSession> {
        self.sessions.lock().all()
    }

    fn sweep(&self, now: std::time::Instant) {
        let expired = self.sessions.lock().expire(now, HttpSession::is_busy);
        expired.iter().for_each(HttpSession::end);
    }

    /// Looks for idle sessions now and then, as long as the table lives.
    fn sweep_from_now_on(self: &Arc<Self>, runtime: &Arc<dyn Runtime>) {
        if self.swept.swap(true, Ordering::Relaxed) {
            return;
        }
        let period = (self.idle / 8).clamp(Duration::from_millis(10), Duration::from_secs(60));
        let (table, clock): (Weak<Self>, _) = (Arc::downgrade(self), Arc::clone(runtime));
        runtime.spawn(Box::pin(async move {
            loop {
                clock.sleep_until(clock.now() + period).await;
                let Some(table) = table.upgrade() else { return };
                table.sweep(clock.now());
            }
        }));
    }
}

impl ServedSessions for SessionTable {
    fn connection(&self, id: &str) -> Option<Arc<Connection>> {
        self.sessions.lock().get(id).map(|session| Arc::clone(&session.connection))
    }

    fn end(&self, id: &str) {
        self.remove(id).iter().for_each(HttpSession::end);
    }

    fn give_up_call_stream(&self, id: &str, stream: u64) {
        let history = self.sessions.lock().get(id).and_then(|session| session.history.clone());
        if let Some(history) = history {
            history.give_up(stream);
        }
    }

    fn give_up_stream(&self, id: &str) {
        let stream = self.sessions.lock().get(id).map(|session| Arc::clone(&session.stream));
        if let Some(stream) = stream {
            stream.give_up();
        }
    }
}

/// Ends a session of HTTP+SSE with its stream.
pub(super) struct SessionEnd {
    sessions: Arc<SessionTable>,
    id: String,
}

impl SessionEnd {
    pub(super) fn new(sessions: Arc<SessionTable>, id: String) -> Self {
        Self { sessions, id }
    }
}

impl Drop for SessionEnd {
    fn drop(&mut self) {
        self.sessions.remove(&self.id).iter().for_each(HttpSession::end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_42_ids_are_made_of_the_systems_random_bytes_and_of_nothing_else() {
        let counted = new_id(|bytes| {
            bytes.iter_mut().zip(1..).for_each(|(byte, number)| *byte = number);
            Ok(())
        });
        let numbers: Vec<u8> = counted.unwrap().to_vec();
        assert_eq!(numbers, (1..=24).collect::<Vec<u8>>(), "192 bits, none of them made here");
        // Without randomness there is no session, rather than one with an id that can be guessed.
        assert_eq!(new_id(|_| Err(getrandom::Error::UNSUPPORTED)), None);

        // Each bit of the system's bytes is set about as often as not: no counter, no clock, no
        // fixed part. A count outside of these bounds is twelve standard deviations away from the
        // mean.
        const IDS: usize = 4096;
        let ids: std::collections::HashSet<_> = (0..IDS).map(|_| new_id(getrandom::fill).unwrap()).collect();
        assert_eq!(ids.len(), IDS);
        for bit in 0..ID_BYTES * 8 {
            let set = ids.iter().filter(|id| id[bit / 8] >> (bit % 8) & 1 == 1).count();
            assert!(set.abs_diff(IDS / 2) < 12 * 32, "bit {bit} was set in {set} of {IDS}");
        }
    }
}
