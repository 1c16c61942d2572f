// A client for an entry of a configuration file: it starts the server and negotiates a revision.
use serde_json::json;
use std::{error::Error, time::Duration};
use trunkline::{Client, ClientOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let entry = json!({"command": std::env::current_exe()?.with_file_name("tutorial_server")});
    let options = ClientOptions::default().with_timeout(Duration::from_secs(10));
    let client = Client::builder().options(options).connect(entry).await?;
    let server = client.server_info().ok_or("a server without a name")?;
    println!("{} {}", server.name, server.version);
    println!("{}", client.revision());
    let capabilities = serde_json::to_value(client.server_capabilities())?;
    let mut names: Vec<_> = capabilities.as_object().into_iter().flat_map(|all| all.keys().cloned()).collect();
    names.sort();
    println!("{}", names.join(", "));
    println!("{}", client.instructions().unwrap_or_default());
    client.close().await;
    Ok(())
}
