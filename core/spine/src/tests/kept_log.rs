//! A subscriber that captures the log, for tests.

use crate::{log_text::LogText, sync::Mutex};
use std::sync::{Arc, LazyLock};
use tracing::{Dispatch, Event, Metadata, Subscriber, span};

/// Captures the log of `trunkline`.
#[derive(Clone)]
pub(crate) struct KeptLog(Arc<Mutex<Vec<String>>>);

impl Default for KeptLog {
    fn default() -> Self {
        // With a single dispatcher, `tracing` takes the interest in a callsite from the first
        // thread that reaches it, which may belong to another test.
        static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(KeptLog(Arc::default())));
        LazyLock::force(&SECOND);
        Self(Arc::default())
    }
}

impl KeptLog {
    /// Takes the messages captured so far.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }
}

impl Subscriber for KeptLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("trunkline")
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = LogText::default();
        event.record(&mut text);
        self.0.lock().push(text.to_string());
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}
