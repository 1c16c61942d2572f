//! Connections to a legacy server, one per caller: a legacy session belongs to a single client with
//! fixed capabilities, and the server's requests in it are for that client only.

use super::{asking::ActiveCalls, callers::Caller, shares::has_share, watching::MountPoint};
use std::{
    convert::Infallible,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};
use trunkline_core::{
    client::{Client, ClientError, ClientHandlers, ClientOptions},
    extension::{ConnectionState, Promise, race, sync::Mutex},
    protocol::{
        RpcError,
        model::{ClientCapabilities, LoggingLevel},
    },
    runtime::BoxedTask,
    server::CallInfo,
};
use trunkline_proto::engine::later;

/// Unused connections are closed after this time.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// How often unused connections are looked for.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// The connections of a proxy's callers.
pub(super) struct CallerConnections {
    /// A client of the server, which serves as a template for the others.
    client: Client,
    mount_point: MountPoint,
    max: usize,
    table: Mutex<LeaseTable>,
}

#[derive(Default)]
struct LeaseTable {
    entries: Vec<LeasedConnection>,
    /// True while a task is checking for unused connections.
    looking: bool,
}

struct LeasedConnection {
    connection: Arc<CallerConnection>,
    /// The client of its latest caller, if there is a per-client limit.
    client: Option<Arc<str>>,
    users: usize,
    idle_since: Instant,
}

/// The connection of a caller.
pub(super) struct CallerConnection {
    caller: Caller,
    capabilities: ClientCapabilities,
    pub(super) calls: Arc<ActiveCalls>,
    state: Mutex<CallerConnectionState>,
    log_level: Mutex<Option<LoggingLevel>>,
}

/// The open client, or the calls that wait for it to open. A closed connection has neither.
#[derive(Default)]
struct CallerConnectionState {
    client: Option<Client>,
    waiting: Vec<Arc<Promise<Result<Client, ClientError>>>>,
}

/// A connection while a call is using it.
pub(super) struct Lease {
    connections: Weak<CallerConnections>,
    pub(super) connection: Arc<CallerConnection>,
    /// True if the server has answered the call, and waits for nothing that belongs to it.
    is_settled: bool,
}

impl CallerConnections {
    pub(super) fn new(client: Client, mount_point: MountPoint, max: usize) -> Arc<Self> {
        Arc::new(Self { client, mount_point, max, table: Mutex::default() })
    }

    /// The state of the connection that works best.
    pub(super) fn state(&self) -> ConnectionState {
        let table = self.table.lock();
        let connections: Vec<_> = table.entries.iter().map(|entry| Arc::clone(&entry.connection)).collect();
        drop(table);
        let of_client = |connection: Arc<CallerConnection>| match &*connection.state.lock() {
            CallerConnectionState { client: Some(client), .. } => client.connection_state(),
            CallerConnectionState { waiting, .. } if waiting.is_empty() => ConnectionState::Closed,
            _ => ConnectionState::Connecting,
        };
        connections.into_iter().map(of_client).max().unwrap_or(ConnectionState::Closed)
    }

    /// Leases the connection of a caller for a call.
    ///
    /// # Errors
    /// If the maximum number of connections, or the share of the call's client, is in use.
    pub(super) fn lease(
        self: &Arc<Self>,
        info: &CallInfo,
        caller: Caller,
        capabilities: ClientCapabilities,
    ) -> Result<Lease, RpcError> {
        let (now, client) = (self.client.runtime().now(), info.charged_client());
        let (connection, evicted, looks) = {
            let mut table = self.table.lock();
            let position = table.entries.iter().position(|entry| entry.fits(&caller, &capabilities));
            if position.is_none_or(|position| table.entries[position].users == 0) {
                table.check_share(client.as_ref(), self.max)?;
            }
            if let Some(position) = position {
                let entry = &mut table.entries[position];
                entry.users += 1;
                entry.client = client;
                (Arc::clone(&entry.connection), None, true)
            } else {
                let evicted = if table.entries.len() >= self.max { Some(table.take_idlest(self.max)?) } else { None };
                let connection = CallerConnection::new(caller, capabilities, self.mount_point.clone());
                let entry = LeasedConnection { connection: Arc::clone(&connection), client, users: 1, idle_since: now };
                table.entries.push(entry);
                (connection, evicted, std::mem::replace(&mut table.looking, true))
            }
        };
        if let Some(evicted) = evicted {
            self.close(&evicted);
        }
        if !looks {
            self.look();
        }
        Ok(Lease { connections: Arc::downgrade(self), connection, is_settled: false })
    }

