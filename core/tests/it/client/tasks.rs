//! Tasks from the client's side: against a server of this process, and against scripted ones under
//! a clock of the test's own.

use super::*;
use trunkline::{
    ClientTask, RevisionChoice,
    client::{ClientHandlers, ElicitRequest, ErrorKind, HandlerError, RequestOptions},
    protocol::model::{ElicitParams, ElicitResult, Field, FormSchema, TaskStatus},
    server::{Context, Server, ServerOptions, TaskSupport, Tool},
};

const BOTH: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];
const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

fn question() -> ElicitParams {
    ElicitParams::form("Which word?", FormSchema::new().required("word", Field::text()))
}

/// A server with every kind of task tool.
fn server() -> Server {
    let options = ServerOptions::default().with_task_poll_interval(ms(20)).with_page_size(1);
    Server::builder("tasks", "1.0.0")
        .options(options)
        .tool("plain", "Is never a task", || async { "plain" })
        .add_tool(
            Tool::new("work", "Reports its progress", |ctx: Context| async move {
                ctx.set_task_message("half way");
                // The task is known by then, and so is the token of its progress.
                tokio::time::sleep(ms(60)).await;
                ctx.progress(1.0, Some(2.0)).await;
                tokio::time::sleep(ms(20)).await;
                "worked"
            })
            .task(TaskSupport::Optional),
        )
        .add_tool(Tool::new("only", "Is always a task", || async { "as a task" }).task(TaskSupport::Required))
        .add_tool(
            Tool::new("ask", "Asks for a word", |ctx: Context| async move {
                let answer = ctx.elicit_with_key("word", question()).await?;
                trunkline::Ok(answer.content.unwrap_or_default()["word"].as_str().unwrap_or("nothing").to_owned())
            })
            .task(TaskSupport::Optional),
        )
        .add_tool(
            Tool::new("fail", "Fails", || async { Err::<String, _>(trunkline::RpcError::new(4099, "no luck")) })
                .task(TaskSupport::Optional),
        )
        .add_tool(
            Tool::new("wait", "Waits for its end", |ctx: Context| async move {
                ctx.cancelled().await;
                "never"
            })
            .task(TaskSupport::Optional),
        )
        .build()
}

fn pinned(revision: Revision) -> ClientOptions {
    ClientOptions::default().with_revision(RevisionChoice::Pinned(revision))
}

async fn connect(revision: Revision, handlers: ClientHandlers) -> Client {
    Client::connect_with(&server(), pinned(revision).with_handlers(handlers), ()).await.unwrap()
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("nothing came")
}

async fn states(task: &mut ClientTask) -> Vec<TaskStatus> {
    let mut states = Vec::new();
    while let Some(state) = soon(task.next()).await {
        states.push(state.unwrap().status);
    }
    states
}

#[tokio::test]
async fn tsk_06_tkx_03_tkx_16_tkx_52_one_api_for_both_forms() {
    for revision in BOTH {
        let client = connect(revision, ClientHandlers::default()).await;
        let mut task = client.start_task("work", ()).await.unwrap();
        assert!(task.id().unwrap().len() >= 22 && task.state().unwrap().ttl_ms.is_some(), "{revision}");
        assert_eq!(states(&mut task).await.last(), Some(&TaskStatus::Completed), "{revision}");
        assert_eq!(task.result().await.unwrap().joined_text(), "worked", "{revision}");
        assert_eq!(task.status(), TaskStatus::Completed);
        task.cancel().await.unwrap();

        let again = client.resume_task(&task.id().unwrap()).await.unwrap();
        assert_eq!(again.result().await.unwrap().joined_text(), "worked", "TKX-16");
        assert_eq!(client.get_task(&task.id().unwrap()).await.unwrap().status, TaskStatus::Completed);

        // A call whose caller wants the result alone (TSK-06, TKX-52).
        assert_eq!(soon(client.call_tool("only", ())).await.unwrap().joined_text(), "as a task", "{revision}");
        client.close().await;
    }
}

#[tokio::test]
async fn tsk_04_a_tool_that_forbids_it_is_called_without_a_task() {
    for revision in BOTH {
        let client = connect(revision, ClientHandlers::default()).await;
        let mut task = client.start_task("plain", ()).await.unwrap();
        assert_eq!((task.id(), task.status()), (None, TaskStatus::Completed), "{revision}");
        assert_eq!(states(&mut task).await, []);
        assert_eq!(task.result().await.unwrap().joined_text(), "plain");
        task.cancel().await.unwrap();
    }
}

