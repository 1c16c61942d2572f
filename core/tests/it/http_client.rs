//! The client over Streamable HTTP: against servers of ours, and against scripted ones that do what
//! real ones do wrong.

mod http_sse;
mod security;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
    time::{sleep, timeout},
};
use trunkline::{
    RevisionChoice,
    auth::{OAuth, OAuthOptions, RequestHeaders},
    client::{Client, ClientError, ClientEvents, ClientGroup, ClientOptions, ErrorKind, RequestOptions, ServerEntry},
    client_auth::{AuthError, ClientAuth, CredentialsRefusal, OutgoingRequest},
    protocol::{
        RawJson, Revision,
        model::{ChangeKind, FailureReason, Implementation, LoggingLevel},
    },
    runtime::BoxedTask,
    server::{Context, Params, Server, Tool, ToolDefinition},
    transport::{HttpEndpoint, HttpOptions},
};

/// Maximum wait for what happens at once, on a busy machine as well.
const TEST_TIMEOUT: Duration = Duration::from_secs(30);

/// An address where nothing listens. A port that was free a moment ago may belong to another test.
const NOWHERE: &str = "127.0.0.1:1";

// ---- scripted servers ----

#[derive(Debug, Clone)]
struct Seen {
    method: String,
    path: String,
    headers: HashMap<String, String>,
    body: Value,
}

impl Seen {
    fn rpc(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

struct Scripted {
    url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Scripted {
    /// Answers every request with the bytes from `script`, after its delay.
    async fn new(script: impl Fn(&Seen) -> (u64, String) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (record, script) = (Arc::clone(&seen), Arc::new(script));
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (record, script) = (Arc::clone(&record), Arc::clone(&script));
                tokio::spawn(async move {
                    let mut socket = socket;
                    let Some(request) = read_request(&mut socket).await else { return };
                    record.lock().unwrap().push(request.clone());
                    let (delay, answer) = script(&request);
                    sleep(Duration::from_millis(delay)).await;
                    let _ = socket.write_all(answer.as_bytes()).await;
                    let _ = socket.shutdown().await;
                });
            }
        });
        Self { url, seen }
    }

    fn seen(&self, rpc: &str) -> Seen {
        let seen = self.seen.lock().unwrap();
        seen.iter().find(|seen| seen.rpc() == rpc).unwrap_or_else(|| panic!("no {rpc} in {seen:?}")).clone()
    }
}

async fn read_request(socket: &mut TcpStream) -> Option<Seen> {
    let mut text = Vec::new();
    let split = loop {
        if let Some(split) = text.windows(4).position(|window| window == b"\r\n\r\n") {
            break split;
        }
        if socket.read_buf(&mut text).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&text[..split]).into_owned();
    let headers: HashMap<_, _> = head
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers.get("content-length").map_or(0, |value| value.parse().unwrap());
    while text.len() < split + 4 + length {
        socket.read_buf(&mut text).await.ok()?;
    }
    let body = serde_json::from_slice(&text[split + 4..]).unwrap_or_default();
    let mut words = head.split(' ');
    Some(Seen { method: words.next()?.into(), path: words.next()?.into(), headers, body })
}

fn http(status: u16, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}", body.len())
}

fn json_answer(status: u16, body: &Value) -> String {
    http(status, "Content-Type: application/json\r\n", &body.to_string())
}

fn events(text: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n{text}")
}

fn result(request: &Seen, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": request.body["id"], "result": result})
}

fn initialized(request: &Seen, revision: &str) -> Value {
    let info = json!({"name": "scripted", "version": "1"});
    result(request, json!({"protocolVersion": revision, "capabilities": {}, "serverInfo": info}))
}

/// A legacy server with sessions; `call` answers everything after the handshake.
async fn legacy(call: impl Fn(&Seen) -> (u64, String) + Send + Sync + 'static) -> Scripted {
    legacy_that_opens_in(200, call).await
}

/// The same, which takes so many milliseconds for `initialized`.
async fn legacy_that_opens_in(delay: u64, call: impl Fn(&Seen) -> (u64, String) + Send + Sync + 'static) -> Scripted {
    Scripted::new(move |request| match (&*request.method, request.rpc()) {
        ("POST", "initialize") => {
            let body = initialized(request, "2025-11-25").to_string();
            (0, http(200, "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n", &body))
        }
        ("POST", "notifications/initialized") => (delay, http(202, "", "")),
        ("POST", _) => call(request),
        ("DELETE", _) => (0, http(200, "", "")),
        _ => (0, http(405, "", "")),
    })
    .await
}

fn choose(revision: RevisionChoice) -> ClientOptions {
    ClientOptions::default().with_revision(revision)
}

async fn connect(server: &Scripted, revision: RevisionChoice) -> Result<Client, ClientError> {
    timeout(TEST_TIMEOUT, Client::connect_with(server.url.as_str(), choose(revision), ())).await.expect("no end")
}

async fn request(client: &Client, method: &str) -> Result<RawJson, ClientError> {
    timeout(TEST_TIMEOUT, client.request(method, None, &RequestOptions::default())).await.expect("no end")
}

// ---- against our own server ----

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

struct Dropped(mpsc::UnboundedSender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// A server, and a channel with a message when a call of `wait` begins and when it is dropped.
fn server() -> (Server, mpsc::UnboundedReceiver<()>) {
    let (dropped, drops) = mpsc::unbounded_channel();
    let server = Server::builder("ours", "1.0.0")
        .tool("echo", "Says it again.", |Params(it): Params<Text>| async move { it.text })
        .tool("count", "Reports progress.", |ctx: Context| async move {
            for step in 1..=3 {
                ctx.progress(f64::from(step), None).await;
                sleep(Duration::from_millis(5)).await;
            }
            "counted".to_owned()
        })
        .tool("wait", "Never ends.", move || {
            let guard = Dropped(dropped.clone());
            let _ = dropped.send(());
            async move {
                sleep(Duration::from_secs(600)).await;
                drop(guard);
                String::new()
            }
        })
        .build();
    (server, drops)
}

fn text(result: &RawJson) -> String {
    result.parse::<Value>().unwrap()["content"][0]["text"].as_str().unwrap().to_owned()
}

async fn call(client: &Client, tool: &str, arguments: Value, options: &RequestOptions) -> Result<RawJson, ClientError> {
    let params = RawJson::from_value(&json!({"name": tool, "arguments": arguments})).unwrap();
    timeout(TEST_TIMEOUT, client.request("tools/call", Some(&params), options)).await.expect("no end")
}

fn every_choice() -> Vec<(RevisionChoice, Revision)> {
    let pinned = Revision::ALL.map(|revision| (RevisionChoice::Pinned(revision), revision));
    let named = [
        (RevisionChoice::Auto, Revision::LATEST),
        (RevisionChoice::Legacy, Revision::LATEST_LEGACY),
        (RevisionChoice::Modern, Revision::LATEST),
    ];
    [named.as_slice(), &pinned].concat()
}

#[tokio::test]
async fn http_09_every_revision_over_json_and_streams() {
    let (server, _) = server();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    for (choice, revision) in every_choice() {
        let client = Client::connect_with(listener.url().unwrap(), choose(choice), ()).await.unwrap();
        assert_eq!(client.revision(), revision);
        assert_eq!(client.list_tools().await.unwrap().len(), 3);
        let answer = call(&client, "echo", json!({"text": "x"}), &RequestOptions::default()).await.unwrap();
        assert_eq!(text(&answer), "x");
        let steps = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&steps);
        let on_progress = Some(Arc::new(move |_: &RawJson| *counted.lock().unwrap() += 1) as _);
        let options = RequestOptions::default().with_on_progress(on_progress);
        assert_eq!(text(&call(&client, "count", json!({}), &options).await.unwrap()), "counted");
        assert_eq!(*steps.lock().unwrap(), 3, "{revision}");
        client.close().await;
        assert_eq!(request(&client, "tools/list").await.unwrap_err(), ClientError::Closed);
    }
    listener.close(TEST_TIMEOUT).await;
}

#[tokio::test]
async fn http_23_a_cancelled_call_ends_on_the_server_in_both_eras() {
    let (server, mut drops) = server();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    for choice in [RevisionChoice::Modern, RevisionChoice::Legacy] {
        let client = Client::connect_with(listener.url().unwrap(), choose(choice), ()).await.unwrap();
        // Longer than the call takes to reach the server on a busy machine.
        let options = RequestOptions::default().with_timeout(Duration::from_secs(1));
        assert_eq!(call(&client, "wait", json!({}), &options).await.unwrap_err().kind(), ErrorKind::Timeout);
        for what in ["the call did not begin", "the server did not hear of it"] {
            timeout(TEST_TIMEOUT, drops.recv()).await.expect(what);
        }
        client.close().await;
    }
}

#[derive(Clone)]
struct Heard(mpsc::UnboundedSender<String>);

impl ClientEvents for Heard {
    fn notification(&self, method: &str, _: Option<&RawJson>) {
        let _ = self.0.send(method.to_owned());
    }

    fn closed(&self, _: Option<&ClientError>) {}
}

#[tokio::test]
async fn http_30_changes_are_heard_in_both_eras() {
    let (server, _) = server();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    for (choice, name) in [(RevisionChoice::Legacy, "one"), (RevisionChoice::Modern, "two")] {
        let (heard, mut news) = mpsc::unbounded_channel();
        let options = choose(choice).with_listen(true);
        let client = Client::connect_with(listener.url().unwrap(), options, Heard(heard)).await.unwrap();
        request(&client, "tools/list").await.unwrap();
        sleep(Duration::from_millis(100)).await;
        server.add_tool(Tool::new(name, "Comes later.", || async { "x".to_owned() })).unwrap();
        let news = timeout(TEST_TIMEOUT, async {
            while let Some(method) = news.recv().await {
                if method == "notifications/tools/list_changed" {
                    return;
                }
            }
            panic!("the events ended");
        });
        news.await.expect("nothing was heard");
        client.close().await;
    }
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_fails_fast_with_its_own_error() {
    let server = Server::builder("asking", "1")
        .tool("ping", "Asks whether the client is alive.", |ctx: Context| async move {
            trunkline::Ok(match ctx.ping().await {
                Ok(()) => "alive".to_owned(),
                Err(error) => error.to_string(),
            })
        })
        .build();
    for (json, stateless, answer) in
        [(false, false, "alive"), (true, false, "no return channel"), (false, true, "no return channel")]
    {
        let options = HttpOptions::default().with_json(json).with_stateless(stateless).with_port(0);
        let listener = server.listen_with(options).await.unwrap();
        let client = Client::connect_with(listener.url().unwrap(), choose(RevisionChoice::Legacy), ()).await.unwrap();
        let said = text(&call(&client, "ping", json!({}), &RequestOptions::default()).await.unwrap());
        assert!(said.contains(answer), "{said}");
        client.close().await;
        listener.close(TEST_TIMEOUT).await;
    }
}

#[tokio::test]
async fn a_change_right_after_the_connection_is_heard() {
    let (server, _) = server();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    for choice in [RevisionChoice::Legacy, RevisionChoice::Modern] {
        for round in 0..20 {
            let (heard, mut news) = mpsc::unbounded_channel();
            let options = choose(choice).with_listen(true);
            let client = Client::connect_with(listener.url().unwrap(), options, Heard(heard)).await.unwrap();
            let name = format!("round_{round}");
            server.add_tool(ToolDefinition::new(json!({"name": name}), |_: trunkline::server::Call| {})).unwrap();
            let method = timeout(TEST_TIMEOUT, news.recv()).await.expect("nothing was heard").unwrap();
            assert_eq!(method, "notifications/tools/list_changed", "{choice:?}");
            client.close().await;
            server.remove_tool(&name);
        }
    }
}

fn annotated(name: &str, kind: &str, header: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object", "properties": {
        "region": {"type": kind, "x-mcp-header": header}, "plain": {"type": "string"}}}})
}

