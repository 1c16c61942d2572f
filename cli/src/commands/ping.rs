//! `trunkline ping`: checks that a server answers.

use crate::{
    completion, connection::Connection, exit::Exit, failure::Failure, flags::ConnectionFlags, output::Output,
    table::one_line, target,
};
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde_json::json;
use std::time::{Duration, Instant};
use trunkline::protocol::RawJson;

/// Check that a server answers.
#[derive(Args)]
#[command(override_usage = "trunkline ping [OPTIONS] [SERVER] [-- COMMAND...]")]
pub(crate) struct Ping {
    /// The server, unless a command follows `--`.
    #[arg(value_name = "WORD", add = ArgValueCompleter::new(completion::servers))]
    words: Vec<String>,
    #[command(flatten)]
    connection: ConnectionFlags,
    /// The command of a server to start.
    #[arg(last = true, value_name = "COMMAND", help_heading = "Arguments")]
    command: Vec<String>,
}

impl Ping {
    pub(crate) async fn run(self, output: &Output) -> Result<Exit, Failure> {
        let (server, words) = target::find(self.words, self.command, &self.connection)?;
        if let Some(word) = words.first() {
            return Err(Failure::usage(format!("{word:?} is too much for a ping")));
        }
        let connection = Connection::open(server, &self.connection).await?;
        let began = Instant::now();
        let answered = connection.client.ping().await;
        answered.map_err(|error| connection.failure(error, "pinging"))?;
        let answered = milliseconds(began.elapsed());
        let connected = milliseconds(connection.took);
        if output.json {
            let report = json!({
                "server": connection.client.server_info(),
                "revision": connection.client.revision().as_str(),
                "connectMs": connected,
                "pingMs": answered,
            });
            output.raw(&RawJson::from_value(&report).unwrap_or_else(|_| RawJson::empty_object()));
        } else {
            let identity = one_line(&connection.identity());
            output.line(&format!("{identity} · connected in {connected} ms · answered in {answered} ms"));
        }
        connection.close().await;
        Ok(Exit::Done)
    }
}

/// Milliseconds to a tenth.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e4).round() / 10.0
}
