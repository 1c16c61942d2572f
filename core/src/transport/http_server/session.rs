//! The sessions of the legacy era at one endpoint.

use super::{history::History, stream::Stream};
use crate::sync::Mutex;
use crate::{
    http::sessions::{ID_BYTES, Sessions},
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
pub(super) struct Session {
    /// The principal that opened it, where callers are known: no other may use it (SEC-04).
    pub(super) owner: Option<Arc<str>>,
    pub(super) connection: Arc<Connection>,
    /// The stream of messages without a request; on HTTP+SSE, of all messages.
    pub(super) stream: Arc<Stream>,
    /// The events that clients can come back to, if any are kept.
    pub(super) history: Option<Arc<History>>,
}

impl Session {
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

/// All of them.
pub(super) struct SessionTable {
    sessions: Mutex<Sessions<Session>>,
    idle: Duration,
    swept: AtomicBool,
}

impl SessionTable {
    pub(super) fn new(max: usize, idle: Duration) -> Self {
        Self { sessions: Mutex::new(Sessions::new(max, idle)), idle, swept: AtomicBool::new(false) }
    }

    /// Opens a session: its id, or `None` if there is no room or no randomness.
    pub(super) fn open(self: &Arc<Self>, runtime: &Arc<dyn Runtime>, session: Session) -> Option<String> {
        let mut random = [0; ID_BYTES];
        if let Err(error) = getrandom::fill(&mut random) {
            tracing::error!(target: "trunkline", "no session can be opened, for the system gives no random bytes: {error}");
            return None;
        }
        self.sweep_from_now_on(runtime);
        let now = runtime.now();
        if !self.sessions.lock().has_room() {
            self.sweep(now);
        }
        let mut sessions = self.sessions.lock();
        sessions.has_room().then(|| sessions.insert(now, random, session))
    }

    /// The session of an id, if it is that principal's: for anyone else there is none (SEC-02, SEC-04).
    pub(super) fn touch(&self, runtime: &Arc<dyn Runtime>, id: &str, principal: Option<&str>) -> Option<Session> {
        let mut sessions = self.sessions.lock();
        sessions.get(id).filter(|session| session.owner.as_deref() == principal)?;
        sessions.touch(runtime.now(), id)
    }

    /// Takes a session out, if it is that principal's.
    pub(super) fn remove_of(&self, id: &str, principal: Option<&str>) -> Option<Session> {
        let mut sessions = self.sessions.lock();
        sessions.get(id).filter(|session| session.owner.as_deref() == principal)?;
        sessions.remove(id)
    }

    pub(super) fn remove(&self, id: &str) -> Option<Session> {
        self.sessions.lock().remove(id)
    }

    pub(super) fn drain(&self) -> Vec<Session> {
        self.sessions.lock().drain()
    }

    pub(super) fn all(&self) -> Vec<Session> {
        self.sessions.lock().all()
    }

    fn sweep(&self, now: std::time::Instant) {
        let expired = self.sessions.lock().expire(now, Session::is_busy);
        expired.iter().for_each(Session::end);
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
        self.sessions.remove(&self.id).iter().for_each(Session::end);
    }
}
