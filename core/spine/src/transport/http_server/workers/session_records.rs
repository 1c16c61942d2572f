//! The records of sessions in the store.

use super::{process::Workers, store_keys, worker_notification::NotificationContent};
use crate::{
    engine::later,
    http::sessions::UNUSED_SESSION_TTL,
    on_drop::OnDrop,
    server::{Connection, SharedState},
    store::{Store, StoreError, StoreErrorKind},
    sync::Mutex,
};
use serde::{Deserialize, Serialize};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Maximum number of retries if other processes change a record at the same time.
const MAX_TRIES: usize = 100;

/// A record above this size is written with a delay, at this many bytes per millisecond: its client
/// can make it large, and then change it with each request.
const LARGE_RECORD: usize = 64 << 10;
const WRITE_BYTES_PER_MS: usize = 16 << 10;

/// The record of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionRecord {
    /// The principal that opened it, if callers are authenticated.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    /// The position of the log when the session was opened, where its stream starts.
    opened: u64,
    state: SharedState,
}

/// A session that other processes can serve, too.
pub(crate) struct SharedSession {
    pub(crate) workers: Arc<Workers>,
    pub(crate) id: Arc<str>,
    /// The position in the shared log where the stream of the session starts.
    pub(super) opened: u64,
    /// The record as last seen by this process. Locked while it is changed.
    record: tokio::sync::Mutex<String>,
    /// When this process last extended the record's lifetime.
    renewed: Mutex<Option<Instant>>,
}

/// A session found in the store.
pub(crate) struct FoundSession {
    text: String,
    record: SessionRecord,
}

impl Workers {
    /// Stores the record of a new session.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) async fn enter(
        self: &Arc<Self>,
        id: &str,
        owner: Option<&str>,
        connection: &Connection,
    ) -> Result<Option<Arc<SharedSession>>, StoreError> {
        let Some(state) = connection.shared_state() else { return Ok(None) };
        let opened = self.recent.position();
        let text = encoded(&SessionRecord { owner: owner.map(str::to_owned), opened, state });
        self.store.put(&store_keys::session(id), &text, UNUSED_SESSION_TTL.min(self.idle)).await?;
        Ok(Some(self.shared(id, opened, text, Some(self.runtime.now()))))
    }

    fn shared(self: &Arc<Self>, id: &str, opened: u64, text: String, renewed: Option<Instant>) -> Arc<SharedSession> {
        Arc::new(SharedSession {
            workers: Arc::clone(self),
            id: id.into(),
            opened,
            record: tokio::sync::Mutex::new(text),
            renewed: Mutex::new(renewed),
        })
    }

    /// Finds a session by id. Sessions of other principals are not found (SEC-04).
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) async fn find(&self, id: &str, principal: Option<&str>) -> Result<Option<FoundSession>, StoreError> {
        // Never use an arbitrary string of a client as a key.
        let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        if !is_id {
            return Ok(None);
        }
        let Some(text) = self.store.get(&store_keys::session(id)).await? else { return Ok(None) };
        let record = self.read(&text)?;
        Ok((record.owner.as_deref() == principal).then_some(FoundSession { text, record }))
    }

    fn read(&self, text: &str) -> Result<SessionRecord, StoreError> {
        serde_json::from_str(text).map_err(|problem| {
            StoreError::new(StoreErrorKind::Corrupt, self.store.name(), format!("a session: {problem}"))
        })
    }

    /// Restores a session that was opened elsewhere into a connection.
    pub(crate) fn restore(
        self: &Arc<Self>,
        id: &str,
        found: FoundSession,
        connection: &Arc<Connection>,
    ) -> Arc<SharedSession> {
        connection.restore(&found.record.state);
        connection.share(&self.prefix_of_ids());
        self.shared(id, found.record.opened, found.text, None)
    }

    /// Ends a session everywhere. Returns `false` if the principal has no such session.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) async fn end(&self, id: &str, principal: Option<&str>) -> Result<bool, StoreError> {
        if self.find(id, principal).await?.is_none() {
            return Ok(false);
        }
        self.store.remove(&store_keys::session(id)).await?;
        // At once: without its record, a client that left, or a store that fails now, could not end
        // it at the processes that serve it.
        let ended = NotificationContent::SessionEnded { session: id.to_owned() };
        self.apply(self.number, &ended);
        self.publish(store_keys::MESSAGES, Some(id.into()), ended);
        // If this fails, they expire.
        let _ = self.store.remove(&store_keys::read_up_to(id)).await;
        let _ = self.store.remove(&store_keys::events(id)).await;
        Ok(true)
    }

    /// Ends the tasks here of sessions that this process no longer serves and that have ended
    /// since.
    pub(crate) fn end_lost_tasks(self: &Arc<Self>) {
        let left = std::mem::take(&mut *self.left.lock());
        for id in self.server.sessions_with_tasks(&left) {
            let this = Arc::clone(self);
            self.runtime.spawn(Box::pin(async move {
                let _permit = this.of_sweeps.acquire().await;
                match this.store.get(&store_keys::session(&id)).await {
                    Ok(None) => this.server.end_tasks_of_session(&id),
                    // Looked up again with the next sweep, also if the store fails.
                    _ => drop(this.left.lock().insert(id)),
                }
            }));
        }
    }
}

