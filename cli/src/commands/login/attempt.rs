//! A login at a server.

use crate::{
    connection::{Connection, Options},
    failure::Failure,
    flags::ConnectionFlags,
    login::Asked,
    target,
};
use trunkline::client::ErrorKind;

/// Connects, and returns whether there are tokens.
pub(super) async fn log_in(
    server: target::Server,
    flags: &ConnectionFlags,
    asked: Asked,
) -> Result<(Connection, bool), Failure> {
    let connection = Connection::open_with(server, flags, Options { asked, ..Options::default() }).await?;
    let mut token = connection.client.access_token().await;
    if matches!(token, Ok(None)) {
        // Some servers ask for a login only when they list tools.
        match connection.client.list_tools().await {
            Err(error) if error.kind() == ErrorKind::AuthorizationRequired => {
                return Err(connection.failure(error, "listing tools"));
            }
            _ => token = connection.client.access_token().await,
        }
    }
    let has_token = token.map_err(|error| connection.failure(error, "reading the tokens"))?.is_some();
    Ok((connection, has_token))
}
