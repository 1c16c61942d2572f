// Starts the server next to it and uses it. Given a URL, it connects there instead.
use serde_json::json;
use std::error::Error;
use trunkline::{ChildCommand, Client, transport::Target};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server: Target = match std::env::args().find(|argument| argument.starts_with("http")) {
        Some(url) => url.into(),
        None => {
            let program = std::env::current_exe()?.with_file_name("tutorial_server");
            ChildCommand::new([program.to_string_lossy()]).into()
        }
    };
    let client = Client::connect(server).await?;
    let tools: Vec<_> = client.list_tools().await?.into_iter().map(|tool| tool.name).collect();
    println!("tools: {}", tools.join(", "));
    for text in ["milk and bread", "bread"] {
        let result = client.call_tool("add_note", json!({"name": "groceries", "text": text})).await?;
        println!("{} {}", if result.is_error { "error:" } else { "result:" }, result.joined_text());
    }
    let all = client.read_resource("notes://all").await?;
    println!("{}", all.contents[0].as_text().unwrap_or_default());
    client.close().await;
    Ok(())
}
