//! Streamable HTTP as it goes over the wire.

#![expect(deprecated, reason = "older revisions have it")]

use super::support::*;
use serde_json::{Value, json};
use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::{mpsc, oneshot},
    task::JoinSet,
    time::{sleep, timeout},
};
use trunkline::{
    Revision,
    protocol::model::LoggingLevel,
    server::{Call, Context, Outcome, Resource, ServerOptions, Tool, ToolDefinition},
    transport::HttpOptions,
};

// ---- modern ----

/// HTTP-02
#[tokio::test]
async fn http_10_h26_20_a_modern_call_is_answered_with_json_and_no_session() {
    let fixture = Fixture::new().await;
    let answer =
        fixture.modern("tools/call", call("echo", json!({"text": "hi"}))).header("Mcp-Session-Id", "x").send().await;
    assert_eq!(answer.status, 200);
    let body = answer.json();
    assert_eq!((&body["id"], &body["result"]["content"][0]["text"]), (&json!(7), &json!("hi")));
    assert!(answer.header("content-length").is_some() && answer.header("mcp-session-id").is_none());
}

#[tokio::test]
async fn h26_08_h26_11_h26_12_modern_refusals_have_their_statuses() {
    let fixture = Fixture::new().await;
    let echo = || fixture.modern("tools/call", call("echo", json!({"text": "hi"})));
    assert_eq!(echo().header("MCP-Protocol-Version", "").send().await.error(), (400, -32020));
    assert_eq!(echo().header("MCP-Protocol-Version", "2025-11-25").send().await.error(), (400, -32020));
    assert_eq!(echo().header("Mcp-Method", "").send().await.error(), (400, -32020));
    assert_eq!(echo().header("Mcp-Method", "tools/list").send().await.error(), (400, -32020));
    assert_eq!(echo().header("Mcp-Name", "").send().await.error(), (400, -32020));
    assert_eq!(echo().header("Mcp-Name", "Echo").send().await.error(), (400, -32020));
    assert_eq!(echo().header("Mcp-Name", "=?base64?ZWNo?=").send().await.error(), (400, -32020));
    assert_eq!(echo().header("Mcp-Name", "=?base64?ZWNobw?=").send().await.error(), (400, -32020));
    assert_eq!(echo().header("Mcp-Name", "=?base64?ZWNobw==?=").send().await.status, 200);
    assert_eq!(echo().header("mcp-NAME", " echo ").send().await.status, 200);
    // Readers of the first header and readers of the last must not see different things.
    for repeated in ["Mcp-Name: echo", "Mcp-Name: hidden", "Mcp-Method: tools/call", "MCP-Protocol-Version: 2026-07-28"]
    {
        let (name, value) = repeated.split_once(": ").unwrap();
        assert_eq!(echo().also(name, value).send().await.error(), (400, -32020), "{repeated}");
    }

    for method in ["ping", "initialize", "logging/setLevel", "no/such"] {
        let answer = fixture.modern(method, json!({})).send().await;
        assert_eq!(answer.error(), (404, -32601), "{method}");
        assert_eq!(answer.json()["id"], 7);
    }
    let no_meta = echo().json(&request("tools/list", json!({}))).header("Mcp-Method", "tools/list");
    assert_eq!(no_meta.send().await.error(), (400, -32602));
    let mut body = modern_request("tools/list", json!({}));
    body["params"]["_meta"][VERSION] = "2099-01-01".into();
    let unknown =
        fixture.ask("POST").json(&body).header("MCP-Protocol-Version", "2099-01-01").header("Mcp-Method", "tools/list");
    let answer = unknown.send().await;
    assert_eq!(answer.error(), (400, -32022));
    assert_eq!(answer.json()["error"]["data"]["requested"], "2099-01-01");
    body["params"]["_meta"].as_object_mut().unwrap().shift_remove(VERSION);
    let no_version = fixture.ask("POST").json(&body).header("MCP-Protocol-Version", "2026-07-28");
    assert_eq!(no_version.send().await.error(), (400, -32602));
    // A request that the method itself refuses has been served.
    assert_eq!(fixture.modern("tools/call", call("nobody", json!({}))).send().await.error(), (200, -32602));
}

#[tokio::test]
async fn disc_14_disc_15_a_call_needs_what_it_declares_itself() {
    let fixture = Fixture::new().await;
    let answer = |call: trunkline::server::Call| {
        call.complete(trunkline::server::Outcome::Text("sampled".into()));
    };
    let picky = ToolDefinition::new(json!({"name": "picky"}), answer).requires(json!({"sampling": {}}));
    fixture.server.add_tool(picky).unwrap();
    let ask = |capabilities: Value| {
        let mut body = modern_request("tools/call", call("picky", json!({})));
        body["params"]["_meta"][CAPABILITIES] = capabilities;
        fixture.modern("tools/call", call("picky", json!({}))).json(&body)
    };
    // The declaration of the request before counts for nothing.
    for _ in 0..2 {
        assert_eq!(ask(json!({"sampling": {"tools": {}}})).send().await.status, 200);
        for lacking in [json!({}), json!({"elicitation": {}})] {
            let refused = ask(lacking).send().await;
            assert_eq!(refused.error(), (400, -32021));
            assert_eq!(refused.json()["error"]["data"], json!({"requiredCapabilities": {"sampling": {}}}));
        }
    }
}

