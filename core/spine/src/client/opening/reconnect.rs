//! Reconnects when the next message needs the connection.
//!
//! Requests in flight have failed by then, because the server may have acted on them. Nothing is
//! sent twice.

use crate::{
    client::{ClientError, LinkFailure, LinkMessage, inner::ClientInner},
    engine::{Negotiation, NegotiationError, NegotiationStep, Probe, ProbeOutcome, RevisionChoice, later},
    protocol::{Era, Revision, method},
};
use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

/// Maximum queued messages before notifications are dropped. Requests have their own limit.
const MAX_WAITING: usize = 1_000;

impl ClientInner {
    /// Sends a message, reconnecting first if necessary.
    pub(in crate::client) fn deliver(self: &Arc<Self>, message: LinkMessage) {
        if let Some(link) = self.ready_link() {
            return link.send(message);
        }
        let mut state = self.reconnecting.lock();
        if let Some(link) = self.ready_link() {
            drop(state);
            return link.send(message);
        }
        // The request is already over, because it was in flight when the connection was lost.
        if message.request.as_ref().is_some_and(|request| !self.conversation.lock().awaits(&request.id)) {
            return;
        }
        if message.request.is_none() && state.waiting.len() >= MAX_WAITING {
            let server = self.label.get();
            tracing::warn!(target: "trunkline::client::connection", server, waiting = MAX_WAITING, "dropped a notification: too many messages are waiting for a connection");
            return;
        }
        state.waiting.push(message);
        if let Some(pause) = state.begin(self.runtime.now()) {
            drop(state);
            let client = Arc::clone(self);
            self.runtime.spawn(Box::pin(async move { client.reconnect(pause).await }));
        }
    }

    /// Handles the loss of the connection. Requests in flight fail.
    pub(in crate::client) fn lose(&self, failure: &LinkFailure) {
        if !self.ready.swap(false, Ordering::AcqRel) {
            return;
        }
        // A link may report its end more than once.
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.reconnecting.lock().lost(self.runtime.now());
        let link = self.link.lock().take();
        self.close_lost(link, ());
        let server = self.label.get();
        tracing::warn!(target: "trunkline::client::connection", server, error = %failure, "the connection was lost; the next call reconnects, unless the option `reconnect` is off");
        self.host.stop_requests();
        self.subscriptions.forget_session();
        self.cache.clear();
        self.fail_all(&ClientError::Link(failure.clone()));
    }

    /// Reconnects for subscriptions, which wait for changes without sending anything. In the modern
    /// era, the requests that reopen their streams need the connection.
    pub(in crate::client) fn reconnect_for_subscriptions(self: &Arc<Self>) {
        let is_legacy = self.conversation.lock().revision().is_some_and(|revision| revision.era() == Era::Legacy);
        if !is_legacy || self.subscriptions.is_empty() {
            return;
        }
        let begun = self.reconnecting.lock().begin(self.runtime.now());
        let Some(pause) = begun else { return };
        let (client, runtime) = (Arc::downgrade(self), Arc::clone(&self.runtime));
        self.runtime.spawn(Box::pin(async move {
            if !pause.is_zero() {
                runtime.sleep_until(later(runtime.now(), pause)).await;
            }
            if let Some(client) = client.upgrade() {
                client.reconnect(Duration::ZERO).await;
            }
        }));
    }

    async fn reconnect(self: Arc<Self>, pause: Duration) {
        if !pause.is_zero() {
            self.runtime.sleep_until(later(self.runtime.now(), pause)).await;
        }
        if self.closed.load(Ordering::Acquire) {
            return;
        }
        // Earlier pauses don't extend this deadline.
        let now = self.runtime.now();
        let began = now.checked_sub(self.pauses.total(now)).unwrap_or(now);
        if self.conversation.lock().revision().is_some_and(|revision| revision.era() == Era::Legacy) {
            self.begin_opening(None);
        }
        let made = self.until_connect_deadline(began, self.reopen(self.connect_deadline(began))).await;
        let made = made.unwrap_or_else(|| Err(ClientError::Timeout(self.silence())));
        self.end_opening(&made);
        if let Err(error) = made {
            return self.not_made(&error);
        }
        self.events.reconnected();
        self.send_waiting();
        // The connection may have been lost before it was ready.
        let failure = self.failure.lock().clone();
        match failure {
            Some(failure) => {
                self.lose(&failure);
                self.reconnect_for_subscriptions();
            }
            // Subscriptions reopen their streams themselves.
            None => {
                self.begin_pings();
                self.subscribe_again();
            }
        }
    }

