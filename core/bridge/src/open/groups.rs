//! Groups: many servers behind one connection, and the requests that the group itself answers.

use crate::{
    BridgeError, PortState,
    host::function::{functions, has},
    host_json::read_value,
    message::{Request, SharedConnection},
    open::{connectors::of_entry, ports},
    requests::replies::{answer_by_task, written},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use trunkline::{
    bridge_support::{described, json_names},
    client::{self, ClientError, ClientGroup, ClientOptions, GroupTarget, NamedServer, ServerEntry, ServersConfig},
    protocol::{RawJson, model::Implementation},
};

functions! {
    /// Lists the servers of the group, with their states, in the order in which they were added.
    SERVERS = "servers"() -> GroupServers;
    /// Adds a server to the group. If connecting to it fails, this is an error, but the server
    /// stays in the group, and the next request to it reconnects.
    ADD = "add_server"(AddServer);
    /// Removes a server from the group. Its connection is closed, and its requests in flight fail
    /// as closed.
    REMOVE = "remove_server"(NameServer);
    /// Reconnects a disconnected server of the group. Has no effect if it is connected.
    RECONNECT = "reconnect_server"(NameServer);
}

described! {
    /// A server to add to a group.
    #[derive(Deserialize)]
    pub struct AddServer {
        /// Name of the server, which prefixes the names of its tools.
        required name: String = "name",
        /// The server: an entry of `mcpServers`, a URL, a command as a list, or a client, whose
        /// connection the group shares and does not close.
        required target: Value = "target",
    }

    /// A server of a group.
    #[derive(Deserialize)]
    pub struct NameServer {
        /// Name under which the server was added.
        required name: String = "name",
    }

    /// The servers of a group.
    #[derive(Serialize)]
    pub struct GroupServers {
        /// Servers, in the order in which they were added.
        required servers: Vec<GroupServer> = "servers",
    }

    /// The current state of a server of a group.
    #[derive(Serialize)]
    pub struct GroupServer {
        /// Name under which the server was added.
        required name: String = "name",
        /// Prefix of the names of its tools and prompts (`prefix__name`) and of the URIs of its
        /// resources (`prefix+uri`). This is the name itself if it contains only letters, digits,
        /// `_` and `-`.
        required prefix: String = "prefix",
        /// State of its connection.
        required state: GroupServerState = "state",
        /// Protocol revision, while it is connected.
        #[serde(skip_serializing_if = "Option::is_none")]
        optional revision: Option<&'static str> = "revision" as String,
        /// Name and version of the server, if it sent them.
        #[serde(skip_serializing_if = "Option::is_none")]
        optional server_info: Option<Implementation> = "serverInfo",
        /// Error that ended the connection or prevented it.
        #[serde(skip_serializing_if = "Option::is_none")]
        optional error: Option<Value> = "error",
    }
}

json_names! {
    /// The state of the connection to a server of a group.
    pub enum GroupServerState, by default Disconnected {
        /// The connection is being established.
        Connecting = "connecting",
        /// The connection is open.
        Connected = "connected",
        /// Connecting failed, or the connection was lost; the next request to the server
        /// reconnects.
        Disconnected = "disconnected",
    }
}

/// The servers of a group. An error of one server is not an error of the group.
pub(crate) fn servers(
    state: &Arc<PortState>,
    given: &Value,
    options: &ClientOptions,
) -> Result<Vec<NamedServer>, BridgeError> {
    let invalid = |error: BridgeError| ClientError::Invalid(error.message);
    let entry = |entry: Result<ServerEntry, ClientError>| {
        entry.map_err(BridgeError::from).and_then(|entry| member(state, entry, options)).map_err(invalid)
    };
    if let Value::Object(servers) = given
        && !ServersConfig::is_config(given)
    {
        let target = |server| match SharedConnection::is_meant(server) {
            true => shared(state, "open: transport.servers", server).map_err(invalid),
            false => entry(ServerEntry::from_value_with(server, &options.variables).map_err(ClientError::from)),
        };
        return Ok(servers.iter().map(|(name, server)| (name.clone(), target(server))).collect());
    }
    let config = match given {
        Value::String(file) => ServersConfig::from_file_with(file, &options.variables),
        config => ServersConfig::from_value_with(config, &options.variables),
    };
    let config = config.map_err(|error| BridgeError::invalid(format!("open: transport.servers: {error}")))?;
    Ok(config.into_iter().map(|(name, given)| (name, entry(given.map_err(ClientError::from)))).collect())
}

/// How to connect to a server of a group.
fn member(state: &Arc<PortState>, entry: ServerEntry, options: &ClientOptions) -> Result<GroupTarget, BridgeError> {
    of_entry(state, entry, options, None).map(GroupTarget::Connector)
}

/// A connection that the host already has.
fn shared(state: &Arc<PortState>, at: &str, server: &Value) -> Result<GroupTarget, BridgeError> {
    let given: SharedConnection = read_value(at, server.clone())?;
    ports::client_of(state, &given).map(GroupTarget::Client)
}

/// Returns whether a connection to a group handles a method itself.
pub(crate) fn is_operation(method: &str) -> bool {
    has(FUNCTIONS, method)
}

/// Handles a request about the group.
pub(crate) fn ask(
    state: &Arc<PortState>,
    group: &ClientGroup,
    ticket: u64,
    given: &Request,
) -> Result<(), BridgeError> {
    let group = group.clone();
    match given.method.as_str() {
        SERVERS => answer_by_task(state, ticket, given, async move { facts(&group) }),
        ADD => {
            let AddServer { name, target } = given.read_params()?;
            let server = if SharedConnection::is_meant(&target) {
                shared(state, "add_server: target", &target)?
            } else {
                let wrong = |error| BridgeError::invalid(format!("{ADD}: target: {error}"));
                let options = group.options();
                member(state, ServerEntry::from_value_with(&target, &options.variables).map_err(wrong)?, &options)?
            };
            answer_by_task(state, ticket, given, done(async move { group.add_target(&name, server).await }))
        }
        REMOVE => {
            let NameServer { name } = given.read_params()?;
            answer_by_task(state, ticket, given, done(async move { group.remove_server(&name).await }))
        }
        RECONNECT => {
            let NameServer { name } = given.read_params()?;
            answer_by_task(state, ticket, given, done(async move { group.reconnect_server(&name).await }))
        }
        other => Err(BridgeError::invalid(format!("request: {other} is not a request of groups"))),
    }
}

/// The result of a request that returns nothing.
async fn done(work: impl Future<Output = Result<(), ClientError>>) -> Result<RawJson, BridgeError> {
    work.await?;
    Ok(RawJson::empty_object())
}

fn facts(group: &ClientGroup) -> Result<RawJson, BridgeError> {
    written(&GroupServers { servers: group.servers().into_iter().map(server_facts).collect() })
}

fn server_facts(server: client::GroupServer) -> GroupServer {
    GroupServer {
        name: server.name,
        prefix: server.prefix,
        state: match server.state {
            client::GroupServerState::Connecting => GroupServerState::Connecting,
            client::GroupServerState::Connected => GroupServerState::Connected,
            _ => GroupServerState::Disconnected,
        },
        revision: server.revision.map(|revision| revision.as_str()),
        server_info: server.server_info,
        error: server.error.map(|error| json!(BridgeError::from(error))),
    }
}