#[tokio::test]
async fn h26_07_to_09_h26_35_to_37_parameter_headers_agree_with_the_arguments() {
    let fixture = Fixture::new().await;
    let tool = |kind: &str| {
        json!({"name": kind, "inputSchema": {"type": "object", "properties": {
            "it": {"type": kind, "x-mcp-header": "Region"}, "plain": {"type": "string"}}}})
    };
    for kind in ["string", "integer", "boolean"] {
        let answer = |call: trunkline::server::Call| {
            call.complete(trunkline::server::Outcome::Text(String::new()));
        };
        fixture.server.add_tool(ToolDefinition::new(tool(kind), answer)).unwrap();
    }
    for revision in [Revision::LATEST, Revision::LATEST_LEGACY] {
        check_parameter_headers(&Fixture::proxying(&fixture.server, revision).await).await;
    }
    check_parameter_headers(&fixture).await;
}

async fn check_parameter_headers(fixture: &Fixture) {
    for (kind, argument, header, status) in [
        ("string", json!({"it": "eu"}), Some("eu"), 200),
        ("string", json!({"it": "eu"}), Some(" eu "), 200),
        ("string", json!({"it": "eu"}), Some("=?base64?ZXU=?="), 200),
        ("string", json!({"it": "eu"}), Some("EU"), 400),
        ("string", json!({"it": "eu"}), Some("=?base64?ZXU?="), 400),
        ("string", json!({"it": "eu"}), Some("=?base64?Z*U=?="), 400),
        ("string", json!({"it": "eu"}), Some("=?BASE64?ZXU=?="), 400),
        ("string", json!({"it": "eu"}), None, 400),
        ("string", json!({"it": null}), None, 200),
        ("string", json!({"plain": "x"}), None, 200),
        ("string", json!({"plain": "x"}), Some("eu"), 400),
        ("integer", json!({"it": 42}), Some("42.0"), 200),
        ("integer", json!({"it": 42}), Some("43"), 400),
        // H26-28: no header can carry it, so what others see of it is not what the tool would get.
        ("integer", json!({"it": 9_007_199_254_740_992_u64}), Some("9007199254740992"), 400),
        ("integer", json!({"it": 9_007_199_254_740_993_i64}), Some("1"), 400),
        ("integer", json!({"it": -1e30}), None, 400),
        // The schema reports what it refuses.
        ("integer", json!({"it": "42"}), Some("42"), 200),
        ("boolean", json!({"it": true}), Some("true"), 200),
        ("boolean", json!({"it": true}), Some("TRUE"), 400),
    ] {
        let mut ask = fixture.modern("tools/call", call(kind, argument.clone()));
        if let Some(header) = header {
            ask = ask.header("mcp-param-REGION", header);
        }
        let answer = ask.send().await;
        assert_eq!(answer.status, status, "{kind} {argument} {header:?}: {}", answer.json());
        if status == 400 {
            assert_eq!(answer.error(), (400, -32020));
        }
    }
}

/// PRG-08
#[tokio::test]
async fn http_18_h26_15_progress_of_a_modern_call_opens_a_stream_that_ends_with_the_answer() {
    let fixture = Fixture::new().await;
    let answer = fixture.modern("tools/call", call_with_progress("count")).send().await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("x-accel-buffering"), Some("no"));
    assert_eq!(answer.header("cache-control"), Some("no-cache, no-transform"));
    let events = answer.events();
    assert_eq!(events.len(), 4, "{events:?}");
    assert!(events[..3].iter().all(|event| event["method"] == "notifications/progress"));
    assert_eq!(events[3]["result"]["content"][0]["text"], "counted");
}

