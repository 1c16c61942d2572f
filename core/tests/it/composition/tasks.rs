//! Calls through a proxy that are tasks: tasks of the server that shows the remote one.

use super::{
    LEGACY, MODERN, connect, connect_as,
    proxies::{OnDrop, client, form, text, user},
    soon, until,
};
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::Notify;
use trunkline::{
    ClientError, Context, ProxyDefinition, RequestOptions, Revision, Server, ServerOptions, Tool,
    protocol::{RawJson, method, model::TaskStatus},
    server::TaskSupport,
};

const PAIRS: [(Revision, Revision); 4] = [(LEGACY, LEGACY), (LEGACY, MODERN), (MODERN, LEGACY), (MODERN, MODERN)];

/// A server with tools that may be tasks, must be, and cannot be.
fn remote(runs: &Arc<AtomicUsize>, ended: &Arc<Notify>) -> Server {
    let (counted, ended) = (Arc::clone(runs), Arc::clone(ended));
    let ask = |ctx: Context| async move {
        let answer = ctx.elicit(form("first name")).await?.content.unwrap_or_default();
        trunkline::Ok(format!("hello {}", answer["name"].as_str().unwrap()))
    };
    Server::builder("remote", "1.0.0")
        .add_tool(Tool::new("may", "May be a task.", async || "it may").task(TaskSupport::Optional))
        .add_tool(Tool::new("must", "Must be a task.", async || "it must").task(TaskSupport::Required))
        .add_tool(Tool::new("never", "Is never a task.", async || "never"))
        .add_tool(Tool::new("ask", "Ask as a task.", ask).task(TaskSupport::Optional))
        .add_tool(Tool::new("must_ask", "Ask as a task only.", ask).task(TaskSupport::Required))
        .add_tool(
            Tool::new("wait", "Wait for the end.", move |ctx: Context| {
                let (counted, ended) = (Arc::clone(&counted), Arc::clone(&ended));
                async move {
                    counted.fetch_add(1, Ordering::AcqRel);
                    let _end = OnDrop(Box::new(move || ended.notify_one()));
                    ctx.cancelled().await;
                    "never"
                }
            })
            .task(TaskSupport::Required),
        )
        .build()
}

async fn gateway(runs: &Arc<AtomicUsize>, ended: &Arc<Notify>, revision: Revision) -> Server {
    let far = client(&remote(runs, ended), revision).await;
    Server::builder("gateway", "1.0.0").proxy(ProxyDefinition::new(&far).prefix("far")).build()
}

#[tokio::test]
async fn tsk_06_a_call_through_a_proxy_is_a_task_of_the_proxy() {
    for (old, new) in PAIRS {
        let pair = format!("{old} behind {new}");
        let gateway = gateway(&Arc::default(), &Arc::default(), old).await;
        let front = connect(&gateway, new).await;
        for (tool, text) in [("far__may", "it may"), ("far__must", "it must"), ("far__never", "never")] {
            let mut task = soon(front.start_task(tool, ())).await.unwrap();
            let is_task = task.id().is_some();
            let mut last = None;
            while let Some(state) = soon(task.next()).await {
                last = Some(state.unwrap().status);
            }
            assert_eq!(soon(task.result()).await.unwrap().joined_text(), text, "{tool}, {pair}");
            let expected = match (tool, old, new) {
                // `far__never` is listed as one that is never a task, unless the server decides.
                ("far__never", LEGACY, _) | ("far__never", MODERN, MODERN) => false,
                _ => true,
            };
            assert_eq!(is_task, expected, "{tool}, {pair}");
            assert_eq!(last, is_task.then_some(TaskStatus::Completed), "{tool}, {pair}");
            assert_eq!(soon(front.call_tool(tool, json!({}))).await.unwrap().joined_text(), text, "{tool}, {pair}");
        }
    }
}

