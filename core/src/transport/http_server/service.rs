//! The endpoint: from an HTTP request to a conversation and back.

use super::{
    body::{Events, HttpBody, Source},
    exchange,
    mailbox::Mailbox,
    options::HttpOptions,
    post,
    reply::{self, empty, method_not_allowed, rejected},
    session::{Session, SessionTable},
};
use crate::sync::Mutex;
use crate::{
    http::{
        classify::{self, Posted},
        content::{self, Accepts},
        guard::Guard,
        headers, mirror,
        rejection::Rejection,
    },
    protocol::{Revision, RpcError, envelope::Frame},
    runtime::{Runtime, Task},
    server::{Connection, Opening, Outbound, Outgoing, Server},
    wire_log::{Direction, Exchange, Side, Transport},
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header, request::Parts};
use http_body::Body;
use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

/// A server as a [`tower_service::Service`], to be mounted in a web framework. Cheap to clone.
///
/// It answers at every path: where it is found is for the router to say. It must be polled within a tokio runtime.
#[derive(Clone)]
pub struct HttpService {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) server: Server,
    runtime: Arc<dyn Runtime>,
    guard: Guard,
    stateless: bool,
    json: bool,
    /// The only path that is served, if a router has not chosen it already.
    path: Option<String>,
    sessions: Arc<SessionTable>,
    nowhere: Arc<dyn Outbound>,
    /// The open streams of the modern era, to be ended by an orderly shutdown.
    streams: Mutex<HashMap<u64, Weak<Connection>>>,
    next_stream: AtomicU64,
    closing: AtomicBool,
}

/// For messages that belong to no request and have no session to wait in.
struct Nowhere;

impl Outbound for Nowhere {
    fn send(&self, _: Outgoing) {}
}

/// A stream in the list of open ones, until it is dropped.
pub(super) struct OpenStream {
    listed: Option<(Arc<Shared>, u64)>,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        if let Some((shared, number)) = &self.listed {
            shared.streams.lock().remove(number);
        }
    }
}

impl HttpService {
    /// Serves `server`. Of the options, host, port and path are for whoever listens; only whether the host is loopback counts
    /// here: then requests that name another host are refused.
    pub fn new(server: Server, options: &HttpOptions, runtime: Arc<dyn Runtime>) -> Self {
        Self::build(server, options, runtime, None)
    }

    pub(super) fn at_path(server: Server, options: &HttpOptions, runtime: Arc<dyn Runtime>) -> Self {
        let path = format!("/{}", options.path.trim_matches('/'));
        Self::build(server, options, runtime, Some(path))
    }

    fn build(server: Server, options: &HttpOptions, runtime: Arc<dyn Runtime>, path: Option<String>) -> Self {
        let (max, idle) = (server.options().max_sessions, server.options().session_idle);
        Self {
            shared: Arc::new(Shared {
                guard: Guard::new(&options.host, &options.allowed_hosts, &options.allowed_origins),
                stateless: options.stateless,
                json: options.json,
                path,
                sessions: Arc::new(SessionTable::new(max, idle)),
                nowhere: Arc::new(Nowhere),
                streams: Mutex::default(),
                next_stream: AtomicU64::new(0),
                closing: AtomicBool::new(false),
                server,
                runtime,
            }),
        }
    }

    /// Answers a request. Every failure is a response.
    pub(super) async fn respond<B: Body>(&self, request: Request<B>) -> Response<HttpBody> {
        let (parts, body) = request.into_parts();
        let shared = &self.shared;
        let response = match shared.route(&parts, body).await {
            Ok(response) => response,
            Err(rejection) => {
                shared.log(&rejection);
                rejected(rejection)
            }
        };
        match parts.headers.get(header::ORIGIN) {
            Some(origin) => with_cors(response, origin, &parts.headers),
            None => response,
        }
    }

    /// Takes no more messages; streams end, calls go on.
    pub(super) fn begin_closing(&self) {
        self.shared.closing.store(true, Ordering::Release);
        let streams: Vec<_> = self.shared.streams.lock().values().filter_map(Weak::upgrade).collect();
        streams.iter().for_each(Connection::end_subscriptions);
        self.shared.sessions.all().iter().for_each(|session| session.mailbox.close());
    }

    /// Completes when no call of a session runs.
    pub(super) async fn drain(&self) {
        for session in self.shared.sessions.all() {
            session.connection.drain().await;
        }
    }

    /// Ends every session.
    pub(super) fn end_sessions(&self) {
        self.shared.sessions.drain().iter().for_each(Session::end);
    }
}

