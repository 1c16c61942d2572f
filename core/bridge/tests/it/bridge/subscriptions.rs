//! Subscriptions of the host: a request whose ticket names the subscription until it is cancelled.

use super::*;

fn resource(host: &Host, server: u64, uri: &str) {
    host.register("resource", json!({"server": server, "resource": {"uri": uri, "name": uri}})).unwrap();
}

fn updated(host: &Host, server: u64, uri: &str) {
    host.port.notify(server, json!({"resourceUpdated": uri}).to_string().as_bytes()).unwrap();
}

fn next(host: &Host, subscription: u64) -> u64 {
    host.request(subscription, json!({"method": "next"}))
}

#[test]
fn a_subscription_gives_its_changes_one_by_one_until_it_is_cancelled() {
    let mut host = Host::new();
    let server = host.server();
    resource(&host, server, "a:1");
    for revision in REVISIONS {
        let connection = host.connection_of(server, revision);
        let before = host.things();
        let filter = json!({"resources": ["a:1"], "resourceList": true});
        let subscription = host.request(connection, json!({"method": "subscribe", "params": filter}));
        assert_eq!(body(&host.reply(subscription)), filter, "{revision}");
        let waiting = next(&host, subscription);
        updated(&host, server, "a:1");
        let change = json!({"kind": "resource", "uri": "a:1"});
        assert_eq!(body(&host.reply(waiting)), change, "{revision}");

        let patient = host.request(subscription, json!({"method": "next", "timeoutMs": 1}));
        assert_eq!(host.failure(patient)["kind"], "timeout");
        let given_up = next(&host, subscription);
        host.port.cancel(given_up, "").unwrap();
        assert_eq!(host.failure(given_up)["kind"], "cancelled");
        updated(&host, server, "a:1");
        assert_eq!(body(&host.reply(next(&host, subscription))), change, "requests that ended without one take none");

        let (one, two) = (next(&host, subscription), next(&host, subscription));
        host.port.cancel(subscription, "").unwrap();
        assert_eq!((body(&host.reply(one)), body(&host.reply(two))), (Value::Null, Value::Null));
        let closed = host.port.request(subscription, br#"{"method": "next"}"#).unwrap_err();
        assert_eq!(closed.kind, trunkline_bridge::ErrorKind::Closed);
        assert_eq!(host.things(), before, "{revision}");
    }
    host.stop(1000);
}

#[test]
fn subscriptions_end_with_their_connection_and_leave_no_number_behind() {
    let mut host = Host::new();
    let server = host.server();
    resource(&host, server, "a:1");
    let before = host.things();
    let connection = host.connection(server);
    let subscription = host.request(connection, json!({"method": "subscribe", "params": {"resources": ["a:1"]}}));
    assert!(host.reply(subscription).ok());
    let waiting = next(&host, subscription);
    host.port.close(connection, 0).unwrap();
    assert_eq!(body(&host.reply(waiting)), Value::Null);
    host.event("an end", |event| event.kind == EventKind::Closed && event.handle == connection);
    let started = Instant::now();
    while host.things() != before {
        assert!(started.elapsed() < DEADLINE, "{} numbers are left", host.things());
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    host.stop(1000);
}

#[test]
fn a_subscription_that_cannot_be_is_an_error_with_a_reason() {
    let mut host = Host::new();
    let server = host.server();
    resource(&host, server, "a:1");
    let connection = host.connection(server);
    for (params, kind, text) in [
        (json!({}), "invalidArgument", "the filter is empty"),
        (json!({"tools": true}), "unsupported", "tools.listChanged"),
        (json!({"resource": "a:1"}), "invalidArgument", "resource: unknown field"),
    ] {
        let error = host.failure(host.request(connection, json!({"method": "subscribe", "params": params})));
        assert_eq!(error["kind"], kind, "{error}");
        assert!(error["message"].as_str().unwrap().contains(text), "{error}");
    }
    let nonsense = br#"{"method": "subscribe", "params": {"resources": "a:1"}}"#;
    let error = host.port.request(connection, nonsense).unwrap_err();
    assert!(error.message.starts_with("subscribe: resources: must be a list, not"), "{error}");
    let subscription = host.request(connection, json!({"method": "subscribe", "params": {"resources": ["a:1"]}}));
    assert!(host.reply(subscription).ok());
    let error = host.port.request(subscription, br#"{"method": "tools/list"}"#).unwrap_err();
    assert_eq!(error.message, "request: a subscription has the request next, not tools/list");
    let given_up = host.request(connection, json!({"method": "subscribe", "params": {"resources": ["a:1"]}}));
    host.port.cancel(given_up, "").unwrap();
    host.reply(given_up);
    host.stop(1000);
}

#[test]
fn a_thread_waits_for_a_subscription_and_its_changes() {
    let mut host = Host::new();
    let server = host.server();
    resource(&host, server, "a:1");
    let connection = host.connection(server);
    let filter = json!({"method": "subscribe", "params": {"resources": ["a:1"]}, "wait": true});
    let subscription = host.request(connection, filter);
    let deadline = DEADLINE.as_millis() as u64;
    assert!(host.port.wait(subscription, deadline).unwrap().unwrap().is_ok());
    assert!(host.port.wait(subscription, 0).is_err(), "a reply is fetched once");
    updated(&host, server, "a:1");
    let waiting = host.request(subscription, json!({"method": "next", "wait": true}));
    let change = host.port.wait(waiting, deadline).unwrap().unwrap();
    assert_eq!(change.unwrap(), r#"{"kind":"resource","uri":"a:1"}"#);
    host.port.cancel(subscription, "").unwrap();
    host.stop(1000);
}
