//! Tasks and states of requests over HTTP: which requests find them again, and whose they are.

use super::support::*;
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use trunkline::{
    Revision,
    auth::{Authorization, AuthorizationOptions, Identity, Verification},
    protocol::model::{ElicitParams, Field, FormSchema},
    server::{Context, ServerOptions, TaskSupport, Tool},
    store::{ProcessStore, Store, StoreChoice},
    transport::{HttpOptions, TokioRuntime, TrustedProxy},
};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const REVISION: &str = "2025-11-25";

async fn fixture(options: HttpOptions) -> Fixture {
    fixture_with(options, ServerOptions::default()).await
}

async fn fixture_with(options: HttpOptions, server: ServerOptions) -> Fixture {
    let fixture = Fixture::with(options, server).await;
    let forever = |ctx: Context| async move {
        ctx.cancelled().await;
        "never"
    };
    fixture.server.add_tool(Tool::new("forever", "Never ends.", forever).task(TaskSupport::Optional)).unwrap();
    let ask = |ctx: Context| async move {
        let form = FormSchema::new().required("word", Field::text());
        let answer = ctx.elicit_with_key("word", ElicitParams::form("Which?", form)).await?;
        trunkline::Ok(format!("{:?}", answer.action))
    };
    fixture.server.add_tool(Tool::new("ask", "Asks.", ask)).unwrap();
    fixture
}

/// Every caller is believed: the token is the name.
pub(crate) fn named() -> HttpOptions {
    let verifier = |verification: Verification| {
        let identity = Identity::default().with_subject(verification.token());
        verification.complete(Ok(identity));
    };
    let options = AuthorizationOptions::new("https://mcp.example/mcp");
    let options = options.with_authorization_servers(["https://auth.example"]);
    HttpOptions::default().with_auth(Authorization::new(options, Arc::new(verifier)).unwrap())
}

/// A modern request that declares what these tests need; `name` goes into `Mcp-Name`.
fn modern(fixture: &Fixture, method: &str, params: Value, name: &str) -> Ask {
    let mut body = modern_request(method, params);
    body["params"]["_meta"][CAPABILITIES] = json!({"elicitation": {}, "extensions": {EXTENSION: {}}});
    let ask = fixture.ask("POST").header("MCP-Protocol-Version", "2026-07-28").header("Mcp-Method", method);
    ask.header("Mcp-Name", name).json(&body)
}

fn about(fixture: &Fixture, method: &str, task: &str) -> Ask {
    modern(fixture, method, json!({"taskId": task, "inputResponses": {}}), task)
}

fn forever_as_task() -> Value {
    request("tools/call", json!({"name": "forever", "arguments": {}, "task": {}}))
}

fn in_session(fixture: &Fixture, session: &str, body: &Value) -> Ask {
    fixture.ask("POST").header("Mcp-Session-Id", session).header("MCP-Protocol-Version", REVISION).json(body)
}

fn id_of(created: &Value) -> String {
    let result = &created["result"];
    let id = result["task"].get("taskId").or(result.get("taskId")).and_then(Value::as_str);
    id.unwrap_or_else(|| panic!("no task: {created}")).to_owned()
}

