//! Proxies: expose the features of a remote server, in every revision.

mod asking;
mod caller_connections;
mod callers;
mod forwarded_requests;
mod group_server;
mod parked;
mod proxied_group;
mod remote;
mod shares;
mod watching;

use crate::{
    client::{Client, ClientGroup},
    server::{FeatureHandle, MountSource, RegisterError, Server, ServerBuilder},
};
use proxied_group::ProxiedGroup;
use remote::Remote;
use watching::MountPoint;

trunkline_proto::options! {
    /// Options of a proxy.
    ///
    /// ```
    /// use trunkline::ProxyOptions;
    ///
    /// let options = ProxyOptions::default().with_prefix("weather").with_max_connections(16);
    /// ```
    #[derive(Debug, Clone)]
    pub struct ProxyOptions {
        /// Prefix of its names and URIs: tools and prompts become `prefix__name`, resources
        /// `prefix+uri`. Without it, names and URIs stay the same, which is possible for one
        /// server.
        @some(String) prefix: Option<String> => "prefix" = None,
        /// Maximum connections to a server on behalf of individual callers, if its revision is
        /// before 2026-07-28. An idle connection is closed for another caller, and after five
        /// minutes; if none is idle, the call is refused as busy.
        max_connections: usize => "maxConnections" = 64,
    }
    setters proxy_setters
}

/// A proxy for the server behind a client, or for all servers of a group; see [`Server::proxy`].
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
    source: ProxySource,
    options: ProxyOptions,
}

#[derive(Clone)]
enum ProxySource {
    Client(Client),
    Group(ClientGroup),
}

impl ProxyDefinition {
    /// Creates a proxy for the server of this client. Its names and URIs stay unchanged unless you
    /// set a prefix.
    pub fn new(client: &Client) -> Self {
        Self::of(ProxySource::Client(client.clone()))
    }

    /// Creates a proxy for all servers of this group, including those added later. Names and URIs
    /// are those of the group: `server__name` and `server+uri`.
    pub fn from_group(group: &ClientGroup) -> Self {
        Self::of(ProxySource::Group(group.clone()))
    }

    fn of(source: ProxySource) -> Self {
        Self { source, options: ProxyOptions::default() }
    }

    /// Sets all options at once.
    pub fn options(mut self, options: ProxyOptions) -> Self {
        self.options = options;
        self
    }

    proxy_setters!(self, self.options);
}

impl From<&Client> for ProxyDefinition {
    fn from(client: &Client) -> Self {
        Self::new(client)
    }
}

impl From<&ClientGroup> for ProxyDefinition {
    fn from(group: &ClientGroup) -> Self {
        Self::from_group(group)
    }
}

impl Server {
    /// Exposes the features of the server behind a client as features of this one. The two sides
    /// can use different revisions: the proxy exposes a legacy server under 2026-07-28, and a
    /// modern one to legacy clients. Without a prefix, which is possible for one server, names and
    /// URIs stay unchanged; see [`ProxyDefinition`]. Use the returned handle to remove the proxy.
    ///
    /// Progress, log messages and cancellations are forwarded in both directions, and results and
    /// errors are passed on unchanged. If the server requests input, the request goes to the client
    /// of the call that needs it. In the legacy era, a session belongs to a single client, so each
    /// caller gets its own connection, opened with the settings of this client; lists, completions
    /// and subscriptions use this client's connection. If the server cannot be reached, only calls
    /// to it fail, and its features are missing from lists in the meantime.
    ///
    /// ```no_run
    /// use trunkline::{ChildCommand, Client, Server};
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let old = Client::connect(ChildCommand::new(["python", "old_server.py"])).await?;
    /// let gateway = Server::builder("gateway", "1.0.0").build();
    /// gateway.proxy(&old)?;
    /// gateway.listen("127.0.0.1:8000").await?.closed().await;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// For a group, each of its servers is exposed under its name in the group, for as long as it
    /// belongs to the group.
    ///
    /// # Errors
    /// If the prefix is invalid or already in use, if the client or a server of the group is
    /// connected to this server itself, or if a server of the group is itself a group.
    pub fn proxy(&self, proxy: impl Into<ProxyDefinition>) -> Result<FeatureHandle<Server>, RegisterError> {
        let ProxyDefinition { source, options: ProxyOptions { prefix, max_connections } } = proxy.into();
        let prefix = prefix.unwrap_or_default();
        let client = match source {
            ProxySource::Client(client) => client,
            ProxySource::Group(group) => return ProxiedGroup::show(group, self, &prefix, max_connections),
        };
        let connector = client.connector();
        if !connector.has_sessions() {
            return Err(RegisterError("proxy: this client belongs to a group; pass the group itself".to_owned()));
        }
        if connector.is_of_server(self.identity()) {
            return Err(RegisterError(
                "proxy: the client is connected to this server itself, so calls would never end".to_owned(),
            ));
        }
        let mount_point = MountPoint { server: self.downgrade(), prefix: prefix.clone() };
        let remote = Remote::new(client, mount_point, max_connections);
        remote.watching.begin(&remote.client);
        self.add_mount(&prefix, MountSource::Remote(remote))
    }
}

impl ServerBuilder {
    /// Exposes the features of the server behind a client, or of all servers of a group; see
    /// [`Server::proxy`].
    pub fn proxy(self, proxy: impl Into<ProxyDefinition>) -> Self {
        let proxy = proxy.into();
        self.adding(move |server| server.proxy(proxy).map(drop))
    }
}
