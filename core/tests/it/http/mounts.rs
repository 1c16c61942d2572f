//! Servers in axum, and clients and middleware that are difficult: `tests/mounts.json`.

use super::support::{Answer, Ask, Stream, Text, call, eventually, initialize, modern_request, request};
use axum::{
    Router,
    extract::Request,
    middleware::{self, Next},
    response::{IntoResponse, Response},
    serve::ListenerExt,
};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::Semaphore,
    time::{sleep, timeout},
};
use trunkline::{
    server::{Context, Params, Server},
    transport::{HttpOptions, HttpService},
};

const TABLE: &str = include_str!("../../../../tests/mounts.json");
const PATH: &str = "/api/v1/mcp";
/// More than the buffers of sockets hold.
const LARGE: usize = 8_000_000;
/// Far above what a slow machine needs.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Deserialize)]
struct Row {
    name: String,
    play: String,
    tool: String,
    options: Given,
    seen: Value,
    #[serde(default)]
    lacks: HashMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Given {
    write_timeout_ms: Option<u32>,
    #[serde(default)]
    json: bool,
}

/// The events that the tools of a server have seen.
#[derive(Clone)]
struct Events {
    started: Arc<AtomicBool>,
    cancelled: Arc<AtomicBool>,
    /// Closed to let calls go.
    released: Arc<Semaphore>,
}

impl Events {
    fn new() -> Self {
        Self { started: Arc::default(), cancelled: Arc::default(), released: Arc::new(Semaphore::new(0)) }
    }

    async fn waits(&self, ctx: &Context) -> &'static str {
        let mut running = Running(Arc::clone(&self.cancelled), false);
        ctx.progress(1.0, None).await;
        self.started.store(true, Ordering::SeqCst);
        let _closed = self.released.acquire().await;
        running.1 = true;
        "released"
    }

    fn has_started(&self) -> bool {
        self.started.load(Ordering::SeqCst)
    }

    async fn until_started(&self) {
        eventually("the call starts", || self.has_started()).await;
    }

    async fn until_cancelled(&self) {
        eventually("the call is cancelled", || self.cancelled.load(Ordering::SeqCst)).await;
    }
}

/// A call, and whether it has completed.
struct Running(Arc<AtomicBool>, bool);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.store(!self.1, Ordering::SeqCst);
    }
}

/// A mounted server.
struct Site {
    service: HttpService,
    address: SocketAddr,
    events: Events,
}

impl Site {
    async fn new(row: &Row) -> Self {
        let events = Events::new();
        let (waiting, filling) = (events.clone(), events.clone());
        let server = Server::builder("mounted", "1")
            .tool("waits", "", move |ctx: Context| {
                let events = waiting.clone();
                async move { events.waits(&ctx).await }
            })
            .tool("large", "", async |ctx: Context| {
                ctx.progress(1.0, None).await;
                "x".repeat(LARGE)
            })
            .tool("fills", "", move |ctx: Context| {
                let events = filling.clone();
                async move {
                    ctx.progress_message(1.0, Some(2.0), &"x".repeat(LARGE)).await;
                    events.waits(&ctx).await
                }
            })
            .tool("echo", "", |Params(it): Params<Text>| async move { it.text })
            .build();
        let service = server.into_service_with(HttpOptions::default().with_json(row.options.json));
        let mut application = Router::new().nest_service(PATH, service.clone());
        if row.play == "deadline" {
            let (events, tool) = (events.clone(), row.tool.clone());
            application = application.layer(middleware::from_fn(move |request: Request, next: Next| {
                until_started(events.clone(), tool.clone(), request, next)
            }));
        }
        let address = serve(application, row.options.write_timeout_ms.unwrap_or(60_000)).await;
        Self { service, address, events }
    }

    fn modern(&self, tool: &str) -> Ask {
        let ask = Ask::new(self.address, "POST").path(PATH).json(&message(tool));
        modern_headers(tool).into_iter().fold(ask, |ask, (name, value)| ask.header(name, value))
    }

