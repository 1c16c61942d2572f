//! An open listener or connection.

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

use trunkline::bridge_support::Mutex;
use trunkline_bridge::{Event, EventKind};

use crate::edge::failure::Failure;
use crate::edge::text::{Text, trunkline_str};
use crate::edge::user_data::Callback;
use crate::lifespan::HostLifespanUse;
use crate::port::{EventReceiver, Port, deadline_after};
use crate::server_requests::ServerRequestHandlers;

/// Receives a notification from the server; `params` is JSON. Both strings are borrowed until the
/// callback returns.
pub type trunkline_notification_callback =
    Option<unsafe extern "C" fn(method: *const trunkline_str, params: *const trunkline_str, user_data: *mut c_void)>;

pub(crate) type NotificationCallback =
    Callback<unsafe extern "C" fn(*const trunkline_str, *const trunkline_str, *mut c_void)>;

/// How long after a deadline the core may report the end.
const GRACE_MS: u64 = 10_000;

pub(crate) struct OpenHandle {
    notification: Option<Arc<NotificationCallback>>,
    pub(crate) handlers: Mutex<ServerRequestHandlers>,
    end: OnceLock<Result<(), Failure>>,
    /// The lifespan of the server that it uses.
    lifespan: Mutex<Option<HostLifespanUse>>,
}

impl OpenHandle {
    pub(crate) fn new(notification: Option<Arc<NotificationCallback>>, handlers: ServerRequestHandlers) -> Arc<Self> {
        let (handlers, end, lifespan) = (Mutex::new(handlers), OnceLock::new(), Mutex::default());
        Arc::new(Self { notification, handlers, end, lifespan })
    }

    /// Keeps a lifespan open until this ends.
    pub(crate) fn hold(&self, lifespan: HostLifespanUse) {
        *self.lifespan.lock() = Some(lifespan);
    }

    pub(crate) fn take_lifespan(&self) -> Option<HostLifespanUse> {
        self.lifespan.lock().take()
    }

    /// Releases the lifespan, in a callback of the port, because the host may have to close it now.
    pub(crate) fn let_go(&self) {
        let lifespan = self.take_lifespan();
        drop(lifespan);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.end.get().is_some()
    }

    /// The failure that ended it; success while it is open.
    pub(crate) fn outcome(&self) -> Result<(), Failure> {
        self.end.get().cloned().unwrap_or(Ok(()))
    }

    pub(crate) fn end(&self, port: &Port, outcome: Result<(), Failure>) {
        let _ = self.end.set(outcome);
        port.note_end();
    }
}

impl EventReceiver for OpenHandle {
    fn receive(self: Arc<Self>, port: &Arc<Port>, event: Event) -> bool {
        match (event.kind, &self.notification) {
            (EventKind::Notification, Some(callback)) => {
                let (method, params) = (Text::new(event.name.into_bytes()), Text::copy(&event.body.into_bytes()));
                // SAFETY: the host's function with the host's data; both arguments live until it
                // returns.
                unsafe { (callback.function)(&method.lend(), &params.lend(), callback.data.pointer()) }
                return true;
            }
            (EventKind::Call, _) => {
                let handler = self.handlers.lock().get(&event.name);
                return handler.is_some_and(|handler| handler.receive(port, event));
            }
            // A connection that was opened in the background and failed ends with a `Reply`.
            (EventKind::Closed | EventKind::Reply, _) if event.kind == EventKind::Closed || !event.ok() => {
                self.let_go();
                self.end(port, event.body.into_outcome().map(drop).map_err(Failure::from));
            }
            _ => {}
        }
        false
    }
}

/// Keeps a lifespan open until a connection that its host has freed has ended.
pub(crate) struct HeldUntilClosed(Mutex<Option<HostLifespanUse>>);

impl HeldUntilClosed {
    pub(crate) fn new(lifespan: HostLifespanUse) -> Self {
        Self(Mutex::new(Some(lifespan)))
    }
}

impl EventReceiver for HeldUntilClosed {
    fn receive(self: Arc<Self>, _: &Arc<Port>, event: Event) -> bool {
        if event.kind == EventKind::Closed {
            let lifespan = self.0.lock().take();
            drop(lifespan);
        }
        false
    }
}

/// Closes listeners or connections, all at once, and runs callbacks until they have ended. A
/// failure of one does not keep the others open.
pub(crate) fn close<'a>(
    port: &Arc<Port>,
    handles: impl IntoIterator<Item = (u64, &'a Arc<OpenHandle>)>,
    deadline_ms: u64,
) -> Result<(), Failure> {
    let mut open: Vec<_> = handles.into_iter().filter(|(_, open)| !open.is_closed()).collect();
    if open.is_empty() {
        return Ok(());
    }
    port.check_may_wait()?;
    let mut outcome = Ok(());
    open.retain(|(handle, _)| match port.core.close(*handle, deadline_ms) {
        Ok(()) => true,
        Err(reason) => {
            outcome = std::mem::replace(&mut outcome, Ok(())).and(Err(reason.into()));
            false
        }
    });
    let closed = port.run_until(deadline_after(deadline_ms.saturating_add(GRACE_MS)), |look| {
        // While another thread has the turn, only the core knows that they have ended.
        let has_ended =
            |(handle, open): &(u64, &Arc<OpenHandle>)| open.is_closed() || look.is_last && !port.core.is_open(*handle);
        open.iter().all(has_ended).then_some(())
    })?;
    if closed.is_some() {
        open.iter().for_each(|(_, open)| drop(open.end.set(Ok(()))));
        // Their `Closed` events may not have arrived yet.
        if open.iter().any(|(_, open)| open.lifespan.lock().is_some()) {
            let limit = deadline_after(GRACE_MS);
            port.run_as_callback(limit, || open.iter().for_each(|(_, open)| open.let_go()))?;
        }
    }
    outcome.and(closed.ok_or_else(|| Failure::timeout("the close did not finish in time")))
}

/// Starts closing a listener or connection; its `Closed` event tells when it has ended.
pub(crate) fn start_close(port: &Port, handle: u64, open: &OpenHandle, deadline_ms: u64) -> Result<(), Failure> {
    if open.is_closed() {
        return Ok(());
    }
    Ok(port.core.close(handle, deadline_ms)?)
}

/// Closes a listener or connection without waiting.
pub(crate) fn close_now(port: &Port, handle: u64, open: &OpenHandle) {
    let _ = start_close(port, handle, open, 0);
}
