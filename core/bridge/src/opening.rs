//! Opening and closing listeners and connections.

use super::{
    BridgeError, ErrorKind,
    description::server_facts,
    entries::{Entry, HostEvents, Slot, Waiting},
    log_scope::Scoped,
    message::{Child, Connecting, Endpoint, Listening, Memory, Open, OpenConnection, OpenListener},
    port::PortInner,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::task::AbortHandle;
use trunkline::{
    bridge_support::{ChildConnector, MemoryConnector, ReadHandoff},
    client::{Client, ClientOptions, Connector},
    server::Server,
    transport::{ChildCommand, HttpConnector, HttpOptions, Listener},
};

impl PortInner {
    pub(super) fn open(self: &Arc<Self>, given: Open) -> Result<u64, BridgeError> {
        match given {
            Open::Listener(given) => self.open_listener(given),
            Open::Connection(given) => self.open_connection(given),
        }
    }

    fn open_listener(self: &Arc<Self>, given: OpenListener) -> Result<u64, BridgeError> {
        let process = self.process()?;
        let slot = given.wait.then(Arc::<Slot>::default);
        let how = match given.transport {
            Listening::Mounted { path, options, auth } => {
                return self.mount(given.server, path.as_deref(), &self.with_auth(options, auth)?, slot);
            }
            Listening::Stdio => How::Stdio,
            Listening::Http { options, auth } => How::Http(self.with_auth(options, auth)?),
        };
        let server = self.server(given.server)?;
        let opening = Opening::enter(self, slot, false)?;
        let handle = opening.handle;
        let handoff = given.driven.then(Arc::default);
        if let Some(handoff) = &handoff {
            self.enable_handoff(handle, handoff);
        }
        self.spawn(&process, Arc::clone(self).listen(opening, server, how, handoff));
        Ok(handle)
    }

    fn open_connection(self: &Arc<Self>, given: OpenConnection) -> Result<u64, BridgeError> {
        let process = self.process()?;
        let slot = given.wait.then(Arc::<Slot>::default);
        let handoff = given.driven.then(Arc::default);
        let connector = self.connector(given.transport, &given.client, handoff.clone())?;
        let opening = Opening::enter(self, slot, true)?;
        let handle = opening.handle;
        if let Some(handoff) = handoff {
            self.enable_handoff(handle, &handoff);
        }
        let connecting = self.spawn(&process, Arc::clone(self).connect(opening, connector, given.client));
        self.with_entry(handle, |entry| {
            if let Entry::Opening { task, .. } = entry {
                *task = Some(connecting.abort_handle());
            }
        });
        Ok(handle)
    }

    /// The options of an endpoint, with what it asks of access tokens.
    fn with_auth(self: &Arc<Self>, options: HttpOptions, auth: Option<Value>) -> Result<HttpOptions, BridgeError> {
        let auth = auth.map(|auth| self.authorization(auth)).transpose()?;
        Ok(options.with_auth(auth))
    }

    fn connector(
        self: &Arc<Self>,
        transport: Connecting,
        options: &ClientOptions,
        handoff: Option<Arc<ReadHandoff>>,
    ) -> Result<Arc<dyn Connector>, BridgeError> {
        match transport {
            Connecting::Memory(Memory { server }) => {
                Ok(Arc::new(MemoryConnector::new(self.server(server)?, self.runtime()?)))
            }
            Connecting::Child(Child { command, env, inherit_env, cwd }) => {
                if command.is_empty() {
                    return Err(BridgeError::invalid("open: transport.command is empty"));
                }
                let command = ChildCommand {
                    command,
                    env: env.into_iter().collect(),
                    inherit_env: inherit_env.unwrap_or(true),
                    cwd: cwd.map(Into::into),
                    ..ChildCommand::default()
                };
                Ok(Arc::new(ChildConnector::new(command, options.limits(), handoff)))
            }
            Connecting::Http(Endpoint { url, headers }) => {
                let connector = HttpConnector::new(&url, &headers, options.limits());
                Ok(Arc::new(connector.map_err(BridgeError::invalid)?))
            }
        }
    }

    async fn connect(self: Arc<Self>, opening: Opening, connector: Arc<dyn Connector>, options: ClientOptions) {
        let (handle, slot) = (opening.handle, opening.slot.clone());
        let runtime = match self.runtime() {
            Ok(runtime) => runtime,
            Err(error) => return self.failed_to_open(handle, slot.as_deref(), error),
        };
        let events = Arc::new(HostEvents { port: Arc::downgrade(&self), handle });
        let connector = Arc::new(Scoped::new(&self, connector));
        match Client::open(runtime, connector, options, events).await {
            Ok(client) => self.connected(handle, slot, &client).await,
            Err(error) => self.failed_to_open(handle, slot.as_deref(), error.into()),
        }
    }

    async fn connected(self: &Arc<Self>, handle: u64, slot: Option<Arc<Slot>>, client: &Client) {
        let opened = self.with_entry(handle, |entry| match entry {
            Entry::Opening { waiting, .. } => {
                let waiting = std::mem::take(waiting);
                *entry = Entry::Connection { client: client.clone(), slot: slot.clone() };
                Some(waiting)
            }
            _ => None,
        });
        match opened.flatten() {
            Some(waiting) => {
                self.opened(handle, slot.as_deref(), Ok(server_facts(client.server())));
                self.send_waiting(client, handle, waiting);
                // One that ended just before it was a connection here has told nobody.
                if let Some(failure) = client.failure() {
                    self.ended(handle, Some(&failure.into()));
                }
            }
            // Closed while it was being opened: `end` has told the host.
            None => client.close().await,
        }
    }

    fn failed_to_open(&self, handle: u64, slot: Option<&Slot>, error: BridgeError) {
        let Some(Entry::Opening { waiting, .. }) = self.take_opening(handle, slot) else { return };
        self.opened(handle, slot, Err(error.clone()));
        for waiting in waiting {
            if let Waiting::Request(ticket, _) = waiting {
                self.answered(ticket, Err(error.clone()));
            }
        }
    }

    /// Takes an opening out; if its reply is waited for, the number stays until it was fetched.
    fn take_opening(&self, handle: u64, slot: Option<&Slot>) -> Option<Entry> {
        self.with_entry(handle, |entry| match entry {
            Entry::Opening { slot: waited, .. } => {
                let done = match (slot, waited.clone()) {
                    (Some(_), Some(slot)) => Entry::Done(slot),
                    _ => Entry::Opening { slot: None, connection: false, waiting: Vec::new(), task: None },
                };
                Some(std::mem::replace(entry, done))
            }
            _ => None,
        })
        .flatten()
        .inspect(|_| {
            if slot.is_none() {
                self.remove(handle);
            }
        })
    }

    async fn listen(self: Arc<Self>, opening: Opening, server: Server, how: How, handoff: Option<Arc<ReadHandoff>>) {
        let (handle, slot) = (opening.handle, opening.slot.clone());
        let opened = match self.runtime() {
            Ok(runtime) => listener(&server, runtime, how, handoff).await,
            Err(error) => Err(error),
        };
        let (listener, facts) = match opened {
            Ok((listener, facts)) => (Arc::new(listener), facts),
            Err(error) => return self.failed_to_open(handle, slot.as_deref(), error),
        };
        let kept = self.with_entry(handle, |entry| match entry {
            Entry::Opening { .. } => {
                *entry = Entry::Listener { listener: Arc::clone(&listener), slot: slot.clone() };
                true
            }
            _ => false,
        });
        if kept != Some(true) {
            return listener.close(Duration::ZERO).await;
        }
        self.opened(handle, slot.as_deref(), Ok(facts));
        listener.ended().await;
        self.ended(handle, None);
    }

    /// Closes one listener or connection and tells that it is over.
    pub(super) async fn end(self: Arc<Self>, handle: u64, deadline: Duration) {
        enum Open {
            Listener(Arc<Listener>),
            Connection(Client),
            Opening(Option<Arc<Slot>>, Option<AbortHandle>),
        }
        let open = self.with_entry(handle, |entry| match entry {
            Entry::Listener { listener, .. } => Some(Open::Listener(Arc::clone(listener))),
            Entry::Connection { client, .. } => Some(Open::Connection(client.clone())),
            Entry::Opening { slot, task, .. } => Some(Open::Opening(slot.clone(), task.clone())),
            _ => None,
        });
        match open.flatten() {
            Some(Open::Listener(listener)) => {
                listener.close(deadline).await;
                self.ended(handle, None);
            }
            Some(Open::Connection(client)) => {
                client.close_within(deadline).await;
                self.ended(handle, None);
            }
            Some(Open::Opening(slot, task)) => {
                let closed = BridgeError::new(ErrorKind::Closed, "Closed while it was being opened");
                self.failed_to_open(handle, slot.as_deref(), closed);
                // A connection that nobody waits for any more: what it has started is ended by being dropped.
                task.iter().for_each(AbortHandle::abort);
            }
            None => {}
        }
    }
}

/// A listener or connection that is being opened. However the task ends, the host gets a reply.
struct Opening {
    port: Arc<PortInner>,
    handle: u64,
    slot: Option<Arc<Slot>>,
}

impl Opening {
    fn enter(port: &Arc<PortInner>, slot: Option<Arc<Slot>>, connection: bool) -> Result<Self, BridgeError> {
        let entry = Entry::Opening { slot: slot.clone(), connection, waiting: Vec::new(), task: None };
        Ok(Self { handle: port.insert_opening(entry)?, port: Arc::clone(port), slot })
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        // Nothing happens if it was opened, or has failed, as it should. The remaining cases are a panic and the end of the runtime.
        let cut = BridgeError::new(ErrorKind::Internal, "The opening was cut short inside");
        self.port.failed_to_open(self.handle, self.slot.as_deref(), cut);
    }
}

/// How a server listens by itself.
enum How {
    Stdio,
    Http(HttpOptions),
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
        How::Http(options) => {
            let listener = Listener::http(server, runtime, options).await.map_err(failed)?;
            let facts = listener.facts();
            Ok((listener, facts))
        }
    }
}