    /// Sends queued messages in order, and then lets other messages through.
    fn send_waiting(&self) {
        let link = self.link();
        loop {
            let waiting = {
                let mut state = self.reconnecting.lock();
                if state.waiting.is_empty() {
                    state.running = false;
                    state.made(self.runtime.now());
                    self.ready.store(true, Ordering::Release);
                    return;
                }
                std::mem::take(&mut state.waiting)
            };
            for message in waiting {
                let wanted = message.request.as_ref().is_none_or(|it| self.conversation.lock().awaits(&it.id));
                if let Some(link) = link.as_ref().filter(|_| wanted) {
                    link.send(message);
                }
            }
        }
    }

    /// Fails queued requests. Subscriptions keep waiting, those of the program up to the maximum
    /// time of a request.
    fn not_made(self: &Arc<Self>, error: &ClientError) {
        let (waiting, away) = {
            let mut state = self.reconnecting.lock();
            state.running = false;
            state.lost(self.runtime.now());
            (std::mem::take(&mut state.waiting), state.away(self.runtime.now()))
        };
        let link = self.link.lock().take();
        drop(link);
        if let ClientError::Link(failure) = error {
            *self.failure.lock() = Some(failure.clone());
        }
        for request in waiting.into_iter().filter_map(|message| message.request) {
            self.request_failed(&request.id, error.clone());
        }
        if away >= self.options.max_timeout {
            self.give_up_subscriptions(error);
        }
        self.reconnect_for_subscriptions();
    }

    /// Reconnects, with the handshake if the era has one. The conversation continues, so the server
    /// must still support its revision.
    async fn reopen(self: &Arc<Self>, deadline: Instant) -> Result<(), ClientError> {
        let revision = self.conversation.lock().revision().ok_or(ClientError::Closed)?;
        self.connect(&*self.connector).await?;
        if revision.era() == Era::Legacy {
            self.shake_hands(revision, deadline).await?;
        }
        self.begin_session(revision).await
    }

    /// Tells the link and a legacy server that the revision is settled, and sets the log level.
    pub(super) async fn begin_session(self: &Arc<Self>, revision: Revision) -> Result<(), ClientError> {
        let link = self.link().ok_or(ClientError::Closed)?;
        link.negotiated(revision);
        if revision.era() == Era::Legacy {
            let initialized = self.conversation.lock().notification(method::INITIALIZED, None);
            self.send(initialized.map_err(|error| ClientError::Invalid(error.message))?);
        }
        // POSTs may overtake each other, so calls wait for the response.
        if let Some((message, answered)) = self.log_level_request() {
            self.send_ahead(message)?;
            answered.await;
        }
        Ok(())
    }

    async fn shake_hands(self: &Arc<Self>, revision: Revision, deadline: Instant) -> Result<(), ClientError> {
        let outcome = match self.probe(Probe::Initialize { revision, fresh: false }, deadline, false).await {
            Ok(result) => ProbeOutcome::Result(result),
            Err(ClientError::InvalidResponse(text)) => ProbeOutcome::InvalidResponse(text),
            Err(ClientError::Protocol(error)) => {
                return Err(ClientError::Negotiation(NegotiationError::Refused(error)));
            }
            Err(ClientError::Timeout(_)) => return Err(ClientError::Timeout(self.silence())),
            Err(error) => return Err(error),
        };
        match Negotiation::start(RevisionChoice::Pinned(revision), false).0.next(outcome) {
            NegotiationStep::Fail(error) => Err(ClientError::Negotiation(error)),
            // With a pinned revision, nothing else is tried.
            NegotiationStep::Send(_) | NegotiationStep::Done(_) => Ok(()),
        }
    }
}