#[tokio::test]
async fn h26_23_annotated_parameters_travel_in_headers() {
    let server = Server::builder("routing", "1").build();
    let answer = |call: trunkline::server::Call| {
        let arguments = String::from_utf8_lossy(call.input().as_bytes()).into_owned();
        call.complete(trunkline::server::Outcome::Text(arguments));
    };
    server.add_tool(ToolDefinition::new(annotated("route", "string", "Region"), answer)).unwrap();
    server.add_tool(ToolDefinition::new(annotated("count", "integer", "Count"), answer)).unwrap();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    let url = listener.url().unwrap();
    let client = Client::connect_with(url.clone(), choose(RevisionChoice::Modern), ()).await.unwrap();
    let options = RequestOptions::default();
    // H26-38: the list was never fetched; the server's refusal makes the client fetch it and call
    // again.
    let answered = call(&client, "route", json!({"region": "us-west1"}), &options).await.unwrap();
    assert_eq!(text(&answered), r#"{"region":"us-west1"}"#);
    // H26-04, H26-05, H26-34: values of every kind, and none.
    for region in [json!(" padded "), json!("Hello, 世界"), json!("=?base64?literal?="), json!(""), json!("a\nb")] {
        let answered = call(&client, "route", json!({"region": region, "plain": "x"}), &options).await.unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text(&answered)).unwrap()["region"], region);
    }
    call(&client, "route", json!({"plain": "x"}), &options).await.unwrap();
    call(&client, "count", json!({"region": -7}), &options).await.unwrap();
    let error = call(&client, "count", json!({"region": 9_007_199_254_740_993_i64}), &options).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "H26-28: {error}");
    client.close().await;
    listener.close(TEST_TIMEOUT).await;
}

#[tokio::test]
async fn h26_39_parameters_are_mirrored_as_the_newest_list_says() {
    let lists = AtomicUsize::new(0);
    let server = Scripted::new(move |request| {
        let header = if lists.fetch_add(usize::from(request.rpc() == "tools/list"), Ordering::Relaxed) == 0 {
            "Region"
        } else {
            "Area"
        };
        let list = json!({"tools": [annotated("route", "string", header)], "ttlMs": 0, "cacheScope": "private",
            "resultType": "complete", "content": []});
        (0, json_answer(200, &result(request, list)))
    })
    .await;
    let client = connect(&server, RevisionChoice::Pinned(Revision::LATEST)).await.unwrap();
    for (used, other) in [("mcp-param-region", "mcp-param-area"), ("mcp-param-area", "mcp-param-region")] {
        client.list_tools().await.unwrap();
        call(&client, "route", json!({"region": "eu"}), &RequestOptions::default()).await.unwrap();
        let seen = server.seen.lock().unwrap().last().unwrap().clone();
        assert_eq!((seen.header(used), seen.header(other)), (Some("eu"), None));
    }
    client.close().await;
}

#[tokio::test]
async fn h26_30_tools_whose_annotation_breaks_the_rules_are_left_out() {
    let tools = json!([annotated("good", "string", "Region"), annotated("bad", "number", "Region"),
        annotated("worse", "string", "a b"), {"name": "plain", "inputSchema": {"type": "object"}}]);
    let server = Scripted::new(move |request| {
        let list = json!({"tools": tools, "ttlMs": 0, "cacheScope": "private", "resultType": "complete"});
        (0, json_answer(200, &result(request, list)))
    })
    .await;
    let client = connect(&server, RevisionChoice::Pinned(Revision::LATEST)).await.unwrap();
    let names: Vec<_> = client.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["good", "plain"]);
    let _ = call(&client, "good", json!({"region": "eu"}), &RequestOptions::default()).await;
    assert_eq!(server.seen("tools/call").header("mcp-param-region"), Some("eu"));
    client.close().await;
}

#[tokio::test]
async fn many_calls_share_a_client() {
    let (server, _) = server();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    for choice in [RevisionChoice::Modern, RevisionChoice::Legacy] {
        let client = Client::connect_with(listener.url().unwrap(), choose(choice), ()).await.unwrap();
        let calls: Vec<_> = (0..200)
            .map(|number| {
                let client = client.clone();
                tokio::spawn(async move {
                    let said = number.to_string();
                    let answer =
                        call(&client, "echo", json!({"text": said}), &RequestOptions::default()).await.unwrap();
                    assert_eq!(text(&answer), said);
                })
            })
            .collect();
        for call in calls {
            call.await.unwrap();
        }
        client.close().await;
    }
}

// ---- what goes out ----

#[tokio::test]
async fn h26_01_to_03_modern_requests_are_mirrored_in_headers() {
    let server =
        Scripted::new(|request| (0, json_answer(200, &result(request, json!({"resultType": "complete"}))))).await;
    let client = connect(&server, RevisionChoice::Pinned(Revision::V2026_07_28)).await.unwrap();
    call(&client, "größe", json!({}), &RequestOptions::default()).await.unwrap();
    let seen = server.seen("tools/call");
    assert_eq!(seen.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(seen.header("mcp-method"), Some("tools/call"));
    assert_eq!(seen.header("mcp-name"), Some("=?base64?Z3LDtsOfZQ==?="));
    assert_eq!(seen.header("accept"), Some("application/json, text/event-stream"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("mcp-session-id"), None);
    client.close().await;
}

#[tokio::test]
async fn can_04_a_task_whose_request_was_cancelled_is_cancelled_once_its_id_is_known() {
    let task = |status: &str| {
        json!({"taskId": "t-1", "status": status, "createdAt": "2026-01-01T00:00:00Z",
            "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": 60_000})
    };
    let server = Scripted::new(move |request| {
        let answer = match (&*request.method, request.rpc()) {
            ("POST", "initialize") => json!({"protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}, "tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}}},
                "serverInfo": {"name": "scripted", "version": "1"}}),
            ("POST", "tools/list") => json!({"tools": [{"name": "job", "inputSchema": {"type": "object"},
                "execution": {"taskSupport": "optional"}}]}),
            ("POST", "tools/call") => json!({"task": task("working")}),
            ("POST", "tasks/cancel") => task("cancelled"),
            ("POST", _) => return (0, http(202, "", "")),
            _ => return (0, http(405, "", "")),
        };
        let delay = if request.rpc() == "tools/call" { 1_500 } else { 0 };
        (delay, json_answer(200, &result(request, answer)))
    })
    .await;
    let client = connect(&server, RevisionChoice::Pinned(Revision::V2025_11_25)).await.unwrap();
    // Longer than the request takes to reach the server on a busy machine.
    let options = RequestOptions::default().with_timeout(Duration::from_secs(1));
    let error = client.start_task_with("job", json!({}), &options).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    let cancelled = async {
        while count(&server, "tasks/cancel") == 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(TEST_TIMEOUT, cancelled).await.expect("the task continues");
    assert_eq!(server.seen("tasks/cancel").body["params"]["taskId"], "t-1");
    client.close().await;
}

#[tokio::test]
async fn tkx_23_the_methods_of_tasks_name_the_task_in_a_header() {
    let server =
        Scripted::new(|request| (0, json_answer(200, &result(request, json!({"resultType": "complete"}))))).await;
    let client = connect(&server, RevisionChoice::Pinned(Revision::V2026_07_28)).await.unwrap();
    let task = json!({"taskId": "t-1"});
    let update = json!({"taskId": "t-1", "inputResponses": {}});
    for (method, params) in [("tasks/get", &task), ("tasks/update", &update), ("tasks/cancel", &task)] {
        let params = RawJson::from_value(params).unwrap();
        let _ = client.request(method, Some(&params), &RequestOptions::default()).await;
        assert_eq!(server.seen(method).header("mcp-name"), Some("t-1"), "{method}");
    }
    client.close().await;
}

#[tokio::test]
async fn http_07_http_13_to_15_and_rpc_17_every_message_is_a_separate_post() {
    for revision in [Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        let server = Scripted::new(move |request| match request.rpc() {
            "initialize" => (0, json_answer(200, &initialized(request, revision.as_str()))),
            "notifications/initialized" => (0, http(202, "", "")),
            "tools/list" => (0, json_answer(200, &result(request, json!({"tools": [], "resultType": "complete"})))),
            _ => (0, http(405, "", "")),
        })
        .await;
        let client = connect(&server, RevisionChoice::Pinned(revision)).await.unwrap();
        let (one, two) = tokio::join!(client.list_tools(), client.list_tools());
        assert_eq!((one.unwrap().len(), two.unwrap().len()), (0, 0));
        client.close().await;
        let seen = server.seen.lock().unwrap().clone();
        let posts: Vec<_> = seen.iter().filter(|seen| seen.method == "POST").map(|seen| seen.body.clone()).collect();
        assert!(posts.iter().all(|body| body.is_object() && body["method"].is_string()), "{posts:?}");
        let opening = if revision == Revision::LATEST { 0 } else { 2 };
        // The description of the server may be asked for meanwhile (DISC-02).
        let posts = posts.iter().filter(|body| body["method"] != "server/discover").count();
        assert_eq!(posts, opening + 2, "{revision}");
    }
}

