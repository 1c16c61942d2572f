//! A server with a little of everything.

#![expect(deprecated, reason = "older revisions have it")]

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};
use trunkline::{
    protocol::model::{
        BlobResourceContents, ContentBlock, CreateMessageParams, ElicitParams, Field, FormSchema, LoggingLevel,
        ResourceContents,
    },
    server::{
        CallError, CompletionTarget, Context, Params, Prompt, Resource, Server, ServerBuilder, ServerOptions, ToolError,
    },
};

/// Its name as a role of this binary.
pub(crate) const ROLE: &str = "full server";

#[derive(Deserialize, JsonSchema)]
struct Item {
    id: String,
}

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    name: String,
    tone: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct What {
    what: String,
}

#[derive(Deserialize, JsonSchema)]
struct Sampling {
    params: Value,
}

/// Reports of progress, and log messages, that `flood` sends.
pub(super) const FLOOD_STEPS: u32 = 50_000;

pub(crate) fn serve(file: PathBuf) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { server(file).serve_stdio().await.unwrap() });
    runtime.shutdown_timeout(Duration::from_millis(100));
}

fn server(file: PathBuf) -> Server {
    let itself: Arc<OnceLock<Server>> = Arc::default();
    let changed = Arc::clone(&itself);
    let builder = Server::builder("full", "1.0.0").options(ServerOptions::default().with_page_size(2));
    let server = resources_and_prompts(builder)
        .tool("link", "Points to what no list shows", || async {
            vec![ContentBlock::resource_link("test://item/linked", "linked")]
        })
        .tool("flood", "Says more than anyone reads, and takes note of its end", move |ctx: Context| {
            let file = file.clone();
            async move {
                let text = "x".repeat(1000);
                for step in 1..=FLOOD_STEPS {
                    ctx.progress(step.into(), None).await;
                    ctx.log(LoggingLevel::Info, json!({"step": step, "text": text}));
                }
                std::fs::write(file, "")?;
                trunkline::Ok("flooded")
            }
        })
        .tool(
            "sample",
            "Asks the client's model what it was given",
            |ctx: Context, Params(given): Params<Sampling>| async move {
                let params: CreateMessageParams = serde_json::from_value(given.params)?;
                trunkline::Ok(ctx.sample_with_key("said", params).await?.joined_text())
            },
        )
        .tool("log", "Logs at every level", |ctx: Context| async move {
            for level in LoggingLevel::ALL {
                ctx.log_with_logger("test", level, level.as_str());
            }
            "logged"
        })
        .tool("change", "Changes something", move |Params(it): Params<What>| {
            let itself = Arc::clone(&changed);
            async move {
                let server = itself.get().ok_or_else(|| ToolError::new("not yet"))?;
                let failed = |error: trunkline::server::RegisterError| ToolError::new(error.to_string());
                match it.what.as_str() {
                    "resources" => {
                        let late = Resource::new("test://late", "late", || async { "Late" });
                        server.add_resource(late).map_err(failed)?;
                    }
                    "prompts" => {
                        server.add_prompt(Prompt::new("late", "Comes late", || async { "Late" })).map_err(failed)?;
                    }
                    uri => server.resource_updated(uri),
                }
                trunkline::Ok("changed")
            }
        })
        .build();
    let _ = itself.set(server.clone());
    server
}

fn resources_and_prompts(builder: ServerBuilder) -> ServerBuilder {
    builder
        .resource("test://text", "text", || async { "A text" })
        .add_resource(
            Resource::new("test://bytes", "bytes", || async {
                let blob = BlobResourceContents { blob: "AAEC/w==".into(), ..BlobResourceContents::default() };
                ResourceContents::from(blob)
            })
            .with("mimeType", json!("application/octet-stream")),
        )
        .resource("test://broken", "broken", || async {
            Err::<String, CallError>(std::io::Error::other("secret").into())
        })
        .resource("test://ask", "ask", |ctx: Context| async move {
            let form = FormSchema::new().required("word", Field::text());
            let answer = ctx.elicit_with_key("word", ElicitParams::form("Which word?", form)).await?;
            let content = answer.content.unwrap_or_default();
            trunkline::Ok(content.get("word").and_then(|word| word.as_str()).unwrap_or("none").to_owned())
        })
        .resource_template("test://item/{id}", "item", |Params(item): Params<Item>| async move { item.id })
        .prompt("plain", "Without arguments", || async { "Plain" })
        .prompt("greet", "With arguments", |Params(greeting): Params<Greeting>| async move {
            format!("Greet {} {}", greeting.name, greeting.tone.as_deref().unwrap_or("kindly"))
        })
        .prompt("third", "On the second page", || async { "Third" })
        .completion(CompletionTarget::Prompt("greet".into()), "name", || async {
            (0..150).map(|number| format!("name {number}")).collect::<Vec<_>>()
        })
}
