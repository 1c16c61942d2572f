//! A server mounted in an axum application beside other routes, and a client that calls it there.

use axum::{Router, routing::get};
use serde_json::json;
use std::error::Error;
use tokio::net::TcpListener;
use trunkline::{Client, Server};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::builder("mounted", "1.0.0").tool("hello", "Greets.", async || "Hello from axum").build();
    let application =
        Router::new().route("/", get(|| async { "An ordinary page" })).nest_service("/mcp", server.into_service());

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, application).await });

    let client = Client::connect(format!("http://{address}/mcp")).await?;
    let result = client.call_tool("hello", json!({})).await?;
    println!("{}", result.joined_text());
    client.close().await;
    Ok(())
}
