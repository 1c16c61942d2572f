//! A server inside a web framework: requests in, responses out, credit, disconnects, the end.

use super::*;
use trunkline_bridge::ErrorKind;

/// A response as the host got it.
pub(super) struct Response {
    pub(super) status: u64,
    pub(super) headers: HashMap<String, String>,
    body: Vec<u8>,
    end: Event,
}

impl Response {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{:?}", String::from_utf8_lossy(&self.body)))
    }
}

impl Host {
    pub(super) fn mount(&self, server: u64, options: Value) -> u64 {
        let mut transport = json!({"type": "http", "mounted": true});
        transport.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        self.opened(json!({"server": server, "transport": transport})).0
    }

    pub(super) fn http(&self, listener: u64, head: Value, body: &[u8]) -> u64 {
        let head = head.to_string();
        let exchange = self.port.http_request(listener, head.as_bytes(), body.is_empty()).unwrap();
        if !body.is_empty() {
            let (first, second) = body.split_at(body.len() / 2);
            self.port.http_body(exchange, first.to_vec().into(), false).unwrap();
            self.port.http_body(exchange, second.to_vec().into(), true).unwrap();
        }
        exchange
    }

    pub(super) fn post(&self, listener: u64, more: &[(&str, &str)], message: &Value) -> u64 {
        self.http(listener, head("POST", "/", more), message.to_string().as_bytes())
    }

    fn of(&self, exchange: u64, kind: EventKind) -> Event {
        self.event(&format!("{kind:?}"), |event| event.kind == kind && event.ticket == exchange)
    }

    fn received(&self, exchange: u64) -> Vec<u8> {
        let heard = self.heard.0.lock().unwrap();
        let chunks = heard.iter().filter(|event| event.kind == EventKind::HttpChunk && event.ticket == exchange);
        chunks.flat_map(|event| bytes(event).to_vec()).collect()
    }

    /// The whole response.
    pub(super) fn response(&self, exchange: u64) -> Response {
        let end = self.of(exchange, EventKind::HttpEnd);
        let head = body(&self.of(exchange, EventKind::HttpHead));
        let headers = head["headers"].as_array().unwrap().iter();
        Response {
            status: head["status"].as_u64().unwrap(),
            headers: headers
                .map(|pair| (pair[0].as_str().unwrap().to_owned(), pair[1].as_str().unwrap().to_owned()))
                .collect(),
            body: self.received(exchange),
            end,
        }
    }

