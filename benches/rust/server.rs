//! Bench server: `server stdio | http PORT [json] [stateless] [features] [--tools N] [--store URL]
//! [--auth FILE]`

mod features;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::{error::Error, fs};
use trunkline::{
    Limits,
    auth::{Authorization, AuthorizationOptions, JwtOptions},
    server::{Params, Server, ServerOptions},
    store::StoreChoice,
    transport::HttpOptions,
};

#[derive(Deserialize, JsonSchema)]
struct Echo {
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

fn server(generated: usize, with_features: bool, store: Option<&str>) -> Server {
    // Messages of `grow-bytes` are longer than the default allows.
    let limits = Limits::default().with_max_message_bytes(128 << 20);
    let options = ServerOptions::default().with_limits(limits).with_store(store.map(StoreChoice::url));
    let mut builder = Server::builder("bench", "0.0.0")
        .options(options)
        .tool("echo", "Echo the message back", |Params(e): Params<Echo>| async move { e.message })
        .tool("add", "Add two integers", |Params(n): Params<Add>| async move { (n.a + n.b).to_string() });
    for i in 0..generated {
        let description = format!("Generated tool number {i}");
        let add = |Params(n): Params<Add>| async move { (n.a + n.b).to_string() };
        builder = builder.tool(format!("tool_{i:03}"), description, add);
    }
    if with_features {
        builder = features::add_to(builder);
    }
    builder.build()
}

/// The access tokens from a file (`tests/matrix/authorization.json`).
fn protection(file: &str) -> Result<Authorization, Box<dyn Error>> {
    let auth = &serde_json::from_str::<Value>(&fs::read_to_string(file)?)?["auth"];
    let text = |name: &str| auth[name].as_str().unwrap_or_default();
    let jwt = JwtOptions::new(text("issuer")).with_jwks(auth["jwks"].clone());
    Ok(Authorization::jwt(AuthorizationOptions::new(text("resource")), jwt)?)
}

// One thread: with one call in flight it takes half the CPU of two, over HTTP up to a quarter less.
// Only with many calls in flight on one pipe are two threads faster, by a tenth.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let option = |name: &str| match words.iter().position(|word| *word == name) {
        Some(at) => words.get(at + 1).copied().map(Some).ok_or(format!("{name} needs a value")),
        None => Ok(None),
    };
    let generated = option("--tools")?.map_or(Ok(0), str::parse)?;
    let server = server(generated, words.contains(&"features"), option("--store")?);
    match words[..] {
        ["stdio", ..] => server.serve_stdio().await?,
        ["http", port, ..] => {
            let (json, stateless) = (words.contains(&"json"), words.contains(&"stateless"));
            let mut options = HttpOptions::default().with_port(port.parse()?).with_json(json).with_stateless(stateless);
            if let Some(file) = option("--auth")? {
                options = options.with_auth(protection(file)?);
            }
            server.listen_with(options).await?.closed().await;
        }
        _ => {
            return Err(
                "usage: server stdio | http PORT [json] [stateless] [features] [--tools N] [--store URL] [--auth FILE]"
                    .into(),
            );
        }
    }
    Ok(())
}