/// With every store: other workers see what became of a task when its own has ended in order.
#[tokio::test]
async fn tasks_drain_with_their_listener_and_are_interrupted_at_its_deadline() {
    let file = std::env::temp_dir().join(format!("trunkline-drain-{}.db", std::process::id()));
    let sqlite = TokioRuntime::current().open_store(&format!("sqlite:{}", file.display()), Duration::from_secs(5));
    let memory: Arc<dyn Store> = Arc::new(ProcessStore::new(TokioRuntime::current()));
    for store in [memory, sqlite.unwrap()] {
        let worker = async || {
            let options = ServerOptions::default().with_store(StoreChoice::custom(Arc::clone(&store)));
            let fixture = fixture_with(HttpOptions::default(), options).await;
            let wait = async || {
                tokio::time::sleep(Duration::from_millis(200)).await;
                "done"
            };
            fixture.server.add_tool(Tool::new("short", "Takes a moment.", wait).task(TaskSupport::Required)).unwrap();
            fixture
        };
        let (one, other) = (worker().await, worker().await);
        let start = async |tool| modern(&one, "tools/call", call(tool, json!({})), tool).send().await;
        let (short, forever) = (id_of(&start("short").await.json()), id_of(&start("forever").await.json()));
        let status = async |task: &str| about(&other, "tasks/get", task).send().await.json()["result"].take();
        // Longer than a busy machine takes to answer a request meanwhile.
        let closing = one.listener.close(Duration::from_millis(1500));
        let meanwhile = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            status(&forever).await
        };
        let ((), meanwhile) = tokio::join!(closing, meanwhile);
        assert_eq!(meanwhile["status"], "working");
        // At once, for it has ended in order.
        assert_eq!(status(&short).await["result"]["content"][0]["text"], "done");
        let cut = status(&forever).await;
        assert_eq!(
            (&cut["status"], &cut["error"]["data"]["reason"]),
            (&json!("failed"), &json!("interrupted")),
            "{cut}"
        );
    }
    for ending in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{ending}", file.display()));
    }
}

/// No request can bring the input, because a server that closes takes none.
#[tokio::test]
async fn a_task_that_waits_for_input_ends_at_once_when_its_listener_closes() {
    for (health, era) in [(false, "modern"), (true, "modern"), (false, "legacy"), (true, "legacy")] {
        let fixture = fixture(HttpOptions::default().with_health(health)).await;
        let asks = |ctx: Context| async move {
            let form = FormSchema::new().required("word", Field::text());
            let answer = ctx.elicit(ElicitParams::form("Which?", form)).await?;
            trunkline::Ok(format!("{:?}", answer.action))
        };
        fixture.server.add_tool(Tool::new("asks", "Asks.", asks).task(TaskSupport::Optional)).unwrap();
        let session = match era {
            "modern" => String::new(),
            _ => {
                let mut open = initialize(REVISION);
                open["params"]["capabilities"] = json!({"elicitation": {}});
                fixture.post(&[], &open).await.header("mcp-session-id").unwrap().to_owned()
            }
        };
        let ask = |method: &str, params: Value, name: &str| match era {
            "modern" => modern(&fixture, method, params, name),
            _ => in_session(&fixture, &session, &request(method, params)),
        };
        let created = ask("tools/call", json!({"name": "asks", "arguments": {}, "task": {}}), "asks").send().await;
        let id = id_of(&created.json());
        let status = async || ask("tasks/get", json!({"taskId": id}), &id).send().await.json()["result"].take();
        eventually_async("it does not ask", async || status().await["status"] == "input_required").await;
        let began = Instant::now();
        fixture.listener.close(TEST_TIMEOUT).await;
        assert!(began.elapsed() < TEST_TIMEOUT / 10, "{era}, {health}: {:?}", began.elapsed());
    }
}

/// The client can still answer on a stream that is open.
#[tokio::test]
async fn tsk_19_a_question_on_the_stream_of_a_result_can_be_answered_while_the_server_closes() {
    let fixture = fixture(HttpOptions::default().with_health(true)).await;
    let asks = |ctx: Context| async move {
        let form = FormSchema::new().required("word", Field::text());
        let answer = ctx.elicit(ElicitParams::form("Which?", form)).await?;
        trunkline::Ok(format!("{:?}", answer.action))
    };
    fixture.server.add_tool(Tool::new("asks", "Asks.", asks).task(TaskSupport::Optional)).unwrap();
    let mut open = initialize(REVISION);
    open["params"]["capabilities"] = json!({"elicitation": {}});
    let session = fixture.post(&[], &open).await.header("mcp-session-id").unwrap().to_owned();
    let started = request("tools/call", json!({"name": "asks", "arguments": {}, "task": {}}));
    let id = id_of(&in_session(&fixture, &session, &started).send().await.json());
    let result = request("tasks/result", json!({"taskId": id}));
    let mut waiting = in_session(&fixture, &session, &result).header("Connection", "close").start().await;
    waiting.until("elicitation/create").await;
    let question: Value =
        waiting.text().lines().find_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).unwrap();
    let closing = fixture.listener.close(TEST_TIMEOUT);
    let answering = async {
        eventually_async("it stays ready", async || fixture.ask("GET").path("/readyz").send().await.status == 503)
            .await;
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
        assert_eq!(in_session(&fixture, &session, &answer).send().await.status, 202);
    };
    tokio::join!(closing, answering);
    assert!(waiting.finish().await.body.contains("Decline"));
}

