//! A server under test, and a client that writes its bytes by hand.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};
use trunkline::{
    Client, ClientOptions, ProxyDefinition, Revision, RevisionChoice,
    server::{Context, Params, Server, ServerOptions, Tool},
    transport::{HttpOptions, Listener},
};

/// Maximum wait for what happens at once, on a busy machine as well.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(30);
pub const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

// ---- the server under test ----

#[derive(Deserialize, JsonSchema)]
pub struct Text {
    pub text: String,
}

#[derive(Deserialize, JsonSchema)]
pub struct Wait {
    pub milliseconds: u64,
}

/// Calls of `wait` that have started, and their ends.
#[derive(Clone, Default)]
pub struct Ends {
    pub begun: Arc<AtomicUsize>,
    pub finished: Arc<AtomicUsize>,
    pub dropped: Arc<AtomicUsize>,
}

pub struct Running(Ends, bool);

impl Running {
    pub fn finish(&mut self) {
        self.1 = true;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let counter = if self.1 { &self.0.finished } else { &self.0.dropped };
        counter.fetch_add(1, Ordering::SeqCst);
    }
}

pub fn server(options: ServerOptions) -> (Server, Ends) {
    let ends = Ends::default();
    let seen = ends.clone();
    let server = Server::builder("fixture", "1.0.0")
        .options(options)
        .tool("echo", "Says it again.", |Params(it): Params<Text>| async move { it.text })
        .tool("count", "Reports progress.", |ctx: Context| async move {
            for step in 1..=3 {
                ctx.progress(f64::from(step), Some(3.0)).await;
                sleep(Duration::from_millis(5)).await;
            }
            "counted".to_owned()
        })
        .tool("wait", "Takes its time.", move |Params(it): Params<Wait>| {
            seen.begun.fetch_add(1, Ordering::SeqCst);
            let mut running = Running(seen.clone(), false);
            async move {
                sleep(Duration::from_millis(it.milliseconds)).await;
                running.finish();
                "waited".to_owned()
            }
        })
        .build();
    (server, ends)
}

pub struct Fixture {
    pub listener: Listener,
    pub address: SocketAddr,
    pub server: Server,
    pub ends: Ends,
}

impl Fixture {
    pub async fn new() -> Self {
        Self::with(HttpOptions::default(), ServerOptions::default()).await
    }

    pub async fn with(options: HttpOptions, server_options: ServerOptions) -> Self {
        Self::of(server(server_options), options).await
    }

    /// A transparent proxy of a server, whose connection is opened by the first request.
    pub async fn proxying(server: &Server, revision: Revision) -> Self {
        let options = ClientOptions::default().with_revision(RevisionChoice::Pinned(revision)).with_lazy(true);
        let client = Client::connect_with(server, options, ()).await.unwrap();
        let proxy = ProxyDefinition::new(&client).transparent(true);
        let server = Server::builder("proxy", "1.0.0").proxy(proxy).build();
        Self::of((server, Ends::default()), HttpOptions::default()).await
    }

    async fn of((server, ends): (Server, Ends), options: HttpOptions) -> Self {
        let listener = server.listen_with(options.with_port(0)).await.unwrap();
        let url = listener.url().unwrap();
        let address = url.trim_start_matches("http://").trim_end_matches("/mcp").parse().unwrap();
        Self { listener, address, server, ends }
    }

    pub fn ask(&self, method: &str) -> Ask {
        Ask::new(self.address, method)
    }

    /// Waits until this many calls of `wait` have started. Probing for a reached limit would use up
    /// the slots under test.
    pub async fn until_begun(&self, calls: usize) {
        eventually("they have begun", || self.ends.begun.load(Ordering::SeqCst) == calls).await;
    }

    /// A POST of a legacy message.
    pub async fn post(&self, headers: &[(&str, &str)], body: &Value) -> Answer {
        headers.iter().fold(self.ask("POST").json(body), |ask, (name, value)| ask.header(name, value)).send().await
    }

