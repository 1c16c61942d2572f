//! The server: its lifetime, its listeners, and blocking runs.

use std::collections::HashMap;
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Weak};

use serde::Deserialize;
use trunkline::bridge_support::Mutex;
use trunkline_bridge::BridgeError;
use trunkline_bridge::message::{Notification, NotifyListener, NotifyPort, Request};

use crate::edge::failure::Failure;
use crate::edge::ffi::{Out, give};
use crate::edge::text::Text;
use crate::foreground::{SignalHandlers, Stop};
use crate::lifespan::HostLifespan;
use crate::listener::{Listener, trunkline_listener};
use crate::open_handle::{self, OpenHandle};
use crate::options::{SetMembers, trunkline_server_options};
use crate::port::{Port, trunkline_port};
use crate::store::StoreReceiver;

/// A server: one set of tools, resources and prompts, available over any number of transports. Free
/// it with `trunkline_server_free`.
pub struct trunkline_server {
    pub(crate) port: trunkline_port,
    /// The named features, by kind and name.
    pub(crate) names: Mutex<HashMap<(String, String), u64>>,
    pub(crate) inner: Arc<Server>,
}

/// The part that blocking functions hold while they wait, because a callback may free the server.
pub(crate) struct Server {
    port: Arc<Port>,
    pub(crate) handle: u64,
    drain_deadline_ms: u64,
    stop: Stop,
    listeners: Mutex<Vec<Arc<Listener>>>,
    pub(crate) lifespan: Arc<HostLifespan>,
    /// In-memory clients, which end with the server.
    clients: Mutex<Vec<(u64, Weak<OpenHandle>)>>,
}

/// The reply of a store check.
#[derive(Deserialize)]
struct StoreCheck {
    findings: Vec<String>,
}

impl trunkline_server {
    pub(crate) fn new(name: &str, version: &str, options: &trunkline_server_options) -> Result<Self, Failure> {
        let info = options.info.clone().with("name", name).with("version", version);
        let registration = options.registration.clone().with("info", info.0).with("options", options.given.clone().0);
        let port = options.port.clone().map_or_else(Port::new, Ok)?;
        let handle = match &options.store {
            Some(store) => {
                let registration = registration.with("store", store.as_given());
                let receiver = Arc::new(StoreReceiver(store.clone()));
                port.make(receiver, |core| core.register("server", registration.0), |_| ())?
            }
            None => port.core.register("server", registration.0)?,
        };
        let inner = Arc::new(Server {
            port: port.clone(),
            handle,
            drain_deadline_ms: u64::try_from(port.core.close_deadline(handle)?.as_millis()).unwrap_or(u64::MAX),
            stop: Stop::new(port.clone()),
            listeners: Mutex::default(),
            lifespan: Arc::default(),
            clients: Mutex::default(),
        });
        Ok(Self { port: trunkline_port { port }, names: Mutex::default(), inner })
    }

    pub(crate) fn port(&self) -> &Arc<Port> {
        &self.port.port
    }

    pub(crate) fn handle(&self) -> u64 {
        self.inner.handle
    }

    /// The violations found by a check of its store, one per line.
    pub(crate) fn check_store(&self) -> Result<Text, Failure> {
        let port = self.port().clone();
        port.check_may_wait()?;
        let request = Request::default().with_method("checkStore".to_owned()).with_wait(true);
        let ticket = port.core.request_message(self.handle(), request)?;
        let reply = port.wait_for(ticket, None)?;
        let StoreCheck { findings } =
            serde_json::from_slice(&reply).map_err(|reason| Failure::internal(reason.to_string()))?;
        let lines: Vec<_> = findings.iter().map(|finding| finding.replace('\n', " ")).collect();
        Ok(Text::copy(lines.join("\n").as_bytes()))
    }

    pub(crate) fn note_client(&self, handle: u64, open: &Arc<OpenHandle>) {
        let mut clients = self.inner.clients.lock();
        clients.retain(|(_, open)| open.upgrade().is_some_and(|open| !open.is_closed()));
        clients.push((handle, Arc::downgrade(open)));
    }
}

impl Server {
    pub(crate) fn listen(&self, transport: SetMembers) -> Result<Arc<Listener>, Failure> {
        let given = SetMembers::default().with("server", self.handle).with("transport", transport.0).with("wait", true);
        self.listen_by(|core| core.open(given.0))
    }

