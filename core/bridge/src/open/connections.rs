//! Opening connections.

use crate::{
    BridgeError, Event, EventKind, PortState,
    description::server_description,
    host::{self, client_authorization, custom_transport, function::Host, server_requests},
    message::{Configured, Group, Memory, OpenMessage},
    open::{
        connectors::{of_entry, of_target},
        groups, host_reads, ports,
        read::{Connecting, connecting},
        state::{PendingOpen, become_open, ended, ends_with},
    },
    requests::to_server,
    state::entries::Connection,
};
use bytes::Bytes;
use std::sync::{Arc, Weak};
use trunkline::{
    bridge_support::MemoryConnector,
    client::{
        Client, ClientError, ClientEvents, ClientGroup, ClientOptions, Connector, NamedServer, ServerDefaults,
        ServerEntry,
    },
    protocol::RawJson,
    wire_log::Transport,
};

/// The target of a connection.
enum ConnectionTarget {
    Server(Arc<dyn Connector>),
    Group(Vec<NamedServer>),
}

pub(super) fn open(state: &Arc<PortState>, options: ClientOptions, given: OpenMessage) -> Result<u64, BridgeError> {
    let transport = connecting(given.transport)?;
    options.check().map_err(|problem| BridgeError::invalid(format!("open: client.{problem}")))?;
    let process = state.process()?;
    let is_group = matches!(transport, Connecting::Group(_));
    // Host-driven reads work for a single server only.
    let handoff = (given.host_driven_reads && !is_group).then(Arc::default);
    let host = Host::new(state);
    let auth = client_authorization::credentials(given.auth, &given.handlers, &host)?;
    if let Some(auth) = auth.as_ref().filter(|_| is_group) {
        auth.check_group().map_err(|error| BridgeError::invalid(format!("open: {error}")))?;
    }
    let options = options.with_auth(auth).with_server_defaults(defaults(&transport)?);
    let options = state.telemetry.of_client(options);
    let begun = given.span.map(|span| state.telemetry.begun(span)).transpose()?.flatten();
    if !matches!(transport, Connecting::Channel) {
        custom_transport::check_unused(&given.handlers)?;
    }
    let target = match transport {
        Connecting::Group(Group { servers, .. }) => {
            ConnectionTarget::Group(groups::servers(state, &servers, &options)?)
        }
        Connecting::Channel => ConnectionTarget::Server(custom_transport::connector(&given.handlers, &host)?),
        Connecting::Memory(Memory { server, port }) => {
            let server = ports::server_of(state, server, port)?;
            ConnectionTarget::Server(Arc::new(MemoryConnector::new(server, state.runtime()?)))
        }
        Connecting::Config(Configured { server, .. }) => {
            let entry = ServerEntry::from_value_with(&server, &options.variables).map_err(ClientError::from)?;
            ConnectionTarget::Server(of_entry(state, entry, &options, handoff.clone())?)
        }
        Connecting::Server(target) => ConnectionTarget::Server(of_target(target, &options, handoff.clone())?),
    };
    if let ConnectionTarget::Server(connector) = &target
        && options.auth.is_some()
        && connector.transport() != Transport::Http
    {
        return Err(BridgeError::invalid("open: auth is for servers over HTTP, but this one is not"));
    }
    let functions = host::fixed_names(&given.handlers);
    let answered = server_requests::operations(&given.handlers)?;
    let opening = PendingOpen::enter(state, given.wait)?;
    let handle = opening.handle;
    host.set_handle(handle);
    let options = options.with_handlers(server_requests::handlers(&host, answered)).with_opening(begun);
    if let Some(handoff) = handoff {
        host_reads::enable(&state.handoffs, &state.queue, handle, &handoff);
    }
    let connection = |client, group| Connection { client, group, functions: Arc::new(functions) };
    let connecting = state.spawn(&process, connect(opening, target, options, connection));
    ends_with::<Connection>(state, handle, (connecting.abort_handle(), host.in_use));
    Ok(handle)
}

/// The options for what the servers of a configuration don't set.
fn defaults(transport: &Connecting) -> Result<ServerDefaults, BridgeError> {
    let (defaults, is_group) = match transport {
        Connecting::Config(Configured { defaults, .. }) => (defaults, false),
        Connecting::Group(Group { defaults, .. }) => (defaults, true),
        _ => return Ok(ServerDefaults::default()),
    };
    defaults.check(is_group).map_err(|problem| BridgeError::invalid(format!("open: transport.defaults.{problem}")))?;
    Ok(defaults.clone())
}

async fn connect(
    opening: PendingOpen<Connection>,
    target: ConnectionTarget,
    options: ClientOptions,
    connection: impl FnOnce(Client, Option<Arc<ClientGroup>>) -> Connection,
) {
    let state = &opening.state;
    let runtime = match state.runtime() {
        Ok(runtime) => runtime,
        Err(error) => return opening.failed(error),
    };
    let events = Arc::new(HostEvents { state: Arc::downgrade(state), handle: opening.handle });
    let opened = match target {
        ConnectionTarget::Server(connector) => {
            Client::open(runtime, connector, options, events).await.map(|client| connection(client, None))
        }
        ConnectionTarget::Group(servers) => {
            let opened = ClientGroup::open(runtime, servers, options, events).await;
            opened.map(|group| connection(Client::clone(&group), Some(Arc::new(group))))
        }
    };
    match opened {
        Ok(connection) => connected(&opening, &connection).await,
        Err(error) => opening.failed(error.into()),
    }
}

async fn connected(opening: &PendingOpen<Connection>, connection: &Connection) {
    let (state, handle, client) = (&opening.state, opening.handle, &connection.client);
    match become_open(state, handle, connection.clone()) {
        Some(waiting) => {
            opening.opened(server_description(client));
            to_server::send_waiting(state, connection, handle, waiting);
            // If it ended before it was registered here, nobody has been notified.
            if let Some(failure) = client.failure() {
                ended::<Connection>(state, handle, Some(failure.into()));
            }
        }
        // Closed while opening: `end` has notified the host.
        None => client.close().await,
    }
}

/// Passes what a connection receives to the host.
struct HostEvents {
    state: Weak<PortState>,
    handle: u64,
}

impl ClientEvents for HostEvents {
    fn notification(&self, method: &str, params: Option<&RawJson>) {
        let Some(state) = self.state.upgrade() else { return };
        let body = params.map_or_else(|| Bytes::from_static(b"{}"), |params| params.clone().into_bytes());
        let (kind, name) = (EventKind::Notification, method.to_owned());
        let event = Event { kind, handle: self.handle, name, body: body.into(), ..Event::default() };
        state.queue.push_notification(event);
    }

    fn closed(&self, error: Option<&ClientError>) {
        // If this side closes the connection, its end is reported once everything has ended.
        if let (Some(state), Some(error)) = (self.state.upgrade(), error) {
            ended::<Connection>(&state, self.handle, Some(error.clone().into()));
        }
    }
}
