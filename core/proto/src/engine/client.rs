//! The client side of one conversation.

use super::{
    ClientIdentity,
    host_tasks::{self, TaskMetadata},
    outgoing::{MethodCall, OutgoingRequests, RequestTimeout, one_line},
    params::{self, id_in, is_object},
};
use crate::protocol::{
    Era, RawJson, RequestId, Revision, RevisionFeature, RpcError, SentTrace,
    envelope::{self, Message, NoResult, Notification, Request, Response},
    extension,
    input::check_received,
    members::{MemberValue, members, members_of_member},
    meta,
    method::{self, MessageKind, Method, Sender},
    model::LoggingLevel,
};
use bytes::Bytes;
use serde_json::Value;
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

/// The state of one conversation. A `T` is kept with each request.
#[derive(Debug)]
pub struct ClientConversation<T> {
    identity: ClientIdentity,
    /// The identity, projected to the revision.
    spoken: ClientIdentity,
    /// Set if each request declares the tasks extension.
    declares_tasks: bool,
    /// The capabilities with that extension, once a request has declared it.
    with_tasks: Option<RawJson>,
    revision: Option<Revision>,
    /// `initialize` is in flight, or answered but not settled yet.
    opening: bool,
    /// Our own pending requests, whose timeouts can be paused and resumed.
    pub outgoing: OutgoingRequests<Sent<T>>,
    /// Requests that became tasks and may still report progress (PRG-07).
    tasks: HashMap<RequestId, T>,
    /// Requests for tasks that were cancelled before their task was known (CAN-04).
    abandoned: HashSet<RequestId>,
    /// Requests from the server that the host has not answered yet.
    incoming: HashSet<RequestId>,
    /// The minimum level of the log messages that each request of the modern era asks for (LOG-04).
    pub log_level: Option<LoggingLevel>,
}

/// Maximum number of cancelled requests for tasks that are remembered.
const MAX_ABANDONED: usize = 1_024;

/// Maximum number of pending requests from a server; more are refused as busy.
const MAX_INCOMING: usize = 64;

/// The state of a pending request.
#[derive(Debug)]
pub struct Sent<T> {
    revision: Option<Revision>,
    method: Box<str>,
    /// Set if a task is an allowed response.
    as_task: bool,
    item: T,
}

/// The client on whose behalf a request is made. A server of the modern era sees its capabilities
/// instead of ours.
#[derive(Debug, Clone, PartialEq)]
pub struct OnBehalf {
    /// The capabilities object.
    pub capabilities: RawJson,
    /// The minimum log level that it requests, or `None` for no messages.
    pub log_level: Option<LoggingLevel>,
}

/// Optional settings of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestExtras {
    /// Requests progress notifications.
    pub progress: bool,
    /// Lets the server respond with a task: in the modern era by declaring the extension (TKX-01),
    /// on 2025-11-25 through the parameters.
    pub task: bool,
    /// Set if the request is made on behalf of another client.
    pub on_behalf: Option<Arc<OnBehalf>>,
    /// The trace context to send in `_meta` instead of the caller's. The request's id is recorded
    /// in it.
    pub trace: Option<Arc<SentTrace>>,
}

impl From<bool> for RequestExtras {
    fn from(progress: bool) -> Self {
        Self { progress, ..Self::default() }
    }
}

/// A request that opens the conversation.
#[derive(Debug, Clone)]
pub struct OpeningRequest<T> {
    /// The proposed revision.
    pub revision: Revision,
    /// Its timeouts.
    pub timeout: RequestTimeout,
    /// Its trace context.
    pub trace: Option<Arc<SentTrace>>,
    /// The item to keep with it.
    pub item: T,
}

/// A request ready to be sent.
#[derive(Debug, Clone)]
pub struct SentRequest {
    /// Its id, unique in this conversation.
    pub id: RequestId,
    /// The message.
    pub message: Bytes,
    /// Set if no other request is in flight.
    pub alone: bool,
    /// Its trace context.
    pub trace: Option<Arc<SentTrace>>,
}

