//! Limits pending token verifications per address, because anyone can send tokens.

use crate::{
    counts::{CountLimits, Counts},
    on_drop::OnDrop,
    sync::Mutex,
};
use std::net::IpAddr;

/// Maximum pending tokens; a single address may have a quarter of them.
pub(super) const MAX: usize = 4096;

/// Pending tokens by client address.
pub(super) struct PendingTokens {
    waiting: Mutex<Counts<IpAddr>>,
    limits: CountLimits,
}

impl PendingTokens {
    pub(super) fn new(max: usize) -> Self {
        Self { waiting: Mutex::default(), limits: CountLimits { all: max, each: (max / 4).max(1) } }
    }

    /// Admits a token, which is pending until the guard is dropped. Returns `None` if too many are,
    /// in total or for the address. Without an address, there is no per-address limit.
    pub(super) fn ask(&self, address: Option<IpAddr>) -> Option<OnDrop<impl FnOnce()>> {
        let is_admitted = self.waiting.lock().take(address.as_ref(), 1, self.limits);
        is_admitted.then(|| OnDrop::new(move || self.waiting.lock().give_back(address.as_ref(), 1)))
    }
}