#[tokio::test]
async fn tsk_14_tsk_19_tkx_13_tkx_32_handlers_give_the_input_of_tasks() {
    for revision in BOTH {
        let handlers = ClientHandlers::default().on_elicit(async |request: ElicitRequest| {
            assert_eq!(request.message, "Which word?");
            Ok::<_, HandlerError>(ElicitResult::accept(json!({"word": "tea"}).as_object().unwrap().clone()))
        });
        let client = connect(revision, handlers).await;
        let task = client.start_task("ask", ()).await.unwrap();
        assert_eq!(soon(task.result()).await.unwrap().joined_text(), "tea", "{revision}");
    }
}

#[tokio::test]
async fn failures_and_cancellations_of_tasks_are_typed_errors() {
    for revision in BOTH {
        let client = connect(revision, ClientHandlers::default()).await;
        let task = client.start_task("fail", ()).await.unwrap();
        let error = soon(task.result()).await.unwrap_err();
        assert_eq!((error.kind(), error.rpc().unwrap().code), (ErrorKind::Protocol, 4099), "{revision} TSK-21");

        let mut task = client.start_task("wait", ()).await.unwrap();
        let late = task.result_within(ms(1)).await.unwrap_err();
        assert!(matches!(late, ClientError::Timeout(_)), "{late}");
        task.cancel().await.unwrap();
        assert_eq!(states(&mut task).await.last(), Some(&TaskStatus::Cancelled), "{revision} TSK-30");
        let error = soon(task.result()).await.unwrap_err();
        assert_eq!((&error, error.kind()), (&ClientError::TaskCancelled(task.id().unwrap()), ErrorKind::Cancelled));

        let unknown = client.resume_task("nobody").await.unwrap_err();
        assert!(matches!(unknown, ClientError::UnknownTask(_)), "{revision} TSK-31: {unknown}");
        assert_eq!((unknown.kind(), unknown.rpc().unwrap().code), (ErrorKind::Protocol, -32602));
    }
}

#[tokio::test]
async fn tsk_27_tsk_28_tasks_are_listed_in_the_form_of_the_extension() {
    let client = connect(Revision::V2025_11_25, ClientHandlers::default()).await;
    let (one, two) = (client.start_task("work", ()).await.unwrap(), client.start_task("wait", ()).await.unwrap());
    let page = client.list_tasks_page(None).await.unwrap();
    assert_eq!((page.tasks.len(), page.next_cursor.is_some()), (1, true));
    let tasks = client.list_tasks().await.unwrap();
    let ids: Vec<_> = tasks.iter().map(|task| Some(task.task_id.clone())).collect();
    assert_eq!(ids, [one.id(), two.id()]);
    assert_eq!((tasks[0].poll_interval_ms, tasks[0].ttl_ms), (Some(20), Some(3_600_000)));
    client.cancel_task(&two.id().unwrap()).await.unwrap();
    let refused = client.cancel_task(&two.id().unwrap()).await.unwrap_err();
    assert!(matches!(refused, ClientError::UnknownTask(_)), "TSK-29: {refused}");

    let modern = connect(Revision::V2026_07_28, ClientHandlers::default()).await;
    assert!(modern.list_tasks().await.is_err(), "the extension lists none");
}

#[tokio::test]
async fn prg_07_progress_continues_while_the_task_runs() {
    let client = connect(Revision::V2025_11_25, ClientHandlers::default()).await;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hook = Arc::clone(&heard);
    let options = RequestOptions::default().with_progress(move |at, _, _| hook.lock().unwrap().push(at));
    let task = client.start_task_with("work", (), &options).await.unwrap();
    soon(task.result()).await.unwrap();
    assert_eq!(*heard.lock().unwrap(), [1.0]);
}

/// A server of one era with tasks; `script` does the rest.
fn scripted(mut script: impl FnMut(&Peer, &Value) + Send + 'static) -> Arc<Fake> {
    Fake::process(move |peer, message| match message["method"].as_str() {
        Some("initialize") => {
            let tasks = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
            let info = json!({"name": "fake", "version": "1"});
            let revision = &message["params"]["protocolVersion"];
            peer.result(
                message,
                json!({"protocolVersion": revision, "capabilities": {"tools": {}, "tasks": tasks}, "serverInfo": info}),
            );
        }
        Some("tools/list") => {
            let tool = |name: &str, support: &str| json!({"name": name, "inputSchema": {"type": "object"}, "execution": {"taskSupport": support}});
            peer.result(
                message,
                json!({"tools": [tool("job", "optional"), tool("only", "required"), tool("none", "forbidden")]}),
            );
        }
        _ => script(peer, message),
    })
}

