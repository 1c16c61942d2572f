//! Requests in flight: time, progress, cancellation, and the end of the connection.

use super::*;
use trunkline::{
    RevisionChoice,
    client::{ErrorKind, RequestOptions},
};

/// A server that connects immediately and then sends nothing unsolicited.
fn silent() -> Arc<Fake> {
    Fake::process(|peer, message| {
        if message["method"] == "initialize" {
            peer.accept(message, message["params"]["protocolVersion"].as_str().unwrap());
        }
    })
}

fn pinned(revision: Revision) -> ClientOptions {
    ClientOptions::default().with_revision(RevisionChoice::Pinned(revision))
}

fn request(client: &Client, options: RequestOptions) -> JoinHandle<Result<RawJson, ClientError>> {
    let client = client.clone();
    tokio::spawn(async move { client.request("tools/list", None, &options).await })
}

fn within(timeout: u64, max: u64) -> RequestOptions {
    RequestOptions::default().with_timeout(ms(timeout)).with_max_timeout(ms(max))
}

#[tokio::test]
async fn life_13_and_can_14_a_request_that_times_out_is_cancelled_and_its_late_answer_ignored() {
    for revision in Revision::ALL {
        let fake = silent();
        let client = fake.connect(pinned(revision)).await;
        let answer = request(&client, within(1_000, 9_000));
        settle().await;
        let asked = fake.last();
        fake.clock.advance(ms(999)).await;
        assert!(!answer.is_finished());
        fake.clock.advance(ms(1)).await;
        let text = "The server did not answer tools/list within 1s; the request was cancelled";
        assert_eq!(answer.await.unwrap().unwrap_err(), ClientError::Timeout(text.into()));
        let told = fake.last();
        assert_eq!(told["method"], "notifications/cancelled");
        assert_eq!(told["params"]["requestId"], asked["id"], "CAN-01");
        fake.peer().result(&asked, json!({"tools": []}));
        settle().await;

        let answer = request(&client, within(1_000, 9_000));
        settle().await;
        assert_ne!(fake.last()["id"], asked["id"], "RPC-05");
        fake.peer().result(&fake.last(), json!({"tools": []}));
        answer.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn life_15_progress_restarts_the_timeout_and_life_16_the_maximum_applies() {
    let fake = silent();
    let client = fake.connect(pinned(Revision::V2025_06_18)).await;
    let heard: Arc<Mutex<Vec<Value>>> = Arc::default();
    let noted = Arc::clone(&heard);
    let on_progress = Some(Arc::new(move |params: &RawJson| noted.lock().unwrap().push(params.parse().unwrap())) as _);
    let answer = request(&client, within(1_000, 3_000).with_on_progress(on_progress));
    settle().await;
    let token = fake.last()["params"]["_meta"]["progressToken"].clone();
    for step in 1..=5 {
        fake.clock.advance(ms(500)).await;
        let progress = |token: &Value| json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": step}});
        fake.peer().say(progress(&token));
        fake.peer().say(progress(&json!("of nobody")));
    }
    assert!(!answer.is_finished(), "2.5 s of 1 s without progress");
    assert_eq!(heard.lock().unwrap().len(), 5);
    fake.clock.advance(ms(499)).await;
    assert!(!answer.is_finished());
    fake.clock.advance(ms(1)).await;
    let error = answer.await.unwrap().unwrap_err();
    assert!(matches!(&error, ClientError::Timeout(text) if text.contains("within 3s")), "3 s are the most: {error}");
    fake.peer().say(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 9}}));
    settle().await;
    assert_eq!(heard.lock().unwrap().len(), 5, "nothing after the end");
}

#[tokio::test]
async fn timeouts_of_many_requests_fire_in_their_own_order() {
    let fake = silent();
    let client = fake.connect(pinned(Revision::V2026_07_28)).await;
    let answers: Vec<_> = [3_000, 1_000, 2_000].map(|timeout| request(&client, within(timeout, 9_000))).into();
    settle().await;
    for second in 1..=3 {
        fake.clock.advance(ms(1_000)).await;
        assert_eq!(answers.iter().filter(|answer| answer.is_finished()).count(), second);
    }
}