impl Shared {
    async fn route<B: Body>(self: &Arc<Self>, parts: &Parts, body: B) -> Result<Response<HttpBody>, Rejection> {
        self.guard.check(&parts.headers, &parts.uri)?;
        if let Some(path) = &self.path
            && parts.uri.path() != path
            && parts.uri.path().strip_suffix('/') != Some(path)
        {
            let text = format!("There is nothing at {}; the MCP endpoint is {path}", parts.uri.path());
            return Err(Rejection::of_http(StatusCode::NOT_FOUND, text));
        }
        if self.closing.load(Ordering::Acquire) {
            return Err(Rejection::busy(None, "the server is closing"));
        }
        match parts.method {
            Method::POST => self.post(&parts.headers, body).await,
            Method::GET => self.get(&parts.headers),
            Method::DELETE => self.delete(&parts.headers),
            // Browsers ask before they send; the guard has answered already.
            Method::OPTIONS => Ok(empty(StatusCode::NO_CONTENT)),
            _ => Ok(method_not_allowed("Send messages with POST", !self.stateless)),
        }
    }

    async fn post<B: Body>(self: &Arc<Self>, headers: &HeaderMap, body: B) -> Result<Response<HttpBody>, Rejection> {
        if !content::is_type(headers, &content::JSON) {
            let text = "A message is sent with Content-Type: application/json";
            return Err(Rejection::of_http(StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
        }
        let accepts = Accepts::of(headers);
        if !accepts.json && !accepts.events {
            let text = "Answers are application/json or text/event-stream: accept both";
            return Err(Rejection::of_http(StatusCode::NOT_ACCEPTABLE, text));
        }
        let limits = &self.server.options().limits;
        let body = post::read(body, limits.max_message_bytes).await?;
        let frame = Frame::parse(&body, limits.max_nesting);
        let version = version_of(headers);
        let posted = classify::classify(&frame, version)?;
        match posted {
            Posted::ModernNotification => Ok(empty(StatusCode::ACCEPTED)),
            Posted::Modern { streams: true } if !accepts.events => {
                // It would be answered when the server ends, and until then nothing would be told.
                let error = RpcError::invalid_request("The stream is text/event-stream: accept it");
                Err(Rejection::new(StatusCode::NOT_ACCEPTABLE, classify::id_of(&frame), &error))
            }
            Posted::Modern { streams } => {
                let accepts = Accepts { events: accepts.events && (streams || !self.json), ..accepts };
                let connection = self.connect(Arc::clone(&self.nowhere), Opening::Session);
                self.exchange(connection, frame, accepts, Some(headers)).await
            }
            Posted::Handshake | Posted::Legacy | Posted::Batch => {
                let accepts = Accepts { events: accepts.events && !self.json, ..accepts };
                self.legacy(posted, headers, version, frame, accepts).await
            }
        }
    }

    async fn legacy(
        self: &Arc<Self>,
        posted: Posted,
        headers: &HeaderMap,
        version: Option<&str>,
        frame: Frame,
        accepts: Accepts,
    ) -> Result<Response<HttpBody>, Rejection> {
        let revision = match posted {
            // The body of initialize decides.
            Posted::Handshake => Revision::HEADERLESS,
            _ => classify::legacy_revision(Some(&frame), version)?,
        };
        if self.stateless {
            if posted == Posted::Batch {
                classify::check_batch(Some(revision))?;
            }
            let connection = self.connect(Arc::clone(&self.nowhere), Opening::Stateless(revision));
            return self.exchange(connection, frame, accepts, None).await;
        }
        let Some(id) = session_id(headers) else {
            return match posted {
                Posted::Handshake => self.open_session(frame, accepts).await,
                _ => Err(classify::no_session(&frame)),
            };
        };
        let session = self.sessions.touch(&self.runtime, id).ok_or_else(|| classify::unknown_session(Some(&frame)))?;
        if posted == Posted::Batch {
            classify::check_batch(session.connection.revision())?;
        }
        self.exchange(session.connection, frame, accepts, None).await
    }

    fn connect(&self, unrelated: Arc<dyn Outbound>, opening: Opening) -> Arc<Connection> {
        self.server.connect(Arc::clone(&self.runtime), Transport::Http, unrelated, opening)
    }

    /// Serves `initialize`; if that opened a session, the response carries its id (HTTP-41).
    async fn open_session(self: &Arc<Self>, frame: Frame, accepts: Accepts) -> Result<Response<HttpBody>, Rejection> {
        let request = classify::id_of(&frame).cloned();
        let mailbox = Arc::new(Mailbox::default());
        let unrelated: Arc<dyn Outbound> = Arc::clone(&mailbox) as _;
        let connection = self.connect(unrelated, Opening::Session);
        let mut response = self.exchange(Arc::clone(&connection), frame, accepts, None).await?;
        if connection.revision().is_none() {
            return Ok(response);
        }
        let session = Session { connection, mailbox };
        let id = self.sessions.open(&self.runtime, session.clone());
        let Some(value) = id.and_then(|id| HeaderValue::try_from(id).ok()) else {
            session.end();
            return Err(Rejection::busy(request.as_ref(), "too many sessions are open"));
        };
        response.headers_mut().insert(headers::SESSION_ID, value);
        Ok(response)
    }

    /// Gives a frame to a conversation and answers with what comes of it. `modern`: the headers of a modern request.
    async fn exchange(
        self: &Arc<Self>,
        connection: Arc<Connection>,
        frame: Frame,
        accepts: Accepts,
        modern: Option<&HeaderMap>,
    ) -> Result<Response<HttpBody>, Rejection> {
        let (answers, reader) =
            exchange::open(Arc::clone(&connection), accepts.events, !self.stateless, modern.is_some());
        let mirror = modern.map(mirror::read);
        let expected = connection
            .receive(frame, mirror.as_ref(), &answers)
            .map_err(|refusal| Rejection::bad_request(refusal.id.as_ref(), &refusal.error))?;
        // From here on only those who may still answer hold this end.
        drop(answers);
        reader.expect(expected);
        if expected == 0 {
            return Ok(empty(StatusCode::ACCEPTED));
        }
        Ok(reply::answer(self, reader, accepts).await)
    }

    /// Opens the stream of a session's unrelated messages (HTTP-30..33).
    fn get(self: &Arc<Self>, headers: &HeaderMap) -> Result<Response<HttpBody>, Rejection> {
        let Some(id) = session_id(headers).filter(|_| !self.stateless) else {
            return Ok(method_not_allowed("Only a session has a stream: send messages with POST", !self.stateless));
        };
        classify::legacy_revision(None, version_of(headers))?;
        if !Accepts::of(headers).events {
            let text = "The stream is text/event-stream: accept it";
            return Err(Rejection::of_http(StatusCode::NOT_ACCEPTABLE, text));
        }
        let session = self.sessions.touch(&self.runtime, id).ok_or_else(|| classify::unknown_session(None))?;
        let source = Source::Mailbox(session.mailbox.attach());
        Ok(reply::stream(Events::new(source, self.server.options().keep_alive, self.open_stream(None))))
    }

    fn delete(&self, headers: &HeaderMap) -> Result<Response<HttpBody>, Rejection> {
        let Some(id) = session_id(headers).filter(|_| !self.stateless) else {
            return Ok(method_not_allowed("There is no session to end", !self.stateless));
        };
        classify::legacy_revision(None, version_of(headers))?;
        let session = self.sessions.remove(id).ok_or_else(|| classify::unknown_session(None))?;
        session.end();
        Ok(empty(StatusCode::NO_CONTENT))
    }

    /// Lists a stream of the modern era as open.
    pub(super) fn open_stream(self: &Arc<Self>, connection: Option<&Arc<Connection>>) -> OpenStream {
        let listed = connection.map(|connection| {
            let number = self.next_stream.fetch_add(1, Ordering::Relaxed);
            self.streams.lock().insert(number, Arc::downgrade(connection));
            (Arc::clone(self), number)
        });
        OpenStream { listed }
    }

    fn log(&self, rejection: &Rejection) {
        if let Some(log) = self.runtime.wire_log() {
            let (side, direction, transport) = (Side::Server, Direction::Sent, Transport::Http);
            log.text(
                &Exchange { side, direction, transport, revision: None, method: None, refused: true },
                &rejection.body,
            );
        }
    }
}

fn version_of(headers: &HeaderMap) -> Option<&str> {
    // A value that is no text is a version that nobody supports.
    headers.get(headers::PROTOCOL_VERSION).map(|value| value.to_str().unwrap_or_default().trim())
}

fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(headers::SESSION_ID).map(|value| value.to_str().unwrap_or_default())
}

/// Lets the page that the guard allowed read the response.
fn with_cors(mut response: Response<HttpBody>, origin: &HeaderValue, request: &HeaderMap) -> Response<HttpBody> {
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    if response.status() == StatusCode::FORBIDDEN {
        return response;
    }
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("Mcp-Session-Id, Retry-After"));
    if let Some(wanted) = request.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    }
    response
}

impl<B> tower_service::Service<Request<B>> for HttpService
where
    B: Body + Send + 'static,
    B::Data: Send,
{
    type Response = Response<HttpBody>;
    type Error = Infallible;
    type Future = Task<Result<Response<HttpBody>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.respond(request).await) })
    }
}