#[tokio::test]
async fn http_45_http_49_http_51_a_session_is_named_until_it_is_ended() {
    let server = legacy(|request| (0, json_answer(200, &result(request, json!({}))))).await;
    let client = connect(&server, RevisionChoice::Legacy).await.unwrap();
    request(&client, "ping").await.unwrap();
    client.close().await;
    let seen = server.seen.lock().unwrap().clone();
    let order: Vec<_> =
        seen.iter().filter(|seen| seen.method != "GET").map(|seen| (&*seen.method, seen.rpc())).collect();
    assert_eq!(
        order,
        [("POST", "initialize"), ("POST", "notifications/initialized"), ("POST", "ping"), ("DELETE", "")]
    );
    for seen in &seen {
        let first = seen.rpc() == "initialize";
        assert_eq!(seen.header("mcp-session-id"), Some("s-1").filter(|_| !first));
        assert_eq!(seen.header("mcp-protocol-version"), Some("2025-11-25").filter(|_| !first));
        assert!(seen.header("mcp-method").is_none());
        // HTTP-31
        let accept = if seen.method == "GET" { "text/event-stream" } else { "application/json, text/event-stream" };
        assert_eq!(seen.header("accept"), Some(accept));
    }
}

#[tokio::test]
async fn http_49_close_waits_until_the_session_is_deleted() {
    let ended = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&ended);
    let server = Scripted::new(move |request| match (&*request.method, request.rpc()) {
        ("POST", "initialize") => {
            let body = initialized(request, "2025-11-25").to_string();
            (0, http(200, "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n", &body))
        }
        ("DELETE", _) => {
            told.store(true, Ordering::SeqCst);
            (300, http(200, "", ""))
        }
        _ => (0, http(202, "", "")),
    })
    .await;
    let client = connect(&server, RevisionChoice::Legacy).await.unwrap();
    let start = Instant::now();
    tokio::select! {
        biased;
        () = async { while !ended.load(Ordering::SeqCst) { sleep(Duration::from_millis(5)).await } } => {}
        () = client.close() => panic!("the session is not deleted yet"),
    }
    client.close().await;
    assert!(ended.load(Ordering::SeqCst) && start.elapsed() >= Duration::from_millis(250), "{:?}", start.elapsed());
}

#[tokio::test]
async fn life_04_what_follows_initialized_waits_until_it_has_arrived() {
    let server = legacy(|request| (0, json_answer(200, &result(request, json!({}))))).await;
    // The server takes 200 ms for `initialized`, from some moment of the opening.
    let start = Instant::now();
    let client = connect(&server, RevisionChoice::Legacy).await.unwrap();
    let (a, b) = tokio::join!(request(&client, "ping"), request(&client, "tools/list"));
    assert!(a.is_ok() && b.is_ok() && start.elapsed() > Duration::from_millis(150));
    client.close().await;
}

#[tokio::test]
async fn can_01_an_unsent_request_is_not_cancelled() {
    let answer = |request: &Seen| (0, json_answer(200, &result(request, json!({}))));
    let server = legacy_that_opens_in(1_000, answer).await;
    let client = connect(&server, RevisionChoice::Legacy).await.unwrap();
    // The request waits for `initialized`.
    let options = RequestOptions::default().with_timeout(Duration::from_millis(20));
    let error = client.request("tools/list", None, &options).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    request(&client, "ping").await.unwrap();
    client.close().await;
    let seen = server.seen.lock().unwrap();
    assert!(seen.iter().all(|seen| !["tools/list", "notifications/cancelled"].contains(&seen.rpc())), "{seen:?}");
}

// ---- responses ----

#[tokio::test]
async fn http_26_priming_events_comments_and_odd_lines_are_no_messages() {
    let server = legacy(|request| {
        let answer = result(request, json!({"a": 1})).to_string();
        (
            0,
            events(&format!(
                "\u{feff}: hi\r\nid: 1\r\ndata:\r\n\r\nretry: 10\rid: 2\revent: message\rdata: {answer}\r\r"
            )),
        )
    })
    .await;
    let client = connect(&server, RevisionChoice::Legacy).await.unwrap();
    assert_eq!(request(&client, "ping").await.unwrap().as_bytes(), br#"{"a":1}"#);
    client.close().await;
}

#[tokio::test]
async fn http_21_a_stream_that_continues_after_its_response_is_closed() {
    let (left, mut leavings) = mpsc::unbounded_channel();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let seen = read_request(&mut socket).await.unwrap();
            let answer = result(&seen, json!({"resultType": "complete"}));
            socket.write_all(events(&format!("data: {answer}\n\n")).as_bytes()).await.unwrap();
            if seen.rpc() == "tools/list" {
                let ((mut reading, mut writing), mut end) = (socket.split(), [0; 1]);
                let keeping_alive = async {
                    while writing.write_all(b":\n\n").await.is_ok() {
                        sleep(Duration::from_millis(100)).await;
                    }
                };
                tokio::select! {
                    _ = reading.read(&mut end) => {}
                    () = keeping_alive => {}
                }
                return left.send(()).unwrap();
            }
        }
    });
    let client = Client::connect_with(url, choose(RevisionChoice::Pinned(Revision::V2026_07_28)), ()).await.unwrap();
    request(&client, "tools/list").await.unwrap();
    timeout(TEST_TIMEOUT, leavings.recv()).await.expect("the stream is still open");
    client.close().await;
}

