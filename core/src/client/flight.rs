//! Requests in flight.

use crate::{protocol::RequestId, runtime::Promise, sync::Mutex};
use std::sync::Arc;

/// A request in flight. It goes on when this is dropped; [`Client::cancel`] ends it.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub struct InFlight(pub(super) Arc<Mutex<Flight>>);

#[derive(Debug)]
pub(super) enum Flight {
    /// The message that is out now: a request may be sent once more.
    Sent(RequestId),
    /// Page after page of a list; keeping the promise ends it.
    Walking(Arc<Promise<()>>),
    Cancelled,
}

impl Default for InFlight {
    /// A request that is not out yet.
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Flight::Cancelled)))
    }
}

impl InFlight {
    /// The id of the message that is out, or was out last.
    pub(super) fn id(&self) -> Option<RequestId> {
        match &*self.0.lock() {
            Flight::Sent(id) => Some(id.clone()),
            Flight::Walking(_) | Flight::Cancelled => None,
        }
    }
}
