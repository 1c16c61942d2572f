//! Connects groups to targets.

use super::ClientGroup;
use std::sync::Arc;
use trunkline_core::{
    client::{ClientError, ClientEvents, ClientOptions},
    transport::{Target, TokioRuntime},
};

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
    ///
    /// [`Client::connect`]: trunkline_core::Client::connect
    pub async fn add_server(&self, name: &str, target: impl Into<Target>) -> Result<(), ClientError> {
        let server = target.into().into_group_target(&self.options(), self.runtime())?;
        self.add_target(name, server).await
    }
}
