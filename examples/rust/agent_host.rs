//! A host in the terminal: `agent_host mcp.json`
//!
//! It connects to every server in the configuration, lists their features, and calls the tools that
//! the user names. Servers can ask the user in the terminal, and let the user log in with the
//! browser.

use std::{
    error::Error,
    io::{self, Write as _},
};
use trunkline::{
    ClientGroup, ClientOptions,
    auth::{CredentialStore, OAuth, OAuthOptions},
    client::ServersConfig,
    serde_json::{self, Value},
};

const HELP: &str = r#"NAME [JSON]          calls a tool, such as: weather__forecast {"city": "Oslo"}
read URI             reads a resource
prompt NAME [JSON]   gets a prompt"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: agent_host mcp.json")?;
    let auth = OAuthOptions::default().with_client_name("Agent host").with_store(CredentialStore::File);
    let options = ClientOptions::default().with_terminal_forms(true).with_auth(OAuth::new(auth)?);
    let group = ClientGroup::connect_with(ServersConfig::from_file(file)?, options, ()).await?;
    show(&group).await?;
    println!("{HELP}");
    // The program uses the terminal only between calls; during calls, `terminal_forms` may.
    while let Some(line) = tokio::task::spawn_blocking(read_line).await?? {
        if let Err(error) = run(&group, line.trim()).await {
            println!("error: {error}");
        }
    }
    group.close().await;
    Ok(())
}

async fn show(group: &ClientGroup) -> Result<(), Box<dyn Error>> {
    for server in group.servers() {
        let state = server.error.map_or_else(|| format!("{:?}", server.state), |error| error.to_string());
        println!("{}: {state}", server.name);
    }
    for tool in group.list_tools().await? {
        println!("tool {}: {}", tool.name, tool.description.unwrap_or_default());
    }
    for resource in group.list_resources().await? {
        println!("resource {}: {}", resource.uri, resource.name);
    }
    for prompt in group.list_prompts().await? {
        println!("prompt {}: {}", prompt.name, prompt.description.unwrap_or_default());
    }
    Ok(())
}

async fn run(group: &ClientGroup, line: &str) -> Result<(), Box<dyn Error>> {
    let (name, rest) = word(line);
    match name {
        "" => {}
        "read" => println!("{}", serde_json::to_string_pretty(&group.read_resource(rest).await?)?),
        "prompt" => {
            let (name, arguments) = word(rest);
            let arguments: Value = serde_json::from_str(or_empty(arguments))?;
            let prompt = group.get_prompt(name, arguments).await?;
            println!("{}", serde_json::to_string_pretty(&prompt)?);
        }
        _ => {
            let arguments: Value = serde_json::from_str(or_empty(rest))?;
            let result = group.call_tool(name, arguments).await?;
            println!("{}", result.joined_text());
        }
    }
    Ok(())
}

fn read_line() -> io::Result<Option<String>> {
    print!("> ");
    io::stdout().flush()?;
    let mut line = String::new();
    Ok((io::stdin().read_line(&mut line)? > 0).then_some(line))
}

/// The first word of a line, and the rest.
fn word(line: &str) -> (&str, &str) {
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    (first, rest.trim())
}

fn or_empty(json: &str) -> &str {
    if json.is_empty() { "{}" } else { json }
}
