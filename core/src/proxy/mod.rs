//! Proxies: servers that show the features of a remote server, in every revision.

mod asking;
mod callers;
mod connections;
mod outcomes;
mod parked;
mod remote;
mod shares;
mod watching;

use crate::{
    client::Client,
    server::{FeatureHandle, MountSource, RegisterError, Server, ServerBuilder},
};
use remote::Remote;

/// The server behind a client, to be shown by another server; see [`Server::proxy`].
///
/// ```no_run
/// use trunkline::{Client, ProxyDefinition, Server};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let weather = Client::connect("https://example.com/mcp").await?;
/// let gateway = Server::builder("gateway", "1.0.0").build();
/// gateway.proxy(ProxyDefinition::new(&weather).prefix("weather").max_connections(16))?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "a proxy does nothing until it is added to a server"]
pub struct ProxyDefinition {
    client: Client,
    prefix: String,
    max_connections: usize,
}

/// The most connections of one proxy by default.
const MAX_CONNECTIONS: usize = 64;

impl ProxyDefinition {
    /// The server of this client, under its own names.
    pub fn new(client: &Client) -> Self {
        Self { client: client.clone(), prefix: String::new(), max_connections: MAX_CONNECTIONS }
    }

    /// Shows its tools and prompts as `prefix__name`, and its resources as `prefix+uri`.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Most connections that are opened for callers of their own, where the server is of the legacy
    /// era; 64 by default. One that nobody uses is closed for another caller, and after five
    /// minutes; without any, the call is refused as busy.
    pub fn max_connections(mut self, number: usize) -> Self {
        self.max_connections = number;
        self
    }
}

impl From<&Client> for ProxyDefinition {
    fn from(client: &Client) -> Self {
        Self::new(client)
    }
}

impl Server {
    /// Shows the features of the server behind a client as features of this one, whatever revisions
    /// the two sides speak: an old server is lifted to 2026-07-28, and a new one serves old
    /// clients. Without a prefix names and URIs stay as they are, for one server; see
    /// [`ProxyDefinition`]. The handle removes it.
    ///
    /// Progress, log messages and cancellations pass, in both directions. Input that the server
    /// requests is requested from the client of the call that needs it. In the legacy era a session
    /// belongs to one client, so callers get connections of their own there, opened as this client
    /// was; lists, completions and subscriptions use this client's. Errors and results pass as they
    /// are. A server that cannot be reached costs its own calls, and is missing in lists meanwhile.
    ///
    /// ```no_run
    /// use trunkline::{ChildCommand, Client, Server};
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let old = Client::connect(ChildCommand::new(["python", "old_server.py"])).await?;
    /// let gateway = Server::builder("gateway", "1.0.0").build();
    /// gateway.proxy(&old)?;
    /// gateway.listen("127.0.0.1:8000").await?.ended().await;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the prefix is taken or invalid, or the client is one of this very server, or of a group:
    /// the servers of a group have clients of their own
    /// ([`crate::ClientGroup::server_client`]).
    pub fn proxy(&self, proxy: impl Into<ProxyDefinition>) -> Result<FeatureHandle<Server>, RegisterError> {
        let ProxyDefinition { client, prefix, max_connections } = proxy.into();
        let connector = client.connector();
        if !connector.has_sessions() {
            return Err(RegisterError(
                "proxy: a group has many servers; add a proxy for the client of each, under a prefix".to_owned(),
            ));
        }
        if connector.is_of_server(self.identity()) {
            return Err(RegisterError(
                "proxy: the client is one of this very server, so calls would not end".to_owned(),
            ));
        }
        let remote = Remote::new(client, self.downgrade(), prefix.clone(), max_connections);
        self.add_mount(&prefix, MountSource::Remote(remote))
    }
}

impl ServerBuilder {
    /// Shows the features of the server behind a client; see [`Server::proxy`].
    pub fn proxy(self, proxy: impl Into<ProxyDefinition>) -> Self {
        let proxy = proxy.into();
        self.adding(move |server| server.proxy(proxy).map(drop))
    }
}
