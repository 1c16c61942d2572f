//! Opening: configurations, transports, and requests that do not wait for it.

use super::*;
use crate::process::{File, child, eventually, has_ended};
use serde_json::Map;
use trunkline_bridge::ErrorKind;

/// The transport of a role that this binary plays.
pub(super) fn process(role: &str, file: &File) -> Value {
    let command = child(role, file);
    let env: serde_json::Map<_, _> = command.env.into_iter().map(|(name, value)| (name, value.into())).collect();
    json!({"type": "child", "command": command.command, "env": env})
}

fn invalid(outcome: Result<(), BridgeError>, named: &str) {
    let error = outcome.expect_err(named);
    assert!(error.kind == ErrorKind::InvalidArgument && error.message.contains(named), "{named:?} is not in {error}");
}

#[test]
fn errors_of_registrations_name_what_is_wrong() {
    let host = Host::new();
    let server = host.server();
    for (kind, json, named) in [
        ("nonsense", json!({}), "nonsense"),
        ("server", json!(5), "server"),
        ("server", json!({}), "info"),
        ("server", json!({"info": {"version": "1"}}), "info.name"),
        ("server", json!({"info": {"name": "x", "version": 1}}), "info.version"),
        ("server", json!({"info": {"name": "x", "version": "1"}, "instruction": "x"}), "instruction"),
        ("server", json!({"info": {"name": "x", "version": "1"}, "options": {"pageSize": "many"}}), "options.pageSize"),
        ("server", json!({"info": {"name": "x", "version": "1"}, "options": {"pageSize": -1}}), "options.pageSize"),
        ("server", json!({"info": {"name": "x", "version": "1"}, "options": {"pagesize": 1}}), "pagesize"),
        ("tool", json!({"server": server}), "tool"),
        ("tool", json!({"server": "x", "tool": {}}), "server"),
        ("tool", json!({"server": 12345, "tool": {"name": "t"}}), "12345"),
        ("tool", json!({"server": server, "tool": {}}), "name"),
        ("tool", json!({"server": server, "tool": {"name": "a b"}}), "a b"),
        ("tool", json!({"server": server, "tool": {"name": "t"}, "lane": "slow"}), "lane"),
        ("tool", json!({"server": server, "tool": {"name": "t", "inputSchema": {"type": "array"}}}), "inputSchema"),
        ("tool", json!({"server": server, "tool": {"name": "t", "outputSchema": {"type": 5}}}), "outputSchema"),
        ("tool", json!({"server": server, "tool": {"name": "t"}, "requires": 5}), "requires"),
    ] {
        invalid(host.register(kind, json).map(drop), named);
    }
    invalid(host.port.register("server", b"{").map(drop), "server");
}

