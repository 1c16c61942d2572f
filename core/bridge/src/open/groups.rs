//! Groups: many servers behind one connection, and the requests that the group itself answers.

use crate::{
    error::BridgeError,
    message::{Request, SharedConnection},
    nulls::without_nulls,
    open::{connectors::of_entry, ports},
    process::log_scope::Scoped,
    requests::replies::answer_by_task,
    state::PortState,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use trunkline::{
    auth::OAuthOptions,
    bridge_support::described,
    client::{
        ClientError, ClientGroup, ClientOptions, Connector, GroupServer as OpenServer, GroupServerState, NamedServer,
        ServerEntry, ServerPlace, ServersConfig,
    },
    protocol::{
        RawJson,
        describe::{Described, Type, Values},
        model::Implementation,
    },
};

/// An operation of a group.
pub(crate) struct GroupOperation {
    /// Its method on a connection to a group.
    pub(crate) name: &'static str,
    pub(crate) doc: &'static [&'static str],
    pub(crate) params: Option<Type>,
    pub(crate) result: Option<Type>,
}

const SERVERS: &str = "servers";
const ADD: &str = "add_server";
const REMOVE: &str = "remove_server";
const RECONNECT: &str = "reconnect_server";

/// The operations, for the declaration of the surface.
pub(crate) static OPERATIONS: &[GroupOperation] = &[
    GroupOperation {
        name: SERVERS,
        doc: &[" Lists the servers of the group, with their states, in the order in which they were added."],
        params: None,
        result: Some(GroupServers::TYPE),
    },
    GroupOperation {
        name: ADD,
        doc: &[
            " Adds a server to the group. If connecting to it fails, this is an error, but the server stays in the group, and",
            " the next request to it reconnects.",
        ],
        params: Some(AddServer::TYPE),
        result: None,
    },
    GroupOperation {
        name: REMOVE,
        doc: &[
            " Removes a server from the group. Its connection is closed, and its requests in flight fail as closed.",
        ],
        params: Some(NameServer::TYPE),
        result: None,
    },
    GroupOperation {
        name: RECONNECT,
        doc: &[" Reconnects a disconnected server of the group. Has no effect if it is connected."],
        params: Some(NameServer::TYPE),
        result: None,
    },
];

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
}

described! {
    /// A server of a group.
    #[derive(Deserialize)]
    pub struct NameServer {
        /// Name under which the server was added.
        required name: String = "name",
    }
}

described! {
    /// The servers of a group.
    #[derive(Serialize)]
    pub struct GroupServers {
        /// Servers, in the order in which they were added.
        required servers: Vec<GroupServer> = "servers",
    }
}

described! {
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
        required state: &'static str = "state" as GroupServerStates,
        /// Protocol revision, while it is connected.
        optional revision: Option<&'static str> = "revision" as String,
        /// Name and version of the server, if it sent them.
        optional server_info: Option<Implementation> = "serverInfo",
        /// Error that ended the connection or prevented it.
        optional error: Option<Value> = "error",
    }
}

/// The states, as JSON.
struct GroupServerStates;

impl Described for GroupServerStates {
    const TYPE: Type = {
        static VALUES: Values = Values {
            name: "GroupServerState",
            doc: &[" The state of the connection to a server of a group."],
            values: &[
                (CONNECTING, &[" The connection is being established."]),
                (CONNECTED, &[" The connection is open."]),
                (
                    DISCONNECTED,
                    &[" Connecting failed, or the connection was lost; the next request to the server reconnects."],
                ),
            ],
            open: false,
        };
        Type::Values(&VALUES)
    };
}

const CONNECTING: &str = "connecting";
const CONNECTED: &str = "connected";
const DISCONNECTED: &str = "disconnected";

/// The servers of a group. An error of one server is not an error of the group.
pub(crate) fn servers(
    state: &Arc<PortState>,
    given: &Value,
    options: &ClientOptions,
) -> Result<Vec<NamedServer>, BridgeError> {
    let entry = |entry: Result<ServerEntry, ClientError>| {
        let made = entry.map_err(BridgeError::from).and_then(|entry| member(state, entry, options));
        made.map_err(|error| ClientError::Invalid(error.message))
    };
    if let Value::Object(servers) = given
        && !ServersConfig::is_config(given)
    {
        let named = |(name, server): (&String, &Value)| {
            let server = match SharedConnection::is_meant(server) {
                true => shared(state, "open: transport.servers", server),
                false => {
                    return (
                        name.clone(),
                        entry(ServerEntry::from_value_with(server, &options.variables).map_err(ClientError::from)),
                    );
                }
            };
            (name.clone(), server.map_err(|error| ClientError::Invalid(error.message)))
        };
        return Ok(servers.iter().map(named).collect());
    }
    let config = match given {
        Value::String(file) => ServersConfig::from_file_with(file, &options.variables),
        config => ServersConfig::from_value_with(config, &options.variables),
    };
    let config = config.map_err(|error| BridgeError::invalid(format!("open: transport.servers: {error}")))?;
    Ok(config.into_iter().map(|(name, given)| (name, entry(given.map_err(ClientError::from)))).collect())
}

