//! `trunkline token`: prints the access token for a server, and makes those of a bridge.

mod new;

use super::login::over_http;
use crate::{connection::Connection, exit::Exit, failure::Failure, flags::ConnectionFlags, output::Output};
use clap::{Args, Subcommand};
use new::New;
use serde_json::json;
use std::io::{self, IsTerminal};
use trunkline::protocol::RawJson;

/// Print the access token for a server, for scripts; renewed if it has ended.
#[derive(Args)]
#[command(
    override_usage = "trunkline token [OPTIONS] <SERVER>\n       trunkline token new [OPTIONS] <NAME>",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct Token {
    /// The server: a URL, or the name of a configured server.
    #[arg(value_name = "SERVER", required = true)]
    server: Option<String>,
    #[command(flatten)]
    connection: ConnectionFlags,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand)]
enum Action {
    New(New),
}

impl Token {
    pub(crate) async fn run(self, output: &Output) -> Result<Exit, Failure> {
        if let Some(Action::New(new)) = self.action {
            return new.run(output);
        }
        let server = over_http(self.server.unwrap_or_default(), &self.connection)?;
        // A token that the server refuses is renewed before anyone else uses it.
        let connection = Connection::open(server, &self.connection).await?;
        let token = connection.client.access_token().await;
        let token = token.map_err(|error| connection.failure(error, "reading the tokens"))?;
        let token = token.ok_or_else(|| {
            let failure = Failure::new(Exit::Login, "noToken", "there is no token: the server asks for no login");
            failure.tried(format!("connecting to {}", connection.identity())).at(&connection.server.label)
        })?;
        if io::stdout().is_terminal() {
            output.note("this token is a secret: whoever has it acts in your name");
        }
        if output.json {
            let report = json!({"accessToken": token});
            output.raw(&RawJson::from_value(&report).unwrap_or_else(|_| RawJson::empty_object()));
        } else {
            output.text(&token);
        }
        connection.close().await;
        Ok(Exit::Done)
    }
}