    /// Checks for unused connections while there are any connections.
    fn look(self: &Arc<Self>) {
        let (connections, runtime) = (Arc::downgrade(self), Arc::clone(self.client.runtime()));
        self.client.runtime().spawn(Box::pin(async move {
            loop {
                runtime.sleep_until(later(runtime.now(), CHECK_INTERVAL)).await;
                let Some(connections) = connections.upgrade() else { return };
                let (idle, more) = connections.table.lock().take_idle(runtime.now());
                idle.iter().for_each(|connection| connections.close(connection));
                if !more {
                    return;
                }
            }
        }));
    }

    /// Closes all connections. Calls in flight fail as closed.
    pub(super) async fn close_all(&self) {
        let entries = std::mem::take(&mut self.table.lock().entries);
        let close = |entry: LeasedConnection| -> BoxedTask<Result<(), Infallible>> {
            Box::pin(async move {
                let state = std::mem::take(&mut *entry.connection.state.lock());
                state.waiting.iter().for_each(|promise| promise.keep(Err(ClientError::Closed)));
                if let Some(client) = state.client {
                    client.close().await;
                }
                Ok(())
            })
        };
        let Ok(_) = race::all(entries.into_iter().map(close).collect()).await;
    }

    /// Closes a connection without waiting for its end.
    fn close(&self, connection: &CallerConnection) {
        let state = std::mem::take(&mut *connection.state.lock());
        if let Some(client) = state.client {
            self.client.runtime().spawn(Box::pin(async move { client.close().await }));
        }
    }

    #[expect(deprecated, reason = "older revisions have it")]
    fn options(&self, connection: &CallerConnection) -> ClientOptions {
        let options = self.client.options().clone();
        let capabilities = ClientCapabilities {
            extensions: options.capabilities.extensions.clone(),
            ..connection.capabilities.clone()
        };
        let calls = Arc::downgrade(&connection.calls);
        let handlers = ClientHandlers::default().pass_on(Arc::new(move |method, params| {
            let method = method.to_owned();
            let calls = Weak::clone(&calls);
            Box::pin(async move {
                let Some(calls) = calls.upgrade() else { return Err(RpcError::internal()) };
                calls.ask(method, params).await
            })
        }));
        options
            .with_capabilities(capabilities)
            .with_handlers(handlers)
            .with_roots(None)
            .with_listen(false)
            .with_terminal_forms(false)
            .with_max_host_tasks(0)
            .with_log_level(None)
    }
}

impl LeaseTable {
    /// Checks whether a client may use one more connection.
    fn check_share(&self, client: Option<&Arc<str>>, max: usize) -> Result<(), RpcError> {
        let Some(client) = client else { return Ok(()) };
        let used = || self.entries.iter().filter(|entry| entry.users > 0);
        let own = used().filter(|entry| entry.client.as_ref() == Some(client)).count();
        if has_share(own, used().count(), max) {
            return Ok(());
        }
        Err(RpcError::busy(&format!(
            "this client uses {own} of the proxy's {max} connections to the server behind it, and the rest is reserved for others"
        )))
    }

    /// Removes the connection that has been unused for the longest time.
    fn take_idlest(&mut self, max: usize) -> Result<Arc<CallerConnection>, RpcError> {
        let idle = self.entries.iter().enumerate().filter(|(_, entry)| entry.users == 0);
        let Some((position, _)) = idle.min_by_key(|(_, entry)| entry.idle_since) else {
            return Err(RpcError::busy(&format!(
                "the proxy has reached its limit of {max} connections to the server behind it: raise its number of connections"
            )));
        };
        Ok(self.entries.remove(position).connection)
    }

    /// Ends a call's use of a connection. Returns the connection if no other call may use it.
    fn give_back(
        &mut self,
        connection: &Arc<CallerConnection>,
        is_settled: bool,
        now: Instant,
    ) -> Option<Arc<CallerConnection>> {
        let position = self.entries.iter().position(|entry| Arc::ptr_eq(&entry.connection, connection))?;
        // The next unidentified call may come from someone else, whom the server must not ask what
        // this one needs.
        if connection.caller == Caller::Nobody && !is_settled {
            return Some(self.entries.remove(position).connection);
        }
        let entry = &mut self.entries[position];
        entry.users -= 1;
        entry.idle_since = now;
        None
    }

