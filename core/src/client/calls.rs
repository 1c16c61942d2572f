//! Requests of a client, from their start to their end, and its notifications.

use super::{
    client::Client,
    error::ClientError,
    flight::{Flight, InFlight},
    options::RequestOptions,
    recall::Recall,
    reply::{ReplyTo, Waiter},
};
use crate::{
    protocol::{Era, RawJson, RequestId, Revision, method},
    sync::Mutex,
};
use std::sync::Arc;

impl Client {
    /// Sends a request and waits for its result. Dropping the future cancels the request.
    ///
    /// # Errors
    /// A JSON-RPC error of the server, a timeout, or a connection that failed.
    pub async fn request(
        &self,
        method: &str,
        params: Option<&RawJson>,
        options: &RequestOptions,
    ) -> Result<RawJson, ClientError> {
        let waiter = Arc::new(Waiter::new(options.on_progress.clone()));
        let in_flight = self.start(method, params, options, options.on_progress.is_some(), waiter.clone())?;
        let guard = CancelOnDrop { client: self, in_flight: Some(in_flight) };
        let outcome = waiter.outcome().await;
        guard.disarm();
        outcome
    }

    /// Sends a request; its outcome goes to `reply`, exactly once unless this fails. `with_progress` asks for progress.
    /// `ping` is spoken as the revision knows it.
    #[doc(hidden)]
    pub fn start(
        &self,
        method: &str,
        params: Option<&RawJson>,
        options: &RequestOptions,
        with_progress: bool,
        reply: Arc<dyn ReplyTo>,
    ) -> Result<InFlight, ClientError> {
        let revision = self.inner.conversation.lock().revision();
        if method != method::TOOLS_CALL || !self.inner.mirrors(revision) {
            let id = self.start_once(method, params, options, with_progress, reply)?;
            return Ok(InFlight(Arc::new(Mutex::new(Flight::Sent(id)))));
        }
        let flight = InFlight(Arc::new(Mutex::new(Flight::Cancelled)));
        let recall = Recall {
            client: Arc::downgrade(&self.inner),
            params: params.cloned(),
            options: options.clone(),
            with_progress,
            reply,
            flight: flight.clone(),
        };
        // Held until the id is noted, so that an answer that comes at once finds it.
        let mut noted = flight.0.lock();
        *noted = Flight::Sent(self.start_once(method, params, options, with_progress, Arc::new(recall))?);
        drop(noted);
        Ok(flight)
    }

    pub(super) fn start_once(
        &self,
        method: &str,
        params: Option<&RawJson>,
        options: &RequestOptions,
        with_progress: bool,
        reply: Arc<dyn ReplyTo>,
    ) -> Result<RequestId, ClientError> {
        self.inner.check_open()?;
        let timeout = self.inner.request_timeout(options);
        let parameters = match method {
            method::TOOLS_CALL => self.inner.mirrored.of_call(params)?,
            _ => Vec::new(),
        };
        let (sent, method, revision) = {
            let mut conversation = self.inner.conversation.lock();
            // With the table locked: the end comes after this request, and ends it too.
            self.inner.check_open()?;
            let revision = conversation.revision();
            let method = spoken(method, revision);
            if conversation.in_flight() >= self.inner.options.max_in_flight {
                return Err(ClientError::Busy(format!("{} requests are in flight", conversation.in_flight())));
            }
            let sent = conversation.request(self.inner.runtime.now(), timeout, method, params, with_progress, reply);
            (sent.map_err(|error| ClientError::Invalid(error.message))?, method, revision)
        };
        let id = sent.id.clone();
        if let Err(error) = self.inner.check_size(method, &sent.message) {
            self.inner.conversation.lock().fail(&id);
            return Err(error);
        }
        self.inner.send_request(sent, method, revision, params, parameters);
        Ok(id)
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// If the revision has no such notification, or the connection is closed.
    pub fn notify(&self, method: &str, params: Option<&RawJson>) -> Result<(), ClientError> {
        self.inner.check_open()?;
        let notification = self.inner.conversation.lock().notification(method, params);
        let notification = notification.map_err(|error| ClientError::Invalid(error.message))?;
        self.inner.check_size(method, &notification)?;
        self.inner.send(notification);
        Ok(())
    }

    /// Ends a request that is no longer wanted; its outcome is [`ClientError::Cancelled`].
    #[doc(hidden)]
    pub fn cancel(&self, in_flight: &InFlight, reason: &str) {
        let flight = std::mem::replace(&mut *in_flight.0.lock(), Flight::Cancelled);
        match flight {
            Flight::Sent(id) => self.inner.end_request(&id, reason, ClientError::Cancelled),
            Flight::Walking(stop) => stop.keep(()),
            Flight::Cancelled => {}
        }
    }

    /// Asks whether the server is alive.
    ///
    /// # Errors
    /// As for [`Client::request`].
    pub async fn ping(&self) -> Result<(), ClientError> {
        self.request(method::PING, None, &RequestOptions::default()).await.map(drop)
    }
}

/// Discovery is the liveness check of the era that has no `ping` (docs/versions.md, 2.5).
fn spoken(method: &str, revision: Option<Revision>) -> &str {
    match revision {
        Some(revision) if method == method::PING && revision.era() == Era::Modern => method::DISCOVER,
        _ => method,
    }
}

struct CancelOnDrop<'a> {
    client: &'a Client,
    in_flight: Option<InFlight>,
}

impl CancelOnDrop<'_> {
    fn disarm(mut self) {
        self.in_flight = None;
    }
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(in_flight) = &self.in_flight {
            self.client.cancel(in_flight, "the caller is gone");
        }
    }
}
