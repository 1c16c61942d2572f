// Many servers behind one client. One of them fails to start; the others work.
use serde_json::json;
use std::error::Error;
use trunkline::{ChildCommand, ClientGroup, transport::Target};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let beside = std::env::current_exe()?.with_file_name("tutorial_server");
    let servers = [("notes", beside.to_string_lossy().into_owned()), ("broken", "no-such-program".to_owned())];
    let servers = servers.map(|(name, program)| (name, Target::from(ChildCommand::new([program]))));
    let group = ClientGroup::connect(servers).await?; // or `ServersConfig::from_file("mcp.json")?`
    for server in group.servers() {
        println!("{}: {}", server.name, if server.error.is_some() { "failed" } else { "connected" });
    }
    for tool in group.list_tools().await? {
        println!("{}", tool.name);
    }
    let result = group.call_tool("notes__add_note", json!({"name": "groceries", "text": "milk"})).await?;
    println!("{}", result.joined_text());
    group.close().await;
    Ok(())
}
