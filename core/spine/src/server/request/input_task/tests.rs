//! A server that asks for tasks, and scripted clients.

use crate::{
    protocol::{
        Revision,
        model::{ElicitParams, Field, FormSchema},
    },
    server::{
        Context, ServerOptions,
        tests::{Peer, accept, server, text_of},
    },
};
use serde_json::{Value, json};
use std::time::Duration;

/// A session in which a tool has asked for a task: its call, and the request.
async fn asked(capabilities: Value) -> (Peer, u64, Value) {
    let options = ServerOptions::default().with_client_request_tasks(true).with_input_timeout(Duration::from_secs(100));
    let server = server()
        .options(options)
        .tool("ask", "Asks", |ctx: Context| async move {
            let form = ElicitParams::form("Who?", FormSchema::new().required("name", Field::text()));
            let answer = ctx.elicit(form).await?;
            crate::Ok(serde_json::to_string(&answer.content)?)
        })
        .build();
    let peer = Peer::of(&server).in_session(Revision::V2025_11_25, capabilities).await;
    let call = peer.request("tools/call", json!({"name": "ask"}));
    let asked = peer.received("elicitation/create").await;
    (peer, call, asked)
}

fn with_tasks() -> Value {
    json!({"elicitation": {}, "tasks": {"cancel": {}, "requests": {"elicitation": {"create": {}}}}})
}

fn task(status: &str) -> Value {
    let time = "2025-11-25T00:00:00Z";
    json!({"taskId": "t", "status": status, "createdAt": time, "lastUpdatedAt": time, "ttl": null, "pollInterval": 5_000})
}

fn result(peer: &Peer, request: &Value, result: Value) {
    peer.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
}

fn answered() -> Value {
    let mut answer = accept(json!({"name": "Ada"}));
    answer["_meta"] = json!({"io.modelcontextprotocol/related-task": {"taskId": "t"}});
    answer
}

#[tokio::test(start_paused = true)]
async fn tsk_02_tsk_25_tsk_26_a_server_polls_at_the_pace_of_the_client_for_a_task() {
    for (notified, seconds) in [(false, 5), (true, 0)] {
        let (peer, call, asked) = asked(with_tasks()).await;
        assert_eq!(asked["params"]["task"], json!({"ttl": 100_000}), "TSK-02");
        let began = tokio::time::Instant::now();
        result(&peer, &asked, json!({"task": task("working")}));
        if notified {
            // The task must be known before.
            peer.rest().await;
            peer.send(json!({"jsonrpc": "2.0", "method": "notifications/tasks/status", "params": task("completed")}));
        }
        let get = peer.received("tasks/get").await;
        assert_eq!(get["params"], json!({"taskId": "t"}), "TSK-16");
        assert_eq!(began.elapsed().as_secs(), seconds, "TSK-25, TSK-26");
        result(&peer, &get, task("completed"));
        let fetch = peer.received("tasks/result").await;
        result(&peer, &fetch, answered());
        assert_eq!(text_of(&peer.answer(call).await), r#"{"name":"Ada"}"#);
    }
}

#[tokio::test(start_paused = true)]
async fn tsk_02_tsk_08_clients_without_tasks_are_asked_as_always() {
    let (_, _, plain) = asked(json!({"elicitation": {}})).await;
    assert_eq!(plain["params"].get("task"), None, "TSK-02");
    // One that has declared them may still answer at once.
    let (peer, call, request) = asked(with_tasks()).await;
    result(&peer, &request, accept(json!({"name": "Ada"})));
    assert_eq!(text_of(&peer.answer(call).await), r#"{"name":"Ada"}"#);
}

#[tokio::test(start_paused = true)]
async fn can_04_the_task_of_a_cancelled_call_is_cancelled_by_its_own_method() {
    // The task is known, or its id comes later.
    for known in [true, false] {
        let (peer, call, asked) = asked(with_tasks()).await;
        if known {
            result(&peer, &asked, json!({"task": task("working")}));
            peer.rest().await;
        }
        peer.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}}));
        if !known {
            assert!(!peer.rest().await.iter().any(|it| it["method"] == "notifications/cancelled"), "CAN-04");
            result(&peer, &asked, json!({"task": task("working")}));
        }
        assert_eq!(peer.received("tasks/cancel").await["params"], json!({"taskId": "t"}), "known: {known}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_times_out_is_cancelled_and_one_that_the_client_cancelled_is_an_error() {
    let (peer, call, request) = asked(with_tasks()).await;
    result(&peer, &request, json!({"task": task("working")}));
    for _ in 0..19 {
        result(&peer, &peer.received("tasks/get").await, task("working"));
    }
    peer.received("tasks/cancel").await;
    assert_eq!(peer.answer(call).await["error"]["message"], "The client did not answer in time");

    let (peer, call, request) = asked(with_tasks()).await;
    result(&peer, &request, json!({"task": task("cancelled")}));
    assert_eq!(peer.answer(call).await["error"]["message"], "The client cancelled its task t");
}
