//! Many servers behind one client.

#[cfg(feature = "tokio")]
mod entry_points;
mod group_changes;
mod group_link;
mod group_members;
mod group_settings;
mod group_tasks;
mod member;
mod member_pauses;
mod member_subscriptions;

use group_link::GroupConnector;
use group_members::GroupMembers;
use group_settings::GroupSettings;
#[cfg(feature = "server")]
pub(crate) use group_settings::PART_TIMEOUT;
#[cfg(feature = "server")]
pub(crate) use member::GroupMember;
use std::{ops::Deref, sync::Arc, time::Duration};
use trunkline_core::{
    client::{Client, ClientError, ClientEvents, ClientHandlers, ClientOptions, GroupTarget},
    protocol::{
        Revision,
        model::{Implementation, Root},
    },
    runtime::Runtime,
};
use trunkline_proto::engine::RevisionChoice;

/// Many servers behind one client. It has all operations of [`Client`]; each request is routed to
/// one of the servers.
///
/// Tools and prompts are named `server__name`, within the characters and the maximum length of 64
/// that model APIs accept: a longer name is shortened and ends with a hash. Resources are
/// `server+uri`, as in `weather+file:///today`. Names are stable across runs.
///
/// Servers are connected concurrently. A failed server does not affect the others:
/// [`ClientGroup::servers`] has its error, and a request to it, or
/// [`ClientGroup::reconnect_server`], tries again. Changes of a server are reported as changes of
/// the group.
///
/// ```no_run
/// # async fn run() -> Result<(), trunkline::ClientError> {
/// use serde_json::json;
/// use trunkline::client::{ClientGroup, ServersConfig};
///
/// let group = ClientGroup::connect(ServersConfig::from_file("mcp.json")?).await?;
/// for server in group.servers() {
///     println!("{}: {}", server.name, server.error.map_or("connected".to_owned(), |error| error.to_string()));
/// }
/// let result = group.call_tool("weather__forecast", json!({"city": "Oslo"})).await?;
/// println!("{}", result.joined_text());
///
/// group.add_server("notes", ["python", "notes.py"]).await?;
/// // An existing client, with its own handlers and options, which the group does not close.
/// let tickets = trunkline::Client::connect("https://tickets.example/mcp").await?;
/// group.add_server("tickets", &tickets).await?;
/// println!("{} tools", group.list_tools().await?.len());
/// group.remove_server("weather").await?;
/// group.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ClientGroup {
    client: Client,
    members: Arc<GroupMembers>,
}

/// The state of a server in a group.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GroupServer {
    /// The name by which it was added.
    pub name: String,
    /// The prefix of its names in the group: the name itself if that has only letters, digits, `_`
    /// and `-`.
    pub prefix: String,
    /// The state of its connection.
    pub state: GroupServerState,
    /// The negotiated revision; `None` without a connection.
    pub revision: Option<Revision>,
    /// The name and version of the server, if sent.
    pub server_info: Option<Implementation>,
    /// Why there is no connection.
    pub error: Option<ClientError>,
}

/// The state of the connection to a server of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupServerState {
    /// The connection is being established.
    Connecting,
    /// The connection is open.
    Connected,
    /// Connecting failed, or the connection was lost; the next request to the server reconnects.
    Disconnected,
}

/// A server for a group: its name, and how to reach it or the error in its configuration.
pub type NamedServer = (String, Result<GroupTarget, ClientError>);

impl ClientGroup {
    /// Opens a group and connects to all of its servers. The options apply to each connection, and
    /// all connections report list changes.
    ///
    /// # Errors
    /// [`ClientError::Invalid`] if two servers have the same name, or an option is invalid. Failing
    /// to connect to a server is not an error.
    #[expect(deprecated, reason = "older revisions have it")]
    pub async fn open(
        runtime: Arc<dyn Runtime>,
        servers: impl IntoIterator<Item = NamedServer>,
        options: ClientOptions,
        events: Arc<dyn ClientEvents>,
    ) -> Result<Self, ClientError> {
        options.server_defaults.check(true).map_err(ClientError::Invalid)?;
        if options.lazy {
            let text = "lazy: a group connects to its servers when it is opened, and again on demand";
            return Err(ClientError::Invalid(text.to_owned()));
        }
        if let Some(auth) = &options.auth {
            auth.check_group().map_err(|error| ClientError::Invalid(error.0))?;
        }
        let members = GroupMembers::new(Arc::clone(&runtime), GroupSettings::new(&options));
        for (name, server) in servers {
            members.add(name, server)?;
        }
        // The conversation with the group itself never leaves the process: it uses a single
        // revision and the timeouts of its members.
        let own = options
            .with_revision(RevisionChoice::Pinned(Revision::LATEST_LEGACY))
            .with_listen(false)
            .with_log_level(None)
            .with_connect_timeout(Duration::MAX);
        let connector = Arc::new(GroupConnector(Arc::clone(&members)));
        let client = Client::open(runtime, connector, own, events).await?;
        Ok(Self { client, members })
    }

