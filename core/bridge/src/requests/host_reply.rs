//! Receives the outcome and progress of a host's request.

use crate::{
    BridgeError, PortState,
    events::{queue::Latest, slot::ReplySlot},
    message::Request,
    requests::replies::finish,
};
use std::sync::{Arc, Weak};
use trunkline::{
    bridge_support::{ReplyTo, ResultSchema},
    client::ClientError,
    protocol::{RawJson, method},
};

/// Passes the outcome of a request to the host.
pub(crate) struct HostReply {
    state: Weak<PortState>,
    ticket: u64,
    connection: u64,
    latest: Latest,
    /// Receives progress instead of the queue.
    slot: Option<Arc<ReplySlot>>,
    /// Whether its end is reported to telemetry.
    is_traced: bool,
}

impl HostReply {
    pub(crate) fn new(
        state: &Arc<PortState>,
        ticket: u64,
        connection: u64,
        slot: Option<Arc<ReplySlot>>,
        is_traced: bool,
    ) -> Self {
        let slot = slot.filter(|_| state.queue.has_bell_for_threads());
        Self { state: Arc::downgrade(state), ticket, connection, latest: Latest::default(), slot, is_traced }
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

    fn progress(&self, params: RawJson) {
        let Some(state) = self.state.upgrade() else { return };
        let (queue, body) = (&state.queue, params.into_bytes());
        if let Some(slot) = &self.slot {
            slot.put_progress(body);
            queue.ring_for_threads();
        } else {
            queue.push_progress(self.ticket, self.connection, method::PROGRESS, &self.latest, body);
        }
    }
}

/// The schema that the host expects structured content to match.
pub(crate) fn result_schema(given: &Request) -> Result<Option<Arc<ResultSchema>>, BridgeError> {
    let schema = given.result_schema.as_ref().map(|schema| ResultSchema::expected(&given.method, schema));
    schema.transpose().map_err(|error| BridgeError::invalid(format!("request: resultSchema: {error}")))
}
