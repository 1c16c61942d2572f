//! Memory budget for the names that clients subscribe to, shared by all sessions of a server.

use super::outbound::Outbound;
use crate::{engine::RequestInfo, protocol::RpcError, server::handlers::Arrival, sync::Mutex};
use std::{collections::HashMap, sync::Arc};

/// Memory used by names, in total and per client.
pub(super) struct NameBudget {
    max: usize,
    kept: Mutex<KeptNames>,
}

#[derive(Default)]
struct KeptNames {
    bytes: usize,
    of: HashMap<Arc<str>, usize>,
}

impl NameBudget {
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, kept: Mutex::default() })
    }

    /// Reserves memory for a client. `None` has no per-client limit.
    ///
    /// # Errors
    /// If the budget, or the client's share of a quarter, is exhausted.
    pub(super) fn take(&self, client: Option<&Arc<str>>, bytes: usize) -> Result<(), RpcError> {
        let mut kept = self.kept.lock();
        let of_client = client.and_then(|client| kept.of.get(client)).copied().unwrap_or_default();
        if client.is_some() && of_client.saturating_add(bytes) > self.max / 4 {
            return Err(RpcError::busy("too many subscriptions are kept for this client"));
        }
        if kept.bytes.saturating_add(bytes) > self.max {
            return Err(RpcError::busy("too many subscriptions are kept for all clients"));
        }
        kept.add(client, bytes);
        Ok(())
    }

    /// Adds memory that another process has already admitted.
    pub(super) fn add(&self, client: Option<&Arc<str>>, bytes: usize) {
        self.kept.lock().add(client, bytes);
    }

    pub(super) fn give_back(&self, client: Option<&Arc<str>>, bytes: usize) {
        let mut kept = self.kept.lock();
        kept.bytes -= bytes;
        if let Some(client) = client
            && let Some(of_client) = kept.of.get_mut(client)
        {
            *of_client -= bytes;
            if *of_client == 0 {
                kept.of.remove(client);
            }
        }
    }

    /// The memory currently in use.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.kept.lock().bytes
    }
}

impl KeptNames {
    fn add(&mut self, client: Option<&Arc<str>>, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        if let Some(client) = client {
            *self.of.entry(Arc::clone(client)).or_default() += bytes;
        }
    }
}

/// The client that a request is charged to: its principal, or its address behind trusted proxies.
/// `None` if it has no per-client limit.
pub(in crate::server) fn client_of(info: &RequestInfo, reply: &Arc<dyn Outbound>) -> Option<Arc<str>> {
    let principal = || Some(info.principal()).filter(|principal| !principal.is_empty()).map(Arc::from);
    reply.arrival().and_then(Arrival::rate_limit_key).cloned().or_else(principal)
}