    async fn others(&self) -> &'static str {
        let answer = self.modern("echo").send().await;
        if answer.status == 200 && answer.body.contains("echoed") { "served" } else { "refused" }
    }

    /// A connection on which a call was sent, or only the start of its body, and the rest of it.
    async fn raw(&self, tool: &str, send: usize, length: Option<usize>) -> (TcpStream, String) {
        self.raw_at("127.0.0.1", tool, send, length).await
    }

    async fn raw_at(&self, host: &str, tool: &str, send: usize, length: Option<usize>) -> (TcpStream, String) {
        let socket = TcpSocket::new_v4().unwrap();
        // A large buffer takes long until it has room again.
        socket.set_recv_buffer_size(256 << 10).unwrap();
        let mut stream = socket.connect(self.address).await.unwrap();
        let body = message(tool).to_string();
        let length = length.unwrap_or(body.len());
        let mut head = format!("POST {PATH} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\n");
        head +=
            "content-type: application/json\r\naccept: application/json, text/event-stream\r\nconnection: close\r\n";
        for (name, value) in modern_headers(tool) {
            head += &format!("{name}: {value}\r\n");
        }
        let (sent, rest) = body.split_at(send.min(body.len()));
        stream.write_all(format!("{head}\r\n{sent}").as_bytes()).await.unwrap();
        (stream, rest.to_owned())
    }

    async fn session(&self) -> String {
        let opened = Ask::new(self.address, "POST").path(PATH).json(&initialize("2025-11-25")).send().await;
        opened.header("mcp-session-id").expect("it has a session").to_owned()
    }

    fn in_session(&self, method: &str, session: &str) -> Ask {
        let ask = Ask::new(self.address, method).path(PATH).header("Accept", "application/json, text/event-stream");
        ask.header("Mcp-Session-Id", session).header("MCP-Protocol-Version", "2025-11-25")
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.events.released.close();
    }
}

/// A deadline of middleware, but not by the clock.
async fn until_started(events: Events, tool: String, request: Request, next: Next) -> Response {
    if request.headers().get("mcp-name").is_none_or(|name| name.as_bytes() != tool.as_bytes()) {
        return next.run(request).await;
    }
    tokio::select! {
        response = next.run(request) => response,
        () = events.until_started() => StatusCode::GATEWAY_TIMEOUT.into_response(),
    }
}

/// Serves with a limit for clients that read nothing, which axum itself does not have.
async fn serve(application: Router, write_timeout_ms: u32) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let listener = listener.tap_io(move |stream| {
        #[cfg(target_os = "linux")]
        rustix::net::sockopt::set_tcp_user_timeout(&*stream, write_timeout_ms).unwrap();
        #[cfg(not(target_os = "linux"))]
        let _ = (stream, write_timeout_ms);
    });
    tokio::spawn(async move { axum::serve(listener, application).await });
    address
}

fn message(tool: &str) -> Value {
    let arguments = if tool == "echo" { json!({"text": "echoed"}) } else { json!({}) };
    let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": 1}});
    modern_request("tools/call", params)
}

fn modern_headers(tool: &str) -> [(&'static str, &str); 3] {
    [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)]
}

/// Reads until the connection ends, in whatever way.
async fn read_all(stream: &mut TcpStream) -> Vec<u8> {
    let mut read = Vec::new();
    let reading = async { while stream.read_buf(&mut read).await.is_ok_and(|length| length > 0) {} };
    timeout(TEST_TIMEOUT, reading).await.expect("the connection ends");
    read
}

fn outcome(text: &str, wanted: &str, name: &str) -> String {
    if text.contains(wanted) { name } else { text }.to_owned()
}

