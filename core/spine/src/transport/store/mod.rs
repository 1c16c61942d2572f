//! Stores selected by URL.

#[cfg(feature = "store-redis")]
mod redis;
#[cfg(feature = "store-redis")]
mod redis_listener;
#[cfg(all(test, target_os = "linux", feature = "store-redis"))]
mod redis_tests;
#[cfg(feature = "store-sqlite")]
mod sqlite;

#[cfg(not(all(feature = "store-sqlite", feature = "store-redis")))]
use crate::store::missing;
use crate::{
    runtime::Runtime,
    store::{ProcessStore, Store, StoreError, StoreGuard, StoreUrl, redacted},
};
use std::{sync::Arc, time::Duration};

/// Returns the store that a URL names: `memory:`, `sqlite:PATH`, `redis://…` or `rediss://…`.
/// `deadline` is the maximum duration of one call. Nothing is opened before the first call.
///
/// `sqlite:` needs the cargo feature `store-sqlite`, and `redis:` needs `store-redis`. Programs
/// that share a Redis database add `?namespace=NAME` to its URL to keep their keys separate.
///
/// ```
/// use std::time::Duration;
/// use trunkline::{
///     store::Store,
///     transport::{TokioRuntime, open_store},
/// };
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), trunkline::store::StoreError> {
/// let store = open_store("memory:", TokioRuntime::current(), Duration::from_secs(5))?;
/// store.put("greeting", "hello", Duration::from_secs(60)).await?;
/// assert_eq!(store.get("greeting").await?.as_deref(), Some("hello"));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If the URL has none of these forms, or its cargo feature is disabled.
pub fn open_store(url: &str, runtime: Arc<dyn Runtime>, deadline: Duration) -> Result<StoreGuard, StoreError> {
    let store = unguarded(url, &runtime, deadline)?;
    Ok(StoreGuard::new(store, &redacted(url), runtime, deadline))
}

/// The same without the guard that enforces the deadline.
// Without these features, only process memory is left, which needs no deadline.
#[cfg_attr(not(any(feature = "store-sqlite", feature = "store-redis")), allow(unused_variables))]
pub(super) fn unguarded(
    url: &str,
    runtime: &Arc<dyn Runtime>,
    deadline: Duration,
) -> Result<Arc<dyn Store>, StoreError> {
    Ok(match StoreUrl::parse(url)? {
        StoreUrl::Memory => Arc::new(ProcessStore::new(Arc::clone(runtime))),
        #[cfg(feature = "store-sqlite")]
        StoreUrl::Sqlite(path) => Arc::new(sqlite::SqliteStore::new(path, Arc::clone(runtime), deadline)),
        #[cfg(not(feature = "store-sqlite"))]
        StoreUrl::Sqlite(_) => return Err(missing(url, "store-sqlite")),
        #[cfg(feature = "store-redis")]
        StoreUrl::Redis { url, namespace } => {
            Arc::new(redis::RedisStore::new(&url, &namespace, Arc::clone(runtime), deadline)?)
        }
        #[cfg(not(feature = "store-redis"))]
        StoreUrl::Redis { .. } => return Err(missing(url, "store-redis")),
    })
}
