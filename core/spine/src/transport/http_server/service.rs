//! A server as a service: authorization and routing.

use super::{
    super::{
        blocked::{CUT_TIMEOUT, exit_if_blocked},
        closing::Closing,
        observed_exchange::ObservedExchange,
        signals::SignalWatch,
    },
    access_control::AccessControl,
    access_log::{AccessRecord, RefusalLog},
    admission::{Admission, AdmissionLimits},
    cors::{self, WebPage},
    endpoint::closing,
    endpoint_state::EndpointState,
    health::Readiness,
    history::ReplayBudget,
    http_options::HttpOptions,
    large_messages::LargeMessages,
    rate::RateLimit,
    reply::{empty, method_not_allowed, rejected},
    response_body::HttpBody,
    session_table::{HttpSession, SessionTable},
    workers::Workers,
};
use crate::{
    http::{
        guard::Guard,
        headers,
        rejection::Rejection,
        routes::{self, Purpose, Routes},
        sessions::SessionBounds,
    },
    runtime::{BoxedTask, Runtime},
    server::{Connection, HttpRequest, Outbound, OutgoingMessage, Server, ServerOptions},
    wire_log::{Direction, MessageInfo, Side, Transport},
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, Version, header::CONNECTION};
use http_body::Body;
use std::{
    convert::Infallible,
    io,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::{runtime::Handle, task::JoinSet};

/// A server as a [`tower_service::Service`], to be mounted in a web framework. Cheap to clone.
///
/// It responds at every path; routing is up to the framework. It must be polled within a tokio
/// runtime.
///
/// ```no_run
/// use std::time::Duration;
/// use trunkline::Server;
///
/// # async fn run() -> std::io::Result<()> {
/// let service = Server::builder("mounted", "1.0.0").build().into_service();
/// let router = axum::Router::new().nest_service("/mcp", service.clone());
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
/// axum::serve(listener, router)
///     .with_graceful_shutdown(async move {
///         let _ = tokio::signal::ctrl_c().await;
///         service.close(Duration::from_secs(5)).await;
///     })
///     .await
/// # }
/// ```
#[derive(Clone)]
pub struct HttpService {
    shared: Arc<EndpointState>,
}

/// Drops messages that belong to no request and have no session.
struct Nowhere;

impl Outbound for Nowhere {
    fn send(&self, _: OutgoingMessage) {}
}

impl HttpService {
    /// Serves `server`. Options for sockets and paths are ignored, except that if the host is
    /// loopback, requests that name another host are refused.
    pub fn new(server: Server, options: &HttpOptions, runtime: Arc<dyn Runtime>) -> Self {
        Self::build(server, options, runtime, true, true)
    }

    pub(super) fn at_path(server: Server, options: &HttpOptions, runtime: Arc<dyn Runtime>) -> Self {
        Self::build(server, options, runtime, false, false)
    }

    /// Serves below a router, which may have stripped a prefix from the path.
    pub(super) fn below_a_router(server: Server, options: &HttpOptions, runtime: Arc<dyn Runtime>) -> Self {
        Self::build(server, options, runtime, false, true)
    }

    fn build(server: Server, options: &HttpOptions, runtime: Arc<dyn Runtime>, mounted: bool, below: bool) -> Self {
        let ServerOptions { max_sessions, max_sessions_per_client, session_idle, .. } = *server.options();
        let of_sessions =
            SessionBounds { max: max_sessions, max_per_client: max_sessions_per_client, idle: session_idle };
        // Web pages cannot reach a Unix socket.
        let bound = if options.unix.is_some() { "" } else { &options.host };
        let sse = options.sse.as_deref().filter(|_| !options.stateless).map(|sse| (sse, options.messages.as_str()));
        let routes =
            Routes::new(&options.path, sse, mounted).with_probes(options.health).with_liveness(&options.health_paths);
        let (events, bytes) = (options.replay_events, options.replay_bytes);
        let limits = &server.options().limits;
        let admission = AdmissionLimits {
            connections: options.max_connections,
            per_address: options.max_connections_per_address,
            requests: options.max_requests,
            // A listening client counts like a session.
            streams: max_sessions,
            per_client: limits.max_running.max(1).saturating_add(limits.max_waiting),
            bytes: options.max_body_bytes.max(limits.max_message_bytes),
        };
        let sessions = SessionTable::new(of_sessions, &runtime);
        let nowhere: Arc<dyn Outbound> = Arc::new(Nowhere);
        let workers = (!options.stateless)
            .then(|| Workers::of(&server, &runtime, &sessions, &nowhere, (events.max(1), bytes)))
            .flatten();
        let probed = options.is_probed() && !mounted;
        Self {
            shared: Arc::new(EndpointState {
                guard: Guard::new(bound, &options.allowed_hosts, &options.allowed_origins),
                access: AccessControl::of(options, mounted || below, &server, &runtime),
                refusals: RefusalLog::default(),
                proxies: options.trusted_proxies.clone(),
                routes: if below { routes.below() } else { routes },
                readiness: probed.then(|| Readiness::of(&server, &runtime)),
                stateless: options.stateless,
                json: options.json,
                replay_budget: (events > 0 && bytes > 0)
                    .then(|| ReplayBudget::new(options.max_replay_bytes, (events, bytes), options.retry)),
                sessions,
                sse_sessions: SessionTable::new(of_sessions, &runtime),
                nowhere,
                workers,
                origin: server.new_origin(),
                admission: Admission::new(admission),
                large: LargeMessages::default(),
                rate: RateLimit::new(options.rate_limit, options.rate_burst),
                lifespan: server.live(&runtime),
                closing: AtomicBool::new(false),
                end: Closing::default(),
                server,
                runtime,
            }),
        }
    }

    /// Closes the service and all its clones: streams end, and new requests are refused as busy,
    /// over HTTP/1 with `Connection: close`. Calls may run until the deadline; then they are
    /// cancelled and get an error response. Requires a tokio runtime.
    ///
    /// Call this before the framework shuts down, because frameworks wait for open responses and
    /// clients keep streams open indefinitely. [`close_on_signal`](Self::close_on_signal) does so
    /// at the end of the program.
    ///
    /// If called repeatedly, all callers wait for the same end, and the earliest deadline wins.
    /// Dropping the future does not stop closing.
    pub async fn close(&self, deadline: Duration) {
        let service = self.clone();
        self.shared.end.begin(&Handle::current(), deadline, |mut deadline| async move {
            service.begin_closing();
            if !deadline.allows(service.drain()).await {
                service.interrupt();
            }
            service.end_all().await;
        });
        self.shared.end.ended().await;
    }

    /// Closes the service on SIGINT (Ctrl-C) or SIGTERM. The future completes as soon as a signal
    /// arrives, so that the web server stops listening first; [`closed`](Self::closed) completes
    /// when the service is closed, within [`drain_deadline`](crate::ServerOptions::drain_deadline):
    /// calls in flight may complete, and streams end. A second signal ends the process immediately.
    ///
    /// The program should end after this: if a handler still blocks its thread two seconds after
    /// closing, the process exits with status 1.
    ///
    /// ```no_run
    /// # use axum::Router;
    /// # async fn run(server: trunkline::Server, listener: tokio::net::TcpListener) -> std::io::Result<()> {
    /// let service = server.into_service();
    /// let application = Router::new().nest_service("/mcp", service.clone());
    /// axum::serve(listener, application).with_graceful_shutdown(service.close_on_signal()?).await?;
    /// service.closed().await;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the system does not let the process handle signals.
    pub fn close_on_signal(&self) -> io::Result<impl Future<Output = ()> + Send + 'static + use<>> {
        let (service, deadline) = (self.clone(), self.shared.server.options().drain_time());
        let signals = SignalWatch::start(deadline)?;
        Ok(async move {
            signals.came().await;
            tokio::spawn(async move {
                service.close(deadline).await;
                drop(signals);
                exit_if_blocked();
            });
        })
    }

    /// Completes when the service is closed: by [`close`](Self::close), or after a signal.
    pub async fn closed(&self) {
        self.shared.end.ended().await;
    }

    /// Responds to a request from a peer, whose address may be unknown. Every error is a response.
    pub(super) async fn respond<B: Body>(&self, request: Request<B>, peer: Option<IpAddr>) -> Response<HttpBody> {
        let (parts, body) = request.into_parts();
        let shared = &self.shared;
        let page = WebPage::of(&parts.headers);
        let has_connection_header = parts.version < Version::HTTP_2;
        let request = HttpRequest::new(parts, peer);
        let access = AccessRecord::begin(&request);
        let observed = ObservedExchange::begin(Side::Server, request.method(), request.uri(), request.headers());
        // Before the guard, because orchestrators send the address of the process as `Host`.
        if let (Some(readiness), Some(probe)) = (&shared.readiness, shared.routes.probe(request.uri().path())) {
            let response = readiness.answer(&shared.server, probe, request.method(), shared.is_closing()).await;
            AccessRecord::end(access, response.status());
            return response;
        }
        let mut response = match shared.route(request, body).await {
            Ok(response) => response,
            Err(rejection) => {
                shared.log(&rejection);
                rejected(rejection)
            }
        };
        AccessRecord::end(access, response.status());
        shared.access.add_nonce(&mut response);
        if let Some(page) = page {
            cors::allow(&mut response, page);
        }
        // Another process may serve a new connection.
        if has_connection_header && shared.is_closing() {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        ObservedExchange::answered(observed, response.status(), response.headers());
        response
    }

    /// Admission at the endpoint, which also counts the connections of a listener.
    pub(super) fn admission(&self) -> Arc<Admission> {
        Arc::clone(&self.shared.admission)
    }

    /// Returns whether there is anything for a request at its path.
    pub(super) fn serves<B>(&self, request: &Request<B>) -> bool {
        let shared = &self.shared;
        let path = request.uri().path();
        shared.routes.probe(path).is_some()
            || shared.access.metadata(request.method(), path, shared.routes.endpoint()).is_some()
            || shared.purpose(request.method(), request.uri(), request.headers()) != Purpose::Nowhere
    }

    /// Stops accepting messages and ends streams. Calls continue, but not tasks that wait for
    /// input.
    pub(super) fn begin_closing(&self) {
        self.shared.closing.store(true, Ordering::Release);
        self.shared.server.refuse_task_input_of(self.shared.origin);
        self.shared.admission.end_subscriptions();
        self.shared.sessions.all().iter().for_each(|session| session.stream.finish());
        self.shared.workers.iter().for_each(|workers| workers.closing.store(true, Ordering::Relaxed));
    }

    /// Called when clients can no longer connect: their calls do not wait for their input. What the
    /// clients of shared sessions send arrives through other processes.
    pub(super) fn end_input(&self) {
        let tables = [&self.shared.sessions, &self.shared.sse_sessions];
        let sessions = tables.into_iter().flat_map(|table| table.all());
        sessions.filter(|session| session.shared.is_none()).for_each(|session| session.connection.end_input());
    }

    /// Completes when no call or task is running.
    pub(super) async fn drain(&self) {
        // Together, because the stream of each session ends as soon as the session is drained.
        let mut draining = JoinSet::new();
        for session in [&self.shared.sessions, &self.shared.sse_sessions].into_iter().flat_map(|table| table.all()) {
            draining.spawn(async move { session.drain().await });
        }
        for connection in self.shared.admission.served() {
            draining.spawn(async move { connection.drain().await });
        }
        draining.join_all().await;
        self.shared.server.drain_tasks_of(self.shared.origin).await;
    }

    /// Fails the calls and tasks that are still running or queued at the deadline. Error responses
    /// are written before connections and streams end.
    pub(super) fn interrupt(&self) {
        self.shared.server.end_tasks_of(self.shared.origin);
        for session in self.shared.sessions.all().iter().chain(&self.shared.sse_sessions.all()) {
            session.connection.interrupt();
            session.stream.finish();
        }
        self.shared.admission.served().iter().for_each(Connection::interrupt);
    }

    /// Ends all sessions, remaining requests without one, the tasks of both, and finally the
    /// lifespan of the server, unless something else uses it.
    pub(super) async fn end_all(&self) {
        self.shared.admission.close().iter().for_each(Connection::close);
        for table in [&self.shared.sessions, &self.shared.sse_sessions] {
            table.drain().iter().for_each(HttpSession::end);
        }
        self.shared.server.end_tasks_of(self.shared.origin);
        let stored = async {
            self.shared.server.drain_tasks_of(self.shared.origin).await;
            // The process may exit next, and clients read the last responses at another one.
            if let Some(workers) = &self.shared.workers {
                workers.sent().await;
            }
        };
        // Don't wait for an unavailable store: other processes will soon presume this one dead.
        let _ = tokio::time::timeout(CUT_TIMEOUT, stored).await;
        self.shared.lifespan.release().await;
    }
}

impl EndpointState {
    async fn route<B: Body>(self: &Arc<Self>, request: HttpRequest, body: B) -> Result<Response<HttpBody>, Rejection> {
        let parts = &request.parts;
        self.guard.check(&parts.headers, &parts.uri).inspect_err(|refusal| self.refusals.by_guard(refusal))?;
        if parts.method == Method::OPTIONS {
            // A preflight request; the guard has already decided.
            return Ok(empty(StatusCode::NO_CONTENT));
        }
        if let Some(response) = self.access.metadata(&parts.method, parts.uri.path(), self.routes.endpoint()) {
            return Ok(response);
        }
        // Before authorization, which only applies to the endpoint.
        let purpose = self.purpose(&parts.method, &parts.uri, &parts.headers);
        if purpose == Purpose::Nowhere {
            let text = format!("Nothing is served at {}; {}", parts.uri.path(), self.routes.describe());
            return Err(Rejection::of_http(StatusCode::NOT_FOUND, text));
        }
        let caller = self.access.caller(&request, &self.runtime).await?;
        if parts.method != Method::POST && self.is_closing() {
            return Err(closing(None));
        }
        match purpose {
            Purpose::SseStream => self.sse_stream(&request, &caller),
            Purpose::SseMessages => self.sse_message(request, body, &caller).await,
            _ if parts.method == Method::POST => self.post(request, body, &caller).await,
            _ if parts.method == Method::GET => self.get(&parts.headers, &caller).await,
            _ if parts.method == Method::DELETE => self.delete(&parts.headers, &caller).await,
            _ => Ok(method_not_allowed("Send messages with POST", !self.stateless)),
        }
    }

    fn purpose(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Purpose {
        let in_session = headers.contains_key(headers::SESSION_ID);
        let addressed = routes::session_of(uri.query()).is_some();
        self.routes.find(uri.path(), method == Method::GET, in_session, addressed)
    }

    fn log(&self, rejection: &Rejection) {
        let Some(log) = self.runtime.wire_log() else { return };
        let (side, direction, transport) = (Side::Server, Direction::Sent, Transport::Http);
        let (revision, client_capabilities, method, connection) = (None, None, None, None);
        let refused = true;
        let info =
            MessageInfo { side, direction, connection, transport, revision, client_capabilities, method, refused };
        log.text(&info, &rejection.body);
    }
}

impl<B> tower_service::Service<Request<B>> for HttpService
where
    B: Body + Send + 'static,
    B::Data: Send,
{
    type Response = Response<HttpBody>;
    type Error = Infallible;
    type Future = BoxedTask<Result<Response<HttpBody>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.respond(request, None).await) })
    }
}
