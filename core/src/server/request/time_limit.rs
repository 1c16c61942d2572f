//! The time limit of one run of a handler.

use crate::{
    race,
    runtime::{Promise, Runtime},
    server::handlers::Cancellation,
};
use std::{sync::Arc, time::Duration};

/// The time that a handler has. Its end cancels the handler alone, not what surrounds it.
pub(super) struct TimeLimit {
    pub(super) timeout: Duration,
    /// Raised with that of the request, or when the time is over.
    pub(super) cancellation: Cancellation,
    ended: Arc<Promise<()>>,
}

impl TimeLimit {
    pub(super) fn new(timeout: Duration) -> Self {
        Self { timeout, cancellation: Cancellation::default(), ended: Arc::default() }
    }

    /// Runs `expire` when the time is over, unless the handler has ended before.
    pub(super) fn start(
        &self,
        request: &Cancellation,
        runtime: &Arc<dyn Runtime>,
        expire: impl FnOnce() + Send + 'static,
    ) {
        let cancellation = self.cancellation.clone();
        request.on_cancel(Box::new(move |reason| cancellation.cancel(reason)));
        let (ended, end) = (Arc::clone(&self.ended), runtime.now().checked_add(self.timeout));
        // There is no end beyond all times.
        let Some(end) = end else { return };
        let sleep = runtime.sleep_until(end);
        runtime.spawn(Box::pin(async move {
            if race::unless(ended.kept(), sleep).await.is_some() {
                expire();
            }
        }));
    }

    /// Ends the wait: the handler is done.
    pub(super) fn end(&self) {
        self.ended.keep(());
    }
}
