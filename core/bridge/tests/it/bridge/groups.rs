//! Groups: many servers behind one connection.

use super::*;
use std::time::Duration;

/// A server with the tool `echo`, at a URL.
fn at_url(host: &Host) -> (u64, String) {
    let server = host.server();
    host.echo(server);
    let transport = json!({"type": "http", "port": 0});
    let (_, listening) = host.opened(json!({"server": server, "transport": transport}));
    (server, listening["url"].as_str().unwrap().to_owned())
}

fn group(servers: &Value) -> Value {
    json!({"client": {}, "transport": {"type": "group", "servers": servers}})
}

fn servers(host: &Host, group: u64) -> Vec<Value> {
    let reply = host.reply(host.request(group, json!({"method": "servers"})));
    body(&reply)["servers"].as_array().unwrap().clone()
}

fn tools(host: &Host, group: u64) -> Vec<String> {
    let reply = host.reply(host.request(group, json!({"method": "tools/list", "all": true})));
    let tools = body(&reply)["tools"].as_array().unwrap().clone();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn states(servers: &[Value]) -> Vec<(&str, &str)> {
    servers.iter().map(|server| (server["name"].as_str().unwrap(), server["state"].as_str().unwrap())).collect()
}

#[test]
fn one_failing_server_does_not_affect_the_others() {
    let host = Host::new();
    let ((_, first), (_, second)) = (at_url(&host), at_url(&host));
    let given = json!({"mcpServers": {
        "a": {"url": first}, "b": {"type": "http", "url": second}, "gone": {"command": "/no/such/program"}, "typo": {"comand": "x"},
    }});
    let (group, facts) = host.opened(group(&given));
    assert_eq!(facts["serverInfo"]["name"], "group");
    let servers = servers(&host, group);
    assert_eq!(
        states(&servers),
        [("a", "connected"), ("b", "connected"), ("gone", "disconnected"), ("typo", "disconnected")]
    );
    assert_eq!((&servers[0]["revision"], &servers[0]["serverInfo"]["name"]), (&json!("2026-07-28"), &json!("host")));
    assert!(servers[0].get("error").is_none());
    assert_eq!(servers[2]["error"]["kind"], "transport");
    assert!(servers[2]["error"]["message"].as_str().unwrap().contains("/no/such/program"), "{}", servers[2]);
    assert_eq!(servers[3]["error"]["kind"], "invalidArgument");
    assert!(servers[3]["error"]["message"].as_str().unwrap().contains("/mcpServers/typo"), "{}", servers[3]);
    assert_eq!(tools(&host, group), ["a__echo", "b__echo"]);
    assert_eq!(text(&host.result(group, "b__echo", json!({"message": "hi"}))), "hi");
    let error = host.failure(host.call(group, "gone__x", json!({})));
    assert_eq!(error["kind"], "transport");
}

#[test]
fn servers_are_added_and_removed_while_the_group_is_open() {
    let host = Host::new();
    let ((_, first), (server, second)) = (at_url(&host), at_url(&host));
    let (group, _) = host.opened(group(&json!({"a": first})));
    let changed = |count: usize| {
        host.events("changes of tools", count, |event| {
            event.kind == EventKind::Notification && event.name == "notifications/tools/list_changed"
        })
    };
    let add = |name: &str, target: &Value| {
        host.request(group, json!({"method": "add_server", "params": {"name": name, "target": target}}))
    };
    assert!(host.reply(add("b", &json!(second))).ok());
    changed(1);
    assert_eq!(text(&host.result(group, "b__echo", json!({"message": "hi"}))), "hi");
    host.tool(server, "late");
    changed(2);
    assert_eq!(tools(&host, group), ["a__echo", "b__echo", "b__late"]);
    assert_eq!(host.failure(add("b", &json!(second)))["kind"], "invalidArgument", "the name is taken");
    let gone = host.failure(add("gone", &json!(["/no/such/program"])));
    assert_eq!(gone["kind"], "transport");
    assert_eq!(servers(&host, group)[2]["state"], "disconnected", "it stays in the group");
    let again = host.request(group, json!({"method": "reconnect_server", "params": {"name": "gone"}}));
    assert_eq!(host.failure(again)["kind"], "transport");
    let remove = json!({"method": "remove_server", "params": {"name": "b"}});
    assert!(host.reply(host.request(group, remove.clone())).ok());
    changed(3);
    assert_eq!(states(&servers(&host, group)), [("a", "connected"), ("gone", "disconnected")]);
    assert_eq!(host.failure(host.request(group, remove))["kind"], "invalidArgument");
}

#[test]
fn invalid_groups_are_refused_with_their_path() {
    let host = Host::new();
    let (server, url) = at_url(&host);
    let refused = |given: Value| host.port.open(given.to_string().as_bytes()).unwrap_err().message;
    assert!(refused(group(&json!("no-such-file.json"))).contains("no-such-file.json: cannot be read"));
    assert!(refused(group(&json!(5))).contains("transport.servers"));
    let with_auth = |auth: Value| {
        let mut given = group(&json!({"a": url}));
        given["auth"] = auth;
        refused(given)
    };
    assert!(with_auth(json!({"token": "secret"})).contains("access_token"), "AUC: a token is for one server");
    assert!(with_auth(json!({"clientId": "a", "clientSecret": "b"})).contains("auth.issuer"));

    let (open, _) = host.opened(group(&json!({"a": url})));
    let request =
        |target: u64, json: Value| host.port.request(target, json.to_string().as_bytes()).unwrap_err().message;
    let add = |params: Value| request(open, json!({"method": "add_server", "params": params}));
    assert!(add(json!({"name": "b"})).contains("target"));
    assert!(add(json!({"name": "b", "target": 5})).contains("target: "));
    assert!(add(json!({"name": "b", "target": "x", "more": 1})).contains("more"));
    let single = host.connection(server);
    assert!(request(single, json!({"method": "servers"})).contains("is for groups"));
}

#[test]
fn eli_22_the_host_knows_which_server_of_a_group_asks() {
    let host = Host::new();
    let server = host.server();
    let tool = json!({"name": "greet", "inputSchema": {"type": "object"}});
    host.tool_with(server, tool, |port, event| {
        let call: Value = serde_json::from_str(&port.describe(event.ticket).unwrap()).unwrap();
        let (shape, answer) = match call["inputResponses"]["name"].clone() {
            Value::Null => {
                let form = json!({"message": "?", "requestedSchema": {"type": "object", "properties": {}}});
                (Shape::Input, json!({"inputRequests": {"name": {"method": "elicitation/create", "params": form}}}))
            }
            answer => (Shape::Value, answer["action"].clone()),
        };
        port.complete(event.ticket, shape, answer.to_string().into()).unwrap();
    });
    let (_, listening) = host.opened(json!({"server": server, "transport": {"type": "http", "port": 0}}));
    let mut given = group(&json!({"shop": listening["url"]}));
    given["handlers"] = json!({"elicit": "queue"});
    let (open, _) = host.opened(given);
    let transport = json!({"type": "http", "url": listening["url"]});
    let (single, _) = host.opened(json!({"client": {}, "transport": transport, "handlers": {"elicit": "queue"}}));
    for (connection, tool, name) in [(open, "shop__greet", json!("shop")), (single, "greet", Value::Null)] {
        let call = host.call(connection, tool, json!({}));
        let asked = host.event("a request of the server", |event| {
            event.kind == EventKind::Call && event.handle == connection && event.name == "elicit"
        });
        assert_eq!(body(&asked)["serverName"], name);
        let answer = json!({"action": "decline"}).to_string();
        host.port.complete(asked.ticket, Shape::Result, answer.into()).unwrap();
        assert!(text(&body(&host.reply(call))).contains("decline"));
    }
}

#[test]
fn a_group_ends_within_its_deadline_whatever_its_servers_do() {
    let host = Host::new();
    let before = host.things();
    // Takes connections, and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let hanging = format!("http://{}/mcp", silent.local_addr().unwrap());
    let started = Instant::now();
    let opening = host.open(group(&json!({"hanging": hanging})));
    host.port.close(opening, 100).unwrap();
    assert_eq!(host.failure(opening)["kind"], "closed");

    let (_, url) = at_url(&host);
    let mut given = group(&json!({"a": url, "hanging": hanging}));
    given["client"] = json!({"connectTimeoutMs": 2_000});
    let (open, _) = host.opened(given);
    let servers = servers(&host, open);
    assert_eq!(states(&servers), [("a", "connected"), ("hanging", "disconnected")]);
    assert_eq!(servers[1]["error"]["kind"], "timeout");
    let again = json!({"method": "reconnect_server", "params": {"name": "hanging"}, "timeoutMs": 50});
    assert_eq!(host.failure(host.request(open, again))["kind"], "timeout");
    host.port.close(open, 100).unwrap();
    host.event("the end", |event| event.kind == EventKind::Closed && event.handle == open);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    // The listener and what it serves are left.
    assert_eq!(host.things(), before + 3);
}

#[test]
fn a_server_is_not_its_own_proxy() {
    let host = Host::new();
    let server = host.server();
    let own = host.connection(server);
    let (group, _) = host.opened(group(&json!({"me": {"connection": own}})));
    for connection in [own, group] {
        let error = host.register("proxy", json!({"server": server, "connection": connection})).unwrap_err();
        assert!(error.message.contains("this server itself"), "{error:?}");
    }
}
