//! A server with one tool, over stdio.

use schemars::JsonSchema;
use serde::Deserialize;
use trunkline::{Params, Server};

#[derive(Deserialize, JsonSchema)]
struct Hello {
    name: String,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    Server::builder("hello", "1.0.0")
        .tool("hello", "Greets someone.", async |Params(hello): Params<Hello>| format!("Hello, {}!", hello.name))
        .build()
        .serve_stdio()
        .await
}
