//! The listening socket of an HTTP server, and its connections.

use super::{
    super::{blocked::CUT_TIMEOUT, bound_address::BoundAddress, closing::Deadline},
    activity::Activity,
    admission::{Admission, Place},
    http_options::HttpOptions,
    service::HttpService,
    socket::{Socket, SocketStream},
    unread::{UnreadBody, UnreadResponses},
    write_deadline::WriteDeadline,
};
use crate::{http::routes, runtime::Runtime, server::Server, sync::Mutex};
use http::{HeaderValue, Request, Version, header};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use std::{convert::Infallible, io, net::IpAddr, pin::pin, sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep},
};

/// Maximum size of a request head.
const HEAD_BYTES: usize = 64 << 10;
/// Maximum concurrent requests on one HTTP/2 connection.
const MAX_STREAMS: u32 = 256;
/// Interval and timeout of HTTP/2 keep-alive pings.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// Bounds of timeouts that are added to the time and waited for again and again.
const MIN_IDLE_TIMEOUT: Duration = Duration::from_millis(10);
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
/// The wait when the system has no more sockets, or no connection has been evicted yet.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// A server listening on a socket, until it is closed or its runtime ends.
pub(crate) struct HttpListener {
    service: HttpService,
    address: BoundAddress,
    phase: watch::Sender<ListenerPhase>,
    /// True if health probes are answered while draining.
    probed: bool,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// The phases of a listener, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ListenerPhase {
    Open,
    /// Calls are finishing. New connections only get responses to health probes.
    Draining,
    Closed,
}

impl HttpListener {
    /// Listens. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// If the address is unavailable; the message names it.
    pub(crate) async fn bind(server: Server, options: &HttpOptions, runtime: Arc<dyn Runtime>) -> io::Result<Self> {
        let socket = Socket::bind(options).await?;
        let address = socket.address(&routes::normal(&options.path));
        // HTTP-05, HTTP-06
        if options.auth.is_none() && socket.is_reachable_from_elsewhere() {
            tracing::warn!(
                target: "trunkline::server::http",
                url = address.url,
                "other machines can reach this server without an access token: set auth, or listen on 127.0.0.1"
            );
        }
        tracing::info!(target: "trunkline::server::http", url = address.url, "serving");
        let service = HttpService::at_path(server, options, runtime);
        let (phase, phases) = watch::channel(ListenerPhase::Open);
        let times = Times { idle: options.idle_timeout.clamp(MIN_IDLE_TIMEOUT, YEAR), write: options.write_timeout };
        let admission = service.admission();
        let server = ConnectionServer { service: service.clone(), times, phases };
        let task = Mutex::new(Some(tokio::spawn(server.accept(socket, admission))));
        Ok(Self { service, address, phase, probed: options.is_probed(), task })
    }

    /// The URL, and the actual port or the path of the socket.
    pub(crate) fn address(&self) -> BoundAddress {
        self.address.clone()
    }

    /// Stops listening (with health probes, when no call is running). Calls in flight may run until
    /// the deadline; then they fail, and a moment later all connections are cut off.
    pub(crate) async fn close(&self, mut deadline: Deadline) {
        let Some(mut task) = self.task.lock().take() else { return };
        self.service.begin_closing();
        self.phase.send_replace(if self.probed { ListenerPhase::Draining } else { ListenerPhase::Closed });
        if !self.probed {
            self.service.end_input();
        }
        let drained = async {
            self.service.drain().await;
            self.phase.send_replace(ListenerPhase::Closed);
            // A panic in a connection only affects that connection.
            let _ = (&mut task).await;
        };
        if !deadline.allows(drained).await {
            self.service.interrupt();
            self.phase.send_replace(ListenerPhase::Closed);
            if tokio::time::timeout(CUT_TIMEOUT, &mut task).await.is_err() {
                task.abort();
                let _ = task.await;
            }
        }
        self.service.end_all().await;
    }
}

/// Idle timeouts of a connection.
#[derive(Clone, Copy)]
struct Times {
    idle: Duration,
    write: Duration,
}

/// Serves the connections of a listener.
#[derive(Clone)]
struct ConnectionServer {
    service: HttpService,
    times: Times,
    phases: watch::Receiver<ListenerPhase>,
}