/// The meaning of a received message.
#[derive(Debug)]
pub enum ClientReceived<T> {
    /// The response to a request.
    Answered {
        /// Its id.
        id: RequestId,
        /// The item kept with the request.
        item: T,
        /// Its method.
        method: Box<str>,
        /// The server's answer.
        answer: Answer<NoResult>,
    },
    /// The response to a cancelled request for a task. It may name a task to cancel (CAN-04).
    Abandoned(RawJson),
    /// Progress of a pending request, or of the task that it became.
    Progress {
        /// The item kept with the request.
        item: T,
        /// The notification's parameters.
        params: RawJson,
    },
    /// A notification of an open subscription.
    OfSubscription {
        /// The item kept with its `subscriptions/listen`.
        item: T,
        /// The notification.
        notification: Notification,
    },
    /// Any other notification.
    Notification(Notification),
    /// A request from the server, to be answered by the host.
    Request(IncomingRequest),
    /// The server cancelled a pending request; no response is sent (CAN-05).
    Withdrawn(RequestId),
    /// A request from the server that the engine answers itself; the response to send.
    Replied(Bytes),
    /// Nothing to do; the reason, to be logged.
    Nothing(&'static str),
}

/// The server's response to one request. `E` is why there is no result.
#[derive(Debug)]
pub enum Answer<E> {
    /// The result or error.
    Outcome(Result<RawJson, E>),
    /// The server needs input first (MRTR-01). The result: input requests, state, or both.
    InputRequired(RawJson),
    /// The server created a task of the extension (TKX-03). The result, with the task.
    Task(RawJson),
}

/// A valid request from the server for a declared capability.
#[derive(Debug, Clone, PartialEq)]
pub struct IncomingRequest {
    /// Its id, for [`ClientConversation::answer`].
    pub id: RequestId,
    /// Its method.
    pub method: &'static str,
    /// Its parameters; an empty object if there are none.
    pub params: RawJson,
    /// The requested task, if the server asks for one and the client has declared it (2025-11-25).
    pub task: Option<TaskMetadata>,
}

impl<T: Clone> ClientConversation<T> {
    /// A conversation before its revision is negotiated.
    pub fn new(identity: ClientIdentity) -> Self {
        Self {
            spoken: identity.clone(),
            declares_tasks: false,
            with_tasks: None,
            identity,
            revision: None,
            opening: false,
            outgoing: OutgoingRequests::default(),
            tasks: HashMap::new(),
            abandoned: HashSet::new(),
            incoming: HashSet::new(),
            log_level: None,
        }
    }

    /// Sets the negotiated revision.
    pub fn settle(&mut self, revision: Revision) {
        self.revision = Some(revision);
        self.speak(revision);
    }

    /// Changes the declared capabilities: servers of the modern era get them with each following
    /// request, others when the conversation is opened.
    pub fn declare(&mut self, capabilities: RawJson) {
        self.identity.capabilities = capabilities;
        if let Some(revision) = self.revision {
            self.speak(revision);
        }
    }

    fn speak(&mut self, revision: Revision) {
        self.spoken = self.identity.at(revision);
        self.with_tasks = None;
        self.declares_tasks =
            revision.supports(RevisionFeature::TasksExtension) && self.spoken.declares(&extension::TASKS);
    }

    /// The capabilities, projected to the current revision.
    pub fn capabilities(&self) -> &RawJson {
        &self.spoken.capabilities
    }

    /// The capabilities declared by requests so far, for the wire log.
    pub fn declared(&self) -> &RawJson {
        self.with_tasks.as_ref().unwrap_or(&self.spoken.capabilities)
    }

    /// The negotiated revision.
    pub fn revision(&self) -> Option<Revision> {
        self.revision
    }

    /// Creates `initialize` (LIFE-01).
    pub fn initialize(&mut self, now: Instant, opening: OpeningRequest<T>) -> SentRequest {
        let params = self.identity.at(opening.revision).initialize_params(opening.revision);
        self.opening = true;
        self.open(now, method::INITIALIZE, params, opening)
    }

