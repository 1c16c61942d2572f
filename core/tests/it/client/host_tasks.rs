//! Tasks of a host (2025-11-25): requests of a server that a handler of the client answers by a
//! task.

#![expect(deprecated, reason = "older revisions have it")]

use super::*;
use std::collections::HashSet;
use tokio::sync::Semaphore;
use trunkline::{
    RevisionChoice,
    client::{ClientBuilder, ElicitRequest, HandlerError, SampleRequest},
    protocol::model::{CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, Field, FormSchema},
    server::{Context, Server, ServerOptions},
};

const RELATED: &str = "io.modelcontextprotocol/related-task";
const FORM: &str = "elicitation/create";

fn quiet() -> Arc<Fake> {
    Fake::process(|peer, message| {
        if message["method"] == "initialize" {
            peer.accept(message, message["params"]["protocolVersion"].as_str().unwrap());
        }
    })
}

/// A client whose user answers as often as the gate is opened, and an error to a `why`.
fn asked_user(gate: &Arc<Semaphore>) -> ClientBuilder {
    let gate = Arc::clone(gate);
    Client::builder().on_elicit(move |request: ElicitRequest| {
        let gate = Arc::clone(&gate);
        async move {
            gate.acquire().await.unwrap().forget();
            if request.message == "why" {
                return Err(HandlerError::rejected("I do not know"));
            }
            Ok(ElicitResult::accept(json!({"city": request.message}).as_object().unwrap().clone()))
        }
    })
}

async fn connected(fake: &Arc<Fake>, builder: ClientBuilder) -> Client {
    let options = builder.into_options().with_revision(RevisionChoice::Pinned(Revision::V2025_11_25));
    let client = fake.connect(options).await;
    settle().await;
    client
}

fn form(message: &str, task: Value) -> Value {
    let fields = json!({"city": {"type": "string"}});
    json!({"message": message, "requestedSchema": {"type": "object", "properties": fields}, "task": task})
}

/// Sends a request and returns the client's last message.
async fn ask(fake: &Fake, id: &str, method: &str, params: Value) -> Value {
    say(fake, id, method, params).await;
    fake.last()
}

