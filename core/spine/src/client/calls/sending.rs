//! Sends the requests of a call.

use super::whole_lists::with_member;
use crate::{
    client::{
        Client, ClientError, LinkMessage, RequestHead, RequestOptions,
        inner::ClientInner,
        state::{
            client_call::{
                Awaited, CheckableAnswer, ClientCall, Flight, OwnedRequest, RepeatableCall, RequestParts, tool_of,
            },
            reply_to::CallReceiver,
            result_schema::ResultCheck,
            task_wish::{TaskForm, TaskWish},
        },
    },
    engine::{MethodCall, RequestExtras},
    protocol::{
        Era, RawJson, RequestId, Revision, RevisionFeature,
        method::{self, MessageKind, Method, Sender},
        model::TaskSupport,
    },
    runtime::Promise,
    wire_log::Direction,
};
use serde_json::{json, value::RawValue};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

impl ClientInner {
    pub(in crate::client) fn parts<'a>(
        &self,
        method: &'a str,
        params: Option<&'a RawJson>,
        options: &'a RequestOptions,
    ) -> RequestParts<'a> {
        let revision = self.revision();
        let row = revision.and_then(|revision| Method::find(method, MessageKind::Request, Sender::Client, revision));
        RequestParts { method, row, params, options }
    }

    /// The negotiated revision, once the connection is open.
    pub(in crate::client) fn revision(&self) -> Option<Revision> {
        self.server.get().map(|server| server.revision)
    }

    fn takes_input(&self, request: RequestParts<'_>) -> bool {
        request.row.is_some_and(|row| row.takes_input)
            && self.revision().is_some_and(|revision| revision.supports(RevisionFeature::InputRequired))
    }
}

impl Client {
    /// The message that a request with these parameters would send, without sending it.
    ///
    /// ```no_run
    /// # async fn run(client: trunkline::Client) -> Result<(), trunkline::ClientError> {
    /// use trunkline::{RequestOptions, protocol::{RawJson, method}};
    ///
    /// let params = RawJson::from_value(&serde_json::json!({"name": "echo"})).unwrap();
    /// println!("{}", client.preview(method::TOOLS_CALL, Some(&params), &RequestOptions::default())?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the request could not be sent: see [`Client::request`].
    pub fn preview(
        &self,
        method: &str,
        params: Option<&RawJson>,
        options: &RequestOptions,
    ) -> Result<RawJson, ClientError> {
        let inner = &self.inner;
        inner.check_open()?;
        subject(inner.parts(method, params, options))?;
        let mut conversation = inner.conversation.lock();
        let call = MethodCall {
            method: spoken(method, conversation.revision()),
            params,
            timeout: inner.request_timeout(options),
        };
        let nobody = Awaited::by(&Arc::new(ClientCall::new(CallReceiver::future(None))));
        let sent = conversation.request(inner.runtime.now(), call, options.on_progress.is_some(), nobody);
        let sent = sent.map_err(|error| ClientError::Invalid(error.message))?;
        conversation.fail(&sent.id);
        Ok(RawJson::trusted(sent.message))
    }

    /// The HTTP headers of the request of [`Client::preview`] that repeat members of it. `None` in
    /// the legacy era, in which a session comes first.
    ///
    /// # Errors
    /// If the request could not be sent: see [`Client::request`].
    #[doc(hidden)]
    pub fn preview_head(
        &self,
        method: &str,
        params: Option<&RawJson>,
        options: &RequestOptions,
    ) -> Result<Option<RequestHead>, ClientError> {
        let inner = &self.inner;
        inner.check_open()?;
        let name = subject(inner.parts(method, params, options))?;
        let Some(revision) = inner.revision().filter(|revision| revision.era() == Era::Modern) else {
            return Ok(None);
        };
        let parameters = match (method, &name) {
            (method::TOOLS_CALL, Some(tool)) => inner.known_tools.headers_of(tool, params)?,
            _ => Vec::new(),
        };
        let (id, method) = (RequestId::from(0_i64), spoken(method, Some(revision)).into());
        Ok(Some(RequestHead { id, method, name, revision: Some(revision), parameters, trace: None, unattended: false }))
    }

    /// Sends the first request of a call.
    pub(in crate::client) fn send_first(
        &self,
        mut call: ClientCall,
        request: RequestParts<'_>,
        mut extras: RequestExtras,
        task: Option<TaskWish>,
    ) -> Result<Arc<ClientCall>, ClientError> {
        call.method = request.name();
        let takes_input = self.inner.takes_input(request);
        let mut params = None;
        if takes_input || task.is_some() {
            let (given, options) = (request.params, request.options);
            if takes_input && options.input_responses.are_given() {
                params = Some(options.input_responses.with_params(given).map_err(ClientError::unwritable)?);
            }
            extras.task |= task.as_ref().is_some_and(|task| task.as_task);
            let asks = task.as_ref().is_some_and(TaskWish::asks_by_params);
            let first = params.as_ref().or(given).cloned();
            let request = OwnedRequest { params: first, options: options.clone(), extras: extras.clone() };
            call.repeatable = Some(Box::new(RepeatableCall { request, task, began: self.inner.runtime.now() }));
            if asks {
                params = Some(with_task(params.as_ref().or(given), options.task_ttl)?);
            }
        }
        let call = Arc::new(call);
        self.send_request(&call, RequestParts { params: params.as_ref().or(request.params), ..request }, extras, None)?;
        Ok(call)
    }

