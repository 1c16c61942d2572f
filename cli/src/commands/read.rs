//! `trunkline read`: reads resources.

use crate::{
    completion,
    connection::{Connection, Options},
    content::{Content, SaveFlags},
    exit::Exit,
    failure::{Failure, nearest},
    flags::ConnectionFlags,
    output::Output,
    target,
};
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde_json::json;
use std::path::PathBuf;
use trunkline::{
    RequestOptions,
    protocol::{RawJson, method, model::ReadResourceResult},
};

/// Read resources.
#[derive(Args)]
#[command(override_usage = "trunkline read [OPTIONS] [SERVER] URI... [-- COMMAND...]")]
#[command(after_help = "\
Examples:
  trunkline read https://mcp.example.com/mcp notes://today
  trunkline read notes://today > today.txt -- python notes.py")]
pub(crate) struct Read {
    /// The server, unless a command follows `--`; then the URIs.
    #[arg(value_name = "WORD", add = ArgValueCompleter::new(completion::servers), required = true)]
    words: Vec<String>,
    /// Answer a form of the server with the JSON object in this file.
    #[arg(long, value_name = "FILE")]
    answer: Option<PathBuf>,
    #[command(flatten)]
    save: SaveFlags,
    #[command(flatten)]
    connection: ConnectionFlags,
    /// The command of a server to start.
    #[arg(last = true, value_name = "COMMAND", help_heading = "Arguments")]
    command: Vec<String>,
}

impl Read {
    pub(crate) async fn run(self, output: &Output) -> Result<Exit, Failure> {
        let (server, uris) = target::find(self.words, self.command, &self.connection)?;
        if uris.is_empty() {
            return Err(Failure::usage("no URI is given").hint("`trunkline list SERVER resources` shows them"));
        }
        let options = Options { answer: self.answer, ..Options::default() };
        let connection = Connection::open_with(server, &self.connection, options).await?;
        let mut content = Content::new(output, &self.save);
        for uri in &uris {
            let params =
                RawJson::from_value(&json!({"uri": uri})).map_err(|error| Failure::usage(error.to_string()))?;
            let read =
                connection.client.request(method::RESOURCES_READ, Some(&params), &RequestOptions::default()).await;
            let raw = match read {
                Ok(raw) => raw,
                Err(error) => {
                    let failure = connection.failure(error, &format!("reading {uri}"));
                    return Err(with_nearest(&connection, uri, failure).await);
                }
            };
            if output.json {
                output.raw(&raw);
                continue;
            }
            let result: ReadResourceResult = raw
                .parse()
                .map_err(|error| Failure::invalid_response(format!("the result cannot be read: {error}")))?;
            let alone = uris.len() == 1 && result.contents.len() == 1;
            for contents in &result.contents {
                content.resource(contents, alone)?;
            }
        }
        connection.close().await;
        Ok(Exit::Done)
    }
}

/// Names similar URIs, if the server has any.
async fn with_nearest(connection: &Connection, uri: &str, failure: Failure) -> Failure {
    if failure.exit != Exit::Refused {
        return failure;
    }
    let Ok(resources) = connection.client.list_resources().await else { return failure };
    match nearest(uri, resources.iter().map(|resource| resource.uri.as_str())) {
        near if near.is_empty() => {
            failure.hint("`trunkline list SERVER resources` and `… templates` show what there is")
        }
        near => failure.hint(format!("did you mean {}?", near.join(", "))),
    }
}