#[tokio::test]
async fn http_24_a_modern_client_that_goes_away_cancels() {
    let fixture = Fixture::new().await;
    let ask = || fixture.modern("tools/call", call("wait", json!({"milliseconds": 60_000})));
    let stream = ask().start().await;
    fixture.until_begun(1).await;
    drop(stream);
    eventually("the call was not cancelled", || fixture.ends.dropped.load(Ordering::SeqCst) == 1).await;

    // The same when a stream is open already.
    let mut params = call("wait", json!({"milliseconds": 60_000}));
    params["_meta"] = json!({"progressToken": 1});
    let quick = ServerOptions::default().with_keep_alive(Duration::from_millis(20));
    let fixture = Fixture::with(HttpOptions::default(), quick).await;
    let mut stream = fixture.modern("tools/call", params).start().await;
    stream.until(": keep-alive").await;
    drop(stream);
    eventually("the streamed call was not cancelled", || fixture.ends.dropped.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn http_25_nothing_more_is_sent_for_a_call_whose_client_went_away() {
    let fixture = Fixture::new().await;
    let (keep, mut kept) = mpsc::unbounded_channel();
    let tool = json!({"name": "kept", "inputSchema": {"type": "object"}});
    let handler = move |call: Call| {
        call.info().progress(1.0, None, None);
        let _ = keep.send(call);
    };
    fixture.server.add_tool(ToolDefinition::new(tool, handler)).unwrap();
    let mut stream = fixture.modern("tools/call", call_with_progress("kept")).start().await;
    stream.until("notifications/progress").await;
    let call = kept.recv().await.unwrap();
    let (told, cancelled) = oneshot::channel();
    call.info().on_cancel(move |_| {
        let _ = told.send(());
    });
    drop(stream);
    timeout(TEST_TIMEOUT, cancelled).await.expect("the call was not cancelled").unwrap();
    call.info().progress(2.0, None, None);
    assert!(!call.complete(Outcome::Text("too late".into())), "an answer that nobody waits for");
}

#[tokio::test]
async fn http_19_no_request_is_sent_on_a_modern_stream() {
    let fixture = Fixture::new().await;
    let ask = |context: Context| async move {
        context.progress(1.0, None).await;
        format!("{:?}", context.ping().await.is_err())
    };
    fixture.server.add_tool(Tool::new("ask", "Asks its client.", ask)).unwrap();
    let events = fixture.modern("tools/call", call_with_progress("ask")).send().await.events();
    assert_eq!(events.len(), 2);
    assert!(events.iter().all(|event| event.get("id").is_none() || event.get("method").is_none()), "{events:?}");
    assert_eq!(events[1]["result"]["content"][0]["text"], "true");
}

#[tokio::test]
async fn requests_at_once_are_answered_each_in_both_eras() {
    let fixture = Fixture::new().await;
    let id = fixture.session("2025-11-25").await;
    let mut calls = JoinSet::new();
    for number in 0..20 {
        let mut list = request("tools/list", json!({}));
        list["id"] = number.into();
        calls.spawn(fixture.ask("POST").json(&list).header("Mcp-Session-Id", &id).send());
        calls.spawn(fixture.modern("tools/list", json!({})).send());
    }
    let mut ids = Vec::new();
    for answer in calls.join_all().await {
        assert_eq!(answer.status, 200);
        let body = answer.json();
        assert!(body["result"]["tools"].is_array());
        if body["result"].get("resultType").is_none() {
            ids.push(body["id"].as_i64().unwrap());
        }
    }
    ids.sort_unstable();
    assert_eq!(ids, (0..20).collect::<Vec<_>>());
}

#[tokio::test]
async fn sub_02_listen_streams_from_its_acknowledgement_until_the_server_closes() {
    for json in [false, true] {
        let fixture = Fixture::with(HttpOptions::default().with_json(json), ServerOptions::default()).await;
        let filter = json!({"notifications": {"toolsListChanged": true}});
        let mut stream = fixture.modern("subscriptions/listen", filter).start().await;
        stream.until("notifications/subscriptions/acknowledged").await;
        let late = Tool::new("late", "Comes later.", || async { "x".to_owned() });
        fixture.server.add_tool(late).unwrap();
        stream.until("notifications/tools/list_changed").await;
        let start = Instant::now();
        fixture.listener.close(TEST_TIMEOUT).await;
        assert!(start.elapsed() < TEST_TIMEOUT / 2, "an open stream must not hold up the end");
        let events = stream.finish().await.events();
        assert_eq!(events.len(), 3, "{events:?}");
        assert_eq!((&events[2]["id"], events[2].get("result").is_some()), (&json!(7), true));
    }
}

/// HTTP-12
#[tokio::test]
async fn http_11_modern_notifications_are_accepted_and_responses_are_not() {
    let fixture = Fixture::new().await;
    let modern = [("MCP-Protocol-Version", "2026-07-28")];
    let answer = fixture.post(&modern, &notification("notifications/cancelled")).await;
    assert_eq!((answer.status, &answer.body[..]), (202, ""));
    let answer = fixture.post(&modern, &json!({"jsonrpc": "2.0", "id": 1, "result": {}})).await;
    assert_eq!(answer.error(), (400, -32600));
    assert!(answer.json().get("id").is_none());
}

#[tokio::test]
async fn http_11_legacy_notifications_and_responses_get_202_without_a_body() {
    let fixture = Fixture::new().await;
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let id = fixture.session(revision).await;
        let session = [("Mcp-Session-Id", id.as_str()), ("MCP-Protocol-Version", revision)];
        for message in [
            notification("notifications/roots/list_changed"),
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
            json!({"jsonrpc": "2.0", "id": "late", "error": {"code": -32600, "message": "no"}}),
        ] {
            let answer = fixture.post(&session, &message).await;
            assert_eq!((answer.status, &answer.body[..]), (202, ""), "{revision} {message}");
        }
    }
}

// ---- legacy sessions ----

#[tokio::test]
async fn http_41_to_43_http_46_and_47_a_session_lives_from_initialize_to_delete() {
    let fixture = Fixture::new().await;
    // SEC-03: servers that did the same generate unrelated ids. A shared counter, clock or seed
    // would show.
    let other = Fixture::new().await;
    let mut known: Vec<String> = Vec::new();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        known.push(other.session(revision).await);
    }
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let id = fixture.session(revision).await;
        for earlier in &known {
            let alike = earlier.bytes().zip(id.bytes()).filter(|(one, other)| one == other).count();
            assert!(alike <= 8, "{earlier} {id}");
        }
        known.push(id.clone());
        assert!(id.len() >= 22 && id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)));
        let session = [("Mcp-Session-Id", id.as_str()), ("MCP-Protocol-Version", revision)];
        let echo = request("tools/call", call("echo", json!({"text": revision})));
        let answer = fixture.post(&session, &echo).await;
        assert_eq!((answer.status, &answer.json()["result"]["content"][0]["text"]), (200, &json!(revision)));
        assert!(answer.header("mcp-session-id").is_none(), "minted on initialize only");
        // HTTP-46, HTTP-47, HTTP-53
        assert_eq!(fixture.post(&[], &echo).await.error(), (400, -32602));
        assert_eq!(fixture.post(&[("Mcp-Session-Id", "nonsense")], &echo).await.status, 404);
        let bad = [session[0], ("MCP-Protocol-Version", "2025-06-19")];
        let answer = fixture.post(&bad, &echo).await;
        assert_eq!((answer.status, &answer.json()["id"]), (400, &json!(7)));
        assert_eq!(fixture.post(&session, &request("no/such", json!({}))).await.error(), (200, -32601));
        // HTTP-12: with the id of a request of the server, the refusal could be taken for the
        // answer of another one.
        let nonsense = fixture.post(&session, &json!({"jsonrpc": "2.0", "id": 7, "result": {}, "error": {}})).await;
        assert_eq!((nonsense.error(), nonsense.json().get("id")), ((400, -32600), None));
        assert_eq!(fixture.post(&session, &initialize(revision)).await.error(), (400, -32600));
        assert_eq!(fixture.ask("DELETE").header("Mcp-Session-Id", &id).send().await.status, 204);
        assert_eq!(fixture.post(&session, &echo).await.status, 404);
        assert_eq!(fixture.post(&session, &initialize(revision)).await.status, 404);
        assert_eq!(fixture.ask("DELETE").header("Mcp-Session-Id", &id).send().await.status, 404);
    }
    assert_eq!(fixture.ask("DELETE").send().await.status, 405);
}

