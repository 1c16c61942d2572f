//! The interface of a client to the surrounding program.

use super::ClientError;
use crate::protocol::RawJson;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Receives a server's notifications and the end of the connection. Its methods must not block; by
/// default they do nothing.
///
/// ```no_run
/// use trunkline::{Client, ClientError, ClientEvents, ClientOptions};
///
/// struct Log;
///
/// impl ClientEvents for Log {
///     fn closed(&self, error: Option<&ClientError>) {
///         eprintln!("closed: {error:?}");
///     }
/// }
///
/// # async fn run(server: &trunkline::Server) -> Result<(), ClientError> {
/// let client = Client::connect_with(server, ClientOptions::default(), Log).await?;
/// # Ok(())
/// # }
/// ```
pub trait ClientEvents: Send + Sync + 'static {
    /// A notification arrived. Task notifications look the same on every revision:
    /// `notifications/tasks/status` with a [`Task`](crate::protocol::model::Task).
    fn notification(&self, method: &str, params: Option<&RawJson>) {
        let _ = (method, params);
    }

    /// The client has reconnected: the server has lost its state for the connection, such as
    /// subscriptions.
    fn reconnected(&self) {}

    /// The user is being asked on behalf of the server, or has answered. Deadlines of the requests
    /// that wait for the answer are paused meanwhile.
    #[doc(hidden)]
    fn awaiting_user(&self, begins: bool) {
        let _ = begins;
    }

    /// The name of the server in its group.
    #[doc(hidden)]
    fn server_name(&self) -> Option<String> {
        None
    }

    /// The connection has ended for good; `None` if this side ended it.
    fn closed(&self, error: Option<&ClientError>) {
        let _ = error;
    }
}

/// Runs a function of the program. It runs where messages are read, so a panic in it must not end
/// the connection.
pub(in crate::client) fn contained(name: &'static str, function: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(function)).is_err() {
        tracing::error!(target: "trunkline::client", function = name, "a callback panicked");
    }
}
