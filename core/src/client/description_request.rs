//! The request for the description of a server whose revision was pinned, and which was not asked
//! before.

use super::{
    client::Client, error::ClientError, inner::ClientInner, options::RequestOptions, reply::ReplyTo,
    server_description::ServerDescription,
};
use crate::{
    engine::RequestExtras,
    protocol::{RawJson, method},
};
use std::sync::{Arc, Weak};

impl ClientInner {
    /// Asks the server for its description (`server/discover`). Nothing waits for it, and a server
    /// that gives none is spoken with all the same.
    pub(super) fn ask_description(self: &Arc<Self>) {
        let client = Client { inner: Arc::clone(self) };
        let reply = Arc::new(DescriptionReply(Arc::downgrade(self)));
        let (options, extras) = (RequestOptions::default(), RequestExtras::default());
        // It is what the opening takes, where nothing was asked before.
        let started = match self.opening.lock().take() {
            None => client.start(method::DISCOVER, None, &options, extras, reply),
            Some(opening) => {
                let extras = RequestExtras { trace: Some(Arc::clone(&opening.trace)), ..extras };
                let reply = opening.end_with_reply(self.observed_way(), method::DISCOVER, reply);
                client.start_observed(method::DISCOVER, None, &options, extras, reply)
            }
        };
        if let Err(error) = started {
            tracing::debug!(target: "trunkline::client::connection", %error, "the server was not asked for its description");
        }
    }
}

/// The reply that brings the description.
struct DescriptionReply(Weak<ClientInner>);

impl ReplyTo for DescriptionReply {
    fn answered(&self, outcome: Result<RawJson, ClientError>) {
        let Some(inner) = self.0.upgrade() else { return };
        let revision = inner.conversation.lock().revision();
        match (outcome, revision) {
            (Ok(result), Some(revision)) => drop(inner.described.set(ServerDescription::read(revision, &result))),
            (Err(error), _) => {
                tracing::debug!(target: "trunkline::client::connection", %error, "the server gives no description")
            }
            (Ok(_), None) => {}
        }
    }

    fn progress(&self, _: RawJson) {}
}