    /// Sends another request of a call, unless it was cancelled, and waits for the response.
    pub(in crate::client) async fn send_again(
        &self,
        call: &Arc<ClientCall>,
        request: &OwnedRequest,
    ) -> Result<CheckableAnswer, ClientError> {
        let OwnedRequest { params, options, extras } = request;
        let answered = Arc::new(Promise::default());
        let parts = self.inner.parts(&call.method, params.as_ref(), options);
        self.send_request(call, parts, extras.clone(), Some(Arc::clone(&answered)))?;
        Ok(answered.kept().await)
    }

    /// Sends a request of a call and records its id, so that the call can be cancelled.
    fn send_request(
        &self,
        call: &Arc<ClientCall>,
        request: RequestParts<'_>,
        extras: RequestExtras,
        again: Option<Arc<Promise<CheckableAnswer>>>,
    ) -> Result<(), ClientError> {
        let (inner, RequestParts { method, params, options, .. }) = (&self.inner, request);
        // Held until the id is recorded, so that an immediate response finds it.
        let mut flight = call.flight.lock();
        if again.is_some() && matches!(*flight, Flight::Cancelled) {
            return Err(ClientError::Cancelled);
        }
        inner.check_open()?;
        let timeout = inner.request_timeout(options);
        let name = subject(request)?;
        let (parameters, check) = match (method, &name) {
            (method::TOOLS_CALL, Some(tool)) => {
                let check = inner.known_tools.output_schema(tool);
                let check = check.map(|schema| ResultCheck::new(schema, timeout, inner.runtime.now()));
                (inner.known_tools.headers_of(tool, params)?, check)
            }
            _ => (Vec::new(), None),
        };
        let awaited = Awaited { call: Arc::clone(call), check, again };
        let (sent, deadline, method, revision) = {
            let mut conversation = inner.conversation.lock();
            // Checked with the table locked, so that closing comes later and also ends this
            // request.
            inner.check_open()?;
            let revision = conversation.revision();
            let method = spoken(method, revision);
            let in_flight = conversation.outgoing.in_flight();
            if in_flight >= inner.options.max_in_flight {
                return Err(ClientError::Busy(format!("{in_flight} requests are already in flight")));
            }
            let call = MethodCall { method, params, timeout };
            let sent = conversation.request(inner.runtime.now(), call, extras, awaited);
            let sent = sent.map_err(|error| ClientError::Invalid(error.message))?;
            (sent, conversation.outgoing.next_deadline(), method, revision)
        };
        let id = sent.id.clone();
        if let Err(error) = inner.check_size(method, &sent.message) {
            inner.conversation.lock().fail(&id);
            return Err(error);
        }
        inner.log(Direction::Sent, revision, method, &sent.message);
        let (method, trace, unattended) = (method.into(), sent.trace, options.unattended);
        let head = RequestHead { id: sent.id, method, name, revision, parameters, trace, unattended };
        let caller = inner.local_caller(options.cause.as_ref());
        inner.deliver(LinkMessage { bytes: sent.message, request: Some(head), alone: sent.alone, caller });
        inner.arm_timer(deadline);
        *flight = Flight::Sent(id);
        Ok(())
    }

    pub(in crate::client) fn task_form(&self) -> Option<TaskForm> {
        let server = self.inner.server.get()?;
        *self.inner.task_form.get_or_init(|| TaskForm::of(server))
    }

    /// The task request of a call whose caller waits for the result, on a connection whose calls
    /// may become tasks.
    pub(in crate::client) fn task_wish(&self, request: RequestParts<'_>, is_own: bool) -> Option<TaskWish> {
        let form = self.task_form().filter(|_| request.method == method::TOOLS_CALL)?;
        // TSK-06
        let as_task = form == TaskForm::Core && self.needs_task(request.params);
        (is_own || as_task).then_some(TaskWish { form, as_task, taker: None })
    }

    /// Returns whether a tool can only be called as a task.
    fn needs_task(&self, params: Option<&RawJson>) -> bool {
        tool_of(params).is_some_and(|tool| self.inner.known_tools.task_support(&tool) == Some(TaskSupport::Required))
    }
}

/// The era without `ping` uses discovery as its liveness check (docs/versions.md, 2.5).
fn spoken(method: &str, revision: Option<Revision>) -> &str {
    match revision {
        Some(revision) if method == method::PING && revision.era() == Era::Modern => method::DISCOVER,
        _ => method,
    }
}

/// The name or URI of a request. Refuses arguments that are not an object, because servers treat
/// them differently.
fn subject(RequestParts { method, row, params, .. }: RequestParts<'_>) -> Result<Option<String>, ClientError> {
    let parameter = row.and_then(|row| row.name_parameter);
    let Some((parameter, params)) = parameter.zip(params) else { return Ok(None) };
    // Keys may contain escapes, so they are not borrowed. Other params are refused later.
    let Ok(members) = params.parse::<BTreeMap<String, &RawValue>>() else { return Ok(None) };
    let name = members.get(parameter).and_then(|name| serde_json::from_str::<String>(name.get()).ok());
    if members.get("arguments").is_some_and(|arguments| !arguments.get().starts_with('{')) {
        let name = name.unwrap_or_default();
        return Err(ClientError::Invalid(format!("{method}: the arguments of {name:?} must be an object")));
    }
    Ok(name)
}

/// The parameters of a call that requests a task (2025-11-25).
pub(in crate::client) fn with_task(params: Option<&RawJson>, ttl: Option<Duration>) -> Result<RawJson, ClientError> {
    let ttl = ttl.map(|ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX));
    with_member(params, "task", &ttl.map_or_else(|| json!({}), |ttl| json!({"ttl": ttl})))
}
