//! Which servers a proxy is for, and its options.

use super::{
    proxied_group::ProxiedGroup,
    remote::{Remote, RemoteOptions},
    tool_filter::ToolFilter,
    watching::MountPoint,
};
use crate::group::ClientGroup;
use trunkline_core::{
    client::Client,
    server::{FeatureHandle, IntoProxy, Proxy, RegisterError, Server},
};

trunkline_proto::options! {
    /// Options of a proxy.
    ///
    /// ```
    /// use trunkline::ProxyOptions;
    ///
    /// let options = ProxyOptions::default().with_prefix("weather").with_max_connections(16);
    /// let bridge = ProxyOptions::default().with_transparent(true);
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
        /// Let all callers share the client's connection, whatever the revision of the server. Then
        /// what a server of an older revision keeps for a session is common to all of them, and the
        /// client's own handlers answer its requests.
        shared: bool => "shared" = false,
        /// Show clients the server behind the proxy instead of this one: its name and version, its
        /// instructions, and the capabilities that it declares. If it cannot be reached,
        /// `initialize`, `server/discover` and lists fail with the reason. For a proxy of one
        /// server without a prefix.
        transparent: bool => "transparent" = false,
        /// The tools to offer, as patterns of names with `*` and `?`; others are neither listed nor
        /// called. By default, all. For a group, these are the names of the group, such as
        /// `github__get_*`; otherwise those of the server, without the prefix.
        @each(String) allow_tools: Vec<String> => "allowTools" = Vec::new(),
        /// Tools not to offer, in the same form, even if they are allowed.
        @each(String) deny_tools: Vec<String> => "denyTools" = Vec::new(),
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
    pub(super) source: ProxySource,
    pub(super) options: ProxyOptions,
}

#[derive(Clone)]
pub(super) enum ProxySource {
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

impl IntoProxy<ProxyDefinition> for ProxyDefinition {
    fn into_proxy(self) -> ProxyDefinition {
        self
    }
}

impl IntoProxy<ProxyDefinition> for &Client {
    fn into_proxy(self) -> ProxyDefinition {
        ProxyDefinition::new(self)
    }
}

impl IntoProxy<ProxyDefinition> for &ClientGroup {
    fn into_proxy(self) -> ProxyDefinition {
        ProxyDefinition::from_group(self)
    }
}

impl Proxy for ProxyDefinition {
    fn add_to(self, server: &Server) -> Result<FeatureHandle<Server>, RegisterError> {
        let Self { source, options } = self;
        let ProxyOptions { prefix, max_connections, shared, transparent, allow_tools, deny_tools } = options;
        let prefix = prefix.unwrap_or_default();
        let tools = ToolFilter::new(allow_tools, deny_tools);
        let options = RemoteOptions { max_connections, shared, transparent, tools };
        if transparent && (!prefix.is_empty() || matches!(source, ProxySource::Group(_))) {
            return Err(RegisterError(
                "proxy: transparent is for the proxy of one server without a prefix, whose names stay unchanged"
                    .to_owned(),
            ));
        }
        let client = match source {
            ProxySource::Client(client) => client,
            ProxySource::Group(group) => return ProxiedGroup::show(group, server, &prefix, options),
        };
        check_client(&client, server)?;
        let mount_point = MountPoint { server: server.downgrade(), prefix: prefix.clone() };
        let remote = Remote::new(client, mount_point, options);
        if remote.client.was_opened() {
            remote.begin();
        }
        server.mount_remote(&prefix, remote)
    }
}

/// Refuses a client whose calls would be ambiguous or endless.
pub(super) fn check_client(client: &Client, server: &Server) -> Result<(), RegisterError> {
    let connector = client.connector();
    if !connector.has_sessions() {
        return Err(RegisterError("proxy: this client belongs to a group; pass the group itself".to_owned()));
    }
    if connector.is_of_server(server.identity()) {
        return Err(RegisterError(
            "proxy: the client is connected to this server itself, so calls would never end".to_owned(),
        ));
    }
    Ok(())
}
