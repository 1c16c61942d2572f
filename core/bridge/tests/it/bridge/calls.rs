//! Calls and requests: tickets, shapes, failures, progress, cancellation, bounds.

use super::*;
use trunkline_bridge::ErrorKind;

#[test]
fn a_call_on_every_revision() {
    let host = Host::new();
    let server = host.server();
    host.echo(server);
    for revision in REVISIONS {
        let connection = host.connection_of(server, revision);
        assert_eq!(host.describe(connection)["revision"], revision);
        let result = host.result(connection, "echo", json!({"message": "ä\n\u{0}"}));
        assert_eq!(text(&result), "ä\n\u{0}");
    }
}

#[test]
fn every_shape_becomes_what_the_contract_says() {
    let host = Host::new();
    let server = host.server();
    let schema = json!({"type": "object", "properties": {"result": {}}});
    let tool = host
        .register("tool", json!({"server": server, "wrapOutput": true, "tool": {"name": "t", "outputSchema": schema}}))
        .unwrap();
    // Only a tool without an output schema returns blocks alone.
    let plain = host.tool(server, "plain");
    let connection = host.connection(server);
    for (shape, given, expected, structured) in [
        (Shape::Text, "plain \"text\"", "plain \"text\"", json!({"result": "plain \"text\""})),
        (Shape::Content, r#"{"type":"text","text":"a block"}"#, "a block", Value::Null),
        (Shape::Content, r#"[{"type":"text","text":"blocks"}]"#, "blocks", Value::Null),
        (Shape::Object, r#"{"result":1}"#, r#"{"result":1}"#, json!({"result": 1})),
        (Shape::Value, "[1,null]", "[1,null]", json!({"result": [1, null]})),
        (Shape::Value, "null", "null", json!({"result": null})),
        (
            Shape::Result,
            r#"{"content":[{"type":"text","text":"whole"}],"structuredContent":{"result":2}}"#,
            "whole",
            json!({"result": 2}),
        ),
    ] {
        let (name, called) = if shape == Shape::Content { ("plain", plain) } else { ("t", tool) };
        let request = host.call(connection, name, json!({}));
        let call = host.event("the call", |event| {
            event.kind == EventKind::Call && event.handle == called && !host.port.cancelled(event.ticket).unwrap()
        });
        assert!(host.port.complete(call.ticket, shape, given.into()).unwrap());
        let result = body(&host.reply(request));
        assert_eq!((text(&result), &result["structuredContent"]), (expected, &structured), "{shape:?}");
    }
}

#[test]
fn parameters_keep_their_digits() {
    let host = Host::new();
    let server = host.server();
    host.tool_with(server, json!({"name": "t", "inputSchema": {"type": "object"}}), |port, event| {
        port.complete(event.ticket, Shape::Text, bytes(event)).unwrap();
    });
    let connection = host.connection(server);
    let request = |arguments: &str| {
        let params = format!(r#"{{"name": "t", "arguments": {arguments}}}"#);
        host.port.request(connection, format!(r#"{{"method": "tools/call", "params": {params}}}"#).as_bytes())
    };
    let arguments = r#"{"n":123456789012345678901234567890,"x":1.00,"text":"[[{{"}"#;
    assert_eq!(text(&body(&host.reply(request(arguments).unwrap()))), arguments);
    // The message, its parameters and the arguments are three levels. Records of messages add one.
    let nested = |levels| format!(r#"{{"a": {}{}}}"#, "[".repeat(levels), "]".repeat(levels));
    assert!(host.reply(request(&nested(124)).unwrap()).ok());
    let refused = request(&nested(126)).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::InvalidArgument);
    assert!(refused.message.contains("nests deeper than 128 levels"), "{}", refused.message);
}

#[test]
fn schemas_of_values_other_than_objects_are_wrapped() {
    let host = Host::new();
    let server = host.server();
    let tool = json!({"name": "t", "outputSchema": {"type": "integer"}});
    host.register("tool", json!({"server": server, "wrapOutput": true, "tool": tool})).unwrap();
    let connection = host.connection(server);
    let listed = body(&host.reply(host.request(connection, json!({"method": "tools/list"}))));
    let schema = json!({"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]});
    assert_eq!(listed["tools"][0]["outputSchema"], schema);
    for (expected, fits) in [("integer", true), ("string", false)] {
        let request = host.request(
            connection,
            json!({"method": "tools/call", "params": {"name": "t"}, "resultSchema": {"type": expected}, "wrapResult": true}),
        );
        let call = host
            .event("the call", |event| event.kind == EventKind::Call && !host.port.cancelled(event.ticket).unwrap());
        assert!(host.port.complete(call.ticket, Shape::Value, "3".into()).unwrap());
        let reply = host.reply(request);
        assert_eq!(reply.ok(), fits, "{expected}");
        if fits {
            assert_eq!(body(&reply)["structuredContent"], json!({"result": 3}));
        }
    }
}

#[test]
fn failures_of_every_kind() {
    let host = Host::new();
    let server = host.server();
    let tool = host.tool(server, "t");
    let connection = host.connection(server);
    let mut answered = 0;
    let mut fail = |failure: Value| {
        let request = host.call(connection, "t", json!({}));
        answered += 1;
        let call = host
            .events("calls", answered, |event| event.kind == EventKind::Call && event.handle == tool)
            .pop()
            .unwrap();
        assert!(host.port.fail(call.ticket, failure.to_string().as_bytes()).unwrap());
        host.reply(request)
    };
    let told = body(&fail(json!({"kind": "tool", "message": "no such city"})));
    assert_eq!((text(&told), &told["isError"]), ("no such city", &json!(true)));
    let told = body(&fail(json!({"kind": "internal", "message": "secret"})));
    assert!(told["isError"] == true && !text(&told).contains("secret"), "{told}");
    let reply = fail(json!({"kind": "protocol", "code": 77, "message": "special", "data": {"a": 1}}));
    assert!(!reply.ok());
    assert_eq!(body(&reply), json!({"kind": "protocol", "code": 77, "message": "special", "data": {"a": 1}}));
}

#[test]
fn halves_of_surrogate_pairs_become_the_replacement_character_in_all_that_a_host_gives() {
    let host = Host::new();
    let server = host.server();
    let given = format!(
        r#"{{"server": {server}, "tool": {{"name": "t", "description": "d\ud83d", "inputSchema": {{"type": "object"}}}}}}"#
    );
    let tool = host.port.register("tool", given.as_bytes()).unwrap();
    let connection = host.connection(server);
    let listed = body(&host.reply(host.request(connection, json!({"method": "tools/list"}))));
    assert_eq!(listed["tools"][0]["description"], "d\u{fffd}");

    let request =
        br#"{"method": "tools/call", "params": {"name": "t", "arguments": {"a": "\udc4d"}}, "progress": true}"#;
    let mut answered = 0;
    let mut fail = |failure: &str| {
        let request = host.port.request(connection, request).unwrap();
        answered += 1;
        let called = |event: &Event| event.kind == EventKind::Call && event.handle == tool;
        let call = host.events("calls", answered, called).pop().unwrap();
        assert_eq!(body(&call), json!({"a": "\u{fffd}"}));
        host.port.notify(call.ticket, br#"{"progress": 1, "message": "m\ud83d"}"#).unwrap();
        assert!(host.port.fail(call.ticket, failure.as_bytes()).unwrap());
        let told = |event: &Event| event.kind == EventKind::Notification && event.ticket == request;
        assert_eq!(body(&host.event("progress", told))["message"], "m\u{fffd}");
        body(&host.reply(request))
    };
    assert_eq!(text(&fail(r#"{"kind": "tool", "message": "no \ud83d"}"#)), "no \u{fffd}");
    let told = fail(r#"{"kind": "protocol", "code": 7, "message": "no \ud83d", "data": {"\udc4d": "\ud83d"}}"#);
    assert_eq!((&told["message"], &told["data"]), (&json!("no \u{fffd}"), &json!({"\u{fffd}": "\u{fffd}"})));
}

#[test]
fn pag_04_a_whole_list_is_one_request() {
    let host = Host::new();
    let server = host.server_with(json!({"pageSize": 2}));
    let names: Vec<_> = (0..7).map(|number| format!("t{number}")).collect();
    for name in &names {
        host.tool(server, name);
    }
    for revision in REVISIONS {
        let connection = host.connection_of(server, revision);
        let list = |request: serde_json::Value| {
            host.reply(host.port.request(connection, request.to_string().as_bytes()).unwrap())
        };
        let page = body(&list(json!({"method": "tools/list"})));
        assert!(page["nextCursor"].is_string() && page["tools"].as_array().unwrap().len() == 2, "{page}");
        let whole = body(&list(json!({"method": "tools/list", "all": true})));
        let listed: Vec<_> = whole["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
        assert_eq!(json!(listed), json!(names), "{revision}");
        assert!(whole.get("nextCursor").is_none(), "{whole}");
        let rest = body(&list(json!({"method": "tools/list", "params": {"cursor": page["nextCursor"]}, "all": true})));
        assert_eq!(rest["tools"].as_array().unwrap().len(), 5, "{rest}");
        let lost = list(json!({"method": "tools/list", "params": {"cursor": "nonsense"}, "all": true}));
        assert_eq!((lost.ok(), &body(&lost)["kind"]), (false, &json!("protocol")));
        let request = json!({"method": "tools/call", "params": {"name": "t0"}, "all": true}).to_string();
        assert_eq!(host.port.request(connection, request.as_bytes()).unwrap_err().kind, ErrorKind::InvalidArgument);
    }
}

#[test]
fn a_whole_list_can_be_cancelled() {
    let host = Host::new();
    let server = host.server();
    let provider = host.register("provider", json!({"server": server, "of": "tools"})).unwrap();
    let connection = host.connection(server);
    let request = host.port.request(connection, br#"{"method": "tools/list", "all": true}"#).unwrap();
    let first = host.called(provider);
    let page = json!({"items": [{"name": "a", "inputSchema": {"type": "object"}}], "nextCursor": "b"});
    host.port.complete(first.ticket, Shape::Value, page.to_string().into()).unwrap();
    let of_it = |event: &Event| event.kind == EventKind::Call && event.handle == provider;
    let second = host.events("the second page", 2, of_it).pop().unwrap();
    host.port.cancel(request, "enough").unwrap();
    assert_eq!(host.failure(request)["kind"], "cancelled");
    host.event("the cancellation", |event| event.kind == EventKind::Cancel && event.ticket == second.ticket);
}

#[test]
fn a_ticket_is_good_for_one_answer() {
    let host = Host::new();
    let server = host.server();
    let tool = host.tool(server, "t");
    let connection = host.connection(server);
    let request = host.call(connection, "t", json!({}));
    let ticket = host.called(tool).ticket;
    assert_eq!(host.describe(ticket)["name"], "t");
    // An invalid answer leaves the call as it is.
    for (shape, wrong) in [
        (Shape::Text, &b"\xff"[..]),
        (Shape::Content, b"5"),
        (Shape::Content, b"{"),
        (Shape::Object, b"[]"),
        (Shape::Value, b""),
        (Shape::Value, b"1 2"),
        (Shape::Result, b"\"x\""),
    ] {
        assert_eq!(
            host.port.complete(ticket, shape, wrong.into()).unwrap_err().kind,
            ErrorKind::InvalidArgument,
            "{shape:?}"
        );
    }
    assert_eq!(
        host.port.fail(ticket, br#"{"kind":"protocol","code":-32602}"#).unwrap_err().kind,
        ErrorKind::InvalidArgument
    );
    assert!(!host.port.cancelled(ticket).unwrap());
    assert!(host.port.complete(ticket, Shape::Text, "first".into()).unwrap());
    assert!(!host.port.complete(ticket, Shape::Text, "second".into()).unwrap());
    assert!(!host.port.fail(ticket, br#"{"kind":"tool","message":"third"}"#).unwrap());
    assert!(host.port.cancelled(ticket).unwrap(), "done is not wanted any more");
    assert_eq!(text(&body(&host.reply(request))), "first");
    assert_eq!(host.port.describe(ticket).unwrap_err().kind, ErrorKind::Closed);
    for wild in [0, 1, ticket + 1, server, connection, u64::MAX, 1 << 53] {
        assert!(!host.port.complete(wild, Shape::Text, "x".into()).unwrap(), "{wild}");
        host.port.cancel(wild, "").unwrap();
        host.port.notify(ticket, br#"{"progress":1}"#).unwrap();
    }
}

#[test]
fn a_failure_of_the_protocol_without_a_code_is_an_internal_error() {
    let host = Host::new();
    let server = host.server();
    let connection = host.connection_of(server, "2025-06-18");
    host.tool(server, "t");
    let request = host.call(connection, "t", json!({}));
    let ticket = host.event("the call", |event| event.kind == EventKind::Call).ticket;
    assert!(host.port.fail(ticket, br#"{"kind":"protocol","message":"x"}"#).unwrap());
    assert_eq!(host.failure(request)["code"], -32603);
}

#[test]
fn cancelling_a_request_cancels_the_call_behind_it() {
    let host = Host::new();
    let server = host.server();
    let tool = host.tool(server, "t");
    for revision in REVISIONS {
        let connection = host.connection_of(server, revision);
        let request = host.call(connection, "t", json!({"for": revision}));
        let call = host.event("the call", |event| {
            event.kind == EventKind::Call && event.handle == tool && body(event)["for"] == revision
        });
        host.port.cancel(request, "not any more").unwrap();
        host.port.cancel(request, "twice").unwrap();
        assert_eq!(host.failure(request)["kind"], "cancelled");
        let cancel =
            host.event("the cancellation", |event| event.kind == EventKind::Cancel && event.ticket == call.ticket);
        assert_eq!((cancel.handle, &bytes(&cancel)[..]), (tool, &b"not any more"[..]));
        assert!(host.port.cancelled(call.ticket).unwrap());
        assert!(!host.port.complete(call.ticket, Shape::Text, "late".into()).unwrap(), "CAN-08");
    }
}

#[test]
fn a_request_that_times_out_cancels_the_call_too() {
    let host = Host::new();
    let server = host.server();
    let tool = host.tool(server, "t");
    let connection = host.connection(server);
    let request = host.request(connection, json!({"method": "tools/call", "params": {"name": "t"}, "timeoutMs": 300}));
    assert_eq!(host.failure(request)["kind"], "timeout");
    let ticket = host.called(tool).ticket;
    host.event("the cancellation", |event| event.kind == EventKind::Cancel && event.ticket == ticket);
}

#[test]
fn progress_arrives_before_the_reply_and_only_if_it_was_asked_for() {
    let host = Host::new();
    let server = host.server();
    host.tool_with(server, json!({"name": "count"}), |port, event| {
        for progress in [1.0, 2.0, 2.0, 1.5] {
            port.notify(
                event.ticket,
                json!({"progress": progress, "total": 2, "message": "counting"}).to_string().as_bytes(),
            )
            .unwrap();
        }
        port.complete(event.ticket, Shape::Text, "done".into()).unwrap();
    });
    let connection = host.connection(server);
    let count = |progress: bool| {
        host.request(connection, json!({"method": "tools/call", "params": {"name": "count"}, "progress": progress}))
    };
    let asked = count(true);
    host.reply(asked);
    let of_it: Vec<_> = host.events("events of it", 2, |event| event.ticket == asked);
    let (last, before) = of_it.split_last().unwrap();
    assert_eq!(last.kind, EventKind::Reply);
    // Only the latest counts; the number of earlier ones depends on when the host looked.
    let progress = before.last().unwrap();
    assert_eq!(
        (progress.kind, progress.handle, progress.name.as_str()),
        (EventKind::Notification, connection, "notifications/progress")
    );
    assert_eq!((&body(progress)["progress"], &body(progress)["total"]), (&json!(2), &json!(2)));
    assert!(before.len() <= 2);
    let quiet = count(false);
    host.reply(quiet);
    assert_eq!(host.events("events of it", 1, |event| event.ticket == quiet).len(), 1);
}

#[test]
fn calls_in_flight_are_bounded_and_each_is_answered() {
    let host = Host::new();
    let server = host.server_with(json!({"maxRunning": 64, "maxWaiting": 1024}));
    let tool = host.tool(server, "t");
    let connection = host.connection(server);
    let requests: Vec<_> = (0..1000).map(|_| host.call(connection, "t", json!({}))).collect();
    let calls = |count| host.events("calls", count, |event| event.kind == EventKind::Call && event.handle == tool);
    assert_eq!(calls(64).len(), 64);
    let probe = host.request(connection, json!({"method": "server/discover"}));
    let more: Vec<_> = (0..200).map(|_| host.call(connection, "t", json!({}))).collect();
    // 64 run, 1,024 of the rest wait; 64 + 936 + 1 + 87 make 1,088.
    for request in &more[87..] {
        let failure = host.failure(*request);
        assert_eq!((&failure["kind"], &failure["code"]), (&json!("busy"), &Value::Null));
    }
    assert_eq!(calls(64).len(), 64, "no more than may run");
    for answered in 0..1087 {
        let call = calls(answered + 1).swap_remove(answered);
        assert!(host.port.complete(call.ticket, Shape::Text, "x".into()).unwrap());
    }
    for request in requests.into_iter().chain(more.into_iter().take(87)).chain([probe]) {
        assert!(host.reply(request).ok());
    }
    host.functions.lock().unwrap().insert(
        tool,
        Arc::new(|port: &Port, event: &Event| {
            port.complete(event.ticket, Shape::Text, "as ever".into()).unwrap();
        }),
    );
    assert_eq!(text(&host.result(connection, "t", json!({}))), "as ever");
}

#[test]
fn no_number_is_left_behind() {
    let host = Host::new();
    let server = host.server();
    host.echo(server);
    let connection = host.connection(server);
    let before = host.things();
    for round in 0..100 {
        match round % 4 {
            0 => drop(host.result(connection, "echo", json!({"message": "x"}))),
            1 => drop(host.failure(host.call(connection, "none", json!({})))),
            2 => {
                let ticket = host.request(connection, json!({"method": "tools/list", "wait": true}));
                host.port.wait(ticket, 60_000).unwrap().unwrap().unwrap();
            }
            _ => assert!(host.port.request(connection, br#"{"method":"roots/list"}"#).is_err()),
        }
    }
    assert_eq!(host.things(), before);
}

#[test]
fn calls_of_the_pool_go_to_its_threads_and_are_cancelled_by_flag() {
    let host = Host::new();
    let server = host.server();
    let tool = host
        .register(
            "tool",
            json!({"server": server, "lane": "pool", "tool": {"name": "t", "inputSchema": {"type": "object"}}}),
        )
        .unwrap();
    let connection = host.connection(server);
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let port = host.port.clone();
            std::thread::spawn(move || {
                let mut served = 0;
                loop {
                    let Some(event) = port.drain(Lane::Pool, 1, 60_000).unwrap().pop() else { return served };
                    served += 1;
                    assert_eq!((event.kind, event.handle), (EventKind::Call, tool));
                    let arguments = body(&event);
                    while arguments["forever"] == true && !port.cancelled(event.ticket).unwrap() {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                    assert_eq!(
                        port.complete(event.ticket, Shape::Text, "x".into()).unwrap(),
                        arguments["forever"] != true
                    );
                }
            })
        })
        .collect();
    let forever: Vec<_> = (0..3).map(|_| host.call(connection, "t", json!({"forever": true}))).collect();
    let requests: Vec<_> = (0..50).map(|_| host.call(connection, "t", json!({}))).collect();
    requests.into_iter().for_each(|request| assert!(host.reply(request).ok()));
    for request in forever {
        host.port.cancel(request, "enough").unwrap();
        assert_eq!(host.failure(request)["kind"], "cancelled");
    }
    let mut host = host;
    host.stop(0);
    let served: usize = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
    assert_eq!(served, 53, "the threads come back when the port stops");
    assert!(!host.kinds().contains(&EventKind::Cancel) && !host.kinds().contains(&EventKind::Call));
}

#[test]
fn can_05_a_call_cancelled_before_it_started_is_not_run() {
    let host = Host::new();
    let server = host.server();
    let tool = json!({"server": server, "lane": "pool", "tool": {"name": "t", "inputSchema": {"type": "object"}}});
    host.register("tool", tool).unwrap();
    let connection = host.connection_of(server, "2025-11-25");
    let requests: Vec<_> = (0..100).map(|number| host.call(connection, "t", json!({"number": number}))).collect();
    // A round trip: what was sent before has arrived.
    let arrived = || assert!(host.reply(host.request(connection, json!({"method": "ping"}))).ok());
    arrived();
    for request in &requests[1..] {
        host.port.cancel(*request, "enough").unwrap();
        assert_eq!(host.failure(*request)["kind"], "cancelled");
    }
    arrived();
    let left = host.port.drain(Lane::Pool, 100, 0).unwrap();
    assert_eq!(left.iter().map(body).collect::<Vec<_>>(), [json!({"number": 0})]);
    host.port.complete(left[0].ticket, Shape::Text, "x".into()).unwrap();
    assert!(host.reply(requests[0]).ok());
}

#[test]
fn replies_that_are_waited_for_do_not_enter_the_queue() {
    let host = Host::new();
    let server = host.server();
    let tool = host.tool(server, "t");
    let connection = host.connection(server);
    let ticket = host.request(connection, json!({"method": "tools/call", "params": {"name": "t"}, "wait": true}));
    assert_eq!(host.port.wait(ticket, 1).unwrap(), None);
    let waiting = std::thread::spawn({
        let port = host.port.clone();
        move || port.wait(ticket, 60_000).unwrap().unwrap()
    });
    let call = host.called(tool).ticket;
    assert!(host.port.complete(call, Shape::Text, "x".into()).unwrap());
    let result = waiting.join().unwrap().unwrap();
    assert_eq!(text(&serde_json::from_slice(&result).unwrap()), "x");
    for stale in [ticket, connection, server, 0, 12345] {
        assert_eq!(host.port.wait(stale, 60_000).unwrap_err().kind, ErrorKind::InvalidArgument, "{stale}");
    }
    let failing = host.request(connection, json!({"method": "tools/call", "params": {"name": "none"}, "wait": true}));
    host.port.wait(failing, 60_000).unwrap().unwrap().unwrap_err();
    let cancelled = host.request(connection, json!({"method": "tools/call", "params": {"name": "t"}, "wait": true}));
    host.port.cancel(cancelled, "").unwrap();
    let reply = host.port.wait(cancelled, 60_000).unwrap().unwrap();
    assert_eq!(reply.unwrap_err().kind, ErrorKind::Cancelled);
    assert!(
        !host.kinds().contains(&EventKind::Reply)
            || host.events("replies", 1, |event| event.kind == EventKind::Reply).len() == 1,
        "that of the open"
    );
}

#[test]
fn changes_of_the_tools_are_heard() {
    let host = Host::new();
    let server = host.server();
    let legacy = host.connection_of(server, "2025-06-18");
    let (modern, _) = host.opened(json!({"client": {"revision": "2026-07-28", "listen": true}, "transport": {"type": "memory", "server": server}}));
    // The connection is open only when its stream is: nothing that follows is missed.
    host.port.notify(legacy, br#"{"method":"notifications/roots/list_changed"}"#).unwrap();
    let tool = host.echo(server);
    for connection in [legacy, modern] {
        host.event("the change", |event| {
            event.handle == connection && event.name == "notifications/tools/list_changed"
        });
    }
    host.port.unregister(tool).unwrap();
    assert_eq!(host.port.unregister(tool).unwrap_err().kind, ErrorKind::InvalidArgument);
    assert_eq!(
        host.describe(server),
        json!({"kind": "server", "tools": [], "resources": [], "resourceTemplates": [], "prompts": []})
    );
    assert_eq!(host.failure(host.call(legacy, "echo", json!({"message": "x"})))["code"], -32602);
}

#[test]
fn freeing_a_server_frees_the_handles_of_its_tools() {
    let host = Host::new();
    let before = host.things();
    let (server, other) = (host.server(), host.server());
    for number in 0..10 {
        host.tool(server, &format!("t{number}"));
    }
    let kept = host.tool(other, "kept");
    let echo = host.echo(server);
    let connection = host.connection(server);
    host.port.unregister(server).unwrap();
    assert_eq!(host.port.unregister(echo).unwrap_err().kind, ErrorKind::InvalidArgument);
    assert_eq!(
        host.register("tool", json!({"server": server, "tool": {"name": "t"}})).unwrap_err().kind,
        ErrorKind::Closed
    );
    assert_eq!(text(&host.result(connection, "echo", json!({"message": "still served"}))), "still served");
    host.port.unregister(kept).unwrap();
    host.port.unregister(other).unwrap();
    assert_eq!(host.things(), before + 1, "the connection");
}

#[test]
fn describing_a_call() {
    let host = Host::new();
    let server = host.server();
    let tool = host.tool(server, "t");
    let (connection, _) = host.opened(json!({
        "client": {"info": {"name": "me", "version": "2"}, "revision": "2025-11-25"},
        "transport": {"type": "memory", "server": server},
    }));
    let params = json!({"name": "t", "_meta": {"com.example/a": 1}});
    host.request(connection, json!({"method": "tools/call", "params": params, "progress": true}));
    let described = host.describe(host.called(tool).ticket);
    assert_eq!(described["kind"], "call");
    assert_eq!(
        (&described["name"], &described["revision"], &described["progress"]),
        (&json!("t"), &json!("2025-11-25"), &json!(true))
    );
    assert_eq!((&described["clientInfo"]["name"], &described["clientCapabilities"]), (&json!("me"), &json!({})));
    assert_eq!(described["meta"]["com.example/a"], 1);
}

/// MISC-10: of a client.
#[test]
fn misc_10_unknown_members_are_passed_on_unchanged() {
    let host = Host::new();
    let server = host.server();
    let vendor = json!({"deep": [1, {"null": null}]});
    let tool = host.register("tool", json!({"server": server, "tool": {"name": "t"}})).unwrap();
    let listener = host.mount(server, json!({}));
    let (mut message, headers) = mounted::modern("tools/call", json!({"name": "t"}));
    let info = json!({"name": "me", "version": "2", "x-vendor": vendor});
    let capabilities = json!({"x-vendor": vendor, "experimental": {"x": {}}, "extensions": {"com.example/x": vendor}});
    message["params"]["_meta"]["io.modelcontextprotocol/clientInfo"] = info.clone();
    message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let exchange = host.post(listener, &headers, &message);
    let call = host.event("the call", |event| event.kind == EventKind::Call && event.handle == tool).ticket;
    let described = host.describe(call);
    assert_eq!((&described["clientInfo"], &described["clientCapabilities"]), (&info, &capabilities));
    host.port.complete(call, Shape::Text, "x".into()).unwrap();
    assert_eq!(host.response(exchange).status, 200);
}

#[test]
fn a_removed_feature_is_released_after_its_last_call() {
    let host = Host::new();
    let server = host.server();
    let tool = host.tool(server, "t");
    let connection = host.connection(server);
    let requests: Vec<_> = (0..2).map(|_| host.call(connection, "t", json!({}))).collect();
    let calls = host.events("calls", 2, |event| event.kind == EventKind::Call && event.handle == tool);
    host.port.unregister(tool).unwrap();
    for (call, answer) in calls.iter().zip(["first", "second"]) {
        assert!(!host.kinds().contains(&EventKind::Freed));
        assert!(host.port.complete(call.ticket, Shape::Text, answer.into()).unwrap());
    }
    for (request, expected) in requests.into_iter().zip(["first", "second"]) {
        assert_eq!(text(&body(&host.reply(request))), expected);
    }
    host.event("that the tool is free", |event| event.kind == EventKind::Freed && event.handle == tool);
}

#[test]
fn what_a_server_offered_is_free_with_it() {
    let host = Host::new();
    let server = host.server();
    let tools = [host.tool(server, "a"), host.tool(server, "b")];
    let connection = host.connection(server);
    host.port.unregister(server).unwrap();
    host.port.close(connection, 0).unwrap();
    for tool in tools {
        host.event("that a tool is free", |event| event.kind == EventKind::Freed && event.handle == tool);
    }
}