async fn say(fake: &Fake, id: &str, method: &str, params: Value) {
    fake.peer().say(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    settle().await;
}

/// Starts a task and returns it.
async fn begin(fake: &Fake, id: &str, message: &str, task: Value) -> Value {
    let created = ask(fake, id, FORM, form(message, task)).await;
    assert_eq!(created["id"], id, "{created}");
    created["result"]["task"].clone()
}

async fn about(fake: &Fake, method: &str, task: &Value) -> Value {
    let id = format!("{method} {task}");
    ask(fake, &id, method, json!({"taskId": task["taskId"]})).await
}

/// The last answer to a request.
fn answer(fake: &Fake, id: &str) -> Option<Value> {
    fake.seen.lock().unwrap().iter().rev().map(|(_, message)| message).find(|message| message["id"] == id).cloned()
}

#[tokio::test]
async fn tsk_01_tsk_10_to_13_tsk_18_tsk_20_tsk_21_tsk_23_tsk_24_a_task_from_its_beginning_to_its_result() {
    let (fake, gate) = (quiet(), Arc::new(Semaphore::new(0)));
    let _client = connected(&fake, asked_user(&gate)).await;
    let declared = &fake.first()["params"]["capabilities"]["tasks"];
    assert_eq!(declared, &json!({"list": {}, "cancel": {}, "requests": {"elicitation": {"create": {}}}}), "TSK-01");

    let task = begin(&fake, "q", "Oslo", json!({"ttl": 60_000})).await;
    assert_eq!((&task["status"], &task["ttl"]), (&json!("working"), &json!(60_000)), "TSK-12, TSK-24");
    for time in ["createdAt", "lastUpdatedAt"] {
        assert!(task[time].as_str().is_some_and(|time| time.len() == 24 && time.ends_with('Z')), "TSK-23: {task}");
    }
    assert_eq!(about(&fake, "tasks/get", &task).await["result"], task);
    say(&fake, "result", "tasks/result", json!({"taskId": task["taskId"]})).await;
    assert_eq!(answer(&fake, "result"), None, "TSK-20");

    gate.add_permits(1);
    settle().await;
    let result = answer(&fake, "result").unwrap()["result"].clone();
    let content = json!({"city": "Oslo"});
    let related = json!({RELATED: {"taskId": task["taskId"]}});
    assert_eq!(result, json!({"action": "accept", "content": content, "_meta": related}), "TSK-18, TSK-21");
    let status = fake.seen.lock().unwrap().iter().find(|(_, it)| it["method"] == "notifications/tasks/status").cloned();
    let status = status.unwrap().1["params"].clone();
    assert_eq!((&status["taskId"], &status["status"]), (&task["taskId"], &json!("completed")));
    assert_eq!(status.get("_meta"), None, "TSK-16");
    assert_eq!(about(&fake, "tasks/get", &task).await["result"]["status"], "completed");
    assert_eq!(about(&fake, "tasks/result", &task).await["result"], result, "it can be fetched again");
    let refused = about(&fake, "tasks/cancel", &task).await;
    assert_eq!(refused["error"]["code"], -32602, "TSK-29: {refused}");
    assert_eq!(about(&fake, "tasks/get", &task).await["result"]["status"], "completed", "TSK-13");
}

#[tokio::test]
async fn tsk_21_the_error_of_a_handler_is_that_of_its_task() {
    let (fake, gate) = (quiet(), Arc::new(Semaphore::new(1)));
    let _client = connected(&fake, asked_user(&gate)).await;
    say(&fake, "q", FORM, form("why", json!({}))).await;
    let task = answer(&fake, "q").unwrap()["result"]["task"].clone();
    let state = about(&fake, "tasks/get", &task).await["result"].clone();
    assert_eq!((&state["status"], &state["statusMessage"]), (&json!("failed"), &json!("I do not know")));
    let error = about(&fake, "tasks/result", &task).await["error"].clone();
    assert_eq!(error, json!({"code": -1, "message": "I do not know"}));
}

#[tokio::test]
async fn tsk_08_who_has_declared_no_tasks_answers_as_always() {
    for options in [ClientOptions::default().with_max_host_tasks(0), ClientOptions::default()] {
        let (fake, gate) = (quiet(), Arc::new(Semaphore::new(9)));
        let old = options.max_host_tasks > 0;
        let revision = if old { Revision::V2025_06_18 } else { Revision::V2025_11_25 };
        let options = options.with_handlers(asked_user(&gate).into_options().handlers);
        let _client = fake.connect(options.with_revision(RevisionChoice::Pinned(revision))).await;
        settle().await;
        assert_eq!(fake.first()["params"]["capabilities"].get("tasks"), None);
        if !old {
            let answered = ask(&fake, "q", FORM, form("Oslo", json!({}))).await;
            assert_eq!(answered["result"]["action"], "accept", "{answered}");
        }
        for method in ["tasks/get", "tasks/result", "tasks/cancel", "tasks/list"] {
            let refused = ask(&fake, method, method, json!({"taskId": "x"})).await;
            assert_eq!(refused["error"]["code"], -32601, "{method}: {refused}");
        }
    }
}

#[tokio::test]
async fn tsk_30_can_04_a_cancelled_task_stays_so_and_its_handler_stops() {
    let (fake, gate) = (quiet(), Arc::new(Semaphore::new(0)));
    let _client = connected(&fake, asked_user(&gate)).await;
    let task = begin(&fake, "q", "Oslo", json!({})).await;
    // CAN-04: the notification cancels a request, and that one is answered.
    fake.peer().say(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "q"}}));
    assert_eq!(about(&fake, "tasks/get", &task).await["result"]["status"], "working");
    say(&fake, "result", "tasks/result", json!({"taskId": task["taskId"]})).await;
    assert_eq!(about(&fake, "tasks/cancel", &task).await["result"]["status"], "cancelled");
    assert_eq!(answer(&fake, "result").unwrap()["error"]["message"], "The task was cancelled");
    gate.add_permits(1);
    settle().await;
    assert_eq!(gate.available_permits(), 1, "the handler has stopped");
    assert_eq!(about(&fake, "tasks/get", &task).await["result"]["status"], "cancelled");
}

