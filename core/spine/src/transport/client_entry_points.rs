//! Connects clients and groups to targets.

use super::{Target, TokioRuntime};
use crate::client::{Client, ClientBuilder, ClientError, ClientEvents, ClientGroup, ClientOptions};
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

impl ClientGroup {
    /// Connects to the servers of a configuration, or to named targets: `[("weather",
    /// "http://localhost:8000/mcp"), ("notes", "unix:/run/notes.sock")]`. Requires a tokio runtime.
    ///
    /// # Errors
    /// If two servers have the same name. Failing to connect to a server is not an error.
    pub async fn connect<N: Into<String>, T: Into<Target>>(
        servers: impl IntoIterator<Item = (N, T)>,
    ) -> Result<Self, ClientError> {
        Self::connect_with(servers, ClientOptions::default(), ()).await
    }

    /// Connects with options for each connection, and with a receiver of notifications.
    ///
    /// # Errors
    /// As for [`ClientGroup::connect`], or if an option is invalid.
    pub async fn connect_with<N: Into<String>, T: Into<Target>>(
        servers: impl IntoIterator<Item = (N, T)>,
        options: ClientOptions,
        events: impl ClientEvents,
    ) -> Result<Self, ClientError> {
        let options = options.with_telemetry_of_program();
        let runtime = TokioRuntime::current();
        let servers: Vec<_> = servers
            .into_iter()
            .map(|(name, target)| (name.into(), target.into().into_group_target(&options, &runtime)))
            .collect();
        Self::open(runtime, servers, options, Arc::new(events)).await
    }

    /// Adds a server and connects to it. If that fails, the server stays in the group with its
    /// error.
    ///
    /// # Errors
    /// If there is a server of that name, or as for [`Client::connect`].
    pub async fn add_server(&self, name: &str, target: impl Into<Target>) -> Result<(), ClientError> {
        let server = target.into().into_group_target(&self.options(), self.runtime())?;
        self.add_target(name, server).await
    }
}

/// Ignores all events.
impl ClientEvents for () {}
