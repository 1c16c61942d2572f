//! The observation of a client that exists already: a group that shares it sees its events.

use crate::{
    client::{
        client::Client, error::ClientError, events::ClientEvents, inner::ClientInner,
        subscription::open_subscriptions::SubscriptionEntry,
    },
    protocol::Era,
};
use std::sync::{Arc, Weak};

/// One observer; dropping it ends the observation.
pub(in crate::client) struct Observation {
    client: Weak<ClientInner>,
    events: Arc<dyn ClientEvents>,
    /// The stream of list changes, where the client itself has none.
    lists: Option<Arc<SubscriptionEntry>>,
}

impl Client {
    /// Reports to `events` too: what the server sends by itself, changes of its lists among them,
    /// the persons who are asked on its behalf, and the end.
    ///
    /// # Errors
    /// If the client is closed.
    pub(in crate::client) async fn observe(&self, events: Arc<dyn ClientEvents>) -> Result<Observation, ClientError> {
        let inner = &self.inner;
        inner.check_open()?;
        inner.host.observers.add(Arc::clone(&events));
        // From here on, dropping it gives everything back.
        let mut observation = Observation { client: Arc::downgrade(inner), events, lists: None };
        if self.revision().era() == Era::Modern && !inner.options.listen {
            observation.lists = inner.listen_to_lists(Arc::clone(&observation.events)).await;
        }
        inner.check_open()?;
        Ok(observation)
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        let Some(inner) = self.client.upgrade() else { return };
        inner.host.observers.remove(&self.events);
        if let Some(entry) = self.lists.take() {
            inner.end_subscription(&entry);
        }
    }
}
