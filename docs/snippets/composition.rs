// A gateway that exposes an older server under the newest revision, next to its own tool.
use serde_json::json;
use std::error::Error;
use trunkline::{ChildCommand, Client, ClientOptions, RevisionChoice, Server, transport::Target};

fn speaking(revision: RevisionChoice) -> ClientOptions {
    ClientOptions::default().with_revision(revision)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let beside = std::env::current_exe()?.with_file_name("tutorial_server");
    let program = Target::from(ChildCommand::new([beside.to_string_lossy()]));

    let old = Client::builder().options(speaking(RevisionChoice::Legacy)).connect(program).await?;
    let extra = Server::builder("extra", "1.0.0").tool("hello", "Greet.", async || "Hello").build();
    let gateway = Server::builder("gateway", "1.0.0").proxy(&old).mount("extra", &extra).build();

    // Over HTTP: `gateway.listen("127.0.0.1:8000")`.
    let client = Client::builder().options(speaking(RevisionChoice::Modern)).connect(&gateway).await?;
    let tools: Vec<_> = client.list_tools().await?.into_iter().map(|tool| tool.name).collect();
    println!("{}", tools.join(" "));
    let result = client.call_tool("add_note", json!({"name": "groceries", "text": "milk"})).await?;
    println!("{} as {}: {}", old.revision(), client.revision(), result.joined_text());
    client.close().await;
    old.close().await;
    Ok(())
}