#[test]
fn errors_of_openings_name_what_is_wrong() {
    let host = Host::new();
    let server = host.server();
    let memory = json!({"type": "memory", "server": server});
    for (json, named) in [
        (json!({"transport": memory}), "server or client"),
        (json!({"server": server, "client": {}, "transport": memory}), "server or client"),
        (json!({"client": {}}), "transport"),
        (json!({"client": {}, "transport": {}}), "type"),
        (json!({"client": {}, "transport": {"type": "pigeon"}}), "pigeon"),
        (json!({"client": {}, "transport": {"type": "memory", "server": 12345}}), "12345"),
        (json!({"client": {}, "transport": {"type": "child", "command": []}}), "command"),
        (json!({"client": {}, "transport": {"type": "child", "command": "x"}}), "transport"),
        (json!({"client": {}, "transport": {"type": "stdio"}}), "child"),
        (json!({"client": {}, "transport": {"type": "channel"}}), "needs transport_connect"),
        (json!({"client": {}, "transport": {"type": "channel", "url": "x"}}), "transport.url"),
        (json!({"client": {}, "transport": memory, "handlers": {"transport_send": "queue"}}), "transport_send is for"),
        (json!({"client": {}, "transport": {"type": "config"}}), "server"),
        (json!({"client": {}, "transport": {"type": "config", "server": {"comand": "x"}}}), "did you mean \"command\""),
        (
            json!({"client": {}, "transport": {"type": "config", "server": "no/such.json"}}),
            "no/such.json: cannot be read",
        ),
        (json!({"client": {}, "transport": {"type": "http"}}), "url"),
        (json!({"client": {}, "transport": {"type": "http", "url": "nonsense"}}), "nonsense"),
        (json!({"client": {}, "transport": {"type": "http", "url": "http://a.example", "auth": {}}}), "transport.auth"),
        (json!({"client": {}, "transport": {"type": "http", "url": "http://a.example", "mounted": true}}), "mounted"),
        (json!({"client": {"revision": "2020-01-01"}, "transport": memory}), "2020-01-01"),
        (json!({"client": {"info": {"name": "x"}}, "transport": memory}), "info"),
        (json!({"client": {"options": {"timeoutMs": "soon"}}, "transport": memory}), "client.options.timeoutMs"),
        (json!({"server": 12345, "transport": {"type": "http"}}), "12345"),
    ] {
        invalid(host.port.open(json.to_string().as_bytes()).map(drop), named);
    }
}

