//! Limits pending token verifications per address, because anyone can send tokens.

use crate::{
    counts::{CountLimits, Counts},
    sync::Mutex,
};
use std::net::IpAddr;

/// Maximum pending tokens; a single address may have a quarter of them.
const MAX: usize = 4096;

/// Pending tokens by client address.
pub(super) struct PendingTokens {
    waiting: Mutex<Counts<IpAddr>>,
    limits: CountLimits,
}

/// A pending token, until it is dropped.
pub(super) struct PendingToken<'a> {
    tokens: &'a PendingTokens,
    address: Option<IpAddr>,
}

impl Default for PendingTokens {
    fn default() -> Self {
        Self::new(MAX)
    }
}

impl PendingTokens {
    pub(super) fn new(max: usize) -> Self {
        Self { waiting: Mutex::default(), limits: CountLimits { all: max, each: (max / 4).max(1) } }
    }

    /// Admits a token. Returns `None` if too many are pending, in total or for the address. Without
    /// an address, there is no per-address limit.
    pub(super) fn ask(&self, address: Option<IpAddr>) -> Option<PendingToken<'_>> {
        let is_admitted = self.waiting.lock().take(address.as_ref(), 1, self.limits);
        is_admitted.then(|| PendingToken { tokens: self, address })
    }
}

impl Drop for PendingToken<'_> {
    fn drop(&mut self) {
        self.tokens.waiting.lock().give_back(self.address.as_ref(), 1);
    }
}