#[tokio::test]
async fn initialize_is_legacy_whatever_its_headers_and_a_failed_one_opens_nothing() {
    let fixture = Fixture::new().await;
    for version in ["2026-07-28", "2025-06-18", "nonsense"] {
        let answer = fixture.post(&[("MCP-Protocol-Version", version)], &initialize("2025-11-25")).await;
        assert_eq!(answer.json()["result"]["protocolVersion"], "2025-11-25", "{version}");
    }
    let answer = fixture.post(&[], &request("initialize", json!({"protocolVersion": "2025-11-25"}))).await;
    assert_eq!(answer.error(), (200, -32602));
    assert!(answer.header("mcp-session-id").is_none());
}

#[tokio::test]
async fn both_eras_share_the_endpoint_and_even_the_session_header() {
    let fixture = Fixture::new().await;
    let id = fixture.session("2025-06-18").await;
    let modern =
        fixture.modern("tools/call", call("echo", json!({"text": "a"}))).header("Mcp-Session-Id", &id).send().await;
    assert_eq!(modern.json()["result"]["resultType"], "complete");
    let legacy =
        fixture.post(&[("Mcp-Session-Id", &id)], &request("tools/call", call("echo", json!({"text": "a"})))).await;
    assert!(legacy.json()["result"].get("resultType").is_none());
}

/// HTTP-16, HTTP-20
#[tokio::test]
async fn http_21_progress_of_a_legacy_call_streams_and_keeps_the_connection_usable() {
    let fixture = Fixture::new().await;
    let id = fixture.session("2025-11-25").await;
    let ask =
        || fixture.ask("POST").json(&request("tools/call", call_with_progress("count"))).header("Mcp-Session-Id", &id);
    assert_eq!(ask().send().await.events().len(), 4);
    let mut stream = ask().start().await;
    stream.until("counted").await;
    stream.until("0\r\n\r\n").await;
    stream.received.clear();
    let body = request("ping", json!({})).to_string();
    let again = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Session-Id: {id}\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.socket.write_all(again.as_bytes()).await.unwrap();
    assert_eq!(stream.finish().await.json()["result"], json!({}));
}

#[tokio::test]
async fn http_17_http_18_the_stream_of_a_call_carries_nothing_of_others() {
    let fixture = Fixture::new().await;
    let gate = Gate::add(&fixture.server);
    let id = fixture.session("2025-11-25").await;
    let legacy =
        |call: &Value| fixture.ask("POST").json(call).header("Mcp-Session-Id", &id).header("Connection", "close");
    let modern = |id: i64| {
        let mut params = Gate::call(id, false, true)["params"].take();
        params["_meta"]["io.modelcontextprotocol/logLevel"] = "debug".into();
        fixture.modern("tools/call", params).header("Connection", "close")
    };
    let mut streams = [
        legacy(&Gate::call(1, false, true)).start().await,
        legacy(&Gate::call(2, false, true)).start().await,
        modern(3).start().await,
        modern(4).start().await,
    ];
    for stream in &mut streams {
        stream.until("\"progress\":1").await;
    }
    // There is no stream for messages without a request: they must not be sent elsewhere.
    let late = Tool::new("late", "Comes later.", || async { "x".to_owned() });
    fixture.server.add_tool(late).unwrap();
    sleep(Duration::from_millis(50)).await;
    gate.open(4);
    for (token, stream) in (1..).zip(streams) {
        let events = stream.finish().await.events();
        let (answer, told) = events.split_last().unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], "let through", "{answer}");
        assert_eq!(told.len(), 2, "{told:?}");
        for progress in told {
            assert_eq!(
                (&progress["method"], &progress["params"]["progressToken"]),
                (&json!("notifications/progress"), &json!(token))
            );
        }
    }
}

