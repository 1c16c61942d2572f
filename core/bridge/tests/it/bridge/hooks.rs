//! Middleware and providers.

use super::*;

/// A middleware or provider whose calls a function answers.
fn hook(host: &Host, kind: &str, description: Value, function: impl Fn(&Port, &Event) + Send + Sync + 'static) {
    let handle = host.register(kind, description).unwrap();
    host.functions.lock().unwrap().insert(handle, Arc::new(function));
}

#[test]
fn middleware_passes_on_what_the_one_before_it_made_of_the_params() {
    let host = Host::new();
    let server = host.server();
    host.echo(server);
    let middleware = json!({"server": server, "methods": ["tools/call"]});
    let outer = host.register("middleware", middleware.clone()).unwrap();
    let inner = host.register("middleware", middleware).unwrap();
    let connection = host.connection(server);
    let request = host.call(connection, "echo", json!({"message": "as it came"}));

    let first = host.called(outer);
    assert_eq!(body(&first)["params"]["arguments"]["message"], "as it came");
    let changed = json!({"method": "next", "params": {"name": "echo", "arguments": {"message": "changed"}}});
    let rest = host.request(first.ticket, changed);
    let second = host.called(inner);
    assert_eq!(body(&second)["params"]["arguments"]["message"], "changed");
    let inmost = host.reply(host.request(second.ticket, json!({"method": "next"})));
    assert_eq!(text(&body(&inmost)), "changed");
    assert!(host.port.complete(second.ticket, Shape::Result, bytes(&inmost)).unwrap());
    assert!(host.port.complete(first.ticket, Shape::Result, bytes(&host.reply(rest))).unwrap());
    assert_eq!(text(&body(&host.reply(request))), "changed");
}

#[test]
fn cch_01_a_result_that_middleware_makes_itself_fits_the_revision() {
    let host = Host::new();
    let server = host.server_with(json!({"ttlMs": 7}));
    host.echo(server);
    hook(&host, "middleware", json!({"server": server, "methods": ["tools/list"]}), |port, event| {
        let tool = json!({"name": "own", "title": "Own", "inputSchema": {"type": "object"}});
        port.complete(event.ticket, Shape::Result, json!({"tools": [tool]}).to_string().into()).unwrap();
    });
    let list = |revision| {
        let connection = host.connection_of(server, revision);
        body(&host.reply(host.request(connection, json!({"method": "tools/list"}))))
    };
    let modern = list("2026-07-28");
    assert_eq!(modern["tools"][0]["title"], "Own");
    assert_eq!(
        (&modern["resultType"], &modern["ttlMs"], &modern["cacheScope"]),
        (&json!("complete"), &json!(7), &json!("private"))
    );
    let tool = json!({"name": "own", "inputSchema": {"type": "object"}});
    assert_eq!(list("2025-03-26"), json!({"tools": [tool]}));
}

#[test]
fn what_one_provider_does_not_know_the_next_is_asked_for() {
    let host = Host::new();
    let server = host.server();
    for (of, key) in [("tools", "name"), ("prompts", "name"), ("resources", "uri")] {
        for mine in ["test://a", "test://b"] {
            hook(&host, "provider", json!({"server": server, "of": of}), move |port, event| {
                let asked = body(event);
                let answer = if asked["get"][key] == mine { json!(mine) } else { Value::Null };
                port.complete(event.ticket, Shape::Value, answer.to_string().into()).unwrap();
            });
        }
    }
    let connection = host.connection(server);
    for (method, key, code) in
        [("tools/call", "name", -32602), ("prompts/get", "name", -32602), ("resources/read", "uri", -32602)]
    {
        let ask = |thing: &str| host.reply(host.request(connection, json!({"method": method, "params": {key: thing}})));
        for known in ["test://a", "test://b"] {
            let reply = ask(known);
            assert!(reply.ok() && body(&reply).to_string().contains(known), "{method}: {}", body(&reply));
        }
        assert_eq!(body(&ask("test://c"))["code"], code, "{method}");
    }
}

#[test]
fn a_server_tells_its_clients_in_words_of_the_core() {
    let host = Host::new();
    let server = host.server();
    for category in ["tools", "resources", "prompts"] {
        host.register("provider", json!({"server": server, "of": category})).unwrap();
    }
    let connection = host.connection_of(server, "2025-11-25");
    for (category, told) in [
        ("tools", "notifications/tools/list_changed"),
        ("resourceTemplates", "notifications/resources/list_changed"),
        ("prompts", "notifications/prompts/list_changed"),
    ] {
        host.port.notify(server, json!({"listChanged": category}).to_string().as_bytes()).unwrap();
        host.event(told, |event| event.handle == connection && event.name == told);
    }
    for wrong in [json!({"listChanged": "tolls"}), json!({"method": "notifications/tools/list_changed"})] {
        let error = host.port.notify(server, wrong.to_string().as_bytes()).unwrap_err();
        assert_eq!(error.kind, trunkline_bridge::ErrorKind::InvalidArgument, "{error:?}");
    }
    host.port.notify(server, br#"{"resourceUpdated": "a:b", "elicitationComplete": "x"}"#).unwrap();
    let list = host.request(connection, json!({"method": "tools/list", "all": true}));
    let asked = host.event("the list", |event| event.kind == EventKind::Call);
    host.port.complete(asked.ticket, Shape::Value, br#"{"items": []}"#[..].into()).unwrap();
    assert_eq!(body(&host.reply(list)), json!({"tools": []}));
}
