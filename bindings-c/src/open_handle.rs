//! An open listener or connection.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use trunkline_bridge::{ErrorKind, Event, EventKind};

use crate::edge::prelude::*;
use crate::port::{EventReceiver, Port, deadline_after};
use crate::server_requests::ServerRequestHandlers;

/// Receives a notification from the server; `params` is JSON. Both strings are borrowed until the
/// callback returns.
pub type trunkline_notification_callback =
    Option<unsafe extern "C" fn(method: *const trunkline_str, params: *const trunkline_str, user_data: *mut c_void)>;

/// The core may report the end this long after a deadline: it waits 30 seconds for a lifespan to
/// close.
const GRACE_PERIOD_MS: u64 = 40_000;

#[derive(Default)]
pub(crate) struct OpenHandle {
    pub(crate) notification: Option<Arc<Callback<trunkline_notification_callback>>>,
    pub(crate) handlers: Mutex<ServerRequestHandlers>,
    pub(crate) end: OnceLock<Result<(), Failure>>,
    /// True once an opening in the background has succeeded.
    pub(crate) opened: AtomicBool,
}

impl OpenHandle {
    pub(crate) fn is_closed(&self) -> bool {
        self.end.get().is_some()
    }

    pub(crate) fn is_opened(&self) -> bool {
        self.opened.load(Ordering::SeqCst)
    }

    /// The failure that ended it; success while it is open.
    pub(crate) fn outcome(&self) -> Result<(), Failure> {
        self.end.get().cloned().unwrap_or(Ok(()))
    }

    /// The receiver of events after its object is freed: the function that closes a custom
    /// transport, if it has one.
    pub(crate) fn closing_transport(&self) -> Option<Arc<dyn EventReceiver>> {
        let handlers = Mutex::new(self.handlers.lock().only("transport_close")?);
        Some(Arc::new(Self { handlers, ..Self::default() }))
    }

    pub(crate) fn end(&self, port: &Port, outcome: Result<(), Failure>) {
        let _ = self.end.set(outcome);
        port.note_change();
    }
}

impl EventReceiver for OpenHandle {
    fn receive(self: Arc<Self>, port: &Arc<Port>, event: Event) -> bool {
        match (event.kind, &self.notification) {
            (EventKind::Notification, Some(callback)) => {
                let (method, params) = (Text::new(event.name), Text::copy(event.body.into_bytes()));
                // SAFETY: the host's function with the host's data; both arguments live until it
                // returns.
                unsafe { (callback.function)(&method.lend(), &params.lend(), callback.data.pointer()) }
                return true;
            }
            (EventKind::Call, _) => {
                let handler = self.handlers.lock().get(&event.name);
                match handler {
                    Some(handler) => return handler.receive(port, event),
                    None => port.fail_removed(event.ticket),
                }
            }
            (EventKind::Reply, _) if event.ok() => {
                self.opened.store(true, Ordering::SeqCst);
                port.note_change();
            }
            // A connection that was opened in the background and failed ends with a `Reply`.
            (EventKind::Closed | EventKind::Reply, _) => {
                self.end(port, event.body.into_outcome().map(drop).map_err(Failure::from));
            }
            _ => {}
        }
        false
    }
}

/// Closes listeners or connections of a port, all at once, and runs callbacks until they have
/// ended. A failure of one does not keep the others open.
pub(crate) fn close(opened: &[Arc<Opened>], deadline_ms: u64) -> Result<(), Failure> {
    let mut open: Vec<_> = opened.iter().filter(|opened| !opened.open.is_closed()).collect();
    let Some(port) = open.first().map(|opened| &opened.port) else { return Ok(()) };
    port.check_may_wait()?;
    let mut refused = None;
    open.retain(|opened| opened.start_close(deadline_ms).map_err(|failure| _ = refused.get_or_insert(failure)).is_ok());
    let closed = port.run_until(deadline_after(deadline_ms.saturating_add(GRACE_PERIOD_MS)), |look| {
        // While another thread has the turn, only the core knows that they have ended.
        let has_ended = |it: &&Arc<Opened>| it.open.is_closed() || look.is_last && !port.core.is_open(it.handle);
        open.iter().all(has_ended).then_some(())
    })?;
    if closed.is_some() {
        open.iter().for_each(|opened| drop(opened.open.end.set(Ok(()))));
    }
    refused.map_or(Ok(()), Err)?;
    closed.ok_or_else(|| Failure::of(ErrorKind::Timeout, "the close did not finish in time"))
}

/// An open listener or connection. Blocking functions hold it while they wait, because a callback
/// may free its object.
pub(crate) struct Opened {
    pub(crate) port: Arc<Port>,
    pub(crate) handle: u64,
    pub(crate) open: Arc<OpenHandle>,
}

impl Opened {
    /// Starts closing it; its `Closed` event tells when it has ended.
    pub(crate) fn start_close(&self, deadline_ms: u64) -> Result<(), Failure> {
        if self.open.is_closed() {
            return Ok(());
        }
        Ok(self.port.core.close(self.handle, deadline_ms)?)
    }
}
