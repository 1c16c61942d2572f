//! Calls the server next to it, or one at a URL: `client [http://127.0.0.1:8000/mcp]`

use serde_json::json;
use std::{error::Error, time::Duration};
use trunkline::{
    client::{Client, RequestOptions},
    transport::{ChildCommand, Target},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server: Target = match std::env::args().nth(1) {
        Some(url) => url.into(),
        None => ChildCommand::new([std::env::current_exe()?.with_file_name("server").to_string_lossy()]).into(),
    };
    let client = Client::connect(server).await?;
    println!("connected, revision {}", client.revision());
    for tool in client.list_tools().await? {
        println!("tool {}: {}", tool.name, tool.description.unwrap_or_default());
    }
    let options = RequestOptions::default()
        .with_timeout(Duration::from_secs(10))
        .with_progress(|progress, total, _| println!("progress {progress} of {}", total.unwrap_or_default()));
    let result = client.call_tool_with("forecast", json!({"city": "Oslo", "days": 2}), &options).await?;
    println!("{}", result.joined_text());
    client.close().await;
    Ok(())
}
