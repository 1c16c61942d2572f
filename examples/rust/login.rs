//! Lists the tools of a server over HTTP that requires a login: opens the browser and stores the
//! tokens.

use std::error::Error;
use trunkline::{
    Client, ClientOptions,
    auth::{CredentialStore, OAuth, OAuthOptions},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("usage: login URL")?;
    let auth = OAuthOptions::default().with_client_name("Tool list").with_store(CredentialStore::File);
    let options = ClientOptions::default().with_auth(OAuth::new(auth)?);
    let client = Client::builder().options(options).connect(url).await?;
    for tool in client.list_tools().await? {
        println!("{}", tool.name);
    }
    client.close().await;
    Ok(())
}
