//! Reopens a session that the server no longer knows, and resends what was refused (HTTP-48), so
//! that no call fails when a server restarts.

use super::{authorized::EndpointRequest, heads, http_failure, http_link::LinkContext};
use crate::{
    client::{LinkFailure, LinkMessage},
    http::{
        content::{self, EVENT_STREAM},
        event_stream::EventStream,
        headers,
    },
    on_drop::OnDrop,
    protocol::{
        Revision,
        envelope::{Frame, FrameBounds, Message},
    },
};
use bytes::Bytes;
use http::HeaderValue;
use reqwest::Response;
use serde::Deserialize;
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// How long all of its messages may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

impl LinkContext {
    /// Opens a session to replace `lost`, once for all requests that lost it. Returns `false` if
    /// that failed.
    pub(super) async fn renew(self: &Arc<Self>, lost: &HeaderValue) -> bool {
        let failed_renewals = self.state.lock().failed_renewals;
        let _turn = self.renewing.lock().await;
        let opening = {
            let state = self.state.lock();
            if state.closed {
                return false;
            }
            if state.session.as_ref() != Some(lost) {
                return state.session.is_some();
            }
            // The attempt that this one has waited for would only be repeated.
            if state.failed_renewals != failed_renewals {
                return false;
            }
            state.initialize.clone().zip(state.initialized.clone()).zip(state.revision)
        };
        let Some(((initialize, initialized), revision)) = opening else { return false };
        // The request that reopens the session may be cancelled, and a session whose handshake is
        // incomplete is useless. Then the next request loses the old one again.
        let undo = OnDrop::new(|| {
            self.session_works.store(true, Ordering::Relaxed);
            self.state.lock().session = Some(lost.clone());
        });
        let reopening = self.reopen(&initialize, &initialized, revision);
        let renewed = tokio::time::timeout(HANDSHAKE_TIMEOUT, reopening).await.unwrap_or(false);
        if renewed {
            undo.disarm();
            if let Some(first) = self.inbox.session_renewed() {
                self.first_of_session(&first).await;
            }
        } else {
            self.state.lock().failed_renewals += 1;
        }
        renewed
    }

    async fn reopen(self: &Arc<Self>, initialize: &LinkMessage, initialized: &LinkMessage, revision: Revision) -> bool {
        let Ok(headers) = heads::of_message(&self.route.headers, None, None, initialize.request.as_ref()) else {
            return false;
        };
        let sent = self.send(EndpointRequest::post(headers, initialize)).await;
        let Ok(response) = sent else { return false };
        let session = response.headers().get(headers::SESSION_ID).cloned();
        // The conversation continues, so the server must still support the negotiated revision.
        if session.is_none() || self.version_answered(response).await.as_deref() != Some(revision.as_str()) {
            return false;
        }
        self.remember_session(session.as_ref());
        if self.exchange(initialized).await.is_err() {
            return false;
        }
        tracing::info!(target: "trunkline::client::http", server = %self.route.target, "the server lost the session; opening a new one");
        let mut state = self.state.lock();
        state.has_stream = false;
        self.start_stream(&mut state);
        drop(state);
        true
    }

    /// Sends a request while the others wait, but not for longer than for the handshake.
    async fn first_of_session(self: &Arc<Self>, message: &LinkMessage) {
        let sent = tokio::time::timeout(HANDSHAKE_TIMEOUT, self.exchange(message)).await;
        let failure = sent.map_or(Some(LinkFailure::Closed), |sent| sent.err().map(|refused| refused.failure));
        if let Some((request, failure)) = message.request.as_ref().zip(failure) {
            self.inbox.failed(&request.id, failure);
        }
    }

    /// The version in the response to `initialize`.
    async fn version_answered(&self, mut response: Response) -> Option<String> {
        if !response.status().is_success() {
            return None;
        }
        if !content::is_type(response.headers(), &EVENT_STREAM) {
            let body = http_failure::read(&self.route.target, response, self.route.max_message_bytes).await.ok()?;
            return version_of(&body);
        }
        let mut stream = EventStream::new(self.route.max_message_bytes);
        while let Ok(Some(chunk)) = response.chunk().await {
            stream.push(&chunk);
            while let Ok(Some(message)) = stream.next_message() {
                if let Some(version) = version_of(&message) {
                    return Some(version);
                }
            }
        }
        None
    }
}

fn version_of(message: &Bytes) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Initialized {
        protocol_version: String,
    }
    match Frame::parse(message, FrameBounds::NONE) {
        Frame::Single(Ok(Message::Response(response))) => {
            response.outcome.ok()?.parse::<Initialized>().ok().map(|result| result.protocol_version)
        }
        _ => None,
    }
}
