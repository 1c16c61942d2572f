//! Credentials in a store given by its URL.

use crate::{
    auth::{AuthError, StoreLock, TokenStore, sha256},
    on_drop::OnDrop,
    random,
    runtime::BoxedTask,
    store::{Store, StoreError, StoreGuard, StoreTask},
    transport::{TokioRuntime, store::open_store},
};
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::runtime::Handle;

/// How long one call to the store may take.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// Credentials not written for this long are removed; their grants have expired.
const RETENTION: Duration = Duration::from_secs(365 * 24 * 3600);
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// When the lock of a login expires if its process is killed.
const LOGIN_LOCK_EXPIRY: Duration = Duration::from_secs(15);

/// Stores credentials in a SQLite file or in Redis. Processes that use the same store share them:
/// one process renews a token and the others pick it up. They are not encrypted.
#[derive(Clone)]
pub(super) struct StoredCredentials {
    url: String,
    /// How long a lock is held at most, in case a process is killed: longer than a token renewal
    /// takes.
    locked_for: Duration,
    /// Opened by the first call, which runs inside a runtime.
    opened: Arc<OnceLock<Result<StoreGuard, StoreError>>>,
}

impl StoredCredentials {
    pub(super) fn new(url: &str, locked_for: Duration) -> Self {
        Self { url: url.to_owned(), locked_for, opened: Arc::default() }
    }

    /// Runs work on the open store, with the key of an item. Credential keys are URLs of any length
    /// and content, so they are hashed.
    fn run<T: Send + 'static>(
        &self,
        kind: &str,
        key: &str,
        work: impl FnOnce(StoreGuard, String) -> StoreTask<T> + Send + 'static,
    ) -> BoxedTask<Result<T, AuthError>> {
        let key = format!("{kind}/{}", sha256(key.as_bytes()));
        let this = self.clone();
        Box::pin(async move {
            let opened = this.opened.get_or_init(|| open_store(&this.url, TokioRuntime::current(), CALL_TIMEOUT));
            let store = opened.clone().map_err(failed)?;
            work(store, key).await.map_err(failed)
        })
    }

    /// Locks a key, and extends the lock until it is dropped. If the process is killed, the lock
    /// expires.
    fn locked(&self, key: &str, expiry: Duration, limit: Duration) -> BoxedTask<Result<StoreLock, AuthError>> {
        let Some(owner) = random::unguessable() else {
            return Box::pin(async { Err(AuthError("Could not get random bytes from the system".to_owned())) });
        };
        let locked = self.run("credentials-lock", key, move |store, key| {
            Box::pin(async move {
                // Wait until another process releases its lock, or the lock expires.
                while !store.put_if(&key, None, &owner, expiry).await? {
                    tokio::time::sleep(LOCK_POLL_INTERVAL).await;
                }
                let runtime = Handle::current();
                let extending = runtime.spawn({
                    let (store, key, owner) = (store.clone(), key.clone(), owner.clone());
                    async move {
                        loop {
                            tokio::time::sleep(expiry / 3).await;
                            let extended = store.put_if(&key, Some(&owner), &owner, expiry).await;
                            if matches!(extended, Ok(false)) {
                                return;
                            }
                        }
                    }
                });
                // Releases the lock, unless it has expired and belongs to another process.
                let release = move || {
                    extending.abort();
                    drop(runtime.spawn(store.put_if(&key, Some(&owner), "", Duration::ZERO)));
                };
                Ok(OnDrop::new(release))
            })
        });
        Box::pin(async move {
            let waited = tokio::time::timeout(limit, locked).await;
            let held =
                waited.map_err(|_| AuthError("Credentials: other processes kept them locked for too long".into()))?;
            Ok(StoreLock::new(held?))
        })
    }
}

fn failed(error: StoreError) -> AuthError {
    AuthError(format!("Credentials: {error}"))
}

impl TokenStore for StoredCredentials {
    fn get(&self, key: &str) -> BoxedTask<Result<Option<String>, AuthError>> {
        self.run("credentials", key, |store, key| store.get(&key))
    }

    fn set(&self, key: &str, value: &str) -> BoxedTask<Result<(), AuthError>> {
        let value = value.to_owned();
        self.run("credentials", key, move |store, key| store.put(&key, &value, RETENTION))
    }

    fn remove(&self, key: &str) -> BoxedTask<Result<(), AuthError>> {
        self.run("credentials", key, |store, key| store.remove(&key))
    }

    fn lock(&self, key: &str) -> BoxedTask<Result<StoreLock, AuthError>> {
        self.locked(key, self.locked_for, 2 * self.locked_for)
    }

    fn lock_for_login(&self, key: &str, limit: Duration) -> BoxedTask<Result<StoreLock, AuthError>> {
        self.locked(key, LOGIN_LOCK_EXPIRY, limit)
    }
}

#[cfg(all(test, feature = "store-sqlite"))]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A test's file, removed on drop.
    struct Database(PathBuf);

    impl Database {
        fn new() -> Self {
            Self(std::env::temp_dir().join(format!("trunkline-credentials-{}.db", random::unguessable().unwrap())))
        }

        fn credentials(&self) -> StoredCredentials {
            StoredCredentials::new(&format!("sqlite:{}", self.0.display()), Duration::from_secs(30))
        }
    }

    impl Drop for Database {
        fn drop(&mut self) {
            for ending in ["", "-wal", "-shm"] {
                let _ = std::fs::remove_file(format!("{}{ending}", self.0.display()));
            }
        }
    }

    #[tokio::test]
    async fn auc_23_credentials_are_kept_by_server_for_other_processes() {
        let database = Database::new();
        let (one, other) = (database.credentials(), database.credentials());
        let key = "https://a.example/ä b?c=d|https://mcp.example";
        assert_eq!(one.get(key).await.unwrap(), None);
        one.set(key, "token").await.unwrap();
        assert_eq!(other.get(key).await.unwrap().as_deref(), Some("token"));
        assert_eq!(other.get("https://b.example").await.unwrap(), None);
        other.remove(key).await.unwrap();
        assert_eq!(one.get(key).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_lock_is_held_by_one_process_until_it_is_dropped() {
        let database = Database::new();
        let (one, other) = (database.credentials(), database.credentials());
        let held = one.lock("a").await.unwrap();
        let _independent = other.lock("b").await.unwrap();
        let mut waiting = other.lock("a");
        assert!(tokio::time::timeout(Duration::from_millis(300), &mut waiting).await.is_err());
        drop(held);
        tokio::time::timeout(Duration::from_secs(30), waiting).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_lock_is_extended_while_it_is_held() {
        let database = Database::new();
        let (one, other) = (database.credentials(), database.credentials());
        let expiry = Duration::from_secs(5);
        let held = one.locked("a", expiry, Duration::from_secs(30)).await.unwrap();
        assert!(other.locked("a", expiry, expiry + expiry / 3).await.is_err(), "the lock has expired");
        drop(held);
        other.locked("a", expiry, Duration::from_secs(30)).await.unwrap();
    }

    #[tokio::test]
    async fn a_store_that_fails_is_named_without_its_password() {
        let lost = StoredCredentials::new("redis://:secret@127.0.0.1:1/0?namespace=x:y", Duration::from_secs(30));
        let error = lost.get("a").await.unwrap_err().0;
        assert!(error.starts_with("Credentials: The store redis://127.0.0.1:1/0 cannot be used this way"), "{error}");
    }
}
