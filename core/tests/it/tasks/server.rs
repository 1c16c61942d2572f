//! A server whose tools may run as tasks.

#![expect(deprecated, reason = "older revisions have it")]

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{path::PathBuf, sync::Arc, time::Duration};
use trunkline::{
    RpcError,
    protocol::{
        RawJson,
        model::{ElicitParams, ElicitResult, Field, FormSchema, LoggingLevel},
    },
    server::{
        Call, CallError, ClientRequest, Context, MiddlewareDefinition, Outcome, Params, Server, ServerBuilder,
        ServerOptions, TaskSupport, Tool, ToolDefinition, ToolError,
    },
};

/// Its names as roles of this binary: with room, with tasks that are forgotten soon, with little
/// room, and inside middleware.
pub(crate) const ROLES: [&str; 4] =
    ["tasks server", "tasks server that forgets", "tasks server with little room", "tasks server inside middleware"];

/// How long the second keeps tasks.
pub(super) const SHORT_TTL: Duration = Duration::from_millis(1500);

pub(crate) fn serve(role: &str, file: PathBuf) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { server(role, Arc::new(file)).serve_stdio().await.unwrap() });
    runtime.shutdown_timeout(Duration::from_millis(100));
}

fn server(role: &str, file: Arc<PathBuf>) -> Server {
    let options = ServerOptions::default()
        .with_page_size(2)
        .with_task_ttl(if role == ROLES[1] { SHORT_TTL } else { Duration::from_secs(60) })
        .with_task_poll_interval(Duration::from_millis(50))
        .with_max_tasks(if role == ROLES[2] { 2 } else { 100 });
    let builder = Server::builder("tasks", "1.0.0").options(options);
    let builder = asking(working(builder, file));
    if role == ROLES[3] { inside_middleware(builder) } else { builder }.build()
}

#[derive(Deserialize, JsonSchema)]
struct Word {
    word: String,
}