#[tokio::test]
async fn a_server_that_accepts_no_answers_uses_few_connections() {
    let is_first = AtomicBool::new(true);
    let server = Scripted::new(move |request| match (&*request.method, request.rpc()) {
        ("POST", "initialize") => {
            let body = initialized(request, "2025-11-25").to_string();
            (0, http(200, "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n", &body))
        }
        ("POST", "") => (600_000, String::new()),
        ("GET", _) if is_first.swap(false, Ordering::Relaxed) => {
            let ping = |id| format!("data: {}\n\n", json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
            (0, events(&(0..200).map(ping).collect::<String>()))
        }
        ("POST", _) => (0, http(202, "", "")),
        _ => (0, http(405, "", "")),
    })
    .await;
    let client = connect(&server, RevisionChoice::Legacy).await.unwrap();
    let answers = || server.seen.lock().unwrap().iter().filter(|seen| seen.body["result"].is_object()).count();
    timeout(TEST_TIMEOUT, async {
        while answers() < 64 {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("pings are answered");
    sleep(Duration::from_millis(100)).await;
    assert_eq!(answers(), 64);
    drop(client);
}

#[tokio::test]
async fn a_stream_that_ends_without_the_answer_loses_the_request() {
    let server = legacy(|request| match request.rpc() {
        "ping" => (0, events(": nothing\n\n")),
        "tools/list" => (0, json_answer(200, &json!({"jsonrpc": "2.0", "method": "notifications/x"}))),
        _ => (0, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{".into()),
    })
    .await;
    let client = connect(&server, RevisionChoice::Legacy).await.unwrap();
    for method in ["ping", "tools/list", "prompts/list"] {
        let error = request(&client, method).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport, "{method}: {error}");
        assert!(error.to_string().contains(&server.url), "{error}");
    }
    client.close().await;
}

/// Even if the server numbers its events, as in earlier revisions.
#[tokio::test]
async fn h26_18_a_lost_modern_request_is_sent_again_rather_than_resumed() {
    let is_first = AtomicBool::new(true);
    let server = Scripted::new(move |request| match request.rpc() {
        "tools/list" if is_first.swap(false, Ordering::Relaxed) => (0, events("id: 1\nretry: 1\ndata:\n\n")),
        "tools/list" => {
            let list = json!({"tools": [], "ttlMs": 0, "cacheScope": "private", "resultType": "complete"});
            (0, json_answer(200, &result(request, list)))
        }
        "server/discover" => {
            let description = json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0,
                "cacheScope": "private", "resultType": "complete"});
            (0, json_answer(200, &result(request, description)))
        }
        _ => (0, http(405, "", "")),
    })
    .await;
    let client = connect(&server, RevisionChoice::Pinned(Revision::LATEST)).await.unwrap();
    assert_eq!(request(&client, "tools/list").await.unwrap_err().kind(), ErrorKind::Transport);
    request(&client, "tools/list").await.unwrap();
    client.close().await;
    let seen = server.seen.lock().unwrap();
    assert!(seen.iter().all(|seen| seen.method == "POST" && seen.header("last-event-id").is_none()), "{seen:?}");
    let ids: Vec<_> = seen.iter().filter(|seen| seen.rpc() == "tools/list").map(|seen| &seen.body["id"]).collect();
    assert!(ids.len() == 2 && ids[0] != ids[1], "{ids:?}");
}

#[tokio::test]
async fn http_28_29_and_38_a_stream_that_ends_before_the_response_is_resumed() {
    let is_restarting = AtomicBool::new(true);
    let server = Scripted::new(move |request| match (&*request.method, request.rpc()) {
        ("POST", "initialize") => {
            let body = initialized(request, "2025-11-25").to_string();
            (0, http(200, "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n", &body))
        }
        ("POST", "ping") => (0, events("id: p-1\nretry: 300\ndata:\n\nid: p-2\ndata: cut off")),
        ("POST", _) => (0, http(202, "", "")),
        ("GET", _) => match request.header("last-event-id") {
            Some("p-1") if is_restarting.swap(false, Ordering::Relaxed) => (0, http(503, "", "")),
            Some("p-1") => (0, events("id: p-3\nretry: 100\ndata:\n\n")),
            Some("p-3") => (0, events("id: p-4\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\":1}}\n\n")),
            _ => (0, http(405, "", "")),
        },
        _ => (0, http(200, "", "")),
    })
    .await;
    let client = connect(&server, RevisionChoice::Legacy).await.unwrap();
    let start = Instant::now();
    assert_eq!(request(&client, "ping").await.unwrap().as_bytes(), br#"{"a":1}"#);
    assert!(start.elapsed() >= Duration::from_millis(400), "{:?}", start.elapsed());
    client.close().await;
    let seen = server.seen.lock().unwrap();
    let resumed = seen.iter().filter(|seen| seen.header("last-event-id").is_some());
    for seen in resumed {
        assert_eq!((seen.header("accept"), seen.header("mcp-session-id")), (Some("text/event-stream"), Some("s-1")));
        assert_eq!(seen.header("mcp-protocol-version"), Some("2025-11-25"));
    }
}

#[tokio::test]
async fn http_38_a_get_stream_that_cannot_be_resumed_is_reopened() {
    const CHANGED: &str = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n";
    let server = Scripted::new(|request| match (&*request.method, request.rpc()) {
        ("POST", "initialize") => {
            let body = initialized(request, "2025-11-25").to_string();
            (0, http(200, "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n", &body))
        }
        ("POST", _) => (0, http(202, "", "")),
        ("GET", _) => match request.header("last-event-id") {
            None => (0, events(&format!("id: old\nretry: 10\n{CHANGED}"))),
            Some(_) => (0, http(400, "", "")),
        },
        _ => (0, http(200, "", "")),
    })
    .await;
    let (heard, mut news) = mpsc::unbounded_channel();
    let options = choose(RevisionChoice::Legacy).with_listen(true);
    let client = Client::connect_with(server.url.as_str(), options, Heard(heard)).await.unwrap();
    for _ in 0..2 {
        timeout(TEST_TIMEOUT, news.recv()).await.expect("the stream was given up");
    }
    client.close().await;
}

const TOOLS_CHANGED: &str = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n";

#[tokio::test]
async fn http_48_a_get_stream_whose_session_is_lost_gets_another_session() {
    let sessions = AtomicUsize::new(0);
    let streams = AtomicUsize::new(0);
    let server = Scripted::new(move |request| match (&*request.method, request.rpc()) {
        ("POST", "initialize") => {
            let body = initialized(request, "2025-11-25").to_string();
            match sessions.fetch_add(1, Ordering::Relaxed) {
                // The server is still starting.
                1 => (0, http(503, "", "")),
                session => {
                    let headers = format!("Content-Type: application/json\r\nMcp-Session-Id: s-{session}\r\n");
                    (0, http(200, &headers, &body))
                }
            }
        }
        ("POST", _) => (0, http(202, "", "")),
        ("GET", _) if request.header("mcp-session-id") == Some("s-2") => (0, events(TOOLS_CHANGED)),
        ("GET", _) if streams.fetch_add(1, Ordering::Relaxed) == 0 => (0, events("retry: 0\n\n")),
        ("GET", _) => (0, http(404, "", "")),
        _ => (0, http(200, "", "")),
    })
    .await;
    let (heard, mut news) = mpsc::unbounded_channel();
    let client = Client::connect_with(server.url.as_str(), choose(RevisionChoice::Legacy), Heard(heard)).await.unwrap();
    timeout(TEST_TIMEOUT, news.recv()).await.expect("the stream was given up");
    client.close().await;
}

#[tokio::test]
async fn http_30_a_stream_that_is_refused_for_a_while_is_opened_later() {
    let attempts: JoinSet<_> = [(0, 429), (1, 401), (1, 409)]
        .map(|(opened, status)| async move {
            let streams = AtomicUsize::new(0);
            let server = Scripted::new(move |request| match (&*request.method, request.rpc()) {
                ("POST", "initialize") => {
                    let body = initialized(request, "2025-11-25").to_string();
                    (0, http(200, "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n", &body))
                }
                ("POST", _) => (0, http(202, "", "")),
                ("GET", _) => match streams.fetch_add(1, Ordering::Relaxed) {
                    stream if stream < opened => (0, events("retry: 0\n\n")),
                    stream if stream == opened => (0, http(status, "", "")),
                    _ => (0, events(TOOLS_CHANGED)),
                },
                _ => (0, http(200, "", "")),
            })
            .await;
            let (heard, mut news) = mpsc::unbounded_channel();
            let options = choose(RevisionChoice::Legacy);
            let client = Client::connect_with(server.url.as_str(), options, Heard(heard)).await.unwrap();
            timeout(TEST_TIMEOUT, news.recv()).await.unwrap_or_else(|_| panic!("{status}: the stream was given up"));
            client.close().await;
        })
        .into_iter()
        .collect();
    attempts.join_all().await;
}

#[tokio::test]
async fn http_30_an_event_that_is_too_large_does_not_end_the_stream_permanently() {
    let streams = AtomicUsize::new(0);
    let server = Scripted::new(move |request| match (&*request.method, request.rpc()) {
        ("POST", "initialize") => {
            let body = initialized(request, "2025-11-25").to_string();
            (0, http(200, "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n", &body))
        }
        ("POST", _) => (0, http(202, "", "")),
        ("GET", _) if streams.fetch_add(1, Ordering::Relaxed) == 0 => {
            (0, events(&format!("id: a\ndata:\n\nid: b\ndata: {}\n\n", "x".repeat(5000))))
        }
        ("GET", _) if request.header("last-event-id").is_some() => (0, http(400, "", "")),
        ("GET", _) => (0, events(TOOLS_CHANGED)),
        _ => (0, http(200, "", "")),
    })
    .await;
    let (heard, mut news) = mpsc::unbounded_channel();
    let max_message_bytes = 1000;
    let options = choose(RevisionChoice::Legacy).with_max_message_bytes(max_message_bytes);
    let client = Client::connect_with(server.url.as_str(), options, Heard(heard)).await.unwrap();
    timeout(TEST_TIMEOUT, news.recv()).await.expect("the stream was given up");
    client.close().await;
}

#[tokio::test]
async fn http_48_a_session_that_replaces_a_lost_one_is_subscribed_again() {
    let sessions = AtomicUsize::new(0);
    let (subscribed, mut uris) = mpsc::unbounded_channel();
    let server = Scripted::new(move |request| match (&*request.method, request.rpc()) {
        ("POST", "initialize") => {
            let mut body = initialized(request, "2025-11-25");
            body["result"]["capabilities"] = json!({"resources": {"subscribe": true}});
            let session = sessions.fetch_add(1, Ordering::Relaxed);
            let headers = format!("Content-Type: application/json\r\nMcp-Session-Id: s-{session}\r\n");
            (0, http(200, &headers, &body.to_string()))
        }
        ("POST", "resources/subscribe") => {
            let session = request.header("mcp-session-id").unwrap().to_owned();
            let _ = subscribed.send((session, request.body["params"]["uri"].clone()));
            (0, http(200, "Content-Type: application/json\r\n", &result(request, json!({})).to_string()))
        }
        ("POST", "tools/list") if request.header("mcp-session-id") == Some("s-0") => (0, http(404, "", "")),
        ("POST", "tools/list") => {
            let body = result(request, json!({"tools": []})).to_string();
            (0, http(200, "Content-Type: application/json\r\n", &body))
        }
        ("POST", _) => (0, http(202, "", "")),
        ("GET", _) => (0, http(405, "", "")),
        _ => (0, http(200, "", "")),
    })
    .await;
    let client = Client::connect_with(server.url.as_str(), choose(RevisionChoice::Legacy), ()).await.unwrap();
    let mut changes = client.subscribe("a:1").await.unwrap();
    assert_eq!(uris.recv().await, Some(("s-0".to_owned(), json!("a:1"))));
    request(&client, "tools/list").await.unwrap();
    let again = timeout(TEST_TIMEOUT, uris.recv()).await.expect("it was not subscribed again");
    assert_eq!(again, Some(("s-1".to_owned(), json!("a:1"))));
    assert_eq!(changes.next().await.unwrap().unwrap().kind, ChangeKind::Missed);
    client.close().await;
}

#[tokio::test]
#[expect(deprecated, reason = "older revisions have it")]
async fn log_03_calls_wait_until_each_new_session_has_the_log_level() {
    let (sessions, answered) = (AtomicUsize::new(0), Arc::new(Mutex::new(Vec::new())));
    let noted = Arc::clone(&answered);
    let server = Scripted::new(move |request| {
        let session = request.header("mcp-session-id").unwrap_or_default().to_owned();
        let was_set =
            |answered: &[(String, Instant)]| answered.iter().any(|(of, at)| *of == session && Instant::now() >= *at);
        match (&*request.method, request.rpc()) {
            ("POST", "initialize") => {
                let mut body = initialized(request, "2025-11-25");
                body["result"]["capabilities"] = json!({"logging": {}});
                let session = sessions.fetch_add(1, Ordering::Relaxed);
                let headers = format!("Content-Type: application/json\r\nMcp-Session-Id: s-{session}\r\n");
                (0, http(200, &headers, &body.to_string()))
            }
            ("POST", "logging/setLevel") => {
                assert_eq!(request.body["params"], json!({"level": "error"}));
                noted.lock().unwrap().push((session, Instant::now() + Duration::from_millis(300)));
                (300, json_answer(200, &result(request, json!({}))))
            }
            // The first session is lost once it has worked.
            ("POST", "tools/list") if session == "s-0" => (0, http(404, "", "")),
            ("POST", "tools/list" | "ping") => {
                let early = !was_set(&noted.lock().unwrap());
                (0, json_answer(200, &result(request, json!({"tools": [], "early": early}))))
            }
            ("POST", _) => (0, http(202, "", "")),
            _ => (0, http(405, "", "")),
        }
    })
    .await;
    let options = choose(RevisionChoice::Legacy).with_log_level(LoggingLevel::Error);
    let client = Client::connect_with(server.url.as_str(), options, ()).await.unwrap();
    for method in ["ping", "tools/list"] {
        let result = request(&client, method).await.unwrap();
        assert_eq!(serde_json::to_value(&result).unwrap()["early"], json!(false), "{method}");
    }
    let sessions: Vec<_> = answered.lock().unwrap().iter().map(|(session, _)| session.clone()).collect();
    assert_eq!(sessions, ["s-0", "s-1"]);
    client.close().await;
}

#[tokio::test]
#[expect(deprecated, reason = "older revisions have it")]
async fn a_server_that_refuses_the_log_level_is_used_all_the_same() {
    for status in [200, 400, 500] {
        let refusal = json!({"code": -32602, "message": "no such level"});
        let server = Scripted::new(move |request| match (&*request.method, request.rpc()) {
            ("POST", "initialize") => {
                let mut body = initialized(request, "2025-11-25");
                body["result"]["capabilities"] = json!({"logging": {}});
                (0, json_answer(200, &body))
            }
            ("POST", "logging/setLevel") => {
                let error = json!({"jsonrpc": "2.0", "id": request.body["id"], "error": refusal});
                (0, json_answer(status, &error))
            }
            ("POST", "ping") => (0, json_answer(200, &result(request, json!({})))),
            ("POST", _) => (0, http(202, "", "")),
            _ => (0, http(405, "", "")),
        })
        .await;
        let options = choose(RevisionChoice::Legacy).with_log_level(LoggingLevel::Error);
        let client = Client::connect_with(server.url.as_str(), options, ()).await.unwrap();
        request(&client, "ping").await.unwrap();
        assert_eq!(count(&server, "logging/setLevel"), 1, "{status}");
        client.close().await;
    }
}

#[tokio::test]
async fn http_48_a_server_that_was_restarted_costs_no_call() {
    let (server, _) = server();
    let mut listener = server.listen("127.0.0.1:0").await.unwrap();
    let url = listener.url().unwrap();
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    for (choice, revision) in every_choice() {
        if revision == Revision::LATEST {
            continue;
        }
        let (heard, mut news) = mpsc::unbounded_channel();
        let client = Client::connect_with(url.clone(), choose(choice), Heard(heard)).await.unwrap();
        assert_eq!(text(&call(&client, "echo", json!({"text": "a"}), &RequestOptions::default()).await.unwrap()), "a");
        // A restart: the same address, no sessions. Several calls lose the session at once, and it
        // is opened once for all.
        listener.close(TEST_TIMEOUT).await;
        listener = server.listen(&address).await.unwrap();
        let mut calls = JoinSet::new();
        for _ in 0..8 {
            let client = client.clone();
            calls.spawn(async move { call(&client, "echo", json!({"text": "b"}), &RequestOptions::default()).await });
        }
        while let Some(outcome) = calls.join_next().await {
            assert_eq!(text(&outcome.unwrap().unwrap()), "b", "{revision}");
        }
        // The new session has its stream.
        let added = ToolDefinition::new(json!({"name": "late"}), |_: trunkline::server::Call| {});
        server.add_tool(added).unwrap();
        let method = timeout(TEST_TIMEOUT, news.recv()).await.expect("nothing was heard").unwrap();
        assert_eq!(method, "notifications/tools/list_changed");
        server.remove_tool("late");
        client.close().await;
    }
}

#[tokio::test]
async fn http_47_a_lost_session_is_a_distinct_error() {
    let server = legacy(|_| {
        (0, json_answer(404, &json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32001, "message": "gone"}})))
    })
    .await;
    let client = connect(&server, RevisionChoice::Legacy).await.unwrap();
    let error = request(&client, "ping").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "The server does not know the session (HTTP 404: gone); if several processes serve this URL, they must share \
         their sessions"
    );
    assert_eq!(error.connection().unwrap().reason, Some(FailureReason::SessionLost));
    client.close().await;
}

