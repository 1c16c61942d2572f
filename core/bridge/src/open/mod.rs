//! Opening and closing listeners and connections.

pub(crate) mod closing;
pub(crate) mod connection;
pub(crate) mod connectors;
pub(crate) mod endpoint_auth;
pub(crate) mod foreground;
pub(crate) mod groups;
pub(crate) mod host_reads;
pub(crate) mod ports;
pub(crate) mod read;
pub(crate) mod signals;
pub(crate) mod state;

use crate::{
    description::server_description,
    error::{BridgeError, ErrorKind},
    events::{Event, EventKind, slot::ReplySlot},
    host::{self, authorization, channel, function::HostFunction, server_requests},
    message::{Configured, Connecting, Group, Listening, Open, OpenConnection, OpenListener},
    open::{
        connection::Connection,
        connectors::connector,
        endpoint_auth::authorization,
        state::{become_open, ended, failed_to_open, opened},
    },
    process::log_scope::Scoped,
    requests,
    state::{
        PortState,
        entries::{OpenState as Entry, Openable},
    },
};
use bytes::Bytes;
use serde_json::{Value, json};
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::{
    collections::BTreeSet,
    marker::PhantomData,
    sync::{Arc, Weak},
    time::Duration,
};
use trunkline::{
    bridge_support::ReadHandoff,
    client::{Client, ClientError, ClientEvents, ClientGroup, ClientOptions, Connector, NamedServer, ServerDefaults},
    protocol::RawJson,
    server::Server,
    transport::{HttpOptions, Listener},
    wire_log::Transport,
};

pub(crate) fn open(state: &Arc<PortState>, given: Open) -> Result<u64, BridgeError> {
    match given {
        Open::Listener(given) => open_listener(state, given),
        Open::Connection(given) => open_connection(state, given),
    }
}

/// Validates an open without performing it.
pub(crate) fn check(state: &Arc<PortState>, given: Open) -> Result<(), BridgeError> {
    match given {
        Open::Listener(OpenListener {
            transport: Listening::Mounted { options, auth, .. } | Listening::Http { options, auth },
            ..
        }) => with_auth(state, options, auth).map(drop),
        _ => Ok(()),
    }
}

fn open_listener(state: &Arc<PortState>, given: OpenListener) -> Result<u64, BridgeError> {
    let process = state.process()?;
    let slot = given.wait.then(Arc::<ReplySlot>::default);
    let how = match given.transport {
        Listening::Mounted { path, options, auth } => {
            return mount(state, given.server, path.as_deref(), &with_auth(state, options, auth)?, slot);
        }
        Listening::Stdio => How::Stdio,
        Listening::Http { options, auth } => How::Http(Box::new(with_auth(state, options, auth)?)),
    };
    let server = state.server(given.server)?;
    let opening = PendingOpen::<Arc<Listener>>::enter(state, slot)?;
    let handle = opening.handle;
    let handoff = given.host_driven_reads.then(Arc::default);
    if let Some(handoff) = &handoff {
        host_reads::enable(&state.handoffs, &state.queue, handle, handoff);
    }
    state.spawn(
        &process,
        listen(
            Arc::clone(state),
            opening,
            server,
            how,
            handoff,
            Ending { foreground: given.foreground, signals: given.signals },
        ),
    );
    Ok(handle)
}

