// A tool that reports progress, and a client that cancels another one.
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Notify;
use trunkline::{Client, ClientError, Context, Params, RequestOptions, Server};

#[derive(Deserialize, JsonSchema)]
struct Copy {
    files: u32,
}

async fn copy(ctx: Context, Params(Copy { files }): Params<Copy>) -> String {
    for number in 1..=files {
        ctx.progress_message(number.into(), Some(files.into()), &format!("file {number}")).await;
    }
    format!("{files} files are copied.")
}

static WATCHING: Notify = Notify::const_new();
static STOPPED: Notify = Notify::const_new();

/// Dropped when the handler is cancelled, which stops it at its next `await`.
struct Watch;

impl Drop for Watch {
    fn drop(&mut self) {
        println!("stopped watching");
        STOPPED.notify_one();
    }
}

async fn watch() {
    let _watch = Watch;
    WATCHING.notify_one();
    std::future::pending().await
}

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let server = Server::builder("files", "1.0.0")
        .tool("copy", "Copy files.", copy)
        .tool("watch", "Watch a folder until the caller cancels.", watch)
        .build();

    let client = Client::connect(&server).await?;
    let options = RequestOptions::default().with_progress(|progress, total, message| {
        // Reports may be skipped if they arrive faster than they are read, except the last.
        if let (Some(total), Some(message)) = (total.filter(|total| *total == progress), message) {
            println!("{progress} of {total}: {message}");
        }
    });
    println!("{}", client.call_tool_with("copy", json!({"files": 2}), &options).await?.joined_text());
    // `select!` drops the future of the call, which cancels it.
    tokio::select! {
        result = client.call_tool("watch", json!({})) => println!("{}", result?.joined_text()),
        () = WATCHING.notified() => {}
    }
    STOPPED.notified().await;
    Ok(())
}
