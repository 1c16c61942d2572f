//! Starts the server next to it and calls its tool.

use serde_json::json;
use std::error::Error;
use trunkline::{ChildCommand, Client};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = std::env::current_exe()?.with_file_name("hello_server");
    let client = Client::connect(ChildCommand::new([server.to_string_lossy()])).await?;
    let result = client.call_tool("hello", json!({"name": "Ada"})).await?;
    println!("{}", result.joined_text());
    client.close().await;
    Ok(())
}
