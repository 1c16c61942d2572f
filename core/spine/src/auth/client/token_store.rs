//! Storage of registrations and tokens.

use super::turn::TurnsByKey;
use crate::{client_auth::AuthError, runtime::BoxedTask, sync::Mutex};
use serde::{Serialize, de::DeserializeOwned};
use std::{any::Any, collections::HashMap, future::ready, sync::Arc, time::Duration};

/// Stores secrets by key. There is no required lifetime. Keys name an authorization server and a
/// resource; values are JSON.
///
/// A store on disk must be readable only by its user.
pub trait TokenStore: Send + Sync + 'static {
    /// Returns the value of a key.
    fn get(&self, key: &str) -> BoxedTask<Result<Option<String>, AuthError>>;
    /// Sets the value of a key.
    fn set(&self, key: &str, value: &str) -> BoxedTask<Result<(), AuthError>>;
    /// Removes a key if it exists.
    fn remove(&self, key: &str) -> BoxedTask<Result<(), AuthError>>;
    /// Waits until nobody else is refreshing this key, storing a login under it, or registering the
    /// client that it names. Dropping the lock releases it. A store that is private to one process
    /// needs no locks: within a process, only one task at a time uses a refresh token; but without
    /// them, logins at the same time may each register the client.
    fn lock(&self, key: &str) -> BoxedTask<Result<StoreLock, AuthError>> {
        let _ = key;
        Box::pin(ready(Ok(StoreLock::default())))
    }
    /// Waits until no other process lets the user log in for this key, at most for the time limit.
    /// The lock is held while the user logs in, and must not outlive its process.
    fn lock_for_login(&self, key: &str, limit: Duration) -> BoxedTask<Result<StoreLock, AuthError>> {
        let _ = limit;
        self.lock(key)
    }
}

/// The lock of a key, released on drop.
#[derive(Default)]
pub struct StoreLock {
    _held: Option<Box<dyn Any + Send>>,
}

impl StoreLock {
    /// Creates a lock that is released by dropping this value.
    pub fn new(held: impl Any + Send) -> Self {
        Self { _held: Some(Box::new(held)) }
    }
}

/// Stores everything in memory, until the program exits.
#[derive(Clone, Default)]
pub struct MemoryStore {
    values: Arc<Mutex<HashMap<String, String>>>,
    turns: Arc<TurnsByKey>,
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl TokenStore for MemoryStore {
    fn get(&self, key: &str) -> BoxedTask<Result<Option<String>, AuthError>> {
        Box::pin(ready(Ok(self.values.lock().get(key).cloned())))
    }

    fn set(&self, key: &str, value: &str) -> BoxedTask<Result<(), AuthError>> {
        self.values.lock().insert(key.to_owned(), value.to_owned());
        Box::pin(ready(Ok(())))
    }

    fn remove(&self, key: &str) -> BoxedTask<Result<(), AuthError>> {
        self.values.lock().remove(key);
        Box::pin(ready(Ok(())))
    }

    fn lock(&self, key: &str) -> BoxedTask<Result<StoreLock, AuthError>> {
        let turns = self.turns.of(key);
        Box::pin(async move { Ok(StoreLock::new(turns.take().await)) })
    }
}

/// Reads a value. One that cannot be parsed counts as missing.
pub(super) async fn read<T: DeserializeOwned>(store: &dyn TokenStore, key: &str) -> Result<Option<T>, AuthError> {
    let text = store.get(key).await?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

pub(super) async fn write(store: &dyn TokenStore, key: &str, value: &impl Serialize) -> Result<(), AuthError> {
    let text = serde_json::to_string(value).map_err(|error| AuthError(error.to_string()))?;
    store.set(key, &text).await
}