    /// Serves standard input and output; the program ends with them.
    pub(crate) fn run_stdio(&self) -> Result<(), Failure> {
        let transport = SetMembers::default().with("type", "stdio");
        let given = SetMembers::default().with("server", self.handle).with("transport", transport.0);
        let given = given.with("wait", true).with("foreground", true);
        // Before the first call, which a signal with its default action would silently end.
        let signals = SignalHandlers::install(&self.stop);
        self.hold_stdio()?;
        let listener = self.listen_by(|core| core.open(given.0))?;
        self.run_until(signals, Some(&listener))
    }

    /// Serves standard input and output alongside other work of the program.
    pub(crate) fn open_stdio(&self, listener: Out<*mut trunkline_listener>) -> Result<(), Failure> {
        self.hold_stdio()?;
        self.open(SetMembers::default().with("type", "stdio"), listener)
    }

    /// Output printed by the lifespan already goes to standard error.
    fn hold_stdio(&self) -> Result<(), Failure> {
        let note = NotifyPort { hold_stdio: true, ..NotifyPort::default() };
        Ok(self.port.core.notify_message(0, Notification::Port(note))?)
    }

    /// Serves duplicates of two of the host's descriptors.
    #[cfg(unix)]
    pub(crate) fn listen_fd(&self, input: &impl AsFd, output: &impl AsFd) -> Result<Arc<Listener>, Failure> {
        let own = |file: BorrowedFd<'_>| {
            file.try_clone_to_owned()
                .map_err(|reason| Failure::invalid(format!("the descriptor is not open: {reason}")))
        };
        let (input, output) = (own(input.as_fd())?, own(output.as_fd())?);
        self.listen_by(|core| core.open_pipe(self.handle, input, output, true))
    }

    fn listen_by(
        &self,
        begin: impl FnOnce(&trunkline_bridge::Port) -> Result<u64, BridgeError>,
    ) -> Result<Arc<Listener>, Failure> {
        let listener = Listener::open(&self.port, &self.lifespan, begin)?;
        let mut listeners = self.listeners.lock();
        listeners.retain(|listener| !listener.open.is_closed());
        listeners.push(listener.clone());
        Ok(listener)
    }

    pub(crate) fn open(&self, transport: SetMembers, listener: Out<*mut trunkline_listener>) -> Result<(), Failure> {
        let inner = self.listen(transport)?;
        listener.put(give(trunkline_listener { inner }));
        Ok(())
    }

    /// Runs callbacks until `stop`, then closes what is still open.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        self.run_until(SignalHandlers::install(&self.stop), None)
    }

    /// Like `run`, but also returns when `listener` ends.
    fn run_until(&self, signals: SignalHandlers<'_>, listener: Option<&Listener>) -> Result<(), Failure> {
        let has_ended = || listener.is_some_and(|listener| listener.open.is_closed());
        signals.share_with(|| self.end_by_signals());
        self.port.run_until(None, |_| (self.stop.is_wanted() || has_ended()).then_some(()))?;
        self.stop.clear();
        let open = std::mem::take(&mut *self.listeners.lock());
        let handles = open.iter().map(|listener| (listener.handle, &listener.open));
        let closed = open_handle::close(&self.port, handles, self.drain_deadline_ms);
        drop(signals);
        listener.map_or(Ok(()), |listener| listener.open.outcome()).and(closed)
    }

    /// Lets the core end the process on a signal if a callback blocks it.
    fn end_by_signals(&self) {
        for listener in self.listeners.lock().iter() {
            let note = NotifyListener { foreground: true };
            // If no thread can be started, the process ends when the callback returns.
            let _ = self.port.core.notify_message(listener.handle, Notification::Listener(note));
        }
    }

    pub(crate) fn stop(&self) {
        self.stop.request();
    }
}

impl Drop for trunkline_server {
    fn drop(&mut self) {
        // In a forked child there is nothing to close, and the locks may be held by threads that
        // don't exist there.
        if self.port().check_process().is_err() {
            return;
        }
        for listener in self.inner.listeners.lock().iter() {
            listener.close_now();
        }
        for (handle, open) in self.inner.clients.lock().iter() {
            if let Some(open) = open.upgrade() {
                open_handle::close_now(self.port(), *handle, &open);
            }
        }
        self.inner.stop();
        let _ = self.port().core.unregister(self.handle());
        self.port().detach_all_of(self.handle());
        self.port().detach(self.handle());
        // No callback of the server is running anymore.
        self.inner.lifespan.end();
    }
}
