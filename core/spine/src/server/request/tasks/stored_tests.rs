//! Stored tasks with two workers of one server.

use super::tests::{EXACT, exact};
use crate::{
    faulty_store::{FaultyStore, StoreFault},
    protocol::{
        RawJson, Revision,
        extension::TASKS,
        model::{ElicitParams, Field, FormSchema},
    },
    race,
    runtime::Runtime as _,
    server::{
        Call, ClientRequest, Context, Server, ServerOptions, TaskSupport, Tool, ToolDefinition,
        session::Origin,
        tests::{LISTENER, Peer, TestRuntime, accept, modern, server, text_of},
    },
    store::{LogEntry, ProcessStore, Store, StoreChoice, StoreTask},
    wire_log::Transport,
};
use serde_json::{Value, json};
use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::Semaphore;

const SECOND: Duration = Duration::from_secs(1);

/// A store that can be made unavailable, and its contents.
pub(in crate::server::request) struct Shared {
    pub(in crate::server::request) kept: ProcessStore,
    pub(in crate::server::request) store: Arc<FaultyStore>,
}

impl Shared {
    pub(in crate::server::request) fn new() -> Self {
        let kept = ProcessStore::new(Arc::new(TestRuntime));
        Self { store: FaultyStore::new(Arc::new(kept.clone())), kept }
    }

    /// A worker of the server. Its gate blocks the tools `hold` and `ask`.
    fn worker(&self) -> Worker {
        let gate = Arc::new(Semaphore::new(0));
        let runs = Arc::<AtomicUsize>::default();
        let held = (Arc::clone(&gate), Arc::clone(&runs));
        let hold = move || {
            let (gate, runs) = held.clone();
            async move {
                runs.fetch_add(1, Ordering::Relaxed);
                let _permit = gate.acquire().await?;
                crate::Ok("held")
            }
        };
        let ask = async |ctx: Context| {
            let params = ElicitParams::form("Who?", FormSchema::new().required("name", Field::text()));
            let answer = ctx.elicit_with_key("name", params).await?;
            crate::Ok(serde_json::to_string(&answer.content)?)
        };
        let wrong = async || crate::Result::<String>::Err(crate::ToolError::new("no luck").into());
        let server = server()
            .options(ServerOptions::default().with_store(Some(StoreChoice::custom(Arc::clone(&self.store) as _))))
            .add_tool(Tool::new("again", "Waits", hold.clone()).task(TaskSupport::Optional).restart_task(true))
            .add_tool(
                Tool::new("scoped", "Waits", hold.clone())
                    .task(TaskSupport::Optional)
                    .restart_task(true)
                    .scopes(["granted"]),
            )
            .add_tool(Tool::new("hold", "Waits", hold).task(TaskSupport::Required))
            .add_tool(Tool::new("ask-again", "Asks", ask).task(TaskSupport::Required).restart_task(true))
            .add_tool(Tool::new("ask", "Asks", ask).task(TaskSupport::Required))
            .add_tool(Tool::new("wrong", "Fails", wrong).task(TaskSupport::Required))
            .add_tool(exact())
            .add_tool(brief(&gate))
            .build();
        Worker { server, gate, runs }
    }

    /// Leaves a task in the state that a killed worker would leave.
    async fn kill_worker_of(&self, task: &str) {
        let key = format!("task/{task}");
        let record = self.kept.get(&key).await.unwrap().unwrap();
        let mut killed: Value = serde_json::from_str(&record).unwrap();
        killed["worker"] = "killed".into();
        self.kept.put(&key, &killed.to_string(), 60 * SECOND).await.unwrap();
    }
}

/// A tool whose task asks, and withdraws its question when the gate opens.
fn brief(gate: &Arc<Semaphore>) -> ToolDefinition {
    let gate = Arc::clone(gate);
    let run = move |call: Call| {
        let gate = Arc::clone(&gate);
        tokio::spawn(async move {
            let form = ElicitParams::form("Who?", FormSchema::new().required("name", Field::text()));
            let params = RawJson::from_value(&form).unwrap();
            let (method, key, timeout) = ("elicitation/create", Some("name"), 600 * SECOND);
            let question = ClientRequest { method, key, params: Some(&params), timeout, max: timeout };
            let asked = call.info().ask(question, |_| {}).unwrap();
            let withdraw = async {
                gate.acquire().await.unwrap().forget();
                call.info().cancel_client_request(&asked, "no longer needed");
                pending().await
            };
            let _: Option<()> = race::unless(call.info().cancelled(), withdraw).await;
        });
    };
    ToolDefinition::new(json!({"name": "brief"}), run).task(TaskSupport::Required)
}

struct Worker {
    server: Server,
    gate: Arc<Semaphore>,
    runs: Arc<AtomicUsize>,
}

impl Worker {
    async fn session(&self, principal: &str) -> Peer {
        let peer = Peer::with(&self.server, Transport::Http, Some(principal));
        peer.in_session(Revision::V2025_11_25, json!({"elicitation": {}})).await
    }

    /// A client of 2026-07-28.
    fn client(&self, principal: Option<&str>) -> Peer {
        Peer::with(&self.server, Transport::Http, principal)
    }
}

fn declaring(params: Value) -> Value {
    modern(params, json!({"elicitation": {}, "extensions": {TASKS.id: {}}}))
}

async fn start(peer: &Peer, tool: &str) -> String {
    let created = peer.ask("tools/call", declaring(json!({"name": tool, "arguments": {}}))).await;
    created["result"]["taskId"].as_str().unwrap_or_else(|| panic!("no task: {created}")).to_owned()
}

async fn start_in_session(peer: &Peer, tool: &str) -> String {
    let created = peer.ask("tools/call", json!({"name": tool, "arguments": {}, "task": {}})).await;
    created["result"]["task"]["taskId"].as_str().unwrap_or_else(|| panic!("no task: {created}")).to_owned()
}

async fn get(peer: &Peer, task: &str) -> Value {
    peer.ask("tasks/get", declaring(json!({"taskId": task}))).await
}

/// The task, once it has this status.
async fn becomes(peer: &Peer, task: &str, status: &str) -> Value {
    let mut last = Value::Null;
    for _ in 0..200 {
        last = get(peer, task).await["result"].take();
        if last["status"] == status {
            return last;
        }
        tokio::time::sleep(SECOND / 10).await;
    }
    panic!("{task} does not become {status}: {last}");
}

