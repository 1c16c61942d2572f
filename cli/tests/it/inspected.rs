//! Servers to inspect.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    io::{BufRead, Write},
    time::Duration,
};
use trunkline::{
    Context, Params, Prompt, Resource, ResourceTemplate, Server, Tool,
    protocol::model::{
        CompleteParams, CreateMessageParams, ElicitParams, Field, FormSchema, LoggingLevel, Root, TaskSupport,
    },
};

/// The size of a large result.
pub(crate) const LARGE: usize = 5 << 20;
/// The messages of a flood.
pub(crate) const FLOOD: u32 = 20_000;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Review {
    code: String,
}

pub(crate) fn server() -> Server {
    let server = Server::builder("inspected", "1.2.3")
        .instructions("Look closely.")
        .tool("echo", "Return the text.", async |Params(Echo { text }): Params<Echo>| text)
        .tool("steps", "Report progress.", async |ctx: Context| {
            ctx.progress_message(1.0, Some(2.0), "half").await;
            "both"
        })
        .tool("wait", "Wait.", async |ctx: Context| {
            ctx.progress(1.0, None).await;
            ctx.cancelled().await;
            "never"
        })
        .tool("ask", "Ask for a name.", async |ctx: Context| {
            let form = ElicitParams::form("Who?", FormSchema::new().required("name", Field::text()));
            let answer = ctx.elicit(form).await?;
            let name = answer.content.unwrap_or_default()["name"].as_str().unwrap_or("nobody").to_owned();
            trunkline::Ok(name)
        })
        .tool("visit", "Ask for a visit.", async |ctx: Context| {
            let answer = ctx.elicit_url("Please agree", "https://example.com/terms").await?;
            trunkline::Ok(answer.action.as_str())
        })
        .tool("large", "Return much.", async || "é".repeat(LARGE / 2))
        .tool("flood", "Report much progress.", async |ctx: Context| {
            for number in 1..=FLOOD {
                ctx.progress_message(number.into(), None, "and again and again and again").await;
            }
            "done"
        })
        .tool("die", "End the process.", async || -> &'static str {
            eprintln!("the database is locked");
            std::process::exit(3)
        });
    with_others(server).build()
}

#[expect(deprecated, reason = "older revisions have them")]
fn with_others(server: trunkline::ServerBuilder) -> trunkline::ServerBuilder {
    server
        .tool("model", "Ask the model.", async |ctx: Context| {
            let params: CreateMessageParams = serde_json::from_value(json!({
                "messages": [{"role": "user", "content": {"type": "text", "text": "Hello?"}}],
                "maxTokens": 10,
            }))?;
            let answer = serde_json::to_value(ctx.sample(params).await?)?;
            let content = match &answer["content"] {
                Value::Array(blocks) => blocks[0].clone(),
                content => content.clone(),
            };
            trunkline::Ok(content["text"].as_str().unwrap_or_default().to_owned())
        })
        .tool("log", "Log.", async |ctx: Context| {
            ctx.log(LoggingLevel::Warning, json!({"disk": "full"}));
            "logged"
        })
        .tool("roots", "Ask for roots.", async |ctx: Context| {
            let roots: Vec<Root> = ctx.list_roots().await?;
            trunkline::Ok(roots.into_iter().map(|root| root.uri).collect::<Vec<_>>().join(" "))
        })
        .add_tool(
            Tool::new("slow", "A task.", async || {
                tokio::time::sleep(Duration::from_millis(50)).await;
                "rested"
            })
            .task(TaskSupport::Optional),
        )
        .add_resource(Resource::new("note://one", "one", async || "the first note"))
        .add_resource_template(ResourceTemplate::new("note://{+name}", "note", async || "a note").complete(
            "name",
            async |asked: CompleteParams| {
                ["one", "two"].into_iter().filter(|name| name.starts_with(&asked.argument.value)).collect::<Vec<_>>()
            },
        ))
        .add_prompt(Prompt::new("review", "Review", async |Params(Review { code }): Params<Review>| {
            format!("Look at {code}.")
        }))
}

/// Serves standard input and output.
pub(crate) fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { server().serve_stdio().await.unwrap() });
}

/// Speaks one revision only, the newest or the oldest, and has one tool.
pub(crate) fn speak(newest: bool) {
    let tools = json!({"tools": [{"name": "only", "inputSchema": {"type": "object"}}]});
    let info = json!({"name": "narrow", "version": "1"});
    let cached = |mut result: Value| {
        if newest {
            result["resultType"] = "complete".into();
            result["ttlMs"] = 0.into();
            result["cacheScope"] = "public".into();
        }
        result
    };
    answer(|method| {
        Some(match method {
            "initialize" if !newest => {
                json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": info})
            }
            "server/discover" if newest => cached(json!({
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
                "_meta": {"io.modelcontextprotocol/serverInfo": info},
            })),
            "tools/list" => cached(tools.clone()),
            _ => return None,
        })
    });
}

/// Has tools with faults, in another order each time.
pub(crate) fn faulty() {
    let regions = json!({"type": "object", "properties": {"regions": {"type": "array"}}});
    let mut tools = [
        json!({"name": "weather.alerts", "description": "Warnings for some regions", "inputSchema": regions}),
        json!({"name": "get-forecast", "inputSchema": {"type": "object"}}),
    ];
    let info = json!({"name": "weather", "version": "1"});
    answer(|method| {
        Some(match method {
            "initialize" => {
                json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info})
            }
            "tools/list" => {
                tools.reverse();
                json!({"tools": tools})
            }
            _ => return None,
        })
    });
}

/// Serves standard input and output by results, without the library.
fn answer(mut result: impl FnMut(&str) -> Option<Value>) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let message: Value = serde_json::from_str(&line).unwrap();
        if message["id"].is_null() {
            continue;
        }
        let method = message["method"].as_str().unwrap();
        let mut response = json!({"jsonrpc": "2.0", "id": message["id"]});
        match result(method) {
            Some(result) => response["result"] = result,
            None => response["error"] = json!({"code": -32601, "message": format!("no method {method}")}),
        }
        println!("{response}");
        std::io::stdout().flush().unwrap();
    }
}
