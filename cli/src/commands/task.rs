//! `trunkline task`: tool calls that go on at the server.

use super::call::Call;
use crate::{
    completion,
    connection::{Connection, Options},
    exit::Exit,
    failure::Failure,
    flags::ConnectionFlags,
    output::Output,
    target, task_state,
    tool_result::ResultFlags,
};
use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;
use std::path::PathBuf;
use trunkline::ClientError;

/// Start, follow and cancel tool calls that go on at the server, as tasks.
///
/// A task ends with the process of its server and, up to 2025-11-25, with the session of its
/// client: for a command or an older server, open a session first, with `trunkline connect`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  trunkline task start https://mcp.example.com/mcp report year=2026
  trunkline task result https://mcp.example.com/mcp ID
  trunkline task list @reports")]
pub(crate) struct Task {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Start a tool as a task, and print the id of the task.
    #[command(override_usage = "trunkline task start [OPTIONS] [SERVER] TOOL [ARGUMENT]... [-- COMMAND...]")]
    Start(Box<Call>),
    /// Print the state of a task.
    Get(One),
    /// Wait for a task, and print its result.
    Result(ResultOfOne),
    /// Cancel a task.
    Cancel(One),
    /// Print the tasks that the server keeps for this client. Servers of 2026-07-28 have no list.
    List(All),
}

/// A server, and a task of it.
#[derive(Args)]
struct One {
    /// The server, unless a command follows `--`.
    #[arg(value_name = "SERVER", add = ArgValueCompleter::new(completion::servers), allow_hyphen_values = true)]
    server: Option<String>,
    /// The id of the task.
    #[arg(value_name = "TASK", allow_hyphen_values = true)]
    task: Option<String>,
    #[command(flatten)]
    reached: Reached,
}

/// All tasks of a server.
#[derive(Args)]
struct All {
    /// The server, unless a command follows `--`.
    #[arg(value_name = "SERVER", add = ArgValueCompleter::new(completion::servers))]
    server: Option<String>,
    #[command(flatten)]
    reached: Reached,
}

/// How a server is reached.
#[derive(Args)]
struct Reached {
    #[command(flatten)]
    connection: ConnectionFlags,
    /// The command of a server to start.
    #[arg(last = true, value_name = "COMMAND", help_heading = "Arguments")]
    command: Vec<String>,
}

#[derive(Args)]
struct ResultOfOne {
    /// Answer a form of the server with the JSON object in this file.
    #[arg(long, value_name = "FILE")]
    answer: Option<PathBuf>,
    #[command(flatten)]
    result: ResultFlags,
    #[command(flatten)]
    one: One,
}

impl Task {
    pub(crate) async fn run(self, output: &Output) -> Result<Exit, Failure> {
        match self.action {
            Action::Start(call) => call.start(output).await,
            Action::Get(one) => {
                let (connection, id) = one.open(None).await?;
                let task = connection.client.get_task(&id).await;
                show(&task.map_err(|error| failed(&connection, error, &format!("looking up the task {id}")))?, output);
                connection.close().await;
                Ok(Exit::Done)
            }
            Action::Result(ResultOfOne { answer, result, one }) => {
                let (connection, id) = one.open(answer).await?;
                let failed = |error| failed(&connection, error, &format!("waiting for the task {id}"));
                let mut task = connection.client.resume_task(&id).await.map_err(failed)?;
                task_state::follow(&mut task, false, output).await.map_err(failed)?;
                let outcome = task_state::outcome(&task).await.map_err(failed)?;
                let exit = result.show(&connection, &outcome, output)?;
                connection.close().await;
                Ok(exit)
            }
            Action::Cancel(one) => {
                let (connection, id) = one.open(None).await?;
                let cancelled = connection.client.cancel_task(&id).await;
                cancelled.map_err(|error| failed(&connection, error, &format!("cancelling the task {id}")))?;
                connection.close().await;
                Ok(Exit::Done)
            }
            Action::List(one) => one.list(output).await,
        }
    }
}

impl One {
    /// Connects to the server, and returns the id of the task.
    async fn open(self, answer: Option<PathBuf>) -> Result<(Connection, String), Failure> {
        let Reached { connection, command } = self.reached;
        let words = self.server.into_iter().chain(self.task).collect();
        let (server, words) = target::find(words, command, &connection)?;
        let [id] = &words[..] else {
            return Err(Failure::usage("a task is named by its id").hint("`trunkline task start` prints it"));
        };
        let options = Options { answer, ..Options::default() };
        Ok((Connection::open_with(server, &connection, options).await?, id.clone()))
    }
}

impl All {
    async fn list(self, output: &Output) -> Result<Exit, Failure> {
        let Reached { connection, command } = self.reached;
        let (server, words) = target::find(self.server.into_iter().collect(), command, &connection)?;
        if let Some(word) = words.first() {
            return Err(Failure::usage(format!("{word:?} is one word too many")));
        }
        let connection = Connection::open(server, &connection).await?;
        let tasks = connection.client.list_tasks().await;
        let no_list = "servers of 2026-07-28 list no tasks: name one with `trunkline task get SERVER TASK`";
        for task in tasks.map_err(|error| connection.failure(error, "listing tasks").or_hint(no_list))? {
            show(&task, output);
        }
        connection.close().await;
        Ok(Exit::Done)
    }
}

/// The failure of a request about one task.
fn failed(connection: &Connection, error: ClientError, tried: &str) -> Failure {
    connection.failure(error, tried).or_hint("a task has expired, or is known to its own server and caller only")
}

fn show(task: &trunkline::protocol::model::Task, output: &Output) {
    match output.json {
        true => output.raw(&task_state::json(task)),
        false => output.line(&task_state::line(task)),
    }
}
