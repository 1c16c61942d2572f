// A client that gets access tokens from a function, and a new one when the server refuses one.
use serde_json::json;
use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use trunkline::{
    Client, ClientOptions, Context, HttpOptions, Server,
    auth::{AccessToken, Authorization, AuthorizationOptions, Identity, Refusal, Verification},
};

async fn whoami(ctx: Context) -> String {
    ctx.auth().and_then(|identity| identity.subject).unwrap_or_else(|| "nobody".into())
}

fn verify(token: Verification) {
    let outcome = match token.token() {
        "token-of-today" => Ok(Identity::default().with_subject("ada")),
        _ => Err(Refusal::InvalidToken("unknown token".into())),
    };
    token.complete(outcome);
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::builder("files", "1.0.0").tool("whoami", "Name the caller.", whoami).build();
    let terms =
        AuthorizationOptions::new("http://127.0.0.1/mcp").with_authorization_servers(["https://login.example.com"]);
    let auth = Authorization::new(terms, Arc::new(verify))?;
    let listener = server.listen_with(HttpOptions::default().with_port(0).with_auth(auth)).await?;

    let renewed = Arc::new(AtomicBool::new(false));
    let tokens = AccessToken::from_fn(move |request| {
        if request.refused {
            println!("the token was refused"); // here the program gets a new token
            renewed.store(true, Ordering::Relaxed);
        }
        let token = if renewed.load(Ordering::Relaxed) { "token-of-today" } else { "token-of-yesterday" };
        async move { Ok(token.to_owned()) }
    });
    let options = ClientOptions::default().with_auth(tokens);
    let client = Client::builder().options(options).connect(listener.url().unwrap_or_default()).await?;
    println!("{}", client.call_tool("whoami", json!({})).await?.joined_text());
    client.close().await;
    Ok(())
}