/// Tools that come to their end in every way.
fn working(builder: ServerBuilder, file: Arc<PathBuf>) -> ServerBuilder {
    let (gate, note) = (Arc::clone(&file), file);
    let builder = builder
        .tool("plain", "Is never a task", || async { "plain" })
        .add_tool(
            Tool::new("echo", "Is done at once", |Params(given): Params<Word>| async move { given.word })
                .task(TaskSupport::Optional),
        )
        .add_tool(Tool::new("only", "Is always a task", || async { "as a task" }).task(TaskSupport::Required))
        .add_tool(
            Tool::new("work", "Works until it is let", move |ctx: Context| {
                let gate = Arc::clone(&gate);
                async move {
                    ctx.progress_message(1.0, Some(2.0), "begun").await;
                    ctx.log(LoggingLevel::Error, "at work");
                    ctx.set_task_message("half way");
                    while !gate.exists() {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    ctx.progress(2.0, Some(2.0)).await;
                    "worked"
                }
            })
            .task(TaskSupport::Optional),
        )
        .add_tool(
            Tool::new("wait", "Waits for its end, and takes note of it", move |ctx: Context| {
                let note = Arc::clone(&note);
                async move {
                    ctx.cancelled().await;
                    std::fs::write(&*note, ctx.is_cancelled().to_string()).map_err(CallError::internal)?;
                    trunkline::Ok("never heard")
                }
            })
            .task(TaskSupport::Optional),
        );
    failing(builder).add_tool(
        ToolDefinition::new(json!({"name": "exact"}), |call: Call| {
            let result = json!({
                "content": [{"type": "text", "text": "exactly this"}], "structuredContent": {"a": 1}, "isError": false,
                "_meta": {"com.example/note": [1]}
            });
            call.complete(Outcome::Result(RawJson::from_value(&result).unwrap()));
        })
        .task(TaskSupport::Optional),
    )
}

/// Tools without a result.
fn failing(builder: ServerBuilder) -> ServerBuilder {
    builder
        .add_tool(
            Tool::new("fail", "Fails", || async { Err::<String, CallError>(ToolError::new("out of cheese").into()) })
                .task(TaskSupport::Optional),
        )
        .add_tool(
            Tool::new("refuse", "Ends in an error of the protocol", || async {
                Err::<String, CallError>(RpcError::new(4050, "Refused").with_data(json!({"why": "so"})).into())
            })
            .task(TaskSupport::Optional),
        )
        .add_tool(
            Tool::new("panic", "Panics", || async { if true { panic!("boom") } else { 1 } })
                .task(TaskSupport::Optional),
        )
        .add_tool(ToolDefinition::new(json!({"name": "drop"}), drop::<Call>).task(TaskSupport::Optional))
}

fn question(message: &str) -> ElicitParams {
    ElicitParams::form(message, FormSchema::new().required("word", Field::text()))
}

fn word(answer: &ElicitResult) -> String {
    let content = answer.content.as_ref();
    content.and_then(|content| content.get("word")?.as_str()).unwrap_or("nothing").to_owned()
}

/// Tools that ask their client.
fn asking(builder: ServerBuilder) -> ServerBuilder {
    builder
        .add_tool(
            Tool::new("ask", "Asks two things, one after the other, under one key", |ctx: Context| async move {
                let first = ctx.elicit_with_key("word", question("First?")).await?;
                let second = ctx.elicit_with_key("word", question("Second?")).await?;
                trunkline::Ok(format!("{} {}", word(&first), word(&second)))
            })
            .task(TaskSupport::Optional),
        )
        .add_tool(
            Tool::new("ask_both", "Asks two things at once", |ctx: Context| async move {
                let (left, right) =
                    (ctx.elicit_with_key("left", question("Left?")), ctx.elicit_with_key("right", question("Right?")));
                let (left, right) = tokio::try_join!(left, right)?;
                trunkline::Ok(format!("{} {}", word(&left), word(&right)))
            })
            .task(TaskSupport::Optional),
        )
        .add_tool(
            Tool::new("defer", "Asks, becomes a task, and asks again under the same key", |ctx: Context| async move {
                let before = ctx.elicit_with_key("word", question("Before?")).await?;
                ctx.start_task();
                let after = ctx.elicit_with_key("word", question("After?")).await?;
                trunkline::Ok(format!("{} {}", word(&before), word(&after)))
            })
            .task(TaskSupport::Optional)
            .defer_task(true),
        )
}

/// Middleware that marks results, and some that breaks.
fn inside_middleware(builder: ServerBuilder) -> ServerBuilder {
    let mark = |call: Call| {
        let facts = call.info().clone();
        let kept = facts.clone();
        let refused = facts.proceed(None, move |result| {
            let outcome = match result {
                Ok(result) => {
                    let mut result: Value = result.parse().unwrap();
                    if kept.method() == "tools/call" && result.to_string().contains("taskId") {
                        let second = Duration::from_secs(1);
                        let form = RawJson::from_value(&question("Who?")).unwrap();
                        let request = ClientRequest {
                            method: "elicitation/create",
                            key: None,
                            params: Some(&form),
                            timeout: second,
                            max: second,
                        };
                        let asked = kept.ask(request, |_| {});
                        result["_meta"]["com.example/asked"] = asked.err().unwrap().to_string().into();
                    }
                    result["_meta"]["com.example/wrapped"] = true.into();
                    Outcome::Result(RawJson::from_value(&result).unwrap())
                }
                Err(error) => Outcome::Protocol(error),
            };
            call.complete(outcome);
        });
        assert_eq!(refused, Ok(()));
    };
    let breaks = |call: Call| {
        call.complete(Outcome::Internal("a secret".into()));
    };
    // Two around each call: what one makes of it passes through the other.
    builder
        .add_middleware(MiddlewareDefinition::new(mark).methods(["tools/call"]))
        .add_middleware(MiddlewareDefinition::new(mark).methods(["tools/call"]))
        .add_middleware(MiddlewareDefinition::new(breaks).methods(["tasks/cancel"]))
}
