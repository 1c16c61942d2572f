//! Limits pending token verifications per address, because anyone can send tokens.

use crate::sync::Mutex;
use std::{collections::HashMap, net::IpAddr};

/// Maximum pending tokens; a single address may have a quarter of them.
const MAX: usize = 4096;

/// Pending tokens by client address.
pub(super) struct PendingTokens {
    waiting: Mutex<WaitingTokens>,
    max: usize,
}

#[derive(Default)]
struct WaitingTokens {
    all: usize,
    of: HashMap<IpAddr, usize>,
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
        Self { waiting: Mutex::default(), max }
    }

    /// Admits a token. Returns `None` if too many are pending, in total or for the address. Without
    /// an address, there is no per-address limit.
    pub(super) fn ask(&self, address: Option<IpAddr>) -> Option<PendingToken<'_>> {
        let mut waiting = self.waiting.lock();
        if waiting.all >= self.max {
            return None;
        }
        if let Some(address) = address {
            let of_address = waiting.of.entry(address).or_default();
            if *of_address >= (self.max / 4).max(1) {
                return None;
            }
            *of_address += 1;
        }
        waiting.all += 1;
        Some(PendingToken { tokens: self, address })
    }
}

impl Drop for PendingToken<'_> {
    fn drop(&mut self) {
        let mut waiting = self.tokens.waiting.lock();
        waiting.all -= 1;
        if let Some(address) = self.address
            && let Some(count) = waiting.of.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                waiting.of.remove(&address);
            }
        }
    }
}