    /// Creates `server/discover` for a revision that is not settled yet.
    pub fn discover(&mut self, now: Instant, opening: OpeningRequest<T>) -> SentRequest {
        let revision = opening.revision;
        let meta = self.identity.at(revision).meta(revision, None, None).unwrap_or_default();
        self.opening = false;
        self.open(now, method::DISCOVER, format!(r#"{{"_meta":{{{meta}}}}}"#), opening)
    }

    /// Creates a request.
    ///
    /// # Errors
    /// If no revision is settled, the protocol's method does not exist in the revision, or the
    /// parameters are not an object.
    pub fn request(
        &mut self,
        now: Instant,
        MethodCall { method, params, timeout }: MethodCall<'_>,
        extras: impl Into<RequestExtras>,
        item: T,
    ) -> Result<SentRequest, RpcError> {
        let extras = extras.into();
        let (revision, row) = self.checked(method, MessageKind::Request)?;
        // TKX-21: the methods of the extension require its declaration, too.
        let declares = (extras.task || row.is_some_and(|row| row.extension == Some(&extension::TASKS)))
            && revision.supports(RevisionFeature::TasksExtension);
        let (spoken, log_level) = match extras.on_behalf.as_deref() {
            None => (Cow::Borrowed(&self.spoken), self.log_level),
            Some(OnBehalf { capabilities, log_level }) => {
                let (info, capabilities) = (self.spoken.info.clone(), capabilities.clone());
                (Cow::Owned(ClientIdentity { info, capabilities }.at(revision)), *log_level)
            }
        };
        let identity = if declares { Cow::Owned(spoken.declaring(&extension::TASKS)) } else { spoken };
        if declares && self.with_tasks.is_none() {
            self.with_tasks = Some(self.spoken.declaring(&extension::TASKS).capabilities);
        }
        let as_task = extras.task || (self.declares_tasks && extras.on_behalf.is_none());
        let sent = Sent { revision: Some(revision), method: method.into(), as_task, item };
        let id = self.outgoing.start(now, timeout, sent);
        let meta = identity.meta(revision, extras.progress.then_some(&id), log_level);
        // A `_meta` that is not an object is rejected below.
        let traced = extras.trace.as_ref().and_then(|trace| trace.sent(id.clone(), method, now, params));
        let params = traced.as_ref().or(params);
        match params::sent(method, revision, params, meta.as_deref()) {
            Ok(params) => Ok(SentRequest {
                message: envelope::encode_request(&id, method, params.as_deref()),
                alone: self.outgoing.in_flight() == 1,
                trace: extras.trace,
                id,
            }),
            Err(error) => {
                self.outgoing.finish(&id);
                Err(error)
            }
        }
    }

    /// Creates a notification.
    ///
    /// # Errors
    /// As for [`Self::request`].
    pub fn notification(&self, method: &str, params: Option<&RawJson>) -> Result<Bytes, RpcError> {
        let (revision, _) = self.checked(method, MessageKind::Notification)?;
        let params = params::sent(method, revision, params, None)?;
        Ok(envelope::encode_notification(method, params.as_deref()))
    }

    /// The revision and the row of the method. Methods of extensions and vendors have no row.
    fn checked(&self, method: &str, kind: MessageKind) -> Result<(Revision, Option<&'static Method>), RpcError> {
        let revision = self.revision.ok_or_else(|| RpcError::invalid_request("The connection is not ready"))?;
        match Method::find(method, kind, Sender::Client, revision) {
            None if Method::is_standard(method) => {
                Err(RpcError::method_not_found(&format!("{method} (revision {revision} has no such method)")))
            }
            row => Ok((revision, row)),
        }
    }

    fn open(&mut self, now: Instant, method: &str, params: String, opening: OpeningRequest<T>) -> SentRequest {
        let OpeningRequest { revision, timeout, trace, item } = opening;
        // The response to `initialize` chooses the revision.
        let revision = (!self.opening).then_some(revision);
        let id = self.outgoing.start(now, timeout, Sent { revision, method: method.into(), as_task: false, item });
        let params = RawJson::trusted(params.into());
        let traced = trace.as_ref().and_then(|trace| trace.sent(id.clone(), method, now, Some(&params)));
        let params = traced.unwrap_or(params);
        let message = envelope::encode_request(&id, method, Some(&one_line(params.as_bytes())));
        SentRequest { message, alone: self.outgoing.in_flight() == 1, id, trace }
    }

    /// Handles a received message.
    pub fn receive(&mut self, now: Instant, message: Message) -> ClientReceived<T> {
        match message {
            Message::Response(response) => self.response(response),
            Message::Request(request) => self.request_received(request),
            Message::Notification(notification) if &*notification.method == method::PROGRESS => {
                let Some(params) = notification.params else {
                    return ClientReceived::Nothing("progress without params");
                };
                let Some(token) = id_in(&params, meta::PROGRESS_TOKEN) else {
                    return ClientReceived::Nothing("progress without a token");
                };
                let of_request = self.outgoing.progress(now, &token).map(|sent| sent.item.clone());
                match of_request.or_else(|| self.tasks.get(&token).cloned()) {
                    Some(item) => ClientReceived::Progress { item, params },
                    None => ClientReceived::Nothing("progress for an unknown request"),
                }
            }
            Message::Notification(notification) if &*notification.method == method::CANCELLED => {
                match notification.params.as_ref().and_then(|params| id_in(params, "requestId")) {
                    Some(id) if self.incoming.remove(&id) => ClientReceived::Withdrawn(id),
                    // CAN-11: the subscription has ended, unless its response came first.
                    Some(id) if self.subscription(&id).is_some() => {
                        self.response(Response { id: Some(id), outcome: Ok(RawJson::empty_object()) })
                    }
                    _ => ClientReceived::Nothing("a cancellation of an unknown request"),
                }
            }
            Message::Notification(notification) => self.notified(notification),
        }
    }

    /// A notification that names a subscription belongs to that `subscriptions/listen` only
    /// (SUB-03). It is too late if the subscription has ended.
    fn notified(&self, notification: Notification) -> ClientReceived<T> {
        let Some(id) = notification.params.as_ref().and_then(subscription_of) else {
            return ClientReceived::Notification(notification);
        };
        match self.subscription(&id) {
            Some(sent) => ClientReceived::OfSubscription { item: sent.item.clone(), notification },
            None => ClientReceived::Nothing("a notification for an unknown subscription"),
        }
    }

    fn subscription(&self, id: &RequestId) -> Option<&Sent<T>> {
        self.outgoing.get(id).filter(|sent| &*sent.method == method::SUBSCRIPTIONS_LISTEN)
    }

    fn response(&mut self, response: Response) -> ClientReceived<T> {
        let sent = response.id.clone().and_then(|id| Some((self.outgoing.finish(&id)?, id)));
        let Some((sent, id)) = sent else {
            let abandoned = response.id.as_ref().is_some_and(|id| self.abandoned.remove(id));
            return match response.outcome {
                Ok(result) if abandoned => ClientReceived::Abandoned(result),
                _ => ClientReceived::Nothing("a response to an unknown request"),
            };
        };
        let checked = response.outcome.and_then(|result| answer(&sent, result));
        let answer = checked.unwrap_or_else(|error| Answer::Outcome(Err(error)));
        let Sent { item, method, .. } = sent;
        ClientReceived::Answered { id, item, method, answer }
    }

    /// Servers of the modern era send no requests (RPC-31), and requests for undeclared
    /// capabilities are refused. A server may already ping while `initialize` is pending (LIFE-05,
    /// PING-01).
    fn request_received(&mut self, request: Request) -> ClientReceived<T> {
        let Some(revision) = self
            .revision
            .or_else(|| self.opening.then_some(Revision::LATEST_LEGACY))
            .filter(|revision| revision.era() == Era::Legacy)
        else {
            return ClientReceived::Nothing("a request on a connection whose server may not ask");
        };
        let found =
            Method::find(&request.method, MessageKind::Request, Sender::Server, revision).map(|method| method.name);
        let checked = match found {
            Some(method::PING) => return ClientReceived::Replied(envelope::encode_result(&request.id, b"{}")),
            Some(name) if self.revision.is_some() => self.admit(name, &request, revision).map(|task| (name, task)),
            _ => Err(RpcError::method_not_found(&request.method)),
        };
        match checked {
            Ok((method, task)) => {
                let params = request.params.unwrap_or_else(RawJson::empty_object);
                ClientReceived::Request(IncomingRequest { id: request.id, method, params, task })
            }
            Err(error) => ClientReceived::Replied(envelope::encode_error(Some(&request.id), &error)),
        }
    }

    fn admit(&mut self, name: &str, request: &Request, revision: Revision) -> Result<Option<TaskMetadata>, RpcError> {
        let read = |json: &RawJson| json.parse::<Value>().map_err(|error| RpcError::invalid_params(error.to_string()));
        let params = request.params.as_ref().map_or(Ok(Value::Null), read)?;
        let capabilities = read(&self.spoken.capabilities)?;
        let task = if host_tasks::is_about_tasks(name) {
            host_tasks::check_declared(name, &capabilities)?;
            None
        } else {
            check_received(name, &params, &capabilities, revision)?;
            host_tasks::requested(name, &params, &capabilities)?
        };
        // Requests about tasks are answered immediately, except those that wait for a result.
        let waits = !host_tasks::is_about_tasks(name) || name == method::TASKS_RESULT;
        if waits && self.incoming.len() >= MAX_INCOMING {
            return Err(RpcError::busy(&format!("{MAX_INCOMING} requests from the server are already pending")));
        }
        if !self.incoming.insert(request.id.clone()) {
            return Err(RpcError::invalid_request("A request with this id is already pending"));
        }
        Ok(task)
    }

    /// Creates the host's response to a request from the server. Returns `None` if the server has
    /// cancelled the request.
    pub fn answer(&mut self, id: &RequestId, outcome: Result<RawJson, RpcError>) -> Option<Bytes> {
        self.incoming.remove(id).then(|| match outcome {
            Ok(result) => envelope::encode_result(id, &one_line(result.as_bytes())),
            Err(error) => envelope::encode_error(Some(id), &error),
        })
    }

    /// Cancels a request. Returns the item kept with it, and the notification to send over a pipe.
    pub fn cancel(&mut self, id: &RequestId, reason: &str) -> Option<(T, Option<Bytes>)> {
        let sent = self.outgoing.finish(id)?;
        // CAN-04: the task is cancelled once its id is known.
        if sent.as_task && sent.revision.is_some_and(|revision| revision.supports(RevisionFeature::CoreTasks)) {
            if self.abandoned.len() < MAX_ABANDONED {
                self.abandoned.insert(id.clone());
            }
            return Some((sent.item, None));
        }
        // CAN-03: `initialize` is never cancelled. Neither is an abandoned probe: the server is
        // assumed to process nothing before `initialize`, and a late response is ignored by its id.
        let notification = self.revision.is_some().then(|| envelope::cancellation(id, reason));
        Some((sent.item, notification))
    }

    /// Keeps accepting the progress of a request that became a task, with `item` (PRG-07).
    pub fn follow(&mut self, id: RequestId, item: T) {
        self.tasks.insert(id, item);
    }

    /// Undoes [`Self::follow`].
    pub fn unfollow(&mut self, id: &RequestId) {
        self.tasks.remove(id);
    }

    /// Removes a request whose transport failed.
    pub fn fail(&mut self, id: &RequestId) -> Option<T> {
        self.outgoing.finish(id).map(|sent| sent.item)
    }

    /// Returns whether a request is in flight.
    pub fn awaits(&self, id: &RequestId) -> bool {
        self.outgoing.deadline_of(id).is_some()
    }

    /// A request that has timed out (`cancel` it), its method, and the timeout that was exceeded.
    pub fn expired(&self, now: Instant) -> Option<(RequestId, &str, Duration)> {
        self.outgoing.first_due(now).map(|(id, sent, over)| (id, &*sent.method, over))
    }

    /// Removes the server's pending requests, because its session has ended.
    pub fn forget_incoming(&mut self) {
        self.incoming.clear();
    }

    /// Removes all pending requests, in both directions.
    pub fn drain(&mut self) -> Vec<T> {
        self.forget_incoming();
        self.abandoned.clear();
        self.outgoing.drain().into_iter().map(|(_, sent)| sent.item).collect()
    }
}

/// RPC-21: a result type that was not negotiated is an invalid result. RPC-20: without a type, the
/// result is complete.
fn answer<T>(sent: &Sent<T>, result: RawJson) -> Result<Answer<NoResult>, NoResult> {
    let kind = match members(result.as_bytes(), ["resultType"]) {
        Ok([kind]) if is_object(&result) => kind.map(MemberValue::as_bytes).filter(|kind| *kind != b"null"),
        _ => return Err(NoResult::InvalidResponse("the result is not an object".into())),
    };
    let revision = sent.revision.filter(|revision| revision.supports(RevisionFeature::ResultType));
    let Some((revision, kind)) = revision.zip(kind) else { return Ok(Answer::Outcome(Ok(result))) };
    let takes_input = || {
        Method::find(&sent.method, MessageKind::Request, Sender::Client, revision)
            .is_some_and(|method| method.takes_input)
    };
    match kind {
        b"\"complete\"" => Ok(Answer::Outcome(Ok(result))),
        b"\"input_required\"" if takes_input() => Ok(Answer::InputRequired(result)),
        b"\"input_required\"" => Err(NoResult::InvalidResponse(format!("{} cannot ask for input", sent.method))),
        // TKX-04
        b"\"task\"" if sent.as_task && &*sent.method == method::TOOLS_CALL => Ok(Answer::Task(result)),
        // Some examples of the extension have it here, too.
        b"\"task\"" if &*sent.method == method::TASKS_GET => Ok(Answer::Outcome(Ok(result))),
        _ => {
            let kind = String::from_utf8_lossy(kind);
            Err(NoResult::InvalidResponse(format!("the result has the unexpected type {kind}")))
        }
    }
}

/// The subscription that a notification names.
fn subscription_of(params: &RawJson) -> Option<RequestId> {
    let (_, found) = members_of_member(params.as_bytes(), "_meta", [meta::SUBSCRIPTION_ID]).ok()??;
    let [id] = found.ok()?;
    id?.id()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        engine::Limits,
        protocol::{TraceContext, envelope::Frame, meta},
    };
    use serde_json::{Value, json};

    const TIMEOUT: RequestTimeout = RequestTimeout { timeout: Duration::from_secs(1), max: Duration::from_secs(9) };

    fn call<'a>(method: &'a str, params: Option<&'a RawJson>) -> MethodCall<'a> {
        MethodCall { method, params, timeout: TIMEOUT }
    }

    fn opening(revision: Revision, trace: Option<Arc<SentTrace>>) -> OpeningRequest<&'static str> {
        OpeningRequest { revision, timeout: TIMEOUT, trace, item: "x" }
    }

