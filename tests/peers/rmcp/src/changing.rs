//! Tools that notify clients: of changes, log messages, and the end of a task. On 2026-07-28,
//! changes go to subscribed clients; before, to the client of the call.

use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::*;
use rmcp::service::{ServiceError, SubscriptionContext};
use rmcp::task_manager::{TaskManager, TaskOptions};
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio::time::sleep;

use crate::server::Features;

pub(crate) const WATCHED: &str = "test://watched-resource";

/// Something that changed.
#[derive(Clone, Copy)]
enum Change {
    Tools,
    Prompts,
    Resources,
    Watched,
}

/// For all connections, because over HTTP each has its own server.
static CHANGES: LazyLock<broadcast::Sender<Change>> = LazyLock::new(|| broadcast::channel(64).0);

/// For all connections, like the changes.
pub(crate) static TASKS: LazyLock<TaskManager> = LazyLock::new(TaskManager::new);

type Call<'a> = ToolCallContext<'a, Features>;
type Outcome = Result<CallToolResponse, ErrorData>;
type Running<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// Adds the tools to the server.
pub(crate) fn add(router: &mut ToolRouter<Features>) {
    let changing = [
        ("test_trigger_tool_change", Change::Tools),
        ("test_trigger_prompt_change", Change::Prompts),
        ("test_trigger_resource_change", Change::Resources),
        ("test_update_resource", Change::Watched),
    ];
    for (name, change) in changing {
        add_tool(router, name, json!({"type": "object"}), move |call| Box::pin(announce(call, change)));
    }
    add_tool(router, "test_logging_tool", json!({"type": "object"}), |call| Box::pin(log_twice(call)));
    let region = json!({"type": "string", "x-mcp-header": "Region"});
    let repeated = json!({"type": "object", "properties": {"region": region}, "required": ["region"]});
    add_tool(router, "test_x_mcp_header", repeated, |_| Box::pin(async { Ok(text("called with its header")) }));
    let properties = json!({"seconds": {"type": "number"}, "label": {"type": "string"}});
    add_tool(router, "slow_compute", json!({"type": "object", "properties": properties}), |call| {
        Box::pin(compute(call))
    });
}

fn add_tool<F>(router: &mut ToolRouter<Features>, name: &'static str, schema: Value, run: F)
where
    F: for<'a> Fn(Call<'a>) -> Running<'a> + Send + Sync + 'static,
{
    let tool = Tool::new(name, name, Arc::new(schema.as_object().cloned().unwrap_or_default()));
    router.add_route(ToolRoute::new_dyn(tool, run));
}

fn text(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

fn failed(error: &dyn std::error::Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// Announces a change, and another one as if it were reverted.
async fn announce(call: Call<'_>, change: Change) -> Outcome {
    for _ in 0..2 {
        if is_modern(&call) {
            let _ = CHANGES.send(change);
        } else {
            notify(&call, change).await.map_err(|error| failed(&error))?;
        }
        sleep(Duration::from_millis(20)).await;
    }
    Ok(text("changed"))
}

fn is_modern(call: &Call<'_>) -> bool {
    call.request_context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

async fn notify(call: &Call<'_>, change: Change) -> Result<(), ServiceError> {
    let client = &call.request_context.peer;
    match change {
        Change::Tools => client.notify_tool_list_changed().await,
        Change::Prompts => client.notify_prompt_list_changed().await,
        Change::Resources => client.notify_resource_list_changed().await,
        Change::Watched => client.notify_resource_updated(ResourceUpdatedNotificationParam::new(WATCHED)).await,
    }
}

/// Forwards changes until the client ends the subscription.
pub(crate) async fn listen(context: SubscriptionContext) {
    let (mut changes, sink) = (CHANGES.subscribe(), context.sink());
    loop {
        let change = tokio::select! {
            () = context.cancelled() => return,
            change = changes.recv() => change,
        };
        // A change without a subscriber is refused, so nothing is lost.
        let _ = match change {
            Ok(Change::Tools) => sink.notify_tool_list_changed().await,
            Ok(Change::Prompts) => sink.notify_prompt_list_changed().await,
            Ok(Change::Resources) => sink.notify_resource_list_changed().await,
            Ok(Change::Watched) => sink.notify_resource_updated(WATCHED).await,
            Err(broadcast::error::RecvError::Lagged(_)) => continue,
            Err(broadcast::error::RecvError::Closed) => return,
        };
    }
}

#[expect(deprecated, reason = "logging is a feature of all revisions")]
async fn log_twice(call: Call<'_>) -> Outcome {
    let wanted = if is_modern(&call) { call.request_context.meta.log_level() } else { Some(call.service.log_level()) };
    for (level, message) in [(LoggingLevel::Info, "an information"), (LoggingLevel::Error, "an error")] {
        if wanted.is_some_and(|wanted| wanted as u8 <= level as u8) {
            let message = LoggingMessageNotificationParam::new(level, json!(message));
            let sent = call.request_context.peer.notify_logging_message(message).await;
            sent.map_err(|error| failed(&error))?;
        }
    }
    Ok(text("logged twice"))
}

/// Continues as a task for clients that support tasks.
async fn compute(call: Call<'_>) -> Outcome {
    let arguments = call.arguments.clone().unwrap_or_default();
    let seconds = arguments.get("seconds").and_then(Value::as_f64).unwrap_or_default();
    let label = arguments.get("label").and_then(Value::as_str).unwrap_or_default().to_owned();
    let work = async move {
        sleep(Duration::from_secs_f64(seconds.clamp(0.0, 60.0))).await;
        CallToolResult::success(vec![ContentBlock::text(format!("computed {label}"))])
    };
    if !call.request_context.client_capabilities().is_some_and(|declared| declared.supports_tasks()) {
        return Ok(work.await.into());
    }
    let options = TaskOptions::new().with_poll_interval_ms(50);
    let task = TASKS.spawn(options, |_| Box::pin(async move { Ok(work.await) }));
    Ok(CallToolResponse::Task(CreateTaskResult::new(task)))
}
