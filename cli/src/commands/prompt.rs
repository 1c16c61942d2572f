//! `trunkline prompt`: gets a prompt.

use crate::{
    arguments::{Arguments, InputFlags},
    completion,
    connection::{Connection, Options},
    content::{Content, SaveFlags},
    exit::Exit,
    failure::{Failure, nearest},
    flags::ConnectionFlags,
    output::{BOLD, Output},
    signature,
    table::one_line,
    target,
};
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use trunkline::{
    RequestOptions,
    protocol::{
        RawJson, method,
        model::{GetPromptResult, Prompt as Offered},
    },
};

/// Get a prompt.
#[derive(Args)]
#[command(override_usage = "trunkline prompt [OPTIONS] [SERVER] PROMPT [ARGUMENT]... [-- COMMAND...]")]
#[command(after_help = "\
Examples:
  trunkline prompt https://mcp.example.com/mcp review language=rust code=@main.rs
  trunkline prompt review code=@main.rs -- python reviews.py")]
pub(crate) struct Prompt {
    /// The server, unless a command follows `--`; then the prompt and its arguments.
    #[arg(value_name = "WORD", add = ArgValueCompleter::new(completion::servers), required = true)]
    words: Vec<String>,
    /// Answer a form of the server with the JSON object in this file.
    #[arg(long, value_name = "FILE")]
    answer: Option<PathBuf>,
    #[command(flatten)]
    input: InputFlags,
    #[command(flatten)]
    save: SaveFlags,
    #[command(flatten)]
    connection: ConnectionFlags,
    /// The command of a server to start.
    #[arg(last = true, value_name = "COMMAND", help_heading = "Arguments")]
    command: Vec<String>,
}

impl Prompt {
    pub(crate) async fn run(self, output: &Output) -> Result<Exit, Failure> {
        let (server, words) = target::find(self.words, self.command, &self.connection)?;
        let (name, words) = words
            .split_first()
            .ok_or_else(|| Failure::usage("no prompt is given").hint("`trunkline list SERVER prompts` shows them"))?;
        let arguments = Arguments::read(words, &self.input)?.into_strings()?;
        let options = Options { answer: self.answer, ..Options::default() };
        let connection = Connection::open_with(server, &self.connection, options).await?;
        let prompts = connection.client.list_prompts().await;
        let prompts = prompts.map_err(|error| connection.failure(error, "listing prompts"))?;
        let Some(prompt) = prompts.iter().find(|prompt| prompt.name == *name) else {
            let failure = Failure::unknown("prompt", name, prompts.iter().map(|prompt| prompt.name.as_str()));
            let failure = failure.tried(format!("listing prompts at {}", connection.identity()));
            return Err(failure.at(&connection.server.label));
        };
        check(prompt, &arguments).map_err(|failure| failure.at(&connection.server.label))?;
        let arguments: Map<String, Value> = arguments.into_iter().map(|(name, text)| (name, text.into())).collect();
        let params = RawJson::from_value(&json!({"name": name, "arguments": arguments}))
            .map_err(|error| Failure::usage(error.to_string()))?;
        let raw = connection.client.request(method::PROMPTS_GET, Some(&params), &RequestOptions::default()).await;
        let raw = raw.map_err(|error| connection.failure(error, &format!("getting {name}")))?;
        if output.json {
            output.raw(&raw);
        } else {
            let result: GetPromptResult = raw
                .parse()
                .map_err(|error| Failure::invalid_response(format!("the result cannot be read: {error}")))?;
            let mut content = Content::new(output, &self.save);
            for message in &result.messages {
                output.line(&format!("{BOLD}{}:{BOLD:#}", one_line(message.role.as_str())));
                content.block(&message.content)?;
            }
        }
        connection.close().await;
        Ok(Exit::Done)
    }
}

/// Checks the names of arguments. All that are missing are named, with their descriptions.
fn check(prompt: &Offered, given: &[(String, String)]) -> Result<(), Failure> {
    let offered = prompt.arguments.as_deref().unwrap_or_default();
    let is_given = |name: &str| given.iter().any(|(given, _)| given == name);
    let missing = offered.iter().filter(|argument| argument.required && !is_given(&argument.name)).map(|argument| {
        let description = argument.description.as_ref().map_or_else(String::new, |text| format!(": {text}"));
        format!("{} is missing{description}", argument.name)
    });
    let unknown = given.iter().filter(|(name, _)| !offered.iter().any(|argument| argument.name == *name));
    let unknown =
        unknown.map(|(name, _)| match nearest(name, offered.iter().map(|argument| argument.name.as_str())).first() {
            Some(meant) => format!("{name} is unknown: did you mean {meant}?"),
            None => format!("{name} is unknown"),
        });
    let problems: Vec<String> = missing.chain(unknown).collect();
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Failure::usage(format!("{}: {}", prompt.name, problems.join("; ")))
            .tried("checking the arguments by the list of prompts; nothing was sent")
            .hint(format!("call it as {}", signature::of_prompt(prompt)))),
    }
}
