//! The context of a call: the data of the request that caused it, and the values stored for that
//! request. Kept until the request can cause no more calls.

use std::collections::BTreeMap;

use crate::edge::prelude::*;

/// The context of the calls caused by an exchange, an in-memory request or a middleware's `next`.
#[derive(Default)]
pub(crate) struct CallScope {
    /// The data of the exchange or in-memory request that caused the call.
    pub(crate) origin: Arc<Mutex<Option<Arc<UserData>>>>,
    pub(crate) vars: Mutex<BTreeMap<String, Arc<UserData>>>,
    /// True for an exchange or in-memory request: a batch, the pages of a list and the rounds of a
    /// call are several requests.
    has_requests: bool,
}

impl CallScope {
    pub(crate) fn with_data(data: Arc<UserData>) -> Arc<Self> {
        Arc::new(Self { origin: Arc::new(Mutex::new(Some(data))), has_requests: true, ..Self::default() })
    }

    /// The scope of a call that this has caused. Each request has its own values, which middleware
    /// shares with the handlers that it wraps.
    pub(crate) fn of_call(self: Arc<Self>) -> Arc<Self> {
        match self.has_requests {
            true => Arc::new(Self { origin: self.origin.clone(), ..Self::default() }),
            false => self,
        }
    }

    /// Records that the exchange or request has ended. Calls of tasks may continue; if the data has
    /// no destructor, the host can't know for how long they use it.
    pub(crate) fn end_origin(&self) {
        self.origin.lock().take_if(|data| !data.has_destructor());
    }
}
