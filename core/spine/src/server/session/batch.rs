//! Batch responses (2025-03-26): one array when all requests are done.

use super::outbound::{Outbound, OutgoingMessage};
use crate::{server::handlers::Arrival, sync::Mutex};
use bytes::Bytes;
use std::sync::Arc;

/// Collects the responses of a batch; passes everything else through.
pub(super) struct BatchReply {
    reply: Arc<dyn Outbound>,
    state: Mutex<BatchState>,
}

struct BatchState {
    missing: usize,
    responses: Vec<Bytes>,
}

impl BatchReply {
    /// Waits for `requests` responses.
    pub(super) fn new(reply: Arc<dyn Outbound>, requests: usize) -> Self {
        Self { reply, state: Mutex::new(BatchState { missing: requests, responses: Vec::new() }) }
    }

    fn one_done(&self, response: Option<Bytes>) {
        let complete = {
            let mut state = self.state.lock();
            state.responses.extend(response);
            state.missing = state.missing.saturating_sub(1);
            (state.missing == 0).then(|| std::mem::take(&mut state.responses))
        };
        match complete {
            Some(responses) if responses.is_empty() => self.reply.send(OutgoingMessage::Abandoned),
            Some(responses) => {
                let mut text = vec![b'['];
                text.extend_from_slice(&responses.join(&b","[..]));
                text.push(b']');
                self.reply.send(OutgoingMessage::result(text.into()));
            }
            None => {}
        }
    }
}

impl Outbound for BatchReply {
    fn send(&self, outgoing: OutgoingMessage) {
        match outgoing {
            OutgoingMessage::Response { message, .. } => self.one_done(Some(message)),
            OutgoingMessage::Abandoned => self.one_done(None),
            other => self.reply.send(other),
        }
    }

    fn is_congested(&self) -> bool {
        self.reply.is_congested()
    }

    fn is_behind(&self) -> bool {
        self.reply.is_behind()
    }

    fn can_ask(&self) -> bool {
        self.reply.can_ask()
    }

    fn arrival(&self) -> Option<&Arrival> {
        self.reply.arrival()
    }
}