#[tokio::test]
async fn running_tasks_do_not_count_as_running_requests() {
    let fixture = fixture(HttpOptions::default().with_max_requests(2)).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let created = modern(&fixture, "tools/call", call("forever", json!({})), "forever").send().await;
        assert_eq!(created.status, 200);
        ids.push(id_of(&created.json()));
    }
    assert_eq!(fixture.modern("tools/list", json!({})).send().await.status, 200);
    for id in &ids {
        assert_eq!(about(&fixture, "tasks/get", id).send().await.json()["result"]["status"], "working");
        assert_eq!(about(&fixture, "tasks/cancel", id).send().await.status, 200);
    }
}

#[tokio::test]
async fn tkx_45_the_header_names_the_task_of_the_request() {
    let fixture = fixture(HttpOptions::default()).await;
    let created = modern(&fixture, "tools/call", call("forever", json!({})), "forever").send().await;
    assert_eq!(created.json()["result"]["resultType"], "task");
    let id = id_of(&created.json());
    // Every exchange is a connection of its own, and finds the task (TKX-08).
    assert_eq!(about(&fixture, "tasks/get", &id).send().await.json()["result"]["status"], "working");
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        for other in ["", "another", "FOREVER"] {
            let refused = about(&fixture, method, &id).header("Mcp-Name", other).send().await;
            assert_eq!(refused.error(), (400, -32020), "{method}: {other:?}");
        }
    }
    assert_eq!(about(&fixture, "tasks/get", &id).send().await.json()["result"]["status"], "working");
    assert_eq!(about(&fixture, "tasks/cancel", &id).send().await.status, 200);
    assert_eq!(about(&fixture, "tasks/get", &id).send().await.json()["result"]["status"], "cancelled");
    assert_eq!(about(&fixture, "tasks/get", "nothing").send().await.json()["error"]["code"], -32602);
}

#[tokio::test]
async fn tsk_34_tsk_36_each_session_has_its_own_tasks() {
    let fixture = fixture(HttpOptions::default()).await;
    let (own, other) = (fixture.session(REVISION).await, fixture.session(REVISION).await);
    let created = in_session(&fixture, &own, &forever_as_task()).send().await;
    let id = id_of(&created.json());
    let about = |method: &str| request(method, json!({"taskId": id}));
    // TSK-36: a plain response, although the client would accept a stream.
    let shown = in_session(&fixture, &own, &about("tasks/get")).send().await;
    assert_eq!(shown.header("content-type"), Some("application/json"));
    assert_eq!(shown.json()["result"]["status"], "working");
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let refused = in_session(&fixture, &other, &about(method)).send().await;
        assert_eq!(refused.json()["error"]["code"], -32602, "{method}");
    }
    // TSK-34: a list is safe, because sessions are distinguished.
    let list = request("tasks/list", json!({}));
    let listed = |session: String| {
        let ask = in_session(&fixture, &session, &list);
        async move { ask.send().await.json()["result"]["tasks"].as_array().unwrap().len() }
    };
    assert_eq!((listed(own.clone()).await, listed(other).await), (1, 0));
    assert_eq!(in_session(&fixture, &own, &about("tasks/get")).send().await.json()["result"]["status"], "working");
}

/// A tool that runs until it is cancelled: whether it was.
fn watched(fixture: &Fixture) -> Arc<AtomicBool> {
    let cancelled = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&cancelled);
    let watched = move |ctx: Context| {
        let flag = Arc::clone(&flag);
        async move {
            ctx.cancelled().await;
            flag.store(true, Ordering::SeqCst);
            "never"
        }
    };
    fixture.server.add_tool(Tool::new("watched", "Never ends.", watched).task(TaskSupport::Optional)).unwrap();
    cancelled
}

