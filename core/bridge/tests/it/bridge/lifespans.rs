//! Lifespans that the host opens and closes.

use super::*;

/// The names of the calls, in order.
type Seen = Arc<Mutex<Vec<String>>>;

/// Sets a lifespan whose calls are answered at once; those that open it only if the flag is set.
fn lifespan(host: &Host, server: u64, can_open: &Arc<Mutex<bool>>) -> (u64, Seen) {
    let handle = host.register("lifespan", json!({"server": server})).unwrap();
    let (seen, can_open) = (Seen::default(), Arc::clone(can_open));
    let calls = Arc::clone(&seen);
    let function: OnCall = Arc::new(move |port, event| {
        calls.lock().unwrap().push(event.name.clone());
        if event.name == "open" && !*can_open.lock().unwrap() {
            port.fail(event.ticket, br#"{"kind": "internal", "message": "no database"}"#).unwrap();
        } else {
            port.complete(event.ticket, Shape::Result, "{}".into()).unwrap();
        }
    });
    host.functions.lock().unwrap().insert(handle, function);
    (handle, seen)
}

fn take(seen: &Seen) -> Vec<String> {
    std::mem::take(&mut *seen.lock().unwrap())
}

fn always() -> Arc<Mutex<bool>> {
    Arc::new(Mutex::new(true))
}

fn close(host: &Host, handle: u64) {
    host.port.close(handle, 5000).unwrap();
    host.event("the end", |event| event.kind == EventKind::Closed && event.handle == handle);
}

#[test]
fn it_opens_before_what_serves_and_closes_before_the_end_of_the_last() {
    let mut host = Host::new();
    let server = host.server();
    host.echo(server);
    let (handle, seen) = lifespan(&host, server, &always());
    let (listener, _) = host.opened(json!({"server": server, "transport": {"type": "http", "port": 0}}));
    assert_eq!(take(&seen), ["open"]);
    let connection = host.connection(server);
    close(&host, listener);
    assert_eq!(text(&host.result(connection, "echo", json!({"message": "hi"}))), "hi");
    assert_eq!(take(&seen), [] as [&str; 0], "the connection uses it");
    close(&host, connection);
    assert_eq!(take(&seen), ["close"]);
    // Another life, which the end of the port closes.
    host.connection(server);
    host.port.unregister(server).unwrap();
    assert_eq!(take(&seen), ["open"]);
    host.stop(5000);
    assert_eq!(take(&seen), ["close"]);
    host.event("the end of the functions", |event| event.kind == EventKind::Freed && event.handle == handle);
}

#[test]
fn what_cannot_be_opened_fails_with_the_reason_and_is_tried_again() {
    let mut host = Host::new();
    let (server, can_open) = (host.server(), Arc::new(Mutex::new(false)));
    let (_, seen) = lifespan(&host, server, &can_open);
    let listen = json!({"server": server, "transport": {"type": "http", "port": 0}});
    let mount = json!({"server": server, "transport": {"type": "http", "mounted": true}, "openLifespan": true});
    let connect = json!({"client": {}, "transport": {"type": "memory", "server": server}});
    for open in [&listen, &mount, &connect] {
        let failure = host.failure(host.open(open.clone()));
        assert_eq!(failure["kind"], "transport", "{failure}");
        let message = failure["message"].as_str().unwrap();
        assert!(message.ends_with("the lifespan of the server could not be opened: no database"), "{message}");
    }
    *can_open.lock().unwrap() = true;
    host.opened(mount);
    assert_eq!(take(&seen), ["open", "open", "open", "open"]);
    host.stop(5000);
    assert_eq!(take(&seen), ["close"]);
}

#[test]
fn what_cannot_serve_closes_it_before_it_fails() {
    let mut host = Host::new();
    let server = host.server();
    let (_, seen) = lifespan(&host, server, &always());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let failure = host.failure(host.open(json!({"server": server, "transport": {"type": "http", "port": port}})));
    assert_eq!(failure["kind"], "transport", "{failure}");
    assert_eq!(take(&seen), ["open", "close"]);
    host.stop(0);
}

#[test]
fn one_that_never_opens_ends_when_its_listener_is_closed() {
    let mut host = Host::new();
    let server = host.server();
    let handle = host.register("lifespan", json!({"server": server})).unwrap();
    let listener = host.open(json!({"server": server, "transport": {"type": "http", "port": 0}}));
    let call = host.called(handle);
    assert_eq!((call.name.as_str(), body(&call)), ("open", json!({})));
    host.port.close(listener, 0).unwrap();
    assert_eq!(host.failure(listener)["kind"], "closed");
    host.event("the end of the call", |event| event.kind == EventKind::Cancel && event.ticket == call.ticket);
    assert!(!host.port.complete(call.ticket, Shape::Result, "{}".into()).unwrap());
    host.stop(0);
}

#[test]
fn that_of_a_mounted_server_opens_with_the_first_call_and_closes_with_its_host() {
    let mut host = Host::new();
    let (outer, inner, last) = (host.server(), host.server(), host.server());
    host.echo(inner);
    host.echo(last);
    let (_, outside) = lifespan(&host, outer, &always());
    let (_, inside) = lifespan(&host, inner, &always());
    let (_, unused) = lifespan(&host, last, &always());
    let mount = host.register("mount", json!({"server": outer, "prefix": "in", "mounted": inner})).unwrap();
    host.register("mount", json!({"server": outer, "prefix": "last", "mounted": last})).unwrap();
    let connection = host.connection(outer);
    assert_eq!((take(&outside), take(&inside)), (vec!["open".to_owned()], vec![]));
    assert_eq!(text(&host.result(connection, "in__echo", json!({"message": "hi"}))), "hi");
    assert_eq!(take(&inside), ["open"]);
    // Running calls may still use it.
    host.port.unregister(mount).unwrap();
    assert_eq!(take(&inside), [] as [&str; 0]);
    host.stop(5000);
    assert_eq!((take(&outside), take(&inside)), (vec!["close".to_owned()], vec!["close".to_owned()]));
    assert_eq!(take(&unused), [] as [&str; 0]);
}

#[test]
fn a_server_in_use_or_with_a_lifespan_refuses_one() {
    let mut host = Host::new();
    let server = host.server();
    let register = || host.register("lifespan", json!({"server": server}));
    let connection = host.connection(server);
    let refused = register().unwrap_err();
    assert_eq!(
        (refused.kind.as_str(), &*refused.message),
        ("invalidArgument", "the server is in use: set its lifespan before listening")
    );
    close(&host, connection);
    register().unwrap();
    let things = host.things();
    assert_eq!(register().unwrap_err().message, "the server already has a lifespan");
    assert_eq!(host.things(), things);
    host.stop(0);
}

/// A bystander waits for an answer that the host can no longer give.
#[test]
fn a_mounted_server_whose_port_has_stopped_fails_instead_of_hanging() {
    let (mut host, mut other) = (Host::new(), Host::new());
    let (outer, inner) = (host.server(), other.server());
    other.echo(inner);
    lifespan(&other, inner, &always());
    let mount = json!({"server": outer, "prefix": "in", "mounted": inner, "port": other.port.number()});
    host.register("mount", mount).unwrap();
    let connection = host.connection(outer);
    other.stop(0);
    let failure = host.failure(host.call(connection, "in__echo", json!({"message": "hi"})));
    assert_eq!(failure["kind"], "protocol", "{failure}");
    host.stop(0);
}
