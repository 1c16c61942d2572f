// A bridge that clients see as the server behind it, which starts with their first request.
use std::error::Error;
use trunkline::{ChildCommand, Client, ClientOptions, ProxyDefinition, Server, transport::Target};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let beside = std::env::current_exe()?.with_file_name("tutorial_server");
    let program = Target::from(ChildCommand::new([beside.to_string_lossy()]));

    let lazy = ClientOptions::default().with_lazy(true);
    let notes = Client::builder().options(lazy).connect(program).await?;
    let bridge = Server::builder("bridge", "1.0.0").proxy(ProxyDefinition::new(&notes).transparent(true)).build();

    // Over HTTP: `bridge.listen("127.0.0.1:8000")`.
    let client = Client::connect(&bridge).await?;
    let tools: Vec<_> = client.list_tools().await?.into_iter().map(|tool| tool.name).collect();
    let server = client.server_info().ok_or("a server without a name")?;
    println!("{}: {}", server.name, tools.join(" "));
    client.close().await;
    notes.close().await;
    Ok(())
}
