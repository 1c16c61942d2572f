//! Closing: deadlines, order, and what is left.

use super::*;
use trunkline_bridge::ErrorKind;

#[test]
fn stopped_is_the_last_event_and_everything_is_refused_after_it() {
    let mut host = Host::new();
    let server = host.server();
    let tool = host.tool(server, "t");
    let connection = host.connection(server);
    let requests: Vec<_> = (0..200).map(|_| host.call(connection, "t", json!({}))).collect();
    let calls = host.events("calls", 128, |event| event.kind == EventKind::Call && event.handle == tool);
    host.stop(0);
    for request in requests {
        assert_eq!(host.failure(request)["kind"], "closed");
    }
    let told = host.events("cancellations", 128, |event| event.kind == EventKind::Cancel);
    assert_eq!(told.len(), 128);
    assert!(calls.iter().all(|call| !host.port.complete(call.ticket, Shape::Text, "late".into()).unwrap()));
    host.event("the end of the connection", |event| event.kind == EventKind::Closed && event.handle == connection);

    let closed = |outcome: Result<u64, BridgeError>| assert_eq!(outcome.unwrap_err().kind, ErrorKind::Closed);
    closed(host.register("server", json!({"info": {"name": "x", "version": "1"}})));
    closed(
        host.port.open(json!({"client": {}, "transport": {"type": "memory", "server": server}}).to_string().as_bytes()),
    );
    closed(host.port.request(connection, br#"{"method":"tools/list"}"#));
    host.port.close(0, 1_000).unwrap();
    host.port.close(connection, 1_000).unwrap();
    assert!(host.port.drain(Lane::Queue, 9, 60_000).unwrap().is_empty(), "nothing comes, and nobody waits for it");
    assert!(host.port.drain(Lane::Pool, 9, 60_000).unwrap().is_empty());
    assert_eq!(host.describe(0)["closing"], true);
}

#[test]
fn a_port_that_opened_nothing_stops_at_once() {
    let mut host = Host::new();
    let server = host.server();
    host.tool(server, "t");
    host.stop(60_000);
    assert_eq!(host.kinds(), [EventKind::Stopped]);
}

#[test]
fn calls_of_a_listener_may_end_within_the_deadline() {
    let (mut served, caller) = (Host::new(), Host::new());
    let server = served.server();
    let (slow, stuck) = (served.tool(server, "slow"), served.tool(server, "stuck"));
    let (_, facts) = served.opened(json!({"server": server, "transport": {"type": "http", "port": 0}}));
    let (connection, _) = caller.opened(json!({"client": {}, "transport": {"type": "http", "url": facts["url"]}}));
    let answered = caller.call(connection, "slow", json!({}));
    let call = served.called(slow).ticket;
    served.port.close(0, 60_000).unwrap();
    assert!(served.port.complete(call, Shape::Text, "just in time".into()).unwrap());
    assert_eq!(text(&body(&caller.reply(answered))), "just in time");
    served.stop(60_000);

    let mut served = Host::new();
    let server = served.server();
    let stuck_there = served.tool(server, "stuck");
    assert_eq!(stuck_there >> 24, stuck >> 24, "handles belong to their port");
    let (_, facts) = served.opened(json!({"server": server, "transport": {"type": "http", "port": 0}}));
    let (connection, _) = caller
        .opened(json!({"client": {"revision": "2025-06-18"}, "transport": {"type": "http", "url": facts["url"]}}));
    let request = caller.call(connection, "stuck", json!({}));
    let call = served.called(stuck_there).ticket;
    served.stop(50);
    served.event("the cancellation", |event| event.kind == EventKind::Cancel && event.ticket == call);
    let failure = caller.failure(request);
    assert_eq!((&failure["kind"], &failure["data"]["reason"]), (&json!("protocol"), &json!("interrupted")));
}

#[test]
fn the_bounds_of_admission_are_options() {
    let host = Host::new();
    let server = host.server_with(json!({"maxWaitingBytes": 1000, "maxTasksPerClient": 2}));
    let transport = json!({"type": "http", "port": 0, "maxRequests": 1, "maxBodyBytes": 1000});
    let stuck = host.tool(server, "stuck");
    let (_, facts) = host.opened(json!({"server": server, "transport": transport}));
    let open = json!({"client": {"revision": "2026-07-28"}, "transport": {"type": "http", "url": facts["url"]}});
    let (client, _) = host.opened(open);
    let first = host.call(client, "stuck", json!({}));
    let call = host.called(stuck).ticket;
    assert_eq!(host.failure(host.call(client, "stuck", json!({})))["kind"], "busy");
    assert!(host.port.complete(call, Shape::Text, "done".into()).unwrap());
    assert_eq!(text(&body(&host.reply(first))), "done");
}

#[test]
fn ports_come_and_go() {
    for round in 0..20 {
        let mut host = Host::new();
        let server = host.server();
        host.echo(server);
        let connection = host.connection(server);
        assert_eq!(text(&host.result(connection, "echo", json!({"message": round.to_string()}))), round.to_string());
        host.stop(0);
    }
}

#[test]
fn openings_that_race_with_the_end_are_refused_or_closed() {
    for _ in 0..50 {
        let mut host = Host::new();
        let server = host.server();
        host.connection(server);
        let port = host.port.clone();
        let open = json!({"client": {}, "transport": {"type": "memory", "server": server}}).to_string();
        let racing = std::thread::spawn(move || {
            let mut opened = Vec::new();
            loop {
                match port.open(open.as_bytes()) {
                    Ok(handle) => opened.push(handle),
                    Err(error) => return (opened, error.kind),
                }
            }
        });
        host.stop(0);
        let (opened, refusal) = racing.join().unwrap();
        assert_eq!(refusal, ErrorKind::Closed);
        for handle in opened {
            host.reply(handle);
        }
    }
}

#[test]
fn a_call_in_flight_may_use_connections_and_the_rest_of_its_chain_while_the_port_closes() {
    let (mut gateway, caller) = (Host::new(), Host::new());
    let (upstream, server) = (gateway.server(), gateway.server());
    let (above, below) = (gateway.tool(upstream, "above"), gateway.tool(server, "below"));
    let methods = json!({"server": server, "methods": ["tools/call"]});
    let middleware = gateway.register("middleware", methods).unwrap();
    let connection = gateway.connection(upstream);
    let (_, facts) = gateway.opened(json!({"server": server, "transport": {"type": "http", "port": 0}}));
    let (client, _) = caller.opened(json!({"client": {}, "transport": {"type": "http", "url": facts["url"]}}));
    let request = caller.call(client, "below", json!({}));
    let wrapped = gateway.called(middleware).ticket;

    // Requests before the end and after it are answered.
    let before = gateway.call(connection, "above", json!({}));
    let asked = gateway.called(above).ticket;
    gateway.port.close(0, 60_000).unwrap();
    assert!(gateway.port.complete(asked, Shape::Text, "from above".into()).unwrap());
    assert_eq!(text(&body(&gateway.reply(before))), "from above");
    let after = gateway.request(connection, json!({"method": "tools/list"}));
    assert_eq!(body(&gateway.reply(after))["tools"][0]["name"], "above");

    let rest = gateway.request(wrapped, json!({"method": "next"}));
    let call = gateway.called(below).ticket;
    assert!(gateway.port.complete(call, Shape::Text, "from below".into()).unwrap());
    let result = body(&gateway.reply(rest)).to_string();
    assert!(gateway.port.complete(wrapped, Shape::Result, result.into()).unwrap());
    assert_eq!(text(&body(&caller.reply(request))), "from below");
    gateway.stop(60_000);
}

#[test]
fn who_closes_again_waits_for_the_same_end_and_may_hurry_it() {
    let (mut served, caller) = (Host::new(), Host::new());
    let server = served.server();
    let stuck = served.tool(server, "stuck");
    let listen = json!({"server": server, "transport": {"type": "http", "port": 0}});
    let (listener, facts) = served.opened(listen.clone());
    let (client, _) = caller.opened(json!({"client": {}, "transport": {"type": "http", "url": facts["url"]}}));
    caller.call(client, "stuck", json!({}));
    let first = served.called(stuck).ticket;
    served.port.close(listener, 60_000).unwrap();
    served.port.close(listener, 60_000).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(!served.kinds().contains(&EventKind::Closed), "it goes on until its calls have ended");
    assert!(!served.port.cancelled(first).unwrap());
    served.port.close(listener, 10).unwrap();
    served.event("the cancellation", |event| event.kind == EventKind::Cancel && event.ticket == first);
    served.event("the end", |event| event.kind == EventKind::Closed && event.handle == listener);

    let (_, facts) = served.opened(listen);
    let (client, _) = caller.opened(json!({"client": {}, "transport": {"type": "http", "url": facts["url"]}}));
    caller.call(client, "stuck", json!({}));
    let second = served.event("a second call", |event| event.kind == EventKind::Call && event.ticket != first).ticket;
    served.port.close(0, 60_000).unwrap();
    served.port.close(0, 60_000).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(!served.port.cancelled(second).unwrap());
    served.stop(10);
    served.event("the cancellation", |event| event.kind == EventKind::Cancel && event.ticket == second);
}
