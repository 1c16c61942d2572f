//! `trunkline complete`: asks a server for values of an argument.

use crate::{connection::Connection, exit::Exit, failure::Failure, flags::ConnectionFlags, output::Output, target};
use clap::Args;
use serde_json::json;
use std::collections::BTreeMap;
use trunkline::protocol::{
    RawJson,
    model::{CompleteArgument, CompleteContext, CompletionReference, PromptReference, ResourceTemplateReference},
};

/// Ask a server to complete an argument of a prompt or resource template.
#[derive(Args)]
#[command(
    override_usage = "trunkline complete [OPTIONS] [SERVER] PROMPT|TEMPLATE ARGUMENT=TEXT [OTHER=VALUE]... [-- COMMAND...]"
)]
#[command(after_help = "\
Examples:
  trunkline complete https://mcp.example.com/mcp review language=ru
  trunkline complete https://mcp.example.com/mcp 'files:///{path}' path=src/")]
pub(crate) struct Complete {
    /// The server, unless a command follows `--`; then the prompt or URI template, the argument
    /// with the text typed so far, and other arguments that have values.
    #[arg(value_name = "WORD", required = true)]
    words: Vec<String>,
    #[command(flatten)]
    connection: ConnectionFlags,
    /// The command of a server to start.
    #[arg(last = true, value_name = "COMMAND", help_heading = "Arguments")]
    command: Vec<String>,
}

impl Complete {
    pub(crate) async fn run(self, output: &Output) -> Result<Exit, Failure> {
        let (server, words) = target::find(self.words, self.command, &self.connection)?;
        let [reference, argument, others @ ..] = &words[..] else {
            return Err(Failure::usage("a prompt or URI template, and an argument are needed")
                .hint("trunkline complete SERVER review language=ru"));
        };
        let (name, value) = pair(argument)?;
        let others = others.iter().map(|word| pair(word)).collect::<Result<BTreeMap<_, _>, _>>()?;
        let reference = match reference.contains(['{', ':']) {
            true => CompletionReference::Resource(ResourceTemplateReference {
                uri: reference.clone(),
                ..Default::default()
            }),
            false => CompletionReference::Prompt(PromptReference { name: reference.clone(), ..Default::default() }),
        };
        let argument = CompleteArgument { name, value, ..Default::default() };
        let context = CompleteContext { arguments: Some(others), ..Default::default() };
        let has_context = context.arguments.as_ref().is_some_and(|others| !others.is_empty());
        let connection = Connection::open(server, &self.connection).await?;
        let result = connection.client.complete(&reference, &argument, has_context.then_some(&context)).await;
        let offered = "`trunkline list SERVER prompts` and `… templates` show what there is";
        let result = result.map_err(|error| connection.failure(error, "completing").or_hint(offered))?;
        if output.json {
            output.raw(&RawJson::from_value(&json!(result)).unwrap_or_else(|_| RawJson::empty_object()));
        } else {
            result.completion.values.iter().for_each(|value| output.text(value));
            if result.completion.has_more == Some(true) {
                output.note("there are more: type more of the argument");
            }
        }
        connection.close().await;
        Ok(Exit::Done)
    }
}

fn pair(word: &str) -> Result<(String, String), Failure> {
    let pair = word.split_once('=').filter(|(name, _)| !name.is_empty());
    pair.map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| Failure::usage(format!("{word:?} is no argument")).hint("an argument is NAME=TEXT"))
}
