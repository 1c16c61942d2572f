// Log messages for the client, and the library's own log.
use serde_json::json;
use trunkline::{
    Client, ClientError, ClientOptions, Context, Server,
    protocol::model::{LogMessage, LoggingLevel},
};

#[expect(deprecated, reason = "for older revisions")]
async fn backup(ctx: Context) -> &'static str {
    ctx.log(LoggingLevel::Debug, "looking for changes");
    ctx.log_with_logger("copier", LoggingLevel::Info, json!({"files": 3}));
    "done"
}

fn log(message: LogMessage) {
    let logger = message.logger.unwrap_or_default();
    println!("{} of the {logger}: {} files", message.level.as_str(), message.data["files"]);
}

// Trunkline logs through `tracing`; install any subscriber to see the records.
#[expect(deprecated, reason = "for older revisions")]
#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let server = Server::builder("backup", "1.0.0").tool("backup", "Back up all files.", backup).build();

    let options = ClientOptions::default().with_log_level(LoggingLevel::Info);
    let client = Client::builder().options(options).on_log(log).connect(&server).await?;
    println!("{}", client.call_tool("backup", json!({})).await?.joined_text());
    Ok(())
}