    pub(super) fn settle(&self) {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

pub(super) fn head(method: &str, path: &str, more: &[(&str, &str)]) -> Value {
    let usual = [
        ("host", "localhost:8000"),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    let headers: Vec<_> = usual.iter().filter(|(name, _)| more.iter().all(|it| it.0 != *name)).chain(more).collect();
    json!({"method": method, "path": path, "headers": headers})
}

pub(super) fn modern(method: &str, params: Value) -> (Value, Vec<(&'static str, String)>) {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut headers = vec![("mcp-protocol-version", "2026-07-28".to_owned()), ("mcp-method", method.to_owned())];
    if let Some(name) = params["name"].as_str() {
        headers.push(("mcp-name", name.to_owned()));
    }
    (json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}), headers)
}

fn call_modern(host: &Host, listener: u64, tool: &str, arguments: Value) -> u64 {
    let (message, headers) = modern("tools/call", json!({"name": tool, "arguments": arguments}));
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    host.post(listener, &headers, &message)
}

/// Opens a session of 2025-11-25 and returns its id.
fn session(host: &Host, listener: u64) -> String {
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let mut opened = host.response(host.post(listener, &[], &initialize));
    assert_eq!(opened.json()["result"]["protocolVersion"], "2025-11-25");
    opened.headers.remove("mcp-session-id").unwrap()
}

#[test]
fn requests_of_both_eras_are_answered_without_a_socket() {
    let mut host = Host::new();
    let server = host.server();
    host.echo(server);
    let listener = host.mount(server, json!({}));

    let answered = host.response(call_modern(&host, listener, "echo", json!({"message": "hello"})));
    assert_eq!((answered.status, answered.end.ok()), (200, true));
    assert_eq!(text(&answered.json()["result"]), "hello");
    assert_eq!(answered.headers["content-length"], answered.body.len().to_string());

    let id = session(&host, listener);
    let session: &[(&str, &str)] = &[("mcp-session-id", &id), ("mcp-protocol-version", "2025-11-25")];
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let accepted = host.post(listener, session, &note);
    assert_eq!(body(&host.of(accepted, EventKind::HttpHead))["empty"], true);
    assert_eq!(host.response(accepted).status, 202);
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo", "arguments": {"message": "again"}}});
    assert_eq!(text(&host.response(host.post(listener, session, &call)).json()["result"]), "again");
    let ended = host.response(host.http(listener, head("DELETE", "/", session), b""));
    assert_eq!((ended.status, ended.headers.get("content-length"), &*ended.body), (204, None, &b""[..]));
    let things = host.things();
    host.stop(1_000);
    assert_eq!(things, 3, "a server, a tool, a listener: exchanges that are over hold no numbers");
}

#[test]
fn the_address_of_a_peer_may_have_a_zone() {
    let host = Host::new();
    let server = host.server();
    let tool = host.tool(server, "who");
    let listener = host.mount(server, json!({}));
    let (message, headers) = modern("tools/call", json!({"name": "who", "arguments": {}}));
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut head = head("POST", "/", &headers);
    head["remoteAddress"] = json!("fe80::1%eth0");
    host.http(listener, head, message.to_string().as_bytes());
    let call = host.called(tool).ticket;
    assert_eq!(host.describe(call)["remoteAddress"], "fe80::1");
}

#[test]
fn a_response_flows_as_fast_as_it_is_taken() {
    let host = Host::new();
    let server = host.server();
    host.echo(server);
    let listener = host.mount(server, json!({}));
    let long = "x".repeat(300_000);
    let exchange = call_modern(&host, listener, "echo", json!({"message": long}));
    host.of(exchange, EventKind::HttpChunk);
    host.settle();
    assert_eq!(host.received(exchange).len(), 64 << 10, "no more than what is granted at first");
    host.port.http_credit(exchange, 1_000).unwrap();
    host.port.http_credit(exchange, 0).unwrap();
    host.settle();
    assert_eq!(host.received(exchange).len(), (64 << 10) + 1_000);
    host.port.http_credit(exchange, u64::MAX).unwrap();
    let answered = host.response(exchange);
    assert_eq!(text(&answered.json()["result"]), long);
    // An exchange that is over is not disturbed.
    host.port.http_credit(exchange, 1).unwrap();
    assert!(!host.port.http_body(exchange, "late".into(), true).unwrap());
    host.port.cancel(exchange, "").unwrap();
}

#[test]
fn http_24_a_modern_client_that_goes_away_cancels_its_call() {
    let host = Host::new();
    let server = host.server();
    let tool = host.tool(server, "slow");
    let listener = host.mount(server, json!({}));
    let exchange = call_modern(&host, listener, "slow", json!({}));
    let call = host.called(tool).ticket;
    host.port.cancel(exchange, "the client is gone").unwrap();
    host.event("the cancellation", |event| event.kind == EventKind::Cancel && event.ticket == call);
    let end = host.of(exchange, EventKind::HttpEnd);
    assert_eq!((end.ok(), &body(&end)["kind"]), (false, &json!("cancelled")));
    assert!(host.received(exchange).is_empty());
}

#[test]
fn http_22_a_disconnecting_legacy_client_cancels_nothing_without_a_notification() {
    let host = Host::new();
    let server = host.server();
    host.echo(server);
    let tool = host.tool(server, "slow");
    let listener = host.mount(server, json!({}));
    let id = session(&host, listener);
    let session: &[(&str, &str)] = &[("mcp-session-id", &id), ("mcp-protocol-version", "2025-11-25")];
    let call = |id: u64, name: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": {"message": "hello"}}});
    let exchange = host.post(listener, session, &call(2, "slow"));
    let running = host.called(tool).ticket;
    host.port.cancel(exchange, "the client is gone").unwrap();
    assert!(!host.of(exchange, EventKind::HttpEnd).ok());

    let answered = host.response(host.post(listener, session, &call(3, "echo")));
    assert_eq!(text(&answered.json()["result"]), "hello");
    host.settle();
    let is_cancel = |event: &Event| event.kind == EventKind::Cancel && event.ticket == running;
    assert!(!host.heard.0.lock().unwrap().iter().any(is_cancel));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}});
    assert_eq!(host.response(host.post(listener, session, &cancel)).status, 202);
    host.event("the cancellation", is_cancel);
}

