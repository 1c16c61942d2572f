//! Replies that a thread of the host waits for.

use crate::{
    BridgeError,
    process::sync_primitives::{Condvar, Mutex},
};
use bytes::Bytes;
use std::time::{Duration, Instant};

/// The state of a reply that a thread waits for.
#[derive(Debug, Clone, PartialEq)]
pub enum Fetched {
    /// Neither a reply nor progress yet.
    Nothing,
    /// The latest progress: JSON, the params of its notification.
    Progress(Bytes),
    /// The outcome of the request or open, with the result as JSON. It can be fetched only once.
    Reply(Result<Bytes, BridgeError>),
}

/// Holds a reply that is fetched with `wait` or `fetch`.
#[derive(Default)]
pub(crate) struct ReplySlot {
    reply: Mutex<Option<Result<Bytes, BridgeError>>>,
    filled: Condvar,
    /// The latest progress that has not been fetched; only used by ports with a bell for threads.
    progress: Mutex<Option<Bytes>>,
}

impl ReplySlot {
    pub(crate) fn fill(&self, reply: Result<Bytes, BridgeError>) {
        *self.reply.lock() = Some(reply);
        self.filled.notify_all();
    }

    /// Replaces the progress that has not been fetched.
    pub(crate) fn put_progress(&self, body: Bytes) {
        *self.progress.lock() = Some(body);
    }

    pub(crate) fn take_progress(&self) -> Option<Bytes> {
        self.progress.lock().take()
    }

    pub(crate) fn wait(&self, wait: Duration) -> Option<Result<Bytes, BridgeError>> {
        let deadline = Instant::now() + wait;
        self.filled.wait_while_until(self.reply.lock(), deadline, |reply| reply.is_none()).take()
    }
}
