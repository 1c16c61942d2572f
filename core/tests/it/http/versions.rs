//! HTTP/1.1 and HTTP/2 on one port, and what connections may not do.

use super::support::*;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use std::{sync::atomic::Ordering, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
    time::{sleep, timeout},
};
use trunkline::{server::ServerOptions, transport::HttpOptions};

type Http2 = http2::SendRequest<Full<Bytes>>;

async fn http2(fixture: &Fixture) -> Http2 {
    let socket = TcpStream::connect(fixture.address).await.unwrap();
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(socket)).await.unwrap();
    tokio::spawn(connection);
    sender
}

fn post(fixture: &Fixture, headers: &[(&str, &str)], body: &Value) -> Request<Full<Bytes>> {
    let request = Request::post(format!("http://{}/mcp", fixture.address))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.body(Full::new(Bytes::from(body.to_string()))).unwrap()
}

fn modern_post(fixture: &Fixture, name: &str, params: Value) -> Request<Full<Bytes>> {
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", name)];
    post(fixture, &headers, &modern_request("tools/call", params))
}

async fn body(response: Response<Incoming>) -> String {
    let bytes = timeout(TEST_TIMEOUT, response.into_body().collect()).await.unwrap().unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn http_10_both_eras_over_http2() {
    let fixture = Fixture::new().await;
    let mut client = http2(&fixture).await;
    let response = client.send_request(post(&fixture, &[], &initialize("2025-11-25"))).await.unwrap();
    let id = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let session = [("mcp-session-id", id.as_str())];
    let count = request("tools/call", call_with_progress("count"));
    let response = client.send_request(post(&fixture, &session, &count)).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(body(response).await.matches("data: {").count(), 4);
    let echo = modern_post(&fixture, "echo", call("echo", json!({"text": "hi"})));
    assert!(body(client.send_request(echo).await.unwrap()).await.contains("\"text\":\"hi\""));
}

#[tokio::test]
async fn many_requests_at_once_on_one_http2_connection() {
    let fixture = Fixture::new().await;
    let gate = Gate::add(&fixture.server);
    let client = http2(&fixture).await;
    let mut calls = JoinSet::new();
    for number in 0..50 {
        let mut client = client.clone();
        let params = json!({"name": "gate", "arguments": {}, "_meta": {"progressToken": number}});
        let call = modern_post(&fixture, "gate", params);
        calls.spawn(async move {
            // The head arrives with the first event: all of them run.
            client.ready().await.unwrap();
            client.send_request(call).await.unwrap()
        });
    }
    let running = timeout(TEST_TIMEOUT, calls.join_all()).await.unwrap();
    gate.open(50);
    for response in running {
        assert!(body(response).await.contains("let through"));
    }
}

#[tokio::test]
async fn http_24_a_stream_that_is_reset_over_http2_cancels_its_call_only() {
    let fixture = Fixture::new().await;
    let gate = Gate::add(&fixture.server);
    let mut client = http2(&fixture).await;
    let mut params = call("wait", json!({"milliseconds": 60_000}));
    params["_meta"] = json!({"progressToken": 1});
    let wait = tokio::spawn(client.send_request(modern_post(&fixture, "wait", params)));
    let params = json!({"name": "gate", "arguments": {}, "_meta": {"progressToken": 2}});
    let other = client.send_request(modern_post(&fixture, "gate", params)).await.unwrap();
    wait.abort();
    eventually("the call was not cancelled", || fixture.ends.dropped.load(Ordering::SeqCst) == 1).await;
    gate.open(1);
    assert!(body(other).await.contains("let through"));
}

#[tokio::test]
async fn http_03_sec_22_the_authority_of_http2_is_the_host() {
    let fixture = Fixture::new().await;
    let mut client = http2(&fixture).await;
    let mut evil = post(&fixture, &[], &initialize("2025-11-25"));
    *evil.uri_mut() = "http://evil.example/mcp".parse().unwrap();
    let response = client.send_request(evil).await.unwrap();
    assert_eq!(response.status(), 403);
    assert!(body(response).await.contains("allowed hosts"));
}

#[tokio::test]
async fn close_is_graceful_over_http2() {
    let fixture = Fixture::new().await;
    let gate = Gate::add(&fixture.server);
    let mut client = http2(&fixture).await;
    let params = json!({"name": "gate", "arguments": {}, "_meta": {"progressToken": 2}});
    let running = client.send_request(modern_post(&fixture, "gate", params)).await.unwrap();
    let closing = fixture.listener.close(TEST_TIMEOUT);
    gate.open(1);
    let (answer, ()) = tokio::join!(body(running), closing);
    assert!(answer.contains("let through"));
    assert!(TcpStream::connect(fixture.address).await.is_err());
}

#[tokio::test]
async fn heads_are_bounded() {
    let fixture = Fixture::new().await;
    let ask = fixture.modern("tools/list", json!({})).header("X-Large", &"x".repeat(100_000));
    assert_eq!(ask.send().await.status, 431);
    let ask = fixture.modern("tools/list", json!({})).header("X-Large", &"x".repeat(30_000));
    assert_eq!(ask.send().await.status, 200);
    // HTTP/2 has its own limit, which fails the request and not the server.
    let mut client = http2(&fixture).await;
    let mut echo = modern_post(&fixture, "echo", call("echo", json!({"text": "hi"})));
    echo.headers_mut().insert("x-large", "x".repeat(100_000).parse().unwrap());
    let refused = client.send_request(echo).await;
    assert!(refused.is_err() || refused.unwrap().status() == 431);
    assert_eq!(fixture.modern("tools/list", json!({})).send().await.status, 200);
}

#[tokio::test]
async fn beyond_the_connection_limit_silent_ones_are_closed_and_others_wait_for_busy_ones() {
    let options = HttpOptions::default().with_max_connections(2);
    let fixture = Fixture::with(options, ServerOptions::default()).await;
    let connect = async || TcpStream::connect(fixture.address).await.unwrap();
    let _silent = [connect().await, connect().await, connect().await];
    let list = || fixture.modern("tools/list", json!({})).header("Connection", "close");
    assert_eq!(list().send().await.status, 200, "within a second, and not when their time is over");

    let wait = || fixture.modern("tools/call", call("wait", json!({"milliseconds": 600_000})));
    let busy = [wait().start().await, wait().start().await];
    fixture.until_begun(2).await;
    let mut waiting = list().start().await;
    let mut piece = [0; 1];
    assert!(timeout(Duration::from_millis(300), waiting.socket.read(&mut piece)).await.is_err());
    drop(busy);
    assert_eq!(waiting.finish().await.status, 200);
}

/// F16 of the fault review: none of them is cut, however late its first bytes are read.
#[tokio::test]
async fn beyond_the_bound_of_connections_every_call_that_waits_is_answered() {
    let options = HttpOptions::default().with_max_connections(2);
    let fixture = Fixture::with(options, ServerOptions::default()).await;
    let wait = || fixture.modern("tools/call", call("wait", json!({"milliseconds": 20})));
    let mut calls = Vec::new();
    for _ in 0..12 {
        calls.push(wait().header("Connection", "close").start().await);
    }
    for call in calls {
        assert_eq!(call.finish().await.status, 200);
    }
}

#[tokio::test]
async fn an_address_has_a_share_of_the_connections() {
    let options = HttpOptions::default().with_max_connections_per_address(1);
    let fixture = Fixture::with(options, ServerOptions::default()).await;
    let busy = fixture.modern("tools/call", call("wait", json!({"milliseconds": 600_000}))).start().await;
    fixture.until_begun(1).await;
    let mut refused = TcpStream::connect(fixture.address).await.unwrap();
    let closed = timeout(TEST_TIMEOUT, refused.read_to_end(&mut Vec::new())).await.expect("it is held open");
    assert!(closed.map_or(true, |length| length == 0));
    drop(busy);
    eventually_async("it still counts", async || {
        let mut stream = fixture.modern("tools/list", json!({})).header("Connection", "close").start().await;
        let read = timeout(TEST_TIMEOUT, stream.socket.read_to_end(&mut stream.received)).await;
        read.expect("it is held open").is_ok() && stream.text().starts_with("HTTP/1.1 200")
    })
    .await;
}

#[tokio::test]
async fn a_client_that_does_not_read_its_response_is_disconnected() {
    /// More than the system buffers between two sockets.
    const SIZE: usize = 24 << 20;
    let options = HttpOptions::default().with_write_timeout(Duration::from_millis(300));
    let fixture = Fixture::with(options, ServerOptions::default()).await;
    let text = "x".repeat(SIZE);
    fixture
        .server
        .add_tool(trunkline::server::Tool::new("large", "Says much.", move || {
            let text = text.clone();
            async move { text }
        }))
        .unwrap();
    let mut unread = fixture.modern("tools/call", call("large", json!({}))).start().await;
    unread.until("HTTP/1.1 200").await;
    sleep(Duration::from_millis(1500)).await;
    let mut read = Vec::new();
    let _ = timeout(TEST_TIMEOUT, unread.socket.read_to_end(&mut read)).await.expect("it is held open");
    assert!(read.len() < SIZE, "{}", read.len());
}

/// Time is stopped, and jumps to the next timer as soon as nothing else can happen.
#[tokio::test(start_paused = true)]
async fn silence_ends_a_connection_whatever_it_has_begun() {
    let fixture = Fixture::new().await;
    for begun in ["", "P", "PRI * HTTP", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "POST /mcp HTTP/1.1\r\nHo"] {
        let mut socket = TcpStream::connect(fixture.address).await.unwrap();
        socket.write_all(begun.as_bytes()).await.unwrap();
        let start = tokio::time::Instant::now();
        let mut rest = Vec::new();
        let ended = timeout(Duration::from_secs(300), socket.read_to_end(&mut rest)).await;
        assert!(ended.is_ok(), "{begun:?} is held open");
        assert!(start.elapsed() <= Duration::from_secs(70), "{begun:?} {:?}", start.elapsed());
    }
}
