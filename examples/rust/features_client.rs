//! Changes what a server offers while it runs: for everyone, and for each caller.

use schemars::JsonSchema;
use serde::Deserialize;
use std::{error::Error, time::Duration};
use trunkline::{
    Client, ClientOptions, Context, Params, ResourceTemplate, Server, Tool, protocol::model::Implementation,
};

#[derive(Deserialize, JsonSchema)]
struct Article {
    article: String,
}

#[derive(Deserialize, JsonSchema)]
struct Manual {
    name: String,
}

/// With access tokens: by the identity.
async fn is_staff(ctx: Context) -> bool {
    ctx.client_info().is_some_and(|client| client.name == "staff")
}

async fn tools(server: &Server, name: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let options = ClientOptions::default().with_info(Implementation::new(name, "1.0.0"));
    let client = Client::builder().options(options).connect(server).await?;
    let tools = client.list_tools().await?;
    client.close().await;
    Ok(tools.into_iter().map(|tool| tool.name).collect())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let price =
        Tool::new("price", "The price of an article", async |Params(of): Params<Article>| format!("{}: 5", of.article));
    let discount = Tool::new("discount", "Lowers a price", async |Params(of): Params<Article>| {
        format!("{} is cheaper now", of.article)
    });
    let manual = ResourceTemplate::new("manuals://{name}", "manual", async |Params(of): Params<Manual>| {
        format!("The manual of {}", of.name) // never "../secret": such a URI is not found
    });
    let server =
        Server::builder("shop", "1.0.0").add_tool(discount.visible(is_staff)).add_resource_template(manual).build();
    let price = server.add_tool(price.timeout(Duration::from_secs(2)))?;

    println!("{:?} {:?}", tools(&server, "staff").await?, tools(&server, "guest").await?);
    price.update(|tool| tool.with("description", "The price of an article, in euros".into()))?;
    price.disable();
    println!("{:?}", tools(&server, "staff").await?);
    price.enable();
    Ok(())
}
