//! The Streamable HTTP endpoint: passes requests to conversations, and returns responses.

use super::{
    access_control::Caller,
    admission::Permit,
    endpoint_state::EndpointState,
    history::History,
    post_body, rate,
    reply::{self, empty, method_not_allowed},
    response_body::{Events, HttpBody},
    response_stream::{Answers, Stream, StreamKind, StreamReader},
    session_table::{HttpSession, SessionTable},
    workers::{SharedSession, StreamPosition},
};
use crate::{
    engine::Mirror,
    http::{
        classify::{self, Posted},
        content::{self, Accepts},
        headers, mirror,
        rejection::Rejection,
        replay::EventId,
    },
    protocol::{
        RequestId, Revision, RevisionFeature, RpcError,
        envelope::{self, Frame, Malformed, Message, Notification, Request},
        method,
    },
    server::{Connection, ConversationSetup, ConversationStart, HttpRequest, Origin, Outbound, SessionSource},
    store::{StoreError, StoreErrorKind},
    wire_log::Transport,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_body::Body;
use std::{pin::pin, sync::Arc};

/// The values of a body up to this size are not counted.
const MAX_UNCOUNTED_BYTES: usize = 4 << 10;

/// A message for a conversation.
struct PostedMessage<'a> {
    request: HttpRequest,
    caller: &'a Caller,
    /// The key that limits are charged to.
    rate_limit_key: Option<Arc<str>>,
    accepts: Accepts,
    frame: Frame,
    permit: Permit,
    /// The session that it named before its body was read.
    session: Option<HttpSession>,
}

impl EndpointState {
    pub(super) async fn post<B: Body>(
        self: &Arc<Self>,
        request: HttpRequest,
        body: B,
        caller: &Caller,
    ) -> Result<Response<HttpBody>, Rejection> {
        let headers = request.headers();
        check_type(headers)?;
        let accepts = Accepts::of(headers);
        if !accepts.json && !accepts.events {
            let text = "The Accept header must include application/json and text/event-stream";
            return Err(Rejection::of_http(StatusCode::NOT_ACCEPTABLE, text));
        }
        let version = mirror::version(headers);
        let session = match classify::has_modern_version(version.as_deref()) {
            true => None,
            false => self.named_session(headers, caller).await.transpose()?,
        };
        let rate_limit_key = self.rate_limit_key(&request, caller);
        let named = session.as_ref().and(session_id(headers));
        let (frame, permit) = self.admit(&request, body, rate_limit_key.as_deref(), named).await?;
        let posted = classify::classify(&frame, version.as_deref())?;
        let post = Box::new(PostedMessage { request, caller, rate_limit_key, accepts, frame, permit, session });
        match posted {
            Posted::ModernNotification => Ok(empty(StatusCode::ACCEPTED)),
            Posted::Modern { streams } => self.modern(streams, version, post).await,
            Posted::Handshake | Posted::Legacy | Posted::Batch => self.legacy(posted, version.as_deref(), post).await,
        }
    }

    /// Reads a message, if it is within the limits of its key, or else of its session.
    pub(super) async fn admit<B: Body>(
        &self,
        request: &HttpRequest,
        body: B,
        rate_limit_key: Option<&str>,
        session: Option<&str>,
    ) -> Result<(Frame, Permit), Rejection> {
        self.check_rate(rate_limit_key, session, 1)?;
        let mut permit = self.admission.permit(rate_limit_key);
        let is_closing = self.is_closing();
        if session.is_none() {
            if is_closing {
                return Err(closing(None));
            }
            permit.check_slot()?;
        }
        permit.hold_head(request.head_bytes())?;
        let frame = self.read(body, &mut permit).await?;
        // Answers and cancellations let calls end.
        if is_closing && asks(&frame) {
            return Err(closing(classify::id_of(&frame)));
        }
        if session.is_none() {
            permit.take_slot()?;
        }
        if let Frame::Batch(elements) = &frame {
            self.check_rate(rate_limit_key, session, elements.len().saturating_sub(1))?;
        }
        Ok((frame, permit))
    }

