//! Requests the description of a server whose revision is pinned, so that it was not requested
//! before.

use super::server_description::ServerDescription;
use crate::{
    client::{
        calls::{
            client_call::ClientCall,
            reply_to::{CallReceiver, ReplyTo},
        },
        client::Client,
        client_error::ClientError,
        client_options::RequestOptions,
        inner::ClientInner,
    },
    engine::RequestExtras,
    protocol::{RawJson, method},
};
use std::sync::{Arc, Weak};

impl ClientInner {
    /// Requests the server's description (`server/discover`). Nothing waits for it, and the
    /// connection works without it.
    pub(in crate::client) fn ask_description(self: &Arc<Self>) {
        let client = Client { inner: Arc::clone(self) };
        let (options, mut extras) = (RequestOptions::default(), RequestExtras::default());
        let mut call = ClientCall::new(CallReceiver::Reply(Arc::new(DescriptionReply(Arc::downgrade(self)))));
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
struct DescriptionReply(Weak<ClientInner>);

impl ReplyTo for DescriptionReply {
    fn answered(&self, outcome: Result<RawJson, ClientError>) {
        let Some(inner) = self.0.upgrade() else { return };
        let revision = inner.conversation.lock().revision();
        match (outcome, revision) {
            (Ok(result), Some(revision)) => drop(inner.described.set(ServerDescription::read(revision, &result))),
            (Err(error), _) => {
                tracing::debug!(target: "trunkline::client::connection", %error, "the server returned no description")
            }
            (Ok(_), None) => {}
        }
    }
}
