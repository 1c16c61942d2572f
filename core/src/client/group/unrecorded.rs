//! A runtime for conversations that never leave the process.

use crate::{
    runtime::{BoxedTask, Runtime, Terminal},
    store::{Store, StoreError},
    wire_log::WireLog,
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// A runtime without a wire log, because messages between a client and its group never leave the
/// process. The connections to the servers log theirs.
pub(super) struct Unrecorded(pub(super) Arc<dyn Runtime>);

impl Runtime for Unrecorded {
    fn spawn(&self, task: BoxedTask) {
        self.0.spawn(task);
    }

    fn run_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        self.0.run_blocking(work);
    }

    fn now(&self) -> Instant {
        self.0.now()
    }

    fn unix_time(&self) -> Duration {
        self.0.unix_time()
    }

    fn sleep_until(&self, at: Instant) -> BoxedTask {
        self.0.sleep_until(at)
    }

    fn wire_log(&self) -> Option<&dyn WireLog> {
        None
    }

    fn open_store(&self, url: &str, deadline: Duration) -> Result<Arc<dyn Store>, StoreError> {
        self.0.open_store(url, deadline)
    }

    fn terminal(&self) -> Option<Arc<dyn Terminal>> {
        self.0.terminal()
    }
}