#[tokio::test]
async fn tsk_04_tools_behind_a_proxy_are_listed_with_the_tasks_that_they_may_be() {
    for old in [LEGACY, MODERN] {
        let gateway = gateway(&Arc::default(), &Arc::default(), old).await;
        let front = connect(&gateway, LEGACY).await;
        assert!(front.server_capabilities().tasks.is_some(), "{old}");
        let listed: BTreeMap<_, _> = soon(front.list_tools())
            .await
            .unwrap()
            .into_iter()
            .map(|tool| (tool.name.clone(), serde_json::to_value(&tool).unwrap()["execution"]["taskSupport"].clone()))
            .collect();
        let never = if old == LEGACY { json!(null) } else { json!("optional") };
        assert_eq!(listed["far__may"], "optional", "{old}");
        assert_eq!(listed["far__must"], "optional", "{old}");
        assert_eq!(listed["far__never"], never, "{old}");
    }
    let plain = client(&Server::builder("remote", "1.0.0").tool("t", "T.", async || "t").build(), LEGACY).await;
    let front = connect(&Server::builder("gateway", "1.0.0").proxy(&plain).build(), LEGACY).await;
    assert!(front.server_capabilities().tasks.is_none());
}

#[tokio::test]
async fn can_04_a_cancelled_task_of_a_proxy_is_cancelled_at_the_remote_server() {
    for (old, new) in PAIRS {
        let (runs, ended) = (Arc::default(), Arc::new(Notify::new()));
        let gateway = gateway(&runs, &ended, old).await;
        let front = connect(&gateway, new).await;
        let task = soon(front.start_task("far__wait", ())).await.unwrap();
        until(|| runs.load(Ordering::Acquire) == 1).await;
        soon(task.cancel()).await.unwrap();
        soon(ended.notified()).await;
        if new == LEGACY {
            let tasks = soon(front.list_tasks()).await.unwrap();
            assert_eq!(tasks.iter().map(|task| task.status).collect::<Vec<_>>(), [TaskStatus::Cancelled]);
        } else {
            let params = RawJson::from_value(&json!({"taskId": task.id().unwrap()})).unwrap();
            let state = soon(front.request(method::TASKS_GET, Some(&params), &Default::default())).await.unwrap();
            assert_eq!(state.parse::<serde_json::Value>().unwrap()["status"], "cancelled");
        }
    }
}

#[tokio::test]
async fn a_task_of_a_proxy_asks_its_own_caller() {
    for (old, new) in PAIRS {
        let gateway = gateway(&Arc::default(), &Arc::default(), old).await;
        let (ann, bob) = (connect_as(&gateway, user("Ann"), new).await, connect_as(&gateway, user("Bob"), new).await);
        for (front, name) in [(&ann, "Ann"), (&bob, "Bob")] {
            for tool in ["far__ask", "far__must_ask"] {
                let expected = format!("hello {name}'s first name");
                let task = soon(front.start_task(tool, ())).await.unwrap();
                assert_eq!(soon(task.result()).await.unwrap().joined_text(), expected, "{tool}, {old} behind {new}");
                assert_eq!(text(front, tool).await, expected, "call of {tool}, {old} behind {new}");
            }
        }
    }
}

/// A caller of 2026-07-28 without task support returns with the answer, for the same task.
#[tokio::test]
async fn tkx_05_a_caller_without_tasks_is_asked_by_a_task_behind_the_proxy() {
    for old in [LEGACY, MODERN] {
        let gateway = gateway(&Arc::default(), &Arc::default(), old).await;
        let front = connect_as(&gateway, user("Ann"), MODERN).await;
        let options = RequestOptions::default().with_manual_input(true);
        let error = soon(front.call_tool_with("far__must_ask", json!({}), &options)).await.unwrap_err();
        let ClientError::InputRequired(required) = error else { panic!("{old}: {error:?}") };
        let keys: Vec<String> = required.requests().map(|(key, _)| key.to_owned()).collect();
        let answer = RawJson::from_value(&json!({"action": "accept", "content": {"name": "Cyd"}})).unwrap();
        let answers = required.answer(keys.into_iter().map(|key| (key, answer.clone())));
        let options = options.with_input_responses(answers);
        let result = soon(front.call_tool_with("far__must_ask", json!({}), &options)).await.unwrap();
        assert_eq!(result.joined_text(), "hello Cyd", "{old}");
    }
}

