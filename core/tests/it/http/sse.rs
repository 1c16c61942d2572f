//! HTTP+SSE, the transport of 2024-11-05, next to Streamable HTTP.

use super::support::*;
use serde_json::{Value, json};
use std::{sync::atomic::Ordering, time::Instant};
use trunkline::{
    Context, Limits,
    server::{ServerOptions, Tool},
    transport::HttpOptions,
};

/// A session: its stream, and where its messages are posted.
struct Session<'a> {
    fixture: &'a Fixture,
    stream: Stream,
    uri: String,
}

impl<'a> Session<'a> {
    async fn open(fixture: &'a Fixture, path: &str) -> Self {
        let ask = fixture.ask("GET").path(path).header("Accept", "text/event-stream");
        let mut stream = ask.header("Connection", "close").start().await;
        stream.until("data: ").await;
        stream.until("\n\n\r\n").await;
        let text = stream.text();
        let body = text.split("\r\n\r\n").nth(1).unwrap().split_once("\r\n").unwrap().1;
        let uri = body.strip_prefix("event: endpoint\ndata: ").expect("the first event is the endpoint");
        let uri = uri.lines().next().unwrap().to_owned();
        Self { fixture, stream, uri }
    }

    fn ask(&self, body: &Value) -> Ask {
        // Clients of then accept nothing in particular.
        self.fixture.ask("POST").path(&self.uri).json(body).header("Accept", "")
    }

    async fn post(&self, body: &Value) {
        let answer = self.ask(body).send().await;
        assert_eq!((answer.status, &answer.body[..]), (202, ""), "{answer:?}");
    }

    async fn initialize(&mut self, revision: &str) {
        self.post(&initialize(revision)).await;
        self.stream.until(&format!("\"protocolVersion\":\"{revision}\"")).await;
        self.post(&notification("notifications/initialized")).await;
    }
}

fn at(sse: &str) -> HttpOptions {
    HttpOptions::default().with_sse(sse.to_owned())
}

#[tokio::test]
async fn sse_01_02_04_and_05_a_session_of_every_revision_of_the_handshake() {
    let fixture = Fixture::new().await;
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        for path in ["/sse", "/sse/"] {
            let mut session = Session::open(&fixture, path).await;
            assert!(session.uri.starts_with("/messages?sessionId="), "{}", session.uri);
            session.initialize(revision).await;
            session.post(&request("tools/call", call("echo", json!({"text": revision})))).await;
            session.stream.until(&format!("\"text\":\"{revision}\"")).await;
            let mut count = request("tools/call", call_with_progress("count"));
            count["id"] = "count".into();
            session.post(&count).await;
            session.stream.until("\"id\":\"count\"").await;
            let text = session.stream.text();
            assert_eq!(text.matches("notifications/progress").count(), 3);
            assert!(!text.contains("\nid: ") && !text.contains("data: \n"), "{text}");
        }
    }
    // Beside it, Streamable HTTP serves everyone else.
    fixture.session("2025-11-25").await;
    assert_eq!(fixture.modern("tools/list", json!({})).send().await.status, 200);
}

