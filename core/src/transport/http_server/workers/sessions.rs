//! The records of sessions in the store.

use super::{process::Workers, store_keys, worker_notification::NotificationContent};
use crate::{
    http::sessions::UNUSED,
    server::{Connection, SharedState},
    store::{Store, StoreError, StoreErrorKind},
    sync::Mutex,
};
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Instant};

/// Steps of others that a change of a record gives way to.
const MAX_TRIES: usize = 100;

/// The record of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionRecord {
    /// The principal that opened it, where callers are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    /// The position of the log when it was opened: its stream begins there.
    opened: u64,
    state: SharedState,
}

/// A session that other processes serve too.
pub(in crate::transport::http_server) struct SharedSession {
    pub(super) workers: Arc<Workers>,
    pub(super) id: Arc<str>,
    /// The position in the log of all processes at which the stream of the session begins.
    pub(super) opened: u64,
    /// The record, as this process has seen it last. Held while it is changed.
    record: tokio::sync::Mutex<String>,
    renewed: Mutex<Instant>,
}

/// A session that the store knows.
pub(in crate::transport::http_server) struct FoundSession {
    owner: Option<Arc<str>>,
    text: String,
    record: SessionRecord,
}

impl FoundSession {
    pub(in crate::transport::http_server) fn owner(&self) -> Option<Arc<str>> {
        self.owner.clone()
    }
}

impl Workers {
    /// Keeps the record of a new session.
    ///
    /// # Errors
    /// Those of the store.
    pub(in crate::transport::http_server) async fn enter(
        self: &Arc<Self>,
        id: &str,
        owner: Option<&str>,
        connection: &Connection,
    ) -> Result<Option<Arc<SharedSession>>, StoreError> {
        let Some(state) = connection.shared_state() else { return Ok(None) };
        let opened = self.recent.position();
        let text = encoded(&SessionRecord { owner: owner.map(str::to_owned), opened, state });
        self.store.put(&store_keys::session(id), &text, UNUSED.min(self.idle)).await?;
        Ok(Some(self.shared(id, opened, text)))
    }

    fn shared(self: &Arc<Self>, id: &str, opened: u64, text: String) -> Arc<SharedSession> {
        Arc::new(SharedSession {
            workers: Arc::clone(self),
            id: id.into(),
            opened,
            record: tokio::sync::Mutex::new(text),
            renewed: Mutex::new(self.runtime.now()),
        })
    }

    /// The session of an id, if it is that principal's: for anyone else there is none (SEC-04).
    ///
    /// # Errors
    /// Those of the store.
    pub(in crate::transport::http_server) async fn find(
        &self,
        id: &str,
        principal: Option<&str>,
    ) -> Result<Option<FoundSession>, StoreError> {
        // Nothing that a client makes up is a key.
        let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        if !is_id {
            return Ok(None);
        }
        let Some(text) = self.store.get(&store_keys::session(id)).await? else { return Ok(None) };
        let record = self.read(&text)?;
        let owner: Option<Arc<str>> = record.owner.as_deref().map(Into::into);
        Ok((owner.as_deref() == principal).then_some(FoundSession { owner, text, record }))
    }

    fn read(&self, text: &str) -> Result<SessionRecord, StoreError> {
        serde_json::from_str(text).map_err(|problem| {
            StoreError::new(StoreErrorKind::Corrupt, self.store.name(), format!("a session: {problem}"))
        })
    }

    /// Makes a connection serve a session that was opened elsewhere.
    pub(in crate::transport::http_server) fn restore(
        self: &Arc<Self>,
        id: &str,
        found: FoundSession,
        connection: &Arc<Connection>,
    ) -> Arc<SharedSession> {
        connection.restore(&found.record.state);
        connection.share(&self.prefix_of_ids());
        self.shared(id, found.record.opened, found.text)
    }

    /// Lets a connection tell the others of its session.
    pub(in crate::transport::http_server) fn share(&self, connection: &Connection) {
        connection.share(&self.prefix_of_ids());
    }

    /// Ends a session everywhere. `false`: there is none of that principal.
    ///
    /// # Errors
    /// Those of the store.
    pub(in crate::transport::http_server) async fn end(
        &self,
        id: &str,
        principal: Option<&str>,
    ) -> Result<bool, StoreError> {
        if self.find(id, principal).await?.is_none() {
            return Ok(false);
        }
        self.store.remove(&store_keys::session(id)).await?;
        self.store.remove(&store_keys::read_up_to(id)).await?;
        self.store.remove(&store_keys::events(id)).await?;
        self.publish_and_wait(store_keys::MESSAGES, NotificationContent::SessionEnded { session: id.to_owned() })
            .await?;
        Ok(true)
    }
}

impl SharedSession {
    /// Keeps the changes that requests of this process have made, and tells the others. When this
    /// returns, also those of requests that ran beside are kept.
    ///
    /// # Errors
    /// Those of the store, or the session has ended. Then the changes are kept with the next ones.
    pub(in crate::transport::http_server) async fn save(&self, connection: &Connection) -> Result<(), StoreError> {
        let mut text = self.record.lock().await;
        let changes = connection.take_changes();
        if changes.is_empty() {
            return Ok(());
        }
        let saved = self.change(&mut text, |record| changes.iter().for_each(|change| record.state.apply(change))).await;
        if let Err(error) = saved {
            connection.return_changes(changes);
            return Err(error);
        }
        // In one order with the changes that it decides about.
        let content = NotificationContent::SessionChanged { session: self.id.to_string(), changes };
        self.workers.publish_and_wait(store_keys::NOTIFICATIONS, content).await.map(drop)
    }

    /// Changes the record, whatever others do meanwhile.
    async fn change(&self, text: &mut String, change: impl Fn(&mut SessionRecord)) -> Result<(), StoreError> {
        let key = store_keys::session(&self.id);
        let Workers { store, idle, .. } = &*self.workers;
        for _ in 0..MAX_TRIES {
            let mut record = self.workers.read(text)?;
            change(&mut record);
            let next = encoded(&record);
            if store.put_if(&key, Some(text), &next, *idle).await? {
                *text = next;
                return Ok(());
            }
            let now = store.get(&key).await?;
            *text =
                now.ok_or_else(|| StoreError::new(StoreErrorKind::Invalid, store.name(), "the session has ended"))?;
        }
        Err(StoreError::new(StoreErrorKind::Unavailable, store.name(), "too many concurrent changes to one session"))
    }

    /// Keeps the record for longer, once in a while: the session is used.
    pub(in crate::transport::http_server) fn renew(self: &Arc<Self>) {
        {
            let (now, mut renewed) = (self.workers.runtime.now(), self.renewed.lock());
            let pace = (self.workers.idle / 4).min(UNUSED / 4);
            if now.saturating_duration_since(*renewed) < pace {
                return;
            }
            *renewed = now;
        }
        let shared = Arc::clone(self);
        self.workers.runtime.spawn(Box::pin(async move {
            let mut text = shared.record.lock().await;
            if let Err(error) = shared.change(&mut text, |_| {}).await {
                tracing::debug!(target: "trunkline::server::session", %error, "could not renew a session");
            }
        }));
    }

    /// Takes over what has changed since the record was read. `false`: the session has ended.
    ///
    /// # Errors
    /// Those of the store.
    pub(in crate::transport::http_server) async fn catch_up(
        &self,
        connection: &Arc<Connection>,
    ) -> Result<bool, StoreError> {
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
