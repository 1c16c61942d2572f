//! Pipes that the host reads itself for as long as messages come one by one (`transport/lending.rs`).

use super::{BridgeError, Event, EventKind, Lane, Port, port::PortInner};
use std::{
    collections::HashMap,
    fs::File,
    sync::{Arc, Weak},
};
use trunkline::bridge_support::{Lender, Mutex};

/// The pipes of a port that may be lent, by the handle of their listener or connection.
#[derive(Default)]
pub(super) struct Pipes(Mutex<HashMap<u64, Weak<Lender>>>);

impl Pipes {
    fn get(&self, handle: u64) -> Option<Arc<Lender>> {
        self.0.lock().get(&handle)?.upgrade()
    }
}

impl Port {
    /// The descriptor that the host watches after the event, of its own, which it closes. `None`: the handoff is over.
    ///
    /// # Errors
    /// Only if the port is another process's.
    pub fn watch(&self, handle: u64) -> Result<Option<File>, BridgeError> {
        Ok(self.inner()?.pipes.get(handle).and_then(|lender| lender.watched()))
    }

    /// Waits awake for the next message of a pipe that was lent, a fraction of a millisecond and only where that pays: right after a
    /// message of ours to a peer that has been quick lately. Whether there is something to [`Self::pump`].
    ///
    /// # Errors
    /// Only if the port is another process's.
    pub fn linger(&self, handle: u64) -> Result<bool, BridgeError> {
        let inner = self.inner()?;
        Ok(inner.pipes.get(handle).is_some_and(|lender| lender.linger()))
    }

    /// Reads once from a pipe that was lent, and handles what came; its events are in the queue then, and the bell was not rung for
    /// them. `false`: it is not lent any more, and the host stops watching it.
    ///
    /// # Errors
    /// Only if the port is another process's.
    pub fn pump(&self, handle: u64) -> Result<bool, BridgeError> {
        let inner = self.inner()?;
        let Some(lender) = inner.pipes.get(handle) else { return Ok(false) };
        let _concern = self.concern();
        Ok(inner.queue.quietly(|| lender.pump()))
    }
}

impl PortInner {
    /// Lends the pipe of a listener or connection from now on.
    pub(super) fn lend(self: &Arc<Self>, handle: u64, lender: &Arc<Lender>) {
        let mut pipes = self.pipes.0.lock();
        pipes.retain(|_, lender| lender.strong_count() > 0);
        pipes.insert(handle, Arc::downgrade(lender));
        drop(pipes);
        let port = Arc::downgrade(self);
        lender.lend_to(move || {
            if let Some(port) = port.upgrade() {
                port.push(Lane::Queue, Event { kind: EventKind::Watch, handle, ok: true, ..Event::default() });
            }
        });
    }
}
