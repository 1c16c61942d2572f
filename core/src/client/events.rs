//! The interface of a client to the program around it.

use super::error::ClientError;
use crate::protocol::RawJson;

/// Takes the notifications of a server and the end of the connection. Its methods must not block;
/// by default they do nothing.
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
    /// A notification arrived. Those about tasks have one form on every revision:
    /// `notifications/tasks/status` with a [`Task`](crate::protocol::model::Task).
    fn notification(&self, method: &str, params: Option<&RawJson>) {
        let _ = (method, params);
    }

    /// A connection that was lost has been made anew: what the server knew of it, such as
    /// subscriptions, it knows no more.
    fn reconnected(&self) {}

    /// A person is asked on behalf of the server, or has been: requests that wait for it may take
    /// longer.
    #[doc(hidden)]
    fn asking(&self, begins: bool) {
        let _ = begins;
    }

    /// The name of the server in its group.
    #[doc(hidden)]
    fn server_name(&self) -> Option<String> {
        None
    }

    /// The connection ended for good; `None`: by this side.
    fn closed(&self, error: Option<&ClientError>) {
        let _ = error;
    }
}
