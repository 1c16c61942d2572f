//! Notes that a model can write and read. Serves stdio; given a port, HTTP.

use schemars::JsonSchema;
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    error::Error,
    sync::{Arc, Mutex, PoisonError},
};
use trunkline::{Params, Resource, Server, State, ToolError};

/// The server's state, available to each handler.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<BTreeMap<String, String>>>);

#[derive(Deserialize, JsonSchema)]
struct Note {
    /// A single word, such as groceries.
    name: String,
    /// The note.
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Plan {
    day: String,
}

async fn add_note(State(notes): State<Notes>, Params(note): Params<Note>) -> Result<String, ToolError> {
    let mut notes = notes.0.lock().unwrap_or_else(PoisonError::into_inner);
    if notes.contains_key(&note.name) {
        return Err(ToolError::new(format!("A note named {} already exists: choose another name.", note.name)));
    }
    let saved = format!("Saved {}.", note.name);
    notes.insert(note.name, note.text);
    Ok(saved)
}

async fn all_notes(State(notes): State<Notes>) -> String {
    let notes = notes.0.lock().unwrap_or_else(PoisonError::into_inner);
    let lines: Vec<_> = notes.iter().map(|(name, text)| format!("- {name}: {text}")).collect();
    lines.join("\n")
}

async fn plan(Params(plan): Params<Plan>) -> String {
    format!("Read notes://all and plan {} accordingly.", plan.day)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let all_notes = Resource::new("notes://all", "all", all_notes).description("All notes.").mime_type("text/markdown");
    let server = Server::builder("notes", "1.0.0")
        .instructions("Keeps short notes for the user.")
        .with_state(Notes::default())
        .tool("add_note", "Save a note under a name.", add_note)
        .add_resource(all_notes)
        .prompt("plan", "Plan a day with the notes.", plan)
        .build();
    match std::env::args().nth(1) {
        None => server.serve_stdio().await?,
        Some(port) => {
            let listener = server.listen(&format!("127.0.0.1:{port}")).await?;
            println!("{}", listener.url().unwrap_or_default());
            listener.run().await?;
        }
    }
    Ok(())
}