fn open_connection(state: &Arc<PortState>, given: OpenConnection) -> Result<u64, BridgeError> {
    given.client.check().map_err(|problem| BridgeError::invalid(format!("open: client.{problem}")))?;
    let process = state.process()?;
    let slot = given.wait.then(Arc::<ReplySlot>::default);
    let is_group = matches!(given.transport, Connecting::Group(_));
    // Host-driven reads work for a single server only.
    let handoff = (given.host_driven_reads && !is_group).then(Arc::default);
    let host = HostFunction::new(state);
    if is_group {
        groups::check_auth(given.auth.as_ref())?;
    }
    let auth = authorization::credentials(given.auth, &given.handlers, &host)?;
    let defaults = match &given.transport {
        Connecting::Config(Configured { defaults, .. }) | Connecting::Group(Group { defaults, .. }) => defaults.clone(),
        _ => ServerDefaults::default(),
    };
    defaults.check(is_group).map_err(|problem| BridgeError::invalid(format!("open: transport.defaults.{problem}")))?;
    let client = state.telemetry.of_client(given.client.with_auth(auth).with_server_defaults(defaults));
    let begun = given.span.map(|span| state.telemetry.begun(span)).transpose()?.flatten();
    if !matches!(given.transport, Connecting::Channel) {
        channel::check_unused(&given.handlers)?;
    }
    let target = match given.transport {
        Connecting::Channel => ConnectionTarget::Server(channel::connector(&given.handlers, &host)?),
        Connecting::Group(Group { servers, .. }) => ConnectionTarget::Group(groups::servers(state, &servers, &client)?),
        transport => ConnectionTarget::Server(connector(state, transport, &client, handoff.clone())?),
    };
    if let ConnectionTarget::Server(connector) = &target
        && client.auth.is_some()
        && connector.transport() != Transport::Http
    {
        return Err(BridgeError::invalid("open: auth is for servers over HTTP, but this one is not"));
    }
    let answered = server_requests::operations(&given.handlers)?;
    let opening = PendingOpen::<Connection>::enter(state, slot)?;
    let handle = opening.handle;
    let handlers = server_requests::handlers(state, handle, answered);
    host.set_connection(handle);
    let options = client.with_handlers(handlers).with_opening(begun);
    if let Some(handoff) = handoff {
        host_reads::enable(&state.handoffs, &state.queue, handle, &handoff);
    }
    let functions = host::names(&given.handlers);
    let connecting = state.spawn(&process, connect(Arc::clone(state), opening, target, options, functions));
    if let Some(Entry::Opening { task, .. }) = state.tables.lock().connections.get_mut(handle) {
        *task = Some(connecting.abort_handle());
    }
    Ok(handle)
}

/// Serves on file descriptors of the host.
#[cfg(unix)]
pub(crate) fn open_pipe(
    state: &Arc<PortState>,
    server: u64,
    (reader, writer): (OwnedFd, OwnedFd),
    wait: bool,
) -> Result<u64, BridgeError> {
    let (process, server) = (state.process()?, state.server(server)?);
    let opening = PendingOpen::<Arc<Listener>>::enter(state, wait.then(Arc::default))?;
    let handle = opening.handle;
    state.spawn(
        &process,
        listen(Arc::clone(state), opening, server, How::Pipe(reader, writer), None, Ending::default()),
    );
    Ok(handle)
}

/// Adds authorization to the options of an endpoint.
fn with_auth(state: &Arc<PortState>, options: HttpOptions, auth: Option<Value>) -> Result<HttpOptions, BridgeError> {
    let auth = auth.map(|auth| authorization(state, auth)).transpose()?;
    Ok(options.with_auth(auth))
}

/// What a connection connects to.
enum ConnectionTarget {
    Server(Arc<dyn Connector>),
    Group(Vec<NamedServer>),
}

async fn connect(
    state: Arc<PortState>,
    opening: PendingOpen<Connection>,
    target: ConnectionTarget,
    options: ClientOptions,
    functions: BTreeSet<String>,
) {
    let (handle, slot) = (opening.handle, opening.slot.clone());
    let runtime = match state.runtime() {
        Ok(runtime) => runtime,
        Err(error) => return failed_to_open::<Connection>(&state, handle, error),
    };
    let events = Arc::new(HostEvents { state: Arc::downgrade(&state), handle });
    let opened = match target {
        ConnectionTarget::Server(connector) => {
            let connector = Arc::new(Scoped::new(&state.queue, connector));
            let opened = Client::open(runtime, connector, options, events).await;
            opened.map(|client| Connection::to_server(client, functions))
        }
        ConnectionTarget::Group(servers) => {
            let opened = ClientGroup::open(runtime, servers, options, events).await;
            opened.map(|group| Connection::to_group(group, functions))
        }
    };
    match opened {
        Ok(connection) => connected(&state, handle, slot, &connection).await,
        Err(error) => failed_to_open::<Connection>(&state, handle, error.into()),
    }
}

async fn connected(state: &Arc<PortState>, handle: u64, slot: Option<Arc<ReplySlot>>, connection: &Connection) {
    let client = &connection.client;
    match become_open(state, handle, connection.clone()) {
        Some(waiting) => {
            opened(state, handle, slot.as_deref(), Ok(server_description(client)));
            requests::send_waiting(state, connection, handle, waiting);
            // If it ended before it was registered here, nobody has been notified.
            if let Some(failure) = client.failure() {
                ended::<Connection>(state, handle, Some(failure.into()));
            }
        }
        // Closed while opening: `end` has notified the host.
        None => client.close().await,
    }
}

