//! Requests of servers that the host answers: calls of a connection.

use super::*;

/// A tool that needs a name of the user, and answers with the client's answer.
fn asking(host: &Host, server: u64) {
    let tool = json!({"name": "greet", "inputSchema": {"type": "object"}});
    host.tool_with(server, tool, |port, event| {
        let call: Value = serde_json::from_str(&port.describe(event.ticket).unwrap()).unwrap();
        match call["inputResponses"]["name"].clone() {
            Value::Null => {
                let form = json!({"message": "Your name?", "requestedSchema": {
                    "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"],
                }});
                let requests = json!({"inputRequests": {"name": {"method": "elicitation/create", "params": form}}});
                port.complete(event.ticket, Shape::Input, requests.to_string().into()).unwrap();
            }
            answer => {
                port.complete(event.ticket, Shape::Text, answer.to_string().into()).unwrap();
            }
        }
    });
}

fn connected(host: &Host, server: u64, revision: &str, handlers: &Value) -> u64 {
    let transport = json!({"type": "memory", "server": server});
    host.opened(json!({"client": {"revision": revision}, "transport": transport, "handlers": handlers})).0
}

/// The call of a request of the server, at the connection.
fn asked(host: &Host, connection: u64) -> Event {
    host.event("a request of the server", |event| event.kind == EventKind::Call && event.handle == connection)
}

#[test]
fn eli_01_a_request_of_the_server_is_a_call_of_its_connection_on_every_revision() {
    for revision in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let host = Host::new();
        let server = host.server();
        asking(&host, server);
        let connection = connected(&host, server, revision, &json!({"elicit": "queue"}));
        let call = host.call(connection, "greet", json!({}));
        let asked = asked(&host, connection);
        assert_eq!((asked.name.as_str(), &body(&asked)["message"]), ("elicit", &json!("Your name?")), "{revision}");

        let wrong_shape = host.port.complete(asked.ticket, Shape::Text, "Ann".into()).unwrap_err();
        assert!(wrong_shape.message.contains("shape result"), "{}", wrong_shape.message);
        assert!(!host.port.cancelled(asked.ticket).unwrap(), "it can still be answered");
        let answer = json!({"action": "accept", "content": {"name": "Ann"}});
        assert!(host.port.complete(asked.ticket, Shape::Result, answer.to_string().into()).unwrap());
        let result = body(&host.reply(call));
        assert_eq!(serde_json::from_str::<Value>(text(&result)).unwrap(), answer, "{revision}");
        assert!(!host.port.complete(asked.ticket, Shape::Result, answer.to_string().into()).unwrap(), "once");
        assert!(!host.port.complete(asked.ticket, Shape::Text, "late".into()).unwrap());
    }
}

#[test]
fn failures_of_the_host_reach_the_server_by_their_kind() {
    let host = Host::new();
    let server = host.server();
    asking(&host, server);
    let connection = connected(&host, server, "2025-11-25", &json!({"elicit": "queue"}));
    let call = host.call(connection, "greet", json!({}));
    let asked = asked(&host, connection);
    let fail = |json: Value| host.port.fail(asked.ticket, json.to_string().as_bytes());
    assert!(fail(json!({"kind": "protocol", "message": "no code"})).unwrap_err().message.contains("code"));
    assert!(fail(json!({"kind": "protocol", "code": -1, "message": "the user refused"})).unwrap());
    assert!(!fail(json!({"kind": "tool", "message": "late"})).unwrap());
    // The server's handler gets the error; its call ends with what it makes of it.
    let reply = host.reply(call);
    assert!(body(&reply).to_string().contains("the user refused"), "{}", body(&reply));
}

#[test]
fn can_01_a_request_that_is_no_longer_needed_is_cancelled() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let host = Host::new();
        let server = host.server();
        asking(&host, server);
        let connection = connected(&host, server, revision, &json!({"elicit": "queue"}));
        let call = host.call(connection, "greet", json!({}));
        let asked = asked(&host, connection);
        host.port.cancel(call, "the user left").unwrap();
        host.event("a cancellation", |event| event.kind == EventKind::Cancel && event.ticket == asked.ticket);
        assert!(host.port.cancelled(asked.ticket).unwrap(), "{revision}");
        assert!(!host.port.complete(asked.ticket, Shape::Result, "{}".into()).unwrap(), "{revision}");
    }
}

#[test]
fn nothing_is_left_of_requests_when_their_connection_closes() {
    let host = Host::new();
    let server = host.server();
    asking(&host, server);
    let before = host.things();
    let connection = connected(&host, server, "2026-07-28", &json!({"elicit": "queue"}));
    let call = host.call(connection, "greet", json!({}));
    let asked = asked(&host, connection);
    host.port.close(connection, 0).unwrap();
    host.event("the end", |event| event.kind == EventKind::Closed && event.handle == connection);
    host.event("a cancellation", |event| event.kind == EventKind::Cancel && event.ticket == asked.ticket);
    assert_eq!(host.failure(call)["kind"], "closed");
    assert_eq!(host.things(), before);
}

