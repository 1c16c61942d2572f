//! Requests of a client.

use super::{
    client_call::{ClientCall, Flight, RequestParts},
    reply_to::{CallReceiver, ReplyTo},
};
use crate::{
    client::{client::Client, error::ClientError, options::RequestOptions},
    engine::{OnBehalf, RequestExtras},
    protocol::{RawJson, RevisionFeature, method, model::LoggingLevel},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
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
        self.request_on_behalf(None, method, params, options).await
    }

    /// The same with values: the params are a JSON object (a struct, a map, `json!({…})`), or `()`
    /// for none, and the result is read as a type.
    ///
    /// ```
    /// # async fn run(client: trunkline::Client) -> Result<(), trunkline::ClientError> {
    /// use trunkline::RequestOptions;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Sum {
    ///     sum: i64,
    /// }
    ///
    /// let params = serde_json::json!({"terms": [1, 2, 39]});
    /// let result: Sum = client.request_as("com.acme/sum", params, &RequestOptions::default()).await?;
    /// assert_eq!(result.sum, 42);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`Client::request`]. A result of another shape is a [`ClientError::InvalidResponse`],
    /// and params that cannot be JSON are a [`ClientError::Invalid`].
    pub async fn request_as<R: DeserializeOwned>(
        &self,
        method: &str,
        params: impl Serialize,
        options: &RequestOptions,
    ) -> Result<R, ClientError> {
        let params = RawJson::from_value(&params).map_err(|error| ClientError::Invalid(error.to_string()))?;
        let given = (params.as_bytes() != b"null").then_some(&params);
        self.request(method, given, options).await?.read().map_err(ClientError::InvalidResponse)
    }

    /// Sends a request, which a server of the modern era sees as one of another client.
    ///
    /// # Errors
    /// As for [`Client::request`].
    pub(crate) async fn request_on_behalf(
        &self,
        other: Option<Arc<OnBehalf>>,
        method: &str,
        params: Option<&RawJson>,
        options: &RequestOptions,
    ) -> Result<RawJson, ClientError> {
        let request = self.inner.parts(method, params, options);
        let extras = RequestExtras { on_behalf: other, ..options.on_progress.is_some().into() };
        let call = ClientCall::new(CallReceiver::future(options.on_progress.clone()));
        self.wait(self.begin(call, request, extras)?).await
    }

    /// The outcome of a call whose receiver is a future. Dropping it cancels the call.
    pub(in crate::client) async fn wait(&self, call: Arc<ClientCall>) -> Result<RawJson, ClientError> {
        let guard = CancelOnDrop { client: self, call: Some(&call) };
        let outcome = call.receiver.outcome().await;
        guard.disarm();
        outcome
    }

    /// Starts a call; its outcome goes to `reply`, exactly once unless this fails.
    /// `ping` is spoken as the revision knows it.
    #[doc(hidden)]
    pub fn start(
        &self,
        method: &str,
        params: Option<&RawJson>,
        options: &RequestOptions,
        extras: RequestExtras,
        reply: Arc<dyn ReplyTo>,
    ) -> Result<Arc<ClientCall>, ClientError> {
        let request = self.inner.parts(method, params, options);
        self.begin(ClientCall::new(CallReceiver::Reply(reply)), request, extras)
    }

    /// Looks into the cache, begins the telemetry of the call, and sends its first request.
    pub(in crate::client) fn begin(
        &self,
        mut call: ClientCall,
        request: RequestParts<'_>,
        mut extras: RequestExtras,
    ) -> Result<Arc<ClientCall>, ClientError> {
        let is_own = extras.on_behalf.is_none();
        if request.method == method::LOGGING_SET_LEVEL
            && let Some(done) = self.keep_log_level(request)?
        {
            return Ok(call.answered_here(done));
        }
        if is_own && let Some(key) = self.inner.cache_key(request) {
            if !request.options.fresh
                && let Some(kept) = self.inner.cached(&key)?
            {
                return Ok(call.answered_here(kept));
            }
            call.slot = Some(Box::new(self.inner.cache_slot(key)));
        }
        if extras.trace.is_none() {
            extras.trace.clone_from(&request.options.trace);
        }
        if call.operation.is_none() {
            call.operation = self.inner.begin_operation(request, &mut extras);
        }
        if tracing::event_enabled!(target: "trunkline::client::request", tracing::Level::DEBUG) {
            call.logged = Some((self.inner.runtime.now(), Arc::clone(&self.inner.runtime)));
        }
        let task = self.task_wish(request, is_own);
        self.send_first(call, request, extras, task)
    }

    /// Keeps the log level. In the modern era it travels with each request, and nothing is sent:
    /// gives the result then. In the legacy era the next connection asks for it again.
    fn keep_log_level(
        &self,
        RequestParts { method, params, .. }: RequestParts<'_>,
    ) -> Result<Option<RawJson>, ClientError> {
        #[derive(Deserialize)]
        struct Level {
            level: LoggingLevel,
        }
        let travels =
            self.inner.revision().is_some_and(|revision| revision.supports(RevisionFeature::LogLevelPerRequest));
        let level = params.map_or_else(|| Err("level is missing".to_owned()), RawJson::read::<Level>);
        match level {
            Ok(Level { level }) => self.inner.conversation.lock().set_log_level(Some(level)),
            Err(problem) if travels => return Err(ClientError::Invalid(format!("{method}: {problem}"))),
            // The server judges it.
            Err(_) => {}
        }
        Ok(travels.then(RawJson::empty_object))
    }

    /// Asks the server for log messages of this severity at least.
    ///
    /// # Errors
    /// As for [`Client::request`].
    pub async fn set_log_level(&self, level: LoggingLevel) -> Result<(), ClientError> {
        let params = RawJson::from_value(&serde_json::json!({"level": level}));
        let params = params.map_err(|error| ClientError::Invalid(error.to_string()))?;
        self.request(method::LOGGING_SET_LEVEL, Some(&params), &RequestOptions::default()).await.map(drop)
    }

    /// Cancels a request; its outcome is [`ClientError::Cancelled`].
    #[doc(hidden)]
    pub fn cancel(&self, call: &ClientCall, reason: &str) {
        let flight = std::mem::replace(&mut *call.flight.lock(), Flight::Cancelled);
        match flight {
            Flight::Sent(id) => self.inner.end_request(&id, reason, ClientError::Cancelled),
            Flight::Working(stop) => stop.keep(()),
            Flight::Cancelled => {}
        }
    }

    /// Asks whether the server is alive.
    ///
    /// # Errors
    /// As for [`Client::request`].
    pub async fn ping(&self) -> Result<(), ClientError> {
        self.ping_with(&RequestOptions::default()).await
    }

    /// Asks whether the server is alive, with the options of a request.
    ///
    /// # Errors
    /// As for [`Client::request`].
    pub async fn ping_with(&self, options: &RequestOptions) -> Result<(), ClientError> {
        self.request(method::PING, None, options).await.map(drop)
    }
}

/// Cancels a call when it is dropped.
struct CancelOnDrop<'a> {
    client: &'a Client,
    call: Option<&'a ClientCall>,
}

impl CancelOnDrop<'_> {
    /// The call has its outcome.
    fn disarm(mut self) {
        self.call = None;
    }
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.call {
            self.client.cancel(call, "the caller is gone");
        }
    }
}
