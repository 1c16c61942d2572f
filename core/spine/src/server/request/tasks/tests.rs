//! Tasks awaited on several connections, and their memory usage.

use crate::{
    engine::Limits,
    protocol::{
        RawJson, Revision,
        extension::TASKS,
        model::{ElicitParams, Field, FormSchema},
    },
    server::{
        Call, Context, Outcome, Server, ServerOptions, TaskSupport, Tool, ToolDefinition,
        tests::{Peer, accept, keeping, modern, server, text_of},
    },
    wire_log::Transport,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::sync::Semaphore;

/// Sends a client request once the gate opens.
fn asks_later(gate: &Arc<Semaphore>) -> Server {
    let gate = Arc::clone(gate);
    let ask = move |ctx: Context| {
        let gate = Arc::clone(&gate);
        async move {
            let _permit = gate.acquire().await?;
            let params = ElicitParams::form("Who?", FormSchema::new().required("name", Field::text()));
            let answer = ctx.elicit_with_key("name", params).await?;
            crate::Ok(serde_json::to_string(&answer.content)?)
        }
    };
    server().add_tool(Tool::new("ask", "Asks", ask).task(TaskSupport::Required)).build()
}

async fn session(server: &Server) -> Peer {
    let peer = Peer::with(server, Transport::Http, Some("alice"));
    peer.in_session(Revision::V2025_11_25, json!({"elicitation": {}})).await
}

async fn answer_and_check(peer: &Peer, id: u64) {
    let asked = peer.received("elicitation/create").await;
    peer.send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept(json!({"name": "Ada"}))}));
    assert!(text_of(&peer.answer(id).await).contains("Ada"));
}

#[tokio::test(start_paused = true)]
async fn tsk_20_the_end_of_one_session_leaves_who_waits_in_another() {
    let gate = Arc::new(Semaphore::new(0));
    let server = asks_later(&gate);
    let (one, other) = (session(&server).await, session(&server).await);
    let created = one.ask("tools/call", json!({"name": "ask", "task": {}})).await;
    let named = json!({"taskId": created["result"]["task"]["taskId"]});
    // The same number of requests in both, so that their ids collide.
    one.request("tasks/result", named.clone());
    other.ask("tools/list", json!({})).await;
    let id = other.request("tasks/result", named);
    one.connection.close();
    gate.add_permits(1);
    answer_and_check(&other, id).await;
}

#[tokio::test(start_paused = true)]
async fn tsk_20_a_question_whose_session_ended_goes_to_who_waits_in_another() {
    let gate = Arc::new(Semaphore::new(1));
    let server = asks_later(&gate);
    let (one, other) = (session(&server).await, session(&server).await);
    let created = one.ask("tools/call", json!({"name": "ask", "task": {}})).await;
    let named = json!({"taskId": created["result"]["task"]["taskId"]});
    one.request("tasks/result", named.clone());
    one.received("elicitation/create").await;
    let id = other.request("tasks/result", named);
    assert_eq!(other.rest().await, [] as [Value; 0], "asked once");
    one.connection.close();
    answer_and_check(&other, id).await;
}

/// The memory of a question that was answered is not kept until its timeout.
#[tokio::test(start_paused = true)]
async fn nothing_waits_for_the_timeout_of_a_question_that_was_answered() {
    const QUESTIONS: usize = 5;
    let ask = |ctx: Context| async move {
        for _ in 0..QUESTIONS {
            ctx.elicit(ElicitParams::form("Who?", FormSchema::new().required("name", Field::text()))).await?;
        }
        crate::Ok("done")
    };
    let server = server().add_tool(Tool::new("ask", "Asks", ask).task(TaskSupport::Required)).build();
    let (peer, alive) = (session(&server).await, || tokio::runtime::Handle::current().metrics().num_alive_tasks());
    let before = alive();
    let created = peer.ask("tools/call", json!({"name": "ask", "task": {}})).await;
    let id = peer.request("tasks/result", json!({"taskId": created["result"]["task"]["taskId"]}));
    for _ in 0..QUESTIONS {
        let asked = peer.received("elicitation/create").await;
        peer.send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept(json!({"name": "Ada"}))}));
    }
    assert_eq!(text_of(&peer.answer(id).await), "done");
    peer.rest().await;
    assert_eq!(alive() - before, 1, "only the expiry of the task is left");
}

#[tokio::test(start_paused = true)]
async fn prg_07_progress_of_several_threads_rises_until_the_end_of_the_task() {
    let descriptor =
        json!({"name": "slow", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}});
    for _ in 0..50 {
        let (slow, calls) = keeping(descriptor.clone());
        let peer = session(&server().add_tool(slow).build()).await;
        let params = json!({"name": "slow", "task": {}, "_meta": {"progressToken": "t"}});
        peer.ask("tools/call", params).await;
        let call = calls.lock().take().unwrap();
        peer.report_and_complete(call);
    }
}

fn forever() -> Tool {
    let forever = |ctx: Context| async move {
        ctx.cancelled().await;
        "never"
    };
    Tool::new("forever", "Never ends", forever).task(TaskSupport::Required)
}