/// Without a principal, the tasks of an ended session could not be retrieved.
#[tokio::test]
async fn ending_a_session_ends_its_tasks() {
    let fixture = fixture(HttpOptions::default()).await;
    let cancelled = watched(&fixture);
    let session = fixture.session(REVISION).await;
    let call = request("tools/call", json!({"name": "watched", "arguments": {}, "task": {}}));
    let created = in_session(&fixture, &session, &call).send().await;
    let get = request("tasks/get", json!({"taskId": id_of(&created.json())}));
    assert_eq!(in_session(&fixture, &session, &get).send().await.json()["result"]["status"], "working");
    let ended = fixture.ask("DELETE").header("Mcp-Session-Id", &session).send().await;
    assert!(ended.status < 300, "{ended:?}");
    eventually("the handler is told", || cancelled.load(Ordering::SeqCst)).await;
}

/// A task continues without its request and its session, but not without its endpoint.
#[tokio::test]
async fn tasks_end_with_the_endpoint() {
    let plain = fixture(HttpOptions::default()).await;
    let cancelled = watched(&plain);
    let created = modern(&plain, "tools/call", call("watched", json!({})), "watched").send().await;
    let get = || about(&plain, "tasks/get", &id_of(&created.json())).send();
    assert_eq!(get().await.json()["result"]["status"], "working");
    // The task would use all of a longer time.
    let drain = Duration::from_millis(200);
    plain.listener.close(drain).await;
    eventually("the handler is told", || cancelled.load(Ordering::SeqCst)).await;

    let known = fixture(named()).await;
    let cancelled = watched(&known);
    let as_alice = |ask: Ask| ask.header("Authorization", "Bearer alice");
    let opened = as_alice(known.ask("POST").json(&initialize(REVISION))).send().await;
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let call = request("tools/call", json!({"name": "watched", "arguments": {}, "task": {}}));
    as_alice(in_session(&known, &session, &call)).send().await;
    let ended = as_alice(known.ask("DELETE").header("Mcp-Session-Id", &session)).send().await;
    assert!(ended.status < 300, "{ended:?}");
    assert!(!cancelled.load(Ordering::SeqCst), "its principal may come back");
    known.listener.close(drain).await;
    eventually("the handler is told", || cancelled.load(Ordering::SeqCst)).await;
}

#[tokio::test]
async fn without_sessions_there_are_no_tasks_of_sessions() {
    let fixture = fixture(HttpOptions::default().with_stateless(true)).await;
    let opened = fixture.post(&[], &initialize(REVISION)).await.json();
    assert_eq!(opened["result"]["capabilities"].get("tasks"), None, "TSK-34: {opened}");
}

#[tokio::test]
async fn tsk_32_tkx_24_sec_04_tasks_belong_to_who_made_them() {
    let fixture = fixture(named()).await;
    let as_alice = |ask: Ask| ask.header("Authorization", "Bearer alice");
    let as_bob = |ask: Ask| ask.header("Authorization", "Bearer bob");
    let created = as_alice(modern(&fixture, "tools/call", call("forever", json!({})), "forever")).send().await;
    let id = id_of(&created.json());
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        // TKX-24: knowing the id is not enough.
        let refused = as_bob(about(&fixture, method, &id)).send().await;
        assert_eq!(refused.json()["error"]["code"], -32602, "{method}");
        assert_eq!(about(&fixture, method, &id).send().await.status, 401, "{method}");
    }
    assert_eq!(as_alice(about(&fixture, "tasks/get", &id)).send().await.json()["result"]["status"], "working");

    // TSK-32: in sessions too, and a client that returns in another session finds its tasks.
    let opened = as_alice(fixture.ask("POST").json(&initialize(REVISION))).send().await;
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let list = request("tasks/list", json!({}));
    let created = as_alice(in_session(&fixture, &session, &forever_as_task())).send().await;
    let made = id_of(&created.json());
    let again = as_alice(fixture.ask("POST").json(&initialize(REVISION))).send().await;
    let again = again.header("mcp-session-id").unwrap().to_owned();
    let listed = as_alice(in_session(&fixture, &again, &list)).send().await.json();
    let ids: Vec<_> = listed["result"]["tasks"].as_array().unwrap().iter().map(|task| task["taskId"].clone()).collect();
    assert!(ids.contains(&json!(made)), "{listed}");
    let opened = as_bob(fixture.ask("POST").json(&initialize(REVISION))).send().await;
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    assert_eq!(as_bob(in_session(&fixture, &session, &list)).send().await.json()["result"]["tasks"], json!([]));
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let body = request(method, json!({"taskId": made}));
        let refused = as_bob(in_session(&fixture, &session, &body)).send().await;
        assert_eq!(refused.json()["error"]["code"], -32602, "{method}");
    }
}

