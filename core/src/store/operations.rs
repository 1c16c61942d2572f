//! The operations that each store has.

use super::StoreError;
use crate::boxed_task::BoxedTask;
use std::time::Duration;

/// Keeps texts by key, and logs, for a time.
///
/// Keys name one entry or one log each. They are printable ASCII of at most 512 bytes; entries are
/// texts, mostly JSON, and come back byte for byte. Several processes may use the same store at
/// once: [`Self::put_if`] and [`Self::append`] are atomic among all of them.
///
/// A call that was made may take effect, also where its future is dropped or fails. Futures may
/// take as long as the store needs: the library puts a deadline to each.
pub trait Store: Send + Sync + 'static {
    /// The text of a key. `None`: there is none, or its time is over.
    fn get(&self, key: &str) -> BoxedTask<Result<Option<String>, StoreError>>;

    /// Sets the text of a key for so long, whatever was there.
    fn put(&self, key: &str, text: &str, keep_for: Duration) -> BoxedTask<Result<(), StoreError>>;

    /// Sets the text of a key for so long, if the key still has the text `expected`, or if there is
    /// none where `expected` is `None`. Returns whether it did.
    fn put_if(
        &self,
        key: &str,
        expected: Option<&str>,
        text: &str,
        keep_for: Duration,
    ) -> BoxedTask<Result<bool, StoreError>>;

    /// Removes what is at a key, if there is anything: an entry, or a log as a whole.
    fn remove(&self, key: &str) -> BoxedTask<Result<(), StoreError>>;

    /// Adds an entry to the end of a log, which is made when it is needed. Returns its position.
    ///
    /// Positions of a log rise, with gaps, and none is given twice, also not after the log was
    /// removed. They are at least 1 and less than 2^53. Beyond `max_entries` the oldest entries go.
    /// A log goes as a whole when nothing was added to it for `keep_for`.
    fn append(
        &self,
        log: &str,
        entry: &str,
        max_entries: usize,
        keep_for: Duration,
    ) -> BoxedTask<Result<u64, StoreError>>;

    /// The oldest entries of a log after a position, and at most `limit` of them. Where there are
    /// none, waits for one for so long, then returns none.
    ///
    /// To see that no entry has gone since the one at `position`, read after `position - 1`: it is
    /// still the first then.
    fn read(&self, log: &str, after: u64, limit: usize, wait: Duration)
    -> BoxedTask<Result<Vec<LogEntry>, StoreError>>;
}

/// An entry of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The position in the log.
    pub position: u64,
    /// The text that was appended.
    pub text: String,
}
