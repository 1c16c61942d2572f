// A server over HTTP that reads a request header in each call, and its client.
use serde_json::json;
use std::error::Error;
use trunkline::{Client, Context, HttpEndpoint, HttpOptions, Server};

async fn tenant(ctx: Context) -> String {
    let Some(request) = ctx.http() else { return "nobody".into() };
    let tenant = request.headers().get("x-tenant").and_then(|value| value.to_str().ok());
    format!("{} at {}", tenant.unwrap_or("nobody"), request.uri())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::builder("tenants", "1.0.0").tool("tenant", "Name the tenant of the caller.", tenant).build();
    let listener = server.listen_with(HttpOptions::default().with_port(0).with_path("/notes")).await?;

    let endpoint = HttpEndpoint::new(listener.url().unwrap_or_default()).with_header("X-Tenant", "acme");
    let client = Client::connect(endpoint).await?;
    println!("{}", client.call_tool("tenant", json!({})).await?.joined_text());
    println!("{}", client.revision());
    client.close().await;
    Ok(())
}