async fn stuck_reader(site: &Site, row: &Row) -> Value {
    let (mut stuck, _) = site.raw(&row.tool, usize::MAX, None).await;
    if row.tool == "fills" {
        site.events.until_cancelled().await;
    } else {
        // The system gives it up: it acknowledges probes, but has no room.
        let given_up = async {
            while has_server_end(&stuck) {
                sleep(Duration::from_millis(20)).await
            }
        };
        timeout(TEST_TIMEOUT, given_up).await.expect("the system gives it up");
    }
    let others = site.others().await;
    let cut = read_all(&mut stuck).await;
    assert!(cut.starts_with(b"HTTP/1.1 200 ") && cut.len() < LARGE, "{}", cut.len());
    let mut seen = json!({"response": "given up", "others": others});
    if row.tool == "fills" {
        seen["call"] = "cancelled".into();
    }
    seen
}

/// Returns whether the server's end of a connection is still open. The client's end learns of it
/// only when it reads.
fn has_server_end(client: &TcpStream) -> bool {
    let [server, client] = [client.peer_addr(), client.local_addr()].map(|end| format!(":{:04X}", end.unwrap().port()));
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    table.lines().any(|line| {
        let columns: Vec<_> = line.split_whitespace().take(4).collect();
        matches!(*columns, [_, from, to, "01"] if from.ends_with(&server) && to.ends_with(&client))
    })
}

async fn slow_reader(site: &Site, row: &Row) -> Value {
    let (mut slow, _) = site.raw(&row.tool, usize::MAX, None).await;
    let (mut buffer, mut length, mut last) = (vec![0; 64 << 10], 0, Vec::new());
    while let Ok(read @ 1..) = slow.read(&mut buffer).await {
        length += read;
        last.extend_from_slice(&buffer[..read]);
        last.drain(..last.len().saturating_sub(5));
        sleep(Duration::from_millis(30)).await;
    }
    let is_complete = length > LARGE && last == b"0\r\n\r\n";
    json!({"response": if is_complete { "complete".to_owned() } else { format!("cut after {length} bytes") }})
}

async fn slow_body(site: &Site, row: &Row) -> Value {
    let (mut slow, rest) = site.raw(&row.tool, 20, None).await;
    let others = site.others().await;
    slow.write_all(rest.as_bytes()).await.unwrap();
    let text = String::from_utf8(read_all(&mut slow).await).unwrap();
    json!({"response": outcome(&text, "echoed", "complete"), "others": others})
}

async fn body_beyond_the_limit(site: &Site, row: &Row) -> Value {
    let (large, _) = site.raw(&row.tool, 0, Some(2 * LARGE)).await;
    let (mut reading, mut writing) = large.into_split();
    let sending = tokio::spawn(async move { writing.write_all(&vec![b' '; LARGE]).await });
    let mut head = [0; 12];
    timeout(TEST_TIMEOUT, reading.read_exact(&mut head)).await.expect("it responds").unwrap();
    sending.abort();
    let status: u16 = std::str::from_utf8(&head[9..]).unwrap().parse().unwrap();
    json!({"status": status, "started": site.events.has_started()})
}

async fn body_that_never_comes(site: &Site, row: &Row) -> Value {
    let (mut waiting, _) = site.raw_at("evil.example", &row.tool, 0, Some(10)).await;
    let mut head = [0; 12];
    timeout(TEST_TIMEOUT, waiting.read_exact(&mut head)).await.expect("it responds").unwrap();
    // A closing server would wait for open requests.
    timeout(TEST_TIMEOUT, site.service.close(10 * TEST_TIMEOUT)).await.expect("no request is open");
    let status: u16 = std::str::from_utf8(&head[9..]).unwrap().parse().unwrap();
    json!({"status": status, "open": 0})
}

