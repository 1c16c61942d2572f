//! Lifts an old server to the newest revision, and calls it there. By default that beside it.

use serde_json::json;
use std::{error::Error, time::Duration};
use trunkline::{ChildCommand, Client, ClientOptions, RevisionChoice, Server, transport::Target};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let beside = std::env::current_exe()?.with_file_name("hello_server");
    let target = match std::env::args().nth(1) {
        Some(url) => Target::from(url.as_str()),
        None => ChildCommand::new([beside.to_string_lossy()]).into(),
    };
    let old = Client::builder().options(speaking(RevisionChoice::Legacy)).connect(target).await?;
    let gateway = Server::builder("gateway", "1.0.0").proxy(&old).build();
    let listener = gateway.listen("127.0.0.1:0").await?;
    call(&listener.url().unwrap_or_default()).await?;
    listener.close(Duration::from_secs(1)).await;
    old.close().await;
    Ok(())
}

fn speaking(revision: RevisionChoice) -> ClientOptions {
    ClientOptions::default().with_revision(revision)
}

/// Any client of the gateway.
async fn call(url: &str) -> Result<(), Box<dyn Error>> {
    let client = Client::builder().options(speaking(RevisionChoice::Modern)).connect(url).await?;
    for tool in client.list_tools().await? {
        println!("{}: {}", client.revision(), tool.name);
    }
    println!("{}", client.call_tool("hello", json!({"name": "Ada"})).await?.joined_text());
    client.close().await;
    Ok(())
}