fn state(status: &str, change: Value) -> Value {
    let mut task = json!({"taskId": "t", "status": status, "createdAt": "2026-01-01T00:00:00Z",
        "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": null, "pollIntervalMs": 1000});
    task.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    task
}

/// The same in the form of 2025-11-25.
fn core_state(status: &str, interval: u64) -> Value {
    json!({"taskId": "t", "status": status, "createdAt": "2026-01-01T00:00:00Z",
        "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": 60_000, "pollInterval": interval})
}

/// The progress may be in the message that follows the answer, and both may arrive before the
/// request has been sent.
#[tokio::test]
async fn prg_07_progress_that_follows_the_task_at_once_arrives() {
    for answers_at_once in [false, true] {
        let fake = scripted(|peer, message| match message["method"].as_str() {
            Some("tools/call") => {
                let token = &message["params"]["_meta"]["progressToken"];
                peer.result(message, json!({"task": core_state("working", 1000)}));
                peer.say(json!({"jsonrpc": "2.0", "method": "notifications/progress",
                    "params": {"progressToken": token, "progress": 1}}));
            }
            Some("tasks/get") => peer.result(message, core_state("working", 1000)),
            _ => {}
        });
        fake.answers_at_once.store(answers_at_once, Ordering::Relaxed);
        let client = fake.connect(pinned(Revision::V2025_11_25)).await;
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hook = Arc::clone(&heard);
        let options = RequestOptions::default().with_progress(move |at, _, _| hook.lock().unwrap().push(at));
        let _task = client.start_task_with("job", (), &options).await.unwrap();
        assert_eq!(*heard.lock().unwrap(), [1.0], "at once: {answers_at_once}");
    }
}

fn modern(mut task: Value) -> Value {
    task["resultType"] = json!("complete");
    task
}

fn count(fake: &Fake, method: &str) -> usize {
    fake.seen().iter().filter(|(_, seen)| seen == method).count()
}

fn params_of(fake: &Fake, method: &str) -> Value {
    let seen = fake.seen.lock().unwrap();
    seen.iter().rev().find(|(_, message)| message["method"] == method).expect(method).1["params"].clone()
}

fn starting(client: &Client, name: &'static str) -> JoinHandle<Result<ClientTask, ClientError>> {
    let client = client.clone();
    tokio::spawn(async move { client.start_task(name, json!({"a": 1})).await })
}

#[tokio::test]
async fn tsk_02_tsk_03_calls_are_augmented_only_if_server_and_tool_allow_it() {
    let fake = scripted(|peer, message| {
        if message["method"] == "tools/call" {
            peer.result(message, json!({"content": []}));
        }
    });
    let client = fake.connect(pinned(Revision::V2025_11_25)).await;
    let task = client.start_task("none", ()).await.unwrap();
    assert_eq!((task.id(), params_of(&fake, "tools/call").get("task")), (None, None), "TSK-04");
    let task = client.start_task("job", ()).await.unwrap();
    assert_eq!(task.id(), None, "TSK-08: a server may leave it a call");
    assert_eq!(params_of(&fake, "tools/call")["task"], json!({}));
    let options = RequestOptions::default().with_task_ttl(ms(90));
    drop(client.start_task_with("job", (), &options).await.unwrap());
    assert_eq!(params_of(&fake, "tools/call")["task"], json!({"ttl": 90}));
    client.call_tool("job", ()).await.unwrap();
    assert_eq!(params_of(&fake, "tools/call").get("task"), None, "its caller wants the result");
    client.call_tool("only", ()).await.unwrap();
    assert_eq!(params_of(&fake, "tools/call")["task"], json!({}), "TSK-06");
    assert_eq!(count(&fake, "tools/list"), 1);

    let without = Fake::process(|peer, message| match message["method"].as_str() {
        Some("initialize") => peer.accept(message, "2025-11-25"),
        Some("tools/call") => peer.result(message, json!({"content": []})),
        _ => {}
    });
    let client = without.connect(pinned(Revision::V2025_11_25)).await;
    drop(client.start_task("job", ()).await.unwrap());
    assert_eq!(params_of(&without, "tools/call").get("task"), None, "TSK-03");
}

