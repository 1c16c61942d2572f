//! Many servers behind one client.

mod changes;
mod link;
mod member;
mod members;
mod names;
mod rewriting;
mod unrecorded;

use super::{Client, ClientError, ClientEvents, ClientOptions, Connector};
use crate::{
    engine::RevisionChoice,
    protocol::{Revision, model::Implementation},
    runtime::Runtime,
};
use link::GroupConnector;
use member::Member;
use members::GroupMembers;
use std::{ops::Deref, sync::Arc, time::Duration};
use unrecorded::Unrecorded;

/// Many servers behind one client: it has all operations of [`Client`], and each request goes to
/// the server that it is for.
///
/// Tools and prompts are named `server__name`, of the signs and within the 64 that the interfaces
/// of models take: a name that does not fit is shortened, and ends with a hash of itself. Resources
/// are `server+uri`, as in `weather+file:///today`. These names are the same in every run.
///
/// The servers are connected to at once. One that fails does not take the others along:
/// [`ClientGroup::servers`] has its error, and a request to it, or [`ClientGroup::reconnect`],
/// tries again. Changes of one server come as changes of the group.
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
/// group.add("notes", ["python", "notes.py"]).await?;
/// println!("{} tools", group.list_tools().await?.len());
/// group.remove("weather").await?;
/// group.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ClientGroup {
    client: Client,
    members: Arc<GroupMembers>,
    options: ClientOptions,
}

/// A server of a group, as it is now.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GroupServer {
    /// The name by which it was added.
    pub name: String,
    /// The beginning of the names of its tools and prompts: the name itself where that has only
    /// letters, digits, `_` and `-`.
    pub prefix: String,
    /// The revision that is spoken; `None` while there is no connection.
    pub revision: Option<Revision>,
    /// The name and version of the server, if it gave them.
    pub info: Option<Implementation>,
    /// Why there is no connection.
    pub error: Option<ClientError>,
}

/// A server for a group: its name, and its place or the error in its configuration.
pub type NamedServer = (String, Result<Arc<dyn Connector>, ClientError>);

impl ClientGroup {
    /// Opens a group, and connects to all of its servers. The options are those of each connection.
    ///
    /// # Errors
    /// [`ClientError::Invalid`] if two servers have the same name, or an option is invalid. A
    /// server that cannot be connected to is no error.
    pub async fn open(
        runtime: Arc<dyn Runtime>,
        servers: impl IntoIterator<Item = NamedServer>,
        options: ClientOptions,
        events: Arc<dyn ClientEvents>,
    ) -> Result<Self, ClientError> {
        let members = GroupMembers::new(Arc::clone(&runtime));
        for (name, place) in servers {
            members.insert(Member::new(name, place, options.clone()))?;
        }
        // The conversation with the group itself never leaves the process: one revision, and the
        // time of its members.
        let own = options
            .clone()
            .with_revision(RevisionChoice::Pinned(Revision::LATEST_LEGACY))
            .with_listen(false)
            .with_connect_timeout(Duration::MAX);
        let connector = Arc::new(GroupConnector(Arc::clone(&members)));
        let client = Client::open(Arc::new(Unrecorded(runtime)), connector, own, events).await?;
        Ok(Self { client, members, options })
    }

    /// The servers, in the order in which they were added.
    pub fn servers(&self) -> Vec<GroupServer> {
        let servers = self.members.all().into_iter().map(|member| {
            let client = member.connected();
            GroupServer {
                revision: client.as_ref().map(Client::revision),
                info: client.as_ref().and_then(Client::server_info),
                error: member.error(),
                name: member.name.clone(),
                prefix: member.prefix.clone(),
            }
        });
        servers.collect()
    }

    /// The client of one server, which has the server's own names. One that is not connected is
    /// connected to.
    ///
    /// # Errors
    /// If there is no such server, or it cannot be connected to.
    pub async fn server_client(&self, name: &str) -> Result<Client, ClientError> {
        self.members.named(name)?.client(self.members.changes()).await
    }

    /// Adds a server by its connector, and connects to it. One that cannot be connected to stays in
    /// the group, with its error.
    ///
    /// # Errors
    /// If there is a server of that name, or as for [`Client::open`].
    pub async fn add_connector(&self, name: &str, connector: Arc<dyn Connector>) -> Result<(), ClientError> {
        let member = Member::new(name.to_owned(), Ok(connector), self.options.clone());
        self.members.insert(Arc::clone(&member))?;
        member.client(self.members.changes()).await.map(drop)
    }

    /// Takes a server out of the group and closes its connection. Requests that it has in flight
    /// fail as closed.
    ///
    /// # Errors
    /// If there is no such server.
    pub async fn remove(&self, name: &str) -> Result<(), ClientError> {
        let member = self.members.take(name)?;
        member.remove(self.options.close_patience).await;
        self.members.changes().lists_changed();
        Ok(())
    }

    /// Connects to a server again that failed. A server that is connected stays so.
    ///
    /// # Errors
    /// If there is no such server, or as for [`Client::open`].
    pub async fn reconnect(&self, name: &str) -> Result<(), ClientError> {
        self.server_client(name).await.map(drop)
    }

    pub(crate) fn options(&self) -> &ClientOptions {
        &self.options
    }

    pub(crate) fn runtime(&self) -> &Arc<dyn Runtime> {
        self.members.runtime()
    }
}

/// A group is a client of all its servers.
impl Deref for ClientGroup {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}
