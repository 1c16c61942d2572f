//! Host-driven reads: the host reads a pipe itself while messages arrive one at a time
//! (`transport/stdio/read_handoff.rs` of the core).

use crate::{Event, EventKind, Lane, events::queue::EventQueue};
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};
use trunkline::bridge_support::{Mutex, ReadHandoff};

/// The handoffs of a port's pipes, by the handle of their listener or connection.
#[derive(Default)]
pub(crate) struct Handoffs(Mutex<HashMap<u64, Weak<ReadHandoff>>>);

impl Handoffs {
    pub(crate) fn get(&self, handle: u64) -> Option<Arc<ReadHandoff>> {
        self.0.lock().get(&handle)?.upgrade()
    }
}

/// Enables handoffs for the pipe of a listener or connection. Each handoff is an event.
pub(crate) fn enable(handoffs: &Handoffs, queue: &Arc<EventQueue>, handle: u64, handoff: &Arc<ReadHandoff>) {
    {
        let mut handoffs = handoffs.0.lock();
        handoffs.retain(|_, handoff| handoff.strong_count() > 0);
        handoffs.insert(handle, Arc::downgrade(handoff));
    }
    let queue = Arc::downgrade(queue);
    handoff.enable(move || {
        if let Some(queue) = queue.upgrade() {
            queue.push(Lane::Queue, Event { kind: EventKind::Handoff, handle, ..Event::default() });
        }
    });
}