/// A state that travels through the client is of use to the one it was given to, and proves nothing
/// about who sends it.
#[tokio::test]
async fn sec_05_sec_06_eli_23_eli_24_a_state_is_no_credential() {
    let fixture = fixture(named()).await;
    let first = || modern(&fixture, "tools/call", call("ask", json!({})), "ask");
    let asked = first().header("Authorization", "Bearer alice").send().await.json();
    let mut params = call("ask", json!({}));
    params["requestState"] = asked["result"]["requestState"].clone();
    params["inputResponses"] = json!({"word": {"action": "decline"}});
    let retry = || modern(&fixture, "tools/call", params.clone(), "ask");
    assert_eq!(retry().send().await.status, 401, "SEC-05");
    assert_eq!(retry().header("Authorization", "Bearer bob").send().await.json()["error"]["code"], -32602, "SEC-06");
    let answered = retry().header("Authorization", "Bearer alice").send().await.json();
    assert_eq!(answered["result"]["content"][0]["text"], "Decline");
    // SEC-06: no two are alike.
    let again = first().header("Authorization", "Bearer alice").send().await.json();
    assert_ne!(again["result"]["requestState"], asked["result"]["requestState"]);
}

#[tokio::test]
async fn one_address_behind_a_trusted_proxy_has_a_share_of_the_tasks() {
    let options = HttpOptions::default().with_trusted_proxies(["127.0.0.1".parse::<TrustedProxy>().unwrap()]);
    let fixture = fixture_with(options, ServerOptions::default().with_max_tasks_per_client(2)).await;
    let start = async |from: &str| {
        let ask = modern(&fixture, "tools/call", call("forever", json!({})), "forever");
        ask.header("X-Forwarded-For", from).send().await.status
    };
    for _ in 0..2 {
        assert_eq!(start("198.51.100.7").await, 200);
    }
    assert_eq!(start("203.0.113.9, 198.51.100.7").await, 503);
    assert_eq!(start("203.0.113.9").await, 200);
}

/// Also with the first request of all, before anything is known of the server.
#[tokio::test]
async fn tkx_03_a_call_through_a_proxy_becomes_the_task_that_the_server_behind_makes_of_it() {
    for revision in [Revision::LATEST, Revision::LATEST_LEGACY] {
        let behind = fixture(HttpOptions::default()).await;
        let front = Fixture::proxying(&behind.server, revision).await;
        let created = modern(&front, "tools/call", call("forever", json!({})), "forever").send().await.json();
        assert_eq!(created["result"]["resultType"], "task", "{revision}: {created}");
        let id = created["result"]["taskId"].as_str().unwrap();
        let task = modern(&front, "tasks/get", json!({"taskId": id}), id).send().await.json();
        assert_eq!(task["result"]["status"], "working", "{revision}: {task}");
    }
}

#[tokio::test]
async fn tkx_05_a_client_without_tasks_is_refused_through_a_proxy_as_by_the_server_itself() {
    let behind = Fixture::new().await;
    let tool = Tool::new("report", "A long report.", async || "done").task(TaskSupport::Required);
    behind.server.add_tool(tool).unwrap();
    let front = Fixture::proxying(&behind.server, Revision::LATEST).await;
    // A server of an older revision says in its list that the tool requires tasks.
    let lifted = Fixture::proxying(&behind.server, Revision::LATEST_LEGACY).await;
    for fixture in [&behind, &front, &lifted] {
        let refused = fixture.modern("tools/call", call("report", json!({}))).send().await;
        assert_eq!(refused.error(), (400, -32021));
        let required = json!({"requiredCapabilities": {"extensions": {EXTENSION: {}}}});
        assert_eq!(refused.json()["error"]["data"], required);
    }
}