#[tokio::test]
async fn sse_04_messages_without_a_request_also_arrive_on_the_stream() {
    let fixture = Fixture::new().await;
    let mut session = Session::open(&fixture, "/sse").await;
    session.initialize("2024-11-05").await;
    fixture.server.add_tool(Tool::new("late", "Comes later.", || async { "x".to_owned() })).unwrap();
    session
        .stream
        .until("event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"")
        .await;
}

/// A client that speaks all revisions asks for the one here (DISC-27), and continues with the
/// handshake.
#[tokio::test]
async fn sse_04_a_modern_request_is_refused_on_the_stream() {
    let fixture = Fixture::new().await;
    let mut session = Session::open(&fixture, "/sse").await;
    session.post(&modern_request("server/discover", json!({}))).await;
    session.stream.until("\"code\":-32600").await;
    session.stream.until("MCP endpoint").await;
    session.initialize("2025-11-25").await;
}

#[tokio::test]
async fn sec_04_the_session_of_a_message_is_the_one_it_was_posted_to() {
    let fixture = Fixture::new().await;
    let id = |ctx: Context| async move { format!("[{}]", ctx.session_id().unwrap_or_default()) };
    fixture.server.add_tool(Tool::new("id", "Names the session.", id)).unwrap();
    let mut session = Session::open(&fixture, "/sse").await;
    session.initialize("2025-11-25").await;
    let own = session.uri.split_once('=').unwrap().1.to_owned();
    let other = fixture.session("2025-11-25").await;
    let ask = session.ask(&request("tools/call", call("id", json!({})))).header("Mcp-Session-Id", &other);
    assert_eq!(ask.send().await.status, 202);
    session.stream.until(&format!("[{own}]")).await;
    // Nor does the query count where the header does.
    let ask = fixture.ask("POST").path(&format!("/mcp?sessionId={own}")).header("Mcp-Session-Id", &other);
    let answer = ask.json(&request("tools/call", call("id", json!({})))).send().await;
    assert!(answer.status == 200 && answer.body.contains(&format!("[{other}]")), "{answer:?}");
}

#[tokio::test]
async fn sse_05_a_session_ends_with_its_stream() {
    let options = ServerOptions::default().with_max_sessions(1);
    let fixture = Fixture::with(HttpOptions::default(), options).await;
    let mut session = Session::open(&fixture, "/sse").await;
    session.initialize("2025-06-18").await;
    let full = fixture.ask("GET").path("/sse").header("Accept", "text/event-stream").send().await;
    assert_eq!(full.error(), (503, -32603));
    session.post(&request("tools/call", call("wait", json!({"milliseconds": 60_000})))).await;
    let uri = session.uri.clone();
    drop(session);
    eventually("the call was not cancelled", || fixture.ends.dropped.load(Ordering::SeqCst) == 1).await;
    let ping = request("ping", json!({}));
    assert_eq!(fixture.ask("POST").path(&uri).json(&ping).send().await.status, 404);
    // There is room again.
    Session::open(&fixture, "/sse").await.initialize("2025-06-18").await;
}

#[tokio::test]
async fn what_cannot_be_taken_is_refused_with_a_status() {
    let fixture = Fixture::new().await;
    let mut session = Session::open(&fixture, "/sse").await;
    session.initialize("2025-06-18").await;
    let ping = request("ping", json!({}));
    for (ask, status, text) in [
        (fixture.ask("POST").path("/messages").json(&ping), 404, "sessionId"),
        (fixture.ask("POST").path("/messages?sessionId=nobody").json(&ping), 404, "sessionId"),
        (session.ask(&ping).header("Content-Type", "text/plain"), 415, "application/json"),
        (session.ask(&ping).text("{"), 400, "-32700"),
        (session.ask(&json!([ping])), 400, "2025-03-26"),
        (fixture.ask("GET").path(&session.uri), 405, "POST"),
        (fixture.ask("POST").path("/sse").json(&initialize("2025-06-18")), 405, "GET"),
        (fixture.ask("GET").path("/sse").header("Accept", "application/json"), 406, "text/event-stream"),
        (fixture.ask("GET").path("/other"), 404, "HTTP+SSE endpoint is /sse"),
    ] {
        let answer = ask.send().await;
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(answer.body.contains(text), "{answer:?}");
    }
    // Neither transport knows the sessions of the other.
    let id = session.uri.split_once('=').unwrap().1;
    assert_eq!(fixture.post(&[("Mcp-Session-Id", id)], &ping).await.status, 404);
    let id = fixture.session("2025-06-18").await;
    let other = fixture.ask("POST").path(&format!("/messages?sessionId={id}")).json(&ping);
    assert_eq!(other.send().await.status, 404);
    // The session is what it was.
    session.post(&ping).await;
    session.stream.until("\"id\":7,\"result\":{}").await;
}

#[tokio::test]
async fn http_03_sec_22_both_paths_are_guarded() {
    let fixture = Fixture::new().await;
    let session = Session::open(&fixture, "/sse").await;
    for header in ["Host", "Origin"] {
        let get =
            fixture.ask("GET").path("/sse").header("Accept", "text/event-stream").header(header, "http://evil.example");
        assert_eq!(get.send().await.status, 403);
        let post = session.ask(&initialize("2024-11-05")).header(header, "http://evil.example");
        assert_eq!(post.send().await.status, 403);
    }
}

#[tokio::test]
async fn sse_05_the_path_of_the_endpoint_is_shared_only_on_request() {
    let fixture = Fixture::with(at("/mcp"), ServerOptions::default()).await;
    let mut session = Session::open(&fixture, "/mcp").await;
    assert!(session.uri.starts_with("/mcp?sessionId="), "{}", session.uri);
    session.initialize("2024-11-05").await;
    let id = fixture.session("2025-11-25").await;
    let mut stream =
        fixture.ask("GET").header("Mcp-Session-Id", &id).header("Accept", "text/event-stream").start().await;
    stream.until("id: 0-0").await;
    assert_eq!(fixture.modern("tools/list", json!({})).send().await.status, 200);
    assert_eq!(fixture.ask("GET").path("/sse").send().await.status, 404);

    let none = HttpOptions::default().with_sse(None);
    let stateless = HttpOptions::default().with_stateless(true);
    for options in [none, stateless] {
        let fixture = Fixture::with(options, ServerOptions::default()).await;
        let answer = fixture.ask("GET").path("/sse").header("Accept", "text/event-stream").send().await;
        assert_eq!(answer.status, 404);
        let answer = fixture.ask("GET").header("Accept", "text/event-stream").send().await;
        assert_eq!(answer.status, 405);
    }
}

#[tokio::test]
async fn sse_02_a_mounted_service_names_its_messages_relative_to_its_stream() {
    use http_body_util::{BodyExt, Full};
    use tower_service::Service;

    let (server, _) = server(ServerOptions::default());
    let mut service = server.into_service();
    let get =
        http::Request::get("/tools/sse").header("Host", "localhost").body(Full::new(bytes::Bytes::new())).unwrap();
    let mut body = service.call(get).await.unwrap().into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    let text = String::from_utf8(first.to_vec()).unwrap();
    let uri = text.strip_prefix("event: endpoint\ndata: ").unwrap().trim();
    assert!(uri.starts_with("messages?sessionId="), "{uri}");
    let post = http::Request::post(format!("/tools/{uri}"))
        .header("Host", "localhost")
        .header("Content-Type", "application/json")
        .body(Full::new(bytes::Bytes::from(initialize("2024-11-05").to_string())))
        .unwrap();
    assert_eq!(service.call(post).await.unwrap().status(), 202);
    let answer = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(String::from_utf8_lossy(&answer).contains("\"protocolVersion\":\"2024-11-05\""));
}

#[tokio::test]
async fn a_client_that_reads_nothing_gets_busy_and_then_everything() {
    let fixture = Fixture::new().await;
    let mut session = Session::open(&fixture, "/sse").await;
    session.initialize("2025-06-18").await;
    let text = "x".repeat(1 << 20);
    let mut taken = 0;
    loop {
        let mut echo = request("tools/call", call("echo", json!({"text": text})));
        echo["id"] = json!(format!("echo {taken}"));
        let answer = session.ask(&echo).send().await;
        if answer.status == 503 {
            assert_eq!((answer.error().1, answer.header("retry-after")), (-32603, Some("1")));
            break;
        }
        assert_eq!(answer.status, 202);
        taken += 1;
        assert!(taken < 200, "nothing bounds what waits");
    }
    // So does a request of another era, which would be refused on the stream.
    assert_eq!(session.ask(&modern_request("server/discover", json!({}))).send().await.status, 503);
    // A message that is not a request passes.
    session.post(&notification("notifications/cancelled")).await;
    for number in 0..taken {
        session.stream.until(&format!("\"id\":\"echo {number}\"")).await;
        session.stream.received.clear();
    }
    eventually_async("the session stays busy", async || {
        session.ask(&request("ping", json!({}))).send().await.status == 202
    })
    .await;
}

#[tokio::test]
async fn a_body_counts_until_its_call_has_ended() {
    let options = HttpOptions::default().with_max_body_bytes(1 << 20);
    let limits = Limits::default().with_max_message_bytes(1 << 20);
    let fixture = Fixture::with(options, ServerOptions::default().with_limits(limits)).await;
    let mut session = Session::open(&fixture, "/sse").await;
    session.initialize("2025-06-18").await;
    let mut wait = request("tools/call", call("wait", json!({"milliseconds": 60_000})));
    wait["params"]["_meta"] = json!({"padding": "x".repeat(700 << 10)});
    session.post(&wait).await;
    fixture.until_begun(1).await;
    wait["id"] = json!(8);
    assert_eq!(session.ask(&wait).send().await.error(), (503, -32603));
    let mut cancelled = notification("notifications/cancelled");
    cancelled["params"] = json!({"requestId": 7});
    session.post(&cancelled).await;
    eventually_async("there is room again", async || session.ask(&wait).send().await.status == 202).await;
}

#[tokio::test]
async fn close_lets_calls_finish_and_their_answers_be_read() {
    let fixture = Fixture::new().await;
    let gate = Gate::add(&fixture.server);
    let mut session = Session::open(&fixture, "/sse").await;
    session.initialize("2025-06-18").await;
    session.post(&Gate::call(5, false, true)).await;
    session.stream.until("notifications/progress").await;
    let start = Instant::now();
    gate.open(1);
    fixture.listener.close(TEST_TIMEOUT).await;
    assert!(start.elapsed() < TEST_TIMEOUT / 2);
    session.stream.until("let through").await;
    session.stream.finish().await;
}

#[tokio::test]
async fn close_ends_the_streams_of_idle_sessions_while_a_call_runs() {
    let fixture = Fixture::new().await;
    let gate = Gate::add(&fixture.server);
    let mut busy = Session::open(&fixture, "/sse").await;
    busy.initialize("2025-06-18").await;
    busy.post(&Gate::call(5, false, true)).await;
    busy.stream.until("notifications/progress").await;
    let mut idle = Vec::new();
    for _ in 0..8 {
        idle.push(Session::open(&fixture, "/sse").await);
    }
    let others = async {
        for session in idle {
            session.stream.finish().await;
        }
        gate.open(1);
    };
    tokio::join!(fixture.listener.close(TEST_TIMEOUT), others);
    busy.stream.until("let through").await;
}

#[tokio::test]
async fn a_stream_counts_towards_the_rate_limit() {
    let options = HttpOptions::default().with_rate_limit(1).with_rate_burst(2);
    let fixture = Fixture::with(options, ServerOptions::default()).await;
    let _streams = [Session::open(&fixture, "/sse").await, Session::open(&fixture, "/sse").await];
    let refused = fixture.ask("GET").path("/sse").header("Accept", "text/event-stream").send().await;
    // The rest of the minute.
    let after: u32 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!(refused.status == 429 && (30..=60).contains(&after), "{refused:?}");
}
