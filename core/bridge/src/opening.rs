//! Opening and closing listeners and connections.

use super::{
    BridgeError, ErrorKind,
    concern::Concerned,
    config::{OpenConfig, TransportConfig},
    entries::{Entry, HostEvents, Slot},
    facts::server_facts,
    port::PortInner,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::task::AbortHandle;
use trunkline::{
    bridge_support::{ChildConnector, Lender, MemoryConnector},
    client::{Client, ClientOptions, Connector},
    server::Server,
    transport::{ChildCommand, HttpConnector, HttpOptions, Listener},
};

impl PortInner {
    pub(super) fn open(self: &Arc<Self>, given: OpenConfig) -> Result<u64, BridgeError> {
        let process = self.process()?;
        let slot = given.wait.then(Arc::<Slot>::default);
        match (given.server, given.client) {
            (Some(server), None) if given.transport.is_mounted() => self.mount(server, given.transport, slot),
            (Some(server), None) => {
                let server = self.server(server)?;
                let opening = Opening::enter(self, slot, false)?;
                let handle = opening.handle;
                let lender = given.driven.then(Arc::default);
                if let Some(lender) = &lender {
                    self.lend(handle, lender);
                }
                self.spawn(&process, Arc::clone(self).listen(opening, server, given.transport, lender));
                Ok(handle)
            }
            (None, Some(client)) => {
                let options = client.options()?;
                let lender = given.driven.then(Arc::default);
                let connector = self.connector(given.transport, &options, lender.clone())?;
                let opening = Opening::enter(self, slot, true)?;
                let handle = opening.handle;
                if let Some(lender) = lender {
                    self.lend(handle, &lender);
                }
                let connecting = self.spawn(&process, Arc::clone(self).connect(opening, connector, options));
                self.with_entry(handle, |entry| {
                    if let Entry::Opening { task, .. } = entry {
                        *task = Some(connecting.abort_handle());
                    }
                });
                Ok(handle)
            }
            _ => Err(BridgeError::invalid("open: either server or client must be given")),
        }
    }

    fn connector(
        self: &Arc<Self>,
        transport: TransportConfig,
        options: &ClientOptions,
        lender: Option<Arc<Lender>>,
    ) -> Result<Arc<dyn Connector>, BridgeError> {
        if let Some(option) = transport.only_for_listeners() {
            let text = format!("open: transport.{option} is for listeners; a client over http has url and headers");
            return Err(BridgeError::invalid(text));
        }
        match transport {
            TransportConfig::Memory { server } => {
                Ok(Arc::new(MemoryConnector::new(self.server(server)?, self.runtime()?)))
            }
            TransportConfig::Child { command, env, inherit_env, cwd } => {
                if command.is_empty() {
                    return Err(BridgeError::invalid("open: transport.command is empty"));
                }
                let command = ChildCommand {
                    command,
                    env: env.into_iter().collect(),
                    inherit_env,
                    cwd: cwd.map(Into::into),
                    ..ChildCommand::default()
                };
                Ok(Arc::new(ChildConnector::new(command, options.limits.clone(), lender)))
            }
            TransportConfig::Http { url: Some(url), headers, .. } => {
                let connector = HttpConnector::new(&url, &headers, options.limits.clone());
                Ok(Arc::new(connector.map_err(BridgeError::invalid)?))
            }
            TransportConfig::Http { url: None, .. } => {
                Err(BridgeError::invalid("open: a client over http needs transport.url"))
            }
            TransportConfig::Stdio => Err(BridgeError::invalid(
                "open: a client reaches a server over stdio as a child process: use transport type child",
            )),
        }
    }

    async fn connect(self: Arc<Self>, opening: Opening, connector: Arc<dyn Connector>, options: ClientOptions) {
        let (handle, slot) = (opening.handle, opening.slot.clone());
        let runtime = match self.runtime() {
            Ok(runtime) => runtime,
            Err(error) => return self.failed_to_open(handle, slot.as_deref(), error),
        };
        let events = Arc::new(HostEvents { port: Arc::downgrade(&self), handle });
        let connector = Arc::new(Concerned::new(&self, connector));
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
        for ticket in waiting.into_iter().filter_map(|waiting| waiting.ticket) {
            self.answered(ticket, Err(error.clone()));
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

    async fn listen(
        self: Arc<Self>,
        opening: Opening,
        server: Server,
        transport: TransportConfig,
        lender: Option<Arc<Lender>>,
    ) {
        let (handle, slot) = (opening.handle, opening.slot.clone());
        let opened = match self.runtime() {
            Ok(runtime) => listener(&self, &server, runtime, transport, lender).await,
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

/// Something that is being opened. Whatever becomes of the task, the host hears of it.
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
        // Nothing happens if it was opened, or has failed, as it should. What is left is a panic, or the end of the runtime.
        let cut = BridgeError::new(ErrorKind::Internal, "The opening was cut short inside");
        self.port.failed_to_open(self.handle, self.slot.as_deref(), cut);
    }
}

async fn listener(
    here: &PortInner,
    server: &Server,
    runtime: Arc<dyn trunkline::runtime::Runtime>,
    transport: TransportConfig,
    lender: Option<Arc<Lender>>,
) -> Result<(Listener, Value), BridgeError> {
    let failed = |error: std::io::Error| BridgeError::new(ErrorKind::Transport, error.to_string());
    match transport {
        TransportConfig::Stdio => Ok((Listener::stdio(server, runtime, lender).map_err(failed)?, json!({}))),
        TransportConfig::Http { url: Some(_), .. } => {
            Err(BridgeError::invalid("open: a server over http has no url but host and port"))
        }
        transport @ TransportConfig::Http { .. } => {
            let options = http_options(here, transport)?;
            let listener = Listener::http(server, runtime, options).await.map_err(failed)?;
            let facts = listener.facts();
            Ok((listener, facts))
        }
        TransportConfig::Child { .. } | TransportConfig::Memory { .. } => {
            Err(BridgeError::invalid("open: a server listens on stdio or http"))
        }
    }
}

/// The options of an HTTP endpoint.
pub(super) fn http_options(here: &PortInner, transport: TransportConfig) -> Result<HttpOptions, BridgeError> {
    let defaults = HttpOptions::default();
    let TransportConfig::Http {
        host,
        port,
        unix,
        unix_mode,
        path,
        stateless,
        json,
        allowed_hosts,
        allowed_origins,
        sse,
        messages,
        replay_events,
        replay_bytes,
        retry_ms,
        max_connections,
        max_requests,
        max_body_bytes,
        auth,
        headers,
        mounted: _,
        url: _,
    } = transport
    else {
        return Ok(defaults);
    };
    if !headers.is_empty() {
        return Err(BridgeError::invalid("open: transport.headers are a client's; a listener has none to give"));
    }
    if unix.is_some() && (host.is_some() || port.is_some()) {
        return Err(BridgeError::invalid("open: a server listens on transport.unix or on host and port, not on both"));
    }
    let port = port.unwrap_or(defaults.port.into());
    let port = u16::try_from(port)
        .map_err(|_| BridgeError::invalid(format!("open: transport.port is {port}; ports end at 65535")))?;
    Ok(HttpOptions {
        host: host.unwrap_or(defaults.host),
        port,
        unix: unix.map(Into::into),
        unix_mode: unix_mode.map_or(Ok(defaults.unix_mode), |mode| octal(&mode))?,
        path: path.unwrap_or(defaults.path),
        stateless,
        json,
        allowed_hosts,
        allowed_origins,
        sse: match sse {
            None | Some(Value::Bool(true)) => defaults.sse,
            Some(Value::Bool(false)) => None,
            Some(Value::String(path)) => Some(path),
            Some(other) => {
                let text =
                    format!("open: transport.sse is {other}; it is the path of the stream of HTTP+SSE, or false");
                return Err(BridgeError::invalid(text));
            }
        },
        messages: messages.unwrap_or(defaults.messages),
        replay_events: replay_events.unwrap_or(defaults.replay_events),
        replay_bytes: replay_bytes.unwrap_or(defaults.replay_bytes),
        retry: retry_ms.map_or(defaults.retry, Duration::from_millis),
        max_connections: max_connections.unwrap_or(defaults.max_connections),
        max_requests: max_requests.unwrap_or(defaults.max_requests),
        max_body_bytes: max_body_bytes.unwrap_or(defaults.max_body_bytes),
        auth: auth.map(|auth| here.authorization(auth)).transpose()?,
    })
}

fn octal(mode: &str) -> Result<u32, BridgeError> {
    u32::from_str_radix(mode, 8).ok().filter(|mode| *mode <= 0o777).ok_or_else(|| {
        BridgeError::invalid(format!(
            "open: transport.unixMode is {mode:?}; it is written as for files, such as \"660\""
        ))
    })
}