impl ConnectionServer {
    /// Accepts connections until stopped, then waits for them to end. Dropping it cuts them off.
    async fn accept(mut self, socket: Socket, admission: Arc<Admission>) {
        let mut served = JoinSet::new();
        let mut next: Option<(SocketStream, Option<IpAddr>)> = None;
        loop {
            if let Some((stream, address)) = next.take() {
                match admission.connect(address) {
                    Ok(place) => drop(served.spawn(self.clone().serve(stream, address, place))),
                    Err(full) if full.of_client => {
                        tracing::debug!(target: "trunkline::server::http", "refused a connection: {}", full.text());
                    }
                    Err(_) => next = Some((stream, address)),
                }
            }
            tokio::select! {
                () = reached(&mut self.phases, ListenerPhase::Closed) => break,
                Some(_) = served.join_next() => {}
                // Another connection may be idle by then.
                () = sleep(ACCEPT_RETRY_DELAY), if next.is_some() => {}
                accepted = socket.accept(self.times.write), if next.is_none() => match accepted {
                    Ok(accepted) => next = Some(accepted),
                    Err(error) => {
                        tracing::debug!(target: "trunkline::server::http", %error, "could not accept a connection");
                        sleep(ACCEPT_RETRY_DELAY).await;
                    }
                }
            }
        }
        drop(socket);
        while served.join_next().await.is_some() {}
    }

    /// Serves HTTP/1.1, or HTTP/2 if the client begins with its preface.
    async fn serve(self, stream: SocketStream, peer: Option<IpAddr>, place: Place) {
        let Self { service, times, mut phases } = self;
        let is_late = *phases.borrow() != ListenerPhase::Open;
        let end = if is_late { ListenerPhase::Closed } else { ListenerPhase::Draining };
        let activity = &place.activity;
        let seen = Arc::clone(activity);
        let unread = UnreadResponses::new(activity);
        let answer = service_fn(move |request: Request<Incoming>| {
            let (service, active, unread) = (service.clone(), seen.begin(), Arc::clone(&unread));
            async move {
                let is_http1 = request.version() < Version::HTTP_2;
                // Boxed, because otherwise each idle connection would reserve memory for it.
                let respond = Box::pin(service.respond(request, peer));
                // An HTTP/1.1 client reads one response before it sends the next request.
                let mut response = match is_http1 {
                    true => respond.await.map(|body| UnreadBody::whole(body, active)),
                    false => Box::pin(unread.respond(respond, active)).await,
                };
                if is_late && is_http1 {
                    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, Infallible>(response)
            }
        });
        let builder = protocols(times);
        let stream = TokioIo::new(WriteDeadline::new(stream, times.write, Arc::clone(activity)));
        let mut connection = pin!(builder.serve_connection(stream, answer));
        let (mut idle, mut stuck) = (pin!(idle(activity, times.idle)), pin!(stuck(activity, times.write)));
        let mut stopping = false;
        let served = loop {
            tokio::select! {
                biased;
                served = connection.as_mut() => break served,
                () = reached(&mut phases, end), if !stopping => {}
                () = idle.as_mut() => break Err("it was idle for too long".into()),
                () = stuck.as_mut() => break Err("its client read none of its responses".into()),
                () = activity.evicted.notified() => {
                    if activity.is_stalled() {
                        break Err("its client read nothing, and a new connection needed its place".into());
                    }
                    if stopping {
                        continue;
                    }
                    // Whatever has arrived of a request has been read above, so it is answered
                    // first.
                    if activity.is_idle() {
                        break Err("it was idle, and a new connection needed its place".into());
                    }
                }
            }
            stopping = true;
            activity.set_closing();
            connection.as_mut().graceful_shutdown();
        };
        if let Err(error) = served {
            tracing::debug!(target: "trunkline::server::http", %error, "a connection ended early");
        }
    }
}

/// Completes when a listener has reached a phase.
async fn reached(phases: &mut watch::Receiver<ListenerPhase>, end: ListenerPhase) {
    if phases.wait_for(|phase| *phase >= end).await.is_err() {
        // The listener was dropped without being closed, so it continues.
        std::future::pending::<()>().await;
    }
}

/// The settings of HTTP/1.1 and HTTP/2.
fn protocols(times: Times) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(times.idle).max_buf_size(HEAD_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(HEAD_BYTES as u32)
        .max_concurrent_streams(MAX_STREAMS)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT);
    builder
}