/// The answer of the examples of the TypeScript SDK to a session that they do not know.
fn no_valid_session() -> String {
    let error = json!({"code": -32000, "message": "Bad Request: No valid session ID provided"});
    json_answer(400, &json!({"jsonrpc": "2.0", "error": error, "id": null}))
}

/// A server that forgets its sessions when `restarted`, and knows only the newest, if that.
async fn forgetful(restarted: Arc<AtomicBool>, knows_new: bool) -> Scripted {
    let sessions = AtomicUsize::new(0);
    Scripted::new(move |request| {
        let old = request.header("mcp-session-id") == Some("s-0");
        match (&*request.method, request.rpc()) {
            ("POST", "initialize") => {
                let session = sessions.fetch_add(1, Ordering::Relaxed);
                let headers = format!("Content-Type: application/json\r\nMcp-Session-Id: s-{session}\r\n");
                (0, http(200, &headers, &initialized(request, "2025-11-25").to_string()))
            }
            ("POST", "notifications/initialized") => (0, http(202, "", "")),
            ("POST", _) if restarted.load(Ordering::Relaxed) && (old || !knows_new) => (0, no_valid_session()),
            ("POST", _) => (0, json_answer(200, &result(request, json!({})))),
            ("GET", _) if !restarted.load(Ordering::Relaxed) => (0, events("retry: 10\n\n")),
            ("GET", _) if old => (0, http(400, "", "Invalid or missing session ID")),
            ("GET", _) => (0, events(TOOLS_CHANGED)),
            _ => (0, http(200, "", "")),
        }
    })
    .await
}

fn count(server: &Scripted, rpc: &str) -> usize {
    server.seen.lock().unwrap().iter().filter(|seen| seen.rpc() == rpc).count()
}

#[tokio::test]
async fn http_48_a_session_that_is_refused_with_400_is_reopened_once() {
    for knows_new in [true, false] {
        let restarted = Arc::new(AtomicBool::new(false));
        let server = forgetful(Arc::clone(&restarted), knows_new).await;
        let client = connect(&server, RevisionChoice::Legacy).await.unwrap();
        request(&client, "ping").await.unwrap();
        restarted.store(true, Ordering::Relaxed);
        let outcome = request(&client, "tools/list").await;
        if knows_new {
            outcome.unwrap();
        } else {
            let error = outcome.unwrap_err();
            assert!(error.to_string().contains("(HTTP 400: Bad Request: No valid session ID provided)"), "{error}");
            assert_eq!(error.connection().unwrap().reason, Some(FailureReason::SessionLost));
            assert_eq!(count(&server, "tools/list"), 2);
        }
        assert_eq!(count(&server, "initialize"), 2);
        client.close().await;
    }
}

#[tokio::test]
async fn http_48_calls_that_lose_their_session_share_an_attempt_that_fails() {
    let restarted = Arc::new(AtomicBool::new(false));
    let is_restarted = Arc::clone(&restarted);
    let server = Scripted::new(move |request| match (&*request.method, request.rpc()) {
        ("POST", "initialize") if is_restarted.load(Ordering::Relaxed) => (700, http(503, "", "starting")),
        ("POST", "initialize") => {
            let headers = "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n";
            (0, http(200, headers, &initialized(request, "2025-11-25").to_string()))
        }
        ("POST", "notifications/initialized") => (0, http(202, "", "")),
        ("POST", "tools/list") => (0, http(404, "", "")),
        ("POST", _) => (0, json_answer(200, &result(request, json!({})))),
        _ => (0, http(405, "", "")),
    })
    .await;
    let client = connect(&server, RevisionChoice::Legacy).await.unwrap();
    request(&client, "ping").await.unwrap();
    restarted.store(true, Ordering::Relaxed);
    let calls: JoinSet<_> = (0..5)
        .map(|_| {
            let client = client.clone();
            async move { request(&client, "tools/list").await.unwrap_err() }
        })
        .collect();
    for error in calls.join_all().await {
        assert_eq!(error.connection().unwrap().reason, Some(FailureReason::SessionLost), "{error}");
    }
    assert_eq!(count(&server, "initialize"), 2);
    client.close().await;
}

/// A server that has lost its first session, takes its time for the handshake of the second, and
/// refuses calls before it is over, like the Python SDK.
async fn slow_to_reopen(handshake: Duration) -> Scripted {
    let (sessions, ready_at) = (AtomicUsize::new(0), Mutex::new(None));
    Scripted::new(move |request| {
        let session = request.header("mcp-session-id");
        let is_ready = || session != Some("s-1") || ready_at.lock().unwrap().is_some_and(|at| Instant::now() >= at);
        match (&*request.method, request.rpc()) {
            ("POST", "initialize") => {
                let session = sessions.fetch_add(1, Ordering::Relaxed);
                let headers = format!("Content-Type: application/json\r\nMcp-Session-Id: s-{session}\r\n");
                (0, http(200, &headers, &initialized(request, "2025-11-25").to_string()))
            }
            ("POST", "notifications/initialized") if session == Some("s-1") => {
                *ready_at.lock().unwrap() = Some(Instant::now() + handshake);
                (u64::try_from(handshake.as_millis()).unwrap(), http(202, "", ""))
            }
            ("POST", "tools/list") if session == Some("s-0") => (0, http(404, "", "")),
            ("POST", "tools/list") if is_ready() => (0, json_answer(200, &result(request, json!({"tools": []})))),
            ("POST", "tools/list") => {
                let error = json!({"code": -32602, "message": "received before initialization was complete"});
                (0, json_answer(200, &json!({"jsonrpc": "2.0", "id": request.body["id"], "error": error})))
            }
            ("POST", _) => (0, http(202, "", "")),
            _ => (0, http(405, "", "")),
        }
    })
    .await
}

#[tokio::test]
async fn http_48_a_call_that_is_cancelled_while_it_reopens_the_session_leaves_none_half_open() {
    let server = slow_to_reopen(TEST_TIMEOUT).await;
    let client = connect(&server, RevisionChoice::Legacy).await.unwrap();
    let handshake = async {
        while count(&server, "notifications/initialized") < 2 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        answer = request(&client, "tools/list") => panic!("not cancelled: {answer:?}"),
        () = handshake => {}
    }
    assert_eq!(count(&server, "initialize"), 2, "it was cancelled during the handshake");
    request(&client, "tools/list").await.unwrap();
    assert_eq!(count(&server, "initialize"), 3);
    client.close().await;
}

#[tokio::test]
async fn http_48_calls_wait_for_the_handshake_of_a_session_that_is_opened_again() {
    let server = slow_to_reopen(Duration::from_millis(1_000)).await;
    let client = connect(&server, RevisionChoice::Legacy).await.unwrap();
    let first = {
        let client = client.clone();
        tokio::spawn(async move { request(&client, "tools/list").await })
    };
    while count(&server, "notifications/initialized") < 2 {
        sleep(Duration::from_millis(10)).await;
    }
    request(&client, "tools/list").await.unwrap();
    first.await.unwrap().unwrap();
    assert_eq!(count(&server, "initialize"), 2);
    client.close().await;
}

#[tokio::test]
async fn http_48_a_stream_whose_session_is_refused_with_400_gets_another_session() {
    let restarted = Arc::new(AtomicBool::new(false));
    let server = forgetful(Arc::clone(&restarted), true).await;
    let (heard, mut news) = mpsc::unbounded_channel();
    let client = Client::connect_with(server.url.as_str(), choose(RevisionChoice::Legacy), Heard(heard)).await.unwrap();
    request(&client, "ping").await.unwrap();
    restarted.store(true, Ordering::Relaxed);
    timeout(TEST_TIMEOUT, news.recv()).await.expect("the stream was given up");
    client.close().await;
}

#[tokio::test]
async fn a_refusal_for_another_reason_than_the_session_is_the_servers_error() {
    for (code, message) in [(-32602, "session_name is required"), (-32000, "no such table")] {
        let server = legacy(move |request| {
            let error = json!({"code": code, "message": message});
            (0, json_answer(400, &json!({"jsonrpc": "2.0", "id": request.body["id"], "error": error})))
        })
        .await;
        let client = connect(&server, RevisionChoice::Legacy).await.unwrap();
        let error = request(&client, "ping").await.unwrap_err();
        assert_eq!(error.rpc().map(|error| error.code), Some(code), "{error}");
        assert_eq!((count(&server, "initialize"), count(&server, "ping")), (1, 1));
        client.close().await;
    }
}

#[tokio::test]
async fn a_body_that_is_no_message_is_said_to_be_none() {
    for (body, why) in [("{\"jsonrpc\": \"2.0\", ", "Parse error"), ("[7]", "must be an object")] {
        let server = legacy(move |_| (0, http(200, "content-type: application/json\r\n", body))).await;
        let client = connect(&server, RevisionChoice::Legacy).await.unwrap();
        let error = request(&client, "tools/list").await.unwrap_err().to_string();
        assert!(error.contains("is no message") && error.contains(why), "{error}");
    }
    // A byte order mark, as programs of Windows write it.
    let marked = |seen: &Seen| result(seen, json!({"tools": []})).to_string();
    let server =
        legacy(move |seen| (0, http(200, "content-type: application/json\r\n", &format!("\u{feff}{}", marked(seen)))))
            .await;
    let client = connect(&server, RevisionChoice::Legacy).await.unwrap();
    request(&client, "tools/list").await.unwrap();
}