impl SharedSession {
    /// Stores the changes made by requests of this process and announces them. When it returns, the
    /// changes of concurrent requests are stored, too. Returns `false` if the session has ended.
    ///
    /// # Errors
    /// If the store fails. The changes are then stored with the next ones, as they are if the
    /// client of the request disconnects.
    pub(crate) async fn save(&self, connection: &Connection) -> Result<bool, StoreError> {
        let mut text = self.record.lock().await;
        let changes = connection.take_changes();
        if changes.is_empty() {
            return Ok(true);
        }
        let unsaved = changes.clone();
        let unless_announced = OnDrop::new(|| connection.return_changes(unsaved));
        if !self.change(&mut text, |record| changes.iter().for_each(|change| record.state.apply(change))).await? {
            return Ok(false);
        }
        // Through the shared log, ordered with the notifications that it affects.
        let content = NotificationContent::SessionChanged { session: self.id.to_string(), changes };
        self.workers.publish_and_wait(store_keys::NOTIFICATIONS, content).await?;
        unless_announced.disarm();
        Ok(true)
    }

    /// Changes the record, retrying if another process changed it. Returns `false` if the session
    /// has ended.
    async fn change(&self, text: &mut String, change: impl Fn(&mut SessionRecord)) -> Result<bool, StoreError> {
        let key = store_keys::session(&self.id);
        let Workers { store, idle, runtime, .. } = &*self.workers;
        for _ in 0..MAX_TRIES {
            if text.len() > LARGE_RECORD {
                let pause = Duration::from_millis((text.len() / WRITE_BYTES_PER_MS) as u64);
                runtime.sleep_until(later(runtime.now(), pause)).await;
            }
            let mut record = self.workers.read(text)?;
            change(&mut record);
            let next = encoded(&record);
            if store.put_if(&key, Some(text), &next, *idle).await? {
                *text = next;
                return Ok(true);
            }
            let Some(now) = store.get(&key).await? else { return Ok(false) };
            *text = now;
        }
        Err(StoreError::new(StoreErrorKind::Unavailable, store.name(), "too many concurrent changes to one session"))
    }

    /// Extends the session's lifetime in the store from time to time while it is used. If there is
    /// no record any more, the session has ended.
    pub(crate) fn renew(self: &Arc<Self>) {
        {
            let (now, mut renewed) = (self.workers.runtime.now(), self.renewed.lock());
            let pace = (self.workers.idle / 4).min(UNUSED_SESSION_TTL / 4);
            if renewed.is_some_and(|renewed| now.saturating_duration_since(renewed) < pace) {
                return;
            }
            *renewed = Some(now);
        }
        let shared = Arc::clone(self);
        self.workers.runtime.spawn(Box::pin(async move {
            let _permit = shared.workers.of_sweeps.acquire().await;
            match shared.extend().await {
                Ok(true) => {}
                Ok(false) => {
                    let ended = NotificationContent::SessionEnded { session: shared.id.to_string() };
                    shared.workers.apply(shared.workers.number, &ended);
                }
                Err(error) => {
                    tracing::debug!(target: "trunkline::server::session", %error, "could not renew a session");
                }
            }
        }));
    }

    /// Extends the lifetime of the record, and of the position up to which its client has read.
    /// Returns `false` if the session has ended.
    async fn extend(&self) -> Result<bool, StoreError> {
        if !self.change(&mut *self.record.lock().await, |_| {}).await? {
            return Ok(false);
        }
        let Workers { store, idle, .. } = &*self.workers;
        let key = store_keys::read_up_to(&self.id);
        if let Some(read) = store.get(&key).await? {
            // If it has changed meanwhile, it has just been saved.
            store.put_if(&key, Some(&read), &read, *idle).await?;
        }
        Ok(true)
    }

    /// Called when this process no longer serves the session, which may live on.
    pub(crate) fn left(&self) {
        self.workers.left.lock().insert(Arc::clone(&self.id));
    }

    /// Applies changes made since the record was read. Returns `false` if the session has ended.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) async fn catch_up(&self, connection: &Arc<Connection>) -> Result<bool, StoreError> {
        let mut text = self.record.lock().await;
        let Some(now) = self.workers.store.get(&store_keys::session(&self.id)).await? else { return Ok(false) };
        if now != *text {
            connection.restore(&self.workers.read(&now)?.state);
            *text = now;
        }
        Ok(true)
    }
}

fn encoded(record: &SessionRecord) -> String {
    serde_json::to_string(record).unwrap_or_default()
}
