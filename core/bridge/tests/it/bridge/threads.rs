//! A port whose threads sleep outside of the core, as those of C programs do.

use super::*;
use trunkline_bridge::Fetched;

#[test]
fn threads_take_events_one_at_a_time_and_fetch_their_replies() {
    let (bell, threads) = (Alarm::default(), Alarm::default());
    let port = Port::with_threads(bell.clone(), threads.clone());
    let json = |value: Value| value.to_string().into_bytes();
    let server = port.register("server", &json(json!({"info": {"name": "host", "version": "1"}}))).unwrap();
    port.register("tool", &json(json!({"server": server, "tool": {"name": "slow"}}))).unwrap();
    let open = json!({"client": {}, "transport": {"type": "memory", "server": server}, "wait": true});
    let connection = port.open(&json(open)).unwrap();
    let fetched = |ticket| loop {
        match port.fetch(ticket, true).unwrap() {
            Fetched::Nothing => threads.wait(),
            fetched => return fetched,
        }
    };
    assert!(matches!(fetched(connection), Fetched::Reply(reply) if reply.is_ok()));
    assert!(port.is_open(connection));

    let call = |progress: bool| {
        let params = json!({"name": "slow", "arguments": {}});
        let request = json!({"method": "tools/call", "params": params, "progress": progress, "wait": true});
        port.request(connection, &json(request)).unwrap()
    };
    let (first, second) = (call(true), call(false));
    bell.wait();
    let calls: Vec<_> = std::iter::from_fn(|| {
        while port.pending() == 0 {
            std::thread::yield_now();
        }
        port.take().unwrap()
    })
    .take(2)
    .collect();
    assert_eq!(port.pending(), 0);
    assert!(port.take().unwrap().is_none());
    port.notify(calls[0].ticket, br#"{"progress": 1}"#).unwrap();
    port.notify(calls[0].ticket, br#"{"progress": 2}"#).unwrap();
    let Fetched::Progress(mut latest) = fetched(first) else { panic!("progress comes before the reply") };
    while !latest.windows(12).any(|part| part == br#""progress":2"#) {
        let Fetched::Progress(later) = fetched(first) else { panic!("the latest progress was lost") };
        latest = later;
    }
    for call in &calls {
        assert!(port.complete(call.ticket, Shape::Text, "done".into()).unwrap());
    }
    assert!(matches!(fetched(second), Fetched::Reply(reply) if reply.is_ok()));
    assert!(matches!(fetched(first), Fetched::Reply(reply) if reply.is_ok()));
    assert!(port.fetch(first, true).is_err(), "a reply is fetched once");
    assert_eq!(port.pending(), 0, "neither replies nor progress entered the queue");

    port.close(connection, 0).unwrap();
    while port.is_open(connection) {
        threads.wait();
    }
    while port.pending() == 0 {
        std::thread::yield_now();
    }
    assert_eq!(port.take().unwrap().unwrap().kind, EventKind::Closed);
}