    /// Takes tokens of a key, or else of a session.
    pub(super) fn check_rate(
        &self,
        rate_limit_key: Option<&str>,
        session: Option<&str>,
        requests: usize,
    ) -> Result<(), Rejection> {
        let Some(rate) = self.rate.as_ref().filter(|_| requests > 0) else { return Ok(()) };
        rate.take(rate_limit_key.or(session).unwrap_or_default(), requests, self.runtime.now()).map_err(rate::too_many)
    }

    async fn read<B: Body>(&self, body: B, permit: &mut Permit) -> Result<Frame, Rejection> {
        let limits = &self.server.options().limits;
        let body = {
            let holder = permit.holder();
            let reading = pin!(post_body::read(body, limits.max_message_bytes, permit));
            self.admission.read(holder, reading).await??
        };
        let is_large = permit.is_large();
        if body.len() > MAX_UNCOUNTED_BYTES {
            let counted = body.clone();
            let values = self.large.work(is_large, move || envelope::count_values(&counted)).await?;
            // A message with too many values is refused separately.
            if values <= limits.max_values {
                permit.hold_values(values)?;
            }
        }
        let bounds = limits.frame();
        self.large.work(is_large, move || Frame::parse(&body, bounds)).await
    }

    /// The session that a request names, if it names one and sessions are enabled.
    async fn named_session(
        self: &Arc<Self>,
        headers: &HeaderMap,
        caller: &Caller,
    ) -> Option<Result<HttpSession, Rejection>> {
        let id = session_id(headers).filter(|_| !self.stateless)?;
        match self.sessions.touch(id, caller.principal()) {
            Some(session) => {
                session.shared.iter().for_each(SharedSession::renew);
                Some(Ok(session))
            }
            None if self.is_closing() => Some(Err(closing(None))),
            None => Some(self.session_of_others(id, caller).await),
        }
    }

    /// Restores a session that another process, or this one before a restart, has opened.
    async fn session_of_others(self: &Arc<Self>, id: &str, caller: &Caller) -> Result<HttpSession, Rejection> {
        let unknown = || classify::unknown_session(None);
        let workers = self.workers.as_ref().ok_or_else(unknown)?;
        workers.join().await.map_err(unavailable)?;
        let found = workers.find(id, caller.principal()).await.map_err(unavailable)?.ok_or_else(unknown)?;
        // Sessions of others are not found.
        let owner: Option<Arc<str>> = caller.principal().map(Into::into);
        let connection = self.connect(Arc::new(workers.logs_of(id)), ConversationStart::Session);
        let shared = Some(workers.restore(id, found, &connection));
        // The process that opened it has charged it to the client's address.
        let (stream, history) = self.session_streams(id, owner.clone());
        let session = HttpSession { owner, connection, stream, history, shared };
        let entered = self.sessions.enter(id, session.owner.clone(), session);
        let (session, displaced) = entered.ok_or_else(|| Rejection::busy(None, "too many sessions are open"))?;
        // Its client may use it at other processes.
        displaced.iter().for_each(HttpSession::leave);
        // The session may have changed before it was registered, unnoticed by this process.
        if let Some(shared) = &session.shared
            && !shared.catch_up(&session.connection).await.map_err(unavailable)?
        {
            self.sessions.remove(id);
            session.end();
            return Err(unknown());
        }
        // Its record may be about to expire.
        session.shared.iter().for_each(SharedSession::renew);
        Ok(session)
    }

    /// The stream of a session's messages without a request, and the history of all its streams.
    /// With a store, that stream is fed from the logs, and the history is kept there, too. The
    /// memory is charged to `rate_limit_key`.
    fn session_streams(&self, id: &str, rate_limit_key: Option<Arc<str>>) -> (Arc<Stream>, Option<Arc<History>>) {
        let elsewhere = self.workers.as_ref().map(|workers| workers.logs_of(id));
        let history = self.replay_budget.as_ref().map(|budget| History::new(budget, rate_limit_key, elsewhere));
        let of_stream = history.clone().filter(|history| !history.is_shared());
        (Stream::new(StreamKind::Unrelated(of_stream)), history)
    }