#[test]
fn errors_of_messages_name_what_is_wrong() {
    let host = Host::new();
    let server = host.server();
    let connection = host.connection(server);
    for (json, named) in [
        (json!({}), "method"),
        (json!({"method": 5}), "method"),
        (json!({"method": "tools/list", "timeoutMs": -1}), "timeoutMs"),
        (json!({"method": "tools/list", "params": [1]}), "params"),
        (json!({"method": "roots/list"}), "roots/list"),
    ] {
        invalid(host.port.request(connection, json.to_string().as_bytes()).map(drop), named);
    }
    invalid(host.port.request(server, br#"{"method":"tools/list"}"#).map(drop), "checkStore");
    invalid(
        host.port.notify(connection, br#"{"method":"notifications/tools/list_changed"}"#),
        "notifications/tools/list_changed",
    );
    invalid(host.port.notify(connection, b"{}"), "method");
    invalid(host.port.describe(12345).map(drop), "12345");
}

#[test]
fn wrong_credentials_are_named() {
    let http = json!({"type": "http", "url": "http://a.example"});
    let pem = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----";
    let wrong = [
        (&http, json!(5), json!({}), "auth"),
        (&http, json!({"tokn": "x"}), json!({}), "tokn"),
        (&http, json!({"dpop": "yes"}), json!({}), "auth.dpop"),
        (&http, json!({"loginTimeoutMs": -1}), json!({}), "auth.loginTimeoutMs"),
        (&http, json!({"grant": "password"}), json!({}), "auth.grant"),
        (&http, json!({"token": "x", "dpop": true}), json!({}), "auth.dpop is for OAuth"),
        (
            &http,
            json!({"token": "x"}),
            json!({"access_token": "queue"}),
            "auth.token cannot be combined with the function access_token",
        ),
        (&http, json!({"store": "file"}), json!({"access_token": "queue"}), "auth.store is for OAuth"),
        (&http, json!({"clientSecret": "x"}), json!({}), "auth.clientSecret needs `clientId`"),
        (&http, json!({"keyId": "x"}), json!({}), "auth.keyId needs `privateKey`"),
        (
            &http,
            json!({"clientId": "a", "privateKey": "x"}),
            json!({}),
            "auth.privateKey cannot be used: The private key is not PKCS #8",
        ),
        (
            &http,
            json!({"clientId": "a", "privateKey": pem, "algorithm": "none"}),
            json!({}),
            "auth.algorithm: \"none\" is not one of ES256",
        ),
        (&http, json!({"clientMetadataUrl": "http://a.example"}), json!({}), "auth.clientMetadataUrl \"http"),
        (
            &http,
            json!({"redirectUri": "https://a.example/done"}),
            json!({}),
            "set a function that receives the redirect",
        ),
        (&http, json!({}), json!({"authorize": "queue"}), "auth.redirectUri is missing"),
        (
            &http,
            json!({"redirectUri": "http://localhost/x"}),
            json!({"authorize": "queue", "open_url": "queue"}),
            "authorize and open_url cannot be combined",
        ),
        (&http, json!({"store": ""}), json!({}), "auth.store: is empty"),
        (
            &http,
            json!({}),
            json!({"load_credentials": "queue"}),
            "a store needs load_credentials, save_credentials and",
        ),
    ];
    are_refused(&Host::new(), wrong);
}

#[test]
fn credentials_of_another_grant_or_transport_are_named() {
    let host = Host::new();
    let server = host.server();
    let http = json!({"type": "http", "url": "http://a.example"});
    let memory = json!({"type": "memory", "server": server});
    let command = json!({"type": "child", "command": ["server"]});
    let entry = json!({"type": "config", "server": {"command": "server"}});
    let wrong = [
        (
            &http,
            json!({"grant": "workload_identity", "assertion": "jwt"}),
            json!({"open_url": "queue"}),
            "the function open_url is for the grant authorization_code",
        ),
        (&http, json!({"grant": "workload_identity"}), json!({}), "auth.assertion is missing"),
        (&http, json!({"grant": "enterprise_managed"}), json!({}), "auth.clientId is missing"),
        (&http, json!({"idpClientId": "x"}), json!({}), "auth.idpClientId is for the grant enterprise_managed"),
        (&http, json!({}), json!({"assertion": "queue"}), "auth.assertion is for the grant workload_identity"),
        (&http, json!({}), json!({"identity_token": "queue"}), "auth.identityToken is for the grant"),
        (
            &http,
            json!({"grant": "workload_identity", "assertion": "jwt"}),
            json!({"assertion": "queue"}),
            "auth.assertion cannot be combined with the function assertion",
        ),
        (
            &http,
            json!({"grant": "client_credentials", "clientId": "a", "clientSecret": "b", "redirectUri": "http://localhost/x"}),
            json!({"authorize": "queue"}),
            "auth.redirectUri is for the grant authorization_code",
        ),
        (&memory, json!({}), json!({}), "auth is for servers over HTTP"),
        (&command, json!({}), json!({}), "auth is for servers over HTTP"),
        (&entry, json!({"token": "x"}), json!({}), "auth is for servers over HTTP"),
        (&entry, json!(null), json!({"request_headers": "queue"}), "auth is for servers over HTTP"),
    ];
    are_refused(&host, wrong);
}

/// Checks the errors for a transport with an authorization and functions.
fn are_refused<const N: usize>(host: &Host, wrong: [(&Value, Value, Value, &str); N]) {
    for (transport, auth, handlers, named) in wrong {
        let given = json!({"client": {}, "transport": transport, "auth": auth, "handlers": handlers});
        let error = host.port.open(given.to_string().as_bytes()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidArgument, "{given}");
        assert!(error.message.starts_with("open: ") && error.message.contains(named), "{given}: {error:?}");
    }
}

#[test]
fn functions_of_the_authorization_are_given_before_connecting() {
    let host = Host::new();
    let server = host.server();
    let connection = host.connection(server);
    for name in ["authorize", "access_token", "request_headers", "load_credentials", "transport_send"] {
        let note = json!({"handlers": {"elicit": "queue", name: "queue"}});
        let error = host.port.notify(connection, note.to_string().as_bytes()).unwrap_err();
        assert!(error.kind == ErrorKind::InvalidArgument && error.message.contains(name), "{error:?}");
        assert!(error.message.contains("before connecting"), "{error:?}");
    }
}

#[test]
fn what_listens_in_vain_says_so_in_its_reply() {
    let host = Host::new();
    let server = host.server();
    for (transport, kind, named) in [
        (json!({"type": "http", "host": "no such host"}), "transport", "no such host"),
        (json!({"type": "http", "unix": "/no/such/place"}), "transport", "/no/such/place"),
    ] {
        let failure = host.failure(host.open(json!({"server": server, "transport": transport})));
        assert_eq!(failure["kind"], kind, "{failure}");
        assert!(failure["message"].as_str().unwrap().contains(named), "{failure}");
    }
    assert!(!host.kinds().contains(&EventKind::Closed), "it never was open");
}

#[test]
fn a_transport_that_no_server_has_is_refused_at_once() {
    let host = Host::new();
    let server = host.server();
    for (transport, named) in [
        (json!({"type": "memory", "server": server}), "stdio or http"),
        (json!({"type": "http", "url": "http://127.0.0.1/"}), "url"),
        (json!({"type": "http", "unix": "/no/such/place", "port": 1}), "transport.unix"),
        (json!({"type": "http", "unix": "/no/such/place", "unixMode": "rw"}), "transport.unixMode"),
        (json!({"type": "http", "sse": 5}), "transport.sse"),
        (json!({"type": "http", "port": 65_536}), "65535"),
        (json!({"type": "http", "maxConnection": 1}), "`maxConnection`"),
        (json!({"type": "http", "port": 0, "headers": {"a": "b"}}), "transport.headers"),
        (json!({"type": "stdio", "port": 0}), "transport.port"),
        (json!({"type": "http", "mounted": true, "unix": "/x"}), "transport.unix"),
    ] {
        let open = json!({"server": server, "transport": transport});
        invalid(host.port.open(open.to_string().as_bytes()).map(drop), named);
    }
}

#[test]
fn a_transport_that_no_client_has_is_refused_at_once() {
    let host = Host::new();
    for (transport, named) in [
        (json!({"type": "http", "url": "http://127.0.0.1/", "json": true}), "transport.json is for listeners"),
        (json!({"type": "http", "url": "http://127.0.0.1/", "mounted": true}), "transport.mounted is for listeners"),
        (json!({"type": "http"}), "transport.url"),
        (json!({"type": "http", "url": "http://127.0.0.1/", "header": {}}), "`header`"),
        (json!({"type": "stdio"}), "child"),
        (json!({"type": "pigeon"}), "pigeon"),
        (json!({"type": "child", "command": []}), "transport.command"),
    ] {
        let open = json!({"client": {}, "transport": transport});
        invalid(host.port.open(open.to_string().as_bytes()).map(drop), named);
    }
}

#[test]
#[cfg(unix)]
fn a_unix_socket_serves_and_is_reached() {
    let host = Host::new();
    let server = host.server();
    let path = std::env::temp_dir().join(format!("trunkline-bridge-{}.sock", std::process::id()));
    let options = json!({"type": "http", "unix": path, "unixMode": "666", "path": "other/", "sse": false, "replayEvents": 0,
                         "replayBytes": 0, "retryMs": 5, "maxConnections": 3, "messages": "/m"});
    let (listener, facts) = host.opened(json!({"server": server, "transport": options}));
    let url = format!("unix:{}:/other", path.display());
    assert_eq!(facts, json!({"url": url, "unix": path}));
    let (connection, facts) = host.opened(json!({"client": {}, "transport": {"type": "http", "url": url}}));
    assert_eq!(facts["revision"], "2026-07-28");
    host.port.close(connection, 5_000).unwrap();
    host.port.close(listener, 5_000).unwrap();
    host.event("the end", |event| event.kind == EventKind::Closed && event.handle == listener);
    assert!(!path.exists());
}

#[test]
#[cfg(unix)]
fn what_is_notified_while_a_connection_is_opened_waits_for_it() {
    let (host, file) = (Host::new(), File::new());
    let script = format!("cat > {}; true", file.path());
    let opening = host.open(json!({"client": {"revision": "2026-07-28"},
        "transport": {"type": "child", "command": ["sh", "-c", script]}}));
    let cancelled = json!({"method": "notifications/cancelled", "params": {"requestId": 5}}).to_string();
    host.port.notify(opening, cancelled.as_bytes()).unwrap();
    assert_eq!(host.port.notify(opening, b"{}").unwrap_err().kind, ErrorKind::InvalidArgument);
    assert!(host.reply(opening).ok());
    eventually("it is sent", || file.text().contains("\"requestId\":5"));
    host.port.close(opening, 1_000).unwrap();
}

#[test]
#[cfg(unix)]
fn a_connection_that_ends_while_its_stream_is_opened_was_never_open() {
    let host = Host::new();
    let transport = json!({"type": "child", "command": ["sh", "-c", "read line; exit 3"]});
    let opening = host.open(json!({"client": {"revision": "2026-07-28", "listen": true}, "transport": transport}));
    let failure = host.failure(opening);
    assert_eq!(failure["kind"], "transport");
    assert!(failure["message"].as_str().unwrap().contains("status 3"), "{failure}");
    assert!(!host.kinds().contains(&EventKind::Closed));
}

#[test]
fn a_whole_life_with_a_child_process() {
    let mut host = Host::new();
    let (connection, facts) = host.opened(json!({"client": {}, "transport": process("server", &File::new())}));
    assert_eq!((&facts["revision"], &facts["serverInfo"]["name"]), (&json!("2026-07-28"), &json!("offer")));
    assert_eq!(facts["instructions"], "For tests.");
    assert_eq!(text(&host.result(connection, "echo", json!({"message": "hello"}))), "hello");
    let params = "{\n \"name\": \"echo\",\n \"arguments\": {\"message\": \"over several lines\"}\n}";
    let ticket = host
        .port
        .request(connection, format!("{{\"method\": \"tools/call\", \"params\": {params}}}").as_bytes())
        .unwrap();
    assert_eq!(text(&body(&host.reply(ticket))), "over several lines", "STD-01");
    host.port.close(connection, 60_000).unwrap();
    host.port.close(connection, 60_000).unwrap();
    let closed = host.event("the end", |event| event.kind == EventKind::Closed);
    assert_eq!((closed.handle, closed.ok()), (connection, true));
    assert_eq!(host.port.request(connection, br#"{"method":"tools/list"}"#).unwrap_err().kind, ErrorKind::Closed);
    host.stop(0);
    assert_eq!(host.kinds().iter().filter(|kind| **kind == EventKind::Closed).count(), 1);
}

#[test]
fn the_options_name_the_deadline_of_a_close() {
    let host = Host::new();
    // Calls have all but the last fifth of it.
    let server = host.server_with(json!({"drainDeadlineMs": 1_000}));
    let (connection, _) =
        host.opened(json!({"client": {"closeTimeoutMs": 300}, "transport": {"type": "memory", "server": server}}));
    let deadline = |handle| host.port.close_deadline(handle);
    assert_eq!((deadline(server).unwrap(), deadline(connection).unwrap()), (800, 300));
    host.port.close(connection, 0).unwrap();
    host.event("the end", |event| event.kind == EventKind::Closed);
    assert_eq!(deadline(connection).unwrap(), 0, "a connection that is closed needs no time");
    assert_eq!(deadline(0).unwrap_err().kind, ErrorKind::InvalidArgument);
}

#[test]
fn a_child_process_that_dies_ends_its_requests_and_then_its_connection() {
    let host = Host::new();
    let client = json!({"reconnect": false});
    let (connection, _) = host.opened(json!({"client": client, "transport": process("script mortal", &File::new())}));
    let call = host.call(connection, "t", json!({}));
    let failure = host.failure(call);
    assert_eq!(failure["kind"], "transport");
    assert!(failure["message"].as_str().unwrap().ends_with("fatal: out of cheese"), "{failure}");
    let closed = host.event("the end", |event| event.kind == EventKind::Closed);
    assert!(!closed.ok() && body(&closed)["kind"] == "transport");
    let order: Vec<_> = host
        .events("both", 2, |event| event.handle == connection && event.ticket != connection)
        .iter()
        .map(|event| event.kind)
        .collect();
    assert_eq!(order, [EventKind::Reply, EventKind::Closed]);
}

#[test]
fn requests_wait_for_their_connection() {
    let host = Host::new();
    let connection = host.open(json!({"client": {}, "transport": process("server", &File::new())}));
    let echo = |message: &str| host.call(connection, "echo", json!({"message": message}));
    let (first, cancelled, second) = (echo("first"), echo("cancelled"), echo("second"));
    let wrong = host.request(connection, json!({"method": "roots/list"}));
    host.port.cancel(cancelled, "").unwrap();
    assert_eq!(text(&body(&host.reply(first))), "first");
    assert_eq!(text(&body(&host.reply(second))), "second");
    assert_eq!(host.failure(cancelled)["kind"], "cancelled");
    assert_eq!(host.failure(wrong)["kind"], "invalidArgument");
    let waited = host.port.wait(first, 0).unwrap_err();
    assert_eq!(waited.kind, ErrorKind::InvalidArgument, "it was not made to be waited for");
}

#[test]
fn requests_of_a_connection_that_never_opens_fail_with_it() {
    let host = Host::new();
    let connection =
        host.open(json!({"client": {}, "transport": {"type": "child", "command": ["no-such-program-here"]}}));
    let request = host.port.request(connection, br#"{"method":"tools/list"}"#);
    let failure = host.failure(connection);
    assert!(
        failure["kind"] == "transport" && failure["message"].as_str().unwrap().contains("no-such-program-here"),
        "{failure}"
    );
    // The connection may have failed already.
    match request {
        Ok(request) => assert_eq!(host.failure(request), failure),
        Err(error) => assert_eq!(error.kind, ErrorKind::Closed),
    }
}

#[test]
fn closing_an_opening_connection_ends_it_and_its_waiters() {
    let (host, file) = (Host::new(), File::new());
    let connection = host.open(json!({"client": {}, "transport": process("script mute", &file)}));
    let requests: Vec<_> = (0..16_384).map(|_| host.request(connection, json!({"method": "tools/list"}))).collect();
    let over = host.port.request(connection, br#"{"method":"tools/list"}"#).unwrap_err();
    assert_eq!(over.kind, ErrorKind::Busy, "what waits is bounded");
    eventually("the server was asked", || file.text().contains("server/discover"));
    host.port.close(connection, 0).unwrap();
    assert_eq!(host.failure(connection)["kind"], "closed");
    let replies = host.events("replies", requests.len() + 1, |event| event.kind == EventKind::Reply);
    assert!(replies.iter().skip(1).all(|reply| !reply.ok() && body(reply)["kind"] == "closed"));
    eventually("the process has ended", || has_ended(&file));
}

#[test]
fn opening_can_be_waited_for() {
    let host = Host::new();
    let server = host.server();
    host.echo(server);
    let open = |transport: Value| host.open(json!({"client": {}, "transport": transport, "wait": true}));
    let connection = open(json!({"type": "memory", "server": server}));
    let result = host.port.wait(connection, 60_000).unwrap().unwrap().unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&result).unwrap()["revision"], "2026-07-28");
    assert_eq!(host.port.wait(connection, 60_000).unwrap_err().kind, ErrorKind::InvalidArgument, "it was fetched");
    assert_eq!(text(&host.result(connection, "echo", json!({"message": "x"}))), "x");
    let failing = open(json!({"type": "child", "command": ["no-such-program-here"]}));
    let error = host.port.wait(failing, 60_000).unwrap().unwrap().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Transport);
    assert_eq!(host.port.wait(failing, 60_000).unwrap_err().kind, ErrorKind::InvalidArgument);
    assert!(!host.kinds().contains(&EventKind::Closed));
}

#[test]
fn requests_that_wait_for_an_opening_can_be_waited_for_too() {
    let (host, file) = (Host::new(), File::new());
    let connection = host.open(json!({"client": {}, "transport": process("script mute", &file), "wait": true}));
    let request = host.request(connection, json!({"method": "tools/list", "wait": true}));
    let port = host.port.clone();
    let waiting = std::thread::spawn(move || {
        (port.wait(request, 60_000).unwrap().unwrap(), port.wait(connection, 60_000).unwrap().unwrap())
    });
    eventually("the server was asked", || file.text().contains("server/discover"));
    host.port.close(connection, 0).unwrap();
    let (request, open) = waiting.join().unwrap();
    for reply in [request, open] {
        assert_eq!(reply.unwrap_err().kind, ErrorKind::Closed);
    }
}

const CHANNEL: [&str; 4] = ["transport_connect", "transport_send", "transport_receive", "transport_close"];

fn open_channel(host: &Host, client: Value) -> u64 {
    let handlers: Value = CHANNEL.iter().map(|name| ((*name).to_owned(), json!("queue"))).collect::<Map<_, _>>().into();
    host.open(json!({"client": client, "transport": {"type": "channel"}, "handlers": handlers}))
}

#[test]
fn std_17_std_18_a_channel_is_functions_of_the_host() {
    let host = Host::new();
    let handle = open_channel(&host, json!({"revision": "2026-07-28"}));
    let called = |name: &str, count: usize| {
        let is_it = |event: &Event| (event.kind, event.handle, &*event.name) == (EventKind::Call, handle, name);
        host.events(name, count, is_it).remove(count - 1)
    };
    let answer = |event: &Event, result: Value| {
        assert!(host.port.complete(event.ticket, Shape::Result, result.to_string().into()).unwrap());
    };
    answer(&called("transport_connect", 1), json!({}));
    assert!(host.reply(handle).ok());

    // Behind the request for the description of the server, which gets no answer.
    let listing = host.request(handle, json!({"method": "tools/list"}));
    answer(&called("transport_send", 1), json!({}));
    let sent = called("transport_send", 2);
    answer(&sent, json!({}));
    let message: Value = serde_json::from_str(body(&sent)["message"].as_str().unwrap()).unwrap();
    assert_eq!(message["method"], "tools/list");
    let result = json!({"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"});
    let reply = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    answer(&called("transport_receive", 1), json!({"message": reply.to_string()}));
    assert!(host.reply(listing).ok());

    let lost = host.request(handle, json!({"method": "tools/list"}));
    let sending = called("transport_send", 3);
    let failure = json!({"kind": "internal", "message": "the wire is cut"});
    assert!(host.port.fail(sending.ticket, failure.to_string().as_bytes()).unwrap());
    let error = host.failure(lost);
    assert_eq!(error["kind"], "transport");
    assert!(error["message"].as_str().unwrap().contains("the wire is cut"), "{error}");
    let receiving = called("transport_receive", 2);
    host.event("the receiving is called off", |event| {
        event.kind == EventKind::Cancel && event.ticket == receiving.ticket
    });

    // The next one waits until the first connection has been closed.
    let again = host.request(handle, json!({"method": "tools/list"}));
    answer(&called("transport_close", 1), json!({}));
    answer(&called("transport_connect", 2), json!({}));
    answer(&called("transport_receive", 3), json!({}));
    let error = host.failure(again);
    assert!(error["message"].as_str().unwrap().contains("ended the connection"), "{error}");
    answer(&called("transport_close", 2), json!({}));
    host.port.close(handle, 1_000).unwrap();
    host.event("the end", |event| event.kind == EventKind::Closed && event.handle == handle);
}

/// A host removes its functions when the connection has ended.
#[test]
fn a_channel_that_was_lost_is_closed_before_its_connection_ends() {
    let host = Host::new();
    let handle = open_channel(&host, json!({"revision": "2025-06-18", "reconnect": false}));
    let called = |name: &str| host.event(name, |event| event.kind == EventKind::Call && event.name == name);
    let answer = |event: &Event, result: Value| {
        assert!(host.port.complete(event.ticket, Shape::Result, result.to_string().into()).unwrap());
    };
    answer(&called("transport_connect"), json!({}));
    let sent = called("transport_send");
    answer(&sent, json!({}));
    let message: Value = serde_json::from_str(body(&sent)["message"].as_str().unwrap()).unwrap();
    let info = json!({"name": "s", "version": "1"});
    let result = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": info});
    let reply = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    answer(&called("transport_receive"), json!({"message": reply.to_string()}));
    assert!(host.reply(handle).ok());
    let is_receive = |event: &Event| event.kind == EventKind::Call && event.name == "transport_receive";
    answer(&host.events("the next one", 2, is_receive)[1], json!({}));
    let closing = called("transport_close");
    assert!(!host.kinds().contains(&EventKind::Closed));
    host.port.close(handle, 10_000).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert!(!host.kinds().contains(&EventKind::Closed));
    answer(&closing, json!({}));
    host.event("the end", |event| event.kind == EventKind::Closed && event.handle == handle);
}

/// The same if it is closed before the server has answered.
#[test]
fn a_channel_is_closed_before_an_opening_ends_that_was_closed() {
    let mut host = Host::new();
    for closes_port in [false, true] {
        let handle = open_channel(&host, json!({"revision": "2025-06-18"}));
        let called = |name: &str| {
            let is_it = |event: &Event| (event.kind, event.handle, &*event.name) == (EventKind::Call, handle, name);
            host.event(name, is_it)
        };
        let answer = |event: &Event| assert!(host.port.complete(event.ticket, Shape::Result, "{}".into()).unwrap());
        answer(&called("transport_connect"));
        answer(&called("transport_send"));
        called("transport_receive");
        let waiting = host.request(handle, json!({"method": "tools/list"}));
        host.port.close(if closes_port { 0 } else { handle }, 10_000).unwrap();
        let closing = called("transport_close");
        assert!(!host.kinds().contains(&EventKind::Reply) || closes_port);
        answer(&closing);
        for ticket in [handle, waiting] {
            assert_eq!(host.failure(ticket)["kind"], "closed");
        }
    }
    host.stop(0);
}

#[test]
fn a_request_that_is_cancelled_before_its_connection_is_open_is_never_sent() {
    let host = Host::new();
    let handle = open_channel(&host, json!({"revision": "2026-07-28"}));
    let called = |name: &str, count: usize| {
        host.events(name, count, |event| event.kind == EventKind::Call && event.name == name).remove(count - 1)
    };
    let answer = |event: &Event| assert!(host.port.complete(event.ticket, Shape::Result, "{}".into()).unwrap());
    let connecting = called("transport_connect", 1);
    let cancelled = host.request(handle, json!({"method": "tools/list", "wait": true}));
    host.request(handle, json!({"method": "prompts/list"}));
    host.port.cancel(cancelled, "").unwrap();
    let reply = host.port.wait(cancelled, 30_000).unwrap().unwrap();
    assert_eq!(reply.unwrap_err().kind, ErrorKind::Cancelled);
    answer(&connecting);
    assert!(host.reply(handle).ok());
    // Behind the request for the description of the server.
    answer(&called("transport_send", 1));
    let sent = called("transport_send", 2);
    let message: Value = serde_json::from_str(body(&sent)["message"].as_str().unwrap()).unwrap();
    assert_eq!(message["method"], "prompts/list");
    answer(&sent);
    host.port.close(handle, 0).unwrap();
}
