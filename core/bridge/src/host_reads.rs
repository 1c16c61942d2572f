//! Host-driven reads: pipes that the host reads itself while messages come one by one
//! (`transport/stdio/handoff.rs` of the core).

use super::{BridgeError, Event, EventKind, Lane, Port, port::PortInner};
use std::{
    collections::HashMap,
    fs::File,
    sync::{Arc, Weak},
};
use trunkline::bridge_support::{Mutex, ReadHandoff};

/// The handoffs of a port's pipes, by the handle of their listener or connection.
#[derive(Default)]
pub(super) struct Handoffs(Mutex<HashMap<u64, Weak<ReadHandoff>>>);

impl Handoffs {
    fn get(&self, handle: u64) -> Option<Arc<ReadHandoff>> {
        self.0.lock().get(&handle)?.upgrade()
    }
}

impl Port {
    /// A descriptor for the host to watch after the event. The host owns and closes it. `None`: the
    /// handoff is over.
    ///
    /// # Errors
    /// Only if the port belongs to another process.
    pub fn watch(&self, handle: u64) -> Result<Option<File>, BridgeError> {
        Ok(self.inner()?.handoffs.get(handle).and_then(|handoff| handoff.watch()))
    }

    /// Polls for the next message of a pipe that was handed to the host. Polls for a fraction of a
    /// millisecond and only where that is worthwhile: right after a message of ours to a peer that
    /// has replied quickly of late. Returns whether [`Self::pump`] would find something.
    ///
    /// # Errors
    /// Only if the port belongs to another process.
    pub fn linger(&self, handle: u64) -> Result<bool, BridgeError> {
        let inner = self.inner()?;
        Ok(inner.handoffs.get(handle).is_some_and(|handoff| handoff.busy_poll()))
    }

    /// Reads once from a pipe that was handed to the host, and handles the messages. Their events
    /// are then in the queue, and the bell is not rung for them. `false`: the host no longer has the
    /// reading, and stops watching the pipe.
    ///
    /// # Errors
    /// Only if the port belongs to another process.
    pub fn pump(&self, handle: u64) -> Result<bool, BridgeError> {
        let inner = self.inner()?;
        let Some(handoff) = inner.handoffs.get(handle) else { return Ok(false) };
        let _scope = self.log_scope();
        Ok(inner.queue.quietly(|| handoff.read_ready()))
    }
}

impl PortInner {
    /// Enables handoffs of the pipe of a listener or connection.
    pub(super) fn enable_handoff(self: &Arc<Self>, handle: u64, handoff: &Arc<ReadHandoff>) {
        let mut handoffs = self.handoffs.0.lock();
        handoffs.retain(|_, handoff| handoff.strong_count() > 0);
        handoffs.insert(handle, Arc::downgrade(handoff));
        drop(handoffs);
        let port = Arc::downgrade(self);
        handoff.enable(move || {
            if let Some(port) = port.upgrade() {
                port.push(Lane::Queue, Event { kind: EventKind::Watch, handle, ok: true, ..Event::default() });
            }
        });
    }
}