    /// The servers, in the order in which they were added.
    pub fn servers(&self) -> Vec<GroupServer> {
        let servers = self.members.all().into_iter().map(|member| {
            let (state, client, error) = match member.status() {
                None => (GroupServerState::Connecting, None, None),
                Some(Ok(client)) => (GroupServerState::Connected, Some(client), None),
                Some(Err(error)) => (GroupServerState::Disconnected, None, Some(error)),
            };
            GroupServer {
                state,
                revision: client.as_ref().map(Client::revision),
                server_info: client.as_ref().and_then(Client::server_info),
                error,
                name: member.name.clone(),
                prefix: member.prefix.clone(),
            }
        });
        servers.collect()
    }

    /// The client of one server, with the server's own names. Connects to the server if necessary.
    ///
    /// # Errors
    /// If there is no such server, or it cannot be connected to.
    pub async fn server_client(&self, name: &str) -> Result<Client, ClientError> {
        self.members.named(name)?.client().await
    }

    /// Adds a server and connects to it. If that fails, the server stays in the group with its
    /// error.
    ///
    /// # Errors
    /// If there is a server of that name, or as for [`Client::open`].
    pub async fn add_target(&self, name: &str, server: impl Into<GroupTarget>) -> Result<(), ClientError> {
        let server = server.into();
        if server.leads_to(self.client.id()) {
            return Err(ClientError::Invalid(format!("add_server: {name:?} is this group itself, or contains it")));
        }
        let member = self.members.add(name.to_owned(), Ok(server))?;
        let connected = member.client().await;
        if connected.is_err() {
            // The server is in the group all the same, and will be retried on demand.
            self.members.changes.lists_changed();
        }
        connected.map(drop)
    }

    /// Removes a server from the group and closes its connection, unless it is a shared client. Its
    /// requests in flight fail as closed.
    ///
    /// # Errors
    /// If there is no such server.
    pub async fn remove_server(&self, name: &str) -> Result<(), ClientError> {
        let member = self.members.take(name)?;
        member.remove(self.options().close_timeout).await;
        self.members.changes.lists_changed();
        Ok(())
    }

    /// Reconnects to a failed server. Does nothing if it is connected.
    ///
    /// # Errors
    /// If there is no such server, or as for [`Client::open`].
    pub async fn reconnect_server(&self, name: &str) -> Result<(), ClientError> {
        self.server_client(name).await.map(drop)
    }

    /// Replaces the handlers for all servers.
    ///
    /// # Errors
    /// If they need a capability that was not declared when the group was opened.
    pub fn set_handlers(&self, handlers: ClientHandlers) -> Result<(), ClientError> {
        self.client.set_handlers(handlers.clone())?;
        self.members.settings.change(|options| options.handlers = handlers);
        self.members.update_all();
        Ok(())
    }

    /// Changes the roots for all servers. Legacy servers are notified; others see the new roots
    /// when they ask.
    ///
    /// # Errors
    /// If a URI does not begin with `file://` or contains `..`, or if there were no roots when the
    /// group was opened.
    #[deprecated(note = "in protocol revision 2026-07-28; use tool arguments, resource URIs or configuration instead")]
    #[expect(deprecated, reason = "older revisions have it")]
    pub fn set_roots(&self, roots: impl IntoIterator<Item = Root>) -> Result<(), ClientError> {
        let roots: Vec<_> = roots.into_iter().collect();
        self.client.set_roots(roots.clone())?;
        self.members.settings.change(|options| options.roots = Some(roots));
        self.members.update_all();
        Ok(())
    }

    /// The current options of each connection.
    #[doc(hidden)]
    pub fn options(&self) -> ClientOptions {
        self.members.settings.current().0
    }

    /// The servers one by one, in the order in which they were added.
    #[cfg(feature = "server")]
    pub(crate) fn members(&self) -> Vec<Arc<GroupMember>> {
        self.members.all()
    }
}

/// A group is a client of all its servers.
impl Deref for ClientGroup {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}
