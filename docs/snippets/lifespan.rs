// A server that opens a database before the first call and closes it after the last.
use serde_json::json;
use std::{error::Error, io, sync::Arc, time::Duration};
use trunkline::{Client, Server, server::Lifespan};

/// Stands in for a database driver.
struct Database;

impl Database {
    async fn connect() -> io::Result<Self> {
        println!("orders opens");
        Ok(Self)
    }

    async fn count(&self) -> u32 {
        7
    }

    async fn disconnect(&self) {
        println!("orders closes");
    }
}

async fn count(Lifespan(database): Lifespan<Database>) -> u32 {
    database.count().await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::builder("orders", "1.0.0")
        .lifespan(Database::connect, async |database: Arc<Database>| database.disconnect().await)
        .tool("count", "Count the orders.", count)
        .build();

    let listener = server.listen("127.0.0.1:0").await?;
    let client = Client::connect(listener.url().unwrap_or_default()).await?;
    println!("{}", client.call_tool("count", json!({})).await?.joined_text());
    client.close().await;
    listener.close(Duration::from_secs(5)).await;
    Ok(())
}
