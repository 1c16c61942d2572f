//! `trunkline listen`: prints what a server announces.

use crate::{
    completion,
    connection::{Connection, Events, Options},
    exit::Exit,
    failure::Failure,
    flags::ConnectionFlags,
    output::{Output, json_line},
    table::one_line,
    target,
};
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde_json::json;
use std::sync::Arc;
use tokio::sync::Notify;
use trunkline::protocol::{RawJson, method, model::SubscriptionFilter};

/// Print changes that a server announces, as lines of JSON, until interrupted.
///
/// Without URIs: changes of its lists, and its log messages. The lines are the same in every
/// revision.
#[derive(Args)]
#[command(override_usage = "trunkline listen [OPTIONS] [SERVER] [URI]... [-- COMMAND...]")]
pub(crate) struct Listen {
    /// The server, unless a command follows `--`; then URIs of resources to watch.
    #[arg(value_name = "WORD", add = ArgValueCompleter::new(completion::servers))]
    words: Vec<String>,
    #[command(flatten)]
    connection: ConnectionFlags,
    /// The command of a server to start.
    #[arg(last = true, value_name = "COMMAND", help_heading = "Arguments")]
    command: Vec<String>,
}

impl Listen {
    pub(crate) async fn run(self, output: &Output) -> Result<Exit, Failure> {
        let (server, uris) = target::find(self.words, self.command, &self.connection)?;
        // Called where messages are read.
        let closed = Arc::new(Notify::new());
        let log = Events::new({
            let closed = Arc::clone(&closed);
            move |name, params| {
                if name == method::LOG_MESSAGE && !print(&json!({"kind": "log", "message": params})) {
                    closed.notify_one();
                }
            }
        });
        let options = Options { events: Some(log), ..Options::default() };
        let connection = Connection::open_with(server, &self.connection, options).await?;
        let filter = match uris.is_empty() {
            true => SubscriptionFilter::default().with_tools(true).with_prompts(true).with_resource_list(true),
            false => SubscriptionFilter::from(uris.clone()),
        };
        let subscription = connection.client.subscribe(filter).await;
        let mut changes = subscription.map_err(|error| connection.failure(error, "subscribing"))?;
        output.note(&format!("listening to {}", one_line(&connection.identity())));
        loop {
            let change = tokio::select! {
                change = changes.next() => change,
                // As after the first line with `head -1`.
                () = closed.notified() => return Ok(Exit::Done),
            };
            let Some(change) = change else { break };
            let change = change.map_err(|error| connection.failure(error, "listening"))?;
            if !print(&json!(change)) {
                return Ok(Exit::Done);
            }
        }
        let ended = Failure::unreachable(format!("{} has ended the subscription", connection.server.label));
        let ended = ended.tried(format!("listening at {}", connection.identity()));
        Err(ended.hint("start it again, and listen again").at(&connection.server.label))
    }
}

/// Returns whether it was written.
fn print(line: &serde_json::Value) -> bool {
    json_line(&RawJson::from_value(line).unwrap_or_else(|_| RawJson::empty_object()))
}
