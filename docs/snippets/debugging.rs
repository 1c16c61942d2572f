// Information about a connection, and why one failed.
use serde_json::{Value, json};
use std::{error::Error, io};
use trunkline::{Client, Server, ServerOptions, server::CallError};

async fn backup() -> Result<String, CallError> {
    Err(io::Error::other("disk full"))?
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Sends error details, which may be secret, to clients: not for production.
    let options = ServerOptions::default().with_debug(true);
    let server =
        Server::builder("backup", "1.0.0").options(options).tool("backup", "Back up all files.", backup).build();

    let client = Client::connect(&server).await?;
    let info: Value = client.server().info.as_ref().map(|info| info.parse()).transpose()?.unwrap_or_default();
    println!("{} {}", client.revision(), info["name"].as_str().unwrap_or_default());
    let result = client.call_tool("backup", json!({})).await?;
    let reason = if result.joined_text().contains("disk full") { "disk full" } else { "" };
    println!("{} {reason}", if result.is_error { "error:" } else { "result:" });
    client.close().await;
    Ok(())
}
