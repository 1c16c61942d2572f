//! The context of a call: the data of the request that caused it, and the values stored for that
//! request. Kept until the request can cause no more calls.

use std::collections::BTreeMap;

use crate::edge::prelude::*;

/// The context of the calls caused by an exchange, an in-memory request or a middleware's `next`.
/// Middleware shares it with the handlers that it wraps.
#[derive(Default)]
pub(crate) struct CallScope {
    /// The data of the exchange or in-memory request that caused the call.
    pub(crate) origin: Mutex<Option<Arc<UserData>>>,
    pub(crate) vars: Mutex<BTreeMap<String, Arc<UserData>>>,
}

impl CallScope {
    pub(crate) fn with_data(data: Arc<UserData>) -> Arc<Self> {
        Arc::new(Self { origin: Mutex::new(Some(data)), ..Self::default() })
    }

    /// Records that the exchange or request has ended. Calls of tasks may continue; if the data has
    /// no destructor, the host can't know for how long they use it.
    pub(crate) fn end_origin(&self) {
        self.origin.lock().take_if(|data| !data.has_destructor());
    }
}
