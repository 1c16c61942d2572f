// A client that is notified when a resource changes, and when the list of tools does.
use std::sync::{Arc, Mutex, PoisonError};
use trunkline::{Client, ClientError, Server, State, protocol::model::SubscriptionFilter};

#[derive(Clone)]
struct Note(Arc<Mutex<&'static str>>);

impl Note {
    fn set(&self, text: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

async fn today(State(note): State<Note>) -> &'static str {
    *note.0.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn clear(State(note): State<Note>) {
    note.set("");
}

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let note = Note(Arc::new(Mutex::new("Buy milk.")));
    let server = Server::builder("notes", "1.0.0")
        .with_state(note.clone())
        .resource("notes://today", "today", today)
        .tool("clear", "Forget all notes.", clear)
        .build();

    let client = Client::connect(&server).await?;
    let mut changes = client.subscribe(SubscriptionFilter::from("notes://today").with_tools(true)).await?;

    note.set("Call Ada.");
    server.resource_updated("notes://today");
    while let Some(change) = changes.next().await {
        let change = change?;
        let Some(uri) = change.uri else {
            println!("{}", change.kind.as_str());
            break;
        };
        println!("{} {uri}", change.kind.as_str());
        let result = client.read_resource(&uri).await?;
        println!("{}", result.contents[0].as_text().unwrap_or_default());

        server.remove_tool("clear");
    }
    Ok(())
}
