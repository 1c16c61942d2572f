//! Causes of calls, identified by the ticket of an exchange or a request.

use crate::{PortState, events::queue::EventQueue};
use std::sync::{Arc, Weak};
use trunkline::bridge_support::Cause;

/// An exchange or a request of the host that may cause calls.
#[derive(Debug)]
struct HostCause {
    queue: Weak<EventQueue>,
    port: u64,
    number: u64,
}

/// The cause for the ticket of an exchange or a request. When it ends, the host gets `Freed`.
pub(crate) fn of(state: &PortState, number: u64) -> Arc<dyn Cause> {
    Arc::new(HostCause { queue: Arc::downgrade(&state.queue), port: state.number, number })
}

impl Cause for HostCause {
    fn port(&self) -> u64 {
        self.port
    }

    fn number(&self) -> u64 {
        self.number
    }
}

impl Drop for HostCause {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.upgrade() {
            queue.push_freed(self.number);
        }
    }
}
