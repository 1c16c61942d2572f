//! The time limit of one run of a handler.

use crate::{
    race,
    runtime::{Promise, Runtime},
    server::handlers::Cancellation,
};
use std::{sync::Arc, time::Duration};

/// A handler's time limit. When it is exceeded, only the handler is cancelled, not the request
/// around it.
pub(super) struct TimeLimit {
    pub(super) timeout: Duration,
    /// Cancelled with the request or on timeout.
    pub(super) cancellation: Cancellation,
    ended: Arc<Promise<()>>,
}

impl TimeLimit {
    pub(super) fn new(timeout: Duration) -> Self {
        Self { timeout, cancellation: Cancellation::default(), ended: Arc::default() }
    }

    /// Calls `expire` on timeout, unless the handler has ended.
    pub(super) fn start(
        &self,
        request: &Cancellation,
        runtime: &Arc<dyn Runtime>,
        expire: impl FnOnce() + Send + 'static,
    ) {
        let cancellation = self.cancellation.clone();
        request.on_cancel(Box::new(move |reason| cancellation.cancel(reason)));
        let (ended, end) = (Arc::clone(&self.ended), runtime.now().checked_add(self.timeout));
        // The time limit is too large to ever be reached.
        let Some(end) = end else { return };
        let sleep = runtime.sleep_until(end);
        runtime.spawn(Box::pin(async move {
            if race::unless(ended.kept(), sleep).await.is_some() {
                expire();
            }
        }));
    }

    /// Called when the handler is done.
    pub(super) fn end(&self) {
        self.ended.keep(());
    }
}
