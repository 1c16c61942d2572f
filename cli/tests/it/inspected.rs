//! Servers to inspect.

use crate::roles::FILE;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
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

/// Speaks one revision only, the newest or the oldest, and has one tool. It declares prompts, which
/// are missing.
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
    answer(|method, _| {
        Some(match method {
            "initialize" if !newest => {
                json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}, "prompts": {}}, "serverInfo": info})
            }
            "server/discover" if newest => cached(json!({
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}, "prompts": {}},
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
    answer(|method, _| {
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

/// Has a skill whose files are not those of its entry.
pub(crate) fn lie() {
    const SKILL: &str = "---\nname: liar\ndescription: Another one.\n---\n";
    let file = |name: &str, text: &str, size: usize| {
        let digest: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        json!({"uri": format!("skill://liar/{name}"), "size": size, "digest": format!("sha256:{digest}")})
    };
    let skill = json!({
        "uri": "skill://liar/SKILL.md",
        "frontmatter": {"name": "liar", "description": "How to lie."},
        "resources": [file("SKILL.md", SKILL, SKILL.len()), file("a.txt", "a lie.", 6), file("b.txt", "a truth", 7)],
    });
    let whole = |mut result: Value| {
        for (name, value) in [("resultType", json!("complete")), ("ttlMs", json!(0)), ("cacheScope", json!("private"))]
        {
            result[name] = value;
        }
        result
    };
    answer(|method, params| {
        Some(whole(match method {
            "server/discover" => json!({
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"resources": {}, "extensions": {"io.modelcontextprotocol/skills": {}}},
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "liar", "version": "1"}},
            }),
            "skills/list" => json!({"skills": [skill]}),
            "resources/read" => {
                let text = if params["uri"] == skill["uri"] { SKILL } else { "truth." };
                json!({"contents": [{"uri": params["uri"], "mimeType": "text/plain", "text": text}]})
            }
            _ => return None,
        }))
    });
}

/// Has another tool as soon as its list is read.
pub(crate) fn change() {
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    let mut tools = vec![tool("first")];
    let info = json!({"name": "changing", "version": "1"});
    answer(|method, _| {
        Some(match method {
            "initialize" => {
                json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": true}}, "serverInfo": info})
            }
            "tools/list" => {
                let old = tools.clone();
                if tools.len() == 1 {
                    tools.push(tool("second"));
                    println!(r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}}"#);
                    std::io::stdout().flush().unwrap();
                    // The client reads that while it waits for the list.
                    std::thread::sleep(Duration::from_millis(300));
                }
                json!({"tools": old})
            }
            _ => return None,
        })
    });
}

/// Has a prompt until it is started again, which a file tells.
pub(crate) fn forget() {
    let file = std::env::var_os(FILE).unwrap();
    let capabilities = match std::fs::exists(&file).unwrap() {
        true => json!({"tools": {}}),
        false => json!({"tools": {}, "prompts": {}}),
    };
    std::fs::write(&file, "").unwrap();
    let info = json!({"name": "forgetful", "version": "1"});
    answer(|method, _| {
        Some(match method {
            "initialize" => {
                json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info})
            }
            "tools/list" => json!({"tools": []}),
            "prompts/list" => json!({"prompts": [{"name": "once"}]}),
            _ => return None,
        })
    });
}

/// Asks 65 questions in a call, and returns the refusal.
pub(crate) fn crowd() {
    let info = json!({"name": "crowd", "version": "1"});
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let mut call = Value::Null;
    converse(|message| {
        let result = match message["method"].as_str() {
            Some("initialize") => {
                json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info})
            }
            Some("tools/list") => json!({"tools": [{"name": "ask", "inputSchema": {"type": "object"}}]}),
            Some("tools/call") => {
                call = message["id"].clone();
                let params = json!({"message": "Who?", "requestedSchema": schema});
                for id in 0..=64 {
                    println!(
                        "{}",
                        json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params})
                    );
                }
                return None;
            }
            Some(_) => return unknown(message),
            None => {
                let content = json!([{"type": "text", "text": message["error"]["message"].as_str()?}]);
                return Some(json!({"jsonrpc": "2.0", "id": call, "result": {"content": content}}));
            }
        };
        Some(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
    });
}

/// Lines that [`garble`] prints besides its answers.
pub(crate) const NO_MESSAGE: &str = "hello";
pub(crate) const NO_ID: &str = r#"{"jsonrpc":"2.0","result":{}}"#;

/// A message whose method is no string, with the id of a request of the other side.
pub(crate) fn without_method(id: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":5}}"#)
}

/// Answers calls with broken results and errors, by the names of its tools.
pub(crate) fn garble() {
    let info = json!({"name": "garbling", "version": "1"});
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    converse(|message| {
        let id = &message["id"];
        let result = match message["method"].as_str()? {
            "initialize" => {
                json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info})
            }
            "notifications/initialized" => {
                println!("{NO_MESSAGE}\n{NO_ID}");
                return None;
            }
            "tools/list" => {
                println!("{}", without_method(id));
                json!({"tools": [tool("no version"), tool("no error")]})
            }
            "tools/call" if message["params"]["name"] == "no version" => return Some(json!({"id": id, "result": {}})),
            "tools/call" => return Some(json!({"jsonrpc": "2.0", "id": id, "error": "broken"})),
            _ => return unknown(message),
        };
        Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
    });
}

fn unknown(message: &Value) -> Option<Value> {
    let error = json!({"code": -32601, "message": format!("no method {}", message["method"])});
    message.get("id").map(|id| json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

/// Serves standard input and output by results, without the library.
fn answer(mut result: impl FnMut(&str, &Value) -> Option<Value>) {
    converse(|message| {
        let id = message.get("id")?;
        match result(message["method"].as_str()?, &message["params"]) {
            Some(result) => Some(json!({"jsonrpc": "2.0", "id": id, "result": result})),
            None => unknown(message),
        }
    });
}

/// Replies to messages on standard input.
fn converse(mut reply: impl FnMut(&Value) -> Option<Value>) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if let Some(reply) = reply(&serde_json::from_str(&line).unwrap()) {
            println!("{reply}");
        }
        std::io::stdout().flush().unwrap();
    }
}
