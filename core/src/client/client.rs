//! A connection to a server, as programs hold it.

use super::{error::ClientError, inner::Inner, server_description::ServerDescription};
use crate::protocol::{
    Revision,
    model::{Implementation, ServerCapabilities},
};
use std::{
    sync::{Arc, OnceLock, atomic::Ordering},
    time::Duration,
};

/// A connection to a server. Cheap to clone; clones are the same connection.
///
/// ```no_run
/// # async fn run() -> Result<(), trunkline::ClientError> {
/// use serde_json::json;
/// use trunkline::{ChildCommand, Client};
///
/// let client = Client::connect(ChildCommand::new(["python", "weather.py"])).await?; // or a URL, or a `&Server`
/// println!("{:?} speaks {}", client.server_info(), client.revision());
/// for tool in client.list_tools().await? {
///     println!("{}", tool.name);
/// }
/// let result = client.call_tool("forecast", json!({"city": "Oslo"})).await?;
/// println!("{}", result.joined_text());
/// client.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    pub(super) inner: Arc<Inner>,
}

impl Client {
    /// The name and version of the server, if it gave them.
    pub fn server_info(&self) -> Option<Implementation> {
        self.server().info.as_ref()?.parse().ok()
    }

    /// The capabilities of the server. There are none if the revision was pinned without asking.
    pub fn server_capabilities(&self) -> ServerCapabilities {
        self.server().capabilities.parse().unwrap_or_default()
    }

    /// Advice of the server how to use it, for the model.
    pub fn instructions(&self) -> Option<&str> {
        self.server().instructions.as_deref()
    }

    /// The answer of the server to the first request, as it came.
    pub fn server(&self) -> &ServerDescription {
        static UNKNOWN: OnceLock<ServerDescription> = OnceLock::new();
        self.inner.server.get().unwrap_or_else(|| UNKNOWN.get_or_init(|| ServerDescription::pinned(Revision::LATEST)))
    }

    /// Why the connection has ended, if it has, and not by this side.
    #[doc(hidden)]
    pub fn failure(&self) -> Option<ClientError> {
        let failure = self.inner.failure.lock().clone();
        failure.filter(|_| self.inner.closed.load(Ordering::Acquire)).map(ClientError::Link)
    }

    /// The revision that is spoken.
    pub fn revision(&self) -> Revision {
        self.server().revision
    }

    /// Ends the connection: politely until the deadline, then by force. Requests in flight end as closed.
    ///
    /// It can be asked for more than once: everyone waits for the same end, and the earliest deadline counts.
    pub async fn close_within(&self, deadline: Duration) {
        self.inner.end(None);
        if let Some(link) = self.inner.link() {
            link.close(deadline).await;
            let ended = self.inner.link.lock().take();
            drop(ended);
        }
    }

    /// [`Client::close_within`] with the default deadline (2 s for a child process to go by itself).
    pub async fn close(&self) {
        self.close_within(self.inner.options.close_patience).await;
    }
}
