//! The server that the tests talk to. The tools that the vectors use have the names and arguments
//! of the fixture servers'.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};
use trunkline::{
    Limits,
    server::{
        Call, CallError, Context, Json, Outcome, Params, Server, ServerBuilder, ServerOptions, ToolDefinition,
        ToolError,
    },
};

/// The largest message that it accepts.
pub(crate) const MAX_MESSAGE: usize = 4 << 20;
/// The bytes of one answer of the tool `big`.
pub(crate) const BIG: usize = 128 << 10;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    a: f64,
    b: f64,
}

#[derive(Deserialize, JsonSchema)]
struct Place {
    city: String,
}

#[derive(Serialize, JsonSchema)]
struct Weather {
    city: String,
    temperature: f64,
}

#[derive(Deserialize, JsonSchema)]
struct Slow {
    ms: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Steps {
    steps: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Change {
    add: Vec<String>,
    remove: Vec<String>,
}

/// Serves standard input and output. Roles: `server`, `tight server` with little room, and `closing
/// server`, which is closed when its file is there.
pub(crate) fn serve(role: &str, file: PathBuf) {
    let limits = match role {
        "server" | "closing server" => Limits::default(),
        "tight server" => Limits::default().with_max_running(2).with_max_waiting(3),
        other => panic!("no role {other:?}"),
    };
    // One thread: what a handler does without awaiting is done before anything else of this runtime
    // happens.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        if role != "closing server" {
            return server(limits, file).serve_stdio().await.unwrap();
        }
        let listener = server(limits, file.clone()).listen_stdio().unwrap();
        while !file.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        listener.close(Duration::from_secs(5)).await;
    });
    runtime.shutdown_timeout(Duration::from_millis(100));
}

fn server(limits: Limits, file: PathBuf) -> Server {
    let file = Arc::new(file);
    let itself: Arc<OnceLock<Server>> = Arc::default();
    let changed = Arc::clone(&itself);
    let limits = limits.with_max_message_bytes(MAX_MESSAGE);
    let builder = Server::builder("offer", "1.0.0")
        .instructions("For tests.")
        .options(ServerOptions::default().with_limits(limits).with_page_size(5));
    let builder = answering(builder)
        .tool("gate", "Waits until the test opens the gate", move |ctx: Context| {
            let file = Arc::clone(&file);
            async move {
                let _leaving = Leaving(ctx);
                while !file.exists() {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                "open"
            }
        })
        .tool("change", "Adds and removes tools", move |Params(change): Params<Change>| {
            let itself = Arc::clone(&changed);
            async move {
                let server = itself.get().ok_or_else(|| ToolError::new("not yet"))?;
                for name in change.add {
                    let entry = ToolDefinition::new(json!({"name": name, "description": "Was added"}), |call: Call| {
                        call.complete(Outcome::Text("added".into()));
                    });
                    server.add_tool(entry).map_err(|error| ToolError::new(error.to_string()))?;
                }
                let removed = change.remove.iter().filter(|name| server.remove_tool(name)).count();
                trunkline::Ok(removed.to_string())
            }
        });
    let server = unusual(builder).build();
    let _ = itself.set(server.clone());
    server
}

/// Tools that return, some after a while.
fn answering(builder: ServerBuilder) -> ServerBuilder {
    builder
        .tool("echo", "Gives the message back", |Params(echo): Params<Echo>| async move { echo.message })
        .tool("add_numbers", "Adds two numbers", |Params(n): Params<Numbers>| async move { (n.a + n.b).to_string() })
        .tool("structured", "Returns structured content", |Params(place): Params<Place>| async move {
            Json(Weather { city: place.city, temperature: 21.5 })
        })
        .tool("test_error_handling", "Always fails", || async {
            Err::<String, CallError>(ToolError::new("This tool intentionally returns an error for testing").into())
        })
        .tool("test_tool_with_progress", "Reports progress three times", |ctx: Context| async move {
            for progress in [0.0, 50.0, 100.0] {
                ctx.progress_message(progress, Some(100.0), &format!("Completed step {progress} of 100")).await;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            "done"
        })
        .tool("slow", "Takes its time, until it is cancelled", |Params(slow): Params<Slow>| async move {
            tokio::time::sleep(Duration::from_millis(slow.ms)).await;
            "done"
        })
        .tool("count", "Reports progress at each step", |ctx: Context, Params(count): Params<Steps>| async move {
            for step in 1..=count.steps {
                ctx.progress_message(step.into(), Some(count.steps.into()), "counting").await;
                ctx.progress(f64::from(step) - 0.5, None).await;
            }
            "done"
        })
}

/// Tools that ping, print, fail, exit, or return a lot or nothing.
fn unusual(builder: ServerBuilder) -> ServerBuilder {
    builder
        .tool("ask", "Asks whether the client is alive", |ctx: Context| async move {
            ctx.ping().await.map_or_else(|error| error.to_string(), |()| "alive".to_owned())
        })
        .tool("print", "Prints where it should not", || async {
            println!("a stray print");
            let status = std::process::Command::new("sh").args(["-c", "echo a print of a child; cat"]).status();
            status.map_or_else(|error| error.to_string(), |status| status.to_string())
        })
        .tool("exit", "Ends the process", || async {
            eprintln!("last words");
            if true { std::process::exit(3) } else { "" }
        })
        .tool("panic", "Panics", || async { if true { panic!("boom") } else { 1 } })
        .add_tool(ToolDefinition::new(
            json!({"name": "big", "description": "A large answer, at once"}),
            |call: Call| {
                call.complete(Outcome::Text("x".repeat(BIG)));
            },
        ))
        .add_tool(ToolDefinition::new(json!({"name": "drop", "description": "Never answers"}), drop::<Call>))
}

/// Reports on standard error how a call ended that did not return.
struct Leaving(Context);

impl Drop for Leaving {
    fn drop(&mut self) {
        if self.0.is_cancelled() {
            eprintln!("a call was cancelled");
        }
    }
}