#[tokio::test(start_paused = true)]
async fn tkx_08_other_workers_answer_for_a_task_even_if_its_own_has_died() {
    let store = Shared::new();
    let (one, other) = (store.worker(), store.worker());
    let (alice, elsewhere) = (one.client(Some("alice")), other.client(Some("alice")));
    let task = start(&alice, "hold").await;
    // Anyone who knows the id can get it immediately.
    assert_eq!(get(&elsewhere, &task).await["result"]["status"], "working");
    one.gate.add_permits(1);
    let here = becomes(&alice, &task, "completed").await;
    assert_eq!(becomes(&elsewhere, &task, "completed").await, here);
    let failed = start(&alice, "wrong").await;
    assert_eq!(becomes(&elsewhere, &failed, "completed").await["result"]["isError"], true);
    alice.connection.close();
    drop((alice, one));
    let next = store.worker();
    assert_eq!(get(&next.client(Some("alice")), &task).await["result"], here);
    assert_eq!(next.runs.load(Ordering::Relaxed), 0, "nothing ran again");
}

/// TSK-21, TKX-30: byte for byte.
#[tokio::test(start_paused = true)]
async fn tsk_21_tkx_30_other_workers_have_exactly_the_result_of_a_task() {
    let store = Shared::new();
    let (one, other) = (store.worker(), store.worker());
    let (alice, elsewhere) = (one.client(Some("alice")), other.client(Some("alice")));
    let task = start(&alice, "exact").await;
    becomes(&elsewhere, &task, "completed").await;
    let named = declaring(json!({"taskId": task}));
    let here = alice.result_text(alice.request("tasks/get", named.clone())).await;
    assert!(here.contains(EXACT), "{here}");
    assert_eq!(elsewhere.result_text(elsewhere.request("tasks/get", named)).await, here);

    let (alice, elsewhere) = (one.session("alice").await, other.session("alice").await);
    let named = json!({"taskId": start_in_session(&alice, "exact").await});
    let here = alice.result_text(alice.request("tasks/result", named.clone())).await;
    assert!(here.contains(EXACT) && here.contains("related-task"), "{here}");
    assert_eq!(elsewhere.result_text(elsewhere.request("tasks/result", named)).await, here);
}

#[tokio::test(start_paused = true)]
async fn tsk_32_tkx_24_the_tasks_of_other_workers_are_their_owners_only() {
    let store = Shared::new();
    let (one, other) = (store.worker(), store.worker());
    let task = start(&one.client(Some("alice")), "hold").await;
    let anonymous = start(&one.client(None), "hold").await;
    let of_session = start_in_session(&one.session("alice").await, "hold").await;
    let unknown = |id: &str| format!("Unknown or expired task: {id}");
    for (peer, id) in [
        (other.client(Some("bob")), &*task),
        (other.client(None), &task),
        (other.client(Some("alice")), &anonymous),
        (other.client(Some("bob")), &of_session),
        (other.client(Some("alice")), "../worker/x/lease"),
        (other.client(Some("alice")), "a b"),
        (other.client(Some("alice")), "aaaaaaaaaaaaaaaaaaaaaa"),
    ] {
        for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
            let answer = peer.ask(method, declaring(json!({"taskId": id, "inputResponses": {}}))).await;
            assert_eq!(answer["error"]["message"], unknown(id), "{method}: {answer}");
        }
    }
    assert_eq!(get(&other.client(None), &anonymous).await["result"]["status"], "working", "its id is known");
    // TKX-21: a client that has not declared tasks does not see any.
    let undeclared = other.client(Some("alice")).ask("tasks/get", modern(json!({"taskId": task}), json!({}))).await;
    assert_eq!(undeclared["error"]["code"], -32021, "{undeclared}");
}