/// What the end of a foreground listener does to its program.
#[derive(Default)]
struct Ending {
    foreground: bool,
    signals: bool,
}

async fn listen(
    state: Arc<PortState>,
    opening: PendingOpen<Arc<Listener>>,
    server: Server,
    how: How,
    handoff: Option<Arc<ReadHandoff>>,
    ending: Ending,
) {
    let (handle, slot) = (opening.handle, opening.slot.clone());
    let listening = match state.runtime() {
        Ok(runtime) => listener(&server, runtime, how, handoff).await,
        Err(error) => Err(error),
    };
    let (listener, described) = match listening {
        Ok((listener, described)) => (Arc::new(listener), described),
        Err(error) => return failed_to_open::<Arc<Listener>>(&state, handle, error),
    };
    if become_open(&state, handle, Arc::clone(&listener)).is_none() {
        return listener.close(Duration::ZERO).await;
    }
    if ending.signals
        && let Err(error) = signals::end_by_signals(&state, handle)
    {
        // The host still handles them, so a blocking handler keeps the process alive until it
        // returns.
        tracing::warn!(target: "trunkline::server::listener", %error, "a blocked process does not end by signals");
    }
    opened(&state, handle, slot.as_deref(), Ok(described));
    listener.ended().await;
    ended::<Arc<Listener>>(&state, handle, None);
    if ending.foreground {
        foreground::exit_if_blocked(&state, handle);
    }
}

/// Opens a listener without a socket. Requests may arrive immediately.
fn mount(
    state: &Arc<PortState>,
    server: u64,
    path: Option<&str>,
    options: &HttpOptions,
    slot: Option<Arc<ReplySlot>>,
) -> Result<u64, BridgeError> {
    let server = state.server(server)?;
    let listener = Arc::new(Listener::mounted(&server, state.runtime()?, options, path));
    let endpoint = Entry::Open { thing: listener, slot: slot.clone() };
    let handle = state.insert_opening(|tables| tables.listeners.insert(endpoint))?;
    opened(state, handle, slot.as_deref(), Ok(json!({})));
    Ok(handle)
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

/// A listener or connection that is opening. However the task ends, the host gets a reply.
struct PendingOpen<T: Openable> {
    state: Arc<PortState>,
    handle: u64,
    slot: Option<Arc<ReplySlot>>,
    of: PhantomData<fn() -> T>,
}

impl<T: Openable> PendingOpen<T> {
    fn enter(state: &Arc<PortState>, slot: Option<Arc<ReplySlot>>) -> Result<Self, BridgeError> {
        let endpoint = Entry::opening(slot.clone());
        let handle = state.insert_opening(|tables| T::table(tables).insert(endpoint))?;
        Ok(Self { handle, state: Arc::clone(state), slot, of: PhantomData })
    }
}

impl<T: Openable> Drop for PendingOpen<T> {
    fn drop(&mut self) {
        // A no-op if it was opened or has failed normally. That leaves panics and the end of the
        // runtime.
        let cut = BridgeError::new(ErrorKind::Internal, "The opening was aborted by an internal error");
        failed_to_open::<T>(&self.state, self.handle, cut);
    }
}

/// How a server listens.
enum How {
    Stdio,
    #[cfg(unix)]
    Pipe(OwnedFd, OwnedFd),
    Http(Box<HttpOptions>),
}

async fn listener(
    server: &Server,
    runtime: Arc<dyn trunkline::runtime::Runtime>,
    how: How,
    handoff: Option<Arc<ReadHandoff>>,
) -> Result<(Listener, Value), BridgeError> {
    let failed = |error: std::io::Error| BridgeError::new(ErrorKind::Transport, error.to_string());
    match how {
        How::Stdio => Ok((Listener::stdio(server, runtime, handoff).map_err(failed)?, json!({}))),
        #[cfg(unix)]
        How::Pipe(reader, writer) => Ok((Listener::pipe(server, runtime, reader, writer).map_err(failed)?, json!({}))),
        How::Http(options) => {
            let listener = Listener::http(server, runtime, *options).await;
            let listener = listener.map_err(|error| BridgeError::not_listening(&error))?;
            let described = json!(listener.address());
            Ok((listener, described))
        }
    }
}
