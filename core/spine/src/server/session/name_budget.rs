//! Memory budget for the names that clients subscribe to, shared by all sessions of a server.

use super::outbound::Outbound;
use crate::{
    counts::{CountLimits, Counts},
    engine::RequestInfo,
    protocol::RpcError,
    sync::Mutex,
};
use std::sync::Arc;

/// Memory used by names, in total and per client.
pub(super) struct NameBudget {
    limits: CountLimits,
    kept: Mutex<Counts<Arc<str>>>,
}

impl NameBudget {
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { limits: CountLimits { all: max, each: max / 4 }, kept: Mutex::default() })
    }

    /// Reserves memory for a client. `None` has no per-client limit.
    ///
    /// # Errors
    /// If the budget, or the client's share of a quarter, is exhausted.
    pub(super) fn take(&self, client: Option<&Arc<str>>, bytes: usize) -> Result<(), RpcError> {
        let mut kept = self.kept.lock();
        if kept.take(client, bytes, self.limits) {
            return Ok(());
        }
        let whose = if kept.has_room(None, bytes, self.limits) { "this client" } else { "all clients" };
        Err(RpcError::busy(&format!("too many subscriptions are kept for {whose}")))
    }

    /// Adds memory that another process has already admitted.
    pub(super) fn add(&self, client: Option<&Arc<str>>, bytes: usize) {
        self.kept.lock().add(client, bytes);
    }

    pub(super) fn give_back(&self, client: Option<&Arc<str>>, bytes: usize) {
        self.kept.lock().give_back(client, bytes);
    }

    /// The memory currently in use.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.kept.lock().all
    }
}

/// The client that a request is charged to: its principal, or its address behind trusted proxies.
/// `None` if it has no per-client limit.
pub(in crate::server) fn client_of(info: &RequestInfo, reply: &Arc<dyn Outbound>) -> Option<Arc<str>> {
    let principal = || Some(info.principal()).filter(|principal| !principal.is_empty()).map(Arc::from);
    reply.arrival().and_then(|arrival| arrival.rate_limit_key.clone()).or_else(principal)
}