    /// Removes idle connections. Also returns whether there are others.
    fn take_idle(&mut self, now: Instant) -> (Vec<Arc<CallerConnection>>, bool) {
        let is_idle = |entry: &mut LeasedConnection| {
            entry.users == 0 && now.saturating_duration_since(entry.idle_since) >= IDLE_TIMEOUT
        };
        let idle = self.entries.extract_if(.., is_idle).map(|entry| entry.connection).collect();
        self.looking = !self.entries.is_empty();
        (idle, self.looking)
    }
}

impl LeasedConnection {
    /// Returns whether a call of this caller may use it. The connection of unidentified callers is
    /// for one call at a time.
    fn fits(&self, caller: &Caller, capabilities: &ClientCapabilities) -> bool {
        let CallerConnection { caller: owner, capabilities: declared, .. } = &*self.connection;
        owner == caller && declared == capabilities && (*caller != Caller::Nobody || self.users == 0)
    }
}

impl CallerConnection {
    fn new(caller: Caller, capabilities: ClientCapabilities, mount_point: MountPoint) -> Arc<Self> {
        Arc::new(Self {
            caller,
            capabilities,
            calls: ActiveCalls::new(mount_point),
            state: Mutex::default(),
            log_level: Mutex::default(),
        })
    }

    /// The client. It is opened once for all waiters, and again if it has ended.
    async fn client(self: &Arc<Self>, connections: &Arc<CallerConnections>) -> Result<Client, ClientError> {
        let promise = Arc::new(Promise::default());
        let begins = {
            let mut state = self.state.lock();
            drop(state.client.take_if(|client| client.failure().is_some()));
            if let Some(client) = &state.client {
                return Ok(client.clone());
            }
            state.waiting.push(Arc::clone(&promise));
            state.waiting.len() == 1
        };
        if begins {
            // In a separate task, so that it continues for other waiters if its caller is
            // cancelled.
            let (connection, template) = (Arc::clone(self), connections.client.clone());
            let options = connections.options(self);
            connections.client.runtime().spawn(Box::pin(async move {
                let opened = template.connect_again(options, connection.calls.clone()).await;
                *connection.log_level.lock() = None;
                if let Some(unwanted) = connection.opened(opened) {
                    unwanted.close().await;
                }
            }));
        }
        promise.kept().await
    }

    /// Passes a new client to all waiters. Returns it if the connection was closed in the meantime.
    fn opened(&self, opened: Result<Client, ClientError>) -> Option<Client> {
        let waiting = {
            let mut state = self.state.lock();
            if state.waiting.is_empty() {
                return opened.ok();
            }
            state.client = opened.as_ref().ok().cloned();
            std::mem::take(&mut state.waiting)
        };
        waiting.iter().for_each(|promise| promise.keep(opened.clone()));
        None
    }

    /// Sets the server's log level to what the caller wants.
    async fn set_log_level(&self, client: &Client, level: Option<LoggingLevel>) {
        let Some(wanted) = level.filter(|_| client.server_capabilities().logging.is_some()) else { return };
        if *self.log_level.lock() == Some(wanted) {
            return;
        }
        if let Err(error) = client.set_log_level(wanted).await {
            tracing::debug!(target: "trunkline::server::proxy", %error, "a server behind a proxy rejected the log level");
        }
        // Only now, because the call may be cancelled before the server has it.
        *self.log_level.lock() = Some(wanted);
    }
}

impl Lease {
    /// Returns the client, after setting its log level.
    pub(super) async fn client(&self, level: Option<LoggingLevel>) -> Result<Client, ClientError> {
        let connections = self.connections.upgrade().ok_or(ClientError::Closed)?;
        let client = self.connection.client(&connections).await?;
        self.connection.set_log_level(&client, level).await;
        Ok(client)
    }

    /// Ends the call.
    pub(super) fn end(mut self, is_settled: bool) {
        self.is_settled = is_settled;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(connections) = self.connections.upgrade() else { return };
        let now = connections.client.runtime().now();
        let ended = connections.table.lock().give_back(&self.connection, self.is_settled, now);
        if let Some(ended) = ended {
            connections.close(&ended);
        }
    }
}
