//! Requests the description of a server whose revision is pinned, so that it was not requested
//! before.

use super::server_description::ServerDescription;
use crate::{
    client::{
        Client, ClientCall, ClientError, RequestOptions,
        calls::reply_to::{CallReceiver, ReplyTo},
        inner::ClientInner,
    },
    engine::RequestExtras,
    protocol::{RawJson, Revision, method},
};
use std::sync::{Arc, Weak};

impl ClientInner {
    /// Requests the server's description (`server/discover`). Nothing waits for it, and the
    /// connection works without it.
    pub(in crate::client) fn ask_description(self: &Arc<Self>, revision: Revision) {
        let client = Client { inner: Arc::clone(self) };
        let (options, mut extras) = (RequestOptions::default(), RequestExtras::default());
        let reply = Arc::new(DescriptionReply(Arc::downgrade(self), revision));
        let mut call = ClientCall::new(CallReceiver::Reply(reply));
        // It is the request of the opening, if there was none before.
        if let Some(opening) = self.opening.lock().take() {
            extras.trace = Some(Arc::clone(&opening.trace));
            call.operation = Some(opening.of_call(self.network_facts()));
        }
        let started = client.begin(call, self.parts(method::DISCOVER, None, &options), extras);
        if let Err(error) = started {
            tracing::debug!(target: "trunkline::client::connection", %error, "could not request the description of the server");
        }
    }
}

/// Receives the description.
struct DescriptionReply(Weak<ClientInner>, Revision);

impl ReplyTo for DescriptionReply {
    fn answered(&self, outcome: Result<RawJson, ClientError>) {
        let Some(inner) = self.0.upgrade() else { return };
        match outcome {
            Ok(result) => drop(inner.described.set(ServerDescription::read(self.1, &result))),
            Err(error) => {
                tracing::debug!(target: "trunkline::client::connection", %error, "the server returned no description")
            }
        }
    }
}
