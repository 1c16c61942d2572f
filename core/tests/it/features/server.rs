//! A server with a little of everything.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};
use trunkline::{
    protocol::model::{BlobResourceContents, ElicitParams, Field, FormSchema, LoggingLevel, ResourceContents},
    server::{
        CallError, CompletionEntry, CompletionTarget, Context, Params, PromptEntry, ResourceEntry, Server,
        ServerOptions, ToolError,
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

pub(crate) fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { server().serve_stdio().await.unwrap() });
    runtime.shutdown_timeout(Duration::from_millis(100));
}

fn server() -> Server {
    let itself: Arc<OnceLock<Server>> = Arc::default();
    let changed = Arc::clone(&itself);
    let server = Server::builder("full", "1.0.0")
        .options(ServerOptions { page_size: 2, ..ServerOptions::default() })
        .resource("test://text", "text", || async { Ok("A text") })
        .resource_entry(
            ResourceEntry::typed("test://bytes", "bytes", || async {
                let blob = BlobResourceContents { blob: "AAEC/w==".into(), ..BlobResourceContents::default() };
                Ok(ResourceContents::from(blob))
            })
            .with("mimeType", json!("application/octet-stream")),
        )
        .resource("test://broken", "broken", || async {
            Err::<String, CallError>(std::io::Error::other("secret").into())
        })
        .resource("test://ask", "ask", |ctx: Context| async move {
            let form = FormSchema::new().required("word", Field::text());
            let answer = ctx.elicit_as("word", ElicitParams::form("Which word?", form)).await?;
            let content = answer.content.unwrap_or_default();
            Ok(content.get("word").and_then(|word| word.as_str()).unwrap_or("none").to_owned())
        })
        .resource_template("test://item/{id}", "item", |Params(item): Params<Item>| async move { Ok(item.id) })
        .prompt("plain", "Without arguments", || async { Ok("Plain") })
        .prompt("greet", "With arguments", |Params(greeting): Params<Greeting>| async move {
            Ok(format!("Greet {} {}", greeting.name, greeting.tone.as_deref().unwrap_or("kindly")))
        })
        .prompt("third", "On the second page", || async { Ok("Third") })
        .completion(CompletionEntry::typed(CompletionTarget::Prompt("greet".into()), "name", || async {
            Ok((0..150).map(|number| format!("name {number}")).collect::<Vec<_>>())
        }))
        .tool("log", "Logs at every level", |ctx: Context| async move {
            for level in LoggingLevel::ALL {
                ctx.log_as("test", level, level.as_str());
            }
            Ok("logged")
        })
        .tool("change", "Changes something", move |Params(it): Params<What>| {
            let itself = Arc::clone(&changed);
            async move {
                let server = itself.get().ok_or_else(|| ToolError::new("not yet"))?;
                let failed = |error: trunkline::server::RegisterError| ToolError::new(error.to_string());
                match it.what.as_str() {
                    "resources" => server
                        .add_resource(ResourceEntry::typed("test://late", "late", || async { Ok("Late") }))
                        .map_err(failed)?,
                    "prompts" => server
                        .add_prompt(PromptEntry::typed("late", "Comes late", || async { Ok("Late") }))
                        .map_err(failed)?,
                    uri => server.resource_updated(uri),
                }
                Ok("changed")
            }
        })
        .build();
    let _ = itself.set(server.clone());
    server
}
