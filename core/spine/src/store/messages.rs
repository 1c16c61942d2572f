//! Messages between workers, in logs of a store.

use super::{LogEntry, Store, StoreError, StoreErrorKind, StoreGuard, circuit_breaker::BACKOFF};
use crate::{engine::later, random};
use std::{
    sync::{Arc, Weak},
    time::Duration,
};

/// A read of a followed log waits this long for an entry, and returns at most this many.
const READ_TIMEOUT: Duration = Duration::from_secs(20);
const BATCH_SIZE: usize = 256;
/// Maximum number of messages in a log between workers.
const MAX_MESSAGES: usize = 10_000;
/// A longer message is stored outside of its log, where it is kept only briefly: a worker reads
/// within a second.
const MAX_INLINE_BYTES: usize = 4 << 10;
const LONG_MESSAGE_RETENTION: Duration = Duration::from_secs(60);
/// Marks an entry that names the key of its message. Messages are JSON objects.
const KEY_PREFIX: char = '@';

/// A log of messages that is read continuously.
pub(crate) struct FollowedLog {
    key: String,
    is_only_reader: bool,
}

impl FollowedLog {
    /// A log that no other worker reads.
    pub(crate) fn own(key: String) -> Self {
        Self { key, is_only_reader: true }
    }

    /// A log that all workers read.
    pub(crate) fn shared(key: &str) -> Self {
        Self { key: key.to_owned(), is_only_reader: false }
    }
}

impl StoreGuard {
    /// Appends a message between workers to a log of at most 10,000. A long one gets a key of its
    /// own, so that it does not push out others that have not been read.
    pub(crate) async fn send(&self, log: &str, text: &str, keep_for: Duration) -> Result<u64, StoreError> {
        if text.len() <= MAX_INLINE_BYTES {
            return self.append(log, text, MAX_MESSAGES, keep_for).await;
        }
        let number = random::unguessable().ok_or_else(|| {
            StoreError::new(StoreErrorKind::Unavailable, self.name(), "the system has no random numbers")
        })?;
        let key = format!("{log}/{number}");
        self.put(&key, text, LONG_MESSAGE_RETENTION).await?;
        self.append(log, &format!("{KEY_PREFIX}{key}"), MAX_MESSAGES, keep_for).await
    }

    /// The message of an entry. Returns `None` if it has expired.
    pub(crate) async fn message(&self, entry: LogEntry) -> Result<Option<LogEntry>, StoreError> {
        let Some(key) = entry.text.strip_prefix(KEY_PREFIX) else { return Ok(Some(entry)) };
        Ok(self.get(key).await?.map(|text| LogEntry { text, ..entry }))
    }

    /// Passes the messages of a log after a position to `take`, for as long as `owner` lives.
    pub(crate) fn follow<T>(&self, log: FollowedLog, mut after: u64, owner: Weak<T>, take: fn(&Arc<T>, &LogEntry))
    where
        T: Send + Sync + 'static,
    {
        let store = self.clone();
        self.runtime.spawn(Box::pin(async move {
            while owner.strong_count() > 0 {
                let read = store.read(&log.key, after, BATCH_SIZE, READ_TIMEOUT).await;
                let mut is_away = read.is_err();
                for entry in read.unwrap_or_default() {
                    let position = entry.position;
                    let key = entry.text.strip_prefix(KEY_PREFIX).filter(|_| log.is_only_reader).map(str::to_owned);
                    let message = store.message(entry).await;
                    let Some(owner) = owner.upgrade() else { return };
                    match message {
                        Ok(Some(message)) => take(&owner, &message),
                        // Continue from the same position, so that nothing is missed.
                        Err(error) if error.kind == StoreErrorKind::Unavailable => {
                            is_away = true;
                            break;
                        }
                        Ok(None) | Err(_) => {
                            tracing::error!(target: "trunkline::store", log = log.key, "a message between workers was lost");
                        }
                    }
                    after = position;
                    if let Some(key) = key {
                        // If this fails, it expires soon.
                        let _ = store.remove(&key).await;
                    }
                }
                if is_away {
                    store.runtime.sleep_until(later(store.runtime.now(), BACKOFF.first)).await;
                }
            }
        }));
    }
}

#[cfg(all(test, feature = "tokio"))]
mod tests {
    use super::*;
    use crate::{store::ProcessStore, sync::Mutex, transport::TokioRuntime};

    const MINUTE: Duration = Duration::from_secs(60);

    /// Long messages of one client, sent before the worker reads, push out no messages of others.
    #[tokio::test]
    async fn every_message_is_read_however_long_others_are() {
        let runtime = TokioRuntime::current();
        let store = Arc::new(ProcessStore::new(Arc::clone(&runtime)));
        let guard = StoreGuard::new(store, "test:", runtime, MINUTE);
        let long = "x".repeat(4 << 20);
        let sent: Vec<&str> = (0..60).map(|number| if number % 6 == 5 { long.as_str() } else { "short" }).collect();
        for text in &sent {
            guard.send("log", text, MINUTE).await.unwrap();
        }
        let entries = guard.read("log", 0, BATCH_SIZE, Duration::ZERO).await.unwrap();
        let key = entries[5].text.strip_prefix(KEY_PREFIX).unwrap().to_owned();
        for (log, is_left) in [(FollowedLog::shared("log"), true), (FollowedLog::own("log".to_owned()), false)] {
            let read = Arc::new(Mutex::new(Vec::new()));
            let take = |read: &Arc<Mutex<Vec<usize>>>, entry: &LogEntry| read.lock().push(entry.text.len());
            guard.follow(log, 0, Arc::downgrade(&read), take);
            while read.lock().len() < sent.len() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            assert_eq!(*read.lock(), sent.iter().map(|text| text.len()).collect::<Vec<_>>());
            // The last one was removed after it was read.
            while guard.get(&key).await.unwrap().is_some() != is_left {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }
}