#[tokio::test]
async fn tkx_52_a_call_that_is_refused_is_made_again_as_a_task() {
    let fake = scripted(|peer, message| match message["method"].as_str() {
        Some("tools/call") if message["params"].get("task").is_none() => peer.error(message, -32601, Value::Null),
        Some("tools/call") => peer.result(message, json!({"task": core_state("working", 10)})),
        Some("tasks/get") => peer.result(message, core_state("completed", 10)),
        Some("tasks/result") => peer.result(message, json!({"content": [{"type": "text", "text": "done"}]})),
        _ => {}
    });
    let client = fake.connect(pinned(Revision::V2025_11_25)).await;
    let refused = client.call_tool("none", ()).await.unwrap_err();
    assert_eq!(refused.rpc().unwrap().code, -32601);
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("only", ()).await }
    });
    fake.clock.advance(ms(20)).await;
    assert_eq!(call.await.unwrap().unwrap().joined_text(), "done");

    let fake = Fake::process(|peer, message| {
        let declared = &message["params"]["_meta"][CAPABILITIES]["extensions"][EXTENSION];
        match message["method"].as_str() {
            Some("tools/call") if declared.is_null() => {
                peer.error(message, -32021, json!({"requiredCapabilities": {"extensions": {EXTENSION: {}}}}));
            }
            Some("tools/call") => {
                let mut task = state("working", json!({}));
                task["resultType"] = json!("task");
                peer.result(message, task);
            }
            Some("tasks/get") => {
                assert_eq!(*declared, json!({}), "the methods of tasks declare it, too");
                peer.result(message, modern(state("completed", json!({"result": {"content": []}}))));
            }
            _ => {}
        }
    });
    let client = fake.connect(pinned(Revision::V2026_07_28)).await;
    let call = tokio::spawn(async move { client.call_tool("only", ()).await });
    fake.clock.advance(ms(1000)).await;
    assert!(call.await.unwrap().is_ok(), "TKX-52");
}

#[tokio::test]
async fn tkx_01_tkx_04_only_a_call_that_declares_the_extension_may_become_a_task() {
    let fake = Fake::process(|peer, message| {
        let mut task = state("working", json!({}));
        task["resultType"] = json!("task");
        peer.result(message, task);
    });
    let client = fake.connect(pinned(Revision::V2026_07_28)).await;
    let error = client.call_tool("job", ()).await.unwrap_err();
    assert!(matches!(error, ClientError::InvalidResponse(_)), "{error}");
    let error = client.read_resource("a:b").await.unwrap_err();
    assert!(matches!(error, ClientError::InvalidResponse(_)), "{error}");
    drop(client.start_task("job", ()).await.unwrap());
    assert_eq!(params_of(&fake, "tools/call")["_meta"][CAPABILITIES]["extensions"], json!({EXTENSION: {}}));
}

#[tokio::test]
async fn tsk_25_tsk_26_tkx_15_tkx_29_polls_keep_the_pace_that_the_server_names_last() {
    for (revision, interval) in [(Revision::V2025_11_25, "pollInterval"), (Revision::V2026_07_28, "pollIntervalMs")] {
        let is_core = revision == Revision::V2025_11_25;
        let mut polls = 0;
        let fake = scripted(move |peer, message| match message["method"].as_str() {
            Some("tools/call") if is_core => peer.result(message, json!({"task": core_state("working", 1000)})),
            Some("tools/call") => {
                let mut task = state("working", json!({}));
                task["resultType"] = json!("task");
                peer.result(message, task);
            }
            Some("tasks/get") => {
                polls += 1;
                let status = if polls == 3 { "completed" } else { "working" };
                let mut task = if is_core {
                    core_state(status, 1000)
                } else {
                    modern(state(status, json!({"result": {"content": []}})))
                };
                task[interval] = json!(5000);
                peer.result(message, task);
            }
            Some("tasks/result") => peer.result(message, json!({"content": []})),
            _ => {}
        });
        let client = fake.connect(pinned(revision)).await;
        let opening = starting(&client, "job");
        settle().await;
        let task = opening.await.unwrap().unwrap();
        fake.clock.advance(ms(999)).await;
        assert_eq!(count(&fake, "tasks/get"), 0, "{revision}");
        fake.clock.advance(ms(1)).await;
        assert_eq!(count(&fake, "tasks/get"), 1, "{revision}");
        fake.clock.advance(ms(4999)).await;
        assert_eq!(count(&fake, "tasks/get"), 1, "{revision}: the newer pace");
        fake.clock.advance(ms(1)).await;
        fake.clock.advance(ms(5000)).await;
        assert_eq!(count(&fake, "tasks/get"), 3, "{revision}");
        assert!(task.result().await.is_ok());
        fake.clock.advance(ms(60_000)).await;
        assert_eq!(count(&fake, "tasks/get"), 3, "{revision}: it is over");
    }
}

