// A server that changes its features at run time, for everyone or per caller.
use schemars::JsonSchema;
use serde::Deserialize;
use std::{error::Error, time::Duration};
use trunkline::{Client, ClientError, ClientOptions, Context, Params, Server, Tool, protocol::model::Implementation};

#[derive(Deserialize, JsonSchema)]
struct Article {
    article: String,
}

/// With access tokens: by the identity.
async fn is_staff(ctx: Context) -> bool {
    ctx.client_info().is_some_and(|client| client.name == "staff")
}

async fn price(Params(of): Params<Article>) -> String {
    format!("{}: 5", of.article)
}

async fn discount(Params(of): Params<Article>) -> String {
    format!("{} is cheaper now", of.article)
}

async fn show_tools(server: &Server, name: &str) -> Result<(), ClientError> {
    let options = ClientOptions::default().with_info(Implementation::new(name, "1.0.0"));
    let client = Client::builder().options(options).connect(server).await?;
    let tools: Vec<_> = client.list_tools().await?.into_iter().map(|tool| tool.name).collect();
    println!("{name}: {}", tools.join(" "));
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::builder("shop", "1.0.0").build();
    let price = Tool::new("price", "The price of an article.", price).timeout(Duration::from_secs(2));
    let price = server.add_tool(price)?;
    server.add_tool(Tool::new("discount", "Lower a price.", discount).visible(is_staff))?;

    show_tools(&server, "staff").await?;
    show_tools(&server, "guest").await?;
    price.update(|tool| tool.with("description", "The price of an article, in euros.".into()))?;
    price.disable();
    show_tools(&server, "staff").await?;
    price.enable();
    Ok(())
}
