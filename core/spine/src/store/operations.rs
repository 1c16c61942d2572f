//! The store trait.

use super::StoreError;
use crate::boxed_task::BoxedTask;
use std::time::Duration;

/// Maximum number of bytes that a store in a file or database reads at a time. Larger items were
/// not written by this library, unless the program allows larger task results.
#[cfg(any(feature = "store-sqlite", feature = "store-redis"))]
pub(crate) const MAX_READ: usize = 65 << 20;

/// The future of a store call.
pub type StoreTask<T = ()> = BoxedTask<Result<T, StoreError>>;

/// Strings by key, and logs, each with an expiry.
///
/// A key names either an entry or a log. Keys are printable ASCII of at most 512 bytes. Values are
/// strings, usually JSON, and are returned byte for byte. Several processes may share a store:
/// [`Self::put_if`] and [`Self::append`] are atomic across all of them.
///
/// A call may take effect even if its future is dropped or fails. Implementations need no timeouts:
/// the library adds a deadline to each call.
pub trait Store: Send + Sync + 'static {
    /// Returns the value of a key, or `None` if it does not exist or has expired.
    fn get(&self, key: &str) -> StoreTask<Option<String>>;

    /// Sets the value of a key, replacing any previous one. It expires after `keep_for`.
    fn put(&self, key: &str, text: &str, keep_for: Duration) -> StoreTask;

    /// Sets the value of a key if its current value is `expected` (`None`: the key does not exist).
    /// Returns whether it was set.
    fn put_if(&self, key: &str, expected: Option<&str>, text: &str, keep_for: Duration) -> StoreTask<bool>;

    /// Removes an entry or a whole log. Does nothing if the key does not exist.
    fn remove(&self, key: &str) -> StoreTask;

    /// Appends an entry to a log, creating it if needed. Returns the position of the entry.
    ///
    /// Positions increase, possibly with gaps, and are never reused, even after the log was
    /// removed. They are at least 1 and less than 2^53. Beyond `max_entries`, the oldest entries
    /// are dropped. A log expires as a whole when nothing has been appended for `keep_for`.
    fn append(&self, log: &str, entry: &str, max_entries: usize, keep_for: Duration) -> StoreTask<u64>;

    /// Returns the oldest entries after a position, at most `limit` of them. If there are none,
    /// waits up to `wait` for one.
    ///
    /// To check that no entry has been dropped since the one at `position`, read after `position -
    /// 1`: the first entry returned must be the one at `position`.
    fn read(&self, log: &str, after: u64, limit: usize, wait: Duration) -> StoreTask<Vec<LogEntry>>;
}

/// A log entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// Its position in the log.
    pub position: u64,
    /// The appended string.
    pub text: String,
}
