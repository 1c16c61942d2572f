//! `trunkline logout`: forgets and revokes the tokens of a server.

use super::login::over_http;
use crate::{
    completion,
    connection::{Connection, Options},
    exit::Exit,
    failure::Failure,
    flags::ConnectionFlags,
    output::Output,
};
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde_json::json;
use trunkline::protocol::RawJson;

/// Log out of a server: forget its tokens, and revoke them if the authorization server can.
#[derive(Args)]
#[command(override_usage = "trunkline logout [OPTIONS] <SERVER>")]
pub(crate) struct Logout {
    /// The server: a URL, or the name of a configured server.
    #[arg(value_name = "SERVER", add = ArgValueCompleter::new(completion::servers))]
    server: String,
    #[command(flatten)]
    connection: ConnectionFlags,
}

impl Logout {
    pub(crate) async fn run(self, output: &Output) -> Result<Exit, Failure> {
        let server = over_http(self.server, &self.connection)?;
        let options = Options { lazy: true, ..Options::default() };
        let connection = Connection::open_with(server, &self.connection, options).await?;
        let ended = connection.client.logout().await;
        ended.map_err(|error| connection.failure(error, "removing the tokens"))?;
        if output.json {
            let report = json!({"loggedOut": connection.server.label});
            output.raw(&RawJson::from_value(&report).unwrap_or_else(|_| RawJson::empty_object()));
        } else {
            output.line(&format!("logged out of {}", crate::table::one_line(&connection.server.label)));
        }
        connection.close().await;
        Ok(Exit::Done)
    }
}