#[test]
fn handlers_and_roots_change_while_connected() {
    let host = Host::new();
    let server = host.server();
    asking(&host, server);
    let tool = json!({"name": "where", "inputSchema": {"type": "object"}});
    host.tool_with(server, tool, |port, event| {
        let call: Value = serde_json::from_str(&port.describe(event.ticket).unwrap()).unwrap();
        let (shape, answer) = match &call["inputResponses"]["roots"] {
            Value::Null => (Shape::Input, json!({"inputRequests": {"roots": {"method": "roots/list", "params": {}}}})),
            answer => (Shape::Value, answer["roots"].clone()),
        };
        port.complete(event.ticket, shape, answer.to_string().into()).unwrap();
    });
    let root = |uri: &str| json!([{"uri": uri}]);
    for revision in ["2025-11-25", "2026-07-28"] {
        let client = json!({"revision": revision, "roots": root("file:///a")});
        let transport = json!({"type": "memory", "server": server});
        let (connection, _) = host.opened(json!({"client": client, "transport": transport}));
        let listed = || serde_json::from_str::<Value>(text(&host.result(connection, "where", json!({})))).unwrap();
        let notify = |given: Value| host.port.notify(connection, given.to_string().as_bytes());
        assert_eq!(listed(), root("file:///a"), "{revision}");
        notify(json!({"roots": root("file:///b")})).unwrap();
        assert_eq!(listed(), root("file:///b"), "{revision}");
        let wrong = notify(json!({"roots": root("https://a.b/")})).unwrap_err();
        assert!(wrong.message.contains("file://"), "{}", wrong.message);

        let added = notify(json!({"handlers": {"elicit": "queue"}}));
        if revision == "2026-07-28" {
            added.unwrap();
            let call = host.call(connection, "greet", json!({}));
            let asked = asked(&host, connection);
            host.port.complete(asked.ticket, Shape::Result, json!({"action": "decline"}).to_string().into()).unwrap();
            assert!(text(&body(&host.reply(call))).contains("decline"));
        } else {
            assert!(added.unwrap_err().message.contains("register the handler before connecting"));
        }
    }
}

#[test]
fn handlers_with_a_mistake_are_refused() {
    let host = Host::new();
    let server = host.server();
    let open = |json: Value| host.port.open(json.to_string().as_bytes()).unwrap_err().message;
    let transport = json!({"type": "memory", "server": server});
    let unknown = open(json!({"client": {}, "transport": transport, "handlers": {"ask": "queue"}}));
    assert!(unknown.contains("\"ask\"") && unknown.contains("elicit_url"), "{unknown}");
    let of_server = open(json!({"server": server, "transport": {"type": "stdio"}, "handlers": {"elicit": "queue"}}));
    assert!(of_server.contains("are for clients"), "{of_server}");
    let roots = open(json!({"client": {"roots": [{"name": "no uri"}]}, "transport": transport}));
    assert!(roots.contains("uri"), "{roots}");
}

/// MRTR-16 and MRTR-17 hold for the caller as for the client: the state and the parameters are
/// returned unchanged.
#[test]
fn a_caller_drives_the_rounds_of_input_itself() {
    let mut host = Host::new();
    let server = host.server();
    let tool = json!({"name": "book", "inputSchema": {"type": "object"}});
    host.tool_with(server, tool, |port, event| {
        let call: Value = serde_json::from_str(&port.describe(event.ticket).unwrap()).unwrap();
        let answer = &call["inputResponses"]["who"]["content"]["name"];
        if let Some(name) = answer.as_str() {
            let text = format!("{name} {} {}", call["state"], body(event)["people"]);
            port.complete(event.ticket, Shape::Text, text.into()).unwrap();
            return;
        }
        let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let request = json!({"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": schema}});
        let input = json!({"inputRequests": {"who": request}, "state": 1}).to_string();
        port.complete(event.ticket, Shape::Input, input.into()).unwrap();
    });
    let transport = json!({"type": "memory", "server": server});
    let client = json!({"revision": "2026-07-28"});
    let (connection, _) =
        host.opened(json!({"client": client, "handlers": {"elicit": "queue"}, "transport": transport}));
    let params = json!({"name": "book", "arguments": {"people": 2}});
    let first = json!({"method": "tools/call", "params": params, "manualInput": true});
    let needed = host.failure(host.request(connection, first));
    assert_eq!(
        (&needed["kind"], &needed["data"]["inputRequests"]["who"]["params"]["message"]),
        (&json!("inputRequired"), &json!("Who?"))
    );
    let responses = json!({"who": {"action": "accept", "content": {"name": "Ann"}}});
    let second = json!({"method": "tools/call", "params": params, "inputResponses": responses,
        "requestState": needed["data"]["requestState"]});
    let reply = host.reply(host.request(connection, second));
    assert_eq!(text(&body(&reply)), "Ann 1 2");
    host.stop(1000);
}
