//! The legacy sessions of an endpoint.

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
    /// The principal that opened it, with authorization. No other may use it (SEC-04).
    pub(super) owner: Option<Arc<str>>,
    pub(super) connection: Arc<Connection>,
    /// The stream of messages without a request; for HTTP+SSE, of all messages.
    pub(super) stream: Arc<Stream>,
    /// Past events for resuming clients, if enabled.
    pub(super) history: Option<Arc<History>>,
    /// Its record in the store, if it is shared with other processes. Ending it here does not end
    /// it there.
    pub(super) shared: Option<Arc<SharedSession>>,
}

impl HttpSession {
    pub(super) fn end(&self) {
        self.connection.close();
        self.stream.finish();
    }

    /// Ends it in this process, because it has ended everywhere: its events are not kept in the
    /// store either.
    pub(super) fn end_for_good(&self) {
        self.end();
        self.history.iter().for_each(History::forget);
    }

    /// Ends it in this process. If other processes can serve it, its tasks continue.
    pub(super) fn leave(&self) {
        let Some(shared) = &self.shared else { return self.end() };
        self.connection.leave();
        self.stream.finish();
        shared.left();
    }

    /// Ends it in every process.
    pub(super) async fn end_everywhere(&self) {
        self.end_for_good();
        if let Some(shared) = &self.shared {
            // If the store fails, its record expires.
            let _ = shared.workers.end(&shared.id, self.owner.as_deref()).await;
        }
    }

    /// Completes when no call is running, and lets the stream end after the messages sent until
    /// then.
    pub(super) async fn drain(&self) {
        self.connection.drain().await;
        self.stream.finish();
    }

    fn is_busy(&self) -> bool {
        self.stream.is_attached() || !self.connection.is_idle()
    }
}

/// Fills a session id with random bytes (HTTP-42). Returns `None` if there is no randomness.
fn new_id(fill: impl FnOnce(&mut [u8]) -> Result<(), getrandom::Error>) -> Option<[u8; ID_BYTES]> {
    let mut random = [0; ID_BYTES];
    if let Err(error) = fill(&mut random) {
        tracing::error!(target: "trunkline::server::http", %error, "could not open a session: no random bytes from the system");
        return None;
    }
    Some(random)
}

/// All sessions.
pub(super) struct SessionTable {
    sessions: Mutex<Sessions<HttpSession>>,
    runtime: Arc<dyn Runtime>,
    idle: Duration,
    swept: AtomicBool,
}

impl SessionTable {
    pub(super) fn new(bounds: SessionBounds, runtime: &Arc<dyn Runtime>) -> Arc<Self> {
        let (sessions, runtime) = (Mutex::new(Sessions::new(bounds)), Arc::clone(runtime));
        Arc::new(Self { sessions, runtime, idle: bounds.idle, swept: AtomicBool::new(false) })
    }

    /// Opens a session. Returns its id, or `None` if the limit is reached or there is no
    /// randomness.
    pub(super) fn open(self: &Arc<Self>, rate_limit_key: Option<Arc<str>>, session: HttpSession) -> Option<String> {
        let id = Self::new_id()?;
        let (_, displaced) = self.enter(&id, rate_limit_key, session)?;
        displaced.iter().for_each(HttpSession::end);
        Some(id)
    }

    /// A new session id, or `None` without randomness.
    pub(super) fn new_id() -> Option<String> {
        new_id(getrandom::fill).map(session_id)
    }

    /// Adds a session with its id, unless it exists, and returns the one in the table, and the
    /// session of the same owner that had to make room for it, which has not ended yet. Returns
    /// `None` if the limit is reached. It is charged to `rate_limit_key`: its owner, or the address
    /// of the client.
    pub(super) fn enter(
        self: &Arc<Self>,
        id: &str,
        rate_limit_key: Option<Arc<str>>,
        session: HttpSession,
    ) -> Option<(HttpSession, Option<HttpSession>)> {
        self.sweep_from_now_on(session.shared.as_deref());
        let (evicted, is_of_owner) = {
            let (mut sessions, now) = (self.sessions.lock(), self.runtime.now());
            if let Some(session) = sessions.touch(now, id) {
                return Some((session, None));
            }
            let is_of_owner = sessions.has_all_of_its_own(rate_limit_key.as_ref());
            let evicted = sessions.make_room(now, rate_limit_key.as_ref(), HttpSession::is_busy).ok()?;
            sessions.insert(now, id, rate_limit_key, session.clone());
            (evicted, is_of_owner)
        };
        let (displaced, of_others) = if is_of_owner { (evicted, None) } else { (None, evicted) };
        of_others.iter().for_each(HttpSession::leave);
        Some((session, displaced))
    }

    /// The session with this id, if it belongs to the principal; otherwise it looks nonexistent
    /// (SEC-02, SEC-04).
    pub(super) fn touch(&self, id: &str, principal: Option<&str>) -> Option<HttpSession> {
        let mut sessions = self.sessions.lock();
        sessions.get(id).filter(|session| session.owner.as_deref() == principal)?;
        sessions.touch(self.runtime.now(), id)
    }

    /// Removes a session, if it belongs to the principal.
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

    fn sweep(&self) {
        let is_busy = |session: &HttpSession| {
            let is_busy = session.is_busy();
            // Its record lives as long as it does.
            session.shared.iter().filter(|_| is_busy).for_each(SharedSession::renew);
            is_busy
        };
        let expired = self.sessions.lock().expire(self.runtime.now(), is_busy);
        expired.iter().for_each(HttpSession::leave);
    }

    /// Periodically removes idle sessions, while the table exists, and ends the tasks of those that
    /// ended after they had left.
    fn sweep_from_now_on(self: &Arc<Self>, shared: Option<&SharedSession>) {
        if self.swept.swap(true, Ordering::Relaxed) {
            return;
        }
        let period = (self.idle / 8).clamp(Duration::from_millis(10), Duration::from_secs(60));
        let (table, clock): (Weak<Self>, _) = (Arc::downgrade(self), Arc::clone(&self.runtime));
        let workers = shared.map(|shared| Arc::downgrade(&shared.workers));
        self.runtime.spawn(Box::pin(async move {
            loop {
                clock.sleep_until(clock.now() + period).await;
                let Some(table) = table.upgrade() else { return };
                table.sweep();
                if let Some(workers) = workers.as_ref().and_then(Weak::upgrade) {
                    workers.end_lost_tasks();
                }
            }
        }));
    }
}

impl ServedSessions for SessionTable {
    fn connection(&self, id: &str) -> Option<Arc<Connection>> {
        self.sessions.lock().get(id).map(|session| Arc::clone(&session.connection))
    }

    fn end(&self, id: &str) {
        self.remove(id).iter().for_each(HttpSession::end_for_good);
    }

    fn give_up_call_stream(&self, id: &str, stream: u64) {
        let history = self.sessions.lock().get(id).and_then(|session| session.history.clone());
        history.iter().for_each(|history| history.give_up(stream));
    }

    fn give_up_stream(&self, id: &str) {
        let stream = self.sessions.lock().get(id).map(|session| Arc::clone(&session.stream));
        stream.iter().for_each(|stream| stream.give_up());
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
        // Without randomness, opening a session fails rather than using a guessable id.
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
