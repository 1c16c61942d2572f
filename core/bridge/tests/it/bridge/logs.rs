//! Log records go to the port that they concern.

use super::*;

struct Silent;

impl Bell for Silent {
    fn ring(&self) {}
}

fn records(event: &Event) -> Vec<Value> {
    serde_json::from_slice(&bytes(event)).unwrap()
}

fn log_with(host: &Host, text: &str) -> Value {
    let is_it = |record: &Value| record["message"].as_str().unwrap().contains(text);
    let event = host.event(text, |event| event.kind == EventKind::Log && records(event).iter().any(is_it));
    records(&event).into_iter().find(is_it).unwrap()
}

fn logs_of(port: &Port) -> Vec<Value> {
    let events = port.drain(Lane::Queue, 100, 0).unwrap();
    events.iter().filter(|event| event.kind == EventKind::Log).flat_map(records).collect()
}

#[test]
fn tool_errors_are_logged_to_the_port_of_the_server() {
    let host = Host::new();
    let server = host.server();
    host.tool_with(server, json!({"name": "fails"}), |port, event| {
        let failure = json!({"kind": "internal", "message": "the very detail"});
        assert!(port.fail(event.ticket, failure.to_string().as_bytes()).unwrap());
    });
    // Newer ports: one that takes its events, one that never does.
    let (other, idle) = (Host::new(), Port::new(Silent));
    let caller = other.server();
    other.connection(caller);
    let connection = host.connection(server);
    assert_eq!(host.result(connection, "fails", json!({}))["isError"], true);
    assert_eq!(log_with(&host, "the very detail")["level"], "error");
    for port in [&other.port, &idle] {
        assert!(!logs_of(port).iter().any(|record| record["message"].as_str().unwrap().contains("the very detail")));
    }
}

#[test]
fn invalid_server_messages_are_logged_to_the_port_of_the_connection() {
    let host = Host::new();
    let _newer = (Host::new(), Port::new(Silent));
    let nonsense = "sleep 0.2; echo '[1'; sleep 5";
    let opening = host.open(json!({"client": {"revision": "2026-07-28"},
        "transport": {"type": "child", "command": ["sh", "-c", nonsense]}}));
    assert!(host.reply(opening).ok());
    assert_eq!(log_with(&host, "the server sent an invalid message")["level"], "warn");
    host.port.close(opening, 0).unwrap();
}