#[test]
fn messages_before_the_answer_are_streamed() {
    let host = Host::new();
    let server = host.server();
    host.tool_with(server, json!({"name": "steps"}), |port, event| {
        port.notify(event.ticket, br#"{"progress":1}"#).unwrap();
        port.complete(event.ticket, Shape::Text, "done".into()).unwrap();
    });
    let listener = host.mount(server, json!({}));
    let (mut message, headers) = modern("tools/call", json!({"name": "steps"}));
    message["params"]["_meta"]["progressToken"] = json!("p");
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let answered = host.response(host.post(listener, &headers, &message));
    assert_eq!(answered.headers["content-type"], "text/event-stream");
    assert_eq!(answered.headers.get("content-length"), None);
    let events = String::from_utf8(answered.body).unwrap();
    assert!(events.find("notifications/progress").unwrap() < events.find("done").unwrap(), "{events}");
}

#[test]
fn http_03_only_names_of_this_machine_unless_others_are_allowed() {
    let host = Host::new();
    let server = host.server();
    let (listener, open) =
        (host.mount(server, json!({})), host.mount(server, json!({"allowedHosts": ["mcp.example"]})));
    let (message, mut headers) = modern("tools/list", json!({}));
    headers.push(("host", "mcp.example".into()));
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let refused = host.response(host.post(listener, &headers, &message));
    assert_eq!(refused.status, 403);
    let why = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(why.contains("mcp.example") && why.contains("allowed hosts"), "{why}");
    assert_eq!(host.response(host.post(open, &headers, &message)).status, 200);
}

#[test]
fn what_is_no_http_request_is_refused_to_the_client_and_what_is_no_head_to_the_host() {
    let host = Host::new();
    let server = host.server_with(json!({"maxMessageBytes": 100}));
    let listener = host.mount(server, json!({"path": "/mcp"}));
    for wrong in [
        json!({"method": "PO ST", "path": "/mcp", "headers": []}),
        json!({"method": "POST", "path": "/a b", "headers": []}),
        json!({"method": "POST", "path": "/mcp", "headers": [["a b", "c"]]}),
        json!({"method": "POST", "path": "/mcp", "headers": [["a", "b\nc"]]}),
        json!({"method": "POST", "path": "/mcp", "headers": [["a", "\u{1000}"]]}),
    ] {
        assert_eq!(host.response(host.http(listener, wrong.clone(), b"")).status, 400, "{wrong}");
    }
    for (path, status) in [("/mcp", 405), ("/mcp/", 405), ("/other", 404), ("/mcp/x", 404)] {
        assert_eq!(host.response(host.http(listener, head("PUT", path, &[]), b"")).status, status, "{path}");
    }
    let exchange = host.port.http_request(listener, head("POST", "/mcp", &[]).to_string().as_bytes(), false).unwrap();
    assert!(host.port.http_body(exchange, vec![b' '; 60].into(), false).unwrap());
    host.port.http_body(exchange, vec![b' '; 60].into(), false).unwrap();
    assert_eq!(host.response(exchange).status, 413);
    assert!(!host.port.http_body(exchange, vec![b' '; 60].into(), true).unwrap());

    let invalid = |outcome: Result<u64, BridgeError>, part: &str| {
        let error = outcome.unwrap_err();
        assert!(error.kind == ErrorKind::InvalidArgument && error.message.contains(part), "{error}");
    };
    invalid(host.port.http_request(listener, br#"{"method":"GET"}"#, true), "path");
    let (socket, _) = host.opened(json!({"server": server, "transport": {"type": "http", "port": 0}}));
    invalid(host.port.http_request(socket, head("GET", "/", &[]).to_string().as_bytes(), true), "mounted");
    let hosted = json!({"server": server, "transport": {"type": "http", "mounted": true, "host": "0.0.0.0"}});
    invalid(host.port.open(hosted.to_string().as_bytes()), "transport.host");
    let socket = json!({"server": server, "transport": {"type": "http", "mounted": true, "unix": "server.sock"}});
    invalid(host.port.open(socket.to_string().as_bytes()), "unix");
}

#[test]
fn closing_lets_calls_end_until_the_deadline_and_then_fails_them_and_cuts_the_rest() {
    let mut host = Host::new();
    let server = host.server();
    let (slow, stuck) = (host.tool(server, "slow"), host.tool(server, "stuck"));
    let listener = host.mount(server, json!({}));
    let (first, second) =
        (call_modern(&host, listener, "slow", json!({})), call_modern(&host, listener, "stuck", json!({})));
    let (call, _) = (host.called(slow), host.called(stuck));
    let waiting = host.port.http_request(listener, head("POST", "/", &[]).to_string().as_bytes(), false).unwrap();
    host.port.close(listener, 300).unwrap();
    host.settle();
    assert_eq!(host.response(call_modern(&host, listener, "slow", json!({}))).status, 503, "no new work");
    assert!(host.port.complete(call.ticket, Shape::Text, "in time".into()).unwrap());
    assert_eq!(text(&host.response(first).json()["result"]), "in time");
    host.event("the end", |event| event.kind == EventKind::Closed && event.handle == listener);
    assert_eq!(host.response(second).json()["error"]["data"]["reason"], "interrupted");
    let end = host.of(waiting, EventKind::HttpEnd);
    assert_eq!((end.ok(), &body(&end)["kind"]), (false, &json!("closed")));
    host.event("the cancellation", |event| event.kind == EventKind::Cancel && event.handle == stuck);
    let heard = host.heard.0.lock().unwrap().clone();
    let last = heard.iter().rposition(|event| event.kind == EventKind::HttpEnd).unwrap();
    assert!(last < heard.iter().position(|event| event.kind == EventKind::Closed).unwrap());
    let refused = host.port.http_request(listener, head("GET", "/", &[]).to_string().as_bytes(), true);
    assert_eq!(refused.unwrap_err().kind, ErrorKind::Closed);
    host.stop(1_000);
}

#[test]
fn sse_02_below_a_prefix_messages_are_posted_next_to_the_stream() {
    let host = Host::new();
    let server = host.server();
    for options in [json!({}), json!({"path": "/mcp"})] {
        let listener = host.mount(server, options);
        let stream = host.http(listener, head("GET", "/sse", &[("accept", "text/event-stream")]), b"");
        let first = String::from_utf8(bytes(&host.of(stream, EventKind::HttpChunk)).to_vec()).unwrap();
        assert!(first.contains("event: endpoint") && first.contains("data: messages?sessionId="), "{first}");
        host.port.cancel(stream, "").unwrap();
        host.of(stream, EventKind::HttpEnd);
    }
}

#[test]
fn aus_01_sse_01_unserved_paths_are_left_to_the_framework_on_request() {
    let host = Host::new();
    let server = host.server();
    let auth = json!({"resource": "https://mcp.example/mcp", "issuer": "https://auth.example"});
    let listener = host.mount(server, json!({"path": "/mcp", "auth": auth}));
    let offered = |method: &str, path: &str| {
        let mut head = head(method, path, &[]);
        head["optional"] = true.into();
        host.port.http_request(listener, head.to_string().as_bytes(), true).unwrap()
    };
    for path in ["/", "/mcp/x", "/other", "/.well-known/oauth-protected-resource/other", "/a b"] {
        assert_eq!(offered("GET", path), 0, "{path}");
        assert_eq!(offered("POST", path), 0, "{path}");
    }
    for (path, status) in [
        ("/mcp", 401),
        ("/mcp/", 401),
        ("/sse", 401),
        ("/.well-known/oauth-protected-resource", 200),
        ("/.well-known/oauth-protected-resource/mcp", 200),
    ] {
        assert_eq!(host.response(offered("GET", path)).status, status, "{path}");
    }
    assert_eq!(host.response(offered("POST", "/messages")).status, 401);
}
