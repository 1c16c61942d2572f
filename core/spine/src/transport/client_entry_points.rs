//! Connects clients to targets.

use super::{Target, TokioRuntime};
use crate::client::{Client, ClientBuilder, ClientError, ClientEvents, ClientOptions};
use std::sync::Arc;

impl Client {
    /// Connects to a server. A [`Target`] is a URL, a command, a [`Server`](crate::Server) in this
    /// process, an entry of `mcpServers`, or a configuration file. Requires a tokio runtime.
    ///
    /// # Errors
    /// If the server cannot be reached, does not respond in time, or has no revision in common with
    /// us.
    pub async fn connect(target: impl Into<Target>) -> Result<Self, ClientError> {
        Self::connect_with(target, ClientOptions::default(), ()).await
    }

    /// Connects with options, and with a receiver of notifications; `()` for none.
    ///
    /// # Errors
    /// As for [`Client::connect`].
    pub async fn connect_with(
        target: impl Into<Target>,
        options: ClientOptions,
        events: impl ClientEvents,
    ) -> Result<Self, ClientError> {
        let options = options.with_telemetry_of_program();
        let runtime = TokioRuntime::current();
        let connector = target.into().connector(&options, &runtime)?;
        if options.auth.is_some() && connector.transport() != crate::wire_log::Transport::Http {
            return Err(ClientError::Invalid("auth is for servers over HTTP, but this one is not".to_owned()));
        }
        Self::open(runtime, connector, options, Arc::new(events)).await
    }
}

impl ClientBuilder {
    /// Connects to a server; see [`Client::connect`].
    ///
    /// # Errors
    /// As for [`Client::connect`]; [`ClientError::Invalid`] if a root is not a `file://` URI.
    pub async fn connect(self, target: impl Into<Target>) -> Result<Client, ClientError> {
        Client::connect_with(target, self.into_options(), ()).await
    }
}

/// Ignores all events.
impl ClientEvents for () {}
