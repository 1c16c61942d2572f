//! The flags of `trunkline bridge`.

use super::{callers::Callers, listening::Listening, other_bridges::OtherBridges};
use crate::{completion, flags::ConnectionFlags};
use clap::{Args, ValueEnum};
use clap_complete::ArgValueCompleter;
use std::time::Duration;

/// Join a client to a server that speaks another transport or another revision.
///
/// Without `--listen`, the bridge serves its standard input and output, for a host that starts
/// commands. The host sees the server itself: its name, instructions, capabilities and features.
#[derive(Args)]
#[command(
    mut_arg("timeout", |flag| flag.default_value("1h")),
    after_help = "\
Examples:
  trunkline bridge https://mcp.example.com/mcp               a remote server for a host of commands
  trunkline bridge --listen :8000 -- node server.js          a local server over HTTP
  trunkline bridge --listen unix:/run/mcp.sock github        a configured server on a Unix socket")]
pub(crate) struct Bridge {
    /// The server, unless a command follows `--`; then the port to which a login redirects.
    #[arg(value_name = "[SERVER] [CALLBACK_PORT]", add = ArgValueCompleter::new(completion::servers))]
    pub(in crate::commands) words: Vec<String>,
    #[command(flatten)]
    pub(in crate::commands) connection: ConnectionFlags,
    #[command(flatten)]
    pub(in crate::commands) listening: Listening,
    #[command(flatten)]
    pub(super) callers: Callers,
    /// Offer only the tools with such names, in which `*` is any text and `?` any character.
    /// Repeatable.
    #[arg(long, value_name = "PATTERN", env = "TRUNKLINE_TOOL_ALLOW", hide_env = true, value_delimiter = ',')]
    pub(super) tool_allow: Vec<String>,
    /// Do not offer the tools with such names. Repeatable.
    #[arg(
        long,
        alias = "ignore-tool",
        value_name = "PATTERN",
        env = "TRUNKLINE_TOOL_DENY",
        hide_env = true,
        value_delimiter = ','
    )]
    pub(super) tool_deny: Vec<String>,
    /// End after this time without a request, or when the socket is gone: for sessions.
    #[arg(long, value_name = "TIME", value_parser = crate::flags::time, hide = true)]
    pub(super) end_when_idle: Option<Duration>,
    /// Use logins that exist, and ask nobody for another one: for sessions of scripts.
    #[arg(long, hide = true)]
    pub(super) ask_nobody: bool,
    /// Least severe messages to print to standard error.
    #[arg(long, value_name = "LEVEL", env = "TRUNKLINE_LOG", hide_env = true)]
    pub(super) log: Option<Level>,
    #[command(flatten)]
    pub(super) other: OtherBridges,
    /// The command of a server to start.
    #[arg(last = true, value_name = "COMMAND")]
    pub(in crate::commands) command: Vec<String>,
}

/// The severity of messages.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Level {
    None,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}
