// Errors: for the model, for the log, protocol errors, and timeouts.
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::{future::pending, io, time::Duration};
use trunkline::{CallError, Client, ClientError, Params, RequestOptions, Server, ToolError};

#[derive(Deserialize, JsonSchema)]
struct Article {
    article: String,
}

async fn price(Params(of): Params<Article>) -> Result<String, CallError> {
    if of.article == "sun" {
        return Err(ToolError::new("The sun is not for sale.").into());
    }
    Err(io::Error::other(format!("no row for {} in prices.db", of.article)).into())
}

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let server = Server::builder("shop", "1.0.0")
        .tool("price", "The price of an article.", price)
        .tool("wait", "Never ends.", async || pending::<()>().await)
        .build();

    let client = Client::connect(&server).await?;
    for article in ["sun", "moon"] {
        println!("{}", client.call_tool("price", json!({"article": article})).await?.joined_text());
    }
    if let Err(error) = client.call_tool("prize", json!({})).await {
        println!("{} {}", error.kind().as_str(), error.rpc().map_or(0, |rpc| rpc.code));
    }
    let options = RequestOptions::default().with_timeout(Duration::from_millis(50));
    if let Err(error) = client.call_tool_with("wait", json!({}), &options).await {
        println!("{}", error.kind().as_str());
    }
    Ok(())
}
