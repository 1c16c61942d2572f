//! Tasks of the host: a request whose ticket names the task until it is cancelled.

use super::*;

const WITH_TASKS: [&str; 2] = ["2025-11-25", "2026-07-28"];

fn server_with_task(host: &Host) -> (u64, u64) {
    let server = host.server_with(json!({"taskPollIntervalMs": 20}));
    let schema = json!({"type": "object"});
    let tool = json!({"name": "work", "inputSchema": schema, "execution": {"taskSupport": "optional"}});
    (server, host.register("tool", json!({"server": server, "tool": tool})).unwrap())
}

fn start(host: &Host, connection: u64, params: Value) -> u64 {
    host.request(connection, json!({"method": "startTask", "params": params}))
}

fn of_task(host: &Host, task: u64, method: &str) -> u64 {
    host.request(task, json!({"method": method}))
}

/// The call of a tool after this many others.
fn call_after(host: &Host, tool: u64, others: usize) -> u64 {
    let is_call = |event: &Event| event.kind == EventKind::Call && event.handle == tool;
    host.events("calls", others + 1, is_call)[others].ticket
}

fn next_status(host: &Host, task: u64) -> Value {
    body(&host.reply(of_task(host, task, "next")))["status"].clone()
}

/// PRG-07: the progress of the call continues in its task (2025-11-25).
#[test]
fn tsk_21_tkx_16_a_task_gives_its_states_and_its_result_until_it_is_cancelled() {
    let mut host = Host::new();
    let (server, tool) = server_with_task(&host);
    for (others, revision) in WITH_TASKS.into_iter().enumerate() {
        let connection = host.connection_of(server, revision);
        let before = host.things();
        let task = start(&host, connection, json!({"name": "work", "arguments": {}, "ttlMs": 60_000}));
        let state = body(&host.reply(task));
        assert_eq!(state["status"], "working", "{revision}: {state}");
        let call = call_after(&host, tool, others);

        let patient = host.request(task, json!({"method": "result", "timeoutMs": 1}));
        assert_eq!(host.failure(patient)["kind"], "timeout", "{revision}");
        let waiting = host.request(task, json!({"method": "result", "progress": true}));
        if revision == "2025-11-25" {
            host.port.notify(call, br#"{"progress": 1, "total": 2}"#).unwrap();
            let is_progress = |event: &Event| event.kind == EventKind::Notification && event.ticket == waiting;
            assert_eq!(body(&host.event("progress", is_progress))["total"].as_f64(), Some(2.0), "PRG-07");
        }
        assert_eq!(next_status(&host, task), "working", "{revision}");
        let next = of_task(&host, task, "next");
        host.port.complete(call, Shape::Text, "done".into()).unwrap();
        assert_eq!(body(&host.reply(next))["status"], "completed", "{revision}");
        assert_eq!(next_status(&host, task), Value::Null, "{revision}");
        assert_eq!(text(&body(&host.reply(waiting))), "done", "{revision} TSK-21");
        let schema = json!({"type": "object", "required": ["city"]});
        let unfit = host.request(task, json!({"method": "result", "resultSchema": schema}));
        assert_eq!(host.failure(unfit)["kind"], "transport", "{revision}");

        let again = start(&host, connection, json!({"taskId": state["taskId"]}));
        assert_eq!(body(&host.reply(again))["status"], "completed", "{revision} TKX-16");
        assert_eq!(text(&body(&host.reply(of_task(&host, again, "result")))), "done", "{revision}");
        host.port.cancel(task, "").unwrap();
        host.port.cancel(again, "").unwrap();
        assert_eq!(host.things(), before, "{revision}");
    }
    host.stop(1000);
}

#[test]
fn tsk_30_a_task_is_cancelled_by_a_request_and_closed_without_one() {
    let mut host = Host::new();
    let (server, tool) = server_with_task(&host);
    for (index, revision) in WITH_TASKS.into_iter().enumerate() {
        let connection = host.connection_of(server, revision);
        let task = start(&host, connection, json!({"name": "work"}));
        assert!(host.reply(task).ok());
        let call = call_after(&host, tool, 2 * index);
        assert_eq!(body(&host.reply(of_task(&host, task, "cancel"))), Value::Null, "{revision}");
        host.event("the end of the call", |event| event.kind == EventKind::Cancel && event.ticket == call);
        assert_eq!(host.failure(of_task(&host, task, "result"))["kind"], "cancelled", "{revision}");

        let left = start(&host, connection, json!({"name": "work"}));
        let id = body(&host.reply(left))["taskId"].clone();
        let (call, waiting) = (call_after(&host, tool, 2 * index + 1), of_task(&host, left, "result"));
        host.port.cancel(left, "").unwrap();
        assert_eq!(host.failure(waiting)["kind"], "closed", "{revision}");
        let closed = host.port.request(left, br#"{"method": "result"}"#).unwrap_err();
        assert_eq!(closed.kind, trunkline_bridge::ErrorKind::Closed);
        host.port.complete(call, Shape::Text, "done".into()).unwrap();
        let again = start(&host, connection, json!({"taskId": id}));
        assert!(host.reply(again).ok(), "{revision}");
        assert_eq!(text(&body(&host.reply(of_task(&host, again, "result")))), "done", "{revision}: it went on");
    }
    host.stop(1000);
}

#[test]
fn tsk_31_a_task_that_cannot_be_is_an_error_with_a_reason() {
    let mut host = Host::new();
    let (server, _) = server_with_task(&host);
    host.echo(server);
    let connection = host.connection(server);
    for params in [json!({}), json!({"name": "work", "taskId": "x"}), json!({"ttlMs": 1})] {
        let error = host.failure(start(&host, connection, params));
        assert_eq!(error["message"], "startTask: needs either the name of a tool or a taskId");
    }
    let unknown = host.failure(start(&host, connection, json!({"taskId": "nobody"})));
    assert_eq!((&unknown["kind"], &unknown["code"]), (&json!("protocol"), &json!(-32602)), "TSK-31: {unknown}");

    let plain = start(&host, connection, json!({"name": "echo", "arguments": {"message": "hi"}}));
    assert_eq!(body(&host.reply(plain)), Value::Null, "there is no task of it");
    assert_eq!(text(&body(&host.reply(of_task(&host, plain, "result")))), "hi");
    let error = host.port.request(plain, br#"{"method": "tools/list"}"#).unwrap_err();
    assert_eq!(error.message, "request: a task has the requests next, result, respond and cancel, not tools/list");

    let before = host.connection_of(server, "2025-06-18");
    let error = host.failure(start(&host, before, json!({"taskId": "nobody"})));
    assert_eq!(error["kind"], "invalidArgument", "{error}");
    host.stop(1000);
}
