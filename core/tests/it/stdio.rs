//! A server process on its standard input and output, tested by a client that follows no rules.

use crate::{
    offer::{BIG, MAX_MESSAGE},
    process::{File, eventually},
    wire::{CAPABILITIES, SUBSCRIPTION, VERSION, Wire, modern, text_of},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

/// The default of the option.
const MAX_RUNNING: usize = 128;

fn call(id: impl Into<Value>, tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_default()
}

#[test]
fn a_server_that_is_closed_answers_its_calls_and_ends_though_its_input_does_not() {
    let file = File::new();
    let mut wire = Wire::start("closing server", &file);
    wire.open("2025-11-25");
    wire.send(call("in flight", "gate", json!({})));
    wire.send(call("for ever", "slow", json!({"ms": 600_000})));
    wire.rest();
    let closed = Instant::now();
    file.create();
    assert_eq!(text_of(&wire.answer("in flight")), "open");
    assert!(wire.ended().success());
    assert!(closed.elapsed() < Duration::from_secs(10), "{:?}", closed.elapsed());
}

#[test]
fn malformed_input_of_every_kind_gets_its_error_and_ends_no_other_call() {
    let file = File::new();
    let mut wire = Wire::start("server", &file);
    wire.open("2025-06-18");
    wire.send(call("survivor", "gate", json!({})));
    let deep =
        format!(r#"{{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
    for (text, expected, id) in [
        ("{", -32700, None),
        ("}", -32700, None),
        ("nonsense", -32700, None),
        (r#"{"jsonrpc":"2.0","id":5,"method":"ping"} {}"#, -32700, Some(5)),
        (r#"{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":'x'}}"#, -32700, Some(5)),
        ("5", -32600, None),
        ("\"ping\"", -32600, None),
        ("null", -32600, None),
        ("{}", -32600, None),
        ("[]", -32600, None),
        (r#"[{"jsonrpc":"2.0","id":5,"method":"ping"}]"#, -32600, None),
        (r#"{"id":5,"method":"ping"}"#, -32600, Some(5)),
        (r#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#, -32600, Some(5)),
        (r#"{"jsonrpc":2.0,"id":5,"method":"ping"}"#, -32600, Some(5)),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":[5],"method":"ping"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":5,"method":5}"#, -32600, Some(5)),
        (r#"{"jsonrpc":"2.0","id":5,"method":null}"#, -32600, Some(5)),
        (r#"{"jsonrpc":"2.0","id":5,"method":"ping","params":[]}"#, -32600, Some(5)),
        (r#"{"jsonrpc":"2.0","id":5,"method":"ping","params":"x"}"#, -32600, Some(5)),
        (r#"{"jsonrpc":"2.0","id":5,"method":"ping","result":{}}"#, -32600, Some(5)),
        (r#"{"jsonrpc":"2.0","id":5}"#, -32600, Some(5)),
        (&deep, -32600, Some(5)),
        (r#"{"jsonrpc":"2.0","id":5,"method":"nonsense"}"#, -32601, Some(5)),
        (r#"{"jsonrpc":"2.0","id":5,"method":"notifications/initialized"}"#, -32601, Some(5)),
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/call"}"#, -32602, Some(5)),
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{}}"#, -32602, Some(5)),
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":7}}"#, -32602, Some(5)),
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"none"}}"#, -32602, Some(5)),
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":[]}}"#, -32602, Some(5)),
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"cursor":7}}"#, -32602, Some(5)),
        (r#"{"jsonrpc":"2.0","id":"survivor","method":"tools/list"}"#, -32600, None),
    ] {
        wire.send_text(text);
        let answer = wire.receive();
        assert_eq!(code(&answer), expected, "{text}: {answer}");
        let unplaced = expected == -32700 || !answer["error"]["message"].as_str().unwrap().contains("at line");
        assert!(unplaced, "a place in a text that its author never saw: {answer}");
        match id {
            Some(id) => assert_eq!(answer["id"], id, "{text}: {answer}"),
            None => assert!(answer["id"] == "survivor" || answer.get("id").is_none(), "{text}: {answer}"),
        }
    }
    // RPC-02, and bytes that are not text at all.
    for bytes in [&b"\xff\xfe\n"[..], b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"\xff\"}\n", b"\0\n"] {
        wire.try_send(bytes).unwrap();
        assert_eq!(code(&wire.receive()), -32700);
    }
    wire.try_send(b"\n\r\n  \n").unwrap();
    assert_eq!(wire.rest(), [] as [Value; 0], "blank lines mean nothing");
    file.create();
    assert_eq!(text_of(&wire.answer("survivor")), "open");
}

#[test]
fn rpc_13_notifications_and_stray_responses_are_never_answered() {
    let mut wire = Wire::start("server", &File::new());
    wire.open("2025-11-25");
    for text in [
        r#"{"jsonrpc":"2.0","method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/nonsense","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":null}"#,
        r#"{"id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"#,
    ] {
        wire.send_text(text);
        assert_eq!(wire.rest(), [] as [Value; 0], "{text}");
    }
}

#[test]
fn rpc_14_batches_are_answered_where_their_revision_governs() {
    let file = File::new();
    let mut wire = Wire::start("server", &file);
    wire.open("2025-03-26");
    wire.send(json!([
        call(1, "echo", json!({"message": "one"})),
        {"jsonrpc": "2.0", "method": "notifications/nonsense"},
        {"jsonrpc": "2.0", "id": "2", "method": "ping"},
        {"jsonrpc": "2.0", "id": 3, "method": "nonsense"},
        call(4, "none", json!({})),
    ]));
    let answers = wire.receive();
    let by_id: BTreeMap<String, &Value> =
        answers.as_array().unwrap().iter().map(|one| (one["id"].to_string(), one)).collect();
    assert_eq!(by_id.len(), 4, "{answers}");
    assert_eq!(text_of(by_id["1"]), "one");
    assert_eq!(by_id["\"2\""]["result"], json!({}));
    assert_eq!((code(by_id["3"]), code(by_id["4"])), (-32601, -32602));

    wire.send_text(r#"[{"jsonrpc":"2.0","id":11,"method":"ping"}, 5, {"jsonrpc":"2.0","id":12}]"#);
    let answers = wire.receive();
    assert_eq!(answers.as_array().unwrap().iter().filter(|one| code(one) == -32600).count(), 2, "{answers}");
    assert_eq!(answers.as_array().unwrap().len(), 3);

    wire.send(
        json!([{"jsonrpc": "2.0", "method": "notifications/nonsense"}, {"jsonrpc": "2.0", "id": 9, "result": {}}]),
    );
    assert_eq!(wire.rest(), [] as [Value; 0], "nothing in it asks for an answer");

    // An `initialize` in a batch opens nothing, and no request of the other era is answered there
    // either.
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
    let modern = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": modern(json!({}))});
    for element in [initialize, modern] {
        wire.send_text(&json!([{"jsonrpc": "2.0", "id": 2, "method": "ping"}, element]).to_string());
        let answer = wire.receive();
        assert_eq!((code(&answer), answer.get("id")), (-32600, None));
    }
    assert_eq!(wire.rest(), [] as [Value; 0]);
}

#[test]
fn rpc_14_and_can_05_a_batch_is_answered_without_its_cancelled_calls() {
    let file = File::new();
    let mut wire = Wire::start("tight server", &file);
    wire.open("2025-03-26");
    // Two run, one waits.
    wire.send(json!([call(1, "gate", json!({})), call(2, "gate", json!({})), call(3, "gate", json!({}))]));
    wire.tell("notifications/cancelled", json!({"requestId": 1}));
    assert_eq!(wire.rest(), [] as [Value; 0]);
    file.create();
    let answers = wire.receive();
    let mut ids: Vec<_> = answers.as_array().unwrap().iter().map(|one| one["id"].as_i64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [2, 3]);

    let file = File::new();
    let mut wire = Wire::start("tight server", &file);
    wire.open("2025-03-26");
    wire.send(json!([call(1, "gate", json!({})), call(2, "gate", json!({})), call(3, "gate", json!({}))]));
    for id in [3, 2, 1] {
        wire.tell("notifications/cancelled", json!({"requestId": id}));
    }
    assert_eq!(wire.rest(), [] as [Value; 0], "all of it is cancelled: no answer, and no empty array");
    wire.send(json!([call(1, "echo", json!({"message": "again"}))]));
    assert_eq!(text_of(&wire.receive()[0]), "again");
}

#[test]
fn rpc_16_batches_are_refused_everywhere_else() {
    for revision in [None, Some("2024-11-05"), Some("2025-06-18"), Some("2025-11-25")] {
        let mut wire = Wire::start("server", &File::new());
        if let Some(revision) = revision {
            wire.open(revision);
        }
        wire.send_text(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#);
        let answer = wire.receive();
        assert_eq!((code(&answer), answer.get("id")), (-32600, None), "{revision:?}");
    }
}

/// DISC-17, DISC-28
#[test]
fn both_eras_at_once_on_one_pipe() {
    let file = File::new();
    let mut wire = Wire::start("server", &file);
    // Modern calls need no opening, and run across the handshake.
    wire.request("m1", "tools/call", modern(json!({"name": "gate"})));
    wire.open("2024-11-05");
    wire.send(call("l1", "gate", json!({})));
    wire.request("m2", "tools/call", modern(json!({"name": "structured", "arguments": {"city": "Oslo"}})));
    let answer = wire.answer("m2");
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(answer["result"]["structuredContent"]["city"], "Oslo");
    wire.send(call("l2", "structured", json!({"city": "Oslo"})));
    let answer = wire.answer("l2");
    assert_eq!((answer["result"].get("resultType"), answer["result"].get("structuredContent")), (None, None));
    assert_eq!(code(&wire.ask("m3", "ping", modern(json!({})))), -32601, "PING-04");
    assert_eq!(wire.ask("l3", "ping", json!({}))["result"], json!({}), "PING-01");
    let other = json!({"_meta": {VERSION: "2025-11-25", CAPABILITIES: {}}});
    let refused = wire.ask("m4", "tools/list", other);
    assert_eq!(refused["error"]["data"], json!({"supported": ["2026-07-28"], "requested": "2025-11-25"}), "DISC-12");
    // An unusable handshake leaves the session as it is.
    assert_eq!(code(&wire.ask("l4", "initialize", json!({}))), -32602);
    file.create();
    for id in ["m1", "l1"] {
        assert_eq!(text_of(&wire.answer(id)), "open");
    }
    assert_eq!(wire.rest(), [] as [Value; 0]);
}

#[test]
fn life_05_and_tool_05_a_session_gets_changes_once_it_is_initialized() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut wire = Wire::start("server", &File::new());
        let info = json!({"name": "raw", "version": "1"});
        wire.ask(0, "initialize", json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": info}));
        wire.call(1, "change", json!({"add": ["early"], "remove": []}));
        assert_eq!(wire.rest(), [] as [Value; 0], "LIFE-05: nothing before it is initialized");
        wire.tell("notifications/initialized", json!({}));
        wire.call(2, "change", json!({"add": ["a", "b", "c"], "remove": ["early", "a"]}));
        let notification = wire.told("notifications/tools/list_changed");
        assert_eq!(notification, json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
        assert_eq!(names(&mut wire), ["b", "c"], "{revision}");
        // A process that is interrupted between the changes notifies of both parts.
        assert!(wire.rest().iter().all(|more| *more == notification));
        wire.call(3, "change", json!({"add": [], "remove": ["none"]}));
        assert_eq!(wire.call(4, "b", json!({})), "added");
        assert_eq!(wire.rest(), [] as [Value; 0], "nothing has changed");
    }
}

/// The tools that were added, page by page (PAG-04).
fn names(wire: &mut Wire) -> Vec<String> {
    let (mut names, mut params) = (Vec::new(), json!({}));
    loop {
        let page = wire.ask("page", "tools/list", params);
        names.extend(
            page["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()),
        );
        match page["result"].get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => break,
        }
    }
    names.split_off(names.iter().position(|name| name == "drop").unwrap() + 1)
}

#[test]
fn sub_01_to_03_sub_06_sub_08_and_tool_06_streams_of_changes() {
    let mut wire = Wire::start("server", &File::new());
    let listen = |filter: Value| modern(json!({"notifications": filter}));
    wire.request(7, "subscriptions/listen", listen(json!({"toolsListChanged": true})));
    wire.request("7", "subscriptions/listen", listen(json!({"toolsListChanged": true, "promptsListChanged": true})));
    wire.request("deaf", "subscriptions/listen", listen(json!({})));
    for (id, honoured) in [
        (json!(7), json!({"toolsListChanged": true})),
        (json!("7"), json!({"toolsListChanged": true})),
        (json!("deaf"), json!({})),
    ] {
        let acknowledged = wire.receive();
        assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "SUB-02");
        assert_eq!(acknowledged["params"]["notifications"], honoured);
        assert_eq!(acknowledged["params"]["_meta"][SUBSCRIPTION], id, "SUB-03: {acknowledged}");
    }
    let change = |name: &str| modern(json!({"name": "change", "arguments": {"add": [name], "remove": []}}));
    let streams = |wire: &mut Wire, count: usize| {
        let mut ids: Vec<_> = (0..count)
            .map(|_| wire.told("notifications/tools/list_changed")["params"]["_meta"][SUBSCRIPTION].to_string())
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(text_of(&wire.ask(1, "tools/call", change("a"))), "0");
    assert_eq!(streams(&mut wire, 2), ["\"7\"", "7"]);
    assert_eq!(
        wire.rest(),
        [] as [Value; 0],
        "SUB-01: nobody else asked, and there is no session that would hear of it"
    );

    // In addition to a session, which is notified in its own way.
    wire.open("2025-06-18");
    wire.tell("notifications/cancelled", json!({"requestId": 7}));
    wire.ask(2, "tools/call", change("b"));
    assert_eq!(streams(&mut wire, 2), ["\"7\"", "null"], "SUB-08");
    assert_eq!(wire.rest(), [] as [Value; 0]);

    for params in
        [listen(json!(true)), listen(json!({"toolsListChanged": 1})), listen(json!([true])), modern(json!({}))]
    {
        assert_eq!(code(&wire.ask("bad", "subscriptions/listen", params)), -32602);
    }
    assert_eq!(code(&wire.ask("7", "subscriptions/listen", listen(json!({})))), -32600, "the id is in use");

    let (last, status, _) = wire.close();
    assert!(status.success());
    let mut ended = Vec::new();
    for pair in last.chunks(2) {
        let [result, cancelled] = pair else { panic!("{last:?}") };
        assert_eq!(
            result["id"], result["result"]["_meta"][SUBSCRIPTION],
            "SUB-06: a stream ends with a result that names it"
        );
        assert_eq!(result["result"]["resultType"], "complete");
        // CAN-11; CAN-12: these are the only cancellations of a server.
        assert_eq!(cancelled["method"], "notifications/cancelled");
        assert_eq!(cancelled["params"]["requestId"], result["id"]);
        ended.push(result["id"].as_str().unwrap());
    }
    ended.sort_unstable();
    assert_eq!(ended, ["7", "deaf"]);
}

#[test]
fn life_05_a_stream_does_not_make_a_session_initialized() {
    let mut wire = Wire::start("server", &File::new());
    wire.request("s", "subscriptions/listen", modern(json!({"notifications": {"toolsListChanged": true}})));
    let info = json!({"name": "raw", "version": "1"});
    wire.ask(0, "initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}));
    wire.call(1, "change", json!({"add": ["a"], "remove": []}));
    let changed = wire.told("notifications/tools/list_changed");
    assert_eq!(changed["params"]["_meta"][SUBSCRIPTION], "s");
    wire.told("notifications/subscriptions/acknowledged");
    assert_eq!(wire.rest(), [] as [Value; 0], "the session is not initialized yet");
}

#[test]
fn prg_01_to_05_progress_over_the_wire() {
    let mut wire = Wire::start("server", &File::new());
    wire.open("2024-11-05");
    for (id, revision) in [("old", "2024-11-05"), ("new", "2026-07-28")] {
        let mut params = json!({"name": "count", "arguments": {"steps": 3}, "_meta": {"progressToken": id}});
        if id == "new" {
            params = modern(params);
        }
        wire.request(id, "tools/call", params);
        for step in 1..=3 {
            let progress = wire.receive();
            let mut expected = json!({"progressToken": id, "progress": step, "total": 3});
            if id == "new" {
                expected["message"] = "counting".into();
            }
            assert_eq!(progress["params"], expected, "{revision}");
        }
        assert_eq!(text_of(&wire.receive()), "done");
    }
    assert_eq!(wire.call("quiet", "count", json!({"steps": 3})), "done");
    assert_eq!(wire.rest(), [] as [Value; 0], "nobody asked");
}

#[test]
fn can_05_cancelled_calls_are_not_answered_and_make_room() {
    let file = File::new();
    let mut wire = Wire::start("tight server", &file);
    wire.open("2025-11-25");
    (1..=5).for_each(|id| wire.send(call(id, "gate", json!({}))));
    assert_eq!(wire.ask(6, "tools/list", json!({}))["error"]["data"]["reason"], "busy");
    // One that runs, one that waits; twice, and some that do not exist.
    for id in [json!(1), json!(4), json!(1), json!("2"), json!(99), json!(null)] {
        wire.tell("notifications/cancelled", json!({"requestId": id, "reason": "enough"}));
    }
    assert_eq!(wire.rest(), [] as [Value; 0]);
    wire.send(call(7, "echo", json!({"message": "in the room of 4"})));
    file.create();
    for id in [2, 3, 5] {
        assert_eq!(text_of(&wire.answer(id)), "open");
    }
    assert_eq!(text_of(&wire.answer(7)), "in the room of 4");
    let (last, status, stderr) = wire.close();
    assert!(last.is_empty() && status.success());
    assert_eq!(stderr.matches("a call was cancelled").count(), 1, "{stderr}");
}

#[test]
fn std_11_can_05_a_cancelled_modern_call_is_heard_of_no_more() {
    let file = File::new();
    let mut wire = Wire::start("server", &file);
    let params = json!({"name": "gate", "_meta": {"progressToken": "t"}});
    wire.request("gone", "tools/call", modern(params.clone()));
    wire.request("stays", "tools/call", modern(json!({"name": "gate"})));
    wire.tell("notifications/cancelled", json!({"requestId": "gone"}));
    assert_eq!(wire.rest(), [] as [Value; 0]);
    file.create();
    assert_eq!(text_of(&wire.answer("stays")), "open");
    // The id is free again.
    wire.request("gone", "tools/call", modern(params));
    assert_eq!(text_of(&wire.answer("gone")), "open");
    let (last, status, _) = wire.close();
    assert!(last.is_empty() && status.success());
}

#[test]
fn tool_02_to_04_every_caller_sees_the_same_list_in_the_same_order() {
    let listed = |wire: &mut Wire, params: fn(Value) -> Value| {
        let (mut tools, mut page) = (Vec::new(), json!({}));
        loop {
            let result = wire.ask("list", "tools/list", params(page))["result"].take();
            tools.extend(result["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()));
            match result.get("nextCursor") {
                Some(cursor) => page = json!({"cursor": cursor}),
                None => return tools,
            }
        }
    };
    let (mut one, mut other) = (Wire::start("server", &File::new()), Wire::start("server", &File::new()));
    let first = listed(&mut one, modern);
    assert!(first.len() > 10 && first[0] == "echo", "{first:?}");
    // Neither another connection, nor a session, nor what was called before changes anything.
    one.open("2025-11-25");
    one.call(1, "echo", json!({"message": "x"}));
    one.ask(2, "tools/call", modern(json!({"name": "structured", "arguments": {"city": "Oslo"}})));
    assert_eq!(listed(&mut one, modern), first);
    assert_eq!(listed(&mut one, |params| params), first);
    assert_eq!(listed(&mut other, modern), first);
}

#[test]
fn std_12_calls_in_flight_when_the_input_ends_are_answered_if_they_end_soon() {
    let file = File::new();
    let mut wire = Wire::start("server", &file);
    wire.open("2025-06-18");
    wire.send(call(1, "gate", json!({})));
    assert_eq!(wire.call(2, "echo", json!({"message": "x"})), "x");
    file.create();
    let (last, status, _) = wire.close();
    assert!(status.success());
    assert_eq!(last.len(), 1);
    assert_eq!(text_of(&last[0]), "open");
}

#[test]
fn std_12_calls_still_running_when_the_input_ends_are_cancelled_and_fail() {
    let mut wire = Wire::start("server", &File::new());
    wire.open("2025-06-18");
    (0..200).for_each(|id| wire.send(call(id, "gate", json!({}))));
    assert_eq!(wire.rest(), [] as [Value; 0]);
    let (last, status, stderr) = wire.close();
    assert!(status.success());
    let failed = last.iter().filter(|answer| answer["error"]["data"]["reason"] == "interrupted");
    let ids: BTreeSet<_> = failed.map(|answer| answer["id"].as_u64()).collect();
    assert_eq!((ids.len(), last.len()), (200, 200), "those that run and those that wait: {:?}", last.first());
    assert_eq!(stderr.matches("a call was cancelled").count(), MAX_RUNNING, "those that ran heard of it");
}

#[test]
fn a_last_line_without_a_newline_is_served() {
    let mut wire = Wire::start("server", &File::new());
    wire.try_send(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).unwrap();
    let (last, status, _) = wire.close();
    assert!(status.success());
    assert_eq!(last, [json!({"jsonrpc": "2.0", "id": 1, "result": {}})]);
}

// Elsewhere the standard handles of a process cannot be replaced.
#[cfg(unix)]
#[test]
fn std_02_and_04_stray_prints_go_to_standard_error() {
    let mut wire = Wire::start("server", &File::new());
    wire.open("2025-06-18");
    wire.call(1, "print", json!({}));
    assert_eq!(wire.call(2, "echo", json!({"message": "clean"})), "clean");
    let (last, _, stderr) = wire.close();
    assert!(last.is_empty());
    for stray in ["a stray print", "a print of a child"] {
        assert!(stderr.contains(stray), "{stderr}");
    }
}

#[test]
fn handlers_that_panic_or_never_answer_cost_their_call_only() {
    let file = File::new();
    let mut wire = Wire::start("server", &file);
    wire.open("2025-11-25");
    wire.send(call("survivor", "gate", json!({})));
    for tool in ["panic", "drop"] {
        let answer = wire.ask(tool, "tools/call", json!({"name": tool}));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
    }
    file.create();
    assert_eq!(text_of(&wire.answer("survivor")), "open");
}

#[test]
fn large_messages_pass_and_those_over_the_limit_are_refused_one_by_one() {
    let mut wire = Wire::start("server", &File::new());
    wire.open("2025-06-18");
    let message = "ä\n\"\\".repeat((1 << 20) / 5);
    assert_eq!(wire.call(1, "echo", json!({"message": message})), message);
    let long = json!({"message": "x".repeat(MAX_MESSAGE)});
    for id in 2..4 {
        let params = json!({"name": "echo", "arguments": long});
        wire.send_text(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#));
        let refused = wire.receive();
        assert_eq!((code(&refused), &refused["id"]), (-32600, &json!(id)));
        assert!(refused["error"]["message"].as_str().unwrap().contains(&MAX_MESSAGE.to_string()), "{refused}");
        assert_eq!(wire.call("after", "echo", json!({"message": "as ever"})), "as ever");
    }
    // Exactly as long as allowed.
    let frame = call(9, "echo", json!({"message": ""})).to_string().len();
    let just = "x".repeat(MAX_MESSAGE - frame - 1);
    assert_eq!(wire.call(9, "echo", json!({"message": just})).len(), just.len());
}

#[test]
fn a_flood_is_served_up_to_the_bounds_refused_above_and_answered_in_full() {
    const CALLS: usize = 10_000;
    let file = File::new();
    let mut wire = Wire::start("server", &file);
    wire.open("2025-11-25");
    let mut flood = String::new();
    for id in 0..CALLS {
        let call = call(id, "gate", json!({}));
        wire.note(&call);
        flood.push_str(&format!("{call}\n"));
    }
    wire.try_send(flood.as_bytes()).unwrap();
    let mut refused = 0;
    for _ in 0..CALLS - MAX_RUNNING - 1024 {
        let answer = wire.receive();
        assert_eq!(answer["error"]["data"]["reason"], "busy", "{answer}");
        refused += 1;
    }
    assert_eq!(wire.rest(), [] as [Value; 0], "pings pass, and nothing else is refused");
    file.create();
    let mut answered: Vec<_> = (0..CALLS - refused).map(|_| wire.receive()["id"].as_u64().unwrap()).collect();
    answered.sort_unstable();
    answered.dedup();
    assert_eq!(answered.len(), MAX_RUNNING + 1024, "each once");
    assert_eq!(wire.call("after", "echo", json!({"message": "as ever"})), "as ever");
}

#[test]
fn a_client_that_does_not_read_costs_bounded_memory_and_gets_every_answer_in_the_end() {
    const CALLS: usize = 4_000;
    let mut wire = Wire::start_unread("server", &File::new());
    let big = |id: usize| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": modern(json!({"name": "big"}))});
    for id in 0..CALLS {
        wire.send(big(id));
    }
    // The server has read everything when it has answered this, which is behind all the rest.
    wire.request("ping", "ping", json!({}));
    wire.read();
    let (mut served, mut busy) = (0, 0);
    for _ in 0..CALLS {
        let answer = wire.receive();
        match answer["error"]["data"]["reason"].as_str() {
            Some("busy") => busy += 1,
            _ => {
                assert_eq!(text_of(&answer).len(), BIG);
                served += 1;
            }
        }
    }
    assert_eq!(wire.receive()["result"], json!({}), "pings pass");
    assert!(busy > CALLS / 2 && served > 0, "{served} served, {busy} busy");
    if let Some(peak) = peak_memory(wire.id()) {
        assert!(peak < CALLS * BIG / 4, "{peak} bytes");
    }
    assert_eq!(
        text_of(&wire.ask("after", "tools/call", modern(json!({"name": "echo", "arguments": {"message": "as ever"}})))),
        "as ever"
    );
}

/// The peak memory of a process, if the system reports it.
fn peak_memory(id: u32) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    peak.trim().strip_suffix("kB")?.trim().parse::<usize>().ok().map(|kilobytes| kilobytes * 1024)
}

/// Makes answers that fill the pipe and the server's queue.
fn congest(wire: &mut Wire) {
    for id in 0..200 {
        wire.request(id, "tools/call", modern(json!({"name": "big"})));
    }
}

#[test]
fn a_client_that_only_writes_is_disconnected() {
    // The answer to each of the long ones is as long.
    for (id, at_once, most) in [("1".to_owned(), 1000, 1000), ("1".repeat(1 << 20), 1, 200)] {
        let mut wire = Wire::start_unread("server", &File::new());
        congest(&mut wire);
        let pings = format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "ping"})).repeat(at_once);
        let mut sent = 0;
        while wire.try_send(pings.as_bytes()).is_ok() {
            sent += 1;
            assert!(sent < most, "it listens for ever");
        }
        assert!(wire.ended().success());
    }
}

#[test]
fn std_12_a_client_that_leaves_without_reading_does_not_keep_the_server_alive() {
    let mut wire = Wire::start_unread("server", &File::new());
    congest(&mut wire);
    wire.end_input();
    assert!(wire.ended().success());
}

#[test]
fn life_18_a_client_that_closes_its_ears_ends_the_server() {
    let file = File::new();
    let mut wire = Wire::start_unread("server", &file);
    wire.request(1, "tools/call", modern(json!({"name": "gate"})));
    wire.deafen();
    // The server notices when it has something to send.
    let started = Instant::now();
    eventually("the pipe breaks", || {
        wire.try_send(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").is_err() || wire.has_ended()
    });
    assert!(wire.ended().success(), "{:?}", started.elapsed());
}

#[test]
fn ping_01_and_life_11_a_handler_asks_its_client_while_others_are_served() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut wire = Wire::start("tight server", &File::new());
        wire.open(revision);
        wire.send(call(1, "ask", json!({})));
        let ping = wire.told("ping");
        assert_eq!(wire.call(2, "echo", json!({"message": "meanwhile"})), "meanwhile");
        // An id that only looks alike changes nothing.
        wire.send(json!({"jsonrpc": "2.0", "id": ping["id"].to_string(), "result": {}}));
        assert_eq!(wire.rest(), [] as [Value; 0]);
        wire.send(json!({"jsonrpc": "2.0", "id": ping["id"], "result": {}}));
        assert_eq!(text_of(&wire.answer(1)), "alive");
        wire.send(json!({"jsonrpc": "2.0", "id": ping["id"], "result": {}}));

        wire.send(call(3, "ask", json!({})));
        let again = wire.told("ping");
        assert_ne!(again["id"], ping["id"], "RPC-05");
        wire.send(
            json!({"jsonrpc": "2.0", "id": again["id"], "error": {"code": -32601, "message": "never heard of it"}}),
        );
        assert!(text_of(&wire.answer(3)).contains("never heard of it"));

        // An answer that is neither a result nor an error ends the request and is not answered
        // itself: a client could take that for the answer of its own request with the same id.
        let long = format!(r#","result":{{"a":"{}"}}"#, "x".repeat(MAX_MESSAGE));
        for rest in [r#","result":{},"error":{}"#, r#","error":{"code":1}"#, r#","result":{"#, &long] {
            wire.send(call(4, "ask", json!({})));
            let asked = wire.told("ping");
            wire.send_text(&format!(r#"{{"jsonrpc":"2.0","id":{}{rest}}}"#, asked["id"]));
            let answer = wire.receive();
            assert_eq!(answer["id"], 4, "{answer}");
            assert!(text_of(&answer).contains("Invalid response from the client"), "{answer}");
        }
    }
}

#[test]
fn rpc_31_and_std_08_a_handler_of_the_modern_era_cannot_ask() {
    let mut wire = Wire::start("server", &File::new());
    wire.open("2025-06-18");
    let answer = wire.ask(1, "tools/call", modern(json!({"name": "ask"})));
    assert!(text_of(&answer).contains("ping"), "{answer}");
    assert_eq!(wire.rest(), [] as [Value; 0]);
}

#[test]
fn std_12_a_handler_that_asks_fails_when_its_client_disconnects() {
    let mut wire = Wire::start("server", &File::new());
    wire.open("2025-06-18");
    wire.send(call(1, "ask", json!({})));
    wire.told("ping");
    let started = Instant::now();
    let (last, status, _) = wire.close();
    assert!(status.success() && last.len() == 2, "{last:?}");
    assert_eq!(last[0]["method"], "notifications/cancelled");
    assert_eq!(last[1]["error"]["data"]["reason"], "interrupted");
    // A call that could still complete would have a second.
    assert!(started.elapsed() < Duration::from_millis(900), "it waits for an answer that cannot come");
}
