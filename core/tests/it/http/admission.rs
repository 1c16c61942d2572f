//! Admission at an endpoint: requests without a session, and bytes of bodies.

use super::{support::*, tasks::named};
use serde_json::{Value, json};
use std::{sync::atomic::Ordering, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};
use trunkline::{
    Limits,
    server::{Call, Outcome, ServerOptions, ToolDefinition},
    transport::{HttpOptions, TrustedProxy},
};

fn wait(milliseconds: u64) -> Value {
    call("wait", json!({"milliseconds": milliseconds}))
}

fn assert_busy(answer: &Answer) {
    let error = &answer.json()["error"];
    assert_eq!((answer.status, &error["code"], &error["data"]["reason"]), (503, &json!(-32603), &json!("busy")));
    assert_eq!(answer.header("retry-after"), Some("1"));
}

/// The head of a POST whose body never arrives.
async fn head(fixture: &Fixture, headers: &str) -> Answer {
    let mut socket = TcpStream::connect(fixture.address).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nConnection: close\r\n{headers}\r\n",
        fixture.address
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut received = Vec::new();
    let read = timeout(TEST_TIMEOUT, socket.read_to_end(&mut received)).await;
    read.expect("it waits for the body").unwrap();
    Answer::parse(&received)
}

#[tokio::test]
async fn requests_without_a_session_are_bounded_and_refused_before_their_body() {
    let options = HttpOptions::default().with_max_requests(2);
    let fixture = Fixture::with(options, ServerOptions::default()).await;
    let session = fixture.session("2025-11-25").await;
    let first = fixture.modern("tools/call", wait(60_000)).start().await;
    let second = fixture.modern("tools/call", wait(60_000)).start().await;
    let tools = || fixture.modern("tools/list", json!({})).send();
    fixture.until_begun(2).await;
    assert_busy(&tools().await);
    assert_busy(&head(&fixture, "Content-Length: 100\r\nMCP-Protocol-Version: 2026-07-28\r\n").await);
    assert_busy(&head(&fixture, "Content-Length: 100\r\n").await);
    let listed = fixture.post(&[("Mcp-Session-Id", &session)], &request("tools/list", json!({}))).await;
    assert_eq!(listed.status, 200, "a session has bounds of its own");
    // In the modern era the end of the response is the end of the call.
    drop(first);
    eventually_async("one has left", async || tools().await.status == 200).await;
    drop(second);
    eventually("both were cancelled", || fixture.ends.dropped.load(Ordering::SeqCst) == 2).await;
}

