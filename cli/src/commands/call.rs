//! `trunkline call`: calls a tool.

use crate::{
    arguments::{Arguments, InputFlags},
    connection::{Connection, Options},
    content::{self, Content, SaveFlags},
    exit::Exit,
    failure::Failure,
    flags::ConnectionFlags,
    output::{BOLD, Output},
    progress, signature,
    table::Table,
    target,
};
use clap::Args;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use trunkline::{
    RequestOptions,
    protocol::{
        RawJson, method,
        model::{CallToolResult, Tool},
        schema::{WrittenArgument, WrittenValue, check_arguments, read_arguments},
    },
};

/// Call a tool.
#[derive(Args)]
#[command(override_usage = "trunkline call [OPTIONS] [SERVER] TOOL [ARGUMENT]... [-- COMMAND...]")]
#[command(after_help = "\
Arguments:
  city=Oslo          by the type that the tool wants; given again, a list
  place.lat=59.9     a member of an object
  days:=3            JSON
  text=@notes.txt    from a file; @@ is a literal @
  -                  all arguments as a JSON object from standard input

Examples:
  trunkline call https://mcp.example.com/mcp forecast city=Oslo days=3
  trunkline call forecast city=Oslo -- python weather.py")]
pub(crate) struct Call {
    /// The server, unless a command follows `--`; then the tool and its arguments.
    #[arg(value_name = "WORD", required = true)]
    words: Vec<String>,
    /// Print the request instead of sending it.
    #[arg(long)]
    dry_run: bool,
    /// Send arguments that the tool's schema does not allow, and call a tool that is not listed.
    #[arg(long)]
    no_validate: bool,
    /// Show the text of the result only.
    #[arg(long, conflicts_with = "structured")]
    text: bool,
    /// Show the structured content of the result only.
    #[arg(long)]
    structured: bool,
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

impl Call {
    pub(crate) async fn run(self, output: &Output) -> Result<Exit, Failure> {
        let (server, words) = target::find(self.words.clone(), self.command.clone(), &self.connection)?;
        let (name, words) = words
            .split_first()
            .ok_or_else(|| Failure::usage("no tool is given").hint("`trunkline list SERVER tools` shows them"))?;
        let given = Arguments::read(words, &self.input)?;
        let options = Options { answer: self.answer.clone(), ..Options::default() };
        let connection = Connection::open_with(server, &self.connection, options).await?;
        let arguments = self.arguments(&connection, name, given).await?;
        let params = RawJson::from_value(&json!({"name": name, "arguments": arguments}))
            .map_err(|error| Failure::usage(error.to_string()))?;
        let options = progress::shown_by(output, RequestOptions::default());
        if self.dry_run {
            let request = connection.client.preview(method::TOOLS_CALL, Some(&params), &options);
            output.raw(&request.map_err(|error| connection.failure(error, &format!("calling {name}")))?);
        } else {
            let result = connection.client.request(method::TOOLS_CALL, Some(&params), &options).await;
            progress::end(output);
            let result = result.map_err(|error| connection.failure(error, &format!("calling {name}")))?;
            let exit = self.show(&connection, &result, output)?;
            connection.close().await;
            return Ok(exit);
        }
        connection.close().await;
        Ok(Exit::Done)
    }

    /// The arguments as the tool wants them. Nothing is sent if they are wrong.
    async fn arguments(
        &self,
        connection: &Connection,
        name: &str,
        given: Arguments,
    ) -> Result<Map<String, Value>, Failure> {
        let tools = connection.client.list_tools().await;
        let tools = tools.map_err(|error| connection.failure(error, "listing tools"))?;
        let tool = tools.iter().find(|tool| tool.name == name);
        let Some(tool) = tool else {
            if self.no_validate {
                return Ok(as_text(given));
            }
            let failure = Failure::unknown("tool", name, tools.iter().map(|tool| tool.name.as_str()));
            let failure = failure.tried(format!("listing tools at {}", connection.identity()));
            return Err(failure.at(&connection.server.label));
        };
        let wrong = |problem: String| {
            Failure::usage(format!("{name}: {problem}"))
                .tried("checking the arguments by the schema of the tool; nothing was sent")
                .hint(usage(tool))
                .at(&connection.server.label)
        };
        let arguments = match given {
            Arguments::Whole(members) => members,
            Arguments::Written(written) => match read_arguments(&tool.input_schema, &written) {
                Ok(arguments) => arguments,
                Err(_) if self.no_validate => as_text(Arguments::Written(written)),
                Err(error) => return Err(wrong(error.to_string())),
            },
        };
        if !self.no_validate {
            check_arguments(&tool.input_schema, &arguments).map_err(|error| wrong(error.to_string()))?;
        }
        Ok(arguments)
    }

    fn show(&self, connection: &Connection, raw: &RawJson, output: &Output) -> Result<Exit, Failure> {
        let result: CallToolResult = raw.parse().map_err(|error| {
            Failure::new(Exit::Protocol, "invalidResponse", format!("the result cannot be read: {error}"))
        })?;
        if result.is_error
            && let Some(unanswered) = connection.unanswered()
        {
            return Err(unanswered);
        }
        let exit = if result.is_error { Exit::Refused } else { Exit::Done };
        if output.json {
            output.raw(raw);
            return Ok(exit);
        }
        match &result.structured_content {
            Some(structured) if self.structured || (!self.text && says_the_same(&result)) => {
                show_json(structured, output)
            }
            None if self.structured => {
                let failure = Failure::new(Exit::Refused, "unsupported", "the result has no structured content");
                return Err(failure.hint("leave out --structured"));
            }
            _ => {
                let mut content = Content::new(output, &self.save);
                for block in result.content.iter().filter(|block| !self.text || block.as_text().is_some()) {
                    content.block(block)?;
                }
            }
        }
        Ok(exit)
    }
}

/// Returns whether the content only repeats the structured content, for clients that do not know
/// it.
fn says_the_same(result: &CallToolResult) -> bool {
    let is_json = |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|value| !value.is_string());
    !result.is_error && result.content.iter().all(|block| block.as_text().is_some_and(is_json))
}

/// A list of flat objects as a table, anything else as JSON.
fn show_json(value: &Value, output: &Output) {
    let Some(rows) = content::rows(value) else {
        return output.text(&serde_json::to_string_pretty(value).unwrap_or_default());
    };
    let mut table = Table::default();
    for row in &rows {
        // The last column of a table is for descriptions.
        table.add(row.iter().map(String::as_str).chain([""]));
    }
    for (index, line) in table.lines("").iter().enumerate() {
        match index {
            0 => output.line(&format!("{BOLD}{line}{BOLD:#}")),
            _ => output.line(line),
        }
    }
}

/// The arguments without a schema: strings, and JSON.
fn as_text(given: Arguments) -> Map<String, Value> {
    match given {
        Arguments::Whole(members) => members,
        Arguments::Written(written) => {
            let value = |value| match value {
                WrittenValue::Text(text) => Value::String(text),
                WrittenValue::Json(value) => value,
            };
            written.into_iter().map(|WrittenArgument { name, value: given }| (name, value(given))).collect()
        }
    }
}

/// How a tool is called.
fn usage(tool: &Tool) -> String {
    format!("call it as {}", signature::of_tool(tool))
}