    /// A POST of a modern request with the headers it needs.
    pub fn modern(&self, method: &str, params: Value) -> Ask {
        let body = modern_request(method, params);
        let ask = self.ask("POST").header("MCP-Protocol-Version", "2026-07-28").header("Mcp-Method", method);
        match body["params"]["name"].as_str() {
            Some(name) => ask.header("Mcp-Name", name),
            None => ask,
        }
        .json(&body)
    }

    pub async fn session(&self, revision: &str) -> String {
        let answer = self.post(&[], &initialize(revision)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json()["result"]["protocolVersion"], revision);
        let id = answer.header("mcp-session-id").expect("no session id").to_owned();
        let answer = self.post(&[("Mcp-Session-Id", &id)], &notification("notifications/initialized")).await;
        assert_eq!((answer.status, &answer.body[..]), (202, ""));
        id
    }
}

/// A tool that reports a step, perhaps closes its stream, and continues when it is allowed to: then
/// it reports again and responds.
#[derive(Clone)]
pub struct Gate(pub Arc<tokio::sync::Semaphore>);

#[derive(Deserialize, JsonSchema)]
pub struct Gated {
    #[serde(default)]
    close: bool,
}

impl Gate {
    pub fn add(server: &Server) -> Self {
        let gate = Self(Arc::new(tokio::sync::Semaphore::new(0)));
        let semaphore = Arc::clone(&gate.0);
        let run = move |ctx: Context, Params(it): Params<Gated>| {
            let semaphore = Arc::clone(&semaphore);
            async move {
                ctx.progress(1.0, None).await;
                if it.close {
                    ctx.close_stream();
                }
                semaphore.acquire().await.unwrap().forget();
                ctx.progress(2.0, None).await;
                "let through".to_owned()
            }
        };
        server.add_tool(Tool::new("gate", "Waits to be let through.", run)).unwrap();
        gate
    }

    pub fn open(&self, calls: usize) {
        self.0.add_permits(calls);
    }

    pub fn call(id: i64, close: bool, progress: bool) -> Value {
        let meta = if progress { json!({"progressToken": id}) } else { json!({}) };
        let params = json!({"name": "gate", "arguments": {"close": close}, "_meta": meta});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    }
}

pub fn initialize(revision: &str) -> Value {
    let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    request("initialize", params)
}

pub fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

pub fn notification(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": method})
}

pub fn modern_request(method: &str, mut params: Value) -> Value {
    if params.get("_meta").is_none() {
        params["_meta"] = json!({});
    }
    params["_meta"][VERSION] = "2026-07-28".into();
    params["_meta"][CAPABILITIES] = json!({});
    request(method, params)
}

pub fn call(tool: &str, arguments: Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

pub fn call_with_progress(tool: &str) -> Value {
    json!({"name": tool, "arguments": {}, "_meta": {"progressToken": "p"}})
}

// ---- the client ----

pub struct Ask {
    pub address: SocketAddr,
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Ask {
    pub fn new(address: SocketAddr, method: &str) -> Self {
        Self { address, method: method.into(), path: "/mcp".into(), headers: Vec::new(), body: Vec::new() }
    }

    /// A later value replaces an earlier one; an empty one removes it.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        if !value.is_empty() {
            self.headers.push((name.into(), value.into()));
        }
        self
    }

    /// One more value, in addition to the existing ones.
    pub fn also(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub fn json(mut self, body: &Value) -> Self {
        self.body = body.to_string().into_bytes();
        let accepts = self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("accept"));
        let this = self.header("Content-Type", "application/json");
        if accepts { this } else { this.header("Accept", "application/json, text/event-stream") }
    }

    pub fn path(mut self, path: &str) -> Self {
        self.path = path.into();
        self
    }

    pub fn text(mut self, body: &str) -> Self {
        self.body = body.into();
        self
    }

    /// Sends the request; the response is read later.
    pub async fn start(self) -> Stream {
        let mut text = format!("{} {} HTTP/1.1\r\nContent-Length: {}\r\n", self.method, self.path, self.body.len());
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            text += &format!("Host: {}\r\n", self.address);
        }
        for (name, value) in &self.headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += "\r\n";
        let mut socket = TcpStream::connect(self.address).await.unwrap();
        socket.write_all(&[text.as_bytes(), &self.body].concat()).await.unwrap();
        Stream { socket, received: Vec::new() }
    }

    pub async fn send(self) -> Answer {
        self.header("Connection", "close").start().await.finish().await
    }
}