/// How to connect to a server of a group.
fn member(state: &Arc<PortState>, entry: ServerEntry, options: &ClientOptions) -> Result<ServerPlace, BridgeError> {
    let connector: Arc<dyn Connector> = of_entry(state, entry, options, None)?;
    let connector: Arc<dyn Connector> = Arc::new(Scoped::new(&state.queue, connector));
    Ok(connector.into())
}

/// A connection that the host already has.
fn shared(state: &Arc<PortState>, at: &str, server: &Value) -> Result<ServerPlace, BridgeError> {
    let given: SharedConnection =
        Deserialize::deserialize(server).map_err(|error| BridgeError::invalid(format!("{at}: {error}")))?;
    ports::client_of(state, &given).map(ServerPlace::Client)
}

/// Rejects credentials that are for one server, because a group would send them to all.
pub(crate) fn check_auth(auth: Option<&OAuthOptions>) -> Result<(), BridgeError> {
    let Some(auth) = auth else { return Ok(()) };
    if auth.token.is_some() {
        return Err(BridgeError::invalid(
            "open: auth.token is for one server, and a group would send it to all: give it as `auth` of the server's entry, or give the function access_token, which gets the URL",
        ));
    }
    if auth.client_secret.is_some() && auth.issuer.is_none() {
        return Err(BridgeError::invalid(
            "open: auth.issuer is missing: the client secret of a group is for one authorization server",
        ));
    }
    Ok(())
}

/// Returns whether a connection to a group handles a method itself.
pub(crate) fn is_operation(method: &str) -> bool {
    OPERATIONS.iter().any(|operation| operation.name == method)
}

/// Handles a request about the group.
pub(crate) fn ask(
    state: &Arc<PortState>,
    group: &ClientGroup,
    ticket: u64,
    given: &Request,
) -> Result<(), BridgeError> {
    let action = Action::read(state, group, given)?;
    let group = group.clone();
    answer_by_task(state, ticket, given, async move { action.run(&group).await.map_err(BridgeError::from) })
}

/// A request about the group.
enum Action {
    List,
    Add(String, ServerPlace),
    Remove(String),
    Reconnect(String),
}

impl Action {
    fn read(state: &Arc<PortState>, group: &ClientGroup, given: &Request) -> Result<Self, BridgeError> {
        let name = || params::<NameServer>(given).map(|given| given.name);
        Ok(match given.method.as_str() {
            ADD => {
                let AddServer { name, target } = params(given)?;
                let server = if SharedConnection::is_meant(&target) {
                    shared(state, "add_server: target", &target)?
                } else {
                    let wrong = |error| BridgeError::invalid(format!("{ADD}: target: {error}"));
                    let options = group.options();
                    member(state, ServerEntry::from_value_with(&target, &options.variables).map_err(wrong)?, &options)?
                };
                Self::Add(name, server)
            }
            REMOVE => Self::Remove(name()?),
            RECONNECT => Self::Reconnect(name()?),
            _ => Self::List,
        })
    }

    async fn run(self, group: &ClientGroup) -> Result<RawJson, ClientError> {
        match self {
            Self::List => return facts(group),
            Self::Add(name, server) => group.add_place(&name, server).await?,
            Self::Remove(name) => group.remove_server(&name).await?,
            Self::Reconnect(name) => group.reconnect_server(&name).await?,
        }
        Ok(RawJson::empty_object())
    }
}

fn params<T: for<'de> Deserialize<'de>>(given: &Request) -> Result<T, BridgeError> {
    let params = given.params.clone().unwrap_or_else(RawJson::empty_object);
    params.read().map_err(|problem| BridgeError::invalid(format!("{}: {problem}", given.method)))
}

fn facts(group: &ClientGroup) -> Result<RawJson, ClientError> {
    let servers = group.servers().into_iter().map(server_facts).collect();
    let mut facts = json!(GroupServers { servers });
    for server in facts["servers"].as_array_mut().into_iter().flatten() {
        *server = without_nulls(server.take());
    }
    RawJson::from_value(&facts).map_err(|error| ClientError::Invalid(error.to_string()))
}

fn server_facts(server: OpenServer) -> GroupServer {
    let error =
        server.error.map(|error| serde_json::from_slice(&BridgeError::from(error).to_json()).unwrap_or_default());
    GroupServer {
        name: server.name,
        prefix: server.prefix,
        state: match server.state {
            GroupServerState::Connecting => CONNECTING,
            GroupServerState::Connected => CONNECTED,
            _ => DISCONNECTED,
        },
        revision: server.revision.map(|revision| revision.as_str()),
        server_info: server.server_info,
        error,
    }
}