#[tokio::test]
async fn a_wait_without_end_is_possible() {
    let fake = silent();
    let forever = Duration::MAX;
    let options =
        pinned(Revision::V2025_06_18).with_timeout(forever).with_max_timeout(forever).with_connect_timeout(forever);
    let client = fake.connect(options).await;
    let answer = request(&client, RequestOptions::default().with_timeout(forever));
    fake.clock.advance(Duration::from_secs(3600)).await;
    fake.peer().result(&fake.last(), json!({"tools": []}));
    answer.await.unwrap().unwrap();
}

#[tokio::test]
async fn can_05_a_request_whose_future_is_dropped_is_cancelled() {
    let fake = silent();
    let client = fake.connect(pinned(Revision::V2025_06_18)).await;
    let answer = request(&client, RequestOptions::default());
    settle().await;
    let asked = fake.last();
    answer.abort();
    settle().await;
    assert_eq!(fake.last()["params"]["requestId"], asked["id"]);
    // CAN-07, CAN-08: the response was already in transit.
    fake.peer().result(&asked, json!({"tools": []}));
    settle().await;
    let count = fake.seen().len();
    drop(client);
    settle().await;
    assert_eq!(fake.seen().len(), count);
}

#[tokio::test]
async fn requests_in_flight_fail_when_the_connection_breaks_and_later_ones_are_refused() {
    let (fake, heard) = (silent(), Heard::default());
    let options = pinned(Revision::V2025_06_18).with_reconnect(false);
    let client = fake.open_with(options, heard.clone()).await.unwrap().unwrap();
    let answers: Vec<_> = (0..10).map(|_| request(&client, RequestOptions::default())).collect();
    settle().await;
    fake.peer().exit();
    fake.peer().exit();
    for answer in answers {
        let error = answer.await.unwrap().unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ErrorKind::Transport, "the server process exited with status 3")
        );
    }
    let later = request(&client, RequestOptions::default()).await.unwrap().unwrap_err();
    assert_eq!(later.to_string(), "the server process exited with status 3");
    client.close().await;
    assert_eq!(heard.all(), ["closed: the server process exited with status 3"], "told once");
}

#[tokio::test]
async fn requests_in_flight_end_when_the_client_closes() {
    let (fake, heard) = (silent(), Heard::default());
    let client = fake.open_with(pinned(Revision::V2026_07_28), heard.clone()).await.unwrap().unwrap();
    let answer = request(&client, RequestOptions::default());
    settle().await;
    client.close().await;
    client.close().await;
    assert_eq!(answer.await.unwrap().unwrap_err(), ClientError::Closed);
    assert_eq!(client.notify("notifications/cancelled", None).unwrap_err(), ClientError::Closed);
    assert_eq!(heard.all(), ["closed: "]);
}

#[tokio::test]
async fn requests_in_flight_are_bounded() {
    let fake = silent();
    let client = fake.connect(pinned(Revision::V2025_06_18).with_max_in_flight(3)).await;
    let answers: Vec<_> = (0..5).map(|_| request(&client, within(1_000, 1_000))).collect();
    fake.clock.advance(ms(1_000)).await;
    let mut kinds = Vec::new();
    for answer in answers {
        kinds.push(answer.await.unwrap().unwrap_err().kind());
    }
    assert_eq!(kinds, [ErrorKind::Timeout, ErrorKind::Timeout, ErrorKind::Timeout, ErrorKind::Busy, ErrorKind::Busy]);
    let answer = request(&client, RequestOptions::default());
    settle().await;
    fake.peer().result(&fake.last(), json!({}));
    answer.await.unwrap().unwrap();
}

