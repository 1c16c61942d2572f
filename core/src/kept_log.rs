//! A subscriber that keeps the log, for tests.

use crate::sync::Mutex;
use std::{fmt::Debug, sync::Arc};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

/// Keeps the log of `trunkline`.
#[derive(Clone, Default)]
pub(crate) struct KeptLog(Arc<Mutex<Vec<String>>>);

impl KeptLog {
    /// The texts of the records so far, which are forgotten.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }
}

impl Visit for KeptLog {
    fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
        self.0.lock().push(format!("{value:?}"));
    }
}

impl Subscriber for KeptLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("trunkline")
    }

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}