#[tokio::test]
async fn tkx_37_a_task_that_is_cancelled_is_followed_to_another_end() {
    let mut polls = 0;
    let fake = Fake::process(move |peer, message| match message["method"].as_str() {
        Some("tools/call") => {
            let mut task = state("working", json!({}));
            task["resultType"] = json!("task");
            peer.result(message, task);
        }
        Some("tasks/cancel") => peer.result(message, json!({"resultType": "complete"})),
        Some("tasks/get") => {
            polls += 1;
            let end = state("completed", json!({"result": {"content": []}}));
            peer.result(message, modern(if polls == 1 { state("working", json!({})) } else { end }));
        }
        _ => {}
    });
    let client = fake.connect(pinned(Revision::V2026_07_28)).await;
    let mut task = starting(&client, "job").await.unwrap().unwrap();
    task.cancel().await.unwrap();
    for _ in 0..2 {
        fake.clock.advance(ms(1000)).await;
    }
    assert_eq!(states(&mut task).await.last(), Some(&TaskStatus::Completed));
    assert!(task.result().await.is_ok());
}

#[tokio::test]
async fn tsk_16_notifications_are_used_before_the_next_poll_and_late_ones_change_nothing() {
    let fake = scripted(|peer, message| match message["method"].as_str() {
        Some("tools/call") => peer.result(message, json!({"task": core_state("working", 60_000)})),
        Some("tasks/result") => peer.result(message, json!({"content": []})),
        _ => {}
    });
    let client = fake.connect(pinned(Revision::V2025_11_25)).await;
    let mut task = starting(&client, "job").await.unwrap().unwrap();
    let tell = |status: &str, updated: &str| {
        let mut params = core_state(status, 60_000);
        params["lastUpdatedAt"] = json!(updated);
        fake.peer().say(json!({"jsonrpc": "2.0", "method": "notifications/tasks/status", "params": params}));
    };
    tell("completed", "2026-01-01T00:00:09Z");
    tell("working", "2026-01-01T00:00:05Z");
    settle().await;
    assert_eq!(states(&mut task).await, [TaskStatus::Completed], "TSK-13");
    assert!(task.result().await.is_ok());
    assert_eq!(count(&fake, "tasks/get"), 0);
    assert_eq!(params_of(&fake, "tasks/result"), json!({"taskId": "t"}), "TSK-17");
}

#[tokio::test]
async fn tkx_28_the_end_of_a_task_counts_even_if_the_clock_of_its_server_was_set_back() {
    let fake = Fake::process(|peer, message| match message["method"].as_str() {
        Some("tools/call") => {
            let mut task = state("working", json!({"lastUpdatedAt": "2026-01-01T01:00:00Z"}));
            task["resultType"] = json!("task");
            peer.result(message, task);
        }
        Some("tasks/get") => peer.result(message, modern(state("completed", json!({"result": {"content": []}})))),
        _ => {}
    });
    let client = fake.connect(pinned(Revision::V2026_07_28)).await;
    let mut task = starting(&client, "job").await.unwrap().unwrap();
    fake.clock.advance(ms(1000)).await;
    assert!(soon(task.result()).await.is_ok());
    assert_eq!(states(&mut task).await.last(), Some(&TaskStatus::Completed));
}

/// A question of a task.
fn asking_for(message: &str) -> Value {
    json!({"method": "elicitation/create", "params": {"message": message,
    "requestedSchema": {"type": "object", "properties": {"word": {"type": "string"}}}}})
}

/// A server whose task asks these questions, one set for each poll, and completes.
fn asking(questions: impl IntoIterator<Item = Value, IntoIter: Send + 'static>) -> Arc<Fake> {
    let mut questions = questions.into_iter();
    Fake::process(move |peer, message| match message["method"].as_str() {
        Some("tools/call") => {
            let mut task = state("working", json!({}));
            task["resultType"] = json!("task");
            peer.result(message, task);
        }
        Some("tasks/get") => {
            let task = match questions.next() {
                Some(questions) => state("input_required", json!({"inputRequests": questions})),
                None => state("completed", json!({"result": {"content": []}})),
            };
            peer.result(message, modern(task));
        }
        Some("tasks/update") => peer.result(message, json!({"resultType": "complete"})),
        _ => {}
    })
}

#[tokio::test]
async fn tkx_14_tkx_33_tkx_35_each_request_for_input_is_answered_once_and_while_it_is_outstanding() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&asked);
    let handlers = ClientHandlers::default().on_elicit(move |request: ElicitRequest| {
        list.lock().unwrap().push(request.message.clone());
        async { Ok::<_, HandlerError>(ElicitResult::decline()) }
    });
    // The second poll precedes the answers: one is no longer needed.
    let left = json!({"b": asking_for("B?")});
    let fake = asking([json!({"a": asking_for("A?"), "b": asking_for("B?")}), left.clone(), left]);
    let client = fake.connect(pinned(Revision::V2026_07_28).with_handlers(handlers)).await;
    let task = starting(&client, "job").await.unwrap().unwrap();
    for _ in 0..4 {
        fake.clock.advance(ms(1000)).await;
    }
    assert!(task.result().await.is_ok());
    assert_eq!(*asked.lock().unwrap(), ["A?", "B?"]);
    assert_eq!(count(&fake, "tasks/update"), 1);
    let update = params_of(&fake, "tasks/update");
    assert_eq!((&update["taskId"], &update["inputResponses"]), (&json!("t"), &json!({"b": {"action": "decline"}})));
}