    async fn modern(
        self: &Arc<Self>,
        streams: bool,
        version: Option<String>,
        mut post: Box<PostedMessage<'_>>,
    ) -> Result<Response<HttpBody>, Rejection> {
        let id = classify::id_of(&post.frame);
        if let Some(workers) = self.workers.as_ref().filter(|_| streams) {
            workers.join().await.map_err(unavailable)?;
        }
        if streams && !post.accepts.events {
            // The response would only come when the server stops, without any notification before.
            let error = RpcError::invalid_request("The Accept header must include text/event-stream");
            return Err(Rejection::new(StatusCode::NOT_ACCEPTABLE, id, &error));
        }
        let slot = post.permit.take_slot();
        let slot = if streams { slot.and_then(|()| post.permit.becomes_stream()) } else { slot };
        slot.map_err(|full| full.refusing(id))?;
        post.accepts.events &= streams || !self.json;
        let connection = self.connect(Arc::clone(&self.nowhere), ConversationStart::Session);
        let kind = StreamKind::Answer { streams: post.accepts.events, in_session: true };
        let mirror = mirror::read(post.request.headers(), version);
        self.exchange(connection, kind, Some(mirror), post).await
    }

    async fn legacy(
        self: &Arc<Self>,
        posted: Posted,
        version: Option<&str>,
        mut post: Box<PostedMessage<'_>>,
    ) -> Result<Response<HttpBody>, Rejection> {
        post.accepts.events &= !self.json;
        let streams = post.accepts.events;
        let revision = match posted {
            // The body of `initialize` decides.
            Posted::Handshake => Revision::HEADERLESS,
            _ => classify::legacy_revision(Some(&post.frame), version)?,
        };
        if self.stateless {
            if posted == Posted::Batch {
                classify::check_batch(Some(revision))?;
            }
            let connection = self.connect(Arc::clone(&self.nowhere), ConversationStart::Stateless(revision));
            return self.exchange(connection, StreamKind::Answer { streams, in_session: false }, None, post).await;
        }
        // The session may have ended while the body was read.
        let session = match post.session.take().filter(|session| !session.connection.is_closed()) {
            Some(session) => Some(Ok(session)),
            None => self.named_session(post.request.headers(), post.caller).await,
        };
        let Some(session) = session else {
            return match posted {
                Posted::Handshake => self.open_session(post).await,
                _ => Err(classify::no_session(&post.frame)),
            };
        };
        let session = session.map_err(|refusal| match refusal.status {
            StatusCode::NOT_FOUND => classify::unknown_session(Some(&post.frame)),
            _ => refusal,
        })?;
        post.request = post.request.in_session(SessionSource::Header);
        let revision = session.connection.revision();
        if posted == Posted::Batch {
            classify::check_batch(revision)?;
        }
        let kind = match session.history.clone() {
            // HTTP-20: before polling existed, a stream must not end before its response.
            Some(history) if streams => {
                let requests = classify::ids_of(&post.frame);
                StreamKind::Resumable { history, requests, polls: primes(revision) }
            }
            _ => StreamKind::Answer { streams, in_session: true },
        };
        self.exchange_in_session(&session, kind, post).await
    }

    /// Passes a message to a session. With a store, routes it to other processes, and stores the
    /// changes of the session.
    async fn exchange_in_session(
        self: &Arc<Self>,
        session: &HttpSession,
        kind: StreamKind,
        post: Box<PostedMessage<'_>>,
    ) -> Result<Response<HttpBody>, Rejection> {
        let connection = &session.connection;
        let Some(shared) = &session.shared else {
            return self.exchange(Arc::clone(connection), kind, None, post).await;
        };
        let changes = changes_session(&post.frame);
        if changes {
            // Otherwise changes would pile up while the store is unavailable.
            shared.save(connection).await.map_err(unavailable)?;
        }
        let routed = shared.route(&post.frame).await;
        // Even if the store is unavailable, this process does its part.
        let response = self.exchange(Arc::clone(connection), kind, None, post).await?;
        if !routed.map_err(unavailable)? {
            return Err(Rejection::busy(None, "the process that sent the request does not respond"));
        }
        match shared.save(connection).await {
            Ok(false) => {
                self.sessions.remove(&shared.id);
                session.end_for_good();
                Err(classify::unknown_session(None))
            }
            Err(error) if changes => Err(unavailable(error)),
            // The changes of earlier requests are stored with later ones.
            _ => Ok(response),
        }
    }

