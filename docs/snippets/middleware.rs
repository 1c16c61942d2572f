// Middleware around each tool call: it counts calls and refuses some.
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use trunkline::{
    CallError, Client, ClientError, Context, Params, RpcError, Server, ToolError,
    server::{MiddlewareDefinition, Next},
};

#[derive(Deserialize, JsonSchema)]
struct Greet {
    name: String,
}

#[derive(Clone)]
struct Title(&'static str);

async fn audit(ctx: Context, next: Next) -> Result<Value, CallError> {
    let params = next.params().cloned().unwrap_or_default();
    if params["arguments"]["name"] == "Mallory" {
        return Err(ToolError::from(RpcError::new(403, "Mallory may not call.")).into());
    }
    ctx.vars().insert(Title("Countess"));
    let result = next.run().await?;
    println!("{} was called", params["name"].as_str().unwrap_or_default());
    Ok(result)
}

async fn greet(ctx: Context, Params(of): Params<Greet>) -> String {
    let title = ctx.vars().get::<Title>().map_or("", |Title(title)| title);
    format!("Hello, {title} {}!", of.name)
}

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let server = Server::builder("greeter", "1.0.0")
        .add_middleware(MiddlewareDefinition::from_fn(audit).methods(["tools/call"]))
        .tool("greet", "Greet someone.", greet)
        .build();

    let client = Client::connect(&server).await?;
    println!("{}", client.call_tool("greet", json!({"name": "Ada"})).await?.joined_text());
    if let Err(ClientError::Protocol(error)) = client.call_tool("greet", json!({"name": "Mallory"})).await {
        println!("{}", error.code);
    }
    Ok(())
}
