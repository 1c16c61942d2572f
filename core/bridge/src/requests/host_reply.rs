//! Receives the outcome and progress of a host's request.

use crate::{BridgeError, PortState, events::queue::QueuedProgress, message::Request, requests::replies::finish};
use serde_json::Value;
use std::sync::{Arc, Weak};
use trunkline::{
    bridge_support::{ReplyTo, ResultSchema},
    client::ClientError,
    protocol::{RawJson, schema::wrapped},
};

/// Passes the outcome of a request to the host.
pub(crate) struct HostReply {
    state: Weak<PortState>,
    ticket: u64,
    progress: Arc<QueuedProgress>,
    /// True if the request asks for progress.
    wants_progress: bool,
    /// True if progress goes to the thread that waits for the reply, not to the queue.
    for_threads: bool,
    /// True if the end of the request is reported to telemetry.
    is_traced: bool,
}

impl HostReply {
    pub(crate) fn new(state: &Arc<PortState>, ticket: u64, connection: u64, given: &Request, is_traced: bool) -> Self {
        let for_threads = given.wait && state.queue.has_bell_for_threads();
        let progress = QueuedProgress::of(ticket, connection);
        Self { state: Arc::downgrade(state), ticket, progress, wants_progress: given.progress, for_threads, is_traced }
    }
}

impl ReplyTo for HostReply {
    fn answered(&self, outcome: Result<RawJson, ClientError>) {
        if let Some(state) = self.state.upgrade() {
            if self.is_traced {
                state.telemetry.answered(self.ticket, &outcome);
            }
            finish(&state, self.ticket, outcome.map(RawJson::into_bytes).map_err(BridgeError::from));
        }
    }

    fn wants_progress(&self) -> bool {
        self.wants_progress
    }

    fn progress(&self, params: RawJson) {
        let Some(state) = self.state.upgrade() else { return };
        let (queue, body) = (&state.queue, params.into_bytes());
        if self.for_threads {
            if let Some(slot) = state.tables.lock().reply_slot(self.ticket) {
                slot.put_progress(body);
                queue.ring_for_threads();
            }
        } else {
            queue.push_progress(&self.progress, body);
        }
    }
}

/// The schema that the host expects structured content to match.
pub(crate) fn result_schema(given: &Request) -> Result<Option<Arc<ResultSchema>>, BridgeError> {
    let compile = |schema: &Value| match given.wrap_result {
        true => ResultSchema::expected(&given.method, &wrapped(schema.clone())),
        false => ResultSchema::expected(&given.method, schema),
    };
    let schema = given.result_schema.as_ref().map(compile);
    schema.transpose().map_err(|error| BridgeError::invalid(format!("request: resultSchema: {error}")))
}
