//! Lets groups and proxies observe the events of a client.

use crate::{
    client::{Client, ClientError, ClientEvents, inner::ClientInner, state::open_subscriptions::SubscriptionEntry},
    protocol::Era,
};
use std::sync::{Arc, Weak};

/// One observer; dropping it stops the observation.
#[doc(hidden)]
pub struct Observation {
    client: Weak<ClientInner>,
    events: Arc<dyn ClientEvents>,
    /// The stream of list changes, if the client itself has none.
    lists: Option<Arc<SubscriptionEntry>>,
}

impl Client {
    /// Also reports to `events`, until the observation is dropped.
    #[doc(hidden)]
    pub fn observe(&self, events: Arc<dyn ClientEvents>) -> Observation {
        self.inner.label.configure(events.server_name());
        self.inner.host.observers.lock().push(Arc::clone(&events));
        Observation { client: Arc::downgrade(&self.inner), events, lists: None }
    }

    /// Also reports to `events`: unsolicited messages of the server, including list changes,
    /// requests for user input, and the end of the connection.
    ///
    /// # Errors
    /// If the client is closed.
    #[doc(hidden)]
    pub async fn observe_lists(&self, events: Arc<dyn ClientEvents>) -> Result<Observation, ClientError> {
        let inner = &self.inner;
        inner.check_open()?;
        self.opened().await?;
        // From here on, dropping it cleans up.
        let mut observation = self.observe(events);
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
        inner.host.observers.lock().retain(|other| !Arc::ptr_eq(other, &self.events));
        if let Some(entry) = self.lists.take() {
            inner.end_subscription(&entry);
        }
    }
}