pub struct Stream {
    pub socket: TcpStream,
    pub received: Vec<u8>,
}

impl Stream {
    /// Reads until the text has arrived.
    pub async fn until(&mut self, text: &str) {
        self.until_times(text, 1).await;
    }

    /// Reads until the text has arrived so many times.
    pub async fn until_times(&mut self, text: &str, times: usize) {
        let found = timeout(TEST_TIMEOUT, async {
            while String::from_utf8_lossy(&self.received).matches(text).count() < times {
                let mut piece = vec![0; 64 << 10];
                let length = self.socket.read(&mut piece).await.unwrap();
                assert!(length > 0, "ended before {text:?}: {}", String::from_utf8_lossy(&self.received));
                self.received.extend_from_slice(&piece[..length]);
            }
        });
        let waited = found.await.is_err();
        assert!(!waited, "no {text:?} in {}", String::from_utf8_lossy(&self.received));
    }

    /// The text that was read.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.received).into_owned()
    }

    /// Reads to the end of the connection.
    pub async fn finish(mut self) -> Answer {
        // Of each read, since a flood may last longer on a busy machine.
        loop {
            let read = timeout(TEST_TIMEOUT, self.socket.read_buf(&mut self.received)).await;
            if read.expect("the response does not end").unwrap() == 0 {
                return Answer::parse(&self.received);
            }
        }
    }
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HashMap<String, String>,
    pub body: String,
}

impl Answer {
    pub fn parse(text: &[u8]) -> Self {
        let split = text.windows(4).position(|window| window == b"\r\n\r\n").expect("no head");
        let head = String::from_utf8_lossy(&text[..split]);
        let status = head[9..12].parse().unwrap();
        let headers: HashMap<_, _> = head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let mut body = &text[split + 4..];
        let mut joined = Vec::new();
        if headers.get("transfer-encoding").is_some_and(|it| it == "chunked") {
            loop {
                let end = body.windows(2).position(|window| window == b"\r\n").expect("a broken chunk");
                let size = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap(), 16).unwrap();
                if size == 0 {
                    break;
                }
                joined.extend_from_slice(&body[end + 2..end + 2 + size]);
                body = &body[end + 4 + size..];
            }
            body = &joined;
        }
        Self { status, headers, body: String::from_utf8(body.to_vec()).unwrap() }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        serde_json::from_str(&self.body).unwrap()
    }

    pub fn events(&self) -> Vec<Value> {
        assert_eq!(self.header("content-type"), Some("text/event-stream"), "{self:?}");
        // Events without data only allow a client to resume (HTTP-26).
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| !data.is_empty());
        data.map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    /// The ids of the events, in order.
    pub fn ids(&self) -> Vec<&str> {
        self.body.lines().filter_map(|line| line.strip_prefix("id: ")).collect()
    }

    pub fn error(&self) -> (u16, i64) {
        (self.status, self.json()["error"]["code"].as_i64().unwrap())
    }
}

pub async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < TEST_TIMEOUT, "{what}");
        sleep(Duration::from_millis(5)).await;
    }
}

pub async fn eventually_async(what: &str, condition: impl AsyncFn() -> bool) {
    let start = Instant::now();
    while !condition().await {
        assert!(start.elapsed() < TEST_TIMEOUT, "{what}");
        sleep(Duration::from_millis(5)).await;
    }
}