async fn gone_within_its_body(site: &Site, row: &Row) -> Value {
    drop(site.raw(&row.tool, 20, None).await);
    assert_eq!(site.others().await, "served");
    // A closing server would wait for open requests.
    timeout(TEST_TIMEOUT, site.service.close(10 * TEST_TIMEOUT)).await.expect("no request is open");
    json!({"started": site.events.has_started(), "open": 0})
}

/// HTTP-24
async fn gone(site: &Site, row: &Row) -> Value {
    let leaving = site.raw(&row.tool, usize::MAX, None).await;
    site.events.until_started().await;
    drop(leaving);
    site.events.until_cancelled().await;
    json!({"call": "cancelled"})
}

/// HTTP-22
async fn legacy_client_gone(site: &Site, row: &Row) -> Value {
    let session = site.session().await;
    let leaving =
        site.in_session("POST", &session).json(&request("tools/call", call(&row.tool, json!({})))).start().await;
    site.events.until_started().await;
    drop(leaving);
    assert_eq!(site.others().await, "served");
    assert!(!site.events.cancelled.load(Ordering::SeqCst));
    let told = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(site.in_session("POST", &session).json(&told).send().await.status, 202);
    site.events.until_cancelled().await;
    json!({"call": "cancelled by its message"})
}

async fn deadline(site: &Site, row: &Row) -> Value {
    let status = site.modern(&row.tool).send().await.status;
    site.events.until_cancelled().await;
    json!({"status": status, "call": "cancelled", "others": site.others().await})
}

async fn shutdown(site: &Site, row: &Row) -> Value {
    let session = site.session().await;
    let mut stream: Stream = site.in_session("GET", &session).header("Connection", "close").start().await;
    stream.until("\r\n\r\n").await;
    let called = tokio::spawn(site.modern(&row.tool).send());
    site.events.until_started().await;
    let service = site.service.clone();
    let closing = tokio::spawn(async move { service.close(10 * TEST_TIMEOUT).await });
    // The stream ends while the call still runs.
    stream.finish().await;
    // Without `Connection: close` in the request, the response ends the connection.
    let meanwhile = site.modern("echo").start().await.finish().await;
    site.events.released.close();
    let called: Answer = called.await.unwrap();
    timeout(TEST_TIMEOUT, closing).await.expect("it closes").unwrap();
    json!({
        "stream": "ended",
        "call": outcome(&called.body, "released", "complete"),
        "meanwhile": meanwhile.status,
        "connection": meanwhile.header("connection"),
    })
}

async fn prefix(site: &Site, row: &Row) -> Value {
    let mut seen = Map::new();
    for path in row.seen.as_object().unwrap().keys() {
        seen.insert(path.clone(), site.modern(&row.tool).path(path).send().await.status.into());
    }
    seen.into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_in_axum() {
    let rows: Vec<Row> = serde_json::from_str(TABLE).unwrap();
    let playing = rows.into_iter().filter(|row| !row.lacks.contains_key("axum")).map(|row| {
        tokio::spawn(async move {
            let site = Site::new(&row).await;
            let (site, row) = (&site, &row);
            let seen = match &*row.play {
                // Elsewhere the system has no such limit.
                "stuck reader" if cfg!(target_os = "linux") => stuck_reader(site, row).await,
                "stuck reader" => return,
                "slow reader" => slow_reader(site, row).await,
                "slow body" => slow_body(site, row).await,
                "body beyond the limit" => body_beyond_the_limit(site, row).await,
                "body that never comes" => body_that_never_comes(site, row).await,
                "gone within its body" => gone_within_its_body(site, row).await,
                "gone" => gone(site, row).await,
                "legacy client gone" => legacy_client_gone(site, row).await,
                "deadline" => deadline(site, row).await,
                "shutdown" => shutdown(site, row).await,
                "prefix" => prefix(site, row).await,
                other => panic!("nothing plays {other}"),
            };
            assert_eq!(seen, row.seen, "{}", row.name);
        })
    });
    for played in playing.collect::<Vec<_>>() {
        played.await.unwrap();
    }
}
