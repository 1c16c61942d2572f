//! Requests of a client, from their start to their end, and its notifications.

use super::{
    cancel_on_drop::CancelOnDrop,
    client::Client,
    error::ClientError,
    flight::{Flight, InFlight},
    link::LinkMessage,
    observed_reply::end_with,
    options::RequestOptions,
    repeat_on_mismatch::RepeatOnMismatch,
    reply::{ReplyTo, Waiter},
    request_log::logged,
    rounds::{ClientRounds, RepeatedCall},
};
use crate::{
    engine::{OnBehalf, RequestExtras},
    protocol::{
        Era, RawJson, RequestId, Revision, RevisionFeature,
        method::{self, MessageKind, Method, Sender},
        model::LoggingLevel,
    },
    sync::Mutex,
    telemetry::OpenOperation,
    wire_log::Direction,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

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
        let waiter = Arc::new(Waiter::new(options.on_progress.clone()));
        let extras = RequestExtras { on_behalf: other, ..options.on_progress.is_some().into() };
        let in_flight = self.start(method, params, options, extras, waiter.clone())?;
        let guard = CancelOnDrop::new(self, in_flight);
        let outcome = waiter.outcome().await;
        guard.disarm();
        outcome
    }

    /// Sends a request; its outcome goes to `reply`, exactly once unless this fails.
    /// `ping` is spoken as the revision knows it.
    #[doc(hidden)]
    pub fn start(
        &self,
        method: &str,
        params: Option<&RawJson>,
        options: &RequestOptions,
        extras: RequestExtras,
        reply: Arc<dyn ReplyTo>,
    ) -> Result<InFlight, ClientError> {
        let revision = self.inner.conversation.lock().revision();
        if let Some(done) = self.keep_log_level(method, params, revision)? {
            reply.answered(Ok(done));
            return Ok(InFlight(Arc::new(Mutex::new(Flight::Cancelled))));
        }
        if extras.on_behalf.is_none()
            && let Some(kept) = self.kept(method, params, options, revision)?
        {
            reply.answered(Ok(kept));
            return Ok(InFlight(Arc::new(Mutex::new(Flight::Cancelled))));
        }
        let extras = RequestExtras { trace: extras.trace.or_else(|| options.trace.clone()), ..extras };
        let (extras, reply) = match self.inner.telemetry.as_deref() {
            Some(telemetry) => self.inner.observed(telemetry, method, params, extras, reply),
            None => (extras, reply),
        };
        self.start_observed(method, params, options, extras, reply)
    }

    /// Sends a request whose telemetry has begun.
    pub(super) fn start_observed(
        &self,
        method: &str,
        params: Option<&RawJson>,
        options: &RequestOptions,
        extras: RequestExtras,
        reply: Arc<dyn ReplyTo>,
    ) -> Result<InFlight, ClientError> {
        let revision = self.inner.conversation.lock().revision();
        let is_own = extras.on_behalf.is_none();
        let reply = logged(&self.inner.runtime, method, reply);
        let call = |extras| RepeatedCall {
            method: method.to_owned(),
            params: params.cloned(),
            options: options.clone(),
            extras,
        };
        if method == method::TOOLS_CALL
            && let Some(form) = self.task_form()
            && (is_own || self.needs_task(params))
        {
            let flight = InFlight::default();
            self.start_tool_call(&flight, form, call(extras), reply)?;
            return Ok(flight);
        }
        if !takes_input(method, revision) {
            let reply = self.keeping(method, params, options, revision, reply);
            let id = self.start_once(method, params, options, extras, reply)?;
            return Ok(InFlight(Arc::new(Mutex::new(Flight::Sent(id)))));
        }
        let flight = InFlight::default();
        self.start_in(&flight, call(extras), reply, false)?;
        Ok(flight)
    }

    /// Sends a request whose answer may have to be asked for again: in rounds, or with headers that
    /// were missing. `again`: not if it was cancelled already.
    pub(super) fn start_in(
        &self,
        flight: &InFlight,
        call: RepeatedCall,
        reply: Arc<dyn ReplyTo>,
        again: bool,
    ) -> Result<(), ClientError> {
        let revision = self.inner.conversation.lock().revision();
        let RepeatedCall { method, params, options, extras } = call.clone();
        if !takes_input(&method, revision) {
            return self.send_noting(flight, &method, params.as_ref(), &options, extras, reply, again);
        }
        let params = if options.input_responses.are_given() {
            let given = options.input_responses.with_params(params.as_ref());
            Some(given.map_err(|error| ClientError::Invalid(error.to_string()))?)
        } else {
            params
        };
        let rounds = ClientRounds {
            client: Arc::downgrade(&self.inner),
            call: Arc::new(RepeatedCall { params: params.clone(), ..call }),
            reply,
            flight: flight.clone(),
            round: 0,
            spent: Duration::ZERO,
            began: self.inner.runtime.now(),
        };
        // The first answer alone: those of later rounds are not kept, nor those for other clients.
        let rounds: Arc<dyn ReplyTo> = Arc::new(rounds);
        let reply = match &extras.on_behalf {
            None => self.keeping(&method, params.as_ref(), &options, revision, rounds),
            Some(_) => rounds,
        };
        if method != method::TOOLS_CALL || !self.inner.mirrors(revision) {
            return self.send_noting(flight, &method, params.as_ref(), &options, extras, reply, again);
        }
        let repeat = RepeatOnMismatch {
            client: Arc::downgrade(&self.inner),
            params: params.clone(),
            options: options.clone(),
            extras: extras.clone(),
            reply,
            flight: flight.clone(),
        };
        self.send_noting(flight, &method, params.as_ref(), &options, extras, Arc::new(repeat), again)
    }

    /// Sends a request and notes its id, so that the flight can be cancelled. `again`: not if it
    /// was cancelled already.
    #[expect(clippy::too_many_arguments, reason = "the parts of a request, and where its id is noted")]
    pub(super) fn send_noting(
        &self,
        flight: &InFlight,
        method: &str,
        params: Option<&RawJson>,
        options: &RequestOptions,
        extras: RequestExtras,
        reply: Arc<dyn ReplyTo>,
        again: bool,
    ) -> Result<(), ClientError> {
        // Held until the id is noted, so that an answer that comes at once finds it.
        let mut noted = flight.0.lock();
        if again && matches!(*noted, Flight::Cancelled) {
            return Err(ClientError::Cancelled);
        }
        *noted = Flight::Sent(self.start_once(method, params, options, extras, reply)?);
        Ok(())
    }

    /// Keeps the log level. In the modern era it travels with each request, and nothing is sent:
    /// gives the result then. In the legacy era the next connection asks for it again.
    fn keep_log_level(
        &self,
        method: &str,
        params: Option<&RawJson>,
        revision: Option<Revision>,
    ) -> Result<Option<RawJson>, ClientError> {
        #[derive(Deserialize)]
        struct Level {
            level: LoggingLevel,
        }
        if method != method::LOGGING_SET_LEVEL {
            return Ok(None);
        }
        let travels = revision.is_some_and(|revision| revision.supports(RevisionFeature::LogLevelPerRequest));
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

    pub(super) fn start_once(
        &self,
        method: &str,
        params: Option<&RawJson>,
        options: &RequestOptions,
        extras: RequestExtras,
        reply: Arc<dyn ReplyTo>,
    ) -> Result<RequestId, ClientError> {
        self.inner.check_open()?;
        let timeout = self.inner.request_timeout(options);
        let name = subject(method, params)?;
        let (parameters, reply) = match method {
            method::TOOLS_CALL => {
                let reply = self.checking(self.inner.output_schemas.of_call(params), options, reply);
                (self.inner.mirrored.of_call(params)?, reply)
            }
            _ => (Vec::new(), reply),
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
            let sent = conversation.request(self.inner.runtime.now(), timeout, method, params, extras, reply);
            (sent.map_err(|error| ClientError::Invalid(error.message))?, method, revision)
        };
        let id = sent.id.clone();
        if let Err(error) = self.inner.check_size(method, &sent.message) {
            self.inner.conversation.lock().fail(&id);
            return Err(error);
        }
        self.inner.send_request(sent, method, revision, name, parameters, options.cause.as_ref());
        Ok(id)
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// If the protocol has it and the revision does not, or the connection is closed.
    pub fn notify(&self, method: &str, params: Option<&RawJson>) -> Result<(), ClientError> {
        self.notify_within(None, method, params)
    }

    /// Sends a notification, for which the host of a binding may have begun a span.
    ///
    /// # Errors
    /// As for [`Client::notify`].
    #[doc(hidden)]
    pub fn notify_within(
        &self,
        given: Option<Arc<dyn OpenOperation>>,
        method: &str,
        params: Option<&RawJson>,
    ) -> Result<(), ClientError> {
        let Some(operation) = self.inner.observed_notification(method, params, given) else {
            return self.send_notification(method, params);
        };
        let context = operation.context();
        // Params that are not an object are refused below.
        let traced = (!context.is_empty()).then(|| context.put_into(params).ok()).flatten();
        let sent = self.send_notification(method, traced.as_ref().or(params));
        let outcome = sent.as_ref().map(|()| RawJson::empty_object()).map_err(Clone::clone);
        operation.end(end_with(method, &outcome));
        sent
    }

    fn send_notification(&self, method: &str, params: Option<&RawJson>) -> Result<(), ClientError> {
        self.inner.check_open()?;
        let notification = self.inner.conversation.lock().notification(method, params);
        let notification = notification.map_err(|error| ClientError::Invalid(error.message))?;
        self.inner.check_size(method, &notification)?;
        let revision = self.inner.conversation.lock().revision();
        self.inner.log(Direction::Sent, revision, "", &notification);
        self.inner.deliver(LinkMessage { bytes: notification, request: None, alone: false, caller: None });
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

/// Discovery is the liveness check of the era that has no `ping` (docs/versions.md, 2.5).
fn spoken(method: &str, revision: Option<Revision>) -> &str {
    match revision {
        Some(revision) if method == method::PING && revision.era() == Era::Modern => method::DISCOVER,
        _ => method,
    }
}

/// The name or URI that a request is about. Refuses arguments that are not an object: servers
/// differ in how they treat them.
fn subject(method: &str, params: Option<&RawJson>) -> Result<Option<String>, ClientError> {
    let Some((parameter, params)) = Method::name_parameter(method).zip(params) else { return Ok(None) };
    // Keys may be written with escapes, so they are not borrowed. Other params are refused below.
    let Ok(members) = params.parse::<BTreeMap<String, &RawValue>>() else { return Ok(None) };
    let name = members.get(parameter).and_then(|name| serde_json::from_str::<String>(name.get()).ok());
    if members.get("arguments").is_some_and(|arguments| !arguments.get().starts_with('{')) {
        let name = name.unwrap_or_default();
        return Err(ClientError::Invalid(format!("{method}: the arguments of {name:?} must be an object")));
    }
    Ok(name)
}

fn takes_input(method: &str, revision: Option<Revision>) -> bool {
    revision.filter(|revision| revision.supports(RevisionFeature::InputRequired)).is_some_and(|revision| {
        Method::find(method, MessageKind::Request, Sender::Client, revision).is_some_and(|method| method.takes_input)
    })
}