#[tokio::test]
async fn tsk_27_tsk_28_tsk_33_lists_are_paged_and_ids_cannot_be_guessed() {
    let (fake, gate) = (quiet(), Arc::new(Semaphore::new(1_000)));
    let _client = connected(&fake, asked_user(&gate)).await;
    for number in 0..51 {
        say(&fake, &format!("q{number}"), FORM, form("Oslo", json!({}))).await;
    }
    let first = ask(&fake, "one", "tasks/list", json!({})).await["result"].clone();
    let second = ask(&fake, "two", "tasks/list", json!({"cursor": first["nextCursor"]})).await["result"].clone();
    assert_eq!(second.get("nextCursor"), None);
    let tasks = [&first, &second].into_iter().flat_map(|page| page["tasks"].as_array().unwrap());
    let ids: HashSet<_> = tasks.map(|task| task["taskId"].as_str().unwrap().to_owned()).collect();
    assert_eq!((ids.len(), first["tasks"].as_array().unwrap().len()), (51, 50), "TSK-28");
    assert!(ids.iter().all(|id| id.len() >= 22), "TSK-33");
    let wrong = ask(&fake, "three", "tasks/list", json!({"cursor": "x"})).await;
    assert_eq!(wrong["error"]["code"], -32602, "TSK-31");
}

#[tokio::test]
async fn tsk_17_tsk_31_what_is_unknown_or_malformed_is_refused() {
    let (fake, gate) = (quiet(), Arc::new(Semaphore::new(0)));
    let _client = connected(&fake, asked_user(&gate)).await;
    let task = begin(&fake, "q", "Oslo", json!({})).await;
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let related = json!({RELATED: {"taskId": task["taskId"]}});
        let unknown = ask(&fake, method, method, json!({"taskId": "x", "_meta": related})).await;
        assert_eq!(unknown["error"]["code"], -32602, "{method} TSK-17: {unknown}");
        let nameless = ask(&fake, method, method, json!({"_meta": related})).await;
        assert_eq!(nameless["error"]["code"], -32602, "{method}: {nameless}");
    }
    let wrong = ask(&fake, "w", FORM, form("Oslo", json!({"ttl": "long"}))).await;
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
}

#[tokio::test]
async fn tsk_35_tasks_are_bounded_in_number_bytes_and_time() {
    let (fake, gate) = (quiet(), Arc::new(Semaphore::new(0)));
    let limits = ClientOptions::default().with_max_host_tasks(2).with_max_host_task_bytes(100);
    let limits = limits.with_host_task_ttl(ms(10_000));
    let options = limits.with_handlers(asked_user(&gate).into_options().handlers);
    let _client = fake.connect(options.with_revision(RevisionChoice::Pinned(Revision::V2025_11_25))).await;
    settle().await;
    let forever = begin(&fake, "a", "Oslo", json!({"ttl": 3_600_000})).await;
    assert_eq!(forever["ttl"], 10_000, "TSK-24");
    let long = begin(&fake, "b", &"x".repeat(100), json!({"ttl": 5_000})).await;
    let busy = ask(&fake, "c", FORM, form("Oslo", json!({}))).await;
    assert_eq!((&busy["error"]["code"], &busy["error"]["data"]["reason"]), (&json!(-32603), &json!("busy")));

    say(&fake, "result", "tasks/result", json!({"taskId": forever["taskId"]})).await;
    // First in, first out: a response that exceeds the buffer.
    gate.add_permits(2);
    settle().await;
    assert_eq!(about(&fake, "tasks/get", &forever).await["result"]["status"], "completed");
    let failed = about(&fake, "tasks/get", &long).await["result"].clone();
    assert_eq!(failed["status"], "failed", "{failed}");
    fake.clock.advance(ms(5_000)).await;
    assert_eq!(about(&fake, "tasks/get", &long).await["error"]["code"], -32602, "its time is over");
    let waiting = begin(&fake, "d", "Bergen", json!({"ttl": 1_000})).await;
    say(&fake, "late", "tasks/result", json!({"taskId": waiting["taskId"]})).await;
    fake.clock.advance(ms(1_000)).await;
    assert_eq!(answer(&fake, "late").unwrap()["error"]["code"], -32602);
    gate.add_permits(1);
    settle().await;
    assert_eq!(gate.available_permits(), 1, "the handler ended with its task");
}

