// A server over HTTP that requires access tokens, with a tool that requires a scope.
use serde_json::json;
use std::{error::Error, sync::Arc};
use trunkline::{
    Client, ClientOptions, Context, HttpOptions, Server, Tool,
    auth::{AccessToken, Authorization, AuthorizationOptions, Identity, Refusal, Verification},
};

async fn whoami(ctx: Context) -> String {
    ctx.auth().and_then(|identity| identity.subject).unwrap_or_else(|| "nobody".into())
}

/// Replaces the built-in JWT verifier, for opaque tokens stored in your database.
fn verify(token: Verification) {
    let outcome = match token.token() {
        "token-of-ada" => Ok(Identity::default().with_subject("ada").with_scopes(vec!["read".to_owned()])),
        _ => Err(Refusal::InvalidToken("unknown token".into())),
    };
    token.complete(outcome);
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::builder("files", "1.0.0")
        .tool("whoami", "Name the caller.", whoami)
        .add_tool(Tool::new("delete", "Delete all files.", async || ()).scopes(["write"]))
        .build();
    let terms =
        AuthorizationOptions::new("http://127.0.0.1/mcp").with_authorization_servers(["https://login.example.com"]);
    let auth = Authorization::new(terms, Arc::new(verify))?;
    let listener = server.listen_with(HttpOptions::default().with_port(0).with_auth(auth)).await?;
    let url = listener.url().unwrap_or_default();

    let options = ClientOptions::default().with_auth(AccessToken::new("token-of-ada"));
    let client = Client::builder().options(options).connect(url.as_str()).await?;
    let tools: Vec<_> = client.list_tools().await?.into_iter().map(|tool| tool.name).collect();
    println!("{}", tools.join(", "));
    println!("{}", client.call_tool("whoami", json!({})).await?.joined_text());
    client.close().await;
    if let Err(error) = Client::connect(url.as_str()).await {
        println!("{}", error.authorization().and_then(|demand| demand.http_status).unwrap_or_default());
    }
    Ok(())
}
