//! The commands, one file each.

mod call;
mod complete;
mod completions;
mod list;
mod listen;
mod ping;
mod prompt;
mod read;

use crate::{exit::Exit, failure::Failure, output::Output};
use clap::Subcommand;

/// The commands.
#[derive(Subcommand)]
pub(crate) enum Command {
    List(list::List),
    Call(call::Call),
    Read(read::Read),
    Prompt(prompt::Prompt),
    Complete(complete::Complete),
    Listen(listen::Listen),
    Ping(ping::Ping),
    Completions(completions::Completions),
}

impl Command {
    /// Runs the command. `program` is the whole command line, for its completion.
    pub(crate) async fn run(self, output: &Output, program: &mut clap::Command) -> Result<Exit, Failure> {
        match self {
            Self::List(list) => list.run(output).await,
            Self::Call(call) => call.run(output).await,
            Self::Read(read) => read.run(output).await,
            Self::Prompt(prompt) => prompt.run(output).await,
            Self::Complete(complete) => complete.run(output).await,
            Self::Listen(listen) => listen.run(output).await,
            Self::Ping(ping) => ping.run(output).await,
            Self::Completions(completions) => Ok(completions.run(program)),
        }
    }
}
