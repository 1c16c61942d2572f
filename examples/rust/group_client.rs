//! Lists the tools of many servers: `group_client [mcp.json]`. By default those beside it.

use std::error::Error;
use trunkline::{
    client::{ClientGroup, ServersConfig},
    transport::{ChildCommand, Target},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let here = std::env::current_exe()?;
    let beside = |name: &str| ChildCommand::new([here.with_file_name(name).to_string_lossy()]);
    let group = match std::env::args().nth(1) {
        Some(file) => ClientGroup::connect(ServersConfig::from_file(file)?).await?,
        None => {
            let broken = ChildCommand::new(["no-such-program"]);
            let servers = [("weather", beside("server")), ("hello", beside("hello_server")), ("broken", broken)];
            ClientGroup::connect(servers.map(|(name, command)| (name, Target::from(command)))).await?
        }
    };
    for server in group.servers() {
        let state = server.error.map_or_else(|| format!("{:?}", server.state), |error| error.to_string());
        println!("{}: {state}", server.name);
    }
    for tool in group.list_tools().await? {
        println!("tool {}: {}", tool.name, tool.description.unwrap_or_default());
    }
    group.close().await;
    Ok(())
}