#[tokio::test(start_paused = true)]
async fn tsk_20_waiting_for_a_result_does_not_count_as_a_running_call() {
    let limits = Limits::default().with_max_running(1).with_max_waiting(1);
    let server = server().options(ServerOptions { limits, ..ServerOptions::default() }).add_tool(forever()).build();
    let peer = session(&server).await;
    let created = peer.ask("tools/call", json!({"name": "forever", "task": {}})).await;
    let named = json!({"taskId": created["result"]["task"]["taskId"]});
    let fetches = [peer.request("tasks/result", named.clone()), peer.request("tasks/result", named.clone())];
    let refused = peer.ask("tasks/result", named.clone()).await;
    assert_eq!(refused["error"]["data"]["reason"], "busy", "they are bounded by themselves");
    assert_eq!(peer.ask("tasks/get", named.clone()).await["result"]["status"], "working");
    // A client is waiting, so the session is not idle.
    assert!(!peer.connection.is_idle());
    assert_eq!(peer.ask("tasks/cancel", named).await["result"]["status"], "cancelled");
    for fetch in fetches {
        assert_eq!(peer.answer(fetch).await["error"]["code"], -32600);
    }
    assert!(peer.connection.is_idle());
}

#[tokio::test(start_paused = true)]
async fn tsk_35_one_client_cannot_use_up_the_capacity_of_all() {
    let options = ServerOptions {
        max_tasks: 5,
        max_tasks_per_client: 2,
        task_ttl: Duration::from_secs(60),
        ..ServerOptions::default()
    };
    let server = server().options(options).add_tool(forever()).build();
    let peer = async |principal| {
        let peer = Peer::with(&server, Transport::Http, principal);
        peer.in_session(Revision::V2025_11_25, json!({})).await
    };
    let make = async |peer: &Peer| {
        let made = peer.ask("tools/call", json!({"name": "forever", "task": {}})).await;
        made["error"]["data"]["reason"] != "busy"
    };
    let (alice, again, bob) = (peer(Some("alice")).await, peer(Some("alice")).await, peer(Some("bob")).await);
    assert!(make(&alice).await && make(&again).await);
    assert!(!make(&alice).await && !make(&again).await, "a principal has one share, in however many sessions");
    assert!(make(&bob).await);
    let (one, other) = (peer(None).await, peer(None).await);
    assert!(make(&one).await && make(&one).await && !make(&one).await);
    assert!(!make(&other).await, "there is no room at all");
    // A removed task frees its memory (TKX-38).
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert!(make(&alice).await && make(&other).await);
}

#[tokio::test(start_paused = true)]
async fn tsk_35_the_results_of_tasks_are_bounded_in_bytes() {
    let options = ServerOptions {
        max_task_bytes: 10_000,
        max_task_bytes_per_client: 4_000,
        task_ttl: Duration::from_secs(60),
        ..ServerOptions::default()
    };
    let large = Tool::new("large", "Says much", async || "x".repeat(1_500)).task(TaskSupport::Required);
    let server = server().options(options).add_tool(large).add_tool(forever()).build();
    let peer = async |principal| {
        let peer = Peer::with(&server, Transport::Http, Some(principal));
        peer.in_session(Revision::V2025_11_25, json!({})).await
    };
    // The status of a finished task, or none if it was refused.
    let make = async |peer: &Peer| {
        let made = peer.ask("tools/call", json!({"name": "large", "task": {}})).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
        if made["error"]["data"]["reason"] == "busy" {
            return None;
        }
        let got = peer.ask("tasks/get", json!({"taskId": made["result"]["task"]["taskId"]})).await;
        let result = &got["result"];
        Some((
            result["status"].as_str().unwrap().to_owned(),
            result["statusMessage"].as_str().unwrap_or_default().to_owned(),
        ))
    };
    let status = |made: Option<(String, String)>| made.map(|(status, _)| status);
    let alice = peer("alice").await;
    for expected in ["completed", "completed"] {
        assert_eq!(status(make(&alice).await).as_deref(), Some(expected));
    }
    let (failed, why) = make(&alice).await.unwrap();
    assert!(failed == "failed" && why.contains("cannot be kept"), "{why}");
    for client in ["bob", "carol"] {
        let client = peer(client).await;
        assert_eq!(status(make(&client).await).as_deref(), Some("completed"), "others have their own room");
        assert_eq!(status(make(&client).await).as_deref(), Some("completed"));
    }
    assert_eq!(status(make(&peer("dave").await).await).as_deref(), Some("failed"), "there is no room at all");
    // A task that was cancelled before its result, or has expired, uses no memory.
    let made = alice.ask("tools/call", json!({"name": "forever", "task": {}})).await;
    let named = json!({"taskId": made["result"]["task"]["taskId"]});
    assert_eq!(alice.ask("tasks/cancel", named).await["result"]["status"], "cancelled");
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(status(make(&alice).await).as_deref(), Some("completed"));
}

