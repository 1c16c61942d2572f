//! The server side of one conversation: a pipe, an HTTP session, or a single HTTP exchange.

use super::{
    CallKey, IncomingCall, Limits, Mirror, RequestInfo,
    era::Claim,
    incoming::{Admission, Demand, Incoming},
    legacy::{self, LegacyTerms},
    modern,
    outgoing::{MethodCall, OutgoingRequests, one_line},
    params::id_in,
};
use crate::protocol::{
    RawJson, RequestId, Revision, RevisionFeature, RpcError,
    envelope::{self, NoResult, Notification, Request, Response, cancellation},
    integers,
    members::MemberValue,
    meta::{self, ProgressToken, RequestMeta},
    method::{self, MessageKind, Method, Sender},
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Maximum number of pending requests to the client.
const MAX_IN_FLIGHT: usize = if cfg!(miri) { 64 } else { 16_384 };
/// Maximum size of the reason of a cancellation. It outlives the message, for as long as the
/// handler runs and its program is busy.
const MAX_REASON: usize = 4 << 10;

/// The state of one conversation. A `T` is kept with each call (its reply channel), and a `U` with
/// each request of our own.
#[derive(Debug)]
pub struct ServerConversation<T, U> {
    session: Option<LegacyTerms>,
    /// The session before, in case that the handshake of this one fails.
    replaced: Option<LegacyTerms>,
    /// A stateless exchange answers `initialize` without opening a session.
    stateless: bool,
    /// A relay may serve its clients over one pipe, and each of them opens its session there.
    reopens: bool,
    /// The open requests of the client. An answered call is finished here, and an error response is
    /// all that may still be sent for those that are drained.
    pub incoming: Incoming<(IncomingCall, T)>,
    /// Allocated with the first request of our own, because most servers make none.
    outgoing: Option<Box<OutgoingRequests<U>>>,
}

/// The action for a received message.
#[derive(Debug)]
pub enum Received<T, U> {
    /// Answer `initialize` with this revision.
    Initialize(RequestId, Revision),
    /// Answer with an empty result.
    Pong(RequestId),
    /// Serve a call.
    Call(IncomingCall, T),
    /// Refuse a request.
    Refuse(RefusedRequest),
    /// A call is cancelled, and another one may start.
    Cancelled {
        /// The call.
        key: CallKey,
        /// The client's reason.
        reason: Option<String>,
        /// The item kept with it, if it was still queued.
        waiting: Option<T>,
        /// The call to run next.
        next: Option<(IncomingCall, T)>,
    },
    /// The response to a request of our own.
    Answered(U, Result<RawJson, NoResult>),
    /// The state of the client's task with this id has changed (2025-11-25).
    TaskChanged(String),
    /// The call is queued.
    Waits(RequestId),
    /// The client has completed the handshake (`notifications/initialized`).
    Initialized,
    /// Nothing to do; the reason, to be logged.
    Nothing(&'static str),
}

/// An error response to a request that is not served.
#[derive(Debug)]
pub struct RefusedRequest {
    /// The request, if its id could be read.
    pub id: Option<RequestId>,
    /// The error.
    pub error: RpcError,
}

impl<T, U> ServerConversation<T, U> {
    /// A conversation that is opened by `initialize`, or used by modern requests without opening.
    pub fn new(limits: &Limits) -> Self {
        Self {
            session: None,
            replaced: None,
            stateless: false,
            reopens: false,
            incoming: Incoming::new(limits),
            outgoing: None,
        }
    }

    /// The conversation of a pipe, in which a later `initialize` replaces the session.
    pub fn pipe(limits: &Limits) -> Self {
        Self { reopens: true, ..Self::new(limits) }
    }

    /// A single legacy HTTP exchange without a session, whose revision comes from the header.
    pub fn stateless(limits: &Limits, revision: Revision) -> Self {
        Self { session: Some(LegacyTerms::stateless(revision)), stateless: true, ..Self::new(limits) }
    }

    /// The revision fixed by the handshake.
    pub fn revision(&self) -> Option<Revision> {
        self.session.as_ref().map(|session| session.revision)
    }

    /// The terms fixed by the handshake, for other processes that serve the session.
    #[doc(hidden)]
    pub fn terms(&self) -> Option<&LegacyTerms> {
        self.session.as_ref()
    }

    /// Continues a session that was opened by a handshake elsewhere.
    #[doc(hidden)]
    pub fn restore(&mut self, terms: LegacyTerms) {
        self.session = Some(terms);
    }

    /// Forgets the session that `initialize` opened, because the answer is an error after all.
    #[doc(hidden)]
    pub fn refuse_handshake(&mut self) {
        if !self.stateless {
            self.session = self.replaced.take();
        }
    }

    /// Sets the prefix of the ids of our own requests, which must be unique among the processes
    /// that serve the session.
    #[doc(hidden)]
    pub fn begin_ids_with(&mut self, prefix: &str) {
        self.outgoing.get_or_insert_default().begin_ids_with(prefix);
    }

    /// Handles a request. `mirror` has its HTTP headers. `served` is its row if the server serves a
    /// method beyond the protocol. `attached` is returned with the call.
    pub fn request(
        &mut self,
        request: Request,
        mirror: Option<&Mirror>,
        served: Option<&'static Method>,
        attached: T,
    ) -> Received<T, U> {
        let parameter = Method::name_parameter(&request.method).unwrap_or("name");
        let (name, raw_meta, meta) = RequestMeta::beside([parameter], request.params.as_ref());
        let refuse = |error| Received::Refuse(RefusedRequest { id: Some(request.id.clone()), error });
        let header = mirror.and_then(|mirror| mirror.version.as_deref());
        let checked = match Claim::of(&request, || meta, header) {
            Claim::Handshake => return self.initialize(&request).unwrap_or_else(refuse),
            Claim::Modern => modern::check(&request, name, raw_meta, &meta, mirror),
            Claim::Legacy => self.check_legacy(&request, raw_meta, &meta),
        };
        let info = match checked {
            Ok(info) => info,
            Err(error) => return refuse(error),
        };
        let found = Method::find(&request.method, MessageKind::Request, Sender::Client, info.revision);
        let Some(method) = found.or(served) else {
            return refuse(RpcError::method_not_found(&request.method));
        };
        if method.name == method::PING {
            return Received::Pong(request.id);
        }
        if self.incoming.find(&request.id).is_some() {
            return refuse(RpcError::invalid_request(format!("The id {} is already in use", request.id)));
        }
        let key = self.incoming.next_key();
        let demand = match method.name {
            method::SUBSCRIPTIONS_LISTEN => Demand::Stays,
            // `tasks/result` ends with its task, which may need more requests to end.
            method::TASKS_RESULT => Demand::Waits,
            _ => Demand::Slot(request.id.len() + request.params.as_ref().map_or(0, |params| params.as_bytes().len())),
        };
        let admission = self.incoming.admit(key, request.id.clone(), demand);
        if admission == Admission::Busy {
            return refuse(RpcError::busy("too many calls are waiting"));
        }
        let call = IncomingCall { key, id: request.id, method, params: request.params, info };
        let Admission::Wait(bytes) = admission else { return Received::Call(call, attached) };
        let id = call.id.clone();
        self.incoming.queue(key, bytes, (call, attached));
        Received::Waits(id)
    }

    fn initialize(&mut self, request: &Request) -> Result<Received<T, U>, RpcError> {
        if self.session.is_some() && !self.stateless && !self.reopens {
            return Err(RpcError::invalid_request("The session is already initialized"));
        }
        let session = LegacyTerms::open(request.params.as_ref())?;
        let revision = session.revision;
        self.replaced = self.session.replace(session);
        Ok(Received::Initialize(request.id.clone(), revision))
    }

    fn check_legacy(
        &self,
        request: &Request,
        raw_meta: Option<MemberValue<'_>>,
        meta: &RequestMeta<'_>,
    ) -> Result<RequestInfo, RpcError> {
        let Some(session) = &self.session else {
            // Before the handshake, only ping is served (LIFE-04).
            return match &*request.method {
                method::PING => Ok(LegacyTerms::stateless(Revision::LATEST_LEGACY).info(None, None)),
                method => Err(legacy::not_initialized(method)),
            };
        };
        let buffer = request.params.as_ref().map(RawJson::buffer);
        let meta_object = buffer.zip(raw_meta).map(|(buffer, raw)| raw.in_buffer(buffer));
        Ok(session.info(meta_object, meta.token()))
    }

    /// Handles a response.
    pub fn response(&mut self, response: Response) -> Received<T, U> {
        match response.id.as_ref().and_then(|id| self.outgoing.as_mut()?.finish(id)) {
            Some(item) => Received::Answered(item, response.outcome),
            None => Received::Nothing("a response to an unknown request"),
        }
    }

    /// Handles a notification.
    pub fn notification(&mut self, now: Instant, notification: &Notification) -> Received<T, U> {
        match &*notification.method {
            method::CANCELLED => {
                let Some(cancelled) = read::<CancelledParams>(notification) else {
                    return Received::Nothing("a malformed cancellation");
                };
                let id = RequestId::from_json(cancelled.request_id.get());
                let Some(key) = id.and_then(|id| self.incoming.find(&id)) else {
                    return Received::Nothing("a cancellation of an unknown request");
                };
                let (waiting, next) = self.incoming.cancel(key);
                let waiting = waiting.map(|(_, attached)| attached);
                let reason = cancelled.reason.filter(|reason| reason.len() <= MAX_REASON);
                Received::Cancelled { key, reason, waiting, next }
            }
            method::PROGRESS => {
                let token = notification.params.as_ref().and_then(|params| id_in(params, meta::PROGRESS_TOKEN));
                if let Some((outgoing, token)) = self.outgoing.as_mut().zip(token) {
                    outgoing.progress(now, &token);
                }
                Received::Nothing("progress")
            }
            method::TASKS_STATUS => match read::<TaskStatusParams>(notification) {
                Some(TaskStatusParams { task_id }) => Received::TaskChanged(task_id),
                None => Received::Nothing("a task without an id"),
            },
            method::INITIALIZED => Received::Initialized,
            _ => Received::Nothing("a notification that has no effect"),
        }
    }

    /// Creates a progress notification of a call, if it may be sent.
    pub fn progress(&mut self, key: CallKey, info: &RequestInfo, progress: &CallProgress<'_>) -> Option<Bytes> {
        let token = info.progress_token.as_ref()?;
        if !self.incoming.advance(key, progress.progress) {
            return None;
        }
        let message = progress.message.filter(|_| info.revision.supports(RevisionFeature::ProgressMessage));
        let params = CallProgress { message, ..*progress }.params(token);
        Some(envelope::encode_notification(method::PROGRESS, Some(params.as_bytes())))
    }

    /// Creates a request of our own for a call of that revision.
    ///
    /// # Errors
    /// If the revision has no such request: servers of the modern era send none (RPC-31).
    pub fn ask(
        &mut self,
        now: Instant,
        revision: Revision,
        MethodCall { method, params, timeout }: MethodCall<'_>,
        item: U,
    ) -> Result<(RequestId, Bytes), RpcError> {
        if Method::find(method, MessageKind::Request, Sender::Server, revision).is_none() {
            let text = format!("{method} (servers cannot send it in revision {revision})");
            return Err(RpcError::method_not_found(&text));
        }
        let outgoing = self.outgoing.get_or_insert_default();
        if outgoing.in_flight() >= MAX_IN_FLIGHT {
            return Err(RpcError::busy(&format!("{MAX_IN_FLIGHT} requests to the client are already in flight")));
        }
        let id = outgoing.start(now, timeout, item);
        let params = params.map(|params| one_line(params.as_bytes()));
        let request = envelope::encode_request(&id, method, params.as_deref());
        Ok((id, request))
    }

    /// Cancels a request of our own. Returns the item kept with it, and the notification to send.
    pub fn cancel_client_request(&mut self, id: &RequestId, reason: &str) -> Option<(U, Bytes)> {
        let item = self.outgoing.as_mut()?.finish(id)?;
        Some((item, cancellation(id, reason)))
    }

    /// The requests of our own, in no order.
    pub fn requests(&self) -> impl Iterator<Item = &U> {
        self.outgoing.iter().flat_map(|outgoing| outgoing.items())
    }

    /// Removes all requests of our own.
    pub fn drain_requests(&mut self) -> Vec<U> {
        self.outgoing.iter_mut().flat_map(|outgoing| outgoing.drain()).map(|(_, item)| item).collect()
    }

    /// When a request of our own times out; progress extends it (LIFE-15).
    pub fn deadline_of(&self, id: &RequestId) -> Option<Instant> {
        self.outgoing.as_ref()?.deadline_of(id)
    }
}

/// Progress of a call.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct CallProgress<'a> {
    /// Must increase with each notification.
    #[serde(serialize_with = "integers::serialize")]
    pub progress: f64,
    /// The final value, if known.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "integers::serialize_optional")]
    pub total: Option<f64>,
    /// A human-readable message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'a str>,
}

impl CallProgress<'_> {
    /// The parameters of its notification.
    #[must_use]
    pub fn params(&self, token: &ProgressToken) -> RawJson {
        #[derive(Serialize)]
        struct Params<'a, T> {
            #[serde(rename = "progressToken")]
            progress_token: T,
            #[serde(flatten)]
            progress: CallProgress<'a>,
        }
        // JSON has no infinity.
        let total = self.total.filter(|total| total.is_finite());
        let params = Params { progress_token: token.as_written(), progress: Self { total, ..*self } };
        serde_json::to_vec(&params).map_or_else(|_| RawJson::empty_object(), |text| RawJson::trusted(text.into()))
    }
}

#[derive(Deserialize)]
struct CancelledParams<'a> {
    #[serde(borrow, rename = "requestId")]
    request_id: &'a serde_json::value::RawValue,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct TaskStatusParams {
    #[serde(rename = "taskId")]
    task_id: String,
}

fn read<'a, P: Deserialize<'a>>(notification: &'a Notification) -> Option<P> {
    notification.params.as_ref().and_then(|params| params.parse().ok())
}

#[cfg(test)]
mod tests;