#[tokio::test]
async fn tkx_29_a_task_of_a_proxy_has_the_times_and_the_messages_of_the_task_behind_it() {
    let (told, heard) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let run = {
        let (told, heard) = (Arc::clone(&told), Arc::clone(&heard));
        move |ctx: Context| {
            let (told, heard) = (Arc::clone(&told), Arc::clone(&heard));
            async move {
                told.notified().await;
                ctx.set_task_message("halfway");
                heard.notified().await;
                "done"
            }
        }
    };
    let times = ServerOptions::default()
        .with_task_ttl(Duration::from_secs(90))
        .with_task_poll_interval(Duration::from_millis(40));
    let remote = Server::builder("remote", "1.0.0")
        .options(times)
        .add_tool(Tool::new("report", "Reports.", run).task(TaskSupport::Optional))
        .build();
    let far = client(&remote, MODERN).await;
    let gateway = Server::builder("gateway", "1.0.0").proxy(&far).build();
    let front = connect(&gateway, MODERN).await;
    let mut task = soon(front.start_task("report", ())).await.unwrap();
    let state = task.state().unwrap();
    assert_eq!((state.ttl_ms, state.poll_interval_ms), (Some(90_000), Some(40)));
    told.notify_one();
    while let Some(state) = soon(task.next()).await {
        if state.unwrap().status_message.as_deref() == Some("halfway") {
            heard.notify_one();
        }
    }
    assert_eq!(soon(task.result()).await.unwrap().joined_text(), "done");
}

#[tokio::test]
async fn tasks_on_both_sides_of_a_proxy_end_together() {
    for (old, new) in PAIRS {
        let (runs, ended) = (Arc::<AtomicUsize>::default(), Arc::new(Notify::new()));
        let far = client(&remote(&runs, &ended), old).await;
        let ttl = if new == LEGACY { Duration::from_secs(60) } else { Duration::from_millis(500) };
        let gateway = Server::builder("gateway", "1.0.0")
            .options(ServerOptions::default().with_task_ttl(ttl))
            .proxy(ProxyDefinition::new(&far).prefix("far"))
            .build();
        let front = connect(&gateway, new).await;
        let _task = soon(front.start_task("far__wait", ())).await.unwrap();
        until(|| runs.load(Ordering::Acquire) == 1).await;
        // Tasks of 2025-11-25 end with their session, others after their time.
        if new == LEGACY {
            front.close().await;
        }
        soon(ended.notified()).await;
    }
    let runs = Arc::<AtomicUsize>::default();
    let far = client(&remote(&runs, &Arc::default()), MODERN).await;
    let front = connect(&Server::builder("gateway", "1.0.0").proxy(&far).build(), MODERN).await;
    let task = soon(front.start_task("wait", ())).await.unwrap();
    until(|| runs.load(Ordering::Acquire) == 1).await;
    far.close().await;
    let error = soon(task.result()).await.unwrap_err();
    assert!(error.rpc().is_some_and(|error| error.message.contains("server behind")), "{error}");
}

/// A caller that cannot answer learns which capability it lacks, as from the server itself.
#[tokio::test]
async fn a_task_behind_a_proxy_that_nobody_can_answer_fails() {
    for (old, new) in PAIRS {
        let gateway = gateway(&Arc::default(), &Arc::default(), old).await;
        let front = connect(&gateway, new).await;
        let error = soon(front.call_tool("far__must_ask", json!({}))).await.unwrap_err();
        assert!(error.to_string().contains("elicitation"), "{old} behind {new}: {error}");
    }
}