/// TKX-24 too. Ids of servers with the same history must have no more in common than random ones; a
/// counter, a clock or a shared seed would show.
#[tokio::test(start_paused = true)]
async fn tsk_33_ids_of_tasks_cannot_be_guessed() {
    let mut ids: Vec<String> = Vec::new();
    for _ in 0..2 {
        let peer = session(&asks_later(&Arc::new(Semaphore::new(0)))).await;
        for _ in 0..4 {
            let created = peer.ask("tools/call", json!({"name": "ask", "task": {}})).await;
            ids.push(created["result"]["task"]["taskId"].as_str().unwrap().to_owned());
        }
    }
    for (position, one) in ids.iter().enumerate() {
        assert!(one.len() >= 22, "{one}");
        for other in &ids[..position] {
            let alike = one.bytes().zip(other.bytes()).filter(|(one, other)| one == other).count();
            assert!(alike <= 8, "{one} {other}");
        }
    }
}

/// Requests the outcome of a finished tool task. Returns the id of the task and the text of the
/// result.
async fn asked_about(peer: &Peer, called: Value, method: &str, declaring: fn(Value) -> Value) -> (String, String) {
    let created = peer.ask("tools/call", called).await;
    let id = created["result"].get("task").unwrap_or(&created["result"])["taskId"].as_str().expect("a task").to_owned();
    tokio::time::sleep(Duration::from_millis(10)).await;
    let text = peer.result_text(peer.request(method, declaring(json!({"taskId": id})))).await;
    (id, text)
}

/// A tool whose result has numbers that no machine type can represent.
pub(super) fn exact() -> ToolDefinition {
    ToolDefinition::new(json!({"name": "exact", "outputSchema": {"type": "object"}}), |call: Call| {
        call.complete(Outcome::Object(RawJson::from_text(EXACT.into()).unwrap()));
    })
    .task(TaskSupport::Optional)
}

pub(super) const EXACT: &str = r#"{"n":1000000000000000000000000000000,"f":0.10000000000000000000001}"#;

#[tokio::test(start_paused = true)]
async fn tkx_43_a_stream_tells_exactly_the_result_of_a_task() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let later = ToolDefinition::new(json!({"name": "later", "outputSchema": {"type": "object"}}), move |call: Call| {
        let opened = Arc::clone(&opened);
        tokio::spawn(async move {
            let _permit = opened.acquire().await;
            call.complete(Outcome::Object(RawJson::from_text(EXACT.into()).unwrap()));
        });
    });
    let server = server().add_tool(later.task(TaskSupport::Optional)).build();
    let declaring = |params| modern(params, json!({"extensions": {TASKS.id: {}}}));
    let peer = Peer::with(&server, Transport::Http, Some("alice"));
    let created = peer.ask("tools/call", declaring(json!({"name": "later", "arguments": {}}))).await;
    let id = created["result"]["taskId"].as_str().expect("a task");
    peer.request("subscriptions/listen", declaring(json!({"notifications": {"taskIds": [id]}})));
    peer.received("notifications/subscriptions/acknowledged").await;
    gate.add_permits(1);
    peer.received("notifications/tasks").await;
    let told = peer.params_text("notifications/tasks");
    assert!(told.contains(&format!(r#""structuredContent":{EXACT}"#)), "{told}");
    let shown = peer.result_text(peer.request("tasks/get", declaring(json!({"taskId": id})))).await;
    let (told, shown) = (told.rsplit_once(r#","_meta":"#), shown.rsplit_once(r#","resultType":"#));
    assert_eq!(told.map(|(task, _)| task), shown.map(|(task, _)| task));
}

/// Byte for byte, because nothing parses it on the way.
#[tokio::test(start_paused = true)]
async fn tsk_21_tkx_30_a_task_has_exactly_the_result_of_its_call() {
    let server = server().add_tool(exact()).build();
    let declaring = |params| modern(params, json!({"extensions": {TASKS.id: {}}}));
    let peer = Peer::with(&server, Transport::Http, Some("alice"));
    let mut call = json!({"name": "exact", "arguments": {}});
    let direct = peer.result_text(peer.request("tools/call", modern(call.clone(), json!({})))).await;
    assert!(direct.contains(EXACT), "{direct}");
    let (id, got) = asked_about(&peer, declaring(call.clone()), "tasks/get", declaring).await;
    assert!(got.starts_with(&format!(r#"{{"taskId":"{id}","status":"completed","createdAt":"#)), "{got}");
    let end = direct.split_once(r#""resultType":"#).expect("the end of each result").1;
    assert!(got.ends_with(&format!(r#","result":{direct},"resultType":{end}"#)), "{got}");

    let peer = session(&server).await;
    let direct = peer.result_text(peer.request("tools/call", call.clone())).await;
    call["task"] = json!({});
    let (id, got) = asked_about(&peer, call, "tasks/result", |params| params).await;
    let related = format!(r#""_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":"{id}"}}}}"#);
    assert_eq!(got, format!("{},{related}}}", direct.strip_suffix('}').unwrap()));
}