#[tokio::test]
async fn http_22_a_legacy_client_that_goes_away_does_not_cancel() {
    let fixture = Fixture::new().await;
    let id = fixture.session("2025-11-25").await;
    let wait = request("tools/call", call("wait", json!({"milliseconds": 300})));
    let stream = fixture.ask("POST").json(&wait).header("Mcp-Session-Id", &id).start().await;
    fixture.until_begun(1).await;
    drop(stream);
    eventually("the call did not go on", || fixture.ends.finished.load(Ordering::SeqCst) == 1).await;
    assert_eq!(fixture.ends.dropped.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn http_23_an_explicit_cancellation_ends_the_call_and_its_exchange() {
    let fixture = Fixture::new().await;
    let id = fixture.session("2025-11-25").await;
    let wait = request("tools/call", call("wait", json!({"milliseconds": 60_000})));
    let stream =
        fixture.ask("POST").json(&wait).header("Mcp-Session-Id", &id).header("Connection", "close").start().await;
    fixture.until_begun(1).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(fixture.post(&[("Mcp-Session-Id", &id)], &cancel).await.status, 202);
    let answer = stream.finish().await;
    assert_eq!((answer.status, &answer.body[..]), (200, ""));
    eventually("the call was not cancelled", || fixture.ends.dropped.load(Ordering::SeqCst) == 1).await;
}

/// HTTP-01
#[tokio::test]
async fn http_32_and_33_the_get_stream_carries_what_belongs_to_no_request() {
    let fixture = Fixture::new().await;
    let id = fixture.session("2025-11-25").await;
    let get = || fixture.ask("GET").header("Mcp-Session-Id", &id).header("Accept", "text/event-stream");
    let mut first = get().start().await;
    first.until("text/event-stream").await;
    let tool = |name: &str| Tool::new(name, "Comes later.", || async { "x".to_owned() });
    fixture.server.add_tool(tool("late")).unwrap();
    first.until("notifications/tools/list_changed").await;
    // A newer stream takes over (HTTP-35: a message is sent on exactly one).
    let mut second = get().start().await;
    second.until("text/event-stream").await;
    first.until("0\r\n\r\n").await;
    fixture.server.add_tool(tool("later")).unwrap();
    second.until("notifications/tools/list_changed").await;
    assert_eq!(fixture.ask("DELETE").header("Mcp-Session-Id", &id).send().await.status, 204);
    second.until("0\r\n\r\n").await;

    assert_eq!(get().send().await.status, 404);
    assert_eq!(fixture.ask("GET").header("Accept", "text/event-stream").send().await.status, 405);
    let id = fixture.session("2025-11-25").await;
    let wrong = fixture.ask("GET").header("Mcp-Session-Id", &id).header("Accept", "application/json");
    assert_eq!(wrong.send().await.status, 406);
}

#[tokio::test]
async fn http_34_answers_go_to_their_post_and_not_to_the_get_stream() {
    let fixture = Fixture::new().await;
    let id = fixture.session("2025-11-25").await;
    let get = fixture.ask("GET").header("Mcp-Session-Id", &id).header("Accept", "text/event-stream");
    let mut stream = get.header("Connection", "close").start().await;
    stream.until("data: \n\n").await;
    let count = fixture.ask("POST").json(&request("tools/call", call_with_progress("count")));
    assert_eq!(count.header("Mcp-Session-Id", &id).send().await.events().len(), 4);
    let start = Instant::now();
    fixture.listener.close(TEST_TIMEOUT).await;
    assert!(start.elapsed() < TEST_TIMEOUT / 2, "an open stream must not hold up the end");
    assert!(stream.finish().await.events().is_empty());
}

#[tokio::test]
async fn http_53_get_and_delete_name_only_versions_that_a_session_can_have() {
    let fixture = Fixture::new().await;
    let id = fixture.session("2025-11-25").await;
    for method in ["GET", "DELETE"] {
        for version in ["2026-07-28", "2099-01-01", "nonsense"] {
            let ask = fixture.ask(method).header("Mcp-Session-Id", &id).header("Accept", "text/event-stream");
            let answer = ask.header("MCP-Protocol-Version", version).send().await;
            assert_eq!(answer.error(), (400, -32600), "{method} {version}");
            let supported = answer.json()["error"]["data"]["supported"].clone();
            assert_eq!(supported, json!(["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]));
        }
    }
    assert_eq!(fixture.post(&[("Mcp-Session-Id", &id)], &request("ping", json!({}))).await.status, 200);
}

/// HTTP-52, H26-14: without the header it is 2025-03-26, the only revision with batches.
#[tokio::test]
async fn batches_are_answered_where_2025_03_26_governs() {
    let fixture = Fixture::new().await;
    let batch = |second: Value| {
        let mut first = request("tools/call", call("echo", json!({"text": "a"})));
        first["id"] = 1.into();
        json!([first, second, notification("notifications/initialized")])
    };
    let ping = request("ping", json!({}));
    let old = fixture.session("2025-03-26").await;
    let answer = fixture.post(&[("Mcp-Session-Id", &old)], &batch(ping.clone())).await;
    let mut ids: Vec<_> = answer.json().as_array().unwrap().iter().map(|it| it["id"].as_i64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!((answer.status, ids), (200, vec![1, 7]));
    let only = json!([notification("notifications/initialized")]);
    assert_eq!(fixture.post(&[("Mcp-Session-Id", &old)], &only).await.status, 202);

    let new = fixture.session("2025-06-18").await;
    assert_eq!(fixture.post(&[("Mcp-Session-Id", &new)], &batch(ping.clone())).await.error(), (400, -32600));
    let session = [("Mcp-Session-Id", old.as_str())];
    for misplaced in [initialize("2025-03-26"), modern_request("tools/list", json!({}))] {
        assert_eq!(fixture.post(&session, &batch(misplaced)).await.error(), (400, -32600));
    }
    assert_eq!(fixture.post(&session, &json!([])).await.error(), (400, -32600));

    let stateless = Fixture::with(HttpOptions::default().with_stateless(true), ServerOptions::default()).await;
    assert_eq!(stateless.post(&[], &batch(ping.clone())).await.json().as_array().unwrap().len(), 2);
    let header = [("MCP-Protocol-Version", "2025-06-18")];
    assert_eq!(stateless.post(&header, &batch(ping)).await.error(), (400, -32600));
}

/// Nothing that is declared depends on a session that is not there (LOG-01, RES-01).
#[tokio::test]
async fn res_04_stateless_servers_declare_what_they_can_do() {
    let options = HttpOptions::default().with_stateless(true);
    let fixture = Fixture::with(options, ServerOptions::default()).await;
    fixture.server.add_resource(Resource::new("a:b", "b", || async { "text" })).unwrap();
    fixture
        .server
        .add_tool(Tool::new("talks", "Logs.", |ctx: Context| async move {
            ctx.log(LoggingLevel::Error, "told to nobody");
            "talked"
        }))
        .unwrap();
    let opened = fixture.post(&[], &initialize("2025-11-25")).await.json();
    assert_eq!(opened["result"]["capabilities"], json!({"tools": {}, "resources": {}}));
    for (method, params) in [
        ("resources/subscribe", json!({"uri": "a:b"})),
        ("resources/unsubscribe", json!({"uri": "a:b"})),
        ("logging/setLevel", json!({"level": "error"})),
    ] {
        assert_eq!(fixture.post(&[], &request(method, params)).await.error(), (200, -32601), "{method}");
    }
    let talked = fixture.post(&[], &request("tools/call", call("talks", json!({})))).await;
    assert_eq!(talked.json()["result"]["content"][0]["text"], "talked", "alone, as JSON");
    // The modern era has a means: subscription streams, and log levels of requests.
    let modern = fixture.modern("server/discover", json!({})).send().await.json();
    let declared = &modern["result"]["capabilities"];
    assert_eq!(declared["resources"], json!({"subscribe": true, "listChanged": true}));
    assert!(declared["logging"].is_object());
}

/// HTTP-50
#[tokio::test]
async fn http_52_stateless_servers_take_the_revision_from_the_header() {
    let fixture = Fixture::with(HttpOptions::default().with_stateless(true), ServerOptions::default()).await;
    let answer = fixture.post(&[], &initialize("2025-11-25")).await;
    assert_eq!(answer.json()["result"]["protocolVersion"], "2025-11-25");
    assert!(answer.header("mcp-session-id").is_none());
    assert_eq!(fixture.post(&[], &notification("notifications/initialized")).await.status, 202);
    for headers in [vec![], vec![("MCP-Protocol-Version", "2025-06-18")], vec![("Mcp-Session-Id", "ignored")]] {
        let answer = fixture.post(&headers, &request("tools/call", call("echo", json!({"text": "x"})))).await;
        assert_eq!(answer.json()["result"]["content"][0]["text"], "x");
    }
    assert_eq!(fixture.post(&[("MCP-Protocol-Version", "1.0")], &request("ping", json!({}))).await.status, 400);
    for method in ["GET", "DELETE"] {
        let answer = fixture.ask(method).header("Mcp-Session-Id", "x").header("Accept", "*/*").send().await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("POST, OPTIONS")));
    }
}

#[tokio::test]
async fn an_idle_timeout_that_is_never_reached_is_none() {
    let options = HttpOptions::default().with_idle_timeout(Duration::MAX);
    let fixture = Fixture::with(options, ServerOptions::default()).await;
    assert_eq!(fixture.modern("tools/list", json!({})).send().await.status, 200);
}

#[tokio::test]
async fn sessions_are_bounded_and_expire_when_idle() {
    // Longer than opening three of them takes on a busy machine.
    let options = ServerOptions::default().with_max_sessions(2).with_session_idle(Duration::from_secs(2));
    let fixture = Fixture::with(HttpOptions::default(), options).await;
    let stream_of = async |session: &str| {
        let get = fixture.ask("GET").header("Mcp-Session-Id", session).header("Accept", "text/event-stream");
        let mut stream = get.start().await;
        stream.until("text/event-stream").await;
        stream
    };
    let (idle, busy) = (fixture.session("2025-11-25").await, fixture.session("2025-11-25").await);
    let _busy_stream = stream_of(&busy).await;
    let ping = request("ping", json!({}));
    let third = fixture.session("2025-11-25").await;
    assert_eq!(fixture.post(&[("Mcp-Session-Id", &idle)], &ping).await.status, 404, "the idlest gives way");
    let third_stream = stream_of(&third).await;
    let refused = fixture.post(&[], &initialize("2025-11-25")).await;
    assert_eq!(refused.error(), (503, -32603), "all are busy");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(refused.json()["error"]["data"]["reason"], "busy");
    drop(third_stream);
    sleep(Duration::from_secs(3)).await;
    assert_eq!(fixture.post(&[("Mcp-Session-Id", &third)], &ping).await.status, 404, "it was idle for too long");
    assert_eq!(fixture.post(&[("Mcp-Session-Id", &busy)], &ping).await.status, 200);
    fixture.session("2025-11-25").await;
}

// ---- HTTP itself ----

#[tokio::test]
async fn http_03_http_04_sec_22_foreign_hosts_and_origins_are_refused() {
    let fixture = Fixture::new().await;
    for ask in [fixture.modern("tools/list", json!({})), fixture.ask("POST").json(&initialize("2025-11-25"))] {
        let answer = ask.header("Host", "evil.example").header("Origin", "http://evil.example").send().await;
        assert_eq!(answer.status, 403);
        assert!(answer.json().get("id").is_none() && answer.body.contains("allowed hosts"));
    }
    let answer = fixture.modern("tools/list", json!({})).header("Origin", "http://evil.example").send().await;
    assert!(answer.status == 403 && answer.header("access-control-allow-origin").is_none());
    let answer = fixture.modern("tools/list", json!({})).header("Origin", "http://localhost:3000").send().await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some("http://localhost:3000")));
    let preflight = fixture.ask("OPTIONS").header("Origin", "http://localhost:3000");
    let answer = preflight.header("Access-Control-Request-Headers", "mcp-method").send().await;
    assert_eq!((answer.status, answer.header("access-control-allow-headers")), (204, Some("mcp-method")));

    let options = HttpOptions::default().with_allowed_hosts(vec!["mcp.example".into()]);
    let fixture = Fixture::with(options, ServerOptions::default()).await;
    assert_eq!(fixture.modern("tools/list", json!({})).header("Host", "mcp.example:80").send().await.status, 200);
}

#[tokio::test]
async fn a_subscription_needs_a_client_that_takes_a_stream() {
    let fixture = Fixture::new().await;
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let answer = fixture.modern("subscriptions/listen", filter).header("Accept", "application/json").send().await;
    assert_eq!(answer.status, 406);
    assert_eq!(answer.error().1, -32600);
}

#[tokio::test]
async fn what_is_no_message_gets_its_status() {
    let limits = trunkline::Limits::default().with_max_message_bytes(1000);
    let fixture = Fixture::with(HttpOptions::default(), ServerOptions::default().with_limits(limits)).await;
    let post = || fixture.ask("POST").json(&json!({}));
    for (ask, status) in [
        (post().path("/other"), 404),
        (fixture.ask("PUT"), 405),
        (post().header("Content-Type", "text/plain"), 415),
        (post().header("Content-Type", ""), 415),
        (post().header("Content-Encoding", "gzip"), 415),
        (post().header("Content-Encoding", "identity"), 400),
        (post().header("Accept", "text/html"), 406),
        (post().text(&" ".repeat(1001)), 413),
        (post().text("{"), 400),
        (post().text(""), 400),
        (post(), 400),
        (post().text("5"), 400),
    ] {
        let answer = ask.send().await;
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(answer.json()["error"]["message"].as_str().is_some_and(|text| !text.is_empty()));
    }
    assert_eq!(post().text("{").send().await.error().1, -32700);
    assert_eq!(fixture.ask("PUT").send().await.header("allow"), Some("GET, POST, DELETE, OPTIONS"));
    assert_eq!(fixture.modern("tools/list", json!({})).path("/mcp/").send().await.status, 200);
    // Without a length, the limit applies as well.
    let mut socket = TcpStream::connect(fixture.address).await.unwrap();
    let head =
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    socket.write_all(head.as_bytes()).await.unwrap();
    for _ in 0..3 {
        socket.write_all(format!("190\r\n{}\r\n", " ".repeat(0x190)).as_bytes()).await.unwrap();
    }
    Stream { socket, received: Vec::new() }.until("413 Payload Too Large").await;
}

#[tokio::test]
async fn http_08_responses_have_a_content_type_that_the_client_accepts() {
    let fixture = Fixture::new().await;
    let count = || fixture.modern("tools/call", call_with_progress("count"));
    let plain = || fixture.modern("tools/call", call("echo", json!({"text": "x"})));
    assert_eq!(
        count().header("Accept", "application/json").send().await.json()["result"]["content"][0]["text"],
        "counted"
    );
    assert_eq!(plain().header("Accept", "").send().await.json()["id"], 7);
    assert_eq!(plain().header("Accept", "*/*").send().await.json()["id"], 7);
    let events = plain().header("Accept", "text/event-stream").send().await.events();
    assert_eq!((events.len(), &events[0]["id"]), (1, &json!(7)));
    let json = Fixture::with(HttpOptions::default().with_json(true), ServerOptions::default()).await;
    assert_eq!(json.modern("tools/call", call_with_progress("count")).send().await.json()["id"], 7);
}

#[tokio::test]
async fn h26_16_a_quiet_call_becomes_a_stream_with_keep_alives() {
    let options = ServerOptions::default().with_keep_alive(Duration::from_millis(50));
    let fixture = Fixture::with(HttpOptions::default(), options).await;
    let gate = Gate::add(&fixture.server);
    let ask = fixture.modern("tools/call", call("gate", json!({})));
    let mut stream = ask.header("Connection", "close").start().await;
    stream.until_times(": keep-alive\n\n", 2).await;
    gate.open(1);
    assert_eq!(stream.finish().await.events()[0]["result"]["content"][0]["text"], "let through");

    // Zero is never, and not all the time.
    let options = ServerOptions::default().with_keep_alive(Duration::ZERO);
    let fixture = Fixture::with(HttpOptions::default(), options).await;
    let answer = fixture.modern("tools/call", call("wait", json!({"milliseconds": 300}))).send().await;
    assert_eq!(answer.json()["result"]["content"][0]["text"], "waited");
}

#[tokio::test]
async fn a_connection_that_misbehaves_costs_only_itself() {
    let fixture = Fixture::new().await;
    let address = fixture.address;
    let mut silent = TcpStream::connect(address).await.unwrap();
    silent.write_all(b"POST /mcp HTTP/1.1\r\nHo").await.unwrap();
    let mut half = TcpStream::connect(address).await.unwrap();
    half.write_all(
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    )
    .await
    .unwrap();
    let mut garbage = TcpStream::connect(address).await.unwrap();
    garbage.write_all(b"\x16\x03\x01\x02nonsense\r\n\r\n").await.unwrap();
    assert_eq!(fixture.modern("tools/list", json!({})).send().await.status, 200);
    let (a, b) = tokio::join!(
        fixture.modern("tools/call", call("wait", json!({"milliseconds": 50}))).send(),
        fixture.modern("tools/call", call("echo", json!({"text": "x"}))).send(),
    );
    assert_eq!((a.status, b.status), (200, 200));
}

#[tokio::test]
async fn close_lets_calls_finish_until_the_deadline_and_then_fails_them() {
    let fixture = Fixture::new().await;
    let id = fixture.session("2025-11-25").await;
    let idle = TcpStream::connect(fixture.address).await.unwrap();
    let wait = |milliseconds| request("tools/call", call("wait", json!({"milliseconds": milliseconds})));
    let stream = fixture.ask("POST").json(&wait(300)).header("Mcp-Session-Id", &id).start().await;
    fixture.until_begun(1).await;
    let start = Instant::now();
    fixture.listener.close(TEST_TIMEOUT).await;
    assert!(start.elapsed() < TEST_TIMEOUT / 2);
    assert_eq!(stream.finish().await.json()["result"]["content"][0]["text"], "waited");
    assert!(TcpStream::connect(fixture.address).await.is_err());
    fixture.listener.close(TEST_TIMEOUT).await;
    drop(idle);

    let fixture = Fixture::new().await;
    let id = fixture.session("2025-11-25").await;
    let streams = [
        fixture.modern("tools/call", call("wait", json!({"milliseconds": 60_000}))).start().await,
        fixture.ask("POST").json(&wait(60_000)).header("Mcp-Session-Id", &id).start().await,
    ];
    fixture.until_begun(2).await;
    let start = Instant::now();
    fixture.listener.close(Duration::from_millis(200)).await;
    assert!(start.elapsed() < TEST_TIMEOUT / 2);
    eventually("the calls were not cancelled", || fixture.ends.dropped.load(Ordering::SeqCst) == 2).await;
    for stream in streams {
        let error = &stream.finish().await.json()["error"];
        assert_eq!((&error["code"], &error["data"]["reason"]), (&json!(-32603), &json!("interrupted")));
    }
}

/// Otherwise closing would wait for its stream until the deadline.
#[tokio::test]
async fn sub_06_a_stream_whose_request_arrives_during_closing_ends_at_once() {
    let fixture = Fixture::new().await;
    let body = modern_request("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}})).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: subscriptions/listen\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let (first, rest) = body.split_at(10);
    let mut socket = TcpStream::connect(fixture.address).await.unwrap();
    socket.write_all((head + first).as_bytes()).await.unwrap();
    // A later connection is served after the server has begun to read the first one.
    assert_eq!(fixture.modern("tools/list", json!({})).send().await.status, 200);
    let late = async {
        sleep(Duration::from_millis(100)).await;
        socket.write_all(rest.as_bytes()).await.unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.unwrap();
        answer
    };
    let both = async { tokio::join!(late, fixture.listener.close(2 * TEST_TIMEOUT)) };
    let (answer, ()) = timeout(TEST_TIMEOUT, both).await.unwrap();
    assert!(answer.contains("subscriptions/acknowledged") && answer.contains(r#""result":{"#), "{answer}");
}

#[tokio::test]
async fn dropping_a_waiter_does_not_stop_closing() {
    let fixture = Fixture::new().await;
    let gate = Gate::add(&fixture.server);
    let id = fixture.session("2025-11-25").await;
    let body = Gate::call(5, false, true);
    let ask = fixture.ask("POST").json(&body).header("Mcp-Session-Id", &id).header("Connection", "close");
    let mut stream = ask.start().await;
    stream.until("notifications/progress").await;
    // Two callers: one stops waiting immediately, the other waits for the same end.
    assert!(timeout(Duration::from_millis(10), fixture.listener.close(TEST_TIMEOUT)).await.is_err());
    let closing = fixture.listener.close(TEST_TIMEOUT);
    let opening = async {
        sleep(Duration::from_millis(50)).await;
        gate.open(1);
        Instant::now()
    };
    let (ended, opened) = tokio::join!(async { (closing.await, Instant::now()).1 }, opening);
    assert!(ended >= opened, "it waits for the call");
    assert_eq!(stream.finish().await.events().pop().unwrap()["result"]["content"][0]["text"], "let through");
    eventually("the socket is still there", || std::net::TcpStream::connect(fixture.address).is_err()).await;
}

#[tokio::test]
async fn http_05_a_server_listens_on_loopback_unless_an_address_is_given() {
    let options = HttpOptions::default();
    assert_eq!(options.host, "127.0.0.1");
    let (server, _) = server(ServerOptions::default());
    let listener = server.listen_with(options.with_port(0)).await.unwrap();
    let url = listener.url().unwrap();
    let address: std::net::SocketAddr = url.trim_start_matches("http://").trim_end_matches("/mcp").parse().unwrap();
    assert!(address.ip().is_loopback(), "{address}");
    // No other address of this machine answers. A socket without a peer has the one that leads
    // outside; nothing is sent.
    let outside = std::net::UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect("192.0.2.1:9")?;
        socket.local_addr()
    });
    if let Some(outside) = outside.ok().map(|outside| outside.ip()).filter(|ip| !ip.is_loopback()) {
        let refused =
            std::net::TcpStream::connect_timeout(&(outside, address.port()).into(), TEST_TIMEOUT).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    }
}

#[tokio::test]
async fn an_address_that_cannot_be_had_is_named() {
    let fixture = Fixture::new().await;
    let options = HttpOptions::default().with_port(fixture.address.port());
    let error = fixture.server.listen_with(options.clone()).await.err().unwrap();
    assert!(error.to_string().contains(&format!("127.0.0.1:{}", options.port)), "{error}");
    assert!(fixture.listener.url().unwrap().ends_with("/mcp"));
}

#[tokio::test]
async fn the_service_mounts_anywhere_and_needs_no_listener() {
    use http_body_util::{BodyExt, Full};
    use tower_service::Service;

    let (server, _) = server(ServerOptions::default());
    let mut service = server.into_service();
    let request = |path: &str, host: &str| {
        http::Request::post(path)
            .header("Host", host)
            .header("Content-Type", "application/json")
            .body(Full::new(bytes::Bytes::from(initialize("2025-11-25").to_string())))
            .unwrap()
    };
    let response = service.call(request("/anywhere/else", "localhost")).await.unwrap();
    assert!(response.status() == 200 && response.headers().contains_key("mcp-session-id"));
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(service.call(request("/", "evil.example")).await.unwrap().status(), 403);

    // A service that closes sends its clients to other processes.
    service.close(Duration::ZERO).await;
    let refused = service.call(request("/", "localhost")).await.unwrap();
    assert_eq!((refused.status().as_u16(), &refused.headers()["connection"]), (503, &"close".parse().unwrap()));
    let mut over_http_2 = request("/", "localhost");
    *over_http_2.version_mut() = http::Version::HTTP_2;
    assert!(!service.call(over_http_2).await.unwrap().headers().contains_key("connection"));
}
