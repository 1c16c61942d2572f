// A tool that only works in folders its client allows.
use serde_json::json;
use trunkline::{CallError, Client, ClientError, Context, Server, protocol::model::Root};

#[expect(deprecated, reason = "for older revisions")]
async fn folders(ctx: Context) -> Result<String, CallError> {
    let roots = ctx.list_roots().await?;
    let names: Vec<_> = roots.into_iter().map(|root| root.name.unwrap_or(root.uri)).collect();
    Ok(names.join(", "))
}

#[expect(deprecated, reason = "for older revisions")]
#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let server =
        Server::builder("search", "1.0.0").tool("folders", "Name the folders that may be searched.", folders).build();

    let mut notes = Root::new("file:///home/ada/notes");
    notes.name = Some("notes".into());
    let client = Client::builder().roots([notes, Root::new("file:///srv/wiki")]).connect(&server).await?;
    println!("{}", client.call_tool("folders", json!({})).await?.joined_text());
    Ok(())
}
