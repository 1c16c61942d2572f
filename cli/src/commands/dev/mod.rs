//! `trunkline dev`: restarts a server when its files change, while its clients stay connected.

mod files;
mod supervisor;

use super::bridge::{listening, log};
use crate::{connection, exit::Exit, failure::Failure, flags::ConnectionFlags, output::Output, target};
use clap::{Args, builder::FalseyValueParser};
use files::Files;
use std::{path::PathBuf, time::Duration};
use supervisor::Supervisor;
use trunkline::{
    Client, HttpOptions, ProxyDefinition, Server, Upstream,
    client::{ClientOptions, ServerEntry},
    transport::{ChildStderr, Target},
};

/// How long a server may take to exit after its input has ended, before it is terminated.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum time of a call regardless of progress: the client decides how long it waits.
const MAX_CALL: Duration = Duration::from_secs(24 * 60 * 60);

/// Edit a server while its clients stay connected.
///
/// Serves standard input and output, for a host that starts commands, or HTTP, and restarts the
/// server when a file changes. Clients keep their connection; requests in flight fail, and are not
/// repeated. Files that `.gitignore` names, and hidden ones, are not watched.
#[derive(Args)]
#[command(
    mut_arg("timeout", |flag| flag.default_value("1h")),
    override_usage = "trunkline dev [OPTIONS] -- COMMAND...",
    after_help = "\
Examples:
  trunkline dev -- python weather.py                  in the configuration of a host
  trunkline dev --listen :8000 -- node server.js      over HTTP
  trunkline dev --keep-old -- cargo run --quiet       the old server serves until a build succeeds"
)]
pub(crate) struct Dev {
    /// Watch only files that match this pattern, as in `.gitignore`: `*.py`, `src/**`. Repeatable.
    #[arg(long = "watch", value_name = "PATTERN", env = "TRUNKLINE_WATCH", hide_env = true, value_delimiter = '\n')]
    watched: Vec<String>,
    /// Don't watch files that match this pattern. Repeatable.
    #[arg(long = "ignore", value_name = "PATTERN", env = "TRUNKLINE_IGNORE", hide_env = true, value_delimiter = '\n')]
    ignored: Vec<String>,
    /// Serve HTTP here, on this machine only: `:8000` or `unix:/run/mcp.sock`.
    #[arg(long, value_name = "ADDRESS", env = "TRUNKLINE_LISTEN", hide_env = true)]
    listen: Option<String>,
    /// Serve standard input and output, which is the default.
    #[arg(long, conflicts_with = "listen")]
    stdio: bool,
    /// Start the new server first, and keep the old one if that fails. Both run for a moment.
    #[arg(long, env = "TRUNKLINE_KEEP_OLD", hide_env = true, value_parser = FalseyValueParser::new())]
    keep_old: bool,
    #[command(flatten)]
    connection: ConnectionFlags,
    /// The command of the server.
    #[arg(last = true, value_name = "COMMAND", help_heading = "Arguments")]
    command: Vec<String>,
}

impl Dev {
    pub(crate) async fn run(self, output: &Output) -> Result<Exit, Failure> {
        log::start(log::Level::Error);
        let listening = self.listen.as_deref().filter(|_| !self.stdio).map(listening::on_this_machine).transpose()?;
        let (target, label) = self.find()?;
        let files = Files::watch(&self.folder()?, &self.watched, &self.ignored)?;
        let options = self.options()?;
        let client = Client::connect_with(target.clone(), options.clone().with_lazy(true), ()).await;
        let client = client.map_err(|error| Failure::from(error).at(&label))?;
        let server = Server::builder("trunkline", env!("CARGO_PKG_VERSION")).build();
        let upstream = Upstream::add_to(&server, ProxyDefinition::new(&client).transparent(true))
            .map_err(|error| Failure::usage(error.to_string()))?;
        let serving = serve(&server, listening, &label, output);
        let label = label.clone();
        let mut supervisor =
            Supervisor { upstream, client, target, options, files, keep_old: self.keep_old, output, label };
        let ended = tokio::select! {
            served = serving => served,
            Err(failure) = supervisor.run() => Err(failure),
        };
        supervisor.end(EXIT_TIMEOUT).await;
        ended.map(|()| Exit::Done)
    }

    /// The server to start.
    fn find(&self) -> Result<(Target, String), Failure> {
        let (mut server, _) = target::find(Vec::new(), self.command.clone(), &self.connection)?;
        // The person reads its log.
        match &mut server.target {
            Target::Child(child) => child.stderr = ChildStderr::PassThrough,
            Target::Entry(ServerEntry::Command { stderr, stderr_file: None, .. }) => {
                stderr.get_or_insert_with(|| "inherit".to_owned());
            }
            _ => {}
        }
        Ok((server.target, server.label))
    }

    /// The folder whose files are watched.
    fn folder(&self) -> Result<PathBuf, Failure> {
        let folder = self.connection.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
        folder.canonicalize().map_err(|error| Failure::usage(format!("{} cannot be read: {error}", folder.display())))
    }

    fn options(&self) -> Result<ClientOptions, Failure> {
        Ok(connection::options_without_auth(&self.connection)?
            .with_max_timeout(MAX_CALL)
            .with_close_timeout(EXIT_TIMEOUT)
            .with_reconnect(true))
    }
}

/// Serves until the host ends, or a signal comes.
async fn serve(server: &Server, listening: Option<HttpOptions>, label: &str, output: &Output) -> Result<(), Failure> {
    let Some(options) = listening else {
        return server.serve_stdio().await.map_err(|error| Failure::unreachable(error.to_string()));
    };
    let listener = server.listen_with(options).await.map_err(|error| {
        Failure::usage(format!("--listen: {error}")).hint("choose another port, or 0 for a free one")
    })?;
    output.note(&format!("dev: {label} on {} · all revisions", listener.url().unwrap_or_default()));
    listener.run().await.map_err(|error| Failure::unreachable(error.to_string()))
}