#[tokio::test(start_paused = true)]
async fn a_task_fails_when_its_worker_has_died() {
    let store = Shared::new();
    let (one, other) = (store.worker(), store.worker());
    let alice = one.client(Some("alice"));
    let task = start(&alice, "hold").await;
    let key = format!("task/{task}");
    store.kill_worker_of(&task).await;
    store.kept.put("worker/killed/lease", "", 20 * SECOND).await.unwrap();
    let elsewhere = other.client(Some("alice"));
    assert_eq!(get(&elsewhere, &task).await["result"]["status"], "working", "its lease counts");
    tokio::time::sleep(21 * SECOND).await;
    let lost = get(&elsewhere, &task).await["result"].take();
    assert_eq!((&lost["status"], &lost["error"]["code"]), (&json!("failed"), &json!(-32603)), "{lost}");
    assert_eq!(lost["error"]["data"]["reason"], "interrupted", "{lost}");
    assert_eq!(get(&store.worker().client(Some("alice")), &task).await["result"], lost, "for everyone");
    // The worker that was wrongly presumed dead also ends the task.
    one.gate.add_permits(1);
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(get(&alice, &task).await["result"], lost, "also for itself");
    let stored = store.kept.get(&key).await.unwrap().unwrap();
    assert!(stored.contains("failed") && !stored.contains("held"), "TSK-13: {stored}");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_another_worker_ends_does_not_seem_older() {
    const AHEAD: &str = "2999-01-01T00:00:00.000Z";
    let store = Shared::new();
    let (one, other) = (store.worker(), store.worker());
    let task = start(&one.client(Some("alice")), "hold").await;
    store.kill_worker_of(&task).await;
    let key = format!("task/{task}");
    let mut record: Value = serde_json::from_str(&store.kept.get(&key).await.unwrap().unwrap()).unwrap();
    record["task"]["lastUpdatedAt"] = AHEAD.into();
    store.kept.put(&key, &record.to_string(), 60 * SECOND).await.unwrap();
    let lost = get(&other.client(Some("alice")), &task).await["result"].take();
    assert_eq!((&lost["status"], &lost["lastUpdatedAt"]), (&json!("failed"), &json!(AHEAD)), "{lost}");
}

#[tokio::test(start_paused = true)]
async fn tkx_08_a_task_whose_tool_says_so_is_run_again_by_another_worker() {
    let store = Shared::new();
    let (one, other) = (store.worker(), store.worker());
    let alice = one.client(Some("alice"));
    let task = start(&alice, "again").await;
    let before = get(&alice, &task).await["result"].take();
    store.kill_worker_of(&task).await;
    let elsewhere = other.client(Some("alice"));
    let taken = get(&elsewhere, &task).await["result"].take();
    assert_eq!((&taken["status"], &taken["createdAt"]), (&json!("working"), &before["createdAt"]), "{taken}");
    other.gate.add_permits(1);
    let done = becomes(&elsewhere, &task, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "held", "{done}");
    assert_eq!((&done["ttlMs"], &done["createdAt"]), (&before["ttlMs"], &before["createdAt"]));
    assert_eq!(other.runs.load(Ordering::Relaxed), 1);
    let stranger = get(&other.client(Some("bob")), &task).await;
    assert_eq!(stranger["error"]["message"], format!("Unknown or expired task: {task}"), "TKX-24");
    // The worker that only seemed dead does not end the task a second time.
    one.gate.add_permits(1);
    tokio::time::sleep(2 * SECOND).await;
    for worker in [&store.worker(), &one, &other] {
        assert_eq!(get(&worker.client(Some("alice")), &task).await["result"], done);
    }
}

#[tokio::test(start_paused = true)]
async fn short_tasks_do_not_hide_longer_ones_from_others() {
    let store = Shared::new();
    let (one, other) = (store.worker(), store.worker());
    let alice = one.session("alice").await;
    let long = start_in_session(&alice, "again").await;
    let brief = json!({"name": "again", "arguments": {}, "task": {"ttl": 1000}});
    assert!(alice.ask("tools/call", brief).await["result"]["task"].is_object());
    tokio::time::sleep(5 * SECOND).await;
    let listed = other.session("alice").await.ask("tasks/list", json!({})).await["result"]["tasks"].take();
    assert_eq!(listed[0]["taskId"], long, "{listed}");
    store.kill_worker_of(&long).await;
    tokio::time::sleep(15 * SECOND).await;
    assert_eq!(one.runs.load(Ordering::Relaxed) + other.runs.load(Ordering::Relaxed), 3);
}

/// A client can wait for a thousand results.
#[tokio::test(start_paused = true)]
async fn tsk_20_those_who_wait_for_results_look_at_the_store_a_few_at_a_time() {
    let store = Shared::new();
    let (one, other) = (store.worker(), store.worker());
    let task = start_in_session(&one.session("alice").await, "hold").await;
    let elsewhere = other.session("alice").await;
    for _ in 0..100 {
        elsewhere.request("tasks/result", json!({"taskId": task}));
    }
    tokio::time::sleep(SECOND).await;
    let before = store.store.calls();
    store.store.set(Some(StoreFault::Silent));
    tokio::time::sleep(SECOND).await;
    let calls = store.store.calls() - before;
    assert!((16..50).contains(&calls), "{calls}");
}

#[tokio::test(start_paused = true)]
async fn a_task_is_run_again_though_nobody_asks_for_it() {
    let store = Shared::new();
    let one = store.worker();
    let unreadable = start_in_session(&one.session("alice").await, "again").await;
    store.kept.put(&format!("task/{unreadable}"), "of a later version", 60 * SECOND).await.unwrap();
    let task = start_in_session(&one.session("alice").await, "again").await;
    store.kill_worker_of(&task).await;
    let other = store.worker();
    // Any request makes the next process look.
    other.session("bob").await.ask("tools/list", json!({})).await;
    tokio::time::sleep(SECOND).await;
    assert_eq!(other.runs.load(Ordering::Relaxed), 1);
    other.gate.add_permits(1);
    let result = other.session("alice").await.ask("tasks/result", json!({"taskId": task})).await;
    assert_eq!(text_of(&result), "held", "{result}");
}

/// Only those of some clients share a log.
#[tokio::test(start_paused = true)]
async fn many_tasks_of_a_client_do_not_keep_those_of_another_from_being_run_again() {
    let store = Shared::new();
    let one = store.worker();
    let task = start(&one.client(Some("alice")), "again").await;
    let greedy = start(&one.client(Some("bob")), "again").await;
    for log in (0..16).map(|number| format!("tasks-restarted/{number}")).chain(["tasks-restarted".to_owned()]) {
        let ids = store.kept.read(&log, 0, 9, Duration::ZERO).await.unwrap();
        for number in (0..10_000).filter(|_| ids.iter().any(|id| id.text == greedy)) {
            store.kept.append(&log, &format!("{number:022}"), 10_000, 60 * SECOND).await.unwrap();
        }
    }
    store.kill_worker_of(&task).await;
    tokio::time::sleep(11 * SECOND).await;
    assert_eq!(one.runs.load(Ordering::Relaxed), 3);
}

/// AUS-12: the identity need not have the scope of the tool itself, only one that implies it.
#[tokio::test(start_paused = true)]
async fn aus_12_a_restarted_task_has_the_scopes_that_were_found() {
    let store = Shared::new();
    let one = store.worker();
    let alice = one.client(Some("alice"));
    let task = start(&alice, "scoped").await;
    store.kill_worker_of(&task).await;
    tokio::time::sleep(11 * SECOND).await;
    assert_eq!(one.runs.load(Ordering::Relaxed), 2);
    one.gate.add_permits(1);
    becomes(&alice, &task, "completed").await;
}

#[tokio::test(start_paused = true)]
async fn a_run_that_returns_to_its_worker_ends_the_previous_one() {
    let store = Shared::new();
    let one = store.worker();
    let alice = one.client(Some("alice"));
    let task = start(&alice, "again").await;
    store.kill_worker_of(&task).await;
    // The worker looks at the list of tasks, which contains this one.
    tokio::time::sleep(11 * SECOND).await;
    assert_eq!(one.runs.load(Ordering::Relaxed), 2);
    one.gate.add_permits(1);
    let done = becomes(&alice, &task, "completed").await;
    assert_eq!(get(&store.worker().client(Some("alice")), &task).await["result"], done);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_ends_its_process_each_time_fails_in_the_end() {
    let store = Shared::new();
    let one = store.worker();
    let task = start(&one.client(None), "again").await;
    for _ in 0..2 {
        store.kill_worker_of(&task).await;
        let worker = store.worker();
        assert_eq!(get(&worker.client(None), &task).await["result"]["status"], "working");
        tokio::time::sleep(SECOND).await;
        assert_eq!(worker.runs.load(Ordering::Relaxed), 1);
    }
    store.kill_worker_of(&task).await;
    let lost = get(&store.worker().client(None), &task).await["result"].take();
    assert_eq!(lost["error"]["data"]["reason"], "interrupted", "{lost}");
}

#[tokio::test(start_paused = true)]
async fn a_restarted_task_that_asks_its_client_fails() {
    let store = Shared::new();
    let (one, other) = (store.worker(), store.worker());
    let (alice, elsewhere) = (one.client(Some("alice")), other.client(Some("alice")));
    let task = start(&alice, "ask-again").await;
    becomes(&alice, &task, "input_required").await;
    store.kill_worker_of(&task).await;
    let failed = becomes(&elsewhere, &task, "failed").await["error"].take();

    let (alice, elsewhere) = (one.session("alice").await, other.session("alice").await);
    let task = start_in_session(&alice, "ask-again").await;
    let result = elsewhere.request("tasks/result", json!({"taskId": task}));
    elsewhere.received("elicitation/create").await;
    store.kill_worker_of(&task).await;
    let cancelled = elsewhere.received("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["reason"], "the task no longer waits for it");
    for error in [failed, elsewhere.answer(result).await["error"].take()] {
        assert_eq!((&error["code"], &error["data"]["reason"]), (&json!(-32603), &json!("restarted")), "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with("elicitation/create: the task was restarted"), "{error}");
        assert!(message.ends_with("Call the tool again"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_cannot_be_run_again_has_failed() {
    let store = Shared::new();
    let (one, other) = (store.worker(), store.worker());
    let (gone, changed) = (start(&one.client(None), "again").await, start(&one.client(None), "again").await);
    store.kept.remove(&format!("task/{gone}/request")).await.unwrap();
    store.kill_worker_of(&gone).await;
    let failed = becomes(&other.client(None), &gone, "failed").await;
    assert_eq!(failed["error"]["code"], -32603, "{failed}");
    // The next version of the server does not have the tool.
    let options = ServerOptions::default().with_store(Some(StoreChoice::custom(Arc::clone(&store.store) as _)));
    let quick = Tool::new("quick", "Ends at once", async || "done").task(TaskSupport::Required);
    let next = server().options(options).add_tool(quick).build();
    store.kill_worker_of(&changed).await;
    let failed = becomes(&Peer::with(&next, Transport::Http, None), &changed, "failed").await;
    assert_eq!(failed["error"]["message"], "Unknown tool: again", "{failed}");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_ends_in_order_leaves_its_tasks_to_the_next() {
    let store = Shared::new();
    let one = store.worker();
    let alice = one.client(Some("alice"));
    let (kept, cancelled) = (start(&alice, "again").await, start(&alice, "again").await);
    alice.ask("tasks/cancel", declaring(json!({"taskId": cancelled}))).await;
    let cut = start(&alice, "hold").await;
    let Origin::Listener(listener) = LISTENER else { unreachable!() };
    one.server.end_tasks_of(listener);
    let other = store.worker();
    let elsewhere = other.client(Some("alice"));
    let failed = becomes(&elsewhere, &cut, "failed").await;
    assert_eq!((&failed["error"]["code"], &failed["error"]["data"]["reason"]), (&json!(-32603), &json!("interrupted")));
    tokio::time::sleep(21 * SECOND).await;
    drop((alice, one));
    other.gate.add_permits(1);
    assert_eq!(becomes(&elsewhere, &kept, "completed").await["result"]["content"][0]["text"], "held");
    assert_eq!(get(&elsewhere, &cancelled).await["result"]["status"], "cancelled");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_the_next_process_continues_is_not_interrupted_for_its_client() {
    let store = Shared::new();
    let one = store.worker();
    let alice = one.session("alice").await;
    let again = alice.request("tasks/result", json!({"taskId": start_in_session(&alice, "again").await}));
    let hold = alice.request("tasks/result", json!({"taskId": start_in_session(&alice, "hold").await}));
    tokio::time::sleep(SECOND).await;
    let Origin::Listener(listener) = LISTENER else { unreachable!() };
    // As at the deadline of a shutdown.
    one.server.end_tasks_of(listener);
    alice.connection.interrupt();
    for (request, reason) in [(again, "busy"), (hold, "interrupted")] {
        let refused = alice.answer(request).await;
        assert_eq!(refused["error"]["data"]["reason"], reason, "{refused}");
    }
}

/// A graceful shutdown whose tasks have this much time; `Ok` if they finished within it.
async fn drain(worker: &Worker, time: Duration) -> Result<(), tokio::time::error::Elapsed> {
    let Origin::Listener(listener) = LISTENER else { unreachable!() };
    tokio::time::timeout(time, worker.server.drain_tasks_of(listener)).await
}

#[tokio::test(start_paused = true)]
async fn tasks_drain_until_the_store_has_their_ends() {
    let store = Shared::new();
    let (one, other) = (store.worker(), store.worker());
    let (alice, elsewhere) = (one.client(Some("alice")), other.client(Some("alice")));
    drain(&one, SECOND).await.expect("nothing runs");
    let (task, of_session) = (start(&alice, "hold").await, start_in_session(&one.session("bob").await, "hold").await);
    drain(&one, 4 * SECOND).await.expect_err("they run");
    one.gate.add_permits(1);
    store.store.set_away(true);
    drain(&one, 4 * SECOND).await.expect_err("nobody knows of the ends");
    store.store.set_away(false);
    drain(&one, 10 * SECOND).await.expect("both have ended");
    drop((alice, one));
    assert_eq!(get(&elsewhere, &task).await["result"]["status"], "completed");
    let bob = other.session("bob").await;
    assert_eq!(text_of(&bob.ask("tasks/result", json!({"taskId": of_session})).await), "held");
}

/// TSK-13: a reported state is final, even if two workers believe that they own the task.
#[tokio::test(start_paused = true)]
async fn an_end_that_is_not_stored_is_not_announced() {
    let store = Shared::new();
    let (one, other) = (store.worker(), store.worker());
    let (alice, elsewhere) = (one.session("alice").await, other.session("alice").await);
    let named = json!({"taskId": start_in_session(&alice, "hold").await});
    let result = alice.request("tasks/result", named.clone());
    store.store.set_away(true);
    one.gate.add_permits(1);
    tokio::time::sleep(SECOND).await;
    for method in ["tasks/get", "tasks/cancel"] {
        let refused = alice.ask(method, named.clone()).await;
        assert_eq!(refused["error"]["data"]["reason"], "busy", "{method}: {refused}");
    }
    // Meanwhile, another worker presumes this one dead.
    store.kill_worker_of(named["taskId"].as_str().unwrap()).await;
    store.store.set_away(false);
    tokio::time::sleep(11 * SECOND).await;
    assert_eq!(elsewhere.ask("tasks/get", named.clone()).await["result"]["status"], "failed");
    let refused = alice.answer(result).await;
    assert_eq!(refused["error"]["data"]["reason"], "busy", "to be asked again: {refused}");
    assert_eq!(alice.ask("tasks/get", named.clone()).await["result"]["status"], "failed");
    assert_eq!(alice.ask("tasks/result", named).await["error"]["data"]["reason"], "interrupted");
}

#[tokio::test(start_paused = true)]
async fn tsk_30_a_task_is_cancelled_once_the_store_has_that() {
    let store = Shared::new();
    let one = store.worker();
    let alice = one.session("alice").await;
    let named = json!({"taskId": start_in_session(&alice, "hold").await});
    let cancelled = alice.ask("tasks/cancel", named).await;
    assert_eq!(cancelled["result"]["status"], "cancelled");
    let named = json!({"taskId": start_in_session(&alice, "hold").await});
    store.store.set_away(true);
    let refused = alice.ask("tasks/cancel", named.clone()).await;
    assert_eq!(refused["error"]["data"]["reason"], "busy", "{refused}");
    let refused = alice.ask("tasks/get", named.clone()).await;
    assert_eq!(refused["error"]["data"]["reason"], "busy", "other workers may know that it ended: {refused}");
    store.store.set_away(false);
    tokio::time::sleep(10 * SECOND).await;
    assert_eq!(alice.ask("tasks/get", named).await["result"]["status"], "cancelled");
}

#[tokio::test(start_paused = true)]
async fn a_task_is_not_run_again_with_a_token_that_has_expired() {
    let store = Shared::new();
    let (one, other) = (store.worker(), store.worker());
    let (fresh, old) =
        (start(&one.client(Some("alice")), "again").await, start(&one.client(Some("alice")), "again").await);
    for (task, ends_in) in [(&fresh, 60_i64), (&old, -1)] {
        let key = format!("task/{task}/request");
        let mut request: Value = serde_json::from_str(&store.kept.get(&key).await.unwrap().unwrap()).unwrap();
        let now = i64::try_from(TestRuntime.unix_time().as_secs()).unwrap();
        request["auth"]["expiresAt"] = (now + ends_in).into();
        store.kept.put(&key, &request.to_string(), 60 * SECOND).await.unwrap();
        store.kill_worker_of(task).await;
    }
    other.gate.add_permits(1);
    let elsewhere = other.client(Some("alice"));
    let failed = becomes(&elsewhere, &old, "failed").await;
    assert_eq!(failed["error"]["data"]["reason"], "token_expired", "{failed}");
    becomes(&elsewhere, &fresh, "completed").await;
    assert_eq!(other.runs.load(Ordering::Relaxed), 1);
}

#[test]
fn options_for_restarts_must_be_consistent() {
    let wrong = |tool: Tool| server().add_tool(tool).try_build().err().unwrap().to_string();
    let tool = || Tool::new("render", "Renders", async || "done").restart_task(true);
    for error in [wrong(tool()), wrong(tool().task(TaskSupport::Optional).defer_task(true))] {
        assert!(error.contains("Tool render: restarting tasks: needs"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn workers_that_live_keep_their_leases() {
    let store = Shared::new();
    let (one, other) = (store.worker(), store.worker());
    let task = start(&one.client(None), "hold").await;
    for _ in 0..20 {
        tokio::time::sleep(7 * SECOND).await;
        assert_eq!(get(&other.client(None), &task).await["result"]["status"], "working");
    }
}

/// All leases have expired by then, and not all workers renew theirs at once.
#[tokio::test(start_paused = true)]
async fn no_worker_seems_dead_because_the_store_was_away() {
    let store = Shared::new();
    let (one, other) = (store.worker(), store.worker());
    let (alice, elsewhere) = (one.client(Some("alice")), other.client(Some("alice")));
    let (task, again) = (start(&alice, "hold").await, start(&alice, "again").await);
    // The other worker renews its lease, too.
    start(&elsewhere, "hold").await;
    store.store.set_away(true);
    tokio::time::sleep(30 * SECOND).await;
    store.store.set_away(false);
    for key in store.kept.keys().into_iter().filter(|key| key.ends_with("/lease")) {
        assert_eq!(store.kept.get(&key).await.unwrap(), None, "{key} has expired");
    }
    for _ in 0..40 {
        tokio::time::sleep(SECOND / 2).await;
        for task in [&task, &again] {
            let seen = get(&elsewhere, task).await;
            assert!(seen["error"]["data"]["reason"] == "busy" || seen["result"]["status"] == "working", "{seen}");
        }
    }
    one.gate.add_permits(2);
    for task in [&task, &again] {
        assert_eq!(becomes(&elsewhere, task, "completed").await["result"]["content"][0]["text"], "held");
    }
    assert_eq!((one.runs.load(Ordering::Relaxed), other.runs.load(Ordering::Relaxed)), (2, 1), "none ran twice");
}

#[tokio::test(start_paused = true)]
async fn tsk_20_tsk_30_sessions_at_other_workers_wait_cancel_and_list() {
    let store = Shared::new();
    let (one, other) = (store.worker(), store.worker());
    let (alice, elsewhere, bob) =
        (one.session("alice").await, other.session("alice").await, other.session("bob").await);
    let (first, second) = (start_in_session(&alice, "hold").await, start_in_session(&alice, "hold").await);
    let result = elsewhere.request("tasks/result", json!({"taskId": first}));
    let cancelled = elsewhere.ask("tasks/cancel", json!({"taskId": second})).await;
    assert_eq!(cancelled["result"]["status"], "cancelled", "{cancelled}");
    let again = elsewhere.ask("tasks/cancel", json!({"taskId": second})).await;
    assert_eq!(again["error"]["message"], format!("The task {second} has already ended"), "TSK-29");
    assert_eq!(alice.ask("tasks/get", json!({"taskId": second})).await["result"]["status"], "cancelled");
    one.gate.add_permits(1);
    let result = elsewhere.answer(result).await;
    assert_eq!(text_of(&result), "held");
    assert_eq!(result["result"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], first, "TSK-15");
    let failed = elsewhere.ask("tasks/result", json!({"taskId": second})).await;
    assert_eq!(failed["error"]["code"], -32600, "{failed}");
    let third = start_in_session(&elsewhere, "hold").await;
    for peer in [&alice, &elsewhere] {
        let listed = peer.ask("tasks/list", json!({})).await["result"]["tasks"].take();
        let ids: Vec<_> = listed.as_array().unwrap().iter().map(|task| task["taskId"].as_str().unwrap()).collect();
        assert_eq!(ids, [&first, &second, &third]);
        assert_eq!((&listed[0]["status"], listed[0].get("result")), (&json!("completed"), None), "{listed}");
    }
    assert_eq!(bob.ask("tasks/list", json!({})).await["result"]["tasks"], json!([]));
}

async fn is_asked(peer: &Peer) -> bool {
    peer.rest().await.iter().any(|message| message["method"] == "elicitation/create")
}

/// Responds to the question of a task.
async fn answer(asked: &Peer, name: &str) {
    let question = asked.received("elicitation/create").await;
    assert_eq!(question["params"]["message"], "Who?", "{question}");
    assert!(question["params"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"].is_string(), "TSK-15");
    assert!(!is_asked(asked).await, "asked once");
    asked.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(json!({"name": name}))}));
}

#[tokio::test(start_paused = true)]
async fn tsk_19_a_task_asks_on_the_stream_of_a_request_at_another_worker() {
    let store = Shared::new();
    let (one, other, third) = (store.worker(), store.worker(), store.worker());
    let (alice, elsewhere, also) =
        (one.session("alice").await, other.session("alice").await, third.session("alice").await);
    let named = json!({"taskId": start_in_session(&alice, "ask").await});
    let result = elsewhere.request("tasks/result", named.clone());
    let question = elsewhere.received("elicitation/create").await;
    let again = elsewhere.request("tasks/result", named.clone());
    tokio::time::sleep(12 * SECOND).await;
    assert!(!is_asked(&elsewhere).await, "asked once at each worker");
    // Clients that wait at other workers are asked until one of them has answered.
    let (here, there) = (alice.request("tasks/result", named.clone()), also.request("tasks/result", named.clone()));
    let others =
        [(&alice, alice.received("elicitation/create").await), (&also, also.received("elicitation/create").await)];
    assert_eq!(alice.ask("tasks/get", named).await["result"]["status"], "input_required");
    elsewhere.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(json!({"name": "Ada"}))}));
    for (peer, question) in others {
        let cancelled = peer.received("notifications/cancelled").await;
        assert_eq!(cancelled["params"]["requestId"], question["id"], "{cancelled}");
    }
    for (peer, id) in [(&elsewhere, result), (&elsewhere, again), (&alice, here), (&also, there)] {
        assert!(text_of(&peer.answer(id).await).contains("Ada"));
    }
    // An error of the client also reaches the task.
    let result = elsewhere.request("tasks/result", json!({"taskId": start_in_session(&alice, "ask").await}));
    let question = elsewhere.received("elicitation/create").await;
    let refusal = json!({"code": -32000, "message": "nobody is there"});
    elsewhere.send(json!({"jsonrpc": "2.0", "id": question["id"], "error": refusal}));
    let refused = elsewhere.answer(result).await;
    assert!(refused.to_string().contains("nobody is there"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn tsk_19_a_question_whose_stream_is_lost_goes_to_who_waits_elsewhere() {
    let store = Shared::new();
    let (one, other) = (store.worker(), store.worker());
    let (alice, elsewhere, also) =
        (one.session("alice").await, other.session("alice").await, other.session("alice").await);
    let named = json!({"taskId": start_in_session(&alice, "ask").await});
    elsewhere.request("tasks/result", named.clone());
    elsewhere.received("elicitation/create").await;
    let result = also.request("tasks/result", named.clone());
    tokio::time::sleep(2 * SECOND).await;
    assert!(!is_asked(&also).await);
    elsewhere.connection.close();
    answer(&also, "Ada").await;
    assert!(text_of(&also.answer(result).await).contains("Ada"));
}

#[tokio::test(start_paused = true)]
async fn tsk_19_an_answer_at_another_worker_outlasts_a_failure_of_the_store() {
    let store = Shared::new();
    let (one, other) = (store.worker(), store.worker());
    let (alice, elsewhere) = (one.session("alice").await, other.session("alice").await);
    let named = json!({"taskId": start_in_session(&alice, "ask").await});
    elsewhere.request("tasks/result", named.clone());
    let question = elsewhere.received("elicitation/create").await;
    store.store.set_away(true);
    elsewhere.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(json!({"name": "Ada"}))}));
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!(alice.ask("tasks/get", named.clone()).await["result"]["status"], "input_required");
    store.store.set_away(false);
    tokio::time::sleep(10 * SECOND).await;
    assert!(text_of(&alice.ask("tasks/result", named).await).contains("Ada"));
    assert!(!is_asked(&alice).await, "answered by then");
}

/// However often a client opens and cancels a request for the result there.
#[tokio::test(start_paused = true)]
async fn a_cancelled_request_for_a_result_no_longer_looks_at_the_task() {
    let store = Shared::new();
    let (one, other) = (store.worker(), store.worker());
    let (alice, elsewhere) = (one.session("alice").await, other.session("alice").await);
    let named = json!({"taskId": start_in_session(&alice, "ask").await});
    let calls = async || {
        let before = store.store.calls();
        tokio::time::sleep(60 * SECOND).await;
        store.store.calls() - before
    };
    let mut result = elsewhere.request("tasks/result", named.clone());
    elsewhere.received("elicitation/create").await;
    let of_one = calls().await;
    for _ in 0..20 {
        elsewhere.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": result}}));
        result = elsewhere.request("tasks/result", named.clone());
        elsewhere.received("elicitation/create").await;
    }
    let of_many = calls().await;
    assert!(of_many < of_one + 20, "{of_one} store calls a minute became {of_many}");
}

#[tokio::test(start_paused = true)]
async fn can_01_a_question_that_its_task_withdraws_is_cancelled_wherever_it_was_sent() {
    let store = Shared::new();
    let (one, other) = (store.worker(), store.worker());
    let (alice, elsewhere) = (one.session("alice").await, other.session("alice").await);
    for (peer, withdrawn) in [(&alice, "no longer needed"), (&elsewhere, "the task no longer waits for it")] {
        for is_withdrawn in [true, false] {
            let named = json!({"taskId": start_in_session(&alice, "brief").await});
            let result = peer.request("tasks/result", named.clone());
            let question = peer.received("elicitation/create").await;
            let reason = if is_withdrawn { withdrawn } else { "the task is over" };
            if is_withdrawn {
                one.gate.add_permits(1);
            } else {
                alice.request("tasks/cancel", named.clone());
            }
            let cancelled = peer.received("notifications/cancelled").await;
            assert_eq!(cancelled["params"], json!({"requestId": question["id"], "reason": reason}));
            if is_withdrawn {
                assert_eq!(alice.ask("tasks/get", named.clone()).await["result"]["status"], "working");
                alice.request("tasks/cancel", named);
            }
            assert_eq!(peer.answer(result).await["error"]["code"], -32600);
            assert!(!is_asked(peer).await, "it is not sent again");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn tkx_18_answers_reach_a_task_by_any_worker() {
    let store = Shared::new();
    let (one, other) = (store.worker(), store.worker());
    let elsewhere = other.client(Some("alice"));
    let task = start(&one.client(Some("alice")), "ask").await;
    let asking = becomes(&elsewhere, &task, "input_required").await;
    assert_eq!(asking["inputRequests"]["name"]["method"], "elicitation/create", "{asking}");
    let responses = json!({"taskId": task, "inputResponses": {"name": accept(json!({"name": "Ada"}))}});
    let answer = elsewhere.ask("tasks/update", declaring(responses)).await;
    assert_eq!(answer.get("error"), None, "{answer}");
    let done = becomes(&elsewhere, &task, "completed").await;
    assert!(done["result"]["content"][0]["text"].as_str().unwrap().contains("Ada"), "{done}");
    // In the extension: an acknowledgement, and then the task is cancelled.
    let task = start(&one.client(Some("alice")), "hold").await;
    let answer = elsewhere.ask("tasks/cancel", declaring(json!({"taskId": task}))).await;
    assert_eq!(answer.get("error"), None, "{answer}");
    becomes(&elsewhere, &task, "cancelled").await;
}

#[tokio::test(start_paused = true)]
async fn without_its_store_a_server_refuses_tasks_and_loses_none() {
    let store = Shared::new();
    let (one, other) = (store.worker(), store.worker());
    let (alice, elsewhere) = (one.client(Some("alice")), other.client(Some("alice")));
    let task = start(&alice, "hold").await;
    store.store.set_away(true);
    let refused = alice.ask("tools/call", declaring(json!({"name": "hold", "arguments": {}}))).await;
    assert_eq!(refused["error"]["data"]["reason"], "busy", "{refused}");
    assert_eq!(one.runs.load(Ordering::Relaxed), 1, "a task that nobody could find is not begun");
    assert_eq!(get(&elsewhere, &task).await["error"]["data"]["reason"], "busy");
    assert_eq!(get(&alice, &task).await["result"]["status"], "working");
    // The task keeps running; its end is reported once the store is back and has it. Until then,
    // another worker could report something else.
    one.gate.add_permits(1);
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(get(&alice, &task).await["error"]["data"]["reason"], "busy");
    store.store.set_away(false);
    let done = becomes(&alice, &task, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "held");
    assert_eq!(becomes(&elsewhere, &task, "completed").await, done);
    start(&alice, "hold").await;
}

/// A store that takes changes of entries without confirming them, as long as it is set to.
pub(in crate::server::request) struct Unconfirmed(ProcessStore, AtomicBool);

impl Unconfirmed {
    pub(in crate::server::request) fn new(kept: ProcessStore) -> Arc<Self> {
        Arc::new(Self(kept, AtomicBool::new(false)))
    }

    pub(in crate::server::request) fn set(&self, is_unconfirmed: bool) {
        self.1.store(is_unconfirmed, Ordering::Relaxed);
    }
}

impl Store for Unconfirmed {
    fn get(&self, key: &str) -> StoreTask<Option<String>> {
        self.0.get(key)
    }

    fn put(&self, key: &str, text: &str, keep_for: Duration) -> StoreTask {
        self.0.put(key, text, keep_for)
    }

    fn put_if(&self, key: &str, expected: Option<&str>, text: &str, keep_for: Duration) -> StoreTask<bool> {
        let written = self.0.put_if(key, expected, text, keep_for);
        if self.1.load(Ordering::Relaxed) { Box::pin(pending()) } else { written }
    }

    fn remove(&self, key: &str) -> StoreTask {
        self.0.remove(key)
    }

    fn append(&self, log: &str, entry: &str, max_entries: usize, keep_for: Duration) -> StoreTask<u64> {
        self.0.append(log, entry, max_entries, keep_for)
    }

    fn read(&self, log: &str, after: u64, limit: usize, wait: Duration) -> StoreTask<Vec<LogEntry>> {
        self.0.read(log, after, limit, wait)
    }
}

/// A store that stops for longer than its deadline and takes the write nevertheless, as Redis does.
#[tokio::test(start_paused = true)]
async fn tsk_13_an_end_that_the_store_took_without_confirming_it_is_the_end_at_every_worker() {
    for (tool, status) in [("hold", "completed"), ("again", "completed"), ("hold", "cancelled")] {
        let kept = ProcessStore::new(Arc::new(TestRuntime));
        let unconfirmed = Unconfirmed::new(kept.clone());
        let store = Shared { kept, store: FaultyStore::new(unconfirmed.clone()) };
        let (one, other) = (store.worker(), store.worker());
        let (alice, elsewhere) = (one.session("alice").await, other.session("alice").await);
        let named = json!({"taskId": start_in_session(&alice, tool).await});
        let status_at = async |peer: &Peer| {
            let seen = peer.ask("tasks/get", named.clone()).await;
            let reason = seen["error"]["data"]["reason"].as_str();
            reason.or(seen["result"]["status"].as_str()).unwrap_or_else(|| panic!("{seen}")).to_owned()
        };
        tokio::time::sleep(SECOND).await;
        unconfirmed.set(true);
        if status == "cancelled" {
            alice.request("tasks/cancel", named.clone());
        } else {
            one.gate.add_permits(1);
        }
        // Before the deadline of the store, after it, and while it is not used because it failed.
        let mut first = None;
        for step in 0..120 {
            tokio::time::sleep(SECOND / 10).await;
            unconfirmed.set(step < 60);
            if status_at(&elsewhere).await == status {
                first.get_or_insert(step);
            }
            let own = status_at(&alice).await;
            assert!(first.is_none() || own == status || own == "busy", "{tool}: {own} after {status} in step {step}");
        }
        assert!(first.is_some_and(|first| first < 60), "{tool}: {first:?}");
        assert_eq!(status_at(&alice).await, status, "{tool}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_task_does_not_stay_in_the_store() {
    let kept = ProcessStore::new(Arc::new(TestRuntime));
    let unconfirmed = Unconfirmed::new(kept.clone());
    unconfirmed.set(true);
    let store = Shared { kept, store: FaultyStore::new(unconfirmed.clone()) };
    let worker = store.worker();
    let alice = worker.client(Some("alice"));
    let refused = alice.ask("tools/call", declaring(json!({"name": "again", "arguments": {}}))).await;
    assert_eq!(refused["error"]["data"]["reason"], "busy", "{refused}");
    let stored = || store.kept.keys().into_iter().filter(|key| key.starts_with("task/")).collect::<Vec<_>>();
    assert_eq!(stored().len(), 2, "the record and the request");
    let is_listed = |key: &String| key.starts_with("tasks-restarted/");
    assert!(!store.kept.keys().iter().any(is_listed), "others would take it for over");
    unconfirmed.set(false);
    tokio::time::sleep(20 * SECOND).await;
    assert_eq!(stored(), [""; 0], "another worker would run it");
    let task = start(&alice, "again").await;
    assert_eq!(stored().len(), 2);
    worker.gate.add_permits(1);
    becomes(&alice, &task, "completed").await;
    assert_eq!(stored(), [format!("task/{task}")], "nobody runs it again");
}

/// As in a failover to a replica that has not got the latest write.
#[tokio::test(start_paused = true)]
async fn a_task_outlasts_a_store_that_goes_back_to_an_earlier_record() {
    let store = Shared::new();
    let one = store.worker();
    let alice = one.client(Some("alice"));
    let task = start(&alice, "hold").await;
    let key = format!("task/{task}");
    let mut earlier: Value = serde_json::from_str(&store.kept.get(&key).await.unwrap().unwrap()).unwrap();
    earlier["task"]["statusMessage"] = "earlier".into();
    store.kept.put(&key, &earlier.to_string(), 60 * SECOND).await.unwrap();
    one.gate.add_permits(1);
    becomes(&alice, &task, "completed").await;
}

#[tokio::test(start_paused = true)]
async fn a_task_that_was_taken_over_without_confirmation_is_run_again() {
    let kept = ProcessStore::new(Arc::new(TestRuntime));
    let unconfirmed = Unconfirmed::new(kept.clone());
    let store = Shared { kept, store: FaultyStore::new(unconfirmed.clone()) };
    let (one, other) = (store.worker(), store.worker());
    let elsewhere = other.client(Some("alice"));
    // The other worker has looked for tasks, and does so again in ten seconds.
    start(&elsewhere, "hold").await;
    let task = start(&one.client(Some("alice")), "again").await;
    store.kill_worker_of(&task).await;
    unconfirmed.set(true);
    assert_eq!(get(&elsewhere, &task).await["error"]["data"]["reason"], "busy");
    unconfirmed.set(false);
    other.gate.add_permits(2);
    becomes(&elsewhere, &task, "completed").await;
}

#[test]
fn a_store_that_cannot_be_is_refused_when_the_server_is_built() {
    for url in ["redis:x", "mysql://u:secret@h/d"] {
        let options = ServerOptions::default().with_store(Some(StoreChoice::url(url)));
        let error = server().options(options).try_build().err().unwrap().to_string();
        assert!(error.contains("store: ") && !error.contains("secret"), "{error}");
        let error = serde_json::from_value::<ServerOptions>(json!({"store": url})).unwrap_err().to_string();
        assert!(error.contains("supported URLs") && !error.contains("secret"), "{error}");
    }
    let url = StoreChoice::url("redis://u:secret@h/1");
    assert_eq!(format!("{url:?}"), "StoreChoice(redis://h/1)");
}

/// Equivalent to a restart of the process.
#[cfg(feature = "store-sqlite")]
#[tokio::test]
async fn a_result_is_found_in_the_file_by_the_next_process() {
    use crate::transport::TokioRuntime;
    let mut name = [0; 8];
    getrandom::fill(&mut name).unwrap();
    let path = std::env::temp_dir().join(format!("trunkline-tasks-{:x}.db", u64::from_ne_bytes(name)));
    let url = format!("sqlite:{}", path.display());
    let worker = || {
        let store = TokioRuntime::current().open_store(&url, 5 * SECOND).unwrap();
        let tool = Tool::new("quick", "Ends at once", async || "done").task(TaskSupport::Required);
        server().options(ServerOptions::default().with_store(Some(StoreChoice::custom(store)))).add_tool(tool).build()
    };
    let first = worker();
    let peer = Peer::with(&first, Transport::Http, None);
    let task = start(&peer, "quick").await;
    becomes(&Peer::with(&worker(), Transport::Http, None), &task, "completed").await;
    drop((peer, first));
    let found = get(&Peer::with(&worker(), Transport::Http, None), &task).await;
    assert_eq!(found["result"]["result"]["content"][0]["text"], "done", "{found}");
    for ending in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{ending}", path.display()));
    }
}