#[tokio::test]
async fn tkx_13_a_request_for_input_does_not_wait_for_the_answer_to_an_earlier_one() {
    let (asked, both) = (Arc::new(Mutex::new(Vec::new())), Arc::new(tokio::sync::Barrier::new(2)));
    let list = Arc::clone(&asked);
    let handlers = ClientHandlers::default().on_elicit(move |request: ElicitRequest| {
        list.lock().unwrap().push(request.message.clone());
        let both = Arc::clone(&both);
        async move {
            both.wait().await;
            Ok::<_, HandlerError>(ElicitResult::decline())
        }
    });
    let all = json!({"a": asking_for("A?"), "b": asking_for("B?")});
    let fake = asking([json!({"a": asking_for("A?")}), all.clone(), all.clone(), all]);
    let client = fake.connect(pinned(Revision::V2026_07_28).with_handlers(handlers)).await;
    let task = starting(&client, "job").await.unwrap().unwrap();
    for _ in 0..6 {
        fake.clock.advance(ms(1000)).await;
    }
    assert!(soon(task.result()).await.is_ok());
    assert_eq!(*asked.lock().unwrap(), ["A?", "B?"]);
    assert_eq!(count(&fake, "tasks/update"), 2);
}

#[tokio::test]
async fn input_of_tasks_may_be_given_by_the_caller() {
    let request = json!({"method": "roots/list"});
    let fake = Fake::process(move |peer, message| match message["method"].as_str() {
        Some("tools/call") => {
            let mut task = state("input_required", json!({"inputRequests": {"r": request}}));
            task["resultType"] = json!("task");
            peer.result(message, task);
        }
        Some("tasks/update") => peer.result(message, json!({"resultType": "complete"})),
        _ => {}
    });
    let client = fake.connect(pinned(Revision::V2026_07_28)).await;
    let options = RequestOptions::default().with_manual_input(true);
    let mut task = client.start_task_with("job", (), &options).await.unwrap();
    let state = task.next().await.unwrap().unwrap();
    assert!(state.input_requests.unwrap().contains_key("r"));
    let roots = RawJson::from_value(&json!({"roots": []})).unwrap();
    task.respond(&[("r", roots)].into_iter().collect()).await.unwrap();
    assert_eq!(params_of(&fake, "tasks/update")["inputResponses"], json!({"r": {"roots": []}}));
}

#[tokio::test]
async fn tkx_29_tkx_39_the_client_stops_following_a_task_that_the_server_dropped() {
    let fake = Fake::process(|peer, message| match message["method"].as_str() {
        Some("tools/call") => {
            let mut task = state("working", json!({"ttlMs": 2500}));
            task["resultType"] = json!("task");
            peer.result(message, task);
        }
        Some("tasks/get") => peer.result(message, modern(state("working", json!({"ttlMs": 2500})))),
        _ => {}
    });
    let client = fake.connect(pinned(Revision::V2026_07_28)).await;
    let task = starting(&client, "job").await.unwrap().unwrap();
    for _ in 0..5 {
        fake.clock.advance(ms(500)).await;
    }
    let error = soon(task.result()).await.unwrap_err();
    assert_eq!((&error, error.kind()), (&ClientError::TaskExpired("t".into(), ms(2500)), ErrorKind::Timeout));
    assert_eq!(count(&fake, "tasks/get"), 3, "one last look");
}

