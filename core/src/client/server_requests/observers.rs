//! Additional observers of a client's events.

use crate::{client::events::ClientEvents, sync::Mutex};
use std::sync::Arc;

/// The observers of one client.
#[derive(Default)]
pub(in crate::client) struct Observers(Mutex<Vec<Arc<dyn ClientEvents>>>);

impl Observers {
    pub(in crate::client) fn add(&self, events: Arc<dyn ClientEvents>) {
        self.0.lock().push(events);
    }

    pub(in crate::client) fn remove(&self, events: &Arc<dyn ClientEvents>) {
        self.0.lock().retain(|other| !Arc::ptr_eq(other, events));
    }

    /// Reports to all observers, without holding the lock.
    pub(in crate::client) fn report(&self, report: impl Fn(&dyn ClientEvents)) {
        let all = self.0.lock().clone();
        all.iter().for_each(|events| report(&**events));
    }
}