#[tokio::test]
async fn a_reply_without_the_response_is_invalid_in_both_eras() {
    const JSON: &str = "content-type: application/json\r\n";
    const EVENTS: &str = "content-type: text/event-stream\r\n";
    for (status, headers, body) in [
        (200, "content-type: text/html\r\n", "<h1>Log in</h1>"),
        (200, "", ""),
        (202, "", ""),
        (200, JSON, ""),
        (200, JSON, "<h1>Log in</h1>"),
        (200, JSON, "{}"),
        (200, JSON, r#"{"jsonrpc": "2.0", "method": "notifications/message"}"#),
        (200, JSON, r#"{"jsonrpc": "2.0", "id": 999, "result": {}}"#),
        (200, EVENTS, "data: <h1>Log in</h1>\n\n"),
        (200, EVENTS, "data: {}\n\ndata: {}\n\n"),
    ] {
        for (choice, _) in every_choice() {
            let server = Scripted::new(move |_| (0, http(status, headers, body))).await;
            let error = match connect(&server, choice).await {
                Ok(client) => request(&client, "tools/list").await.unwrap_err(),
                Err(error) => error,
            };
            let facts = error.connection().unwrap();
            let found = (facts.reason, facts.http_status);
            assert_eq!(found, (Some(FailureReason::InvalidResponse), Some(status)), "{choice:?} {body:?}: {error}");
        }
        let server = legacy(move |_| (0, http(status, headers, body))).await;
        let client = connect(&server, RevisionChoice::Legacy).await.unwrap();
        let error = request(&client, "tools/list").await.unwrap_err();
        assert_eq!(error.connection().unwrap().reason, Some(FailureReason::InvalidResponse), "{body:?}: {error}");
    }
    // A stream that ends early may be that of a server that is being restarted.
    let early = r#"data: {"jsonrpc": "2.0", "method": "notifications/message"}"#;
    let server = legacy(move |_| (0, http(200, EVENTS, &format!("{early}\n\n")))).await;
    let client = connect(&server, RevisionChoice::Legacy).await.unwrap();
    let error = request(&client, "tools/list").await.unwrap_err();
    assert_eq!(error.connection().unwrap().reason, Some(FailureReason::Broken), "{error}");
}

#[tokio::test]
async fn failures_contain_the_servers_output_and_advice() {
    const HTML: &str = "Content-Type: text/html\r\n";
    let plan = r#"{"error": "your plan has no MCP"}"#;
    for (status, headers, page, texts) in [
        (
            503,
            "Retry-After: 60\r\n",
            "maintenance until noon",
            &["HTTP 503: maintenance until noon; retry after 60 s"][..],
        ),
        (403, "", plan, &[r#"denied access (HTTP 403): {"error": "your plan has no MCP"}"#]),
        (403, "", "", &["(HTTP 403); check the credentials"]),
        (
            200,
            HTML,
            "<h1>Log \u{1b}[2Jin</h1>",
            &["HTTP 200 with a body that is not MCP (text/html): <h1>Log in</h1>; check"],
        ),
        (407, "", "", &["A proxy requires credentials (HTTP 407); put its user"]),
        (404, "", "no page", &["HTTP 404: no page; this URL serves neither Streamable HTTP nor HTTP+SSE"]),
        (204, "", "", &["HTTP 204 without a message"]),
    ] {
        let server = Scripted::new(move |_| (0, http(status, headers, page))).await;
        let error = connect(&server, RevisionChoice::Auto).await.err().unwrap().to_string();
        assert!(texts.iter().all(|text| error.contains(text)), "{error}");
    }
    // A body without an end is not waited for, and not read as a whole.
    let server =
        Scripted::new(|_| (0, format!("HTTP/1.1 503 X\r\nContent-Length: 9000000\r\n\r\n{}", "a ".repeat(1_000_000))))
            .await;
    let error = connect(&server, RevisionChoice::Auto).await.err().unwrap().to_string();
    assert!(error.len() < 400 && error.contains("HTTP 503: a a"), "{error}");
}

#[tokio::test]
async fn requests_name_their_client() {
    let server = legacy(|request| (0, json_answer(200, &result(request, json!({}))))).await;
    let library = concat!("trunkline/", env!("CARGO_PKG_VERSION"));
    let named = ClientOptions::default().with_info(Implementation::new("My größter host", "2.1"));
    let full = format!("My-gr--ter-host/2.1 {library}");
    let own = HttpEndpoint::new(&server.url).with_header("user-agent", "mine/1");
    let url = || HttpEndpoint::new(&server.url);
    for (endpoint, options, agent) in
        [(url(), ClientOptions::default(), library), (url(), named.clone(), &*full), (own, named, "mine/1")]
    {
        server.seen.lock().unwrap().clear();
        let client = Client::connect_with(endpoint, options, ()).await.unwrap();
        request(&client, "ping").await.unwrap();
        client.close().await;
        let seen = server.seen.lock().unwrap();
        assert!(seen.iter().all(|seen| seen.header("user-agent") == Some(agent)), "{seen:?}");
    }
}

#[tokio::test]
async fn h26_22_an_error_in_the_body_counts_under_any_status_and_without_an_id() {
    for (status, id) in
        [(200, json!(true)), (400, json!(null)), (404, json!(true)), (400, json!(true)), (503, json!(null))]
    {
        let server = Scripted::new(move |request| {
            let id = if id.is_null() { json!(null) } else { request.body["id"].clone() };
            let error = json!({"code": -32020, "message": "mismatch", "data": {"a": 1}});
            (0, json_answer(status, &json!({"jsonrpc": "2.0", "id": id, "error": error})))
        })
        .await;
        let client = connect(&server, RevisionChoice::Pinned(Revision::V2026_07_28)).await.unwrap();
        let error = request(&client, "tools/list").await.unwrap_err();
        assert_eq!(
            error.rpc().map(|error| (error.code, &*error.message)),
            Some((-32020, "mismatch")),
            "{status}: {error}"
        );
        client.close().await;
    }
}

#[tokio::test]
async fn negotiation_falls_back_only_on_evidence() {
    let probe = |status: u16, body: Value| {
        Scripted::new(move |request| match request.rpc() {
            "server/discover" if body.is_null() => (0, http(status, "Mcp-Session-Id: orphan\r\n", "<html>no</html>")),
            "server/discover" => {
                let mut body = body.clone();
                if body["id"] == true {
                    body["id"] = request.body["id"].clone();
                }
                (0, json_answer(status, &body))
            }
            "initialize" => (0, json_answer(200, &initialized(request, "2025-06-18"))),
            "notifications/initialized" => (0, http(202, "", "")),
            _ => (0, json_answer(200, &result(request, json!({})))),
        })
    };
    let error = |code: i64, id: Value| json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "m"}});
    for (status, body) in [
        (400, Value::Null),
        (404, Value::Null),
        (405, Value::Null),
        (400, error(-32000, Value::Null)),
        (200, error(-32601, json!(true))),
    ] {
        let server = probe(status, body).await;
        let client = connect(&server, RevisionChoice::Auto).await.unwrap();
        assert_eq!(client.revision(), Revision::V2025_06_18);
        request(&client, "ping").await.unwrap();
        let initialize = server.seen("initialize");
        assert!(initialize.header("mcp-protocol-version").is_none() && initialize.header("mcp-session-id").is_none());
        // The session id on the response to the probe is ignored.
        assert!(server.seen("ping").header("mcp-session-id").is_none());
        client.close().await;
    }
    for (status, body) in
        [(401, Value::Null), (403, error(-32000, Value::Null)), (500, Value::Null), (503, error(-32603, Value::Null))]
    {
        let server = probe(status, body).await;
        let error = connect(&server, RevisionChoice::Auto).await.err().unwrap();
        let kind = if status == 401 { ErrorKind::AuthorizationRequired } else { ErrorKind::Transport };
        assert_eq!(error.kind(), kind, "{status}: {error}");
        assert_eq!(server.seen.lock().unwrap().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn failures_to_connect_name_the_url_and_the_cause() {
    let url = format!("http://{NOWHERE}/mcp");
    let error = Client::connect(url.as_str()).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Transport);
    assert!(error.to_string().contains(&url) && error.to_string().to_lowercase().contains("refused"), "{error}");
    assert_eq!(error.connection().unwrap().reason, Some(FailureReason::Refused));
    // No name ends so (RFC 2606).
    let error = Client::connect("http://nobody.invalid/mcp").await.err().unwrap();
    assert_eq!(error.connection().unwrap().reason, Some(FailureReason::Unreachable), "{error}");
    let error = Client::connect("nonsense").await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(error.connection(), None);
    let secret = format!("{}?key=secret", url.replace("http://", "http://user:secret@"));
    for address in [secret.as_str(), "ftp://user:secret@x/?secret", "http://user:secret@a b/"] {
        let error = Client::connect(address).await.err().unwrap().to_string();
        assert!(!error.contains("secret"), "{error}");
    }
}

/// Pages for debugging repeat the request.
#[tokio::test]
async fn errors_do_not_repeat_what_was_sent_in_headers() {
    const SECRETS: [&str; 3] = ["key-0123456789", "token-0123456789", "cookie-0123456789"];
    for (status, kind) in [
        (200, "text/html"),
        (400, "text/html"),
        (401, "text/html"),
        (403, "text/html"),
        (404, "text/html"),
        (500, "text/html"),
        (500, "application/json"),
    ] {
        let server = legacy(move |request| {
            let sent = ["x-api-key", "authorization", "cookie"].map(|name| request.header(name).unwrap_or_default());
            let said = format!("no session for {}", sent.join(" and "));
            let page = match kind {
                "text/html" => format!("<h1>\n{said}</h1>"),
                _ => json!({"error": said}).to_string(),
            };
            (0, http(status, &format!("Content-Type: {kind}\r\n"), &page))
        })
        .await;
        let endpoint = HttpEndpoint::new(&server.url)
            .with_header("X-Api-Key", SECRETS[0])
            .with_header("Authorization", format!("Bearer {}", SECRETS[1]))
            .with_header("Cookie", format!("a={}; b=c", SECRETS[2]));
        let client = Client::connect_with(endpoint, choose(RevisionChoice::Legacy), ()).await.unwrap();
        let error = request(&client, "tools/list").await.unwrap_err().to_string();
        assert!(!SECRETS.iter().any(|secret| error.contains(secret)), "{status} {kind}: {error}");
        assert!(error.contains("no session for (removed) and Bearer (removed) and (removed); b=c"), "{error}");
    }
}

/// Of an entry whose URL has a token in its path.
#[tokio::test]
async fn errors_show_a_url_with_placeholders_as_it_is_written() {
    let lost = legacy(|_| (0, http(500, "", ""))).await;
    let moved =
        Scripted::new(|request| (0, http(302, &format!("Location: https://other.example{}/\r\n", request.path), "")))
            .await;
    let host = |server: &Scripted| server.url["http://".len()..].split('/').next().unwrap().to_owned();
    for host in [NOWHERE.to_owned(), host(&lost), host(&moved)] {
        let variables = BTreeMap::from([("TOKEN".to_owned(), "s3cret".to_owned())]);
        let entry = json!({"url": format!("http://{host}/${{TOKEN}}/mcp?key=${{TOKEN}}")});
        let entry = ServerEntry::from_value_with(&entry, &variables).unwrap();
        assert!(!format!("{entry:?}").contains("s3cret"), "{entry:?}");
        let shown = format!("http://{host}/${{TOKEN}}/mcp");
        let error = match Client::connect_with(entry, choose(RevisionChoice::Legacy), ()).await {
            Ok(client) => request(&client, "ping").await.unwrap_err(),
            Err(error) => error,
        };
        let error = error.to_string();
        assert!(!error.contains("s3cret"), "{error}");
        assert!(error.contains(&shown) || error.contains("HTTP 500"), "{error}");
    }
}

#[tokio::test]
async fn failures_carry_their_facts() {
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/mcp", plain.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = plain.accept().await {
            let _ = socket.read_buf(&mut Vec::new()).await;
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let error = Client::connect(url).await.err().unwrap();
    assert_eq!(error.connection().unwrap().reason, Some(FailureReason::Tls), "{error}");

    let challenge = "WWW-Authenticate: Bearer realm=\"x\"\r\nWWW-Authenticate: DPoP\r\n";
    for revision in [RevisionChoice::Auto, RevisionChoice::Legacy] {
        for (status, text) in [(401, "401"), (403, "403"), (503, "503")] {
            let page = "\u{1b}[2J<h1>\nno\r\u{7}</h1>";
            let server = Scripted::new(move |_| (0, http(status, challenge, page))).await;
            let error = connect(&server, revision).await.err().unwrap();
            assert!(error.to_string().contains(text), "{error}");
            let challenges = if status == 503 {
                assert_eq!(error.authorization(), None);
                let facts = error.connection().unwrap();
                assert_eq!((facts.reason, facts.http_status), (Some(FailureReason::Status), Some(status)));
                facts.challenges
            } else {
                assert_eq!((error.kind(), error.connection()), (ErrorKind::AuthorizationRequired, None));
                let demand = error.authorization().unwrap();
                assert_eq!((demand.http_status, &demand.error, &demand.scopes), (Some(status), &None, &None));
                demand.challenges.clone()
            };
            assert_eq!(challenges.unwrap(), ["Bearer realm=\"x\"", "DPoP"]);
        }
    }
    // A host that is not allowed is refused with 403, too.
    let server = Scripted::new(|_| (0, http(403, "", "no such host"))).await;
    let error = connect(&server, RevisionChoice::Auto).await.err().unwrap();
    assert_eq!(error.connection().unwrap().reason, Some(FailureReason::Status));
    // The demands of a refusal in a conversation that is open.
    let challenge = "WWW-Authenticate: Bearer error=\"insufficient_scope\", error_description=\"Not for you\", \
                     scope=\"a b\", resource_metadata=\"https://x/y\"\r\n";
    let server = Scripted::new(move |_| (0, http(403, challenge, "{}"))).await;
    let client = connect(&server, RevisionChoice::Pinned(Revision::V2026_07_28)).await.unwrap();
    let error = request(&client, "tools/list").await.unwrap_err();
    let demand = error.authorization().unwrap();
    assert_eq!(demand.error.as_deref(), Some("insufficient_scope"));
    assert_eq!(demand.error_description.as_deref(), Some("Not for you"));
    assert_eq!(demand.scopes.as_deref(), Some(&["a".to_owned(), "b".to_owned()][..]));
    assert_eq!(demand.resource_metadata.as_deref(), Some("https://x/y"));
    let text = "The access token is insufficient (HTTP 403): Not for you; required scopes: a b";
    assert_eq!(error.to_string(), text);
    client.close().await;
    // In an open conversation, the message has the start of the page, without control characters.
    let server = Scripted::new(|_| (0, http(503, "", "\u{1b}[2J<h1>\nno\r\u{7}</h1>"))).await;
    let client = connect(&server, RevisionChoice::Pinned(Revision::V2026_07_28)).await.unwrap();
    let error = request(&client, "tools/list").await.unwrap_err();
    assert_eq!(error.to_string(), "The server answered HTTP 503: <h1> no</h1>");
    client.close().await;
}

#[tokio::test]
async fn redirects_stay_on_the_origin_and_keep_the_message() {
    let stranger = Scripted::new(|request| (0, json_answer(200, &result(request, json!({}))))).await;
    let target = stranger.url.clone();
    let server = Scripted::new(move |_| (0, http(307, &format!("Location: {target}\r\n"), ""))).await;
    let client = connect(&server, RevisionChoice::Pinned(Revision::V2026_07_28)).await.unwrap();
    let error = request(&client, "tools/list").await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("307") && text.contains(&stranger.url) && text.contains("another origin"), "{text}");
    assert_eq!(error.kind(), ErrorKind::Transport);
    assert_eq!(error.connection().unwrap().http_status, Some(307));
    let error = connect(&server, RevisionChoice::Auto).await.err().unwrap();
    assert!(error.to_string().contains(&stranger.url), "{error}");
    assert!(stranger.seen.lock().unwrap().is_empty());
    client.close().await;

    let server = Scripted::new(move |request| match request.header("x-hop") {
        _ if request.rpc() != "tools/list" => (0, http(500, "", "")),
        _ => (0, http(302, "Location: /other\r\n", "")),
    })
    .await;
    let client = connect(&server, RevisionChoice::Pinned(Revision::V2026_07_28)).await.unwrap();
    let error = request(&client, "tools/list").await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("302") && text.contains("/other ") && text.contains("into a GET"), "{text}");
    let lists = server.seen.lock().unwrap().iter().filter(|request| request.rpc() == "tools/list").count();
    assert_eq!(lists, 1);
    client.close().await;
}

/// Behind a load balancer with cookies, every request of a session needs those of its responses.
#[tokio::test]
async fn cookies_of_a_server_come_back_to_it_in_every_request() {
    let set = |cookies: &str| {
        cookies.split(' ').map(|cookie| format!("Set-Cookie: {cookie}; Path=/; HttpOnly\r\n")).collect::<String>()
    };
    let server = Scripted::new(move |request| {
        let answer = |cookies: &str, body: Value| {
            let headers = format!("Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n{}", set(cookies));
            (0, http(200, &headers, &body.to_string()))
        };
        match (&*request.method, request.rpc()) {
            ("POST", "initialize") => answer("node=1 lang=en", initialized(request, "2025-11-25")),
            ("POST", "notifications/initialized") => (0, http(202, "", "")),
            ("POST", "tools/list") => answer("node=2", result(request, json!({"tools": []}))),
            ("POST", _) => (0, json_answer(200, &result(request, json!({})))),
            ("GET", _) => (0, http(405, &set("stream=1"), "")),
            _ => (0, http(200, "", "")),
        }
    })
    .await;
    let endpoint = HttpEndpoint::new(&server.url).with_header("Cookie", "own=0; lang=no");
    let options = choose(RevisionChoice::Pinned(Revision::V2025_11_25));
    let client = Client::connect_with(endpoint, options, ()).await.unwrap();
    timeout(TEST_TIMEOUT, async {
        while !server.seen.lock().unwrap().iter().any(|request| request.method == "GET") {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .unwrap();
    request(&client, "tools/list").await.unwrap();
    request(&client, "ping").await.unwrap();
    client.close().await;
    let seen: Vec<_> = server.seen.lock().unwrap().clone();
    let cookie = |method: &str, rpc: &str| {
        let request = seen.iter().find(|request| request.method == method && request.rpc() == rpc);
        request.and_then(|request| request.header("cookie")).unwrap_or_default().to_owned()
    };
    assert_eq!(cookie("POST", "initialize"), "own=0; lang=no");
    for (method, rpc) in [("POST", "notifications/initialized"), ("GET", "")] {
        assert_eq!(cookie(method, rpc), "own=0; lang=no; node=1", "{method} {rpc}");
    }
    // The response to GET may not have arrived.
    assert!(cookie("POST", "tools/list").starts_with("own=0; lang=no; node=1"), "{seen:?}");
    for (method, rpc) in [("POST", "ping"), ("DELETE", "")] {
        assert!(cookie(method, rpc).starts_with("own=0; lang=no; node=2"), "{method} {rpc}: {seen:?}");
    }
}

#[tokio::test]
async fn cookies_follow_redirects_within_the_origin_only() {
    let stranger = Scripted::new(|_| (0, http(200, "", ""))).await;
    let (target, hop) = (stranger.url.clone(), "Set-Cookie: hop=1; Path=/\r\n");
    let server = Scripted::new(move |request| match (&*request.path, request.rpc()) {
        ("/mcp", "tools/list") => (0, http(307, &format!("Location: /other\r\n{hop}"), "")),
        ("/mcp", "prompts/list") => (0, http(307, &format!("Location: {target}\r\n{hop}"), "")),
        _ => (0, json_answer(200, &result(request, json!({"tools": []})))),
    })
    .await;
    let client = connect(&server, RevisionChoice::Pinned(Revision::V2026_07_28)).await.unwrap();
    request(&client, "tools/list").await.unwrap();
    let redirected = server.seen.lock().unwrap().iter().find(|request| request.path == "/other").cloned().unwrap();
    assert_eq!((redirected.rpc(), redirected.header("cookie")), ("tools/list", Some("hop=1")));
    request(&client, "prompts/list").await.unwrap_err();
    assert!(stranger.seen.lock().unwrap().is_empty());
    // Another client has none of them.
    let other = connect(&server, RevisionChoice::Pinned(Revision::V2026_07_28)).await.unwrap();
    request(&other, "resources/list").await.unwrap();
    assert_eq!(server.seen("resources/list").header("cookie"), None);
    client.close().await;
    other.close().await;
}

#[tokio::test]
async fn redirects_that_lead_back_end() {
    let server = Scripted::new(|_| (0, http(307, "Location: /mcp\r\n", ""))).await;
    let client = connect(&server, RevisionChoice::Pinned(Revision::V2026_07_28)).await.unwrap();
    let error = request(&client, "tools/list").await.unwrap_err();
    assert!(error.to_string().contains("redirected 5 times already"), "{error}");
    assert_eq!(server.seen.lock().unwrap().iter().filter(|request| request.rpc() == "tools/list").count(), 6);
    client.close().await;
}

#[tokio::test]
async fn answers_are_bounded() {
    for stream in [false, true] {
        let server = Scripted::new(move |request| {
            let answer = result(request, json!({"a": "x".repeat(2000)})).to_string();
            (
                0,
                if stream {
                    events(&format!("data: {answer}\n\n"))
                } else {
                    http(200, "Content-Type: application/json\r\n", &answer)
                },
            )
        })
        .await;
        let max_message_bytes = 1000;
        let options = choose(RevisionChoice::Pinned(Revision::V2026_07_28)).with_max_message_bytes(max_message_bytes);
        let client = Client::connect_with(server.url.as_str(), options, ()).await.unwrap();
        let error = request(&client, "tools/list").await.unwrap_err();
        assert!(error.to_string().contains("1000 bytes"), "{error}");
        client.close().await;
    }
}

#[tokio::test]
async fn compressed_answers_are_refused_unread() {
    for coding in ["gzip", "br", "Identity"] {
        let server = legacy(move |request| {
            let headers = format!("Content-Type: application/json\r\nContent-Encoding: {coding}\r\n");
            (0, http(200, &headers, &result(request, json!({"tools": []})).to_string()))
        })
        .await;
        let client = connect(&server, RevisionChoice::Pinned(Revision::V2025_11_25)).await.unwrap();
        let outcome = request(&client, "tools/list").await;
        match coding {
            "Identity" => assert!(outcome.is_ok(), "{outcome:?}"),
            _ => {
                let error = outcome.unwrap_err().to_string();
                assert!(error.contains(coding) && error.contains("turn off compression"), "{error}");
            }
        }
        client.close().await;
        let seen = server.seen.lock().unwrap();
        assert!(seen.iter().all(|request| request.headers["accept-encoding"] == "identity"));
    }
}

// ---- credentials ----

/// Slow credentials.
struct SlowAuth {
    pause: Duration,
    given: AtomicUsize,
    accepts: bool,
}

impl ClientAuth for SlowAuth {
    fn headers(&self, _: &OutgoingRequest) -> BoxedTask<Result<Vec<(String, String)>, AuthError>> {
        let given = self.given.load(Ordering::SeqCst);
        let header = ("authorization".to_owned(), format!("Bearer t{given}"));
        Box::pin(async move { Ok(if given == 0 { Vec::new() } else { vec![header] }) })
    }

    fn refused(&self, _: &OutgoingRequest, refusal: CredentialsRefusal) -> BoxedTask<Result<bool, AuthError>> {
        assert_eq!((refusal.status, refusal.challenges), (401, vec![r#"Bearer scope="a""#.to_owned()]));
        self.given.fetch_add(1, Ordering::SeqCst);
        let (pause, accepts) = (self.pause, self.accepts);
        Box::pin(async move {
            sleep(pause).await;
            if accepts { Ok(true) } else { Err(AuthError("the user does not want to".to_owned())) }
        })
    }
}

async fn guarded() -> Scripted {
    let denied = || (0, http(401, "WWW-Authenticate: Bearer scope=\"a\"\r\n", ""));
    Scripted::new(move |request| match (request.header("authorization"), request.rpc()) {
        (Some("Bearer t1"), "initialize") => (0, json_answer(200, &initialized(request, "2025-11-25"))),
        (Some("Bearer t1"), "notifications/initialized") => (0, http(202, "", "")),
        (Some("Bearer t2"), "tools/list") => (0, json_answer(200, &result(request, json!({"tools": []})))),
        _ => denied(),
    })
    .await
}

/// Enough for a request on a busy machine, and less than `AUTH_DELAY`.
const REQUEST_TIMEOUT: Duration = Duration::from_millis(1500);
const AUTH_DELAY: Duration = Duration::from_millis(2500);

fn with_auth(pause: Duration, accepts: bool) -> (ClientOptions, Arc<SlowAuth>) {
    let auth = Arc::new(SlowAuth { pause, given: AtomicUsize::new(0), accepts });
    let options = ClientOptions::default()
        .with_revision(RevisionChoice::Legacy)
        .with_connect_timeout(REQUEST_TIMEOUT)
        .with_timeout(REQUEST_TIMEOUT)
        .with_auth(Some(Arc::clone(&auth) as Arc<dyn ClientAuth>));
    (options, auth)
}

/// AUC-04, AUC-31: the credentials are on every request, and the time for giving them counts for no
/// deadline.
#[tokio::test]
async fn auc_04_and_auc_31_a_refused_request_is_made_again_with_credentials() {
    let server = guarded().await;
    let (options, auth) = with_auth(AUTH_DELAY, true);
    let client = Client::connect_with(&*server.url, options, ()).await.unwrap();
    assert!(client.list_tools().await.unwrap().is_empty());
    assert_eq!(server.seen("notifications/initialized").header("authorization"), Some("Bearer t1"));
    assert_eq!(auth.given.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn refused_credentials_fail_the_connection_once() {
    let server = guarded().await;
    let (options, auth) = with_auth(Duration::ZERO, false);
    let error = Client::connect_with(&*server.url, options, ()).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::AuthorizationRequired);
    assert_eq!(error.authorization().unwrap().http_status, None);
    assert!(error.to_string().contains("the user does not want to"), "{error}");
    assert_eq!(auth.given.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_demand_of_a_server_is_known_to_its_group() {
    let server = guarded().await;
    let group = ClientGroup::connect([("a", &*server.url)]).await.unwrap();
    let error = group.call_tool("a__x", ()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AuthorizationRequired);
    assert_eq!(error.authorization().unwrap().scopes, Some(vec!["a".to_owned()]));
}

/// For each refusal, whether the user could be asked to log in.
#[derive(Default)]
struct AskedUser(Mutex<Vec<bool>>);

impl ClientAuth for AskedUser {
    fn headers(&self, _: &OutgoingRequest) -> BoxedTask<Result<Vec<(String, String)>, AuthError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn refused(&self, _: &OutgoingRequest, refusal: CredentialsRefusal) -> BoxedTask<Result<bool, AuthError>> {
        self.0.lock().unwrap().push(refusal.interactive);
        Box::pin(async { Ok(false) })
    }
}

/// A page in the browser would surprise a user who waits for nothing.
#[tokio::test]
async fn a_stream_that_is_reopened_does_not_ask_the_user_to_log_in() {
    let listens = AtomicUsize::new(0);
    let server = Scripted::new(move |request| match request.rpc() {
        "server/discover" => {
            let description = json!({"supportedVersions": ["2026-07-28"], "ttlMs": 0, "cacheScope": "private",
                "capabilities": {"tools": {"listChanged": true}}, "resultType": "complete"});
            (0, json_answer(200, &result(request, description)))
        }
        "subscriptions/listen" if listens.fetch_add(1, Ordering::SeqCst) == 1 => {
            (0, http(401, "WWW-Authenticate: Bearer\r\n", ""))
        }
        "subscriptions/listen" => {
            let meta = json!({"io.modelcontextprotocol/subscriptionId": request.body["id"]});
            let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
            let method = "notifications/subscriptions/acknowledged";
            let acknowledged = json!({"jsonrpc": "2.0", "method": method, "params": params});
            (0, events(&format!("data: {acknowledged}\n\n")))
        }
        _ => (0, http(401, "WWW-Authenticate: Bearer\r\n", "")),
    })
    .await;
    let (heard, mut news) = mpsc::unbounded_channel();
    let auth = Arc::new(AskedUser::default());
    let options = choose(RevisionChoice::Modern).with_listen(true);
    let options = options.with_auth(Some(Arc::clone(&auth) as Arc<dyn ClientAuth>));
    let client = Client::connect_with(server.url.as_str(), options, Heard(heard)).await.unwrap();
    let changed = timeout(TEST_TIMEOUT, news.recv()).await.expect("the stream was not reopened");
    assert_eq!(changed.as_deref(), Some("notifications/tools/list_changed"));
    assert_eq!(*auth.0.lock().unwrap(), [false]);
    client.list_tools().await.unwrap_err();
    assert_eq!(*auth.0.lock().unwrap(), [false, true]);
    client.close().await;
}

/// The headers of a function are on every request, those of the credentials before them; headers of
/// the protocol and malformed ones fail the request.
#[tokio::test]
async fn a_function_gives_the_headers_of_each_request() {
    let server = guarded().await;
    let named = RequestHeaders::from_fn(|request| async move {
        Ok([("X-Method".to_owned(), request.method), ("authorization".to_owned(), "Bearer mine".to_owned())])
    });
    let (options, auth) = with_auth(Duration::ZERO, true);
    let named = named.with_auth(options.auth.clone());
    let client = Client::connect_with(&*server.url, options.with_auth(named), ()).await.unwrap();
    assert!(client.list_tools().await.unwrap().is_empty());
    let seen = server.seen("notifications/initialized");
    assert_eq!((seen.header("x-method"), seen.header("authorization")), (Some("POST"), Some("Bearer t1")));
    assert_eq!(auth.given.load(Ordering::SeqCst), 2);

    // A server with its own credentials gets them as well, whatever the client has for the others.
    let entry = json!({"url": server.url, "auth": "t1"});
    let of_tenant = RequestHeaders::from_fn(async |_| Ok([("x-tenant".to_owned(), "acme".to_owned())]));
    for with_auth in [of_tenant.clone(), of_tenant.with_auth(OAuth::new(OAuthOptions::default()).unwrap())] {
        server.seen.lock().unwrap().clear();
        let options = ClientOptions::default().with_revision(RevisionChoice::Legacy).with_auth(with_auth);
        Client::connect_with(ServerEntry::from_value(&entry).unwrap(), options, ()).await.unwrap().close().await;
        let seen = server.seen("initialize");
        assert_eq!((seen.header("x-tenant"), seen.header("authorization")), (Some("acme"), Some("Bearer t1")));
    }

    for (name, problem) in [("Mcp-Name", "is set by the protocol"), ("a b", "is malformed")] {
        let given = RequestHeaders::from_fn(move |_| async move { Ok([(name.to_owned(), String::new())]) });
        let options = ClientOptions::default().with_auth(given);
        let error = Client::connect_with(&*server.url, options, ()).await.err().unwrap();
        assert!(error.to_string().contains(problem), "{error}");
    }
}