#[tokio::test]
async fn polls_that_fail_are_repeated_later_and_later_but_not_for_ever() {
    let fake = scripted(|peer, message| {
        if message["method"] == "tools/call" {
            peer.result(message, json!({"task": core_state("working", 100)}));
        }
    });
    let options = pinned(Revision::V2025_11_25).with_timeout(ms(1000)).with_max_timeout(ms(10_000));
    let client = fake.connect(options).await;
    let mut task = starting(&client, "job").await.unwrap().unwrap();
    for _ in 0..400 {
        fake.clock.advance(ms(100)).await;
    }
    let polls = count(&fake, "tasks/get");
    assert!((4..9).contains(&polls), "{polls}");
    assert_eq!(soon(task.next()).await.unwrap().unwrap().status, TaskStatus::Working);
    assert_eq!(soon(task.next()).await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
    assert!(soon(task.next()).await.is_none());
}

#[tokio::test]
async fn polls_wait_for_credentials_before_the_user_is_asked_to_log_in() {
    // The answers to the polls: there are no credentials, or they are refused (401).
    for (polls, outcome) in [
        (vec![None, None, Some(401), None], Err(ErrorKind::AuthorizationRequired)),
        (vec![None, None, Some(401)], Ok(())),
        (vec![Some(401), Some(401)], Err(ErrorKind::AuthorizationRequired)),
    ] {
        let mut left = polls.clone().into_iter();
        let fake = scripted(move |peer, message| match message["method"].as_str() {
            Some("tools/call") => peer.result(message, json!({"task": core_state("working", 100)})),
            Some("tasks/get") => match left.next() {
                Some(http_status) => peer.unauthorized(message, http_status),
                None => peer.result(message, core_state("completed", 100)),
            },
            Some("tasks/result") => peer.result(message, json!({"content": []})),
            _ => {}
        });
        let client = fake.connect(pinned(Revision::V2025_11_25)).await;
        let task = starting(&client, "job").await.unwrap().unwrap();
        for _ in 0..100 {
            fake.clock.advance(ms(100)).await;
        }
        let result = soon(task.result()).await.map(drop).map_err(|error| error.kind());
        assert_eq!(
            (result, count(&fake, "tasks/get")),
            (outcome, polls.len() + usize::from(outcome.is_ok())),
            "{polls:?}"
        );
        let attended = fake.attended.lock().unwrap().iter().filter(|method| *method == "tasks/get").count();
        assert_eq!(attended, 1, "{polls:?}");
    }
}

#[tokio::test]
async fn tsk_20_a_result_that_cannot_be_fetched_is_not_fetched_for_ever() {
    let fake = scripted(|peer, message| match message["method"].as_str() {
        Some("tools/call") => peer.result(message, json!({"task": core_state("working", 100)})),
        Some("tasks/get") => peer.result(message, core_state("completed", 100)),
        _ => peer.error(message, -32603, json!({"reason": "busy"})),
    });
    let options = pinned(Revision::V2025_11_25).with_timeout(ms(1000)).with_max_timeout(ms(10_000));
    let client = fake.connect(options).await;
    let mut task = starting(&client, "job").await.unwrap().unwrap();
    for _ in 0..400 {
        fake.clock.advance(ms(100)).await;
    }
    let fetches = count(&fake, "tasks/result");
    assert!((4..9).contains(&fetches), "{fetches}");
    assert_eq!(soon(task.result()).await.unwrap_err().kind(), ErrorKind::Busy);
    assert_eq!(states(&mut task).await, [TaskStatus::Completed]);
}

#[tokio::test]
async fn a_task_that_failed_because_its_server_was_busy_has_failed() {
    let core = scripted(|peer, message| match message["method"].as_str() {
        Some("tools/call") => peer.result(message, json!({"task": core_state("failed", 1000)})),
        Some("tasks/result") => peer.error(message, -32603, json!({"reason": "busy"})),
        _ => {}
    });
    let extension = Fake::process(|peer, message| {
        if message["method"] == "tools/call" {
            let error = json!({"code": -32603, "message": "too large", "data": {"reason": "busy"}});
            let mut task = state("failed", json!({"error": error}));
            task["resultType"] = json!("task");
            peer.result(message, task);
        }
    });
    for (fake, revision) in [core, extension].into_iter().zip(BOTH) {
        let client = fake.connect(pinned(revision)).await;
        let task = starting(&client, "job").await.unwrap().unwrap();
        assert_eq!(soon(task.result()).await.unwrap_err().kind(), ErrorKind::Busy, "{revision}");
    }
}

#[tokio::test]
async fn tsk_19_a_result_that_fails_while_the_task_asks_is_fetched_at_the_pace_of_the_polls() {
    let fake = scripted(|peer, message| match message["method"].as_str() {
        Some("tools/call") => peer.result(message, json!({"task": core_state("working", 1000)})),
        Some("tasks/get") => peer.result(message, core_state("input_required", 1000)),
        _ => peer.error(message, -32603, json!({"reason": "busy"})),
    });
    let client = fake.connect(pinned(Revision::V2025_11_25)).await;
    let _task = starting(&client, "job").await.unwrap().unwrap();
    for _ in 0..10 {
        fake.clock.advance(ms(1000)).await;
    }
    let fetches = count(&fake, "tasks/result");
    assert!((4..=10).contains(&fetches), "{fetches}");
}

#[tokio::test]
async fn can_04_tkx_19_a_task_is_cancelled_by_its_own_method() {
    let fake = scripted(|_, _| {});
    let client = fake.connect(pinned(Revision::V2025_11_25)).await;
    client.list_tools().await.unwrap();
    let opening = starting(&client, "job");
    settle().await;
    opening.abort();
    settle().await;
    let call = fake.last();
    assert_eq!(call["method"], "tools/call", "no notification of a cancellation");
    fake.peer().result(&call, json!({"task": core_state("working", 1000)}));
    settle().await;
    assert_eq!(params_of(&fake, "tasks/cancel"), json!({"taskId": "t"}));

    let fake = Fake::process(|peer, message| {
        if message["method"] == "tools/call" {
            let mut task = state("working", json!({}));
            task["resultType"] = json!("task");
            peer.result(message, task);
        }
    });
    let capabilities = serde_json::from_value(json!({"extensions": {EXTENSION: {}}})).unwrap();
    let client = fake.connect(pinned(Revision::V2026_07_28).with_capabilities(capabilities)).await;
    let call = tokio::spawn(async move { client.call_tool("job", ()).await });
    settle().await;
    call.abort();
    settle().await;
    assert_eq!(params_of(&fake, "tasks/cancel")["taskId"], "t");
    let cancelled: Vec<_> = fake.seen.lock().unwrap().iter().map(|(_, message)| message.clone()).collect();
    let calls: Vec<_> = cancelled.iter().filter(|message| message["method"] == "tools/call").collect();
    let told = |message: &&Value| {
        message["method"] == "notifications/cancelled" && message["params"]["requestId"] == calls[0]["id"]
    };
    assert!(!cancelled.iter().any(|message| told(&message)));
}

#[tokio::test]
async fn a_task_ends_with_its_handle_and_with_its_connection() {
    let fake = scripted(|peer, message| match message["method"].as_str() {
        Some("tools/call") => peer.result(message, json!({"task": core_state("working", 100)})),
        Some("tasks/get") => peer.result(message, core_state("working", 100)),
        _ => {}
    });
    let client = fake.connect(pinned(Revision::V2025_11_25)).await;
    let task = starting(&client, "job").await.unwrap().unwrap();
    fake.clock.advance(ms(100)).await;
    assert_eq!(count(&fake, "tasks/get"), 1);
    drop(task);
    fake.clock.advance(ms(1000)).await;
    assert_eq!((count(&fake, "tasks/get"), count(&fake, "tasks/cancel")), (1, 0));

    let mut task = starting(&client, "job").await.unwrap().unwrap();
    client.close().await;
    assert_eq!(soon(task.next()).await.unwrap().unwrap().status, TaskStatus::Working);
    assert_eq!(soon(task.next()).await.unwrap(), Err(ClientError::Closed));
    assert_eq!(soon(task.result()).await.unwrap_err(), ClientError::Closed);
}

#[tokio::test]
async fn tkx_41_the_notifications_of_a_task_are_asked_for_and_taken() {
    let fake = Fake::process(|peer, message| match message["method"].as_str() {
        Some("tools/call") => {
            let mut task = state("working", json!({"pollIntervalMs": 3_600_000}));
            task["resultType"] = json!("task");
            peer.result(message, task);
        }
        Some("subscriptions/listen") => {
            let meta = json!({"io.modelcontextprotocol/subscriptionId": message["id"]});
            let method = "notifications/subscriptions/acknowledged";
            let params = json!({"notifications": message["params"]["notifications"], "_meta": meta});
            peer.say(json!({"jsonrpc": "2.0", "method": method, "params": params}));
            let mut task = state("completed", json!({"result": {"content": [{"type": "text", "text": "told"}]}}));
            task["_meta"] = meta;
            peer.say(json!({"jsonrpc": "2.0", "method": "notifications/tasks", "params": task}));
        }
        _ => {}
    });
    let client = fake.connect(pinned(Revision::V2026_07_28)).await;
    let task = starting(&client, "job").await.unwrap().unwrap();
    settle().await;
    assert_eq!(soon(task.result()).await.unwrap().joined_text(), "told");
    assert_eq!(count(&fake, "tasks/get"), 0);
    settle().await;
    let listen = params_of(&fake, "subscriptions/listen");
    assert_eq!(listen["notifications"], json!({"taskIds": ["t"]}));
    assert_eq!(listen["_meta"][CAPABILITIES]["extensions"], json!({EXTENSION: {}}));
    assert_eq!(count(&fake, "notifications/cancelled"), 1, "the stream ends with the task");
}
