//! The log of a server.

use crate::{offer, process::File, wire::Wire};
use serde_json::json;
use std::{fmt::Debug, path::PathBuf};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

/// A server that writes its log to standard error, as a role of this binary.
pub(crate) const ROLE: &str = "server with a log";

pub(crate) fn serve(file: PathBuf) {
    tracing::subscriber::set_global_default(ToStandardError).unwrap();
    offer::serve("server", file);
}

struct ToStandardError;

impl Subscriber for ToStandardError {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "trunkline"
    }

    fn event(&self, event: &Event<'_>) {
        struct Message<'a>(&'a Metadata<'a>);
        impl Visit for Message<'_> {
            fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
                eprintln!("{} {value:?}", self.0.level());
            }
        }
        event.record(&mut Message(event.metadata()));
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[test]
fn can_09_why_a_client_cancels_is_logged_on_one_line() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut wire = Wire::start(ROLE, &File::new());
        wire.open(revision);
        wire.request(1, "tools/call", json!({"name": "gate", "arguments": {}}));
        wire.rest();
        wire.tell("notifications/cancelled", json!({"requestId": 1, "reason": "changed my mind\nERROR forged"}));
        wire.rest();
        let (_, _, log) = wire.close();
        let line = log.lines().find(|line| line.contains("changed my mind"));
        let line = line.unwrap_or_else(|| panic!("{revision}: {log}"));
        assert!(line.starts_with("DEBUG ") && line.contains("\\nERROR forged"), "{line}");
    }
}
