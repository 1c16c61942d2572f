//! Stores of the host's own.

use super::*;

const FUNCTIONS: [&str; 6] = ["store_get", "store_put", "store_put_if", "store_remove", "store_append", "store_read"];

/// A server whose store answers with the result of a function: a body to complete the call with, or
/// nothing.
fn server(host: &Host, answer: impl Fn(&str, &Value) -> Result<Value, Value> + Send + Sync + 'static) -> u64 {
    server_with(host, json!({"storeDeadlineMs": 300}), answer)
}

fn server_with(
    host: &Host,
    options: Value,
    answer: impl Fn(&str, &Value) -> Result<Value, Value> + Send + Sync + 'static,
) -> u64 {
    let lanes: serde_json::Map<String, Value> =
        FUNCTIONS.map(|name| (name.to_owned(), "queue".into())).into_iter().collect();
    let info = json!({"name": "host", "version": "1"});
    let server = host.register("server", json!({"info": info, "options": options, "store": lanes})).unwrap();
    let function: OnCall = Arc::new(move |port, event| match answer(&event.name, &body(event)) {
        Ok(result) => drop(port.complete(event.ticket, Shape::Result, result.to_string().into())),
        Err(Value::Null) => {}
        Err(failure) => drop(port.fail(event.ticket, failure.to_string().as_bytes())),
    });
    host.functions.lock().unwrap().insert(server, function);
    let tool = json!({"name": "report", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}});
    host.tool_with(server, tool, |port, event| {
        port.complete(event.ticket, Shape::Text, "the report".into()).unwrap();
    });
    host.echo(server);
    server
}

fn start(host: &Host, connection: u64) -> u64 {
    host.request(connection, json!({"method": "startTask", "params": {"name": "report"}}))
}

#[test]
fn a_store_that_fails_or_answers_nonsense_is_a_typed_error_and_others_continue() {
    for (answer, reason) in [
        (Err(json!({"kind": "internal", "message": "no database"})), "is not available: no database"),
        (Err(json!({"kind": "protocol", "message": "no space", "data": {"error": "full"}})), "is full: no space"),
        (Ok(json!({})), "invalid return value of store_put_if: `done` is missing"),
        (Ok(json!({"done": 1})), "invalid return value of store_put_if: done: must be true or false, not 1"),
        (Err(Value::Null), "it did not answer within 300ms"),
    ] {
        let mut host = Host::new();
        let answer_is_given = answer != Err(Value::Null);
        let server = server(&host, move |_, _| answer.clone());
        let connection = host.connection(server);
        let failure = host.failure(start(&host, connection));
        assert_eq!(failure["kind"], "busy", "{failure}");
        assert_eq!(text(&host.result(connection, "echo", json!({"message": "hi"}))), "hi");
        // A call of the check has ten seconds.
        if answer_is_given {
            let findings = body(&host.reply(host.request(server, json!({"method": "checkStore"}))));
            let findings = findings["findings"].as_array().unwrap();
            assert!(!findings.is_empty(), "{reason}");
            let has_reason = |finding: &Value| finding.as_str().unwrap().contains(reason);
            assert!(findings.iter().any(has_reason), "{reason}: {findings:#?}");
        }
        host.stop(0);
        // The end of an abandoned call may arrive after it.
        let started = Instant::now();
        while host.things() > 3 {
            assert!(started.elapsed() < DEADLINE, "more than the server and its tools: {:?}", host.kinds());
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

#[test]
fn more_calls_than_the_host_gets_at_a_time_wait_and_are_no_failure() {
    const TASKS: usize = 1_100;
    let mut host = Host::new();
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let opened = Arc::clone(&gate);
    // Without polls of the tasks that have begun: other tests share the thread of the runtime.
    let polls = DEADLINE.as_millis() as u64;
    let options = json!({
        "maxRunning": TASKS, "maxTasksPerClient": TASKS, "storeDeadlineMs": 60_000, "taskPollIntervalMs": polls,
    });
    let server = server_with(&host, options, move |name, _| {
        Ok(match name {
            "store_put_if" => {
                let is_closed = |is_open: &mut bool| !*is_open;
                drop(opened.1.wait_while(opened.0.lock().unwrap(), is_closed).unwrap());
                json!({"done": true})
            }
            "store_append" => json!({"position": 1}),
            // As if nothing was ever appended.
            "store_read" => return Err(Value::Null),
            _ => json!({}),
        })
    });
    let connection = host.connection(server);
    let tickets: Vec<_> = (0..TASKS).map(|_| start(&host, connection)).collect();
    let started = Instant::now();
    // The requests, and the calls that the host has not answered yet.
    while host.things() < TASKS as u64 + 1_024 {
        assert!(started.elapsed() < DEADLINE, "{}", host.things());
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
    for ticket in tickets {
        let reply = host.reply(ticket);
        assert!(reply.ok(), "{}", body(&reply));
    }
    host.stop(0);
}

#[test]
fn a_store_needs_all_its_functions_and_is_the_only_one() {
    let host = Host::new();
    let register = |store: Value, options: Value| {
        let given = json!({"info": {"name": "host", "version": "1"}, "store": store, "options": options});
        host.register("server", given).unwrap_err().message
    };
    assert!(register(json!({"store_get": "queue"}), json!({})).contains("missing function store_put"));
    assert!(register(json!({"get": "queue"}), json!({})).contains("\"get\" is not a function of a store"));
    let lanes: serde_json::Map<String, Value> =
        FUNCTIONS.map(|name| (name.to_owned(), "pool".into())).into_iter().collect();
    assert!(register(lanes.into(), json!({"store": "memory:"})).contains("cannot be combined with options.store"));
    let refused = host.port.request(host.server(), br#"{"method": "checkStore"}"#).unwrap_err();
    assert!(refused.message.contains("there is none"), "{refused:?}");
    let refused = host.port.request(host.server(), br#"{"method": "tools/list"}"#).unwrap_err();
    assert!(refused.message.contains("a server takes the method checkStore"), "{refused:?}");
}

/// The host keeps the functions until the store is no longer used.
#[test]
fn the_functions_of_a_store_are_freed_with_its_server() {
    let mut host = Host::new();
    let server = server(&host, |_, _| Ok(json!({})));
    let freed = |event: &Event| event.kind == EventKind::Freed && event.handle == server;
    let connection = host.connection(server);
    assert_eq!(text(&host.result(connection, "echo", json!({"message": "hi"}))), "hi");
    host.port.close(connection, 0).unwrap();
    host.port.unregister(server).unwrap();
    host.event("the end of the store", freed);
    host.stop(0);
}