/// A POST whose body stops after its first byte.
async fn begun(fixture: &Fixture) -> TcpStream {
    let mut socket = TcpStream::connect(fixture.address).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nConnection: close\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nContent-Length: 100\r\n\r\n{{",
        fixture.address
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    socket
}

/// T6 of the fault review.
#[tokio::test]
async fn bodies_that_stop_keep_nobody_out_and_the_oldest_gives_way() {
    let options = HttpOptions::default().with_max_requests(3);
    let fixture = Fixture::with(options, ServerOptions::default()).await;
    let mut slow = Vec::new();
    for _ in 0..3 {
        slow.push(begun(&fixture).await);
        sleep(Duration::from_millis(50)).await;
    }
    let began = std::time::Instant::now();
    let listed = fixture.modern("tools/list", json!({})).send().await;
    assert_eq!(listed.status, 200, "{listed:?}");
    assert!(began.elapsed() < TEST_TIMEOUT / 2);
    let mut received = Vec::new();
    timeout(TEST_TIMEOUT, slow[0].read_to_end(&mut received)).await.expect("the oldest is evicted").unwrap();
    assert_busy(&Answer::parse(&received));
    let read = timeout(Duration::from_millis(300), slow[1].read(&mut [0; 16])).await;
    assert!(read.is_err(), "the others are still read: {read:?}");
}

#[tokio::test]
async fn a_call_counts_until_it_has_ended_and_not_only_its_response() {
    let options = HttpOptions::default().with_max_requests(2).with_stateless(true);
    let fixture = Fixture::with(options, ServerOptions::default()).await;
    let gate = Gate::add(&fixture.server);
    for id in 1..=2 {
        let mut stream = fixture.ask("POST").json(&Gate::call(id, false, true)).start().await;
        stream.until("notifications/progress").await;
        // Nobody waits for it any more, but up to 2025-11-25 that cancels nothing (HTTP-22).
        drop(stream);
    }
    let tools = || async { fixture.post(&[], &request("tools/list", json!({}))).await };
    assert_busy(&tools().await);
    gate.open(2);
    eventually("they go on", || gate.0.available_permits() == 0).await;
    eventually_async("there is room again", async || tools().await.status == 200).await;
}

#[tokio::test]
async fn one_principal_has_no_more_than_a_session_would() {
    let limits = Limits::default().with_max_running(1).with_max_waiting(1);
    let fixture = Fixture::with(named(), ServerOptions::default().with_limits(limits)).await;
    let ask =
        |who: &str, params| fixture.modern("tools/call", params).header("Authorization", &format!("Bearer {who}"));
    let _running = [ask("alice", wait(60_000)).start().await, ask("alice", wait(60_000)).start().await];
    let echo = || call("echo", json!({"text": "x"}));
    fixture.until_begun(2).await;
    assert_busy(&ask("alice", echo()).send().await);
    assert_eq!(ask("bob", echo()).send().await.status, 200);
}

#[tokio::test]
async fn the_head_of_an_open_stream_counts() {
    let options = HttpOptions::default().with_max_body_bytes(64 << 10);
    let limits = Limits::default().with_max_message_bytes(1 << 10);
    let fixture = Fixture::with(options, ServerOptions::default().with_limits(limits)).await;
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let listen = || fixture.modern("subscriptions/listen", filter.clone()).header("X-Padding", &"x".repeat(40 << 10));
    let mut stream = listen().start().await;
    stream.until("acknowledged").await;
    assert_busy(&listen().send().await);
    assert_eq!(fixture.modern("tools/list", json!({})).send().await.status, 200);
}

#[tokio::test]
async fn streams_of_change_notifications_do_not_count_as_running_calls() {
    let options = HttpOptions::default().with_max_requests(1);
    let fixture = Fixture::with(options, ServerOptions::default().with_max_sessions(1)).await;
    let listen = || fixture.modern("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let mut stream = listen().start().await;
    stream.until("acknowledged").await;
    assert_eq!(fixture.modern("tools/list", json!({})).send().await.status, 200);
    assert_busy(&listen().send().await);
    drop(stream);
    eventually_async("it may listen again", async || {
        let mut stream = listen().start().await;
        stream.until("HTTP/1.1 ").await;
        stream.text().starts_with("HTTP/1.1 200")
    })
    .await;
}

#[tokio::test]
async fn bodies_are_bounded_together_until_their_calls_have_ended() {
    let limits = Limits::default().with_max_message_bytes(4_000);
    let options = HttpOptions::default().with_max_body_bytes(6_000);
    let fixture = Fixture::with(options, ServerOptions::default().with_limits(limits)).await;
    let session = fixture.session("2025-11-25").await;
    let mut params = wait(60_000);
    params["_meta"]["padding"] = "x".repeat(3_000).into();
    let running = fixture.modern("tools/call", params).start().await;
    let large = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "padding": "x".repeat(3_000)});
    let small = request("ping", json!({}));
    let ping = async |body| fixture.post(&[("Mcp-Session-Id", &session)], body).await;
    fixture.until_begun(1).await;
    assert_busy(&ping(&large).await);
    assert_busy(&head(&fixture, &format!("Content-Length: 3500\r\nMcp-Session-Id: {session}\r\n")).await);
    assert_eq!(ping(&small).await.status, 200, "there is room for small ones");
    drop(running);
    eventually_async("there is room again", async || ping(&large).await.status == 200).await;
}

#[tokio::test]
async fn values_are_bounded_together_until_their_calls_have_ended() {
    let limits = Limits::default().with_max_values(20_000);
    let options = HttpOptions::default().with_max_body_bytes(4 << 20);
    let fixture = Fixture::with(options, ServerOptions::default().with_limits(limits)).await;
    // 1000 and a comma are five bytes of text, and 72 of memory.
    let many = |count: usize, milliseconds: u64| {
        let mut params = wait(milliseconds);
        params["_meta"]["padding"] = vec![json!(1000); count].into();
        fixture.modern("tools/call", params)
    };
    let refused = many(20_000, 0).send().await;
    assert!(refused.status == 400 && refused.body.contains("more than 20000 JSON values"), "{refused:?}");
    let running = [many(18_000, 60_000).start().await, many(18_000, 60_000).start().await];
    fixture.until_begun(2).await;
    assert_busy(&many(18_000, 0).send().await);
    let mut ordinary = call("echo", json!({"text": "x".repeat(100_000)}));
    ordinary["_meta"]["padding"] = vec![0; 1_000].into();
    assert_eq!(fixture.modern("tools/call", ordinary).send().await.status, 200, "few values, whatever their size");
    assert_eq!(many(10_000, 0).send().await.status, 200, "fewer values");
    drop(running);
    eventually_async("there is room again", async || many(18_000, 0).send().await.status == 200).await;
}

/// The handler simulates slow validation. The runtime has one thread.
#[tokio::test]
async fn a_large_message_does_not_delay_small_ones() {
    let fixture = Fixture::new().await;
    let (release, released) = std::sync::mpsc::channel();
    let released = std::sync::Mutex::new(released);
    let handler = move |call: Call| {
        let is_free = released.lock().unwrap().recv_timeout(TEST_TIMEOUT).is_ok();
        call.complete(Outcome::Text(if is_free { "validated" } else { "others had to wait" }.to_owned()));
    };
    let tool = json!({"name": "costly", "inputSchema": {"type": "object"}});
    fixture.server.add_tool(ToolDefinition::new(tool, handler)).unwrap();
    let costly = call("costly", json!({"values": vec![0; 50_000]}));
    let large = fixture.modern("tools/call", costly).header("Connection", "close").start().await;
    assert_eq!(fixture.modern("tools/call", call("echo", json!({"text": "x"}))).send().await.status, 200);
    release.send(()).unwrap();
    let answer = large.finish().await;
    assert!(answer.body.contains("validated"), "{answer:?}");
}

#[tokio::test]
async fn a_small_message_that_would_cost_much_is_refused() {
    let fixture = Fixture::new().await;
    let costly = |bytes: usize| {
        let list = vec![r#"{"":0}"#; bytes / 7].join(",");
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":[{list}]}}}}"#)
    };
    let send = async |body: String| fixture.ask("POST").json(&json!({})).text(&body).send().await;
    assert_eq!(send(costly(3 << 20)).await.status, 400);
    assert_eq!(head(&fixture, "Content-Length: 5000000\r\n").await.status, 413);
}

/// HTTP-47
#[tokio::test]
async fn an_unknown_session_is_refused_before_the_body_is_read() {
    let fixture = Fixture::new().await;
    let answer = head(&fixture, "Content-Length: 100\r\nMcp-Session-Id: nobody\r\n").await;
    assert_eq!(answer.error(), (404, -32600));
}

#[tokio::test]
async fn calls_without_a_session_are_cancelled_at_the_end() {
    for disconnects in [false, true] {
        let options = HttpOptions::default().with_stateless(true);
        let fixture = Fixture::with(options, ServerOptions::default()).await;
        let stream = fixture.ask("POST").json(&request("tools/call", wait(600_000))).start().await;
        fixture.until_begun(1).await;
        let stream = Some(stream).filter(|_| !disconnects);
        fixture.listener.close(Duration::from_millis(200)).await;
        eventually("the call was not cancelled", || fixture.ends.dropped.load(Ordering::SeqCst) == 1).await;
        drop(stream);
    }

    // An abandoned one may run until the deadline, like every call.
    let options = HttpOptions::default().with_stateless(true);
    let fixture = Fixture::with(options, ServerOptions::default()).await;
    let stream = fixture.ask("POST").json(&request("tools/call", wait(400))).start().await;
    fixture.until_begun(1).await;
    drop(stream);
    fixture.listener.close(TEST_TIMEOUT).await;
    assert_eq!(fixture.ends.finished.load(Ordering::SeqCst), 1);
}

/// The listener is behind a proxy, which the tests play.
fn proxied() -> HttpOptions {
    HttpOptions::default().with_trusted_proxies(["127.0.0.1"].map(|proxy| proxy.parse::<TrustedProxy>().unwrap()))
}

const ATTACKER: &str = "198.51.100.7";
/// The first address is one that the attacker made up.
const DISGUISED: &str = "203.0.113.9, 198.51.100.7";
const BYSTANDER: &str = "203.0.113.9";

#[tokio::test]
async fn one_address_behind_a_trusted_proxy_has_no_more_than_a_session_would() {
    let limits = Limits::default().with_max_running(1).with_max_waiting(1);
    let fixture = Fixture::with(proxied(), ServerOptions::default().with_limits(limits)).await;
    let ask = |from: &str, params| fixture.modern("tools/call", params).header("X-Forwarded-For", from);
    let _running = [ask(ATTACKER, wait(60_000)).start().await, ask(DISGUISED, wait(60_000)).start().await];
    let echo = || call("echo", json!({"text": "x"}));
    fixture.until_begun(2).await;
    assert_busy(&ask(DISGUISED, echo()).send().await);
    assert_eq!(ask(BYSTANDER, echo()).send().await.status, 200);
}

#[tokio::test]
async fn one_address_behind_a_trusted_proxy_has_a_share_of_the_bodies() {
    let options = proxied().with_max_body_bytes(16 << 20);
    let fixture = Fixture::with(options, ServerOptions::default()).await;
    let large = 3 << 20;
    let begin = async |from: &str| {
        let mut socket = TcpStream::connect(fixture.address).await.unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nConnection: close\r\n\
             MCP-Protocol-Version: 2026-07-28\r\nX-Forwarded-For: {from}\r\nContent-Length: {large}\r\n\r\n",
            fixture.address
        );
        socket.write_all(head.as_bytes()).await.unwrap();
        socket.write_all(&vec![b' '; large - 1]).await.unwrap();
        socket
    };
    let _held = begin(ATTACKER).await;
    let refused = async |from: &str| {
        let mut received = Vec::new();
        let mut socket = begin(from).await;
        timeout(Duration::from_millis(500), socket.read_to_end(&mut received)).await.is_ok()
    };
    eventually_async("its share is taken", async || refused(DISGUISED).await).await;
    assert!(!refused(BYSTANDER).await, "there is room for another");
}

#[tokio::test]
async fn one_address_behind_a_trusted_proxy_has_a_share_of_the_sessions() {
    let options = ServerOptions::default().with_max_sessions(4).with_max_sessions_per_client(2);
    let fixture = Fixture::with(proxied(), options).await;
    let open = async |from: &str| {
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
        let ask = fixture.ask("POST").header("X-Forwarded-For", from).json(&request("initialize", params));
        ask.send().await.header("mcp-session-id").unwrap().to_owned()
    };
    let bystander = open(BYSTANDER).await;
    let first = open(ATTACKER).await;
    for _ in 0..5 {
        open(DISGUISED).await;
    }
    let status = async |session: &str| {
        let ping = fixture.ask("POST").header("Mcp-Session-Id", session).json(&request("ping", json!({})));
        ping.send().await.status
    };
    assert_eq!(status(&bystander).await, 200, "others of the attacker gave way");
    assert_eq!(status(&first).await, 404);
}

#[tokio::test]
async fn each_address_behind_a_trusted_proxy_has_its_own_rate_limit() {
    let options = proxied().with_rate_limit(1).with_rate_burst(2);
    let fixture = Fixture::with(options, ServerOptions::default()).await;
    let ask =
        async |from: &str| fixture.modern("tools/list", json!({})).header("X-Forwarded-For", from).send().await.status;
    assert_eq!((ask(ATTACKER).await, ask(DISGUISED).await, ask(ATTACKER).await), (200, 200, 429));
    assert_eq!(ask(BYSTANDER).await, 200);
}

#[tokio::test]
async fn a_header_of_a_peer_that_is_no_trusted_proxy_is_not_believed() {
    let options = HttpOptions::default().with_rate_limit(1).with_rate_burst(1);
    let options = options.with_trusted_proxies(["192.0.2.0/24".parse::<TrustedProxy>().unwrap()]);
    let fixture = Fixture::with(options, ServerOptions::default()).await;
    let ask =
        async |from: &str| fixture.modern("tools/list", json!({})).header("X-Forwarded-For", from).send().await.status;
    assert_eq!((ask(ATTACKER).await, ask(BYSTANDER).await), (200, 429));
}
