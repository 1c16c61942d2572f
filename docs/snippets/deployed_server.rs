//! A server for containers: configured by environment variables, stopped by SIGTERM. Cargo
//! feature `store-redis` of `trunkline`.

use schemars::JsonSchema;
use serde::Deserialize;
use std::{env, error::Error, time::Duration};
use trunkline::{HttpOptions, Params, Server, ServerOptions, store::StoreChoice};

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    name: String,
}

async fn greet(Params(Greeting { name }): Params<Greeting>) -> String {
    format!("Hello, {name}, from {}!", env::var("HOSTNAME").unwrap_or_default())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // On shutdown, calls get 20 s; other workers take over the sessions through the store.
    let options = ServerOptions::default()
        .with_drain_deadline(Duration::from_secs(20))
        .with_store(env::var("STORE").ok().map(StoreChoice::url));
    let server = Server::builder("greeter", "1.0.0").options(options).tool("greet", "Greet someone.", greet).build();

    // Listens on all addresses of the container, with probes at /healthz and /readyz.
    let port = env::var("PORT").map_or(Ok(8000), |port| port.parse())?;
    let http = HttpOptions::default().with_host("0.0.0.0").with_port(port).with_health(true);
    server.listen_with(http).await?.run().await?;
    Ok(())
}