#[tokio::test]
async fn h26_32_on_a_pipe_tools_with_any_annotation_are_listed() {
    let property = json!({"type": "number", "x-mcp-header": "no name"});
    let tools = json!([{"name": "odd", "inputSchema": {"type": "object", "properties": {"a": property}}}]);
    let fake = Fake::process(move |peer, message| {
        peer.result(message, json!({"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}));
    });
    let client = fake.connect(pinned(Revision::LATEST)).await;
    assert_eq!(client.list_tools().await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_a_server_asks_and_tells() {
    for revision in [Revision::V2025_06_18, Revision::V2026_07_28] {
        let (fake, heard) = (silent(), Heard::default());
        let client = fake.open_with(pinned(revision), heard.clone()).await.unwrap().unwrap();
        settle().await;
        let before = fake.seen().len();
        let peer = fake.peer();
        for text in ["nonsense", "{}", "[]", "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", "\u{0}"] {
            peer.inbox.message(text.into());
        }
        peer.say(json!({"jsonrpc": "2.0", "id": 999, "result": {}}));
        peer.say(json!({"jsonrpc": "2.0", "error": {"code": -32700, "message": "x"}}));
        peer.say(json!({"jsonrpc": "2.0", "id": "p", "method": "ping"}));
        peer.say(json!({"jsonrpc": "2.0", "id": "s", "method": "sampling/createMessage", "params": {}}));
        peer.say(json!([{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}]));
        settle().await;
        let answers: Vec<_> = fake.seen.lock().unwrap()[before..].iter().map(|(_, answer)| answer.clone()).collect();
        match revision {
            Revision::V2026_07_28 => assert_eq!(answers, [] as [Value; 0], "RPC-32, STD-07: its servers may not ask"),
            _ => {
                assert_eq!(answers[0], json!({"jsonrpc": "2.0", "id": "p", "result": {}}), "PING-01");
                assert_eq!((&answers[1]["id"], &answers[1]["error"]["code"]), (&json!("s"), &json!(-32601)));
                assert_eq!(answers.len(), 2);
            }
        }
        assert_eq!(heard.all(), ["notifications/tools/list_changed"]);
        let answer = request(&client, RequestOptions::default());
        settle().await;
        peer.result(&fake.last(), json!({}));
        answer.await.unwrap().unwrap();
    }
}

/// RPC-29: callers are notified immediately, not at their timeout.
#[tokio::test]
async fn answers_that_are_no_responses_end_their_requests_with_the_reason() {
    let fake = silent();
    let client = fake.connect(pinned(Revision::V2025_06_18)).await;
    let deep = format!(r#","result":{{"a":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    for (rest, problem) in [
        (r#","result":{},"error":{"code":1,"message":"x"}"#, "either"),
        (r#","error":{"code":1}"#, "a message"),
        (r#","error":{"code":-32000.0,"message":"x"}"#, "integer"),
        (r#","result":{"#, "Parse error"),
        (&deep, "levels"),
    ] {
        for batch in [false, true] {
            let answer = request(&client, RequestOptions::default());
            settle().await;
            let text = format!(r#"{{"jsonrpc":"2.0","id":{}{rest}}}"#, fake.last()["id"]);
            let batch = batch && !["Parse error", "levels"].contains(&problem);
            fake.peer().inbox.message(if batch { format!("[5,{text}]") } else { text }.into());
            let error = answer.await.unwrap().unwrap_err();
            assert!(
                matches!(&error, ClientError::InvalidResponse(text) if text.contains(problem)),
                "{rest}: {error:?}"
            );
        }
    }
    let answer = request(&client, RequestOptions::default());
    settle().await;
    fake.peer().say(json!({"jsonrpc": "2.0", "id": fake.last()["id"], "result": {"tools": []}, "error": null}));
    answer.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_exceeds_the_limits_is_not_sent() {
    let fake = silent();
    let client = fake.connect(pinned(Revision::V2025_06_18).with_max_message_bytes(10_000).with_max_nesting(20)).await;
    settle().await;
    let before = fake.seen().len();
    let deep: Value = serde_json::from_str(&format!("{}{}", "[".repeat(19), "]".repeat(19))).unwrap();
    for (params, problem) in [(json!({"a": "x".repeat(10_000)}), "10000 bytes"), (json!({"a": deep}), "20 levels")] {
        let params = RawJson::from_value(&params).unwrap();
        let error = client.request("tools/call", Some(&params), &RequestOptions::default()).await.unwrap_err();
        assert!(matches!(&error, ClientError::Invalid(text) if text.contains(problem)), "{error}");
        let error = client.notify("notifications/roots/list_changed", Some(&params)).unwrap_err();
        assert!(matches!(&error, ClientError::Invalid(text) if text.contains(problem)), "{error}");
    }
    settle().await;
    assert_eq!(fake.seen().len(), before);
    let answer = request(&client, RequestOptions::default());
    settle().await;
    fake.peer().result(&fake.last(), json!({}));
    answer.await.unwrap().unwrap();
}

/// CMP-06, TSK-01: what opens a conversation is also held against the schema of its revision, where
/// it arrives.
#[tokio::test]
async fn client_info_and_requests_have_the_form_of_the_revision() {
    let raw = |value: Value| RawJson::from_value(&value).unwrap();
    let info = json!({"name": "full", "version": "1", "title": "T", "description": "d", "websiteUrl": "https://a.example",
        "icons": [{"src": "https://a.example/i.png"}]});
    let capabilities = json!({"roots": {"listChanged": true}, "sampling": {"tools": {}, "context": {}},
        "elicitation": {"form": {}, "url": {}}, "tasks": {"list": {}, "cancel": {}}});
    for revision in Revision::ALL {
        let fake = silent();
        let options = pinned(revision)
            .with_info(serde_json::from_value(info.clone()).unwrap())
            .with_capabilities(serde_json::from_value(capabilities.clone()).unwrap());
        let client = fake.connect(options).await;
        let params = raw(json!({"ref": {"type": "ref/prompt", "name": "p", "title": "P"},
            "argument": {"name": "a", "value": ""}, "context": {"arguments": {"b": "c"}}}));
        let asking = client.clone();
        let asked = tokio::spawn(async move {
            asking.request("completion/complete", Some(&params), &RequestOptions::default()).await
        });
        settle().await;
        let sent = fake.last();
        assert_eq!(sent["method"], "completion/complete");
        assert_eq!(sent["params"].get("context").is_some(), revision >= Revision::V2025_06_18, "{revision}");
        fake.peer().result(&sent, json!({"completion": {"values": []}}));
        asked.await.unwrap().unwrap();
        let (who, can) = match revision {
            Revision::V2026_07_28 => {
                let meta = sent["params"]["_meta"].clone();
                let of = |key: &str| meta[format!("io.modelcontextprotocol/{key}")].clone();
                (of("clientInfo"), of("clientCapabilities"))
            }
            _ => {
                let opened = fake.seen.lock().unwrap()[0].1["params"].clone();
                (opened["clientInfo"].clone(), opened["capabilities"].clone())
            }
        };
        assert_eq!(who.get("title").is_some(), revision >= Revision::V2025_06_18, "{revision}");
        assert_eq!(who.get("icons").is_some(), revision >= Revision::V2025_11_25, "{revision}");
        assert_eq!(can.get("tasks").is_some(), revision == Revision::V2025_11_25, "{revision}");
        assert_eq!(can.get("elicitation").is_some(), revision >= Revision::V2025_06_18, "{revision}");
        assert_eq!(can["roots"].get("listChanged").is_some(), revision < Revision::V2026_07_28, "{revision}");
    }
}

#[tokio::test]
async fn wrong_arguments_are_found_before_anything_is_sent() {
    for revision in Revision::ALL {
        let fake = silent();
        let client = fake.connect(pinned(revision)).await;
        settle().await;
        let before = fake.seen().len();
        let array = RawJson::from_value(&json!([1])).unwrap();
        let listed = RawJson::from_value(&json!({"name": "sum", "arguments": [1]})).unwrap();
        for (method, params) in [
            ("tools/list", Some(&array)),
            ("notifications/progress", None),
            ("sampling/createMessage", None),
            ("tools/call", Some(&listed)),
            ("prompts/get", Some(&listed)),
        ] {
            let error = client.request(method, params, &RequestOptions::default()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{method}: {error}");
        }
        assert_eq!(
            client.notify("notifications/tools/list_changed", None).unwrap_err().kind(),
            ErrorKind::InvalidArgument
        );
        assert_eq!(
            client.notify("notifications/cancelled", Some(&array)).unwrap_err().kind(),
            ErrorKind::InvalidArgument
        );
        settle().await;
        assert_eq!(fake.seen().len(), before);
    }
}

#[tokio::test]
async fn rpc_21_and_rpc_29_answers_that_make_no_sense_are_no_errors_of_the_server() {
    let fake = silent();
    let client = fake.connect(pinned(Revision::V2026_07_28)).await;
    for result in [json!("text"), json!([]), json!({"resultType": "banana", "tools": []})] {
        let answer = request(&client, RequestOptions::default());
        settle().await;
        fake.peer().result(&fake.last(), result);
        let error = answer.await.unwrap().unwrap_err();
        assert!(matches!(error, ClientError::InvalidResponse(_)), "{error:?}");
        assert_eq!((error.kind(), error.rpc()), (ErrorKind::Transport, None), "{error}");
    }
    let listing = client.clone();
    let listed = tokio::spawn(async move { listing.list_tools_page(None).await });
    settle().await;
    fake.peer().result(&fake.last(), json!({"resultType": "complete", "tool": []}));
    let error = listed.await.unwrap().unwrap_err();
    assert!(matches!(&error, ClientError::InvalidResponse(text) if text.contains("tools")), "{error:?}");
}

#[tokio::test]
async fn values_are_the_params_and_the_result_of_a_request_unless_they_have_another_shape() {
    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Sum {
        sum: i64,
    }
    let fake = silent();
    let client = fake.connect(pinned(Revision::V2025_06_18)).await;
    let options = RequestOptions::default();
    let ask = |params: Value| {
        let (client, options) = (client.clone(), options.clone());
        tokio::spawn(async move { client.request_as::<Sum>("com.acme/sum", params, &options).await })
    };
    let params = json!({"terms": [1, 2, 39]});
    let answer = ask(params.clone());
    settle().await;
    assert_eq!(fake.last()["params"], params);
    fake.peer().result(&fake.last(), json!({"sum": 42, "_meta": {}}));
    assert_eq!(answer.await.unwrap(), Ok(Sum { sum: 42 }));
    for other in [json!({"sum": "many"}), json!({"total": 42})] {
        let answer = ask(params.clone());
        settle().await;
        fake.peer().result(&fake.last(), other);
        let error = answer.await.unwrap().unwrap_err();
        assert!(matches!(&error, ClientError::InvalidResponse(text) if text.contains("sum")), "{error:?}");
    }
    let asking = client.clone();
    let none =
        tokio::spawn(async move { asking.request_as::<Value>("com.acme/list", (), &RequestOptions::default()).await });
    settle().await;
    assert_eq!(fake.last().get("params"), None);
    fake.peer().result(&fake.last(), json!({}));
    assert_eq!(none.await.unwrap(), Ok(json!({})));

    let before = fake.seen().len();
    let refused = [
        client.request_as::<Sum>("com.acme/sum", HashMap::from([((1, 2), 3)]), &options).await,
        client.request_as::<Sum>("com.acme/sum", HashMap::from([("terms", f64::NAN)]), &options).await,
        client.request_as::<Sum>("com.acme/sum", [1, 2, 39], &options).await,
    ];
    for refused in refused {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
    settle().await;
    assert_eq!(fake.seen().len(), before);
}

#[tokio::test]
async fn a_client_has_one_timer_which_ends_with_it() {
    let fake = silent();
    let client = fake.connect(pinned(Revision::V2025_06_18)).await;
    let endless = request(&client, within(u64::MAX / 2, u64::MAX / 2));
    for _ in 0..20 {
        let (slow, quick) = (request(&client, within(1_000, 9_000)), request(&client, within(10, 9_000)));
        fake.clock.advance(ms(10)).await;
        assert_eq!(quick.await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
        fake.clock.advance(ms(990)).await;
        assert_eq!(slow.await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
    }
    assert_eq!(fake.clock.sleepers().await, 1);
    client.close().await;
    assert_eq!(endless.await.unwrap().unwrap_err(), ClientError::Closed);
    assert_eq!(fake.clock.sleepers().await, 0);

    let client = fake.connect(pinned(Revision::V2025_06_18)).await;
    request(&client, within(1_000, 9_000)).abort();
    settle().await;
    drop(client);
    assert_eq!(fake.clock.sleepers().await, 0);
}