/// Completes when a connection has been idle for once or twice the timeout, because nothing is
/// recorded per request. It is the only limit on silence before the HTTP version is known, and
/// afterwards for HTTP/2.
async fn idle(activity: &Activity, longest: Duration) {
    let mut looked = Instant::now();
    loop {
        let before = activity.changes();
        looked += longest;
        tokio::time::sleep_until(looked).await;
        if activity.is_idle() && activity.changes() == before {
            return;
        }
    }
}

/// Completes when the client of an HTTP/2 connection has read none of its responses for once or
/// twice the timeout. While its windows allow no data, no write is pending that could time out.
async fn stuck(activity: &Activity, longest: Duration) {
    let longest = longest.clamp(MIN_IDLE_TIMEOUT, YEAR);
    loop {
        sleep(longest).await;
        if activity.is_unread_for(longest) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{activity::STALL_TIMEOUT, admission::AdmissionLimits},
        *,
    };
    use crate::transport::TokioRuntime;
    use bytes::Bytes;
    use http::StatusCode;
    use http_body_util::{BodyExt, Full};
    use std::{
        net::Ipv4Addr,
        sync::atomic::{AtomicUsize, Ordering},
    };
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

    /// The client end of a served connection, and the serving task.
    fn served(server: Server, place: Place) -> (DuplexStream, JoinHandle<()>, watch::Sender<ListenerPhase>) {
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        let service = HttpService::at_path(server, &HttpOptions::default(), TokioRuntime::current());
        let (phase, phases) = watch::channel(ListenerPhase::Open);
        let server = ConnectionServer { service, times: TIMES, phases };
        (theirs, tokio::spawn(server.serve(Box::new(ours), None, place)), phase)
    }

    fn connections(connections: usize, per_address: usize) -> Arc<Admission> {
        Admission::new(AdmissionLimits { connections, per_address, ..AdmissionLimits::default() })
    }

    fn lone_place() -> Place {
        connections(1, 0).connect(None).ok().unwrap()
    }

    /// The limit that a connection reaches: that of its address, or that of all.
    fn limit_hit(connections: &Arc<Admission>, address: Option<IpAddr>) -> Option<bool> {
        connections.connect(address).err().map(|full| full.of_client)
    }

    const OF_ALL: Option<bool> = Some(false);
    const OF_ADDRESS: Option<bool> = Some(true);

    /// A server with a tool whose result is larger than all buffers, and the number of its calls.
    fn large() -> (Server, Arc<AtomicUsize>) {
        let calls = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&calls);
        let large = move || {
            counted.fetch_add(1, Ordering::Relaxed);
            async { "x".repeat(LARGE) }
        };
        (Server::builder("listener", "1.0.0").tool("large", "Says much.", large).build(), calls)
    }

    fn call_large() -> Request<String> {
        let meta = serde_json::json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}});
        let params = serde_json::json!({"name": "large", "arguments": {}, "_meta": meta});
        let body = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let request = Request::post("http://localhost/mcp").header("Content-Type", "application/json");
        let request = request.header("Accept", "application/json, text/event-stream");
        let request = request.header("MCP-Protocol-Version", "2026-07-28").header("Mcp-Method", "tools/call");
        request.header("Mcp-Name", "large").body(body.to_string()).unwrap()
    }

    /// A request as it is sent over HTTP/1.1.
    fn text(request: &Request<String>) -> String {
        let body = request.body();
        let mut text = format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in request.headers() {
            text += &format!("{name}: {}\r\n", value.to_str().unwrap());
        }
        text + "\r\n" + body
    }

    const LARGE: usize = 1 << 20;
    const TIMES: Times = Times { idle: Duration::from_secs(60), write: Duration::from_secs(60) };

    #[tokio::test(start_paused = true)]
    async fn the_handlers_of_an_http2_connection_wait_for_its_client_to_read() {
        const CALLS: usize = 40;
        let (server, runs) = large();
        let (socket, _serving, _stop) = served(server, lone_place());
        let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
        let windows = builder.initial_stream_window_size(64 << 10).initial_connection_window_size(1 << 30);
        let (sender, connection) = windows.handshake(TokioIo::new(socket)).await.unwrap();
        tokio::spawn(connection);
        let asked: Vec<_> = (0..CALLS)
            .map(|_| tokio::spawn(sender.clone().send_request(call_large().map(Full::<Bytes>::from))))
            .collect();
        sleep(Duration::from_secs(5)).await;
        let unread = runs.load(Ordering::Relaxed);
        assert!((1..=24).contains(&unread), "{unread} handlers ran for a client that reads nothing");
        for response in asked {
            let response = response.await.unwrap().unwrap();
            assert_eq!(response.status(), StatusCode::OK);
            assert!(response.into_body().collect().await.unwrap().to_bytes().len() > LARGE);
        }
        assert_eq!(runs.load(Ordering::Relaxed), CALLS);
    }

    #[tokio::test(start_paused = true)]
    async fn an_http2_connection_ends_when_it_has_had_no_request_for_a_while() {
        let (socket, serving, _stop) = served(large().0, lone_place());
        let executor = TokioExecutor::new();
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(executor, TokioIo::new(socket)).await.unwrap();
        let connection = tokio::spawn(connection);
        let began = Instant::now();
        // An occasional request keeps it open, and pings are always answered.
        for _ in 0..5 {
            let request = Request::get("http://localhost/nothing").body(Full::<Bytes>::default()).unwrap();
            let response = sender.send_request(request).await.unwrap();
            assert_eq!(response.status(), StatusCode::NOT_FOUND);
            response.into_body().collect().await.unwrap();
            sleep(Duration::from_secs(50)).await;
        }
        let _ = connection.await;
        serving.await.unwrap();
        let seconds = began.elapsed().as_secs();
        assert!((4 * 50 + 60..=4 * 50 + 2 * 60).contains(&seconds), "{seconds}");
    }

    /// Otherwise the listener waits with it, and accepts no connection of other addresses.
    #[tokio::test(start_paused = true)]
    async fn an_address_at_its_limit_is_refused_while_the_connection_evicted_for_it_is_unread() {
        let address = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let connections = connections(10, 1);
        let (mut socket, serving, _stop) = served(large().0, connections.connect(address).ok().unwrap());
        sleep(Duration::from_secs(1)).await;
        socket.write_all(text(&call_large()).as_bytes()).await.unwrap();
        // The connection was idle until now, and its request is answered first.
        assert_eq!(limit_hit(&connections, address), OF_ALL);
        sleep(Duration::from_secs(1)).await;
        let mut head = [0; 1024];
        socket.read_exact(&mut head).await.unwrap();
        let head = String::from_utf8_lossy(&head);
        assert!(head.starts_with("HTTP/1.1 200 OK") && head.contains("connection: close"), "{head}");
        assert_eq!(limit_hit(&connections, address), OF_ADDRESS);
        sleep(STALL_TIMEOUT).await;
        assert_eq!(limit_hit(&connections, address), OF_ALL);
        serving.await.unwrap();
    }

    /// Refused requests are no exception: without a token, they would hold a place for as long as
    /// the write timeout.
    #[tokio::test(start_paused = true)]
    async fn a_connection_whose_client_reads_nothing_for_seconds_gives_way() {
        let connections = connections(1, 0);
        let (mut socket, serving, _stop) = served(large().0, connections.connect(None).ok().unwrap());
        let refused = "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(10_000);
        let (mut reader, mut writer) = tokio::io::split(&mut socket);
        let sends = writer.write_all(refused.as_bytes());
        assert!(tokio::time::timeout(STALL_TIMEOUT * 4 / 5, sends).await.is_err(), "all were answered");
        // The client reads a little now and then.
        for _ in 0..10 {
            assert_eq!(limit_hit(&connections, None), OF_ALL);
            reader.read_exact(&mut [0; 16 << 10]).await.unwrap();
            sleep(STALL_TIMEOUT * 4 / 5).await;
            assert!(!serving.is_finished());
        }
        sleep(STALL_TIMEOUT).await;
        assert_eq!(limit_hit(&connections, None), OF_ALL);
        tokio::time::timeout(Duration::from_secs(1), serving).await.unwrap().unwrap();
        assert!(connections.connect(None).is_ok());
    }

    /// Whatever its requests are: its client takes the heads of their responses, and answers pings.
    #[tokio::test(start_paused = true)]
    async fn an_http2_connection_whose_client_reads_no_response_for_seconds_gives_way() {
        let connections = connections(1, 0);
        for (window, request, reads) in [
            (0, Request::get("http://localhost/nothing").body(String::new()).unwrap(), 0),
            (16 << 10, call_large(), 10),
        ] {
            let (socket, serving, _stop) = served(large().0, connections.connect(None).ok().unwrap());
            let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
            let windows = builder.initial_stream_window_size(window);
            let (mut sender, connection) = windows.handshake(TokioIo::new(socket)).await.unwrap();
            tokio::spawn(connection);
            let mut response = sender.send_request(request.map(Full::<Bytes>::from)).await.unwrap();
            // The client reads a little now and then.
            for _ in 0..reads {
                assert!(response.body_mut().frame().await.unwrap().unwrap().is_data());
                sleep(STALL_TIMEOUT * 4 / 5).await;
                assert_eq!(limit_hit(&connections, None), OF_ALL);
                assert!(!serving.is_finished());
            }
            sleep(STALL_TIMEOUT).await;
            assert_eq!(limit_hit(&connections, None), OF_ALL);
            tokio::time::timeout(Duration::from_secs(1), serving).await.unwrap().unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_http2_connection_whose_client_reads_no_response_ends_after_the_write_timeout() {
        let (socket, serving, _stop) = served(large().0, lone_place());
        let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
        let windows = builder.initial_stream_window_size(16 << 10);
        let (mut sender, connection) = windows.handshake(TokioIo::new(socket)).await.unwrap();
        tokio::spawn(connection);
        let mut response = sender.send_request(call_large().map(Full::<Bytes>::from)).await.unwrap();
        // The client reads a little now and then.
        for _ in 0..5 {
            assert!(response.body_mut().frame().await.unwrap().unwrap().is_data());
            sleep(TIMES.write * 4 / 5).await;
            assert!(!serving.is_finished());
        }
        tokio::time::timeout(TIMES.write * 3, serving).await.unwrap().unwrap();
    }

    /// The rest of a response, of which a client reads little at a time.
    async fn read_slowly(mut socket: DuplexStream) -> usize {
        let (mut read, mut piece) = (0, vec![0; 16 << 10]);
        while read < LARGE {
            sleep(Duration::from_secs(10)).await;
            match socket.read(&mut piece).await {
                Ok(0) | Err(_) => break,
                Ok(bytes) => read += bytes,
            }
        }
        read
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_not_idle_while_its_client_reads_a_response() {
        let (mut socket, serving, _stop) = served(large().0, lone_place());
        socket.write_all(text(&call_large()).as_bytes()).await.unwrap();
        let began = Instant::now();
        assert!(read_slowly(socket).await >= LARGE);
        assert!(began.elapsed() > 5 * TIMES.idle);
        serving.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_whose_client_reads_a_response_is_not_evicted() {
        let connections = connections(1, 0);
        let (mut socket, _serving, _stop) = served(large().0, connections.connect(None).ok().unwrap());
        socket.write_all(text(&call_large()).as_bytes()).await.unwrap();
        let mut head = [0; 1024];
        socket.read_exact(&mut head).await.unwrap();
        assert!(head.starts_with(b"HTTP/1.1 200 OK"));
        assert_eq!(limit_hit(&connections, None), OF_ALL);
        assert!(head.len() + read_slowly(socket).await >= LARGE);
    }

    #[cfg(feature = "full")]
    #[test]
    fn sec_20_a_server_that_other_machines_reach_without_a_token_is_warned_of() {
        use crate::{
            auth::{Authorization, AuthorizationOptions},
            tests::kept_log::KeptLog,
        };
        let authorization = || {
            let verifier = |verification: crate::auth::Verification| drop(verification);
            let options = AuthorizationOptions::new("https://mcp.example/mcp");
            Authorization::new(options.with_authorization_servers(["https://auth.example"]), Arc::new(verifier))
                .unwrap()
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let log = KeptLog::default();
        let warnings = |options: HttpOptions| {
            tracing::subscriber::with_default(log.clone(), || {
                runtime.block_on(async {
                    let server = Server::builder("listener", "1.0.0").build();
                    drop(HttpListener::bind(server, &options.with_port(0), TokioRuntime::current()).await.unwrap());
                });
            });
            let mut records = log.take();
            records.retain(|record| !record.contains("serving (url=http://"));
            records
        };
        let everywhere = || HttpOptions::default().with_host("0.0.0.0");
        assert_eq!(warnings(HttpOptions::default()), [] as [String; 0], "this machine only");
        assert_eq!(warnings(everywhere().with_auth(Some(authorization()))), [] as [String; 0], "guarded");
        let told = warnings(everywhere());
        assert!(told.len() == 1 && told[0].contains("access token") && told[0].contains("set auth"), "{told:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_connection_ends() {
        let (_socket, serving, _stop) = served(large().0, lone_place());
        let began = Instant::now();
        serving.await.unwrap();
        assert_eq!(began.elapsed().as_secs(), 60);
    }
}
