//! Access tokens that wait for a verifier, bounded per address: anybody can send them.

use crate::sync::Mutex;
use std::{collections::HashMap, net::IpAddr};

/// Most tokens that wait for a verifier at once; those of one address are a quarter of it.
const MAX: usize = 4096;

/// The tokens that wait for a verifier, by the address of the client that sent them.
pub(super) struct PendingTokens {
    waiting: Mutex<WaitingTokens>,
    max: usize,
}

#[derive(Default)]
struct WaitingTokens {
    all: usize,
    of: HashMap<IpAddr, usize>,
}

/// A token that waits, until it is dropped.
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

    /// Takes a place for a token. `None`: too many wait, in all or of the address. Where nobody
    /// knows the address, there is no share.
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