    pub(super) fn connect(&self, unrelated: Arc<dyn Outbound>, opening: ConversationStart) -> Arc<Connection> {
        let (runtime, transport, origin) = (Arc::clone(&self.runtime), Transport::Http, Origin::Listener(self.origin));
        self.server.connect(ConversationSetup { runtime, transport, unrelated, origin }, opening)
    }

    /// Serves `initialize`; if that opened a session, the response carries its id (HTTP-41). With a
    /// store, the session is stored first.
    async fn open_session(self: &Arc<Self>, post: Box<PostedMessage<'_>>) -> Result<Response<HttpBody>, Rejection> {
        let request = classify::id_of(&post.frame).cloned();
        let busy = |what: &str| Rejection::busy(request.as_ref(), what);
        let away = |error: StoreError| unavailable_for(request.as_ref(), &error);
        if let Some(workers) = &self.workers {
            workers.join().await.map_err(away)?;
        }
        let id = SessionTable::new_id().ok_or_else(|| busy("no random bytes from the system"))?;
        let value = HeaderValue::try_from(&id).map_err(|_| busy("no session id"))?;
        let owner: Option<Arc<str>> = post.caller.principal().map(Into::into);
        let rate_limit_key = post.rate_limit_key.clone();
        let (stream, history) = self.session_streams(&id, rate_limit_key.clone());
        let unrelated = match &self.workers {
            Some(workers) => Arc::new(workers.logs_of(&id)) as Arc<dyn Outbound>,
            None => Arc::clone(&stream) as _,
        };
        let connection = self.connect(unrelated, ConversationStart::Session);
        self.workers.iter().for_each(|workers| connection.share(&workers.prefix_of_ids()));
        let kind = StreamKind::Answer { streams: post.accepts.events, in_session: true };
        let mut response = self.exchange(Arc::clone(&connection), kind, None, post).await?;
        if connection.revision().is_none() {
            return Ok(response);
        }
        let session = HttpSession { owner, connection, stream, history, shared: None };
        let entering = Arc::clone(self).enter_session(id, rate_limit_key, session);
        let entered = match &self.workers {
            None => entering.await,
            // A stored session must be counted, even if the client disconnects.
            Some(_) => tokio::spawn(entering).await.map_err(|_| busy("the server is closing"))?,
        };
        if !entered.map_err(away)? {
            return Err(busy("too many sessions are open"));
        }
        response.headers_mut().insert(headers::SESSION_ID, value);
        Ok(response)
    }

    /// Stores a new session, if there is a store, and adds it to the table. Returns `false` if
    /// there are too many.
    async fn enter_session(
        self: Arc<Self>,
        id: String,
        rate_limit_key: Option<Arc<str>>,
        mut session: HttpSession,
    ) -> Result<bool, StoreError> {
        if let Some(workers) = &self.workers {
            let stored = workers.enter(&id, session.owner.as_deref(), &session.connection).await;
            session.shared = stored.inspect_err(|_| session.connection.close())?;
        }
        let Some((_, displaced)) = self.sessions.enter(&id, rate_limit_key, session.clone()) else {
            session.end_everywhere().await;
            return Ok(false);
        };
        // Otherwise a client could fill the store with the records of its sessions.
        if let Some(displaced) = displaced {
            displaced.end_everywhere().await;
        }
        Ok(true)
    }

