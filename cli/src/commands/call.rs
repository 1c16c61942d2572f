//! `trunkline call`: calls a tool.

use crate::{
    arguments::{Arguments, InputFlags},
    code, completion,
    connection::{Connection, Options},
    exit::Exit,
    failure::Failure,
    flags::ConnectionFlags,
    output::Output,
    progress, signature, target, task_state,
    tool_result::ResultFlags,
};
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use trunkline::{
    RequestOptions,
    client::ClientTask,
    printable,
    protocol::{
        RawJson, method,
        model::Tool,
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
    #[arg(value_name = "WORD", add = ArgValueCompleter::new(completion::calls), required = true)]
    words: Vec<String>,
    /// Print the request instead of sending it.
    #[arg(long)]
    dry_run: bool,
    /// Print the call as code instead of sending it: a program, or a line of a shell.
    #[arg(long, value_name = "LANGUAGE", conflicts_with_all = ["dry_run", "task"])]
    code: Option<code::Form>,
    /// Send arguments that the tool's schema does not allow, and call a tool that is not listed.
    #[arg(long)]
    no_validate: bool,
    /// Run the tool as a task, if it can, and wait for it. Ctrl-C cancels the task, and a second
    /// one leaves it running.
    #[arg(long, conflicts_with = "dry_run")]
    task: bool,
    /// Answer a form of the server with the JSON object in this file.
    #[arg(long, value_name = "FILE")]
    answer: Option<PathBuf>,
    #[command(flatten)]
    input: InputFlags,
    #[command(flatten)]
    result: ResultFlags,
    #[command(flatten)]
    connection: ConnectionFlags,
    /// The command of a server to start.
    #[arg(last = true, value_name = "COMMAND", help_heading = "Arguments")]
    command: Vec<String>,
}

/// A call that is ready to be sent.
struct Prepared {
    connection: Connection,
    tool: String,
    arguments: Map<String, Value>,
}

impl Call {
    /// Returns whether it waits for a task.
    pub(crate) fn is_task(&self) -> bool {
        self.task
    }

    pub(crate) async fn run(self, output: &Output) -> Result<Exit, Failure> {
        if self.task {
            // Later, Ctrl-C cancels the task.
            let prepared = tokio::select! {
                prepared = self.prepare() => prepared?,
                _ = tokio::signal::ctrl_c() => return Ok(Exit::Interrupted),
            };
            return self.follow(prepared, output).await;
        }
        let Prepared { connection, tool, arguments } = self.prepare().await?;
        let failed = |error| connection.failure(error, &format!("calling {tool}"));
        let params = RawJson::from_value(&json!({"name": tool, "arguments": arguments}))
            .map_err(|error| Failure::usage(error.to_string()))?;
        let options = progress::shown_by(output, RequestOptions::default());
        if self.dry_run {
            let request = connection.client.preview(method::TOOLS_CALL, Some(&params), &options);
            output.raw(&request.map_err(failed)?);
            connection.close().await;
            return Ok(Exit::Done);
        }
        if let Some(form) = self.code {
            let about = (&connection, &self.connection);
            output.text(&code::of_call(form, about, (&tool, &arguments), &params).await?);
            connection.close().await;
            return Ok(Exit::Done);
        }
        let result = connection.client.request(method::TOOLS_CALL, Some(&params), &options).await;
        progress::end(output);
        let exit = self.result.show(&connection, &result.map_err(failed)?, output)?;
        connection.close().await;
        Ok(exit)
    }

    /// Starts the call as a task, and prints its id.
    pub(crate) async fn start(self, output: &Output) -> Result<Exit, Failure> {
        let prepared = self.prepare().await?;
        let task = start(&prepared).await?;
        let Prepared { connection, tool, .. } = prepared;
        let Some(state) = task.state() else {
            output.note(&format!("{tool} does not run as a task; this is its result"));
            return self.ended(&connection, &task, output).await;
        };
        match output.json {
            true => output.raw(&task_state::json(&state)),
            false => output.line(&printable(&state.task_id)),
        }
        connection.close().await;
        Ok(Exit::Done)
    }

    /// Runs the call as a task, and waits for it.
    async fn follow(self, prepared: Prepared, output: &Output) -> Result<Exit, Failure> {
        // A tool that is no task may take its whole time here.
        let mut task = tokio::select! {
            task = start(&prepared) => task?,
            _ = tokio::signal::ctrl_c() => return Ok(Exit::Interrupted),
        };
        let Prepared { connection, tool, .. } = prepared;
        match task.id() {
            Some(id) => output.note(&format!("{tool} runs as task {id}; Ctrl-C cancels it")),
            None => output.note(&format!("{tool} does not run as a task")),
        }
        if task_state::follow(&mut task, true, output)
            .await
            .map_err(|error| connection.failure(error, "following the task"))?
        {
            return Ok(Exit::Interrupted);
        }
        self.ended(&connection, &task, output).await
    }

    async fn ended(&self, connection: &Connection, task: &ClientTask, output: &Output) -> Result<Exit, Failure> {
        let outcome = task_state::outcome(task).await;
        self.result.show(
            connection,
            &outcome.map_err(|error| connection.failure(error, "waiting for the task"))?,
            output,
        )
    }

    /// Connects, and reads the arguments by the schema of the tool.
    async fn prepare(&self) -> Result<Prepared, Failure> {
        let (server, words) = target::find(self.words.clone(), self.command.clone(), &self.connection)?;
        let (name, words) = words
            .split_first()
            .ok_or_else(|| Failure::usage("no tool is given").hint("`trunkline list SERVER tools` shows them"))?;
        let given = Arguments::read(words, &self.input)?;
        let options = Options { answer: self.answer.clone(), ..Options::default() };
        let connection = Connection::open_with(server, &self.connection, options).await?;
        let arguments = self.arguments(&connection, name, given).await?;
        Ok(Prepared { connection, tool: name.clone(), arguments })
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
        completion::keep(&connection.server.label, &tools);
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
}

/// Starts a call as a task.
async fn start(prepared: &Prepared) -> Result<ClientTask, Failure> {
    let Prepared { connection, tool, arguments } = prepared;
    let started = connection.client.start_task(tool, arguments).await;
    started.map_err(|error| connection.failure(error, &format!("starting {tool} as a task")))
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