    fn conversation(revision: Revision) -> ClientConversation<&'static str> {
        let mut conversation = ClientConversation::new(ClientIdentity {
            info: RawJson::from_value(&json!({"name": "c", "version": "1"})).unwrap(),
            capabilities: RawJson::empty_object(),
        });
        conversation.settle(revision);
        conversation
    }

    fn sent(revision: Revision, params: Option<Value>, progress: bool) -> Value {
        let params = params.map(|params| RawJson::from_value(&params).unwrap());
        let mut conversation = conversation(revision);
        let sent = conversation.request(Instant::now(), call("tools/call", params.as_ref()), progress, "x").unwrap();
        serde_json::from_slice(&sent.message).unwrap()
    }

    fn message(value: Value) -> Message {
        match Frame::parse(&value.to_string().into(), Limits::default().frame()) {
            Frame::Single(Ok(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn disc_06_to_08_every_modern_request_identifies_its_client() {
        for params in [None, Some(json!({})), Some(json!({"name": "t"})), Some(json!({"_meta": {"a": 1}, "name": "t"}))]
        {
            let sent = sent(Revision::V2026_07_28, params.clone(), true);
            let meta = &sent["params"]["_meta"];
            assert_eq!(meta[meta::PROTOCOL_VERSION], "2026-07-28");
            assert_eq!(meta[meta::CLIENT_INFO]["name"], "c");
            assert_eq!(meta[meta::CLIENT_CAPABILITIES], json!({}));
            assert_eq!(meta["progressToken"], sent["id"]);
            let params = params.unwrap_or_default();
            assert_eq!(sent["params"]["name"], params["name"]);
            assert_eq!(meta["a"], params["_meta"]["a"]);
        }
    }

    #[test]
    fn keys_that_are_written_with_escapes_are_kept() {
        let mut conversation = conversation(Revision::V2026_07_28);
        let params = RawJson::from_text(r#"{"na\u006de":"t","_meta":{"com.example\/x":1}}"#.into()).unwrap();
        let sent = conversation.request(Instant::now(), call("tools/call", Some(&params)), false, "x").unwrap();
        let sent: Value = serde_json::from_slice(&sent.message).unwrap();
        assert_eq!((&sent["params"]["name"], &sent["params"]["_meta"]["com.example/x"]), (&json!("t"), &json!(1)));
    }

    #[test]
    fn members_of_parameters_and_of_their_meta_keep_their_order() {
        let text = r#"{"name":"t","arguments":{"z":1,"a":2},"_meta":{"y":1,"x":2}}"#;
        let mut conversation = conversation(Revision::V2025_11_25);
        let params = RawJson::from_text(text.into()).unwrap();
        let sent = conversation.request(Instant::now(), call("tools/call", Some(&params)), true, "x").unwrap();
        let sent = String::from_utf8(sent.message.to_vec()).unwrap();
        let order = r#"{"name":"t","arguments":{"z":1,"a":2},"_meta":{"y":1,"x":2,"progressToken":"#;
        assert!(sent.contains(order), "{sent}");
    }

    #[test]
    fn legacy_requests_carry_nothing_of_the_other_era() {
        assert_eq!(sent(Revision::V2025_06_18, Some(json!({"name": "t"})), false)["params"], json!({"name": "t"}));
        assert_eq!(sent(Revision::V2025_06_18, None, false).get("params"), None);
        assert_eq!(
            sent(Revision::V2024_11_05, Some(json!({"_meta": {"a": 1}})), true)["params"],
            json!({"_meta": {"a": 1, "progressToken": 1}})
        );
    }

    #[test]
    fn rpc_38_openings_carry_a_trace_context() {
        let context = TraceContext::of(|key| (key == meta::TRACEPARENT).then(|| "ours".to_owned()));
        let trace = Arc::new(SentTrace::new(context));
        let mut conversation = conversation(Revision::V2025_11_25);
        let (now, given) = (Instant::now(), Some(Arc::clone(&trace)));
        let sent = [
            conversation.discover(now, opening(Revision::V2026_07_28, given.clone())),
            conversation.initialize(now, opening(Revision::V2025_11_25, given)),
        ];
        for (sent, noted) in sent.iter().zip(trace.requests()) {
            let message: Value = serde_json::from_slice(&sent.message).unwrap();
            assert_eq!(message["params"]["_meta"]["traceparent"], "ours");
            assert!(sent.trace.is_some() && noted.id == sent.id && *noted.method == message["method"]);
        }
    }

    #[test]
    fn rpc_38_a_trace_context_replaces_that_of_the_caller_in_every_era() {
        for revision in [Revision::V2024_11_05, Revision::V2026_07_28] {
            let mut conversation = conversation(revision);
            let context = TraceContext::of(|key| (key == meta::TRACEPARENT).then(|| "ours".to_owned()));
            let trace = Arc::new(SentTrace::new(context));
            let params = json!({"name": "t", "_meta": {"a": 1, "traceparent": "theirs", "tracestate": "theirs"}});
            let params = RawJson::from_value(&params).unwrap();
            let extras = RequestExtras { trace: Some(Arc::clone(&trace)), ..true.into() };
            let sent = conversation.request(Instant::now(), call("tools/call", Some(&params)), extras, "x").unwrap();
            assert_eq!(trace.requests()[0].id, sent.id);
            let sent: Value = serde_json::from_slice(&sent.message).unwrap();
            let meta = &sent["params"]["_meta"];
            assert_eq!((&meta["a"], &meta["traceparent"], meta.get("tracestate")), (&json!(1), &json!("ours"), None));
            assert_eq!(meta["progressToken"], sent["id"]);
        }
    }

    #[test]
    fn a_meta_that_is_no_object_is_refused_before_it_is_sent() {
        for meta in [json!(null), json!([]), json!("x")] {
            let mut conversation = conversation(Revision::V2026_07_28);
            let params = RawJson::from_value(&json!({"name": "t", "_meta": meta})).unwrap();
            let sent = conversation.request(Instant::now(), call("tools/call", Some(&params)), false, "x");
            let error = sent.unwrap_err();
            assert!(error.code == -32602 && error.message.contains("_meta"), "{error}");
            assert_eq!(conversation.outgoing.in_flight(), 0);
        }
    }

    #[test]
    fn a_method_that_the_revision_lacks_is_refused_before_it_is_sent() {
        let mut modern = conversation(Revision::V2026_07_28);
        let error = modern.request(Instant::now(), call("ping", None), false, "x").unwrap_err();
        assert_eq!(error.code, -32601);
        assert_eq!(modern.outgoing.in_flight(), 0);
    }

    #[test]
    fn params_that_are_no_object_are_refused_before_they_are_sent() {
        for revision in Revision::ALL {
            for progress in [false, true] {
                let mut conversation = conversation(revision);
                let params = RawJson::from_value(&json!(["t"])).unwrap();
                let sent = conversation.request(Instant::now(), call("tools/call", Some(&params)), progress, "x");
                assert_eq!(sent.unwrap_err().code, -32602, "{revision}");
                assert_eq!(conversation.outgoing.in_flight(), 0);
            }
        }
    }

    #[test]
    fn rpc_06_requests_in_flight_have_unique_ids() {
        for revision in Revision::ALL {
            let (mut conversation, now) = (conversation(revision), Instant::now());
            let mut ids: Vec<_> = (0..100)
                .map(|_| conversation.request(now, call("tools/list", None), false, "x").unwrap().id.to_string())
                .collect();
            ids.sort();
            ids.dedup();
            assert_eq!(ids.len(), 100, "{revision}");
        }
    }

    #[test]
    fn rpc_20_and_21_result_types() {
        for (revision, result, ok) in [
            (Revision::V2026_07_28, json!({"resultType": "complete"}), true),
            (Revision::V2026_07_28, json!({}), true),
            (Revision::V2026_07_28, json!({"resultType": "task"}), false),
            (Revision::V2026_07_28, json!({"resultType": 5}), false),
            (Revision::V2025_11_25, json!({"resultType": "anything"}), true),
            (Revision::V2025_11_25, json!("text"), false),
            (Revision::V2025_11_25, json!([]), false),
            (Revision::V2026_07_28, json!(["complete"]), false),
        ] {
            let mut conversation = conversation(revision);
            let now = Instant::now();
            let sent = conversation.request(now, call("tools/list", None), false, "x").unwrap();
            let answer = message(json!({"jsonrpc": "2.0", "id": sent.id, "result": result}));
            let received = conversation.receive(now, answer.clone());
            let ClientReceived::Answered { answer: Answer::Outcome(outcome), .. } = received else { panic!() };
            assert_eq!(outcome.is_ok(), ok, "{revision} {result}");
            assert!(ok || matches!(outcome, Err(NoResult::InvalidResponse(_))), "not an error of the server");
            // CAN-07: a second response is ignored.
            assert!(matches!(conversation.receive(now, answer), ClientReceived::Nothing(_)));
        }
    }

    /// Methods of extensions and vendors are in no table (EXT-03, EXT-10).
    #[test]
    fn methods_of_vendors_pass_and_those_of_other_revisions_do_not() {
        for revision in Revision::ALL {
            let mut conversation = conversation(revision);
            let sent = conversation.request(Instant::now(), call("com.example/search", None), false, "x").unwrap();
            let sent: Value = serde_json::from_slice(&sent.message).unwrap();
            assert_eq!(sent["method"], "com.example/search");
            let params = RawJson::from_value(&json!({"note": 1})).unwrap();
            let noted = conversation.notification("notifications/com.example.noted", Some(&params)).unwrap();
            let noted: Value = serde_json::from_slice(&noted).unwrap();
            assert_eq!(
                (&noted["method"], &noted["params"]["note"]),
                (&json!("notifications/com.example.noted"), &json!(1))
            );
            assert!(conversation.notification("notifications/tools/list_changed", None).is_err(), "of the server");
            let known = conversation.request(Instant::now(), call("server/discover", None), false, "x");
            assert_eq!(known.is_ok(), revision.era() == Era::Modern, "{revision}");
        }
    }

    #[test]
    fn notifications_of_a_subscription_go_to_its_request_and_late_ones_nowhere() {
        let (mut conversation, now) = (conversation(Revision::V2026_07_28), Instant::now());
        let method = method::SUBSCRIPTIONS_LISTEN;
        let sent = conversation.request(now, call(method, None), false, "subscription").unwrap();
        let other = conversation.request(now, call("tools/list", None), false, "other").unwrap();
        let tagged = |id: Value| {
            message(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed",
                "params": {"_meta": {meta::SUBSCRIPTION_ID: id}}}))
        };
        let received = conversation.receive(now, tagged(json!(sent.id)));
        assert!(matches!(received, ClientReceived::OfSubscription { item: "subscription", .. }), "{received:?}");
        for id in [json!(other.id), json!(sent.id.to_string()), json!(99)] {
            assert!(matches!(conversation.receive(now, tagged(id)), ClientReceived::Nothing(_)));
        }
        let cancelled = |id: &RequestId| {
            message(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}))
        };
        assert!(matches!(conversation.receive(now, cancelled(&other.id)), ClientReceived::Nothing(_)), "CAN-12");
        let received = conversation.receive(now, cancelled(&sent.id));
        let ClientReceived::Answered { item: "subscription", answer, .. } = received else { panic!("{received:?}") };
        assert!(matches!(answer, Answer::Outcome(Ok(_))), "CAN-11");
        assert!(matches!(conversation.receive(now, cancelled(&sent.id)), ClientReceived::Nothing(_)));
        assert!(matches!(conversation.receive(now, tagged(json!(sent.id))), ClientReceived::Nothing(_)));
        let plain = message(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
        assert!(matches!(conversation.receive(now, plain), ClientReceived::Notification(_)));
    }

    #[test]
    fn ping_01_and_rpc_32_what_a_server_asks() {
        let ping = message(json!({"jsonrpc": "2.0", "id": "p", "method": "ping"}));
        let sampling = message(json!({"jsonrpc": "2.0", "id": 9, "method": "sampling/createMessage", "params": {}}));
        let mut legacy = conversation(Revision::V2025_03_26);
        let ClientReceived::Replied(answer) = legacy.receive(Instant::now(), ping.clone()) else { panic!() };
        assert_eq!(&answer[..], br#"{"jsonrpc":"2.0","id":"p","result":{}}"#);
        let ClientReceived::Replied(answer) = legacy.receive(Instant::now(), sampling) else { panic!() };
        assert_eq!(serde_json::from_slice::<Value>(&answer).unwrap()["error"]["code"], -32601);
        assert!(matches!(
            conversation(Revision::V2026_07_28).receive(Instant::now(), ping),
            ClientReceived::Nothing(_)
        ));
    }

    fn declaring(revision: Revision, capabilities: Value) -> ClientConversation<&'static str> {
        let mut conversation = conversation(revision);
        conversation.declare(RawJson::from_value(&capabilities).unwrap());
        conversation
    }

    fn replied(received: ClientReceived<&'static str>) -> Value {
        let ClientReceived::Replied(answer) = received else { panic!("{received:?}") };
        serde_json::from_slice(&answer).unwrap()
    }

    #[test]
    fn eli_01_a_declared_request_is_the_hosts_to_answer_once() {
        let ask = json!({"jsonrpc": "2.0", "id": "r", "method": "roots/list"});
        let mut conversation = declaring(Revision::V2025_06_18, json!({"roots": {}}));
        let ClientReceived::Request(request) = conversation.receive(Instant::now(), message(ask.clone())) else {
            panic!()
        };
        assert_eq!((request.method, request.params), (method::ROOTS_LIST, RawJson::empty_object()));
        let twice = replied(conversation.receive(Instant::now(), message(ask)));
        assert_eq!(twice["error"]["code"], -32600, "the same id twice");
        let result = RawJson::from_text("{\n\"roots\":[]}".into()).unwrap();
        let answer = conversation.answer(&request.id, Ok(result.clone())).unwrap();
        assert_eq!(&answer[..], br#"{"jsonrpc":"2.0","id":"r","result":{ "roots":[]}}"#, "STD-01");
        assert_eq!(conversation.answer(&request.id, Ok(result)), None);
    }

    #[test]
    fn can_05_a_withdrawn_request_is_not_answered() {
        let mut conversation = declaring(Revision::V2025_11_25, json!({"roots": {}}));
        let cancelled = |id: Value| {
            message(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}))
        };
        let ask = message(json!({"jsonrpc": "2.0", "id": 7, "method": "roots/list"}));
        assert!(matches!(conversation.receive(Instant::now(), ask), ClientReceived::Request(_)));
        assert!(matches!(conversation.receive(Instant::now(), cancelled(json!(8))), ClientReceived::Nothing(_)));
        assert!(matches!(conversation.receive(Instant::now(), cancelled(json!(7))), ClientReceived::Withdrawn(_)));
        assert_eq!(conversation.answer(&RequestId::Integer(7), Ok(RawJson::empty_object())), None);
    }

    #[test]
    fn requests_of_a_server_that_wait_are_bounded() {
        let mut conversation = declaring(Revision::V2025_11_25, json!({"roots": {}}));
        let ask = |id: usize| message(json!({"jsonrpc": "2.0", "id": id, "method": "roots/list"}));
        for id in 0..MAX_INCOMING {
            assert!(matches!(conversation.receive(Instant::now(), ask(id)), ClientReceived::Request(_)));
        }
        let refused = replied(conversation.receive(Instant::now(), ask(MAX_INCOMING)));
        assert_eq!(refused["error"]["data"]["reason"], "busy");
        conversation.drain();
        assert!(matches!(conversation.receive(Instant::now(), ask(0)), ClientReceived::Request(_)));
    }

    #[test]
    fn only_three_methods_are_answered_by_requests_for_input() {
        for (method, takes_input) in
            [("tools/call", true), ("prompts/get", true), ("resources/read", true), ("tools/list", false)]
        {
            let mut conversation = conversation(Revision::V2026_07_28);
            let now = Instant::now();
            let sent = conversation.request(now, call(method, None), false, "x").unwrap();
            let result = json!({"resultType": "input_required", "requestState": "s"});
            match conversation.receive(now, message(json!({"jsonrpc": "2.0", "id": sent.id, "result": result}))) {
                ClientReceived::Answered { answer: Answer::InputRequired(_), .. } => assert!(takes_input, "{method}"),
                ClientReceived::Answered { answer: Answer::Outcome(Err(NoResult::InvalidResponse(_))), .. } => {
                    assert!(!takes_input, "{method}");
                }
                other => panic!("{method}: {other:?}"),
            }
        }
    }

    #[test]
    fn eli_02_smp_02_root_02_capabilities_and_the_log_level_are_in_each_modern_request() {
        let mut conversation = conversation(Revision::V2026_07_28);
        let meta = |conversation: &mut ClientConversation<&'static str>| {
            let sent = conversation.request(Instant::now(), call("tools/list", None), true, "x").unwrap();
            serde_json::from_slice::<Value>(&sent.message).unwrap()["params"]["_meta"].clone()
        };
        assert_eq!(meta(&mut conversation).get(meta::LOG_LEVEL), None);
        conversation.declare(RawJson::from_value(&json!({"sampling": {}})).unwrap());
        conversation.log_level = Some(LoggingLevel::Warning);
        let meta = meta(&mut conversation);
        assert_eq!(meta[meta::CLIENT_CAPABILITIES], json!({"sampling": {}}));
        assert_eq!(meta[meta::LOG_LEVEL], "warning");
    }

    #[test]
    fn can_03_initialize_is_never_cancelled_but_times_out() {
        let mut conversation = conversation(Revision::V2025_11_25);
        conversation.revision = None;
        let sent = conversation.initialize(Instant::now(), opening(Revision::V2025_11_25, None));
        assert_eq!(conversation.cancel(&sent.id, "late"), Some(("x", None)));
        let sent = conversation.discover(Instant::now(), opening(Revision::V2026_07_28, None));
        assert_eq!(conversation.cancel(&sent.id, "late"), Some(("x", None)));
        conversation.settle(Revision::V2025_11_25);
        let sent = conversation.request(Instant::now(), call("tools/list", None), false, "y").unwrap();
        assert!(conversation.cancel(&sent.id, "late").unwrap().1.is_some());
    }
}