    /// Passes a message to a conversation and responds with the result. `mirror` are the headers of
    /// a modern request.
    async fn exchange(
        self: &Arc<Self>,
        connection: Arc<Connection>,
        kind: StreamKind,
        mirror: Option<Mirror>,
        post: Box<PostedMessage<'_>>,
    ) -> Result<Response<HttpBody>, Rejection> {
        let PostedMessage { request, caller, rate_limit_key, accepts, frame, permit, .. } = *post;
        let is_large = permit.is_large();
        if !permit.served_by(&connection) {
            return Err(closing(classify::id_of(&frame)));
        }
        let stream = Stream::new(kind);
        let mut reader = stream.attach();
        reader.cancels = mirror.as_ref().map(|_| Arc::clone(&connection));
        reader.lifetime = permit.is_stream().then(|| caller.lifetime()).flatten();
        let arrival = caller.arrival(request).of(rate_limit_key);
        // Kept until the response is here, so that the thread that allocated it frees it: if a host
        // responds on another thread, both would contend for the allocator's lock.
        let _head = arrival.http.as_ref().map(|request| Arc::clone(&request.parts));
        let answers = Answers::channel(stream, permit, arrival);
        caller.admit(&self.server, &frame)?;
        let accepted = classify::check_response(&frame);
        let receiver = Arc::clone(&connection);
        // After it has been received, only handlers that may still respond hold the sending end.
        let received = move || receiver.receive(frame, mirror.as_ref(), &answers);
        let expected = self.large.work(is_large, received).await?;
        let expected = expected.map_err(|refusal| Rejection::bad_request(refusal.id.as_ref(), &refusal.error))?;
        accepted?;
        reader.expect(expected);
        if expected > 0 {
            return Ok(reply::answer(self.server.options().keep_alive, reader, accepts).await);
        }
        // The session may just have ended, in which case nothing was received.
        if connection.is_closed() { Err(classify::unknown_session(None)) } else { Ok(empty(StatusCode::ACCEPTED)) }
    }

    /// Opens the stream of a session's unrelated messages (HTTP-30..33), or resumes any stream
    /// (HTTP-38).
    pub(super) async fn get(
        self: &Arc<Self>,
        headers: &HeaderMap,
        caller: &Caller,
    ) -> Result<Response<HttpBody>, Rejection> {
        let Some(session) = self.named_session(headers, caller).await else {
            return Ok(method_not_allowed("Only sessions have a stream: send messages with POST", !self.stateless));
        };
        classify::legacy_revision(None, mirror::version(headers).as_deref())?;
        check_accepts_events(headers)?;
        let session = session?;
        let events = |mut reader: StreamReader| {
            // The endpoint may have ended its streams just before this one was opened.
            if self.is_closing() {
                reader.expect(0);
            }
            reader.lifetime = caller.lifetime();
            Events::new(reader, self.server.options().keep_alive, None)
        };
        let last = headers.get(headers::LAST_EVENT_ID).map(|last| last.to_str().ok().and_then(EventId::parse));
        let last = last.map(|last| last.ok_or_else(classify::unknown_event)).transpose()?;
        if let Some(shared) = &session.shared
            && last.is_none_or(StreamPosition::is_named_by)
        {
            let cursor = match last {
                Some(last) => StreamPosition::of(last).ok_or_else(classify::unknown_event)?,
                None => shared.start().await.map_err(unavailable)?,
            };
            if last.is_some() && !shared.can_resume_from(cursor).await.map_err(unavailable)? {
                return Err(classify::unknown_event());
            }
            shared.take_stream();
            let reader = session.stream.attach();
            shared.follow(&session.stream, &session.connection, cursor, reader.number);
            let position = Some(cursor.id()).filter(|_| primes(session.connection.revision()));
            return Ok(reply::stream(events(reader).primed(position)));
        }
        let Some(last) = last else {
            let reader = session.stream.attach();
            let position = reader.open(None).0.filter(|_| primes(session.connection.revision()));
            return Ok(reply::stream(events(reader).primed(position)));
        };
        if let Some(resumed) = session.history.and_then(|history| history.resume(last)) {
            return Ok(reply::stream(events(resumed)));
        }
        let shared = session.shared.ok_or_else(classify::unknown_event)?;
        let remembered = shared.remembered(last).await.map_err(unavailable)?.ok_or_else(classify::unknown_event)?;
        let stream = Stream::new(StreamKind::Unrelated(None));
        let reader = stream.attach();
        remembered.follow(&stream, reader.number);
        Ok(reply::stream(events(reader)))
    }

