//! HTTP+SSE, the transport of 2024-11-05: a stream that carries everything, and a URI to post
//! messages to. Any legacy revision may be negotiated on it (docs/versions.md, 2.2). A session ends
//! with its stream.

use super::{
    access_control::Caller,
    endpoint::{asks, check_accepts_events, check_type},
    endpoint_state::EndpointState,
    reply::{self, empty, not_allowed},
    response_body::{Events, HttpBody, SessionEnd},
    response_stream::{Answers, Stream, StreamKind},
    session_table::HttpSession,
};
use crate::{
    http::{
        classify::{self, Posted},
        mirror,
        rejection::Rejection,
        routes,
    },
    protocol::RpcError,
    server::{ConversationStart, HttpRequest, Outbound, OutgoingMessage, SessionSource},
};
use http::{Method, Response, StatusCode};
use http_body::Body;
use std::sync::Arc;

impl EndpointState {
    /// Opens a session. Its first event is the URI to post messages to (SSE-02).
    pub(super) fn sse_stream(
        self: &Arc<Self>,
        request: &HttpRequest,
        caller: &Caller,
    ) -> Result<Response<HttpBody>, Rejection> {
        let parts = &request.parts;
        if parts.method != Method::GET {
            return Ok(not_allowed("Open the HTTP+SSE stream with GET", "GET, OPTIONS"));
        }
        check_accepts_events(&parts.headers)?;
        let (owner, rate_limit_key) = (caller.principal().map(Into::into), self.rate_limit_key(request, caller));
        self.check_rate(rate_limit_key.as_deref(), None, 1)?;
        let stream = Stream::new(StreamKind::Everything);
        let mut reader = stream.attach();
        reader.lifetime = caller.lifetime();
        let connection = self.connect(Arc::clone(&stream) as Arc<dyn Outbound>, ConversationStart::Pipe);
        let session = HttpSession { owner, connection, stream, history: None, shared: None };
        let Some(id) = self.sse_sessions.open(rate_limit_key, session.clone()) else {
            session.end();
            return Err(Rejection::busy(None, "too many sessions are open"));
        };
        let (uri, sessions) = (self.routes.messages_uri(&id), Arc::clone(&self.sse_sessions));
        let end = SessionEnd::new(Box::new(move || sessions.remove(&id).iter().for_each(HttpSession::end)));
        let events = Events::new(reader, self.server.options().keep_alive, Some(end));
        Ok(reply::stream(events.with_endpoint(&uri)))
    }

    /// Processes a message of a session (SSE-03). The response is sent on the stream (SSE-04).
    pub(super) async fn sse_message<B: Body>(
        self: &Arc<Self>,
        request: HttpRequest,
        body: B,
        caller: &Caller,
    ) -> Result<Response<HttpBody>, Rejection> {
        let parts = &request.parts;
        if parts.method != Method::POST {
            return Ok(not_allowed("Send HTTP+SSE messages with POST", "POST, OPTIONS"));
        }
        check_type(&parts.headers)?;
        let id = routes::session_of(parts.uri.query()).unwrap_or_default();
        let session = self.sse_sessions.touch(id, caller.principal()).ok_or_else(unknown_session)?;
        let rate_limit_key = self.rate_limit_key(&request, caller);
        let (frame, permit) = self.admit(&request, body, rate_limit_key.as_deref(), Some(id)).await?;
        // Responses and cancellations from the client are always accepted, however little it has
        // read.
        if session.stream.is_congested() && asks(&frame) {
            return Err(Rejection::busy(classify::id_of(&frame), "too many responses are waiting to be read"));
        }
        if matches!(
            classify::classify(&frame, mirror::version(&parts.headers).as_deref())?,
            Posted::Modern { .. } | Posted::ModernNotification
        ) {
            // On the stream (SSE-04), where a probing client reads it and continues with
            // `initialize`.
            if let Some(id) = classify::id_of(&frame) {
                let text = "HTTP+SSE supports revisions up to 2025-11-25: use the MCP endpoint for later ones";
                session.stream.send(OutgoingMessage::error(Some(id), &RpcError::invalid_request(text), true));
            }
            return Ok(empty(StatusCode::ACCEPTED));
        }
        let request = request.in_session(SessionSource::Query);
        let (is_large, arrival) = (permit.is_large(), caller.arrival(request).of(rate_limit_key));
        let reply = Answers::channel(session.stream, permit, arrival);
        caller.admit(&self.server, &frame)?;
        let (connection, accepted) = (session.connection, classify::check_response(&frame));
        let receiver = Arc::clone(&connection);
        let received = self.large.work(is_large, move || receiver.receive(frame, None, &reply)).await?;
        received.map_err(|refusal| Rejection::bad_request(refusal.id.as_ref(), &refusal.error))?;
        accepted?;
        if connection.is_closed() { Err(unknown_session()) } else { Ok(empty(StatusCode::ACCEPTED)) }
    }
}

fn unknown_session() -> Rejection {
    let text = "The sessionId belongs to no open stream: open one, and POST to the URI in its endpoint event";
    Rejection::of_http(StatusCode::NOT_FOUND, text)
}