#[tokio::test]
async fn tasks_end_with_their_connection_and_the_clocks_of_calls_stand_still() {
    let (fake, gate) = (quiet(), Arc::new(Semaphore::new(0)));
    let client = connected(&fake, asked_user(&gate)).await;
    let call = {
        let (client, params) = (client.clone(), RawJson::from_value(&json!({"name": "plan"})).unwrap());
        let options = trunkline::RequestOptions::default().with_timeout(ms(1_000));
        tokio::spawn(async move { client.request("tools/call", Some(&params), &options).await })
    };
    settle().await;
    let task = begin(&fake, "q", "Oslo", json!({})).await;
    fake.clock.advance(ms(5_000)).await;
    assert!(!call.is_finished(), "the user is asked");
    fake.peer().exit();
    settle().await;
    assert!(call.await.unwrap().is_err());
    gate.add_permits(1);
    // The next request connects again.
    tokio::spawn(async move { client.ping().await });
    settle().await;
    assert_eq!(gate.available_permits(), 1, "the handler has stopped");
    let unknown = about(&fake, "tasks/get", &task).await;
    assert_eq!(unknown["error"]["code"], -32602, "another server process does not know it: {unknown}");
}

/// Both ends are of this library: a server that asks by tasks, and a client that has them.
#[tokio::test]
async fn tsk_02_tsk_25_a_server_asks_by_tasks_where_it_is_let() {
    let form = || ElicitParams::form("Where?", FormSchema::new().required("city", Field::text()));
    let options = ServerOptions::default().with_client_request_tasks(true);
    let server = Server::builder("asks", "1.0.0").options(options);
    let server = server.tool("plan", "Asks the user, then the model", move |ctx: Context| async move {
        let answer = ctx.elicit(form()).await?;
        let city = answer.content.unwrap_or_default()["city"].as_str().unwrap_or("nowhere").to_owned();
        let messages = vec![trunkline::protocol::model::SamplingMessage::user(city)];
        let said = ctx.sample(CreateMessageParams::new(messages, 9)).await?;
        trunkline::Ok(said.model)
    });
    let server = server.build();
    for tasks in [1_024, 0] {
        let handlers = Client::builder()
            .on_elicit(async |_| {
                Ok::<_, HandlerError>(ElicitResult::accept(json!({"city": "Oslo"}).as_object().unwrap().clone()))
            })
            .on_sample(async |request: SampleRequest| {
                let model =
                    request.params.messages[0].content.0.first().and_then(|it| it.as_text()).unwrap_or_default();
                let model = format!("a model of {model}");
                Ok::<_, HandlerError>(CreateMessageResult { model, content: "x".into(), ..Default::default() })
            });
        let options = handlers.into_options().with_max_host_tasks(tasks);
        let options = options.with_revision(RevisionChoice::Pinned(Revision::V2025_11_25));
        let client = Client::connect_with(&server, options, ()).await.unwrap();
        let result = tokio::time::timeout(ms(10_000), client.call_tool("plan", ())).await.unwrap().unwrap();
        assert_eq!(result.joined_text(), "a model of Oslo", "{tasks} tasks");
        client.close().await;
    }
}