    pub(super) async fn delete(&self, headers: &HeaderMap, caller: &Caller) -> Result<Response<HttpBody>, Rejection> {
        let Some(id) = session_id(headers).filter(|_| !self.stateless) else {
            return Ok(method_not_allowed("There is no session to end", !self.stateless));
        };
        classify::legacy_revision(None, mirror::version(headers).as_deref())?;
        let ended_everywhere = match &self.workers {
            Some(workers) => workers.end(id, caller.principal()).await.map_err(unavailable)?,
            None => false,
        };
        match self.sessions.remove_of(id, caller.principal()) {
            Some(session) => session.end_for_good(),
            None if ended_everywhere => {}
            None => return Err(classify::unknown_session(None)),
        }
        Ok(empty(StatusCode::NO_CONTENT))
    }
}

/// Returns whether a frame gets a response.
pub(super) fn asks(frame: &Frame) -> bool {
    let asks =
        |message: &Result<Message, Malformed>| !matches!(message, Ok(Message::Response(_) | Message::Notification(_)));
    frame.messages().iter().any(asks)
}

/// Returns whether a frame may change the state of its session.
fn changes_session(frame: &Frame) -> bool {
    frame.messages().iter().flatten().any(|message| match message {
        Message::Request(Request { method, .. }) => {
            [method::RESOURCES_SUBSCRIBE, method::RESOURCES_UNSUBSCRIBE, method::LOGGING_SET_LEVEL].contains(&&**method)
        }
        Message::Notification(Notification { method, .. }) => &**method == method::INITIALIZED,
        Message::Response(_) => false,
    })
}

pub(super) fn closing(request: Option<&RequestId>) -> Rejection {
    Rejection::busy(request, "the server is closing")
}

/// The error while the store is unavailable; the client may retry. The store's URL is only logged.
fn unavailable(error: StoreError) -> Rejection {
    unavailable_for(None, &error)
}

fn unavailable_for(request: Option<&RequestId>, error: &StoreError) -> Rejection {
    match error.kind {
        // The store's guard logs this once.
        StoreErrorKind::Unavailable => {
            tracing::debug!(target: "trunkline::server::session", %error, "the store is unavailable")
        }
        _ => tracing::error!(target: "trunkline::server::session", %error, "the store cannot be used"),
    }
    Rejection::busy(request, "the store of sessions is not available")
}

/// Returns whether clients of the revision handle events that only enable resuming
/// (docs/versions.md, 2.6, 5).
fn primes(revision: Option<Revision>) -> bool {
    revision.is_some_and(|revision| revision.supports(RevisionFeature::Priming))
}

pub(super) fn check_type(headers: &HeaderMap) -> Result<(), Rejection> {
    let is_encoded = headers.get(header::CONTENT_ENCODING).is_some_and(|coding| coding != "identity");
    let text = match content::is_type(headers, &content::JSON) {
        true if !is_encoded => return Ok(()),
        true => "Send messages without Content-Encoding",
        false => "Send messages with Content-Type: application/json",
    };
    Err(Rejection::of_http(StatusCode::UNSUPPORTED_MEDIA_TYPE, text))
}

pub(super) fn check_accepts_events(headers: &HeaderMap) -> Result<(), Rejection> {
    if Accepts::of(headers).events {
        return Ok(());
    }
    Err(Rejection::of_http(StatusCode::NOT_ACCEPTABLE, "The Accept header must include text/event-stream"))
}

pub(super) fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(headers::SESSION_ID).map(|value| value.to_str().unwrap_or_default())
}
