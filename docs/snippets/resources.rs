// A resource, a resource template, and a client that reads both.
use schemars::JsonSchema;
use serde::Deserialize;
use trunkline::{Client, ClientError, Params, Resource, ResourceTemplate, Server};

const NOTES: [(&str, &str); 2] = [("today", "Buy milk."), ("friday", "Call Ada.")];

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

async fn note(Params(asked): Params<Name>) -> Option<&'static str> {
    NOTES.iter().find(|(name, _)| *name == asked.name).map(|(_, text)| *text)
}

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let index = Resource::new("notes://index", "index", async || NOTES.map(|(name, _)| name).join(", "))
        .description("The names of all notes.")
        .mime_type("text/plain");
    let note =
        ResourceTemplate::new("notes://by-name/{name}", "note", note).description("One note.").mime_type("text/plain");
    let server = Server::builder("notes", "1.0.0").add_resource(index).add_resource_template(note).build();

    let client = Client::connect(&server).await?;
    for resource in client.list_resources().await? {
        println!("{} {}", resource.uri, resource.mime_type.unwrap_or_default());
    }
    for template in client.list_resource_templates().await? {
        println!("{}", template.uri_template);
    }
    for uri in ["notes://index", "notes://by-name/friday"] {
        let result = client.read_resource(uri).await?;
        println!("{}", result.contents[0].as_text().unwrap_or_default());
    }
    if let Err(error) = client.read_resource("notes://by-name/monday").await {
        println!("{} {}", error.kind().as_str(), error.rpc().map_or(0, |rpc| rpc.code));
    }
    Ok(())
}
