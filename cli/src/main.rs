//! The program `trunkline`: joins and tries servers of the Model Context Protocol.
//!
//! A server is named by a target (`target.rs`), reached with the connection flags
//! (`connection.rs`), and used by one command (`commands/`). What a command prints goes through
//! `output.rs`, and what goes wrong is a `Failure`. The protocol is the library's.

#![forbid(unsafe_code)]
// `println!` and `eprintln!` panic where nothing reads them.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod changes;
mod code;
mod commands;
mod completion;
mod connection;
mod content;
mod edit;
mod exit;
mod failure;
mod flags;
mod hosts;
mod interrupt;
mod known_servers;
mod lint;
mod login;
mod login_flags;
mod mcp_remote;
mod misuse;
mod output;
mod person;
mod progress;
mod publishing;
mod replace_file;
mod secrets;
mod sessions;
mod signature;
mod table;
mod target;
mod task_state;
mod tool_result;

use clap::{CommandFactory, Parser};
use commands::Command;
use failure::Failure;
use output::{Output, OutputFlags};
use std::process::ExitCode;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// Joins and tries any server of the Model Context Protocol.
///
/// A server is a URL, the name of a configured server, a configuration file (FILE or FILE:NAME), or
/// a command after `--`.
#[derive(Parser)]
#[command(name = "trunkline", version, max_term_width = 100)]
struct Program {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    output: OutputFlags,
}

fn main() -> ExitCode {
    completion::answer(Program::command);
    let program = match Program::try_parse() {
        Ok(program) => program,
        Err(error) => return misuse::print(&error, &Program::command()),
    };
    let output = Output::new(&program.output);
    let ended = program.output.record().and_then(|()| run(program.command, &output));
    let ended = ended.and_then(|exit| output::lost().map_or(Ok(exit), Err));
    match ended {
        Ok(exit) => exit.into(),
        Err(failure) => {
            output.failure(&failure);
            failure.exit.into()
        }
    }
}

fn run(command: Command, output: &Output) -> Result<exit::Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::unreachable(format!("the system refuses to start: {error}")))?;
    let (handles_signals, mut program) = (command.handles_signals(), Program::command());
    let work = command.run(output, &mut program);
    let ended = runtime
        .block_on(async { if handles_signals { work.await } else { interrupt::or_until_interrupted(work).await } });
    // A thread may still wait for input from the terminal.
    runtime.shutdown_background();
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Program::command().debug_assert();
    }
}
