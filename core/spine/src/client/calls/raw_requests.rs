//! Requests by method name.

use crate::{
    client::{
        Client, ClientError, ProgressHook, RequestOptions,
        inner::ClientInner,
        state::{
            client_call::{ClientCall, Flight, RequestParts},
            reply_to::{CallReceiver, ReplyTo},
            response_cache::CacheKey,
        },
    },
    engine::{OnBehalf, RequestExtras},
    on_drop::OnDrop,
    protocol::{RawJson, RevisionFeature, members::members, method, model::LoggingLevel},
    race::unless,
    telemetry::Ambient,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::sync::Arc;

impl Client {
    /// Sends a request and waits for its result. Dropping the future cancels the request.
    ///
    /// # Errors
    /// A JSON-RPC error from the server, a timeout, or a failed connection.
    pub async fn request(
        &self,
        method: &str,
        params: Option<&RawJson>,
        options: &RequestOptions,
    ) -> Result<RawJson, ClientError> {
        self.request_on_behalf(None, method, params, options).await
    }

    /// Like [`Client::request`], with typed values: the params are any value that serializes to a
    /// JSON object (a struct, a map, `json!({…})`), or `()` for none, and the result is
    /// deserialized.
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
    /// As for [`Client::request`]. A result that cannot be deserialized is a
    /// [`ClientError::InvalidResponse`], and params that cannot be serialized are a
    /// [`ClientError::Invalid`].
    pub async fn request_as<R: DeserializeOwned>(
        &self,
        method: &str,
        params: impl Serialize,
        options: &RequestOptions,
    ) -> Result<R, ClientError> {
        let params = RawJson::from_value(&params).map_err(ClientError::unwritable)?;
        let given = (params.as_bytes() != b"null").then_some(&params);
        self.request(method, given, options).await?.read().map_err(ClientError::InvalidResponse)
    }

    /// Sends a request on behalf of another client, which is what a modern server sees.
    ///
    /// # Errors
    /// As for [`Client::request`].
    #[doc(hidden)]
    pub async fn request_on_behalf(
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

    /// Waits for the outcome of a call. Dropping the future cancels the call.
    pub(in crate::client) async fn wait(&self, call: Arc<ClientCall>) -> Result<RawJson, ClientError> {
        let guard = OnDrop::new(|| self.cancel(&call, "the caller dropped the request"));
        let outcome = call.receiver.outcome().await;
        guard.disarm();
        outcome
    }

    /// Starts a call. Its outcome is passed to `reply`, exactly once unless this fails. `ping` is
    /// translated to what the revision supports.
    #[doc(hidden)]
    pub fn start(
        &self,
        method: &str,
        params: Option<&RawJson>,
        options: &RequestOptions,
        reply: Arc<dyn ReplyTo>,
    ) -> Result<Arc<ClientCall>, ClientError> {
        let (request, extras) = (self.inner.parts(method, params, options), reply.wants_progress().into());
        self.begin(ClientCall::new(CallReceiver::Reply(reply)), request, extras)
    }

    /// Checks the cache, starts the telemetry of the call, and sends its first request.
    pub(in crate::client) fn begin(
        &self,
        mut call: ClientCall,
        request: RequestParts<'_>,
        mut extras: RequestExtras,
    ) -> Result<Arc<ClientCall>, ClientError> {
        if !self.was_opened() {
            return self.begin_when_open(call, request, extras);
        }
        let is_own = extras.on_behalf.is_none();
        if request.method == method::LOGGING_SET_LEVEL
            && let Some(done) = self.keep_log_level(request)?
        {
            return Ok(call.answered_here(done));
        }
        if is_own && let Some(key) = self.inner.cache_key(request) {
            let (cache, context) = (&self.inner.cache, self.inner.auth_context());
            if !request.options.fresh {
                self.inner.check_open()?;
                if let Some(kept) = cache.get(&key, context, self.inner.runtime.now()) {
                    return Ok(call.answered_here(kept));
                }
            }
            call.slot = Some(Box::new(cache.slot(key, context)));
        }
        extras.trace = extras.trace.or_else(|| request.options.trace.clone());
        call.operation = call.operation.or_else(|| self.inner.begin_operation(request, &mut extras));
        if tracing::event_enabled!(target: "trunkline::client::request", tracing::Level::DEBUG) {
            call.logged = Some((self.inner.runtime.now(), Arc::clone(&self.inner.runtime)));
        }
        let task = self.task_wish(request, is_own);
        self.send_first(call, request, extras, task)
    }

    /// Starts a call that opens the connection first.
    fn begin_when_open(
        &self,
        call: ClientCall,
        request: RequestParts<'_>,
        extras: RequestExtras,
    ) -> Result<Arc<ClientCall>, ClientError> {
        self.inner.check_open()?;
        let (waiting, stop) = ClientCall::working(call.receiver);
        let (call, reporting) = (Arc::clone(&waiting), Arc::clone(&waiting));
        let report = move |params: &RawJson| reporting.receiver.progress(params.clone());
        let on_progress = extras.progress.then(|| Arc::new(report) as ProgressHook);
        let (client, method, params) = (self.clone(), request.method.to_owned(), request.params.cloned());
        let (options, ambient) = (request.options.clone(), Ambient::current());
        self.inner.runtime.spawn(Box::pin(ambient.around(async move {
            let sent = async {
                client.opened().await?;
                let request = client.inner.parts(&method, params.as_ref(), &options);
                client.wait(client.begin(ClientCall::new(CallReceiver::future(on_progress)), request, extras)?).await
            };
            let outcome = unless(stop.kept(), sent).await;
            call.finish(outcome.unwrap_or(Err(ClientError::Cancelled)));
        })));
        Ok(waiting)
    }

    /// Stores the log level. In the modern era, it is sent with each request, so this returns the
    /// result. In the legacy era, it is set again after a reconnect.
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
            Ok(Level { level }) => self.inner.conversation.lock().log_level = Some(level),
            Err(problem) if travels => return Err(ClientError::Invalid(format!("{method}: {problem}"))),
            // The server validates it.
            Err(_) => {}
        }
        Ok(travels.then(RawJson::empty_object))
    }

    /// Sets the minimum severity of log messages from the server.
    ///
    /// # Errors
    /// As for [`Client::request`].
    pub async fn set_log_level(&self, level: LoggingLevel) -> Result<(), ClientError> {
        let params = RawJson::object(&serde_json::json!({"level": level}));
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

    /// Checks that the server is alive.
    ///
    /// # Errors
    /// As for [`Client::request`].
    pub async fn ping(&self) -> Result<(), ClientError> {
        self.ping_with(&RequestOptions::default()).await
    }

    /// Checks that the server is alive, with request options.
    ///
    /// # Errors
    /// As for [`Client::request`].
    pub async fn ping_with(&self, options: &RequestOptions) -> Result<(), ClientError> {
        self.request(method::PING, None, options).await.map(drop)
    }
}

impl ClientInner {
    /// The cache key of a request with a cacheable result.
    fn cache_key(&self, request: RequestParts<'_>) -> Option<CacheKey> {
        let row = request.row.filter(|row| self.options.cache && row.cacheable)?;
        self.revision().filter(|revision| revision.supports(RevisionFeature::CacheHints))?;
        // CCH-08: the answers of a round are not part of the key.
        let is_round = row.takes_input && (request.options.input_responses.are_given() || has_round(request.params));
        (!is_round).then(|| CacheKey::new(request.method, request.params))
    }

    /// The authorization context of the next request, if known.
    pub(in crate::client) fn auth_context(&self) -> Option<u64> {
        self.options.auth.as_ref().map_or(Some(0), |auth| auth.context())
    }
}

/// Returns whether the parameters belong to a later round.
fn has_round(params: Option<&RawJson>) -> bool {
    params.is_some_and(|params| members(params.as_bytes(), ["inputResponses", "requestState"]) != Ok([None, None]))
}
